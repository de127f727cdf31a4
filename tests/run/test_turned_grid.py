"""3-D surveys and models at any azimuth: one image in their own axes; line numbers and map coordinates are kept."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import FindingsError
from subsalt.io.volumes import volume
from subsalt.io.volumes.segy_image import ImageRows
from subsalt.job.checking import check_job
from subsalt.methods.rtm.earth_model import line_numbers
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from turned_case import GRID, NUMBERS, TRIPLE, stations, survey, velocity, write


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The survey and model along the map axes."""
    return write(tmp_path_factory.mktemp("home"), Frame())


def test_a_turned_survey_and_model_give_the_same_image_with_numbers_and_map(home, tmp_path):
    job = write(tmp_path, TRIPLE)
    run = migrate_job(job)
    read_back = volume.read(run.image)
    assert np.array_equal(read_back.values, volume.read(migrate_job(home).image).values)
    assert (read_back.lines, read_back.grid) == (NUMBERS, GRID)
    raw = np.frombuffer(run.image.read_bytes()[3600:], np.uint8).reshape(17 * 11, 240 + 44)
    scalar, numbers = raw[:, 70:72].copy().view(">i2"), raw[:, 188:196].copy().view(">i4")
    inline, crossline = np.meshgrid(1001 + 2 * np.arange(17), 2010 + 5 * np.arange(11), indexing="ij")
    assert np.array_equal(numbers, np.stack([inline.ravel(), crossline.ravel()], axis=1))
    world = raw[:, 180:188].copy().view(">i4") / -scalar.astype(float)
    local = np.stack(
        [12.5 * (inline.ravel() - 1001), 5.0 * (crossline.ravel() - 2010), np.zeros(187)], axis=1
    )
    # whole centimetres in the headers
    np.testing.assert_allclose(world, TRIPLE.to_world(local)[:, :2], atol=0.00501)
    facts = json.loads((run.run_dir / "run.json").read_text())
    assert LineNumbers(**facts["lines"]) == NUMBERS
    page = (run.run_dir / "report.html").read_text()
    (x, y), far = TRIPLE.to_world(np.array([[400.0, 250.0, 0.0]]))[0, :2], "inline 1033, crossline 2060"
    assert far in page
    assert f"({x:.2f}, {y:.2f})" in page


@pytest.mark.parametrize("frame", [TRIPLE, replace(TRIPLE, flip=True), Frame(-2000.0, 900.0, -math.pi / 2)])
def test_place_and_handedness_come_from_the_coordinates_of_a_volume(home, tmp_path, frame):
    job = write(tmp_path, frame)
    model = job.load_model()
    assert (model.grid, model.frame.flip) == (GRID, frame.flip)
    assert model.frame.azimuth == pytest.approx(frame.azimuth, abs=1e-9)
    assert np.array_equal(model.volume("vp"), home.load_model().volume("vp"))
    assert np.array_equal(stations(job), stations(home))
    said = next(f.message for f in check_job(job).findings if f.message.startswith("model on the map"))
    assert "inlines 1001 to 1033 in steps of 2, crosslines 2010 to 2060 in steps of 5" in said
    assert "traces at most 0.0" in said
    assert ("y to its right" in said) == frame.flip


@pytest.mark.parametrize("azimuth", [37.0, 90.0, 180.0, -143.0])
@pytest.mark.parametrize("flip", [False, True])
def test_a_frame_of_the_job_turns_positions_back_exactly(home, tmp_path, azimuth, flip):
    frame = Frame(431_200.0, 6_781_020.0, math.radians(azimuth), flip)
    key = f"frame = {{x0 = 431200, y0 = 6781020, azimuth = {azimuth}{', flip = true' * flip}}}"
    world = survey(frame)
    lines = [["shot,sx,sy,sz"], ["shot,chan,gx,gy,gz"]]
    for shot in world.shots:
        points = frame.to_world(np.vstack([shot.src, shot.rcv])).tolist()
        lines[0].append(f"{shot.id},{','.join(map(repr, points[0]))}")
        lines[1] += [f"{shot.id},{n},{','.join(map(repr, p))}" for n, p in enumerate(points[1:], 1)]
    for name, rows in zip(("s.csv", "r.csv"), lines, strict=True):
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    job = write(tmp_path, Frame(), data=key, model='vp = "vp.rsf"')
    tables = write(
        tmp_path,
        frame,
        data=f'{key}\ngeometry = {{shots = "s.csv", receivers = "r.csv"}}',
        model='vp = "vp.rsf"',
    )
    # double precision on the map, a micrometre on the grid: nothing is lost
    assert np.array_equal(stations(tables), stations(home))
    # trace headers hold centimetres: half of one along each axis
    headers = Job.from_toml(job.path)
    assert np.abs(stations(headers) - stations(home)).max() <= 0.005 * math.sqrt(2) + 1e-6
    assert headers.load_survey().frame == frame
    other = tomllib.loads(job.path.read_text())
    other["data"]["frame"]["flip"] = not flip
    assert (Job.from_dict(other, tmp_path).run_id() == job.run_id()) is False


def test_numbers_on_other_grids_and_of_the_job(tmp_path):
    job = write(tmp_path, TRIPLE, output="inline = [7, 3]")
    assert line_numbers(job, GRID) == LineNumbers(7, 3, 2010, 5)
    coarse = Grid((8, 4, 6), (50.0, 75.0, 50.0), (25.0, 25.0, 0.0))
    assert NUMBERS.on(GRID, coarse) == LineNumbers(1003, 4, 2015, 15)
    assert NUMBERS.on(GRID, Grid((33, 11, 11), (12.5, 25.0, 25.0))) is None
    assert NUMBERS.on(GRID, Grid((17, 11, 11), GRID.spacing, (10.0, 0.0, 0.0))) is None
    assert LineNumbers(2**31 - 2, 1).on(GRID, GRID) is None
    # ranks write their planes with the numbers of the whole
    rows, values = ImageRows(GRID, TRIPLE, [], NUMBERS), velocity()
    parts = [rows.traces(a, values[a:b]) for a, b in ((0, 5), (5, 6), (6, 17))]
    assert np.array_equal(np.concatenate(parts), rows.traces(0, values))
    opened = volume.unpacked(*volume.packed(volume.open_volume(tmp_path / "vp.sgy")))
    assert (opened.lines, opened.misfit) == (NUMBERS, pytest.approx(0.0, abs=1e-6))
    for wrong in ("inline = [7, 0]", "inline = [7]", "crossline = [3000000000, 1]"):
        with pytest.raises(FindingsError):
            write(tmp_path, TRIPLE, output=wrong)


@pytest.mark.parametrize(
    ("said", "phi", "frame"),
    [
        ("map x", 40.0, replace(TRIPLE, azimuth=math.radians(37.0))),
        ("north", 50.0, replace(TRIPLE, azimuth=math.radians(37.0))),
        ("north", 56.0, Frame(0.0, 0.0, math.radians(37.0), True)),
    ],
)
@pytest.mark.parametrize("kind", ["value", "file", "depths"])
def test_azimuths_of_the_map_lean_the_same_way_on_a_turned_grid(tmp_path, said, phi, frame, kind):
    # 3 degrees from local x towards local y in each case
    given = {
        "value": f"value = {phi}",
        "file": 'file = "phi.rsf"',
        "depths": f"z = [0, 100], value = [{phi}, {phi}]",
    }[kind]
    text = (
        f'vp = "vp.rsf"\nepsilon = 0.1\ndelta = 0.05\ntheta = 20\nphi = {{{given}, counted_from = "{said}"}}'
    )
    turn = f"azimuth = {math.degrees(frame.azimuth)!r}{', flip = true' * frame.flip}"
    volume.write(tmp_path / "phi.rsf", GRID, np.full(GRID.shape, phi, np.float32))
    job = write(tmp_path, frame, data=f"frame = {{x0 = {frame.x0}, y0 = {frame.y0}, {turn}}}", model=text)
    # single precision of degrees of the given size, and of the result
    np.testing.assert_allclose(np.degrees(job.load_model().volume("phi")), 3.0, atol=4 * 90.0 * 2.0**-24)


def test_a_zero_of_azimuths_belongs_to_phi(tmp_path):
    with pytest.raises(FindingsError, match="counted_from"):
        write(tmp_path, Frame(), model='vp = {file = "vp.rsf", counted_from = "north"}')


@pytest.mark.parametrize("left_handed", [False, True])
def test_frames_of_p6_parameters_as_the_page_has_them(left_handed):
    """The example of EPSG method 9666 (guidance note 7-2), and the same grid with I at the other side of J (1049)."""
    theta, k = 20.0, 0.99984
    azimuth = 180.0 - theta if left_handed else -theta
    frame = Frame(456781.0, 5836723.0, math.radians(azimuth), flip=left_handed)
    east, north = frame.to_world(np.array([[299 * k * 25.0, 246 * k * 12.5, 0.0]]))[0, :2]
    if not left_handed:
        assert (east, north) == pytest.approx((464855.62, 5837055.90), abs=0.005)
    # J along the bearing, I at a right angle to the right of it, or to the left
    c, s = math.cos(math.radians(theta)), math.sin(math.radians(theta))
    i, j = (-1 if left_handed else 1) * 299 * k * 25.0, 246 * k * 12.5
    assert (east, north) == pytest.approx((456781.0 + i * c + j * s, 5836723.0 - i * s + j * c), abs=1e-6)
