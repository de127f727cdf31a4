"""Velocity volumes in time: SEG-Y by line numbers or map, RSF, NPZ, NPY; placed, converted, read by traces."""

import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Frame, Grid
from subsalt.errors import ModelError, SubsaltError
from subsalt.io.volumes import in_time, volume
from subsalt.io.volumes.in_time import open_time_volume
from subsalt.io.volumes.rsf import axes_of, write_rsf
from subsalt.methods.kirchhoff.velocity.load import open_velocity, velocity_files
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

TIME = TimeAxis(41, 0.02)
#: inlines 10..20 every 25 m to the north, crosslines 100..130 every 12.5 m to the east
GRID = ImageGrid((10, 20, 1), (100, 130, 1), (4000.0, 8000.0), (0.0, 25.0), (12.5, 0.0), TIME)
LINE = ImageGrid((1, 1, 1), (101, 161, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TIME)


def truth(inline, crossline, t):
    return 1500 + 10 * (inline - 10) + 2 * (crossline - 100) + 500 * t


def traces(inline, crossline, dt=0.1, nt=9):
    t = dt * np.arange(nt)
    return truth(inline[:, None], crossline[:, None], t).astype(np.float32)


def lines(step_i=5, step_x=10):
    i, x = np.meshgrid(np.arange(10, 21, step_i), np.arange(100, 131, step_x), indexing="ij")
    return i.ravel(), x.ravel()


def opened(tmp_path, grid=GRID, **keys):
    section = VelocitySection.model_validate(keys)
    return open_velocity(section, lambda name: tmp_path / name, grid)


def wanted(grid=GRID):
    numbers = grid.numbers().astype(np.float64)
    return truth(numbers[:, :1], numbers[:, 1:], TIME.values())


# 2.5-D interpolation in double precision of float32 samples: their rounding, 6e-8, twice
CLOSE = {"rtol": 2e-7}


@pytest.fixture
def segy(tmp_path):
    i, x = lines()
    headers = {
        "inline": i,
        "crossline": x,
        "cdp_x": 40000 + 125 * (x - 100),
        "cdp_y": 80000 + 250 * (i - 10),
        "coordinate_scalar": -10,
    }
    order = np.random.default_rng(4).permutation(len(i))
    headers = {k: v[order] if isinstance(v, np.ndarray) else v for k, v in headers.items()}
    return make_segy(tmp_path / "v.sgy", traces(i, x, 0.05, 17)[order], dt=50000, headers=headers)


@pytest.mark.parametrize("locate", ["numbers", "map", "auto"])
def test_segy_by_numbers_and_by_map(segy, tmp_path, locate):
    v, eta = opened(tmp_path, file="v.sgy", locate=locate).at(GRID.positions(), TIME)
    np.testing.assert_allclose(v, wanted(), **CLOSE)
    assert eta is None


@pytest.mark.parametrize("locate", ["numbers", "map"])
def test_an_image_of_some_lines_has_the_bits_of_the_whole(segy, tmp_path, locate):
    some = ImageGrid((19, 13, -3), (103, 130, 9), (4037.5, 8225.0), GRID.per_inline, GRID.per_crossline, TIME)
    keys = {"file": "v.sgy", "locate": locate, "smooth": {"inline": 90, "crossline": 60}}
    whole, _ = opened(tmp_path, **keys).at(GRID.positions(), TIME)
    part, _ = opened(tmp_path, some, **keys).at(some.positions(), TIME)
    i, j = some.numbers().T
    assert np.array_equal(part, whole[(i - 10) * 31 + (j - 100)])


def test_one_point_has_its_value_whatever_is_asked_with_it(segy, tmp_path):
    velocity = opened(tmp_path, file="v.sgy", kind="interval", smooth={"inline": 200, "time": "60 ms"})
    points = GRID.positions()
    whole, _ = velocity.at(points, TIME)
    for some in (slice(0, 1), slice(17, 40), slice(300, 341)):
        assert np.array_equal(velocity.at(points[some], TIME)[0], whole[some])


def test_a_large_volume_is_read_by_the_traces_around(segy, tmp_path, monkeypatch):
    monkeypatch.setattr(in_time, "SMALL", 10)
    velocity = opened(tmp_path, file="v.sgy")
    few = GRID.positions()[:3]
    v, _ = velocity.at(few, TIME)
    np.testing.assert_allclose(v, wanted()[:3], **CLOSE)
    planes = velocity.v.volume.planes
    # on inline 10 and between crosslines 100 and 110: two traces of the twelve
    assert planes.traffic.wanted == 2 * 17 * 4
    velocity.at(few + np.array([1.0, 10.0]), TIME)
    # between two inlines: the four around
    assert planes.traffic.wanted == (2 + 4) * 17 * 4


@pytest.mark.parametrize("form", ["npy", "fortran", "npz", "deflated", "rsf"])
@pytest.mark.parametrize("section", [False, True])
def test_traces_of_large_volumes_in_other_formats(tmp_path, monkeypatch, form, section):
    monkeypatch.setattr(in_time, "SMALL", 10)
    cube = np.random.default_rng(9).uniform(1500, 3000, (6, 7, 9)).astype(np.float32)
    cube = cube[0] if section else cube
    steps, first = ((50.0, 0.1), (0.0, 0.0)) if section else ((50.0, 50.0, 0.1), (0.0, 0.0, 0.0))
    name = {"fortran": "v.npy", "deflated": "v.npz"}.get(form, f"v.{form}")
    if name == "v.npy":
        np.save(tmp_path / name, np.asfortranarray(cube) if form == "fortran" else cube)
    elif name == "v.npz":
        kept_arrays = {"v": cube, "spacing_m": steps, "origin_m": first}
        (np.savez_compressed if form == "deflated" else np.savez)(tmp_path / name, **kept_arrays)
    else:
        labels = ("x", "t") if section else ("x", "y", "t")
        write_rsf(tmp_path / name, cube, axes_of(cube.shape, steps, first, labels, unit=""))
    read_back = open_time_volume(tmp_path / name, spacing=steps, origin=first)
    i = np.zeros(5, np.int64) if section else np.array([5, 2, 2, 0, 2])
    j = np.array([6, 0, 1, 3, 0])
    assert np.array_equal(read_back.traces(i, j), (cube[None] if section else cube)[i, j])


def test_numbers_hold_where_the_data_have_no_map(segy, tmp_path):
    invented = ImageGrid(GRID.inlines, GRID.crosslines, (0.0, 0.0), GRID.per_inline, GRID.per_crossline, TIME)
    v, _ = opened(tmp_path, invented, file="v.sgy").at(invented.positions(), TIME)
    np.testing.assert_allclose(v, wanted(), **CLOSE)


def test_a_unit_and_a_delay(tmp_path):
    i, x = lines()
    values = traces(i, x, 0.05, 17) / np.float32(304.8)
    make_segy(
        tmp_path / "v.sgy", values[:, 2:], dt=50000, headers={"inline": i, "crossline": x, "delay": 100}
    )
    v, _ = opened(tmp_path, file="v.sgy", unit="kft/s").at(GRID.positions(), TIME)
    late = wanted()
    # the first sample, at 0.1 s, goes on upwards
    late[:, :5] = late[:, 5:6]
    np.testing.assert_allclose(v, late, rtol=4e-7)


def test_rsf_by_numbers_and_by_map(tmp_path):
    i, x = lines()
    cube = traces(i, x).reshape(3, 4, 9)
    for axes, unit in ((("inline", "crossline", "time"), ""), (("x", "y", "time"), "")):
        steps = (5.0, 10.0, 0.1) if axes[0] == "inline" else (125.0, 125.0, 0.1)
        first = (10.0, 100.0, 0.0) if axes[0] == "inline" else (0.0, 0.0, 0.0)
        write_rsf(tmp_path / "v.rsf", cube, axes_of(cube.shape, steps, first, axes, unit))
        where = GRID
        if axes[0] == "x":
            # local x runs over inlines here
            where = ImageGrid((10, 20, 1), (100, 130, 1), (0.0, 0.0), (25.0, 0.0), (0.0, 12.5), TIME)
        v, _ = opened(tmp_path, where, file="v.rsf").at(where.positions(), TIME)
        np.testing.assert_allclose(v, wanted(), **CLOSE)


def test_times_in_ms_are_known_by_unit_or_said(tmp_path):
    i, x = lines()
    cube = traces(i, x).reshape(3, 4, 9)
    grid = Grid((3, 4, 9), (5.0, 10.0, 100.0), (10.0, 100.0, 0.0))
    np.savez(
        tmp_path / "v.npz",
        v=cube,
        spacing_m=grid.spacing,
        origin_m=grid.origin,
        axes=["inline", "crossline", "t"],
    )
    with pytest.raises(ModelError, match="look like ms, or like metres of depth") as caught:
        opened(tmp_path, file="v.npz")
    assert caught.value.code == "E746"
    v, _ = opened(tmp_path, file="v.npz", time_unit="ms").at(GRID.positions(), TIME)
    np.testing.assert_allclose(v, wanted(), **CLOSE)


def test_npy_needs_its_spacing(tmp_path):
    i, x = lines()
    np.save(tmp_path / "v.npy", traces(i, x).reshape(3, 4, 9))
    with pytest.raises(ModelError, match="does not say its spacing"):
        opened(tmp_path, file="v.npy")
    where = ImageGrid((10, 20, 1), (100, 130, 1), (0.0, 0.0), (25.0, 0.0), (0.0, 12.5), TIME)
    velocity = opened(tmp_path, where, file="v.npy", spacing=[125, 125, "100 ms"])
    np.testing.assert_allclose(velocity.at(where.positions(), TIME)[0], wanted(), **CLOSE)


def test_a_section_along_a_line(tmp_path):
    cdp = np.arange(101, 162, 10)
    values = truth(10, cdp[:, None], 0.1 * np.arange(9)).astype(np.float32)
    make_segy(tmp_path / "line.sgy", values[::-1], dt=50000, headers={"cdp": cdp[::-1]})
    make_segy(tmp_path / "line.su", values, dt=25000, headers={"cdp": cdp}, su=True)
    for name, rate in (("line.sgy", 2), ("line.su", 4)):
        at = truth(10, LINE.numbers()[:, 1:], np.minimum(rate * TIME.values(), 0.8))
        v, _ = opened(tmp_path, LINE, file=name).at(LINE.positions(), TIME)
        np.testing.assert_allclose(v, at, **CLOSE)


def test_two_sampling_intervals_in_one_file_are_refused_unless_said(tmp_path):
    values = np.full((7, 9), 2000, np.float32)
    headers = {"cdp": np.arange(101, 162, 10), "dt": 8000}
    make_segy(tmp_path / "v.sgy", values, dt=4000, headers=headers)
    with pytest.raises(ModelError, match="4000 microseconds in the binary header") as caught:
        opened(tmp_path, LINE, file="v.sgy")
    assert "spacing = [" in caught.value.fix
    velocity = opened(tmp_path, LINE, file="v.sgy", spacing=[25, "8 ms"])
    assert velocity.v.describe()["time_s"] == [0.0, 0.064]


def test_a_section_in_npz_along_x(tmp_path):
    grid = Grid((61, 9), (25.0, 0.1), (0.0, 0.0))
    values = truth(10, np.arange(101, 162)[:, None], 0.1 * np.arange(9)).astype(np.float32)
    np.savez(tmp_path / "v.npz", v=values, spacing_m=grid.spacing, origin_m=grid.origin)
    v, _ = opened(tmp_path, LINE, file="v.npz").at(LINE.positions(), TIME)
    np.testing.assert_allclose(v, truth(10, LINE.numbers()[:, 1:], TIME.values()), **CLOSE)


def test_beyond_the_volume_its_edge_goes_on(segy, tmp_path):
    far = np.array([[0.0, 0.0], [1e5, 1e5]])
    v, _ = opened(tmp_path, file="v.sgy", locate="map").at(far, TIME)
    np.testing.assert_allclose(v[0], truth(10, 100, TIME.values()), **CLOSE)
    np.testing.assert_allclose(v[1], truth(20, 130, TIME.values()), **CLOSE)


def test_interval_volumes_become_rms(tmp_path):
    cdp = np.array([101, 161])
    t = 0.1 * np.arange(11)
    values = np.repeat((1500 + 600 * t)[None], 2, axis=0).astype(np.float32)
    make_segy(tmp_path / "v.sgy", values, dt=50000, headers={"cdp": cdp}, binary={3217: ("H", 50000)})
    # 0.05 s a sample: v = 1500 + 1200 t
    v, _ = opened(tmp_path, LINE, file="v.sgy", kind="interval").at(LINE.positions()[:2], TIME)
    at = np.minimum(TIME.values(), 0.5)
    exact = np.sqrt(1500**2 + 1500 * 1200 * at + 1200**2 * at * at / 3)
    np.testing.assert_allclose(v[0, :26], exact[:26], rtol=3e-7)


def test_eta_from_a_file_beside_the_velocity(segy, tmp_path):
    (tmp_path / "eta.txt").write_text("0 0.0\n1 0.1\n")
    _, eta = opened(tmp_path, file="v.sgy", eta="eta.txt").at(GRID.positions()[:1], TIME)
    np.testing.assert_allclose(eta[0], 0.1 * TIME.values(), rtol=1e-6, atol=1e-9)


def test_text_functions_of_all_kinds_of_places(tmp_path):
    i, x = lines()
    t = np.array([0.0, 0.8])
    rows = [(a, b, s, truth(a, b, s)) for a, b in zip(i, x, strict=True) for s in t]
    (tmp_path / "numbers.txt").write_text("".join(f"{a} {b} {s} {v}\n" for a, b, s, v in rows))
    east, north = 4000 + 12.5 * (x - 100), 8000 + 25.0 * (i - 10)
    (tmp_path / "map.txt").write_text(
        "x y time velocity\n"
        + "".join(
            f"{a} {b} {s} {truth(k, m, s)}\n" for a, b, k, m in zip(east, north, i, x, strict=True) for s in t
        )
    )
    (tmp_path / "feet.txt").write_text(
        "x y t v\n"
        + "".join(
            f"{float(a) / 0.3048!r} {float(b) / 0.3048!r} {s} {truth(k, m, s)}\n"
            for a, b, k, m in zip(east, north, i, x, strict=True)
            for s in t
        )
    )
    (tmp_path / "ms.txt").write_text("".join(f"{a} {b} {s * 1000} {v / 0.3048}\n" for a, b, s, v in rows))
    for keys in (
        {"file": "numbers.txt"},
        {"file": "map.txt"},
        {"file": "feet.txt", "map_unit": "ft"},
        {"file": "ms.txt", "time_unit": "ms", "unit": "ft/s"},
    ):
        v, _ = opened(tmp_path, **keys).at(GRID.positions(), TIME)
        np.testing.assert_allclose(v, wanted(), **CLOSE)


def test_cdp_functions_along_a_line_and_eta_in_the_same_text(tmp_path):
    (tmp_path / "v.txt").write_text(
        "cdp t v eta\n101 0 1500 0\n101 1 2000 0.1\n161 0 1600 0.0\n161 1 2100 0.1\n"
    )
    v, eta = opened(tmp_path, LINE, file="v.txt").at(LINE.positions(), TIME)
    np.testing.assert_allclose(v[30], 1550 + 500 * TIME.values(), **CLOSE)
    np.testing.assert_allclose(eta[30], 0.1 * TIME.values(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "keys", "code", "words"),
    [
        ("101 0 1500\n101 1 2000\n", {}, "E747", ["11 inlines", "inline crossline t v"]),
        ("1 100 0 1500\n1 100 2500 2000\n", {}, "E743", ["2500 s", "look like ms", 'time_unit = "ms"']),
        ("1 100 0 1500\n1 100 2.5 2000\n", {"time_unit": "ms"}, "E743", ["2.5 ms", "look like seconds"]),
        (
            "1 100 0 1500\n1 100 2.5 2000\n2 100 0 1500\n2 100 2500 2000\n",
            {},
            "E743",
            ["mixed", "inline 1, crossline 100 ends at 2.5 (line 1)", "inline 2, crossline 100 at 2500"],
        ),
        (
            "1 100 0 1500\n1 100 1 0\n",
            {},
            "E740",
            ["velocity 0 of inline 1, crossline 100 at time 1", "above 0"],
        ),
        ("1 100 0 1500\n1 100 1 -9999\n", {}, "E740", ["velocity -9999"]),
    ],
)
def test_texts_that_are_no_velocity_in_time(tmp_path, text, keys, code, words):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(SubsaltError) as caught:
        opened(tmp_path, file="v.txt", **keys).at(GRID.positions(), TimeAxis(101, 0.02))
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)


def test_impossible_eta_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"eta -0\.6 at x 4,000\.0 m") as caught:
        opened(tmp_path, v=2000, eta=-0.6).at(GRID.positions(), TIME)
    assert caught.value.code == "E740"


def test_nan_in_a_volume_is_named_with_its_place(tmp_path):
    cdp = np.arange(101, 162, 10)
    values = np.full((7, 9), 2000, np.float32)
    values[3, 4:] = np.nan
    make_segy(tmp_path / "v.sgy", values, dt=50000, headers={"cdp": cdp})
    with pytest.raises(ModelError, match="velocity nan") as caught:
        opened(tmp_path, LINE, file="v.sgy").at(LINE.positions(), TIME)
    assert caught.value.code == "E740"


def test_a_null_beside_a_trace_does_it_no_harm(tmp_path):
    cube = np.full((3, 3, 21), 2000, np.float32)
    cube[1, 1] = np.nan
    np.savez(tmp_path / "v.npz", v=cube, spacing_m=[25.0, 12.5, 0.1], origin_m=[0, 0, 0])
    where = ImageGrid((1, 3, 1), (1, 3, 1), (0.0, 0.0), (25.0, 0.0), (0.0, 12.5), TIME)
    velocity = opened(tmp_path, where, file="v.npz")
    others = np.delete(where.positions(), 4, axis=0)
    assert (velocity.at(others, TIME)[0] == 2000).all()
    with pytest.raises(ModelError, match=r"velocity nan at x 25\.0 m, y 12\.5 m"):
        velocity.at(where.positions(), TIME)


@pytest.mark.parametrize("which", ["our own", "rsf axis", "npz axis"])
def test_velocities_in_depth_are_refused(tmp_path, which):
    cube = np.full((3, 4, 9), 2000, np.float32)
    name = {"our own": "v.sgy", "rsf axis": "v.rsf", "npz axis": "v.npz"}[which]
    if which == "our own":
        volume.write(tmp_path / name, Grid((3, 4, 9), (25.0, 25.0, 10.0)), cube, Frame())
    elif which == "rsf axis":
        write_rsf(tmp_path / name, cube, axes_of(cube.shape, (25.0, 25.0, 10.0), (0.0, 0.0, 0.0)))
    else:
        np.savez(tmp_path / name, v=cube, spacing_m=[25, 25, 10], axes=["x", "y", "z"])
    with pytest.raises(ModelError) as caught:
        opened(tmp_path, file=name)
    assert caught.value.code == "E746"
    assert "convert the velocity to time" in str(caught.value)


def test_a_volume_that_cannot_be_placed(tmp_path):
    make_segy(tmp_path / "v.sgy", np.full((4, 9), 2000, np.float32), dt=50000)
    for keys in ({}, {"locate": "numbers"}, {"locate": "map"}):
        with pytest.raises(ModelError) as caught:
            opened(tmp_path, file="v.sgy", **keys)
        assert caught.value.code == "E747"


def test_files_of_a_velocity_are_inputs_of_the_job(tmp_path):
    for name in ("v.rsf", "eta.txt"):
        (tmp_path / name).write_text('n1=2 in="v.rsf@"')
    (tmp_path / "v.rsf@").write_bytes(bytes(8))
    section = VelocitySection.model_validate({"file": "v.rsf", "eta": "eta.txt"})
    paths = velocity_files(section, lambda name: tmp_path / name)
    assert {k: [p.name for p in v] for k, v in paths.items()} == {
        "velocity.file": ["v.rsf", "v.rsf@"],
        "velocity.eta.file": ["eta.txt"],
    }


def test_a_volume_says_what_it_is(segy):
    read_back = open_time_volume(segy)
    assert read_back.shape == (3, 4, 17)
    assert (read_back.t0, read_back.dt) == (0.0, 0.05)
    assert read_back.lines == (10, 5, 100, 10)
    assert read_back.place is not None
    assert read_back.place.spacing == (125.0, 125.0)
