"""Files of planes: the same bytes however they are cut, checked plane by plane, old ones still read."""

import hashlib
import os

import numpy as np
import pytest

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, DiskError
from subsalt.io import own
from subsalt.io.faults import FaultCounter, set_fault
from subsalt.io.publish import publish_bytes
from subsalt.io.volumes.plane_file import (
    BLOCK,
    ENTRY,
    PlaneFile,
    PlaneLayout,
    PlaneNpz,
    open_planes,
    write_planes,
)
from subsalt.parallel.comm import single

BOX = Box((10, 0, 0), (17, 3, 5))
RNG = np.random.default_rng(3)
FIELDS = {n: RNG.normal(size=BOX.shape).astype(np.float32) for n in ("correlation", "illumination")}
LAYOUT = PlaneLayout(BOX, tuple(FIELDS))


@pytest.fixture
def stored(tmp_path):
    """Return a file of planes and its hash."""
    path = tmp_path / "shot.planes"
    return path, write_planes(path, LAYOUT, BOX, FIELDS, single())


def test_planes_come_back_where_they_were(stored):
    path, sha = stored
    with PlaneFile(path, sha) as file:
        assert file.layout == LAYOUT
        for lo, hi in ((10, 17), (0, 99), (12, 13), (15, 40), (3, 11), (0, 10), (17, 20), (14, 12)):
            got = file.read(lo, hi)
            first, last = file.span(lo, hi)
            assert first <= last
            for name, a in FIELDS.items():
                np.testing.assert_array_equal(got[name], a[first - 10 : last - 10])
        file.verify()


def test_the_layout_is_what_it_says(stored):
    path, sha = stored
    data = path.read_bytes()
    assert len(data) == LAYOUT.size == BLOCK + 7 * (ENTRY + 2 * 3 * 5 * 4)
    assert hashlib.sha256(data[: BLOCK + 7 * ENTRY]).hexdigest() == sha
    plane = np.stack([FIELDS["correlation"][4], FIELDS["illumination"][4]]).tobytes()
    assert data[LAYOUT.offset(4) : LAYOUT.offset(5)] == plane
    assert data[BLOCK + 4 * ENTRY : BLOCK + 5 * ENTRY] == hashlib.sha256(plane).digest()


def test_every_flipped_byte_is_noticed(stored):
    path, sha = stored
    data = path.read_bytes()
    for at in [0, 20, BLOCK - 1, BLOCK, BLOCK + 6 * ENTRY, *range(LAYOUT.offset(0), len(data), 37)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CorruptionError) as caught, PlaneFile(path, sha) as file:
            file.verify()
        assert caught.value.code == "E641"
        assert str(path) in caught.value.message


def test_only_the_planes_that_are_read_are_checked(stored):
    path, sha = stored
    data = bytearray(path.read_bytes())
    data[LAYOUT.offset(5)] ^= 1
    path.write_bytes(data)
    with PlaneFile(path, sha) as file:
        file.read(10, 15)
        with pytest.raises(CorruptionError, match="plane 15 "):
            file.read(15, 16)


@pytest.mark.parametrize("damage", ["cut short", "too long", "empty", "gone", "text", "other"])
def test_what_is_no_such_file_is_refused(stored, damage):
    path, sha = stored
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "other":
        sha = "0" * 64
    else:
        path.write_bytes(
            {"cut short": data[:-1], "too long": data + b"!", "empty": b"", "text": b"x" * 5000}[damage]
        )
    with pytest.raises(CorruptionError) as caught:
        PlaneFile(path, sha)
    assert caught.value.code == "E641"


def test_every_failing_operation_leaves_nothing(tmp_path):
    path = tmp_path / "shot.planes"
    counter = FaultCounter()
    set_fault(counter)
    try:
        sha = write_planes(path, LAYOUT, BOX, FIELDS, single())
        kinds = set(counter.log)
        for k in range(1, len(counter.log) + 1):
            path.unlink(missing_ok=True)
            set_fault(FaultCounter(k))
            with pytest.raises(DiskError):
                write_planes(path, LAYOUT, BOX, FIELDS, single())
            # the name is there only when nothing but the folder's own sync was left to do
            assert [p.name for p in tmp_path.iterdir()] == (
                [path.name] if counter.log[k - 1] == "fsync-folder" else []
            )
        set_fault(FaultCounter(short=7))
        assert write_planes(path, LAYOUT, BOX, FIELDS, single()) == sha
    finally:
        set_fault(None)
    assert kinds == {"open", "write", "fsync", "rename", "fsync-folder"}
    with PlaneFile(path, sha) as file:
        file.verify()


def test_partial_images_of_older_versions_are_read(tmp_path):
    path = tmp_path / "shot_000001.npz"
    np.savez(path, lo=np.array(BOX.lo), hi=np.array(BOX.hi), **FIELDS)
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    with open_planes(path, sha) as file:
        assert isinstance(file, PlaneNpz)
        assert file.layout == LAYOUT
        assert file.span(0, 12) == (10, 12)
        got = file.read(12, 99)
        file.verify()
    for name, a in FIELDS.items():
        np.testing.assert_array_equal(got[name], a[2:])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptionError, match="checksum of the ledger"):
        open_planes(path, sha)
    with pytest.raises(CorruptionError, match="cannot be read"):
        open_planes(path)
    np.savez(path, lo=(0, 0, 0), hi=(500, 1, 61), correlation=np.zeros((50, 1, 61)))
    with pytest.raises(CorruptionError, match="shape"):
        open_planes(path)


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.parametrize("write", ["planes", "bytes"])
def test_a_file_is_on_the_device_before_it_takes_its_name(tmp_path, monkeypatch, write, claimed):
    """And its name, before the call returns: what a loss of power may not undo."""
    seen = []
    fsync, replace = os.fsync, os.replace

    def synced(fd):
        seen.append(("on the device", os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    def renamed(source, target, *, src_dir_fd=None, dst_dir_fd=None):
        # in a claimed folder names are relative to its descriptor
        assert (src_dir_fd is not None) == (dst_dir_fd is not None) == claimed
        there = os.readlink(f"/proc/self/fd/{src_dir_fd}") if claimed else ""
        seen.append(("named", os.path.join(there, source)))
        replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(own, "_claims", {})
    if claimed:
        own.claim(tmp_path.parent, [tmp_path.name])
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    path = tmp_path / "file"
    if write == "planes":
        write_planes(path, LAYOUT, BOX, FIELDS, single())
    else:
        publish_bytes(path, b"some")
    ((at, temporary),) = [(i, what[1]) for i, what in enumerate(seen) if what[0] == "named"]
    assert ("on the device", temporary) in seen[:at]
    assert ("on the device", str(tmp_path)) in seen[at:]
