"""The founding Kirchhoff case: its size, its survey, what it calls a miss, and a run at a size of seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from patience import PATIENCE

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def founding(monkeypatch):
    """Return the module, forgotten afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import kirchhoff_founding

    yield kirchhoff_founding
    for name in ("kirchhoff_founding", "facts"):
        sys.modules.pop(name, None)


def test_the_cases_have_the_size_of_the_document(founding):
    small, large = founding.Case("small"), founding.Case("large")
    assert [len(c.geometry()[0]) for c in (small, large)] == [70_808, 283_232]
    assert small.bound == pytest.approx(1.859e11, rel=1e-3)
    assert large.bound == pytest.approx(7.435e11, rel=1e-3)
    assert (small.output[0][0], small.output[0][-1], len(small.output[1])) == (65, 85, 200)
    assert small.offsets.mean() == large.offsets.mean()


def test_every_bin_has_every_offset_once_in_shot_order(founding):
    case = founding.Case("small", 10)
    src, rcv, il, xl = case.geometry()
    middle = (src + rcv) / 2 / founding.BIN
    np.testing.assert_allclose(middle, np.stack([xl, il], axis=1), atol=1e-9)
    seen = {(a, b, h) for a, b, h in zip(il, xl, rcv[:, 0] - src[:, 0], strict=True)}
    assert len(seen) == len(src) == 10 * 16 * 4
    changes = (np.diff(src, axis=0) != 0).any(axis=1).sum()
    assert changes == len(np.unique(src, axis=0)) - 1


def test_amplitudes_of_a_made_image_are_found(founding):
    case = founding.Case("small", 10)
    t = founding.TIME.values() - 0.003
    trace = sum(
        r * founding_ricker(t - t0, founding.F0) for t0, r in zip(founding.T0, founding.R, strict=True)
    )
    shape = len(case.output[0]), len(case.output[1]), len(case.offsets)
    rows = founding.amplitudes(np.broadcast_to(np.float32(1.01 * trace), (*shape, len(t))), case)
    assert [r["R"] for r in rows] == [0.2, -0.15, 0.1, 0.2]
    # the largest of the values 0.5 ms apart; the wavelets of neighbours reach over
    assert [r["error"] for r in rows] == pytest.approx([0.01] * 4, abs=1e-3)
    assert [r["seconds_off"] for r in rows] == pytest.approx([0.003] * 4, abs=3e-4)
    # 6 % of stretch: the far classes of the shallow reflectors are left to the mute
    assert [r["checked"] for r in rows] == [12, 18, 18, 24]


def founding_ricker(t, f0):
    a = (np.pi * f0 * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def test_what_is_missed_is_named(founding):
    rows = [{"amplitudes": [{"error": 0.01}, {"error": 0.03}]}]
    result = {"seconds": 131.0, "peak_gb": 0.9, "rows": rows, "large_over_small": 4.2}
    assert founding.missed(result) == [
        "seconds 131 > 130",
        "amplitude 0.03 > 0.02",
        "large_over_small 4.2 > 4.1",
    ]
    rows[0]["amplitudes"].pop()
    assert founding.missed({"seconds": 130.0, "peak_gb": 1.0, "rows": rows}) == []


def test_a_fraction_of_both_sets_runs_as_a_job(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "kirchhoff_founding.py"), str(tmp_path), "--large"]
    ran = subprocess.run(
        [*command, "--divide", "20", "--threads", "1"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    result = json.loads(ran.stdout.splitlines()[-1])
    assert {"seconds", "peak_gb", "gcontrib_per_s"} <= set(result)
    small, large, again = result["rows"]
    assert (small["traces"], large["traces"], again["traces"]) == (5 * 8 * 4, 5 * 8 * 16, 5 * 8 * 4)
    around = (small["seconds"] + again["seconds"]) / 2
    assert result["large_over_small"] == pytest.approx(large["seconds"] / around, abs=1e-3)
    # the interpreter alone takes more than 50 MB; one process: the sum of the peaks is the peak
    assert 0.05 < small["peak_gb"] < 1.0
    for row in result["rows"]:
        assert 0.5 < row["fraction"] < 1
        assert len(row["amplitudes"]) == 4
        assert all(a["checked"] for a in row["amplitudes"])
    assert not list(tmp_path.iterdir())
