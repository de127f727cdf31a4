"""Jobs of time migration from topography: image, bytes, and what is refused."""

import json

import numpy as np
import pytest
import segyio

from kirchhoff_data import line_positions, make_survey
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.analytic import Plane, primaries
from subsalt.earth.smooth_surface import CELLS, MOST_CELLS, SmoothSurface
from subsalt.errors import ConfigError, FindingsError
from subsalt.job.checking import check_job
from subsalt.methods.kirchhoff.floating import FloatingDatum, FromFlatDatum
from subsalt.methods.kirchhoff.velocity.time_velocity import VelocityFunction
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job

V, DEPTH, TIME = 2000.0, 500.0, TimeAxis(126, 0.008)
DATUM = {"velocity": V, "radius": 40.0}


def hill(x):
    """Return elevations along x, m."""
    return 100.0 + 0.05 * x + 30.0 * np.sin(x / 150.0)


def survey(path, elevations=hill, recorded=hill):
    """Write a line of three offsets over a plane at z = 500 m; topography in the headers, and of what is recorded."""
    src, rcv = line_positions(60, 12.5, (50.0, 200.0, 350.0))
    ends = [np.column_stack([p, -recorded(p[:, 0])]) for p in (src, rcv)]
    traces = primaries(*ends, [Plane(DEPTH, 0.2)], V, ricker(20.0, 0.004, delay=0.0), TIME)
    heights = np.stack([elevations(p[:, 0]) for p in (src, rcv)])
    make_survey(path / "traces.sgy", src, rcv, traces.astype(np.float32), TIME.dt, elevation=heights)


def job(folder, datum=None, **tables):
    """Return the job of a folder."""
    kirchhoff = {"aperture": 300.0, "bands": 3, **({} if datum is None else {"floating_datum": datum})}
    raw = {
        "method": "kirchhoff",
        "data": {"files": ["traces.sgy"]},
        "velocity": {"v": V},
        "kirchhoff": kirchhoff | tables.pop("kirchhoff", {}),
        "parallel": {"threads": 1},
        "output": {"pictures": False},
    }
    return Job.from_dict(raw | tables, folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("land")
    survey(made)
    return made


def image_of(run):
    """Return samples (CDP, time) and the datum elevations in the headers, m."""
    with segyio.open(run / "image.sgy", strict=False) as f:
        low = f.attributes(segyio.TraceField.ReceiverDatumElevation)[:]
        assert np.array_equal(low, f.attributes(segyio.TraceField.SourceDatumElevation)[:])
        return segyio.tools.collect(f.trace[:]), low / 100.0


def events(image):
    """Return the times of the largest samples, s, from a parabola through three of them."""
    k = image.argmax(axis=1)
    a, b, c = (image[np.arange(len(k)), k + d].astype(float) for d in (-1, 0, 1))
    return TIME.dt * (k + 0.5 * (a - c) / (a - 2 * b + c))


@pytest.mark.parametrize("flat", [None, 190.0])
def test_a_plane_from_topography(folder, tmp_path, flat):
    """Statics of up to 1 m at angles of up to 25 degrees are off by 0.05 ms; a tenth of a sample is 0.8 ms."""
    run, again = tmp_path / "run", tmp_path / "again"
    datum = DATUM if flat is None else DATUM | {"flat": flat}
    migrate_job(job(folder, datum), run)
    image, zero = image_of(run)
    inner = slice(15, 45)
    x = 12.5 * np.arange(60)
    np.testing.assert_allclose(zero[inner], hill(x)[inner] if flat is None else flat, atol=1.5)
    want = 2 * (DEPTH + zero) / V
    assert np.abs(events(image) - want)[inner].max() < 0.1 * TIME.dt
    facts = json.loads((run / "run.json").read_text())["floating_datum"]
    assert facts["velocity"] == V
    assert facts["flat"] == flat
    # traces seven at a time, by two threads
    other = job(folder, datum)
    other = other.changed("kirchhoff", trace_block=7).changed("parallel", threads=2)
    migrate_job(other, again)
    assert (again / "image.sgy").read_bytes() == (run / "image.sgy").read_bytes()


def test_elevations_of_a_file(folder):
    """Posts every 5 m on either side of the line: the surface of the stations, to the roughness that they smooth."""
    x, y = np.repeat(np.arange(-400.0, 1200.0, 5.0), 2), np.tile([-10.0, 10.0], 320)
    rows = "\n".join(f"{a:g},{b:g},{hill(a):.3f}" for a, b in zip(x, y, strict=True))
    (folder / "surface.csv").write_text("x,y,elevation\n" + rows + "\n")
    made = job(folder, DATUM | {"elevations": "surface.csv"})
    points = np.column_stack([np.arange(0.0, 700.0, 50.0), np.zeros(14)])
    surface = made.floating_datum(made.open_table()).surface
    np.testing.assert_allclose(surface.at(points), hill(points[:, 0]), atol=1.0)
    assert made.input_files()["kirchhoff.floating_datum.elevations"] == [folder / "surface.csv"]


def test_velocities_count_from_the_floating_datum():
    """Below a flat datum 100 m above the surface they are those of 0.1 s less, and on top those of no time."""
    at = np.zeros((1, 3))
    surface = SmoothSurface.through(at[:, :2], np.zeros(1), 100.0)
    function = VelocityFunction([0.0, 1.0], [2000.0, 3000.0], eta=[0.0, 0.1])
    moved = FromFlatDatum(function, FloatingDatum.of(surface, V, 100.0, at, at))
    time = TimeAxis(101, 0.01)
    v, eta = moved.at(at[:, :2], time)
    want = np.clip(time.values() - 0.1, 0.0, 1.0)
    np.testing.assert_allclose(v[0], 2000.0 + 1000.0 * want, rtol=1e-6)
    np.testing.assert_allclose(eta[0], 0.1 * want, atol=1e-7)
    # a flat datum below the surface asks for times beyond those of the image
    deep = FromFlatDatum(function, FloatingDatum.of(surface, V, -100.0, at, at)).at(
        at[:, :2], TimeAxis(51, 0.01)
    )
    np.testing.assert_allclose(deep[0][0, [0, 50]], [2100.0, 2600.0], rtol=1e-6)


def test_one_level_has_the_bytes_of_no_datum(tmp_path):
    survey(tmp_path, lambda x: np.full_like(x, 120.0), lambda x: 0 * x)
    images = []
    for name, datum in (("none", None), ("level", DATUM)):
        migrate_job(job(tmp_path, datum), tmp_path / name)
        images.append((tmp_path / name / "image.sgy").read_bytes()[3600:])
    assert images[0] == images[1]


def test_a_mean_of_elevations():
    """A plane comes back inside; near its edge the mean is of one side."""
    x, y = (a.ravel() for a in np.meshgrid(np.arange(0, 1000, 25.0), np.arange(0, 800, 25.0)))
    points = np.stack([x, y], axis=1)
    surface = SmoothSurface.through(points, 300.0 + 0.1 * x - 0.05 * y, 200.0)
    inner = (np.abs(x - 500) < 250) & (np.abs(y - 400) < 150)
    np.testing.assert_allclose(
        surface.at(points)[inner], (300.0 + 0.1 * x - 0.05 * y)[inner], atol=0.15 * 12.5
    )
    assert surface.covers(points).all()
    far = np.array([[500.0, 2000.0]])
    assert not surface.covers(far).any()
    np.testing.assert_array_equal(SmoothSurface.through(points, np.full(len(x), 7.3), 200.0).at(points), 7.3)


def test_stations_count_once_however_many_traces_they_have():
    points = np.array([[0.0, 0.0], [100.0, 0.0]])
    once = SmoothSurface.through(points, np.array([0.0, 10.0]), 300.0)
    often = SmoothSurface.through(np.repeat(points, [1, 50], axis=0), np.repeat([0.0, 10.0], [1, 50]), 300.0)
    np.testing.assert_allclose(often.at(points), once.at(points), rtol=1e-12)


def findings_by_code(job):
    """Return the findings of a job by code."""
    return {f.code: f for f in check_job(job).findings if f.is_fault}


def test_what_is_refused(folder, tmp_path):
    survey(tmp_path, lambda x: 0 * x)
    assert "bytes 41, 45" in findings_by_code(job(tmp_path, DATUM))["E750"].message
    tiny = findings_by_code(job(folder, DATUM | {"radius": 0.001}))["E750"]
    assert "radius = 0.001 m" in tiny.message
    (folder / "few.csv").write_text("x,y,elevation\n0,0,100\n50,0,101\n")
    assert (
        "farther than 40 m"
        in findings_by_code(job(folder, DATUM | {"elevations": "few.csv"}))["E751"].message
    )
    assert "two-way time" in findings_by_code(job(folder, DATUM | {"velocity": 0.5}))["E752"].message
    assert "not imaged" in findings_by_code(job(folder, DATUM | {"flat": 50.0}))["W750"].message
    both = [{"step": "shift", "datum": 0.0, "velocity": V}]
    for tables in ({"signal": both}, {"parallel": {"device": "cuda"}}):
        with pytest.raises(FindingsError) as error:
            job(folder, DATUM, **tables)
        assert [f.code for f in error.value.findings] == ["E752"]
    assert job(folder, DATUM).parallel.device == "cpu"
    with pytest.raises(FindingsError, match="radius = -1 m"):
        job(folder, DATUM | {"radius": -1})


def test_heights_are_warned_of_without_a_datum_only(folder):
    assert "W732" in findings_by_code(job(folder))
    assert "W732" not in findings_by_code(job(folder, DATUM))


def test_a_lattice_is_small():
    """The radius that the message names is large enough."""
    points = np.array([[0.0, 0.0], [50_000.0, 40_000.0]])
    with pytest.raises(ConfigError, match="too small") as error:
        SmoothSurface.through(points, np.zeros(2), 100.0)
    step = float(error.value.fix.split()[1]) / CELLS
    assert np.prod(points[1] / step + 2 * CELLS + 2) <= MOST_CELLS
