"""Compressed records: within the tolerance for every kind of field, and much smaller for those of waves."""

import sys

import numpy as np
import pytest
from scratch_faults import fill

from subsalt.checkpoint.storage.packed import pack, unpack
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.errors import ConfigError, SnapshotDamaged

pytest.importorskip("zfpy")


def wave(shape, at=0.6):
    """Return a spherical pulse: most of the box is quiet."""
    axes = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    r = np.sqrt(sum(a**2 for a in axes))
    return (np.cos(40 * (r - at)) * np.exp(-(((r - at) / 0.1) ** 2)) / (r + 0.1)).astype(np.float32)


FIELDS = {
    "2-D": wave((90, 1, 70)),
    "3-D": wave((40, 30, 50)),
    "tiny": wave((40, 30, 50)) * np.float32(1e-25),
    "huge": wave((40, 30, 50)) * np.float32(1e25),
    "noise": np.random.default_rng(1).standard_normal((20, 21, 22)).astype(np.float32),
    "spike": np.eye(1, 8000, 4321, dtype=np.float32).reshape(20, 20, 20),
    "one": np.ones((1, 1, 1), np.float32),
    "line": np.linspace(0, 1, 1000, dtype=np.float32),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4, 1e-6])
def test_the_relative_error_keeps_within_the_tolerance(name, tolerance):
    field = FIELDS[name]
    back = np.empty_like(field)
    unpack(pack(field, tolerance), back)
    error = np.linalg.norm(back.astype(np.float64) - field) / np.linalg.norm(field.astype(np.float64))
    assert error <= tolerance


@pytest.mark.parametrize(("name", "factor"), [("2-D", 3), ("3-D", 5)])
def test_waves_become_small(name, factor):
    assert len(pack(FIELDS[name], 1e-3)) * factor < FIELDS[name].nbytes


def test_what_cannot_be_compressed_is_kept_as_it_is():
    bad = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    for field in (bad, np.zeros(100, np.float32)):
        back = np.full_like(field, 7)
        unpack(pack(field, 1e-3), back)
        assert np.array_equal(back, field, equal_nan=True)
    assert pack(np.zeros(100, np.float32), 1e-3) == b""


def test_states_are_ten_times_finer_and_restart_points_exact(tmp_path):
    shapes = [(20, 15, 30), (5, 15, 30)]
    arrays = [wave(s) for s in shapes]
    flat = np.concatenate([a.ravel() for a in arrays])
    with Scratch("a" * 64, [tmp_path], compression="zfp", tolerance=1e-3) as scratch:
        errors = {}
        for name in ("source", "states", "restart", "shells"):
            store = scratch.open(name, 1, flat.size, 2, meta={"shapes": shapes})
            room = store.room()
            room[:] = flat
            store.put(1, room)
            back = store.get(1)
            errors[name] = [
                np.linalg.norm(b - a.ravel()) / np.linalg.norm(a)
                for a, b in zip(arrays, np.split(back, [arrays[0].size]), strict=True)
            ]
            written = store.counts.disk_written
            store.close()
            assert (written < 4 * flat.size) == (name in ("source", "states"))
    assert max(errors["source"]) <= 1e-3
    assert max(errors["states"]) <= 1e-4
    assert min(errors["states"]) > 0
    assert max(errors["restart"] + errors["shells"]) == 0


def test_damage_is_found_and_the_store_goes_on(tmp_path):
    with Scratch("a" * 64, [tmp_path], compression="zfp") as scratch:
        store = scratch.open("source", 1, 3000, 3, meta={"shape": (30, 1, 100)})
        fill(store, [1, 2, 3])
        path, total = store.inner.files.paths[0], store.inner.layout.total
        with open(path, "r+b", buffering=0) as f:
            f.seek(total + 4096 + 99)
            f.write(b"\0\1\2\3")
        store.expect([3, 2, 1])
        store.give_back(store.get(3))
        with pytest.raises(SnapshotDamaged):
            store.get(2)
        store.give_back(store.get(1))
        assert store.counts.damaged == 1
        fill(store, [2])
        store.give_back(store.get(2))
        store.close()


def test_a_missing_compressor_is_told_with_its_cure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zfpy", None)
    with (
        Scratch("a" * 64, [tmp_path], compression="zfp") as scratch,
        pytest.raises(ConfigError, match=r"pip install -e '\.\[zfp\]'") as caught,
    ):
        scratch.open("source", 1, 30, 2, meta={"shape": (3, 1, 10)})
    assert caught.value.code == "E654"
