"""Where an image lies on the map: survey and model moved rigidly give the same image at the moved place, in every file.

Rotations by Pythagorean triples keep the coordinates of stations whole centimetres, so that headers lose nothing and
the images have the same bytes.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

import job_files
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame, Grid
from subsalt.errors import FindingsError
from subsalt.io.export import export
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.job.base import BEFORE_FRAMES
from subsalt.methods.rtm.job import Job
from subsalt.run.job_of_run import job_of_run
from subsalt.run.migrate import migrate_job
from subsalt.run.settings import settings_of
from thorough import thorough

GRID = Grid((41, 21), (20.0, 20.0))
JOB = """\
[data]
files = ["shots.sgy"]
first_breaks = "ignore"
{data}
[model]
vp = "vp.rsf"
[source]
f0 = 7
[propagation]
grid = "model"
[output]
pictures = false
formats = {formats}
"""

#: cosine and sine of turns, map origins
PLACES = {
    "north-east": (0.6, 0.8, 431_000.0, 6_781_000.0),
    "west": (-0.96, 0.28, 600_500.0, 5_300_250.0),
    "south": (0.28, -0.96, -20_000.0, 100_000.0),
}


def survey():
    """Return three shots along a line over 800 m."""
    src = [[x, 20.0] for x in (200.0, 400.0, 650.0)]
    rcv = [[x, 20.0] for x in np.arange(50.0, 751.0, 50.0)]
    made = Survey.from_arrays(src, rcv, nt=101, dt=0.006)
    t = made.time.values()
    for shot in made.shots:
        arrival = np.sqrt((shot.rcv[:, 0] - shot.src[0]) ** 2 + 500.0**2) / 1700.0 + 0.05
        a = (np.pi * 7.0 * (t[None] - arrival[:, None])) ** 2
        shot.data = ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
    return made


def velocity():
    """Return a velocity that grows along x and downwards."""
    x, z = GRID.axis(0)[:, None], GRID.axis(1)[None, :]
    return (1500.0 + 0.5 * z + 0.4 * x).astype(np.float32)


def write(
    folder: Path,
    frame: Frame,
    model_frame: Frame | None,
    data: str = "",
    vp=None,
    formats: str = '["segy", "rsf"]',
) -> Job:
    """Write shots that lie in `frame`, a model, and their job."""
    folder.mkdir(exist_ok=True)
    shots = survey()
    shots.frame = frame
    write_survey(folder / "shots.sgy", shots)
    volume.write(folder / "vp.rsf", GRID, velocity() if vp is None else vp, model_frame, name="vp")
    text = JOB.format(data=data, formats=formats)
    return Job.from_toml(job_files.write_job(folder, text))


def coordinates(path: Path, samples: int) -> np.ndarray:
    """Return CDP x and y of the traces of a SEG-Y file, m, and check inline and crossline; read byte by byte."""
    raw = path.read_bytes()[3600:]
    out = []
    for i in range(0, len(raw), 240 + 4 * samples):
        (scalar,) = struct.unpack(">h", raw[i + 70 : i + 72])
        x, y, inline, crossline = struct.unpack(">4i", raw[i + 180 : i + 196])
        assert (inline, crossline) == (1, 1 + len(out))
        assert scalar < 0
        out.append([x / -scalar, y / -scalar])
    return np.array(out)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """The image of the line along map x."""
    job = write(tmp_path_factory.mktemp("home"), Frame(), None)
    return volume.read(migrate_job(job).image).values


def frame_of(name: str) -> Frame:
    c, s, x0, y0 = PLACES[name]
    return Frame(x0, y0, math.atan2(s, c))


@pytest.mark.parametrize(
    ("name", "who"),
    [
        *(pytest.param(n, "model", marks=[] if n == "south" else thorough) for n in PLACES),
        ("west", "job"),
    ],
)
def test_a_rigid_motion_moves_the_image_and_changes_no_sample(tmp_path, home, name, who):
    frame = frame_of(name)
    key = f"frame = {{x0 = {frame.x0}, y0 = {frame.y0}, azimuth = {math.degrees(frame.azimuth)!r}}}"
    job = write(tmp_path, frame, *((frame, "") if who == "model" else (None, key)))
    made = migrate_job(job)
    there = frame.to_world(np.column_stack([GRID.axis(0), np.zeros((41, 2))]))[:, :2]
    np.testing.assert_allclose(coordinates(made.image, 21), there, atol=0.00501)
    for file in ("image.sgy", "image.rsf", "illumination.rsf"):
        read_back = volume.read(made.run_dir / file)
        np.testing.assert_allclose(
            [read_back.frame.x0, read_back.frame.y0, read_back.frame.azimuth],
            [frame.x0, frame.y0, frame.azimuth],
            rtol=1e-15,
        )
        assert read_back.grid == GRID
    assert np.array_equal(volume.read(made.image).values, home)
    facts = json.loads((made.run_dir / "run.json").read_text())
    assert facts["frame"]["x0"] == frame.x0
    np.testing.assert_allclose(facts["line"]["start"], there[0] + (there[-1] - there[0]) / 16, atol=0.01)
    page = (made.run_dir / "report.html").read_text()
    assert "Where it lies on the map" in page
    assert f"({facts['line']['start'][0]:.2f}, {facts['line']['start'][1]:.2f})" in page


def test_a_model_stored_from_the_other_end_gives_the_mirrored_image(tmp_path, home):
    frame = frame_of("west")
    other = Frame(
        *(float(v) for v in frame.to_world(np.array([[800.0, 0, 0]]))[0, :2]), frame.azimuth + math.pi
    )
    job = write(tmp_path, frame, other, vp=velocity()[::-1])
    made = volume.read(migrate_job(job).image).values
    # sums over the stencil and over traces are added up in another order: some digits of float32
    np.testing.assert_allclose(made[::-1], home, rtol=0, atol=2e-5 * np.abs(home).max())


def test_every_format_holds_the_map_and_an_export_is_a_model_again(tmp_path, home):
    frame = frame_of("south")
    job = write(tmp_path, frame, frame, formats='["segy", "npy", "npz", "vti", "nc"]')
    run = migrate_job(job).run_dir
    there = frame.to_world(np.column_stack([GRID.axis(0), np.zeros((41, 2))]))[:, :2]
    from scipy.io import netcdf_file

    with netcdf_file(run / "image.nc", mmap=False) as nc:
        assert nc.variables["image"].coordinates == b"map_x map_y"
        for i, axis in enumerate("xy"):
            v = nc.variables[f"map_{axis}"]
            assert v.dimensions == ("x",)
            assert v.standard_name == f"projection_{axis}_coordinate".encode()
            np.testing.assert_allclose(v[:], there[:, i], atol=1e-6)
    head = (run / "image.vti").read_bytes()[:2000].decode("latin-1")
    origin, direction = (
        [float(v) for v in head.split(f'{key}="')[1].split('"')[0].split()] for key in ("Origin", "Direction")
    )
    np.testing.assert_allclose(origin[:2], there[0], atol=1e-6)
    np.testing.assert_allclose([direction[0], direction[3]], PLACES["south"][:2], atol=1e-12)
    assert volume.open_volume(run / "image.vti").frame == frame
    side = json.loads((run / "image.npy.json").read_text())
    assert side["frame"] == [frame.x0, frame.y0, frame.azimuth, 0]
    assert side["origin_m"] == [0.0, 0.0]
    # what was exported is placed as a model of its own
    for suffix in ("rsf", "npy", "npz", "vti", "nc", "sgy"):
        target = tmp_path / f"again.{suffix}"
        export(run, target)
        read_back = volume.read(target, key="image" if suffix == "npz" else None)
        assert read_back.frame == frame
        assert read_back.grid == GRID
        assert np.array_equal(read_back.values, home)


def test_zarr_holds_the_map(tmp_path):
    zarr = pytest.importorskip("zarr", exc_type=ImportError)
    frame = frame_of("south")
    for grid in (GRID, Grid((5, 4, 3), (10.0, 20.0, 5.0), (100.0, -40.0, 0.0))):
        path = tmp_path / f"{grid.ndim}.zarr"
        volume.write(path, grid, np.ones(grid.shape, np.float32), frame, name="image")
        group = zarr.open_group(str(path), mode="r")
        points = np.zeros((*grid.shape[:-1], 3))
        points[..., 0] = grid.axis(0).reshape(-1, *[1] * (grid.ndim - 2))
        if grid.ndim == 3:
            points[..., 1] = grid.axis(1)
        world = frame.to_world(points)
        for i, axis in enumerate("xy"):
            np.testing.assert_allclose(group[f"map_{axis}"][...], world[..., i], atol=1e-6)
        assert group["image"].attrs["coordinates"] == "map_x map_y"
        read_back = volume.read(path)
        assert (read_back.grid, read_back.frame) == (grid, frame)


def test_a_survey_in_3d_with_a_frame_has_map_coordinates(tmp_path):
    c, s, x0, y0 = PLACES["north-east"]
    frame, grid = Frame(x0, y0, math.atan2(s, c)), Grid((17, 11, 11), (25.0, 25.0, 25.0))
    made = Survey.from_arrays(
        [[100.0, 125.0, 25.0]],
        [[x, y, 25.0] for x in (50.0, 200.0, 350.0) for y in (50.0, 125.0, 200.0)],
        nt=41,
        dt=0.008,
    )
    made.shots[0].data = np.random.default_rng(1).standard_normal((9, 41)).astype(np.float32)
    made.frame = frame
    write_survey(tmp_path / "shots.sgy", made)
    volume.write(tmp_path / "vp.rsf", grid, np.full(grid.shape, 2000.0, np.float32))
    key = f'line = "3d"\nframe = {{x0 = {x0}, y0 = {y0}, azimuth = {math.degrees(frame.azimuth)!r}}}'
    text = JOB.format(data=key, formats='["segy", "rsf"]').replace("f0 = 7", "f0 = 8")
    run = migrate_job(Job.from_toml(job_files.write_job(tmp_path, text)), tmp_path / "run")
    for name in ("image.sgy", "image.rsf"):
        read_back = volume.read(run.run_dir / name)
        assert read_back.grid == grid
        assert (read_back.frame.x0, read_back.frame.y0) == (x0, y0)
        assert read_back.frame.azimuth == pytest.approx(frame.azimuth, abs=1e-15)
    raw = run.image.read_bytes()[3600 + (11 * 10 + 7) * (240 + 44) :]
    (scalar,) = struct.unpack(">h", raw[70:72])
    at = np.array(struct.unpack(">2i", raw[180:188])) / -scalar
    np.testing.assert_allclose(at, frame.to_world(np.array([[250.0, 175.0, 0.0]]))[0, :2], atol=0.00501)
    assert struct.unpack(">2i", raw[188:196]) == (11, 8)


def lose_a_shot(run: Path) -> None:
    for file in (run / "images").glob("shot_000003*"):
        file.unlink()


@pytest.mark.parametrize("case", ["oblique", "a bend of a millimetre"])
def test_a_run_of_before_keeps_its_frame(tmp_path, monkeypatch, case):
    frame = frame_of("north-east") if case == "oblique" else Frame()
    job = write(tmp_path, frame, None)
    if case != "oblique":
        shots = survey()
        shots.shots[1].src[1] = 0.001
        write_survey(tmp_path / "shots.sgy", shots)
    # version 0.7 wrote no frame into the ledger, and put x = 0 at the end of any line that is not on map x exactly
    with monkeypatch.context() as before:
        before.setattr(
            "subsalt.run.migrate.pin_to_started_job", lambda job, *_: job.goes_on_at(BEFORE_FRAMES) or job
        )
        old = volume.read(migrate_job(job, tmp_path / "old").image)
    assert "frame" not in settings_of(tmp_path / "old")
    assert old.frame.azimuth != 0.0
    # by its directory alone, or by the job file again
    run = tmp_path / "old"
    again = job_of_run(run) if case == "oblique" else Job.from_toml(tmp_path / "line.toml")
    lose_a_shot(run)
    read_back = volume.read(migrate_job(again, run).image)
    assert read_back.frame == old.frame
    assert np.array_equal(read_back.values, old.values)
    assert "frame" not in settings_of(run)
    # a new run is not: it has map x as local x, or nothing says where x = 0 lies
    fresh = Job.from_toml(tmp_path / "line.toml")
    if case == "oblique":
        with pytest.raises(FindingsError) as caught:
            migrate_job(fresh, tmp_path / "new")
        assert [f.code for f in caught.value.findings if f.level == "error"] == ["E342"]
    else:
        assert volume.read(migrate_job(fresh, tmp_path / "new").image).frame.azimuth == 0.0


def test_a_run_goes_on_in_the_frame_of_its_ledger(tmp_path):
    job = write(tmp_path, frame_of("west"), frame_of("west"))
    first = migrate_job(job, tmp_path / "run")
    assert json.loads(settings_of(tmp_path / "run")["frame"])[:2] == list(PLACES["west"][2:])
    before = first.image.read_bytes()
    lose_a_shot(first.run_dir)
    again = job_of_run(first.run_dir)
    assert again.run_place == frame_of("west")
    assert migrate_job(again, first.run_dir).image.read_bytes() == before
