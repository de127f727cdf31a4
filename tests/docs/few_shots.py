"""The land line of `subsalt example` with fewer shots: modelling all of them takes most of the time of its tests."""

import pytest

from subsalt.examples import land
from thorough import ALL

ALL_SHOTS = "shots = { first = [200, 0], last = [2800, 0], n = 14 }"
IN_THE_MIDDLE = "shots = { first = [1200, 0], last = [1800, 0], n = 4 }"
#: shots of the line: all of them in ``make test-all``
LAND_SHOTS = 14 if ALL else 4


def shorten_the_land_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the line have the four shots in its middle, but for ``make test-all``."""
    assert ALL_SHOTS in land.MODEL_JOB
    monkeypatch.setattr(
        land, "MODEL_JOB", land.MODEL_JOB.replace(ALL_SHOTS, ALL_SHOTS if ALL else IN_THE_MIDDLE)
    )
