"""Expected time on workers that come and go, against a simulation."""

from __future__ import annotations

import math
import random

import pytest

from subsalt.errors import ConfigError
from subsalt.plan.workers import WorkersTime, losses_per_hour


def test_without_losses_units_are_shared_by_the_workers() -> None:
    phases = {
        "start": 2.0,
        "check": 3.0,
        "steps": 900.0,
        "trace input": 100.0,
        "image sum": 10.0,
        "report": 1.0,
    }
    time = WorkersTime.of(phases, 100, 40, 0.0)
    assert (time.unit, time.alone, time.lost, time.attempts) == (10.0, 16.0, 0.0, 1.0)
    # 40, 40 and 20 at a time
    assert time.wall == 16.0 + 3 * 10.0


@pytest.mark.parametrize(("loss", "unit"), [(0.05, 3600.0), (1.0, 1800.0), (4.0, 1800.0)])
def test_losses_at_random_times_cost_what_a_simulation_finds(loss: float, unit: float) -> None:
    time = WorkersTime(1, loss, 1, unit, 0.0)
    dice, seconds, count = random.Random(1), [], 4000
    for _ in range(count):
        spent = 0.0
        while (life := dice.expovariate(loss / 3600)) < unit:
            spent += life
        seconds.append(spent + unit)
    mean = sum(seconds) / count
    deviation = math.sqrt(sum((s - mean) ** 2 for s in seconds) / (count - 1) / count)
    # one in 16,000 means lies farther away
    assert abs(mean - time.each) < 4 * deviation
    assert time.lost == pytest.approx(1 - unit / time.each)


def test_a_unit_far_longer_than_the_life_of_a_worker_never_ends() -> None:
    time = WorkersTime(40, 1.0, 10, 3600.0 * 1000, 0.0)
    assert math.isinf(time.wall)
    assert time.lost == 1.0


def test_losses_by_time() -> None:
    assert losses_per_hour("0.05/h") == 0.05
    assert losses_per_hour("12/d") == 0.5
    for wrong in ("0.05", "-1/h", "1/s", "nan/h", ""):
        with pytest.raises(ConfigError, match="--spot-loss"):
            losses_per_hour(wrong)
