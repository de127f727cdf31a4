"""A short measurement of a shot, and the plan that rests on it."""

import json

import pytest

from job_files import RUN, write_files, write_job
from subsalt.machine import machine_file as machines
from subsalt.machine import shot_rates
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job, program
from subsalt.plan.rates import NEAR, Rates
from subsalt.plan.rates import shot_rates as known
from subsalt.propagation.options import PropagationOptions


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Short timings, and a cache of its own."""
    monkeypatch.setattr(shot_rates, "SECONDS", 0.01)
    monkeypatch.setattr(shot_rates, "REPEATS", 1)
    monkeypatch.setattr(shot_rates, "start_seconds", lambda: 0.5)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBSALT_MEASURE", raising=False)
    monkeypatch.setattr("subsalt.methods.rtm.measuring.FOLDER_BYTES", 1 << 20)
    monkeypatch.setattr(program, "measure", lambda method: program.kind_of(method) | {"bytes": 1 << 27})


@pytest.mark.parametrize(
    ("medium", "shape"), [("isotropic", (60, 50)), ("vti", (60, 50)), ("tti", (30, 28, 26))]
)
def test_every_rate_is_a_positive_number(quick, medium, shape):
    case = shot_rates.ShotCase(medium, shape, 8, "pml", 12, False, "f32", 5, 10, 1)
    row = shot_rates.measure(case)
    assert json.loads(json.dumps(row)) == row
    assert all(row[k] > 0 for k in row if k.endswith("_per_s"))
    assert row["injection_seconds"] >= 0
    assert row["points"] == case.points


def test_a_large_shot_is_timed_on_a_smaller_one_of_its_shape():
    case = shot_rates.ShotCase("vti", (1000, 500, 250), 8, "pml", 12, False, "f32", 5, 10, 1)
    assert case.points == pytest.approx(shot_rates.MOST_POINTS, rel=0.02)
    assert [n / case.scaled[2] for n in case.scaled] == pytest.approx([4, 2, 1], rel=0.02)


def row(points, noisy=False, rate=1e9):
    """Return a row of machine.json."""
    kind = shot_rates.ShotCase("vti", (60, 50), 8, "pml", 12, False, "f32", 5, 10, 1).kind
    rates = dict.fromkeys(
        (
            "snapshot_points_per_s",
            "product_points_per_s",
            "copy_bytes_per_s",
            "touch_bytes_per_s",
            "setup_points_per_s",
        ),
        1.0,
    )
    return (
        kind
        | rates
        | {
            "points": points,
            "noisy": noisy,
            "step_points_per_s": rate,
            "injection_seconds": 0.0,
            "start_seconds": 1.0,
        }
    )


def test_only_a_shot_of_nearly_that_size_counts():
    machine = machines.Machine(
        {}, {"shots": [row(1000), row(1300, rate=2e9), row(1200, noisy=True, rate=3e9)]}
    )

    def rate(points, medium="vti"):
        known_rate: Rates | None = known(medium, 2, PropagationOptions(), machine, 1, points)
        return None if known_rate is None else known_rate.core

    assert (rate(1000), rate(1290), rate(1200)) == (1e9, 2e9, 2e9)
    assert rate(1000 / NEAR - 1) is None
    assert rate(1000, "tti") is None


def test_a_plan_measures_once_what_is_not_known(quick, tmp_path, subsalt_command):
    write_files(tmp_path)
    job = write_job(tmp_path, RUN)
    code, out, _ = subsalt_command("plan", job, "--no-measure")
    assert (code, "no time" in out, "measuring" in out) == (0, True, False)
    code, out, _ = subsalt_command("plan", job)
    assert (code, out.count("measuring")) == (0, 3)
    assert "for the run: start 0.5 s" in out
    assert "> store, memory" in out
    assert "boundary, disk" in out
    code, out, _ = subsalt_command("plan", job)
    assert (code, "measuring" in out) == (0, False)
    duration = plan_job(Job.from_toml(job)).duration
    assert duration.wall == pytest.approx(sum(duration.phases.values()))
    assert {"start", "source", "receivers", "traces", "setup", "output", "report"} <= set(duration.phases)
