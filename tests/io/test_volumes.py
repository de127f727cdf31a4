"""Volumes: every format gives back grid, place and values, and refuses what does not add up."""

import base64
import json
import struct

import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import ConfigError, DataError, MissingInputError, ModelError
from subsalt.io.export import export
from subsalt.io.scan.scan import scan
from subsalt.io.volumes import volume
from subsalt.io.volumes.npy import write_npz
from subsalt.io.volumes.segy_image import write_image
from subsalt.io.volumes.segy_volume import open_segy_volume

RNG = np.random.default_rng(5)
GRIDS = [Grid((5, 4, 20), (12.5, 25, 8), (100, 200, 16)), Grid((30, 20), (12.5, 8 / 3), (100, 4))]
FRAMES = [Frame(), Frame(431_000.0, 6_781_000.0, 0.3), Frame(-500.0, 200.0, -2.3, True)]


def values(grid: Grid) -> np.ndarray:
    return RNG.standard_normal(grid.shape).astype(np.float32)


def corners(grid: Grid, frame: Frame) -> np.ndarray:
    """Return the map positions of the first and last point."""
    last = (grid.last[0], grid.last[1] if grid.ndim == 3 else 0.0, grid.last[-1])
    return frame.to_world(np.array([grid.origin3, last]))


@pytest.mark.parametrize("suffix", [".rsf", ".npz", ".vti", ".nc", ".sgy"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("grid", GRIDS)
def test_round_trip(tmp_path, suffix, frame, grid):
    if grid.ndim == 2 and frame.flip:
        frame = Frame(frame.x0, frame.y0, frame.azimuth)
    a = values(grid)
    path = tmp_path / f"v{suffix}"
    volume.write(path, grid, a, frame, text=["made by a test", 'odd "text" <&> \x1b'], name="image")
    got = volume.read(path)
    assert np.array_equal(got.values, a)
    assert got.values.dtype == np.float32
    assert np.allclose(got.grid.spacing, grid.spacing, rtol=1e-8)
    # SEG-Y keeps centimetres, and an angle to within one over the extent
    assert np.abs(corners(got.grid, got.frame) - corners(grid, frame)).max() < (
        0.02 if suffix == ".sgy" else 1e-6
    )
    first = path.read_bytes()
    volume.write(path, grid, a, frame, text=["made by a test", 'odd "text" <&> \x1b'], name="image")
    assert path.read_bytes() == first


def test_npy_needs_a_spacing(tmp_path):
    grid = GRIDS[0]
    a = values(grid)
    volume.write(tmp_path / "a.npy", grid, a)
    assert volume.read(tmp_path / "a.npy").grid == grid
    # an array of another program has no side file
    (tmp_path / "a.npy.json").unlink()
    with pytest.raises(ModelError, match="spacing") as caught:
        volume.read(tmp_path / "a.npy")
    assert caught.value.code == "E225"
    got = volume.read(tmp_path / "a.npy", spacing=grid.spacing, origin=grid.origin)
    assert got.grid == grid
    assert np.array_equal(got.values, a)


def test_units_and_keys(tmp_path):
    write_npz(
        tmp_path / "m.npz",
        {"vp": np.full((3, 4), 2.0), "rho": np.ones((3, 4)), "spacing_m": np.array([5.0, 5.0])},
    )
    with pytest.raises(ModelError, match="vp, rho") as caught:
        volume.read(tmp_path / "m.npz")
    assert caught.value.code == "E231"
    assert volume.read(tmp_path / "m.npz", key="vp", unit="km/s").values[0, 0] == 2000.0
    with pytest.raises(ConfigError, match="unit"):
        volume.read(tmp_path / "m.npz", key="vp", unit="furlong")
    with pytest.raises(ModelError, match="one value per axis"):
        volume.read(tmp_path / "m.npz", key="vp", spacing=(1, 2, 3))
    with pytest.raises(ModelError, match="not known"):
        volume.read(tmp_path / "m.xyz")
    with pytest.raises(ConfigError, match="not known"):
        volume.write(tmp_path / "m.xyz", GRIDS[0], values(GRIDS[0]))
    with pytest.raises(ModelError, match="shape"):
        volume.write(tmp_path / "m.npy", GRIDS[0], values(GRIDS[1]))
    with pytest.raises(MissingInputError):
        volume.read(tmp_path / "absent.npz")


# ---- RSF


def rsf(folder, text: str, data: bytes | None = None, name="a.rsf"):
    (folder / name).write_text(text)
    if data is not None:
        (folder / "a.rsf@").write_bytes(data)
    return folder / name


def test_rsf_of_other_programs(tmp_path):
    a = np.arange(6, dtype="<f4")
    path = rsf(
        tmp_path,
        'sfmath x1: a@host Mon\n\n\tdata_format="native_float"\n\tesize=4\n\tin="a.rsf@"\n\tn1=9\n\tn1=3 '
        "n2=2\n"
        '\td1=0.004 d2=25 o2=100 # n1=7\n\tlabel1="Depth" unit1="km"\n',
        a.tobytes(),
    )
    v = volume.read(path)
    assert v.grid == Grid((2, 3), (25, 4.0), (100, 0))
    assert v.values.tolist() == [[0, 1, 2], [3, 4, 5]]
    big = rsf(tmp_path, 'n1=3 n2=2 data_format="xdr_float" in="a.rsf@"', a.astype(">f4").tobytes(), "b.rsf")
    assert volume.read(big).values.tolist() == v.values.tolist()
    text = rsf(tmp_path, 'n1=3 n2=2 data_format="ascii_float" in="a.rsf@"', b"0 1 2\n3 4 5\n", "c.rsf")
    assert volume.read(text).values.tolist() == v.values.tolist()
    (tmp_path / "d.rsf").write_bytes(
        b'n1=3 n2=2 data_format="native_float" in="stdin"\n\x0c\x0c\x04' + a.tobytes()
    )
    assert volume.read(tmp_path / "d.rsf").values.tolist() == v.values.tolist()
    ints = rsf(
        tmp_path,
        'n1=3 n2=2 data_format="native_int" in="a.rsf@"',
        np.arange(6, dtype="<i4").tobytes(),
        "e.rsf",
    )
    assert volume.read(ints).values.tolist() == v.values.tolist()


@pytest.mark.parametrize("where", ["/etc/passwd", "../secret", "sub/../../secret", "link"])
def test_rsf_data_stay_in_their_folder(tmp_path, where):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (inner / "link").symlink_to(tmp_path / "secret")
    path = rsf(inner, f'n1=3 n2=2 data_format="native_float" in="{where}"')
    with pytest.raises(ModelError, match="leads outside") as caught:
        volume.read(path)
    assert caught.value.code == "E221"
    if where in ("../secret", "link"):
        assert volume.read(path, rsf_outside=True).values.shape == (2, 3)
        # what a person names is another matter than what a header says
        named = volume.open_volume(path, data=tmp_path / "secret")
        assert named.planes.read(0, 2).shape == (2, 3)


def test_data_belong_to_an_rsf_header(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3), np.float32))
    with pytest.raises(ConfigError) as caught:
        volume.open_volume(tmp_path / "a.npy", data=tmp_path / "b", spacing=(1.0, 1.0))
    assert caught.value.code == "E104"


@pytest.mark.parametrize("suffix", [".bin", ".dat", ""])
def test_the_header_that_makes_bare_samples_readable_is_right(tmp_path, suffix):
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    values.tofile(tmp_path / f"v{suffix}")
    with pytest.raises(ModelError) as caught:
        volume.read(tmp_path / f"v{suffix}")
    line = caught.value.fix.partition("first: ")[2]
    for name, value in {"NZ": "3", "DZ": "5", "NX": "2", "DX": "10"}.items():
        line = line.replace(f"={name}", f"={value}")
    (tmp_path / "h.rsf").write_text(line + "\n")
    read = volume.read(tmp_path / "h.rsf")
    np.testing.assert_array_equal(read.values, values)
    assert read.grid.spacing == (10.0, 5.0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hello", "E220"),
        ("n1=3", "E220"),
        ('n1=3 n2=x in="a.rsf@"', "E220"),
        ('n1=0 n2=2 in="a.rsf@"', "E220"),
        ('n1=3 n2=2 d1=nan in="a.rsf@"', "E220"),
        ('n1=3 n2=3 in="a.rsf@"', "E223"),
        ('n1=1000000000 n2=1000000000 n3=1000 in="a.rsf@"', "E223"),
        ('n1=3 n2=2 data_format="native_complex" in="a.rsf@"', "E222"),
        ('n1=3 n2=2 esize=1 in="a.rsf@"', "E222"),
        ('n1=3 n2=2 data_format="ascii_float" in="a.rsf@"', "E222"),
    ],
)
def test_bad_rsf(tmp_path, text, code):
    with pytest.raises(ModelError) as caught:
        volume.read(rsf(tmp_path, text, b"\xff\xfe12345678" * 2 + b"1234"))
    assert caught.value.code == code
    assert caught.value.fix


# ---- NumPy


def test_pickles_and_lies_are_refused(tmp_path):
    np.savez(tmp_path / "o.npz", vp=np.array([[{"a": 1}]], dtype=object), spacing_m=[1.0, 1.0])
    with pytest.raises(ModelError, match="pickle"):
        volume.read(tmp_path / "o.npz", key="vp")
    np.save(tmp_path / "o.npy", np.array([[None]], dtype=object))
    with pytest.raises(ModelError, match="pickle"):
        volume.read(tmp_path / "o.npy", spacing=(1, 1))
    np.save(tmp_path / "c.npy", np.ones((2, 2), complex))
    with pytest.raises(ModelError):
        volume.read(tmp_path / "c.npy", spacing=(1, 1))
    # a header that claims a terabyte over 24 bytes of data
    np.save(tmp_path / "big.npy", np.zeros((2, 3), np.float32))
    raw = (tmp_path / "big.npy").read_bytes().replace(b"(2, 3)", b"(900000, 300000)")
    raw = raw[:8] + struct.pack("<H", raw.index(b"\n") + 1 - 10) + raw[10:]
    (tmp_path / "big.npy").write_bytes(raw)
    with pytest.raises(ModelError) as caught:
        volume.read(tmp_path / "big.npy", spacing=(1, 1))
    assert caught.value.code == "E223"
    (tmp_path / "no.npz").write_bytes(b"PK nothing")
    with pytest.raises(ModelError):
        volume.read(tmp_path / "no.npz")
    write_npz(
        tmp_path / "s.npz", {"vp": np.zeros((2, 2)), "axes": np.array(["z", "x"]), "spacing_m": np.ones(2)}
    )
    with pytest.raises(ModelError, match="depth as the last"):
        volume.read(tmp_path / "s.npz", key="vp")


def test_a_damaged_zip_member(tmp_path):
    write_npz(tmp_path / "a.npz", {"vp": RNG.standard_normal((20, 20)), "spacing_m": np.ones(2)})
    raw = bytearray((tmp_path / "a.npz").read_bytes())
    raw[200] ^= 0xFF
    (tmp_path / "a.npz").write_bytes(bytes(raw))
    with pytest.raises(ModelError):
        volume.read(tmp_path / "a.npz")


# ---- VTI, netCDF, Zarr


def vti(head: str, payload: bytes) -> bytes:
    return (
        b'<?xml version="1.0"?><VTKFile type="ImageData" version="1.0" '
        b'byte_order="LittleEndian" header_type="UInt64">' + head.encode() + payload
    )


def test_vti_of_other_programs(tmp_path):
    # no Direction: z up, so depth is turned over; x runs fastest
    data = np.arange(6, dtype="<f4").tobytes()
    head = (
        '<ImageData WholeExtent="0 1 0 0 0 2" Origin="10 0 -40" Spacing="5 1 20"><Piece Extent="0 1 0 0 0 '
        '2"><PointData>'
        '<DataArray type="Float32" Name="v" format="appended" offset="0"/></PointData></Piece></ImageData>'
    )
    block = struct.pack("<Q", 24) + data
    (tmp_path / "raw.vti").write_bytes(
        vti(head, b'<AppendedData encoding="raw">_' + block + b"</AppendedData></VTKFile>")
    )
    text = base64.b64encode(block)
    (tmp_path / "b64.vti").write_bytes(
        vti(head, b'<AppendedData encoding="base64">_' + text + b"</AppendedData></VTKFile>")
    )
    apart = base64.b64encode(block[:8]) + base64.b64encode(data)
    (tmp_path / "two.vti").write_bytes(
        vti(head, b'<AppendedData encoding="base64">_' + apart + b"</AppendedData></VTKFile>")
    )
    for name in ("raw", "b64", "two"):
        v = volume.read(tmp_path / f"{name}.vti")
        assert v.grid == Grid((2, 3), (5, 20), (10, 0)), name
        assert v.values.tolist() == [[4, 2, 0], [5, 3, 1]]


@pytest.mark.parametrize(
    "raw",
    [
        b"nothing",
        vti("<ImageData/>", b'<AppendedData encoding="raw">_'),
        vti('<!DOCTYPE a [<!ENTITY b "c">]><ImageData/>', b'<AppendedData encoding="raw">_'),
        vti(
            '<ImageData WholeExtent="0 99999 0 99999 0 99999" Spacing="1 1 1"><DataArray type="Float32" '
            'format="appended"/>'
            "</ImageData>",
            b'<AppendedData encoding="raw">_12345678',
        ),
    ],
)
def test_bad_vti(tmp_path, raw):
    (tmp_path / "a.vti").write_bytes(raw)
    with pytest.raises(ModelError):
        volume.read(tmp_path / "a.vti")


def test_netcdf_is_cf(tmp_path):
    from scipy.io import netcdf_file

    volume.write(tmp_path / "a.nc", GRIDS[0], values(GRIDS[0]), name="image")
    with netcdf_file(tmp_path / "a.nc", "r", mmap=False) as nc:
        assert nc.variables["image"].dimensions == ("x", "y", "depth")
        assert nc.variables["depth"].positive == b"down"
        assert nc.variables["depth"].units == b"m"
        assert nc.Conventions == b"CF-1.8"
    for raw in (b"\x89HDF\r\n\x1a\n", b"CDF\x02" + b"\xff" * 40, b"xyz"):
        (tmp_path / "b.nc").write_bytes(raw)
        with pytest.raises(ModelError):
            volume.read(tmp_path / "b.nc")


def test_zarr_or_a_clear_word(tmp_path):
    grid = GRIDS[0]
    a = values(grid)
    try:
        import zarr  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match="pip install 'zarr"):
            volume.write(tmp_path / "a.zarr", grid, a)
        assert list(tmp_path.iterdir()) == []
        return
    volume.write(tmp_path / "a.zarr", grid, a, FRAMES[1])
    got = volume.read(tmp_path / "a.zarr")
    assert np.array_equal(got.values, a)
    assert (got.grid, got.frame) == (grid, FRAMES[1])


# ---- SEG-Y images


def test_image_segy_says_its_depths(tmp_path):
    segyio = pytest.importorskip("segyio")
    grid = Grid((5, 4, 20), (12.5, 25, 8.25), (100, 200, 16))
    a = values(grid)
    write_image(tmp_path / "a.sgy", a, grid, None, ["run 0123456789abcdef"])
    with segyio.open(tmp_path / "a.sgy") as f:
        assert list(f.ilines) == [1, 2, 3, 4, 5]
        assert list(f.xlines) == [1, 2, 3, 4]
        assert np.array_equal(segyio.tools.cube(f), a)
        assert f.bin[segyio.BinField.Interval] == 8250
        assert f.header[0][segyio.TraceField.DelayRecordingTime] == 16
        assert f.header[1][segyio.TraceField.CDP_Y] == 22500
        text = f.text[0].decode("ascii")
    assert "DEPTH STEP 8.25 M" in text
    assert "MILLIMETRES" in text
    assert "run 0123456789abcdef" in text
    assert len(text) == 3200
    assert scan(tmp_path / "a.sgy").kind == "volume"


def test_image_files_depend_on_nothing_but_the_image(tmp_path):
    grid = GRIDS[1]
    a = values(grid)
    write_image(tmp_path / "a.sgy", a, grid)
    (tmp_path / "sub").mkdir()
    write_image(tmp_path / "sub" / "b.sgy", a, grid)
    assert (tmp_path / "a.sgy").read_bytes() == (tmp_path / "sub" / "b.sgy").read_bytes()


def test_what_an_image_cannot_be(tmp_path):
    grid = GRIDS[1]
    a = values(grid)
    a[3, 3] = np.nan
    for image, g in ((a, grid), (a[:5], grid), (np.zeros((3, 4)), Grid((3, 4), (10, 70.0)))):
        with pytest.raises(DataError):
            write_image(tmp_path / "a.sgy", image, g)
    assert list(tmp_path.iterdir()) == []


def lines(ni=3, nj=4, step=2500, **change):
    il, xl = np.repeat(np.arange(ni), nj), np.tile(np.arange(nj), ni)
    h = {
        "inline": 10 + 2 * il,
        "crossline": 5 + xl,
        "cdp_x": step * il,
        "cdp_y": step * xl,
        "coordinate_scalar": -100,
    }
    return {**h, **change}


def cube(path, ni=3, nj=4, dt=8000, **change):
    x = np.arange(ni * nj)[:, None] + np.arange(6)[None, :] / 10
    return make_segy(path, x, headers=lines(ni, nj, **change), dt=dt)


def test_foreign_volumes(tmp_path):
    v = volume.read(cube(tmp_path / "a.sgy"))
    assert v.grid == Grid((3, 4, 6), (25, 25, 8), (0, 0, 0))
    assert open_segy_volume(tmp_path / "a.sgy").lines == LineNumbers(10, 2, 5, 1)
    assert v.values[2, 1, 0] == 9
    # traces in another order, line numbers elsewhere, coordinates by hand
    order = RNG.permutation(12)
    h = {k: (np.asarray(x)[order] if np.ndim(x) else x) for k, x in lines().items()}
    make_segy(tmp_path / "b.sgy", order[:, None] + np.arange(6)[None, :] / 10, headers=h, dt=8000)
    assert np.array_equal(volume.read(tmp_path / "b.sgy").values, v.values)
    v = volume.read(cube(tmp_path / "c.sgy", cdp_x=0, cdp_y=0), spacing=(10, 20, 5), origin=(1, 2, 3))
    assert v.grid == Grid((3, 4, 6), (10, 20, 5), (1, 2, 3))
    assert {f.code for f in volume.read(cube(tmp_path / "d.sgy", dt=100)).findings} == {"W235"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"cdp_x": 0, "cdp_y": 0}, "E225"),
        ({"inline": [10] * 4 + [12] * 4 + [20] * 4}, None),
        ({"inline": np.repeat([10, 12, 15], 4)}, "E227"),
        ({"inline": [10] * 4 + [12] * 4 + [14] * 3 + [99]}, "E227"),
        ({"crossline": [5] * 12, "inline": [10] * 6 + [12] * 6}, "E227"),
        ({"cdp_x": [0] * 4 + [2500] * 4 + [5400] * 4}, "E228"),
        ({"cdp_x": np.repeat([0, 2500, 5000], 4) + np.tile([0, 900, 1800, 2700], 3)}, "E228"),
        ({"coordinate_scalar": [-100] * 11 + [-10]}, "E228"),
    ],
)
def test_volumes_that_are_no_regular_grid(tmp_path, change, code):
    path = cube(tmp_path / "a.sgy", **change)
    if code is None:
        with pytest.raises(ModelError, match="lines are missing"):
            volume.read(path)
        return
    with pytest.raises(ModelError) as caught:
        volume.read(path)
    assert caught.value.code == code
    if code == "E228":
        v = volume.read(path, spacing=(25, 25, 8))
        assert v.grid == Grid((3, 4, 6), (25, 25, 8))
        assert "W236" in {f.code for f in v.findings}


# ---- export


def test_export_of_a_section_without_coordinates_takes_its_spacing(tmp_path):
    segyio = pytest.importorskip("segyio")
    segyio.tools.from_array2D(str(tmp_path / "v.sgy"), np.full((5, 7), 1500, np.float32))
    with pytest.raises(ModelError) as caught:
        export(tmp_path / "v.sgy", tmp_path / "v.npz")
    assert "--spacing dx,dz" in caught.value.fix
    export(tmp_path / "v.sgy", tmp_path / "v.npz", spacing=(12.5, 10.0))
    made = volume.read(tmp_path / "v.npz")
    assert (made.grid.shape, made.grid.spacing) == ((5, 7), (12.5, 10.0))


def test_export_from_a_run_and_between_formats(tmp_path):
    grid = GRIDS[0]
    a = values(grid)
    run = tmp_path / "job.run"
    run.mkdir()
    with pytest.raises(MissingInputError, match="no image"):
        export(run, tmp_path / "x.rsf")
    volume.write(run / "image.sgy", grid, a, text=["run 77"])
    (run / "run.json").write_text(json.dumps({"image": {"path": "/elsewhere/image.sgy"}}))
    for suffix in (".rsf", ".npz", ".vti", ".nc", ".sgy", ".npy"):
        facts = export(run, tmp_path / f"x{suffix}")
        assert facts["kind"] == ("copy" if suffix == ".sgy" else "volume")
        spacing = grid.spacing if suffix == ".npy" else None
        assert np.array_equal(volume.read(tmp_path / f"x{suffix}", spacing=spacing).values, a)
    assert "run 77" in (tmp_path / "x.rsf").read_text()
    assert (tmp_path / "x.sgy").read_bytes() == (run / "image.sgy").read_bytes()
    export(tmp_path / "x.rsf", tmp_path / "y.sgy", text=["after all run 77"])
    assert "run 77" in " ".join(scan(tmp_path / "y.sgy").files[0].text)
    with pytest.raises(ConfigError, match="source itself"):
        export(tmp_path / "x.sgy", tmp_path / "x.sgy")
    with pytest.raises(DataError, match="no traces"):
        export(tmp_path / "x.rsf", tmp_path / "x.su")


def test_traces_to_su_and_back_and_to_a_pipe(tmp_path, capfdbinary):
    from segy_maker import line_headers

    x = np.round(100 * np.sin(np.arange(30) / 5))[None, :] * np.ones((10, 1))
    src = make_segy(tmp_path / "a.sgy", x, code=1, endian="little", headers={**line_headers(2, 5), "ns": 999})
    assert export(src, tmp_path / "a.su") == {
        "source": str(src),
        "path": str(tmp_path / "a.su"),
        "kind": "traces",
        "traces": 10,
    }
    export(tmp_path / "a.su", tmp_path / "b.sgy")
    export(tmp_path / "a.su", "-")
    assert capfdbinary.readouterr().out == (tmp_path / "a.su").read_bytes()
    want = scan(src)
    for name in ("a.su", "b.sgy"):
        got = scan(tmp_path / name)
        assert (got.source_box, got.receiver_box, got.n_shots) == (want.source_box, want.receiver_box, 2)
        assert got.files[0].statistics.maximum == 100.0
        assert got.files[0].ns_trace == 30


@pytest.mark.parametrize(
    ("suffix", "old", "new"),
    [
        (".vti", b'offset="0"', b'offset="p"'),
        (".rsf", b'frame_azimuth="0.3"', b'frame_azimuth="nan"'),
        (".rsf", b'frame_x0="', b'frame_x0="x'),
        (".rsf", b"esize=4", "esize=²".encode()),
    ],
)
def test_numbers_that_are_none(tmp_path, suffix, old, new):
    path = tmp_path / f"a{suffix}"
    volume.write(path, GRIDS[0], values(GRIDS[0]), FRAMES[1])
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))
    if b"esize" in old:
        # what is no number counts as left out
        assert volume.read(path).grid.shape == GRIDS[0].shape
        return
    with pytest.raises(ModelError):
        volume.read(path)
