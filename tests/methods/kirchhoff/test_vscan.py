import json

import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.methods.kirchhoff.vscan import Flatness, best_scales, folder_of, measure, scales_of

TIME = TimeAxis(400, 0.004)
OFFSET = np.arange(100, 2500, 200)


def test_scales_are_first_to_last_by_steps():
    assert scales_of("0.9:1.1:0.05") == (0.9, 0.95, 1.0, 1.05, 1.1)
    assert scales_of(" 0.8:1:0.1 ") == (0.8, 0.9, 1.0)
    # the last is never passed
    assert scales_of("0.9:1.1:0.08") == (0.9, 0.98, 1.06)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.9:1.1", "three numbers"),
        ("slow:fast:0.1", "three numbers"),
        ("0.9,1.1,0.05", "three numbers"),
        ("1.1:0.9:0.05", "not above the first"),
        ("0.9:1.1:0", "step is not above 0"),
        ("0.9:1.1:-0.05", "step is not above 0"),
        ("0.9:nan:0.05", "not finite"),
        ("90:110:5", "percent and m/s"),
        ("0.9:1.1:0.001", "201 migrations"),
        ("0.9:1.1:0.5", "1 migration;"),
    ],
)
def test_what_is_no_scan_is_refused(text, words):
    with pytest.raises(ConfigError) as caught:
        scales_of(text)
    assert caught.value.code == "E834"
    assert words in f"{caught.value.message} {caught.value.fix}"


def gather(ratio):
    """Return what a migration at this ratio of the right velocity (2000 m/s) leaves of events at 0.6 and 1.2 s."""
    t, out = TIME.values(), 0.0
    for t0, right in ((0.6, 1.0), (1.2, 1.05)):
        q = (1 / right**2 - 1 / ratio**2) / 2000.0**2
        a = (np.pi * 25 * (t - np.sqrt(np.maximum(t0**2 + q * OFFSET[:, None] ** 2, 0)))) ** 2
        out = out + (1 - 2 * a) * np.exp(-a)
    return out


def runs_of(folder, scales, gathers=True):
    """Write image.sgy and gathers.sgy of three locations for every scale."""
    runs = []
    for s in scales:
        run = folder / f"scale_{s:g}.run"
        run.mkdir()
        traces = np.tile(gather(s), (3, 1))
        cdp = np.repeat([5, 6, 7], len(OFFSET))
        if gathers:
            headers = {"inline": 1, "crossline": cdp, "offset": np.tile(OFFSET, 3)}
            make_segy(run / "gathers.sgy", traces, headers=headers)
        stack = np.tile(gather(s).mean(axis=0), (3, 1))
        make_segy(run / "image.sgy", stack, headers={"inline": 1, "crossline": np.array([5, 6, 7])})
        runs.append(run)
    return runs


@pytest.mark.parametrize("gathers", [True, False])
def test_the_right_velocity_of_each_time_is_found(gathers, tmp_path):
    scales = scales_of("0.9:1.15:0.05")
    scan = measure(tmp_path, scales, runs_of(tmp_path, scales, gathers))
    assert scan.by_gathers == gathers
    assert scan.semblance.shape == scan.power.shape == (6, 12)
    for t0, right in ((0.6, 1.0), (1.2, 1.05)):
        k = next(i for i, (a, b) in enumerate(scan.windows) if a <= t0 <= b)
        # the parabola through three scales a step apart is better than half a step
        assert scan.best[k] == pytest.approx(right, abs=0.025)
        assert not scan.at_end[k]
    # nothing lies at the very end
    assert np.isnan(scan.best[-1])
    stored = json.loads((tmp_path / "vscan.json").read_text())
    assert stored["scales"] == list(scales)
    assert stored["measure"] == ("semblance" if gathers else "stack power")
    assert stored["best_scale"][-1] is None


def test_a_best_at_the_end_of_the_scan_is_said(tmp_path):
    scales = scales_of("1.05:1.15:0.05")
    scan = measure(tmp_path, scales, runs_of(tmp_path, scales))
    k = next(i for i, (a, b) in enumerate(scan.windows) if a <= 0.6 <= b)
    assert scan.at_end[k]
    assert scan.best[k] == 1.05


def test_semblance_of_a_window_is_of_all_locations():
    total = Flatness(TIME)
    rng = np.random.default_rng(5)
    parts = rng.standard_normal((4, 6, TIME.nt))
    for part in parts:
        total.add(part, part.mean(axis=0))
    power, semblance = total.by_window([(0, 200), (200, 400)])
    for k, cut in enumerate((slice(0, 200), slice(200, 400))):
        top = (parts.sum(axis=1) ** 2)[:, cut].sum()
        assert semblance[k] == pytest.approx(top / (6 * (parts**2)[..., cut].sum()), rel=1e-12)
        assert power[k] == pytest.approx((parts.mean(axis=1) ** 2)[:, cut].mean(), rel=1e-12)


def test_quiet_windows_have_no_best():
    scales = np.array([0.9, 1.0, 1.1])
    power = np.array([[1, 1e-9], [4, 1e-9], [1, 2e-9]])
    best, at_end = best_scales(scales, power, np.full((3, 2), np.nan))
    assert best[0] == pytest.approx(1.0, abs=1e-12)
    assert np.isnan(best[1])
    assert not at_end.any()


def test_the_folder_of_a_scan_lies_beside_its_run(tmp_path):
    assert folder_of(tmp_path / "line.run") == tmp_path / "line.vscan"
    assert folder_of(tmp_path / "other") == tmp_path / "other.vscan"
