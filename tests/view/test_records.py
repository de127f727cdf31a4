import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.view.records import _lobes, offset_along, signed_offset

TIME = TimeAxis(200, 0.004)


def spike(nr):
    """Return traces with one positive pulse at 0.4 s."""
    t = TIME.values()
    return np.tile(np.exp(-(((t - 0.4) / 0.02) ** 2)), (nr, 1))


@pytest.mark.parametrize("draw", ["wiggle", "grey", "residual", "auto"])
def test_a_pulse_is_dark_at_its_time(draw, tmp_path):
    path = view.gather(spike(24), TIME, tmp_path / "a.png", draw=draw)
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(float)
    # inside the axes: 0.78 in from the top, 5.4 in tall
    inside = rgb[round(0.78 * 120) + 3 : round(6.18 * 120) - 3, 100:900]
    # green is dark for black and for red alike
    rows = inside[..., 1].mean(axis=1)
    at = TIME.duration * np.argmin(rows) / len(rows)
    assert at == pytest.approx(0.4, abs=0.02)


def test_gathers_of_a_survey_side_by_side(tmp_path):
    src = [(x, 0.0) for x in (0.0, 100.0, 200.0, 300.0)]
    rcv = [(x, 0.0) for x in np.linspace(0, 300, 80)]
    survey = Survey.from_arrays(src, rcv, nt=200, dt=0.004, data=np.stack([spike(80)] * 4))
    a = view.gathers(survey, tmp_path / "a.png", gain=1.0, run_id="9")
    b = view.gathers(survey, tmp_path / "b.png", ids=[2])
    assert Image.open(a).width > Image.open(b).width
    assert "t^1" in Image.open(a).text["Description"]


def test_signed_offset_follows_x():
    shot = Shot(1, [100.0, 0, 0], [[0.0, 0, 0], [400.0, 400.0, 0]])
    np.testing.assert_allclose(signed_offset(shot), [-100.0, 500.0])


def test_dead_wild_and_missing_samples_are_drawn(tmp_path):
    a = spike(5)
    a[1], a[2], a[3] = 0.0, np.nan, 1e30
    view.gather(a, TIME, tmp_path / "a.png", draw="wiggle")
    view.gather(a, TIME, tmp_path / "b.png", draw="grey")


def test_wrong_input_is_named(tmp_path):
    with pytest.raises(GeometryError, match="200 samples"):
        view.gather(np.zeros((3, 100)), TIME, tmp_path / "a.png")
    with pytest.raises(ConfigError, match="draw"):
        view.gather(spike(3), TIME, tmp_path / "a.png", draw="colour")
    with pytest.raises(GeometryError, match="no shots"):
        view.gathers(Survey([], TIME), tmp_path / "a.png")


def test_lobes_begin_and_end_where_the_line_crosses_zero():
    t = np.arange(5.0)
    outline = _lobes(np.array([-1.0, 1.0, 3.0, -1.0, 2.0]), t)
    np.testing.assert_allclose(
        outline,
        [[0, 0], [0, 0], [0, 0.5], [1, 1], [3, 2], [0, 2.75], [0, 3], [0, 3 + 1 / 3], [2, 4], [0, 4]],
        atol=1e-15,
    )


def test_offsets_of_an_areal_spread_are_no_axis():
    line = Shot(1, [1000.0, 0, 0], [[900.0 - 25 * i, 0, 0] for i in range(20)])
    np.testing.assert_allclose(offset_along(line), signed_offset(line))
    split = Shot(1, [250.0, 0, 0], [[25.0 * i, 0, 0] for i in range(20)])
    np.testing.assert_allclose(offset_along(split), signed_offset(split))
    area = Shot(1, [250.0, 250, 0], [[100.0 * i, 100.0 * j, 0] for j in range(5) for i in range(5)])
    assert offset_along(area) is None
