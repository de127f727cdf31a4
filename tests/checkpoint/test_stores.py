"""Stores give back what was put into them, whatever the order, the number of buffers, threads and directories."""

import numpy as np
import pytest

from subsalt.checkpoint.storage import MemoryStore, Scratch, SnapshotDamaged
from subsalt.errors import CannotCreateError


def content(key, record):
    return np.random.default_rng(key).standard_normal(record).astype(np.float32)


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
