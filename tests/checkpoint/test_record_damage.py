"""Damage of scratch files is found, whatever it is, and harms nothing but the record it is in."""

import os
import shutil

import numpy as np
import pytest
from scratch_faults import content, fill, is_right

from subsalt.checkpoint.storage.record import BLOCK, PAGE, RecordLayout
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.wavefield import open_stored
from subsalt.errors import SnapshotDamaged


@pytest.fixture
def opened(tmp_path):
    made = []

    def make(record, keys, **kinds):
        shot = kinds.pop("shot", 1)
        made.append(Scratch(kinds.pop("run_id", "a" * 64), [tmp_path / kinds.pop("place", "s")], **kinds))
        store = made[-1].open("states", shot, record, 2, keep=False)
        fill(store, keys)
        return store

    yield make
    for scratch in made:
        scratch.close()


def damaged(store, key):
    try:
        field = store.get(key)
    except SnapshotDamaged:
        return True
    store.give_back(field)
    return False


def flip(path, at, bit):
    with open(path, "r+b", buffering=0) as f:
        byte = os.pread(f.fileno(), 1, at)[0]
        os.pwrite(f.fileno(), bytes([byte ^ 1 << bit]), at)


def test_a_flipped_bit_in_any_byte_is_found(opened):
    record = 300
    store = opened(record, [5, 6])
    path, total = store.files.paths[0], RecordLayout.of(record).total
    bits = np.random.default_rng(1).integers(0, 8, total)
    detected = 0
    for at, bit in enumerate(bits):
        flip(path, total + at, int(bit))
        detected += damaged(store, 6)
        flip(path, total + at, int(bit))
    assert detected == total == store.counts.damaged
    assert is_right(store, 5)
    assert is_right(store, 6)


def test_flipped_bits_of_many_blocks_are_found(opened):
    record = (2 * BLOCK + 12345) // 4
    store = opened(record, [1], threads=3)
    assert store.layout.blocks == 3
    places = np.random.default_rng(2).integers(0, 8 * store.layout.total, 1000)
    detected = 0
    for place in places:
        flip(store.files.paths[0], int(place) // 8, int(place) % 8)
        detected += damaged(store, 1)
        flip(store.files.paths[0], int(place) // 8, int(place) % 8)
    assert detected == len(places)
    assert is_right(store, 1)


@pytest.mark.parametrize("direct", [False, True])
def test_a_file_that_ends_early_is_found_wherever_it_ends(opened, direct):
    record = (BLOCK + 12345) // 4
    store = opened(record, [1, 2], direct=direct)
    assert store.layout.blocks == 2
    total = store.layout.total
    record_of_2 = store.files.paths[0].read_bytes()[total : 2 * total]
    edges = [0, PAGE, PAGE + BLOCK, total - store.layout.trailer, total]
    cuts = sorted({at + d for at in edges for d in (-PAGE, -1, 0, 1, 512) if 0 <= at + d < total})
    for cut in cuts:
        os.truncate(store.files.paths[0], total + cut)
        assert damaged(store, 2), cut
        assert is_right(store, 1)
        with open(store.files.paths[0], "r+b", buffering=0) as f:
            os.pwrite(f.fileno(), record_of_2, total)
    assert is_right(store, 2)


def test_a_tail_of_zeros_is_found_wherever_it_begins(opened):
    record = 3000
    store = opened(record, [1])
    path, total = store.files.paths[0], RecordLayout.of(record).total
    data = path.read_bytes()[:total]
    for begin in range(0, total, 512):
        with open(path, "r+b", buffering=0) as f:
            os.pwrite(f.fileno(), bytes(total - begin), begin)
            # what was zero already is no damage
            changed = any(data[begin:])
            assert damaged(store, 1) == changed, begin
            os.pwrite(f.fileno(), data, 0)
    assert is_right(store, 1)


def test_swapped_steps_are_found(opened):
    store = opened(1000, [1, 2])
    path, total = store.files.paths[0], store.layout.total
    data = path.read_bytes()
    with open(path, "r+b", buffering=0) as f:
        os.pwrite(f.fileno(), data[total : 2 * total] + data[:total], 0)
    for key in (1, 2):
        with pytest.raises(SnapshotDamaged, match=f"step {3 - key} in place of {key}"):
            store.get(key)


def test_an_older_put_of_the_same_step_is_found(opened):
    store = opened(1000, [1])
    older = store.files.paths[0].read_bytes()
    fill(store, [1])
    with open(store.files.paths[0], "r+b", buffering=0) as f:
        os.pwrite(f.fileno(), older, 0)
    assert damaged(store, 1)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"shot": 2}, "shot 2 in place of 1"),
        ({"run_id": "b" * 64}, "run b+ in place of a+"),
        ({"rank": 1, "ranks": 2}, "rank 1 in place of 0"),
        ({"ranks": 2}, "number of ranks 2 in place of 1"),
    ],
)
def test_records_of_another_shot_run_or_rank_are_found(opened, other, words):
    store, foreign = opened(1000, [1]), opened(1000, [1], place="other", **other)
    shutil.copyfile(foreign.files.paths[0], store.files.paths[0])
    with pytest.raises(SnapshotDamaged, match=words):
        store.get(1)


def test_what_is_damaged_can_be_put_again(opened):
    store = opened(1000, [1, 2])
    flip(store.files.paths[0], PAGE + 7, 3)
    assert damaged(store, 1)
    slots = store.slots
    fill(store, [1])
    assert is_right(store, 1)
    assert store.slots[1].number == slots[1].number


def test_a_missing_file_of_a_kept_wavefield_is_found(tmp_path):
    with Scratch("a" * 64, [tmp_path / "x", tmp_path / "y"]) as scratch:
        meta = {"shape": [2, 3, 4], "box": [[0, 0, 0], [2, 3, 4]], "dt": 0.001, "image_step": 1}
        store = scratch.open("source", 1, 24, 2, meta=meta, keep=True)
        fill(store, [1, 2, 3])
        store.close()
        scratch.folders(1)[1].joinpath("source.r00.snap").unlink()
    with open_stored(scratch.directories, 1, "source") as stored:
        assert np.array_equal(stored.read(3).ravel(), content(3, 24))
        with pytest.raises(SnapshotDamaged, match="No such file"):
            stored.read(2)
        assert np.array_equal(stored.read(1).ravel(), content(1, 24))
