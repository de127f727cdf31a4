"""F1 for time migration: killed at any file operation, it goes on to the same bytes; restart points are struck too."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import strikes
from small_run import digest
from strikes import FOREVER, KILL, TORN, one_of_each, spread
from struck_survey import Case
from time_case import make

from thorough import ALL, sample

#: strikes of this module in ``make test-all``, two thirds of them where results are written
POINTS = 18
RESULTS = ("image", "gathers", "restart point", "partial image")


@pytest.fixture(scope="module")
def time_case() -> Iterator[Case]:
    """A small time migration with restart points behind every block of traces."""
    folder = Path(tempfile.mkdtemp(prefix="subsalt-time-", dir=strikes.ROOT)).resolve()
    try:
        shim = strikes.build(folder)
        if shim is None:
            pytest.skip("no C compiler for the shim that strikes")
        job = make(folder, keys="trace_block = 120\nsave_every = 1e-6")
        with strikes.Striker(folder, shim) as striker:
            yield Case(folder, job, striker)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_killed_anywhere_it_goes_on_to_the_same_bytes(time_case: Case) -> None:
    case = time_case
    of_results = [p for p in case.points if p.part in RESULTS]
    others = [p for p in case.points if p.part not in RESULTS]
    points = [*spread(of_results, POINTS - 6), *spread(others, 6)]
    points = points if ALL else [*one_of_each(of_results), *spread(others, 3)]
    case.striker.struck.clear()
    faults = []
    for i, point in enumerate(points):
        fault, _ = case.kill(point, by_directory=i % 2 == 1, mode=TORN if i % 4 > 1 else KILL)
        faults += [f"{point}: {fault}"] if fault else []
    assert not faults, "\n".join(faults)
    assert sum(case.striker.struck.values()) == len(points)
    assert {part for _, part in case.striker.struck} >= set(RESULTS)


def test_killed_again_while_going_on(time_case: Case) -> None:
    case = time_case
    for i, point in enumerate(spread(case.points, 3)[:: sample(2, 1)]):
        fault, _ = case.kill(point, again=1 + (i * 31) % 80, by_directory=i % 2 == 0)
        assert not fault, f"{point}: {fault}"


def test_a_full_disk_stops_it_and_nothing_is_lost(time_case: Case) -> None:
    """Every later write fails: exit 74 with a cure, and with room again the same bytes."""
    case = time_case
    writes = [p for p in case.points if p.part in RESULTS]
    for point in writes[:: max(1, len(writes) // 4)][: sample(1, 4)]:
        case.fresh()
        end = case.start(point, FOREVER, 28)
        assert end.code == 74, f"{point}: {end.code} {end.err}"
        assert "Traceback" not in end.err
        assert case.verdict(case.start()) == "", point
        assert digest(case.run) == case.sha256
