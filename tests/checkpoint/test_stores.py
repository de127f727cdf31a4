"""Stores give back what was put into them, whatever the order, the number of buffers, threads and directories."""

import os
import threading

import numpy as np
import pytest
from scratch_faults import content

from patience import PATIENCE
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.store import MemoryStore
from subsalt.checkpoint.storage.transfers import Stripes
from subsalt.errors import CannotCreateError, SnapshotDamaged
from subsalt.io import scratch as scratch_files


@pytest.fixture
def scratch(tmp_path):
    made = []

    def make(**kinds):
        directories = [tmp_path / f"disk{i}" for i in range(kinds.pop("directories", 1))]
        made.append(Scratch("a" * 64, directories, **kinds))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("record", [1, 1023, 1024, 262144, 300001])
@pytest.mark.parametrize(("buffers", "directories"), [(1, 1), (2, 2), (5, 3)])
def test_records_come_back(scratch, record, buffers, directories):
    store = scratch(directories=directories).open("source", 3, record, buffers)
    keys = list(range(7))
    for key in keys:
        room = store.room()
        room[:] = content(key, record)
        store.put(key, room)
    store.expect(keys[::-1])
    for key in keys[::-1]:
        field = store.get(key)
        assert np.array_equal(field, content(key, record))
        store.give_back(field)
    assert store.counts.puts == store.counts.gets == 7
    assert store.counts.bytes_written == store.counts.bytes_read == 28 * record
    paths = store.files.paths
    assert all(p.exists() for p in paths)
    store.close()
    assert not any(p.exists() for p in paths)


def test_the_next_shot_uses_the_memory_of_the_one_before(scratch):
    rank = scratch()

    def pages(shot, record):
        store = rank.open("source", shot, record, 2)
        for key in range(5):
            room = store.room()
            room[:] = content(key, record)
            store.put(key, room)
        store.expect(range(5))
        used = set()
        for key in range(5):
            field = store.get(key)
            assert np.array_equal(field, content(key, record))
            used.add(field.ctypes.data)
            store.give_back(field)
        store.close()
        return used

    first = pages(1, 4096)
    assert len(first) == 2
    assert pages(2, 4096) == first
    pages(3, 8192)  # another window: what was too small is gone
    assert sum(len(buffers) for _, buffers in rank._spare.values()) == 2
    rank.give_back()
    assert not rank._spare


@pytest.mark.parametrize("more", ["room", "file"])
def test_removed_scratch_is_freed_in_the_background_and_before_more_is_taken(tmp_path, monkeypatch, more):
    held, free = threading.Event(), threading.Event()
    close, closed = os.close, []
    fd = os.open(tmp_path / "removed", os.O_RDWR | os.O_CREAT)

    def slow(which):
        if which == fd:
            held.set()
            assert free.wait(PATIENCE)
            closed.append(which)
        close(which)

    monkeypatch.setattr(scratch_files.os, "close", slow)
    scratch_files.close_removed(fd)
    assert held.wait(PATIENCE)
    assert not closed  # nobody waited
    threading.Timer(0.05, free.set).start()
    if more == "room":
        with open(tmp_path / "next", "wb") as file:
            scratch_files.allocate(file.fileno(), tmp_path / "next", 0, 4096)
            assert closed == [fd]
    else:
        files = Stripes([tmp_path / "next"], 4096, direct=False)
        assert closed == [fd]
        files.close()


def test_another_shot_takes_room_while_removed_scratch_begins_to_close(tmp_path, monkeypatch):
    class Late(threading.Thread):
        def start(self):
            # what a shot beside this one does at the same moment
            scratch_files.wait_for_closing()
            super().start()

    monkeypatch.setattr(scratch_files, "Thread", Late)
    fd = os.open(tmp_path / "removed", os.O_RDWR | os.O_CREAT)
    scratch_files.close_removed(fd)
    scratch_files.wait_for_closing()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_what_was_dropped_is_gone(scratch, kind):
    store = MemoryStore(10) if kind == "memory" else scratch().open("states", 1, 10, 2)
    room = store.room()
    room[:] = 1
    store.put(4, room)
    store.flush()
    store.drop(4)
    with pytest.raises(SnapshotDamaged) as caught:
        store.get(4)
    assert caught.value.code == "E650"
    assert caught.value.key == 4
    assert store.counts.damaged == 1
    store.close()


def test_scratch_behind_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotCreateError) as caught:
        Scratch("a" * 64, [tmp_path / "link"]).open("source", 1, 10, 2)
    assert caught.value.code == "E651"
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("compression", ["none", "zfp"])
def test_a_random_course_gives_what_a_dictionary_would(scratch, compression):
    record, rng = 5000, np.random.default_rng(4)
    store = scratch(directories=2, threads=3, compression=compression).open("states", 1, record, 3)
    model_store, versions = {}, 0
    for _ in range(300):
        act = rng.integers(5)
        if act <= 1:
            key, versions = int(rng.integers(12)), versions + 1
            room = store.room()
            room[:] = content(versions, record)
            store.put(key, room)
            model_store[key] = versions
        elif act == 2 and model_store:
            key = int(rng.choice(list(model_store)))
            del model_store[key]
            store.drop(key)
        elif act == 3 and model_store:
            store.expect([int(k) for k in rng.permutation(list(model_store))])
        elif model_store:
            key = int(rng.choice(list(model_store)))
            field = store.get(key)
            expected = content(model_store[key], record)
            error = np.linalg.norm(field - expected) / np.linalg.norm(expected)
            assert error <= (0 if compression == "none" else 1e-4)
            store.give_back(field)
    assert sorted(store.keys) == sorted(model_store)
    # places are used again: at most two more than records, for those still being written when they were dropped
    assert max(s.number for s in getattr(store, "inner", store).slots.values()) < 12 + 3
    store.close()


def test_records_of_an_earlier_process_are_found(scratch, tmp_path):
    first = scratch(directories=2).open("restart", 1, 2000, 2)
    for key in (3, 7, 3, 9, 11):
        room = first.room()
        room[:] = content(key, 2000)
        first.put(key, room)
    first.drop(11)
    first.close(remove=False)
    again = scratch(directories=2).open("restart", 1, 2000, 2, resume=True)
    # a dropped record lies there until its place is used again
    assert again.keys == [3, 7, 9, 11]
    for key in again.keys:
        field = again.get(key)
        assert np.array_equal(field, content(key, 2000))
        again.give_back(field)
    room = again.room()
    room[:] = content(70, 2000)
    again.put(7, room)
    field = again.get(7)
    assert np.array_equal(field, content(70, 2000))
    again.close()


@pytest.mark.parametrize("other", [{"run_id": "b" * 64}, {"rank": 1}, {"ranks": 2}])
def test_records_of_others_are_not_found(scratch, other):
    first = scratch().open("restart", 1, 100, 2)
    first.put(3, first.room())
    first.close(remove=False)
    path = first.files.paths[0]
    mine = scratch()
    for name, value in other.items():
        setattr(mine, name, value)
    path.rename(path.with_name(f"restart.r{mine.rank:02d}.snap"))
    second = mine.open("restart", 1, 100, 2, resume=True)
    assert second.keys == []
    second.close()


def test_buffers_in_the_hands_of_the_caller(scratch):
    store = scratch().open("source", 1, 10, 2)
    held = [store.room(), store.room()]
    with pytest.raises(RuntimeError, match="all 2 buffers"):
        store.room()
    store.give_back(held.pop())
    store.put(1, store.room())
    store.put(2, held.pop())
    store.expect([1, 2])
    # what was read ahead makes place for what is written
    for _ in range(2):
        held.append(store.room())
    store.close()
    with pytest.raises(RuntimeError, match="closed"):
        store.room()
