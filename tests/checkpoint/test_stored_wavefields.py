"""Kept wavefields: complete or not there, joined over ranks and directories, and told from others'."""

import itertools
import json
import os

import numpy as np
import pytest

from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.wavefield import is_complete, open_stored
from subsalt.errors import CorruptionError, MissingInputError, SnapshotDamaged

SHAPE = (7, 5, 11)
#: planes of each rank
CUTS = {1: [0, 7], 3: [0, 2, 5, 7], 4: [0, 0, 3, 7, 7]}


def field_at(sample):
    return np.random.default_rng(sample).standard_normal(SHAPE).astype(np.float32)


def keep(directories, ranks, samples, close=True, **kinds):
    cuts = CUTS[ranks]
    for rank, (lo, hi) in enumerate(itertools.pairwise(cuts)):
        with Scratch("c" * 64, directories, rank=rank, ranks=ranks, **kinds) as scratch:
            shape = (hi - lo, *SHAPE[1:])
            meta = {"shape": shape, "box": [[10 + lo, 0, 3], [10 + hi, 5, 14]], "dt": 0.001, "image_step": 4}
            store = scratch.open("source", 5, int(np.prod(shape)), 2, meta=meta, keep=True)
            for sample in samples:
                room = store.room()
                room[:] = field_at(sample)[lo:hi].ravel()
                store.put(sample, room)
            if close:
                store.close()
            else:
                store.flush()


@pytest.fixture
def directories(tmp_path):
    return [tmp_path / "a", tmp_path / "b"]


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("compression", ["none", "zfp"])
def test_kept_fields_come_back_whole(directories, ranks, compression):
    keep(directories, ranks, [1, 2, 3, 4, 5], compression=compression)
    assert is_complete(directories, 5, "source")
    with open_stored(directories, 5, "source") as stored:
        assert stored.samples == [1, 2, 3, 4, 5]
        assert stored.box.lo == (10, 0, 3)
        assert stored.box.shape == SHAPE
        assert (stored.image_step, stored.dt, stored.run_id) == (4, 0.001, "c" * 64)
        stored.expect([5, 4, 3, 2, 1])
        for sample in (5, 4, 3, 2, 1):
            expected = field_at(sample)
            error = np.linalg.norm(stored.read(sample) - expected) / np.linalg.norm(expected)
            assert error <= (0 if compression == "none" else 1e-3)
        assert stored.counts.gets == 5 * ranks
        assert stored.bytes == sum(p.stat().st_size for d in directories for p in d.rglob("*.snap"))


def test_what_is_not_complete_is_not_there(directories):
    keep(directories, 3, [1], close=False)
    assert not is_complete(directories, 5, "source")
    with pytest.raises(MissingInputError) as caught:
        open_stored(directories, 5, "source")
    assert caught.value.code == "E652"
    keep(directories, 3, [1])
    (directories[0] / "shot_000005" / "source.r01.json").unlink()
    assert not is_complete(directories, 5, "source")
    with pytest.raises(MissingInputError):
        open_stored(directories, 5, "source")


def test_all_directories_must_be_named(directories):
    keep(directories, 1, [1, 2])
    with pytest.raises(MissingInputError, match="2 directories, 1 are named"):
        open_stored(directories[:1], 5, "source")


def test_a_damaged_sample_is_named(directories):
    keep(directories, 1, [1, 2])
    path = directories[1] / "shot_000005" / "source.r00.snap"
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    with open_stored(directories, 5, "source") as stored:
        assert np.array_equal(stored.read(1), field_at(1))
        with pytest.raises(SnapshotDamaged, match=r"snapshot 2: block 0 .*source wavefield of shot 5"):
            stored.read(2)
        assert np.array_equal(stored.read(1), field_at(1))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"shot": 6},
        {"rank": 1},
        {"record": 1 << 61},
        {"record": -1},
        {"box": [[0, 0, 0], [1, 1, 1]]},
        {"box": 3},
        {"block": 3},
        {"codec": "lzma"},
        {"ranks": 0},
        {"records": {"1": [0, 1]}},
        {"records": {"1": [0, 1, 1 << 40]}},
        {"records": {"one": [0, 1, 4]}},
        {"directories": "2"},
        {"run_id": None},
    ],
)
def test_a_changed_index_is_refused(directories, change):
    keep(directories, 1, [1])
    path = directories[0] / "shot_000005" / "source.r00.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CorruptionError) as caught:
        open_stored(directories, 5, "source")
    assert caught.value.code == "E653"
    assert not is_complete(directories, 5, "source")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100000, '{"format": 1}'])
def test_what_is_no_index_is_refused(directories, text):
    keep(directories, 1, [1])
    (directories[0] / "shot_000005" / "source.r00.json").write_text(text)
    with pytest.raises(CorruptionError):
        open_stored(directories, 5, "source")


def test_an_index_that_asks_for_more_than_its_files_hold(directories):
    keep(directories, 1, [1])
    for d in directories:
        path = d / "shot_000005" / "source.r00.snap"
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(SnapshotDamaged):
        open_stored(directories, 5, "source")


def test_parts_of_other_runs_do_not_join(directories):
    keep(directories, 3, [1])
    path = directories[0] / "shot_000005" / "source.r01.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run_id": "d" * 64}))
    with pytest.raises(CorruptionError, match="do not belong together"):
        open_stored(directories, 5, "source")


def test_scratch_goes_and_what_is_kept_stays(directories):
    keep(directories, 3, [1, 2])
    with Scratch("c" * 64, directories) as scratch:
        for name in ("states", "receiver"):
            store = scratch.open(name, 5, 10, 2)
            store.put(0, store.room())
            store.close(remove=False)
        other = scratch.open("states", 6, 10, 2)
        other.put(0, other.room())
        other.close(remove=False)
        going_on = scratch.folder(7) / "restart.g0.r00.json"
        going_on.write_text("{}")
        scratch.remove(5)
        assert sorted(p.name for p in scratch.folders(5)[0].iterdir()) == sorted(
            f"source.r0{r}.{kind}" for r in range(3) for kind in ("json", "snap")
        )
        assert scratch.remove_strays() > 0
        assert not scratch.folders(6)[0].exists()
        assert going_on.exists()
        scratch.remove_strays(restart=False)
        assert not going_on.exists()
    with open_stored(directories, 5, "source") as stored:
        assert np.array_equal(stored.read(2), field_at(2))


def test_another_rank_may_clear_a_shot_first(directories, monkeypatch):
    with Scratch("c" * 64, directories) as scratch:
        folder = scratch.folder(7)

        def after_the_other(look):
            def call(path="."):
                if folder.exists():
                    folder.rmdir()
                return look(path)

            return call

        for name in ("scandir", "listdir"):
            monkeypatch.setattr(os, name, after_the_other(getattr(os, name)))
        scratch.remove(7)
        assert not folder.exists()


def test_a_shot_done_again_is_not_kept_until_it_is_complete(directories):
    keep(directories, 1, [1])
    keep(directories, 1, [1], close=False)
    assert not is_complete(directories, 5, "source")
