"""Every rule on the velocity of a time migration: a planted mistake each, one finding with its cure; and silence."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ModelError
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.rules.velocity import (
    coarse,
    spread_positions,
    velocity_facts,
    velocity_findings,
)
from subsalt.methods.kirchhoff.velocity.load import open_velocity
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

TIME = TimeAxis(501, 0.004)
GRID = ImageGrid((1, 40, 1), (100, 150, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TIME)
LINE = ImageGrid((1, 1, 1), (100, 150, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TIME)


def findings_of(tmp_path, grid=GRID, options=None, curved=False, text=None, **keys):
    """Return (code, message and cure) of what is wrong, and the messages of what is in order."""
    if text is not None:
        (tmp_path / "v.txt").write_text(text)
        keys["file"] = "v.txt"
    section = VelocitySection.model_validate(keys)
    velocity = open_velocity(section, lambda name: tmp_path / name, grid, curved)
    feet = keys.get("file") == "feet.txt"
    got = list(velocity_findings(velocity, grid, options, unit_said=section.unit is not None, feet=feet))
    bad = [(f.code, f"{f.message}; {f.fix}") for f in got if f.is_fault]
    good = [f.message for f in got if f.level == "ok"]
    # the first line says what the velocity is
    assert (good[:1] and "rms velocity" in good[0]) or bad[0][0][0] == "E"
    return bad, good[1:]


REASONABLE = "cdp t v\n100 0 1500\n100 1 1900\n100 2 2400\n150 0 1500\n150 2 2500\n"


def test_a_reasonable_velocity_raises_no_word(tmp_path):
    assert findings_of(tmp_path, LINE, KirchhoffOptions(aperture=3000.0), text=REASONABLE) == ([], [])
    assert findings_of(tmp_path, LINE, KirchhoffOptions(), True, text=REASONABLE) == ([], [])
    assert findings_of(tmp_path, v=2000, eta=0.1) == ([], [])


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (2.1, "E744", ["look like km/s", 'unit = "km/s"']),
        (0.0005, "E744", ["slowness in s/m"]),
        (0.5, "E744", ["slowness in s/km"]),
        (2_100_000, "E744", ["mm/s"]),
        ({"t": [0, 1.9], "value": [4900, 9000]}, "E745", ["4900 to 9000", "ft/s"]),
        (250, "W742", ["250 to 250 m/s", "null values"]),
        (12_000, "E745", ["ft/s"]),
    ],
)
def test_units(tmp_path, value, code, words):
    bad, _ = findings_of(tmp_path, v=value)
    assert [c for c, _ in bad] == [code]
    for word in words:
        assert word in bad[0][1]


def test_feet_are_likelier_when_the_data_count_in_feet(tmp_path):
    (tmp_path / "feet.txt").write_text("0 4900\n1 6500\n")
    (tmp_path / "same.txt").write_text("0 4900\n1 6500\n")
    bad, _ = findings_of(tmp_path, file="feet.txt")
    assert [c for c, _ in bad] == ["E745"]
    assert "the data count in feet" in bad[0][1]
    assert findings_of(tmp_path, file="same.txt")[0] == []


def test_a_unit_that_was_said_holds(tmp_path):
    (tmp_path / "v.txt").write_text("0 4900\n1 10500\n")
    bad, _ = findings_of(tmp_path, file="v.txt", unit="m/s")
    assert [c for c, _ in bad] == ["W742"]
    assert "1 s" in bad[0][1]
    assert findings_of(tmp_path, file="v.txt", unit="ft/s")[0] == []


@pytest.mark.parametrize("bad_value", ["0", "-1500", "-999.25"])
def test_impossible_velocities_are_errors_with_their_place(tmp_path, bad_value):
    with pytest.raises(ModelError) as caught:
        findings_of(tmp_path, LINE, text=f"100 0 1500\n100 2 2000\n125 0 1500\n125 2 {bad_value}\n")
    assert caught.value.code == "E740"
    assert f"velocity {bad_value} of cdp 125 at time 2 (its function begins on line 3)" in str(caught.value)


def test_impossible_values_of_a_volume_are_found(tmp_path):
    cube = np.full((2, 2, 21), 2000, np.float32)
    cube[1, 0, 5:] = 0
    np.savez(tmp_path / "v.npz", v=cube, spacing_m=[1000.0, 1250.0, 0.1], origin_m=[0.0, 0.0, 0.0])
    bad, _ = findings_of(tmp_path, file="v.npz")
    assert [c for c, _ in bad] == ["E740"]
    assert "velocity 0 at x" in bad[0][1]


INTERVAL = "100 0 1500\n100 0.99 1500\n100 1.0 3500\n100 2 3500\n"


def test_interval_velocities_given_as_rms(tmp_path):
    bad, _ = findings_of(tmp_path, LINE, text=INTERVAL)
    assert "W740" in [c for c, _ in bad]
    message = dict(bad)["W740"]
    # t V^2 grows from 0.9 x 1500^2 to 1.0 x 3500^2 in 0.1 s: 10,139 m/s
    for word in ("1,500 m/s at 0.9 s to 3,500 m/s at 1 s", "10,1", 'kind = "interval"', "1 of 1 functions"):
        assert word in message


def test_rms_velocities_that_fall_too_steeply(tmp_path):
    bad, _ = findings_of(
        tmp_path, LINE, text="100 0 3000\n100 1 3000\n150 0 3000\n150 1 3000\n150 1.1 2500\n"
    )
    assert [c for c, _ in bad] == ["W740"]
    assert "no real velocity" in bad[0][1]
    assert "crossline 150; 1 of 2 functions" in bad[0][1]


def test_said_to_be_interval_velocities_they_are_converted_and_that_is_shown(tmp_path):
    bad, good = findings_of(tmp_path, LINE, kind="interval", text=INTERVAL)
    assert bad == []
    assert "interval velocities became rms velocities of 1500 to 26" in good[0]


def test_smoothing_helps(tmp_path):
    falling = "100 0 3000\n100 1 3000\n100 1.1 2750\n"
    assert [c for c, _ in findings_of(tmp_path, LINE, text=falling)[0]] == ["W740"]
    assert findings_of(tmp_path, LINE, text=falling, smooth={"time": 0.8})[0] == []


def test_clamped_interval_velocities_of_curved_rays(tmp_path):
    bad, _ = findings_of(tmp_path, LINE, curved=True, text="100 0 3000\n100 1 3000\n100 1.1 2500\n")
    assert [c for c, _ in bad] == ["W740", "W746"]


def test_functions_that_end_before_the_image(tmp_path):
    bad, good = findings_of(tmp_path, LINE, text="100 0 1500\n100 2 2400\n150 0 1500\n150 1.2 2000\n")
    assert bad == []
    assert "1 of 2 functions end before the image does, at 1.2 s of 2 s" in good[0]


def test_functions_outside_the_image(tmp_path):
    bad, _ = findings_of(tmp_path, LINE, text="500 0 1500\n500 2 2400\n600 0 1500\n600 2 2500\n")
    assert [c for c, _ in bad] == ["W744"]
    assert "crosslines 500 to 600; image crosslines 100 to 150" in bad[0][1]
    rows = "".join(f"{i} {x} {t} {1500 + 400 * t}\n" for i in (60, 80) for x in (100, 150) for t in (0, 2))
    bad, _ = findings_of(tmp_path, GRID, text=rows)
    assert [c for c, _ in bad] == ["W744"]
    assert "inlines 60 to 80" in bad[0][1]


def test_an_image_that_goes_beyond_its_functions_is_told(tmp_path):
    bad, good = findings_of(tmp_path, LINE, text="110 0 1500\n110 2 2400\n140 0 1500\n140 2 2500\n")
    assert bad == []
    assert "crosslines 110 to 140; image crosslines 100 to 150" in good[0]


def test_volumes_outside_the_image(tmp_path):
    t = 0.1 * np.arange(21)
    cube = np.broadcast_to(1500 + 400 * t, (3, 3, 21)).astype(np.float32)
    here = {"v": cube, "spacing_m": [500.0, 500.0, 0.1], "axes": ["x", "y", "t"]}
    np.savez(tmp_path / "far.npz", origin_m=[9000.0, 0.0, 0.0], **here)
    bad, _ = findings_of(tmp_path, file="far.npz")
    assert [c for c, _ in bad] == ["W744"]
    assert "lattice of 3 x 3 traces" in bad[0][1]
    np.savez(tmp_path / "near.npz", origin_m=[300.0, 0.0, 0.0], **here)
    bad, good = findings_of(tmp_path, file="near.npz")
    assert bad == []
    assert "nearest ones are continued" in good[0]
    lines = {"v": cube, "spacing_m": [1.0, 1.0, 0.1], "axes": ["inline", "crossline", "t"]}
    np.savez(tmp_path / "numbers.npz", origin_m=[200.0, 100.0, 0.0], **lines)
    bad, _ = findings_of(tmp_path, file="numbers.npz")
    assert [c for c, _ in bad] == ["W744"]
    assert "inlines 200 to 202" in bad[0][1]


def test_a_name_that_says_depth(tmp_path):
    t = 0.1 * np.arange(21)
    cube = np.broadcast_to(1500 + 400 * t, (2, 2, 21)).astype(np.float32)
    np.savez(
        tmp_path / "migvel-depth_3d.npz", v=cube, spacing_m=[1000.0, 1250.0, 0.1], origin_m=[0.0, 0.0, 0.0]
    )
    bad, _ = findings_of(tmp_path, file="migvel-depth_3d.npz")
    assert [c for c, _ in bad] == ["W741"]
    assert "steps of 0.1 s to 2 s" in bad[0][1]


def test_large_eta(tmp_path):
    bad, _ = findings_of(tmp_path, v=2000, eta=0.8)
    assert [c for c, _ in bad] == ["W743"]
    assert "5 %" in bad[0][1]


def test_operators_that_fold(tmp_path):
    # v grows by 40 % in 0.2 s at 1 s: d ln v / d ln t about 1.7, above 1 / (1.3^2 - 1) = 1.45
    steep = {"t": [0, 0.9, 1.1, 2], "value": [1800, 1800, 2520, 2600]}
    bad, _ = findings_of(tmp_path, options=KirchhoffOptions(), v=steep)
    assert "W745" in [c for c, _ in bad]
    assert "fall while t0 grows" in dict(bad)["W745"]
    gentle = {"t": [0, 0.9, 1.1, 2], "value": [1800, 1800, 2250, 2600]}
    assert "W745" not in [c for c, _ in findings_of(tmp_path, options=KirchhoffOptions(), v=gentle)[0]]
    # a small aperture stays where times still grow
    assert "W745" not in [
        c for c, _ in findings_of(tmp_path, options=KirchhoffOptions(aperture=300.0), v=steep)[0]
    ]
    off = KirchhoffOptions(stretch_mute=None)
    assert "W745" not in [c for c, _ in findings_of(tmp_path, options=off, v=steep)[0]]


def test_a_wrong_unit_silences_what_would_repeat_it(tmp_path):
    bad, good = findings_of(tmp_path, LINE, text="500 0 1.5\n500 1 3.5\n500 1.05 1.0\n")
    assert [c for c, _ in bad] == ["E744"]
    assert good == []


def test_the_velocity_is_said_in_one_line(tmp_path):
    (tmp_path / "v.txt").write_text(REASONABLE)
    keys = {"file": "v.txt", "eta": 0.1, "scale": 1.1, "smooth": {"time": 0.2, "crossline": 300}}
    velocity = open_velocity(VelocitySection.model_validate(keys), lambda name: tmp_path / name, LINE, True)
    first = next(velocity_findings(velocity, LINE)).message
    for word in (
        " to 2740 m/s",
        "2 functions, linear between them",
        "scaled by 1.1",
        "0.2 s, 300 m",
        "curved rays",
    ):
        assert word in first


def test_facts_name_range_and_place(tmp_path, monkeypatch):
    (tmp_path / "v.txt").write_text(REASONABLE)
    section = VelocitySection.model_validate({"file": "v.txt", "eta": {"t": [0, 2], "value": [0, 0.1]}})
    velocity = open_velocity(section, lambda name: tmp_path / name, LINE)
    facts = velocity_facts(velocity, LINE)
    assert facts["v_rms"]["min"] == 1500
    assert facts["v_rms"]["max"] == 2500
    assert facts["v_rms"]["max_at"] == {"inline": 1, "crossline": 150, "t": 2.0}
    assert facts["v"]["functions"] == 2
    assert facts["eta"]["max"] == pytest.approx(0.1)
    assert facts["locations"] == 51
    monkeypatch.setattr("subsalt.methods.kirchhoff.rules.velocity.WHOLE", 100)
    some = velocity_facts(velocity, LINE)
    assert some["locations"] == 20
    assert some["v_rms"] == facts["v_rms"]


def test_locations_and_times_that_are_looked_at():
    assert len(spread_positions(GRID)) == 400
    assert len(spread_positions(LINE)) == 20
    for corner in GRID.corners():
        assert (spread_positions(GRID) == corner).all(axis=1).any()
    long = coarse(TimeAxis(2001, 0.002))
    assert long.nt <= 402
    assert long.duration >= 4.0
    assert coarse(TimeAxis(11, 0.004), 0.1).dt == pytest.approx(0.1)
