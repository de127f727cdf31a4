"""A 2-D line that does not run along map x: where x = 0 lies is said by somebody, or it is an error with its cures."""

import dataclasses
import json
import re

import numpy as np
import pytest
from rules_alone import rules_on

import job_files
from job_files import GRID, survey, write_job
from subsalt.acquisition.line import BESIDE, fit_stations
from subsalt.cli.check_command import place_beside
from subsalt.earth.grid import Frame, Grid
from subsalt.io.scan.scan import scan
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import write_job as init_job
from subsalt.methods.rtm.view import draw_survey
from subsalt.view.placing import placed

UTM = Frame(431_234.5, 6_781_020.25, 0.7)
#: the same 800 m of map, x growing to the other end
REVERSED = Frame(round(UTM.x0 + 800 * np.cos(0.7), 2), round(UTM.y0 + 800 * np.sin(0.7), 2), 0.7 + np.pi)
#: exchanges x and y of the map
EXCHANGED = Frame(0.0, 0.0, np.pi / 2, True)
TURNED = Frame(0.0, 0.0, np.radians(2.0))

#: positions are looked at, not waves
JOB = """\
[data]
files = ["shots.sgy"]
line = "2d"
first_breaks = "ignore"

[model]
vp = "vp.rsf"

[source]
f0 = "10 Hz"
"""


def varying():
    """Return a velocity that grows with x and with depth."""
    return (job_files.velocity() + np.linspace(0.0, 400.0, GRID.shape[0])[:, None]).astype(np.float32)


def files(folder, frame, *, vp=None, model_frame=None, name="vp.rsf", grid=GRID, line=None):
    """Write a line of shots that lies in `frame`, and a model."""
    shots = line or survey()
    shots.frame = frame
    write_survey(folder / "shots.sgy", shots)
    volume.write(folder / name, grid, varying() if vp is None else vp, model_frame, name="vp")


def checked(folder, text=JOB):
    """Return job and findings."""
    job = Job.from_toml(write_job(folder, text))
    return job, rules_on(job)


def codes(result, level="error"):
    return [f.code for f in result.findings if f.level == level]


def frames_in(text):
    """Return the frames that a cure offers to paste."""
    return re.findall(r"frame = \{[^}]*\}", text)


def pasted(key):
    """Return the job with a key of [data] added, in place of one that is there."""
    name = key.split(" = ")[0]
    lines = [row for row in JOB.splitlines() if not row.startswith(f"{name} =")]
    return "\n".join(lines).replace("[data]", f"[data]\n{key}", 1) + "\n"


def local_x(job):
    return [s.src[0] for s in job.load_survey().shots]


@pytest.mark.parametrize(
    "frame", [TURNED, UTM, REVERSED, EXCHANGED], ids=["2 degrees", "UTM", "reversed", "x, y"]
)
def test_a_line_without_an_origin_is_refused_and_each_cure_works(tmp_path, frame):
    files(tmp_path, frame)
    _, result = checked(tmp_path)
    assert codes(result) == ["E342"]
    said = next(f for f in result.findings if f.code == "E342")
    cures = frames_in(said.fix)
    assert len(cures) == 2
    # the message names the ends of the line in the order of shooting
    ends = frame.to_world(np.array([[50.0, 0, 0], [750.0, 0, 0]]))[:, :2]
    np.testing.assert_allclose([said.evidence["start"], said.evidence["end"]], ends, atol=0.02)
    for cure, expected in zip(cures, ([150.0, 350.0, 550.0], [550.0, 350.0, 150.0]), strict=True):
        job, again = checked(tmp_path, pasted(cure))
        assert codes(again) == []
        assert codes(again, "warning") == []
        np.testing.assert_allclose(local_x(job), expected, atol=0.02)


def test_exchanged_axes_are_named_first_and_exchanging_them_is_the_cure(tmp_path):
    files(tmp_path, EXCHANGED)
    _, result = checked(tmp_path)
    fix = next(f for f in result.findings if f.code == "E342").fix
    assert fix.startswith("x and y look exchanged: [data.fix] swap_xy = true")
    job, again = checked(tmp_path, pasted("fix = {swap_xy = true}"))
    assert codes(again) == []
    assert local_x(job) == [200.0, 400.0, 600.0]
    # the other way round: the key is set and should not be
    files(tmp_path, Frame())
    _, wrong = checked(tmp_path, pasted("fix = {swap_xy = true}"))
    assert "swap_xy = false" in next(f for f in wrong.findings if f.code == "E342").fix


def test_exchanged_axes_on_a_model_with_a_place(tmp_path):
    # true positions in UTM; the headers have them exchanged
    files(tmp_path, Frame(UTM.y0, UTM.x0, np.pi / 2 - UTM.azimuth, True), model_frame=UTM)
    _, result = checked(tmp_path)
    assert codes(result) == ["E343"]
    fix = next(f for f in result.findings if f.code == "E343").fix
    assert "x and y look exchanged: [data.fix] swap_xy = true" in fix
    job, again = checked(tmp_path, pasted("fix = {swap_xy = true}"))
    assert codes(again) == codes(again, "warning") == []
    np.testing.assert_allclose(local_x(job), [200.0, 400.0, 600.0], atol=0.02)


def test_exchanged_axes_in_3d_are_found_in_any_frame(tmp_path):
    frame, grid = Frame(431_234.5, 6_781_020.25, 0.3), Grid((31, 11, 11), (20.0, 20.0, 20.0))
    src = [[x, y, 20.0] for x in (100.0, 300.0, 500.0) for y in (60.0, 140.0)]
    rcv = [[x, y, 20.0] for x in np.arange(20.0, 600.0, 40.0) for y in (20.0, 100.0, 180.0)]
    line = dataclasses.replace(segy_survey(src, rcv), frame=Frame())
    for shot in line.shots:
        shot.src = frame.to_world(shot.src[None])[0, [1, 0, 2]]
        shot.rcv = frame.to_world(shot.rcv)[:, [1, 0, 2]]
    write_survey(tmp_path / "shots.sgy", line)
    volume.write(tmp_path / "vp.rsf", grid, np.full(grid.shape, 2000.0, np.float32), frame)
    text = JOB.replace('"2d"', '"3d"').replace("10 Hz", "8 Hz")
    _, result = checked(tmp_path, text)
    fix = next(f for f in result.findings if f.code == "E330").fix
    assert "x and y look exchanged" in fix
    assert "[data.fix] swap_xy = true" in fix
    _, again = checked(tmp_path, text.replace("[data]", "[data]\nfix = {swap_xy = true}"))
    assert codes(again) == []


def segy_survey(src, rcv, nt=151, dt=0.004):
    """Return a 3-D survey with a direct wave of 2000 m/s."""
    from subsalt.acquisition.survey import Survey

    made = Survey.from_arrays(src, rcv, nt=nt, dt=dt)
    t = made.time.values()
    for shot in made.shots:
        late = t[None] - np.linalg.norm(shot.rcv - shot.src, axis=1)[:, None] / 2000.0
        a = (np.pi * 8.0 * late) ** 2
        shot.data = ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
    return made


@pytest.mark.parametrize("bend", [0.0, 0.001, 2.0])
def test_a_small_bend_leaves_map_x_as_local_x(tmp_path, bend):
    line = survey()
    line.shots[1].src[1] = bend
    files(tmp_path, Frame(), line=line)
    job, result = checked(tmp_path)
    assert codes(result) == []
    assert local_x(job) == [200.0, 400.0, 600.0]
    assert job.load_survey().frame.azimuth == 0.0


def test_what_counts_as_along_map_x_moves_no_station():
    # 141 stations 50 m apart, the ends as far beside map x as the rule allows
    x = np.arange(0.0, 7001.0, 50.0)
    beside = 0.999 * BESIDE * 50.0
    points = np.column_stack([x, beside * x / 7000.0, np.zeros(len(x))])
    fit = fit_stations(points[:1], points[1:])
    assert fit.frame.azimuth == 0.0
    true = fit_stations(points[:1], points[1:], exact=True)
    along = true.frame.to_local(points)[:, 0]
    # taking map x for the way along the line: the end moves by d^2 / 2 L
    assert abs((along[-1] - along[0]) - 7000.0) == pytest.approx(beside**2 / 2 / 7000.0, abs=1e-6)
    assert abs((along[-1] - along[0]) - 7000.0) < 0.002
    points[:, 1] *= 1.01
    assert fit_stations(points[:1], points[1:]).frame.azimuth != 0.0


def test_a_model_that_varies_with_depth_alone_needs_no_origin(tmp_path):
    files(tmp_path, UTM, vp=job_files.velocity())
    job, result = checked(tmp_path)
    assert codes(result) == []
    assert any("varies with depth alone" in f.message for f in result.findings)
    assert job.load_survey().frame.x0 == pytest.approx(UTM.to_world(np.array([[50.0, 0, 0]]))[0, 0], abs=0.02)


@pytest.mark.parametrize("name", ["vp.rsf", "vp.npz", "vp.npy", "vp.sgy", "vp.vti", "vp.nc"])
def test_a_model_with_coordinates_places_the_line(tmp_path, name):
    files(tmp_path, UTM, model_frame=UTM, name=name)
    job, result = checked(tmp_path, JOB.replace("vp.rsf", name))
    assert codes(result) == codes(result, "warning") == []
    np.testing.assert_allclose(local_x(job), [200.0, 400.0, 600.0], atol=0.02)
    assert any("as the model file says" in f.message for f in result.findings)


def test_shots_on_the_model_are_drawn_and_counted_inside_whatever_the_frame(tmp_path):
    files(tmp_path, UTM)
    key = f"frame = {{x0 = {UTM.x0}, y0 = {UTM.y0}, azimuth = {np.degrees(0.7)}}}"
    job, result = checked(tmp_path, pasted(key))
    places_drawn, model = result.context.survey, result.context.model
    where = placed(places_drawn, model.grid, model.frame)
    assert where.beyond == 0.0
    assert not where.src_out.any()
    assert not where.rcv_out.any()
    # and for what a user loads by hand
    where = placed(job.load_survey(), job.load_model().grid, job.load_model().frame)
    assert not where.src_out.any()
    from PIL import Image

    assert "outside" not in Image.open(draw_survey(job, result, place_beside(job, None))).text["Description"]
    line = result.facts["line"]
    assert line["origin"] == [UTM.x0, UTM.y0]
    assert line["direction_deg"] == pytest.approx(np.degrees(0.7), abs=0.01)


@pytest.mark.parametrize(
    ("turn", "aside", "code", "level"),
    [
        (0.0, 10.0, None, "warning"),
        (0.0, 100.0, "W342", "warning"),
        (np.radians(3.0), 0.0, "W342", "warning"),
        (np.radians(12.0), 0.0, "E343", "error"),
        (0.0, 2000.0, "E343", "error"),
    ],
)
def test_a_line_beside_local_x_is_found_and_its_own_frame_cures(tmp_path, turn, aside, code, level):
    true = Frame(*UTM.to_world(np.array([[0.0, aside, 0.0]]))[0, :2], UTM.azimuth + turn)
    files(tmp_path, true, model_frame=UTM)
    _, result = checked(tmp_path)
    other = "error" if level == "warning" else "warning"
    assert codes(result, level) == ([] if code is None else [code])
    assert codes(result, other) == []
    if code is not None:
        (cure,) = frames_in(next(f for f in result.findings if f.code == code).fix)
        _, again = checked(tmp_path, pasted(cure))
        assert codes(again) == codes(again, "warning") == []


def test_lines_in_maps_and_far_from_a_model_at_zero_get_a_frame_that_works(tmp_path):
    files(tmp_path, Frame(431_000.0, 6_781_020.25))
    _, result = checked(tmp_path)
    assert codes(result) == ["E330"]
    (cure,) = frames_in(next(f for f in result.findings if f.code == "E330").fix)
    job, again = checked(tmp_path, pasted(cure))
    assert codes(again) == codes(again, "warning") == []
    assert local_x(job) == [200.0, 400.0, 600.0]


@pytest.mark.parametrize("name", ["x", "y"])
def test_line_x_or_y_says_where_x_is(tmp_path, name):
    files(tmp_path, Frame() if name == "x" else EXCHANGED)
    job, result = checked(tmp_path, JOB.replace('"2d"', f'"{name}"'))
    assert codes(result) == codes(result, "warning") == []
    assert local_x(job) == [200.0, 400.0, 600.0]


def test_scan_names_the_line(tmp_path):
    files(tmp_path, REVERSED)
    scanned = scan(tmp_path / "shots.sgy")
    line = json.loads(json.dumps(scanned.to_dict()))["line"]
    np.testing.assert_allclose(line["start"], REVERSED.to_world(np.array([[50.0, 0, 0]]))[0, :2], atol=0.02)
    assert line["direction_deg"] == pytest.approx(np.degrees(0.7) + 180.0, abs=0.01)
    assert line["bend_max_m"] < 0.02
    text = scanned.describe()
    assert f"from ({round(line['start'][0], 2):.10g}, {round(line['start'][1], 2):.10g})" in text
    assert "give the place of x = 0" in text
    files(tmp_path, Frame())
    assert "x of the model is map x, since the line runs along it" in scan(tmp_path / "shots.sgy").describe()


def test_init_writes_what_it_found_and_guesses_nothing(tmp_path):
    files(tmp_path, UTM)
    made = init_job(tmp_path / "i.toml", [str(tmp_path / "shots.sgy")], vp=str(tmp_path / "vp.rsf"))
    assert [f.code for f in made.findings] == ["W343"]
    assert "The place of the model's x = 0 on this line is not known" in made.text
    assert codes(rules_on(Job.from_toml(made.path))) == ["E342"]
    # what it found, without the comment sign
    text = made.text.replace("# frame", "frame", 1)
    made.path.write_text(text)
    assert codes(rules_on(Job.from_toml(made.path))) == []
    # a model with a place, and one that needs none
    files(tmp_path, UTM, model_frame=UTM)
    made = init_job(made.path, [str(tmp_path / "shots.sgy")], vp=str(tmp_path / "vp.rsf"), force=True)
    assert made.findings == []
    assert "The model file contains its position on the map" in made.text
    made = init_job(made.path, [str(tmp_path / "shots.sgy")], force=True)
    assert made.findings == []
    assert codes(rules_on(Job.from_toml(made.path))) == []
