"""F1: `subsalt migrate`, killed at any file operation, goes on to the same bytes; so does what goes on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from strikes import KILL, TORN, one_of_each, spread
from struck_survey import Case

from thorough import ALL, sample, some

#: strikes of this module, over operations and parts of the run, in ``make test-all``
POINTS = 50


def test_killed_at_many_points_the_run_goes_on_to_the_same_bytes(case: Case) -> None:
    """Every kind of operation on every part of the run; every other one is gone on with by the directory alone.

    One of every part in ``make test``, here a kind that comes early, there one that comes late.
    """
    every = spread(case.points, POINTS)
    assert len(every) == POINTS
    assert {(p.operation, p.part) for p in every} == {(p.operation, p.part) for p in case.points}
    points = every if ALL else one_of_each(every)
    case.striker.struck.clear()
    faults = []
    for i, point in enumerate(points):
        # writes are torn in every other strike: half of the bytes are there
        fault, _ = case.kill(point, by_directory=i % 2 == 1, mode=TORN if i % 4 > 1 else KILL)
        faults += [f"{point}: {fault}"] if fault else []
    assert not faults, "\n".join(faults)
    # an injection that did not happen is no success
    assert sum(case.striker.struck.values()) == len(points)
    parts = {part for _, part in case.striker.struck}
    assert {"image", "report", "ledger", "partial image", "lock", "run.json"} <= parts


def test_a_point_is_struck_whatever_else_a_run_writes_meanwhile(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that takes long tells of itself more often: its operations get other numbers, and keep their names."""
    monkeypatch.setattr(case.striker, "tells_every", 0.002)
    for point in [case.points[len(case.points) // 2], case.points[-1]]:
        case.fresh()
        end = case.start(point, KILL)
        assert (end.code, end.struck) == (-9, point)
    case.fresh()
    assert len(case.striker.points("migrate", case.job, "--run", case.run, under=case.under)) > len(
        case.points
    )


def test_killed_again_while_going_on(case: Case) -> None:
    """A second kill early, in the middle and late in what goes on, behind kills of all parts of the run."""
    points = spread(case.points, sample(2, 12))
    case.striker.struck.clear()
    for i, point in enumerate(points):
        again = 1 + (i * 37) % 90
        fault, _ = case.kill(point, again=again, by_directory=i % 2 == 0)
        assert not fault, f"{point}, then {again}: {fault}"
    # late in a run less is left than the second strike counts
    assert sum(case.striker.struck.values()) > 1.5 * len(points)


def test_the_later_the_kill_the_less_is_left(case: Case) -> None:
    """No finished shot is computed again."""
    import json

    left = []
    for point in spread(case.points, 8)[:: sample(3, 1)]:
        case.fresh()
        assert case.start(point, KILL).code == -9
        end = case.striker("migrate", case.job, "--run", case.run, "--json")
        left.append(json.loads(end.out.splitlines()[-1])["point_steps"])
    assert left == sorted(left, reverse=True)
    assert left[0] > 0
    assert left[-1] == 0


@pytest.mark.parametrize("share", some([0.6, 0.3, 0.95], 1))
def test_the_installed_program_is_killed(case: Case, share: float) -> None:
    """The same with a program that was started anew, not forked."""
    case.fresh()
    point = case.points[int(share * len(case.points))]
    end = case.striker.run("migrate", case.job, "--run", case.run, at=point, mode=KILL, under=case.under)
    assert (end.code, end.struck is not None) == (-9, True), end.err
    assert case.verdict(case.start()) == ""


@pytest.mark.parametrize(("call", "k"), some([("rename", 6), ("pwrite64", 30), ("fdatasync", 9)], 1))
def test_killed_by_the_tracer(case: Case, tmp_path: Path, call: str, k: int) -> None:
    """The same by means that share nothing with the shim."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode:
        pytest.skip(
            "strace is not there, or may not trace; the compiled shim strikes the same operations above"
        )
    case.fresh()
    trace = tmp_path / "trace"
    how = ["-f", "-qq", "-o", trace, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={k}"]
    command = ("strace", *map(str, how), "-E", "LD_PRELOAD=")
    end = case.striker.run("migrate", case.job, "--run", case.run, prefix=command)
    assert "killed by SIGKILL" in trace.read_text(), "nothing was injected"
    assert end.code in (-9, 137)
    assert case.verdict(case.start()) == ""
