"""Planes of a volume: in every format the planes that reading all of it gives, from no more bytes than it takes."""

import base64
import struct
import zipfile

import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.earth.grid import Grid
from subsalt.earth.planes import ConstantPlanes, MappedPlanes, Planes
from subsalt.errors import ModelError, ResourceError, SegyError
from subsalt.io import faults
from subsalt.io.volumes import volume
from subsalt.io.volumes.zarr_store import ZarrPlanes

RNG = np.random.default_rng(8)
GRID = Grid((9, 4, 7), (10.0, 20.0, 5.0), (100.0, 0.0, 0.0))
A = RNG.standard_normal(GRID.shape).astype(np.float32)


def vti(values: np.ndarray, encoding: str, upward: bool) -> bytes:
    """Return ImageData of another program: with a Direction depth runs downwards, without one z points up."""
    stored = np.ascontiguousarray((values[:, :, ::-1] if upward else values).transpose(2, 1, 0)).astype("<f4")
    turn = "" if upward else 'Direction="1 0 0 0 1 0 0 0 -1"'
    nx, ny, nz = values.shape
    extent = f"0 {nx - 1} 0 {ny - 1} 0 {nz - 1}"
    block = struct.pack("<Q", stored.nbytes) + stored.tobytes()
    if encoding == "apart":
        payload = base64.b64encode(block[:8]) + base64.b64encode(block[8:])
    else:
        payload = block if encoding == "raw" else base64.b64encode(block)
    kind = b"raw" if encoding == "raw" else b"base64"
    head = (
        '<?xml version="1.0"?><VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" '
        f'header_type="UInt64"><ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="10 20 5" {turn}>'
        '<Piece><PointData><DataArray type="Float32" Name="v" format="appended" offset="0"/></PointData></Piece>'
        "</ImageData>"
    ).encode()
    return head + b'<AppendedData encoding="' + kind + b'">_' + payload + b"</AppendedData></VTKFile>"


def rsf(folder, form: str, data: bytes, esize: int = 4):
    axes = " ".join(f"n{3 - i}={n} d{3 - i}={GRID.spacing[i]}" for i, n in enumerate(GRID.shape))
    (folder / "v.rsf@").write_bytes(data)
    (folder / "v.rsf").write_text(f'{axes} data_format="{form}" esize={esize} in="v.rsf@"\n')
    return folder / "v.rsf"


def shuffled_segy(path, code: int, endian: str = "big"):
    """Write the volume with its traces in another order and its lines numbered from 10 in steps of 2."""
    nx, ny, nz = A.shape
    order = RNG.permutation(nx * ny)
    il, xl = np.divmod(order, ny)
    headers = {
        "inline": 10 + 2 * il,
        "crossline": 5 + xl,
        "cdp_x": 1000 * il,
        "cdp_y": 2000 * xl,
        "coordinate_scalar": -100,
    }
    return make_segy(path, A.reshape(-1, nz)[order], headers=headers, dt=5000, code=code, endian=endian)


def fortran(path):
    np.save(path, np.asfortranarray(A))
    return path


def stored_npz(path):
    np.savez(path, vp=A, spacing_m=np.array(GRID.spacing))
    return path


def written(path):
    volume.write(path, GRID, A)
    return path


def inside(path, data: bytes):
    """Write an RSF header with the data in the same file."""
    axes = " ".join(f"n{3 - i}={n}" for i, n in enumerate(GRID.shape))
    path.write_bytes(f'{axes} data_format="native_float" in="stdin"\n'.encode() + b"\x0c\x0c\x04" + data)
    return path


TEXT = (" ".join(repr(float(v)) for v in A.ravel()[:100]) + "\n\t").encode() + "\n".join(
    repr(float(v)) for v in A.ravel()[100:]
).encode()

#: by name: what makes the file in a folder, and whether its bytes moved are those of the planes asked for
FORMATS = {
    "rsf": (lambda f: written(f / "v.rsf"), True),
    "rsf-xdr": (lambda f: rsf(f, "xdr_float", A.astype(">f4").tobytes()), True),
    "rsf-double": (lambda f: rsf(f, "native_double", A.astype("f8").tobytes(), 8), True),
    "rsf-inside": (lambda f: inside(f / "v.rsf", A.tobytes()), True),
    "rsf-text": (lambda f: rsf(f, "ascii_float", TEXT), True),
    "npy": (lambda f: written(f / "v.npy"), True),
    "npy-fortran": (lambda f: fortran(f / "v.npy"), False),
    "npz-deflated": (lambda f: written(f / "v.npz"), False),
    "npz-stored": (lambda f: stored_npz(f / "v.npz"), True),
    "netcdf": (lambda f: written(f / "v.nc"), True),
    "vti": (lambda f: written(f / "v.vti"), False),
    "segy": (lambda f: written(f / "v.sgy"), None),
    "segy-ibm-shuffled": (lambda f: shuffled_segy(f / "v.sgy", 1), None),
    "segy-little": (lambda f: shuffled_segy(f / "v.sgy", 5, "little"), None),
}
for _kind in ("raw", "base64", "apart"):
    for _up in (False, True):

        def _make(folder, kind=_kind, up=_up):
            (folder / "v.vti").write_bytes(vti(A, kind, up))
            return folder / "v.vti"

        FORMATS[f"vti-{_kind}-{'up' if _up else 'down'}"] = (_make, False)


def opened(path) -> Planes:
    return volume.open_volume(path, spacing=GRID.spacing).planes


@pytest.mark.parametrize("name", FORMATS)
def test_planes_are_those_of_the_whole(tmp_path, name):
    make, exact = FORMATS[name]
    path = make(tmp_path)
    whole = volume.read(path, spacing=GRID.spacing).values
    if "ibm" in name:  # 24 bits at worst with three leading zeros: 21 are right
        assert np.abs(whole - A).max() <= 2.0**-21 * np.abs(A).max()
    else:
        assert np.array_equal(whole, A)
    planes = opened(path)
    assert planes.shape == A.shape
    assert (planes.traffic.wanted, planes.traffic.moved) == (0, 0)
    index = np.stack([RNG.integers(0, n, 40) for n in A.shape], axis=1)
    # forwards, backwards, one plane, none
    for lo, hi in ((2, 5), (0, 3), (8, 9), (4, 4), (0, 9)):
        before = planes.traffic.moved
        got = planes.read(lo, hi)
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        assert np.array_equal(got, whole[lo:hi]), (lo, hi)
        if exact and name != "rsf-text":
            assert planes.traffic.moved - before == (hi - lo) * 28 * (8 if "double" in name else 4)
    assert np.array_equal(planes.take(index), whole[tuple(index.T)])
    assert np.array_equal(planes[1:4, :, 2:3], whole[1:4, :, 2:3])
    assert sum(len(part) for _, part in planes.slabs()) == 9
    if exact is None:  # SEG-Y: whole traces, their headers included
        assert planes.traffic.moved == planes.traffic.wanted // (7 * 4) * (240 + 7 * 4) or "shuffled" in name
    with pytest.raises(TypeError, match="never held whole"):
        np.asarray(planes)


def test_a_volume_of_two_axes(tmp_path):
    a = A[:, 0]
    for name in ("a.rsf", "a.npy", "a.nc", "a.sgy", "a.vti", "a.npz"):
        volume.write(tmp_path / name, Grid((9, 7), (10.0, 5.0)), a)
        planes = volume.open_volume(tmp_path / name, spacing=(10.0, 5.0)).planes
        assert np.array_equal(planes.read(3, 8), a[3:8]), name
        assert np.array_equal(planes.take(np.array([[4, 1], [0, 6], [4, 1]])), a[[4, 0, 4], [1, 6, 1]]), name


def test_records_of_a_netcdf_file(tmp_path):
    """With x unlimited the planes of two variables take turns in the file."""
    from scipy.io import netcdf_file

    with netcdf_file(tmp_path / "r.nc", "w", version=2) as nc:
        for dim, n in (("x", None), ("depth", 7)):
            nc.createDimension(dim, n)
        for name, factor in (("vp", 1), ("other", 2)):
            nc.createVariable(name, "f4", ("x", "depth"))[:] = factor * A[:, 0]
    read_back = volume.open_volume(tmp_path / "r.nc", key="other", spacing=(10.0, 5.0)).planes
    assert np.array_equal(read_back.read(2, 6), 2 * A[2:6, 0])
    assert read_back.traffic.moved == 4 * 28


class _Chunked:
    """What ZarrPlanes asks of a zarr array."""

    shape, dtype, chunks = A.shape, A.dtype, (4, 2, 7)

    def __getitem__(self, key):
        return A[key]


def test_chunks_are_counted_whole():
    planes = ZarrPlanes("a.zarr", _Chunked())
    assert np.array_equal(planes.read(3, 5), A[3:5])
    assert planes.traffic.wanted == 2 * 28 * 4
    assert planes.traffic.moved == 8 * 28 * 4  # two chunks of four planes
    assert planes.step % 4 == 0


def test_a_store_that_breaks_off_is_named():
    class Broken(_Chunked):
        def __getitem__(self, key):
            raise KeyError("chunk c/0/0/0 is missing")

    with pytest.raises(ModelError, match=r"a\.zarr cannot be read") as caught:
        ZarrPlanes("a.zarr", Broken()).read(0, 1)
    assert caught.value.code == "E234"


@pytest.mark.parametrize(
    ("name", "error"), [("v.rsf", SegyError), ("v.npz", ModelError), ("v.sgy", SegyError)]
)
def test_a_file_that_shrinks_is_named(tmp_path, name, error):
    path = written(tmp_path / name)
    planes = opened(path)
    data = tmp_path / "v.rsf@" if name == "v.rsf" else path
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(error, match=name):
        planes.read(5, 9)


def test_a_failing_disk_says_path_and_byte(tmp_path):
    planes = opened(written(tmp_path / "v.rsf"))
    faults.set_fault(faults.FaultCounter(fail_at=1))
    try:
        with pytest.raises(ResourceError, match=r"cannot read .*v\.rsf@ at byte 224: .*errno 5"):
            planes.read(2, 3)
    finally:
        faults.set_fault(None)


def test_short_reads_are_read_on(tmp_path):
    planes = opened(written(tmp_path / "v.rsf"))
    faults.set_fault(faults.FaultCounter(short=100))
    try:
        assert np.array_equal(planes.read(1, 6), A[1:6])
    finally:
        faults.set_fault(None)


def test_the_checksum_of_an_archive_counts(tmp_path):
    """A flipped bit of a stored member is found by whoever reads all of it."""
    path = stored_npz(tmp_path / "v.npz")
    with zipfile.ZipFile(path) as z:
        at = z.getinfo("vp.npy").header_offset
    raw = bytearray(path.read_bytes())
    raw[at + 600] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelError, match="CRC"):
        volume.read(path, key="vp")


def test_a_long_text_is_cut_between_numbers(tmp_path, monkeypatch):
    from subsalt.io.volumes import rsf as module

    monkeypatch.setattr(module, "_TEXT_BLOCK", 37)
    planes = opened(rsf(tmp_path, "ascii_float", TEXT))
    assert np.array_equal(planes.read(0, 9), A)


def test_maps_and_constants_are_planes():
    twice = MappedPlanes(ConstantPlanes((5, 3), np.array([1.0, 2.0, 3.0])), lambda a: 2 * a)
    assert twice.read(1, 3).tolist() == [[2, 4, 6], [2, 4, 6]]
    assert twice.take(np.array([[4, 2]])).tolist() == [6]
    assert twice.sources() == []
    assert len(twice) == 5
    with pytest.raises(TypeError, match="slices along x"):
        twice[::2]
