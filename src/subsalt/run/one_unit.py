"""Units of a prepared run by a process that does not own it: each computed and published as an attempt.

Nothing is locked and the ledger is not opened (`PlannedLedger`), so that any number of processes on any machine may
compute any units at any time. What they publish is equal, whatever rank, thread or attempt it came from; the owner of
the run enters the first (`run.attempts`).
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError
from subsalt.io import own
from subsalt.io.publish import make_folder
from subsalt.io.run_folder import claim_run
from subsalt.methods import method_of
from subsalt.parallel.watchdog import watch
from subsalt.run import scheduler
from subsalt.run.attempts import Published, complete_attempt, identity_of, make_attempt, unit_folder
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.engine import set_up
from subsalt.run.ledger_copy import PlannedLedger
from subsalt.run.method_run import ImagingRun, RunRequest, RunState
from subsalt.run.rounds import RoundResult, closed_rounds
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import Report

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class Wanted:
    """The units that a process computes.

    Parameters
    ----------
    units : sequence of int
        Numbers of the units; their places in the order of the survey, from 0, when `by_place`.
    attempt : int, optional
        Number of the attempt, which names its folder; the next free one when None, and none for a unit that another
        process has published.
    round : int, optional
        Their round; the current one when None.
    by_place : bool
        Whether `units` are places.
    part : tuple of int, optional
        Part `i` of `n` equal parts of all units, instead of `units`.
    """

    units: Sequence[int]
    attempt: int | None = 1
    round: int | None = None
    by_place: bool = False
    part: tuple[int, int] | None = None


def compute_units(
    job: BaseJob, folder: Path, wanted: Wanted, say: Callable[[str], None] = lambda text: None
) -> Iterator[Published]:
    """Compute units of a prepared run and publish them; yield each. Collective over the ranks of this program.

    Parameters
    ----------
    job : BaseJob
        The job of the run, see `job_of_run`.
    folder : Path
        The run directory.
    wanted : Wanted
        The units.
    say : callable, optional
        Callback for progress text.

    Raises
    ------
    ConfigError
        When there is no such unit (E876), or this process computes in another class of numerics than the run (E875).
    """
    state = RunState.of(RunRequest(folder, say=say))
    claim_run(folder)
    run: ImagingRun = method_of(job.method).open_run(job, state)
    with ExitStack() as stack:
        stack.enter_context(watch(state.world, job.parallel.patience))
        state.world.agree(run.only_here())
        with state.world.together():
            if state.world.is_root:
                state.ledger = PlannedLedger(folder)
                stack.callback(state.ledger.close)
        set_up(run)
        _identify(run)
        _begin_round(run, wanted.round)
        numbers = _numbers(state, wanted)
        units = {unit.id: unit for unit in run.planned_units()}
        groups = scheduler.form(state.world, state.world.size, run.group_sizes()[1], 1)
        for number in numbers:
            yield _compute(run, groups, units[number], wanted.attempt)


def _identify(run: ImagingRun) -> None:
    """Take inputs and id from the ledger, and refuse another class of numerics. Collective."""
    state = run.state
    state.numerics = run.numerics()
    state.by = kernels.label(state.numerics)
    known: dict[str, Any] = {}
    if state.ledger is not None:
        known = {name: state.ledger.get(name) for name in ("inputs", "run_id", "key")}
    known = state.world.bcast(known)
    state.inputs, state.run_id = json.loads(known["inputs"] or "[]"), str(known["run_id"])
    with state.world.together():
        wanted = json.loads(known["key"] or "{}").get("numerics")
        if wanted != state.numerics["class"]:
            raise ConfigError(
                f"{platform.node()} computes in the numerics class {state.numerics['class']!r}, "
                f"the run in {state.folder} was begun in {wanted!r}",
                "use machines with the same instruction set and device, or begin another run there",
                code="E875",
            )


def _begin_round(run: ImagingRun, number: int | None) -> None:
    """Make a round the current one: that which was asked for, or the first that is not closed. Collective."""
    state = run.state
    closed = closed_rounds(state.ledger) if state.ledger is not None and run.several_rounds else []
    results = state.world.bcast([vars(r) for r in closed])
    state.several_rounds = run.several_rounds
    state.results = [RoundResult.of(r) for r in results]
    state.round = len(state.results)
    with state.world.together():
        if number not in (None, state.round):
            raise ConfigError(
                f"{state.folder} is in round {state.round}, not in round {number}",
                "compute units of the current round; the earlier ones are closed, later ones are not planned",
                code="E876",
            )
    if state.ledger is not None:
        state.ledger.round = state.round


def _numbers(state: RunState, wanted: Wanted) -> list[int]:
    """Return the numbers of the wanted units, which the ledger must have planned."""
    planned = [
        int(n) for n in state.world.bcast(state.ledger.planned() if state.ledger is not None else None)
    ]
    if wanted.part is not None:
        # those of a part lie apart: long shots are often neighbours
        return planned[wanted.part[0] :: wanted.part[1]]
    if wanted.by_place:
        wrong = [p for p in wanted.units if not 0 <= p < len(planned)]
        there = f"places 0 to {len(planned) - 1}"
    else:
        wrong = sorted(set(wanted.units) - set(planned))
        there = f"{len(planned)} units, {planned[0]} to {planned[-1]}" if planned else "no unit"
    if not wrong and (wanted.attempt is None or wanted.attempt >= 1):
        return [planned[p] for p in wanted.units] if wanted.by_place else list(wanted.units)
    what = f"no unit {wrong[0]}" if wrong else f"no attempt {wanted.attempt}"
    with state.world.together():
        raise ConfigError(
            f"{state.folder} has {what}: it has {there}",
            "subsalt migrate JOB --prepare --json lists the units" if wrong else "number attempts from 1",
            code="E876",
        )


def _compute(run: ImagingRun, groups: RankGroups, unit: Any, attempt: int | None) -> Published:
    """Compute one unit in the folder of its attempt, and publish it. Collective."""
    state = run.state
    there = None
    if attempt is None and state.ledger is not None:
        there = complete_attempt(state.ledger, unit.id, identity_of(state.ledger))
    if there is not None and "reason" in there.outcome:
        there = None
    if state.world.bcast(there is not None):
        return there or Published(state.folder, "", state.round, unit.id, 0, {}, "", {})
    with state.world.together():
        if state.world.is_root:
            attempt = make_attempt(state.folder, state.round, unit.id, attempt)
    attempt = int(state.world.bcast(attempt))
    state.attempt = unit_folder(state.folder, state.round, unit.id) / str(attempt)
    with state.world.together():
        if state.world.is_root:
            make_folder(state.images)
    with ExitStack() as stack:
        crash = stack.enter_context(CrashNote(state.attempt, state.world.rank))
        crash.round = state.round
        with run.work(stack, groups, crash) as process:
            outcome: Outcome = {} if groups.idle else process(unit, None, _silent)
        groups.rest()
    outcome = outcome | {"work": run.work_done()}
    with state.world.together():
        if state.world.is_root:
            return _published(state, unit.id, attempt, outcome)
    return Published(state.attempt, "", state.round, unit.id, attempt, {}, "", outcome)


def _published(state: RunState, unit: int, attempt: int, outcome: Outcome) -> Published:
    """Say that an attempt is complete. On rank 0."""
    assert state.ledger is not None
    assert state.attempt is not None
    names = [] if "reason" in outcome else own.names_in(state.images)
    # a name with a point: what a writer left that was killed
    files = {name: own.lstat(state.images / name).st_size for name in names if not name.startswith(".")}
    done = Published(
        state.attempt, identity_of(state.ledger), state.round, unit, attempt, files, platform.node(), outcome
    )
    done.publish()
    return done


_silent: Report = lambda unit, fraction, count=0: None  # noqa: E731
