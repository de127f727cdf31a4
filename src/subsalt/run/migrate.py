"""Migration of a job into a run directory: the engine of all methods; stoppable at any time, resumable.

The units of work are shots, or blocks of an image. The partial result of each is published before the ledger calls it
done, and the image is made of them in a fixed order: neither a stop nor the order of work changes a byte of it.

Opening a run directory for a job: what every method of migration does on rank 0 before its first unit of work.

An old result is set aside first where that is asked for: what a run directory holds of it moves to ``previous/``, and
nothing is overwritten.

The moves are renames inside one file system, listed in a note before the first: a stop between two of them is made
good by the next start, before it looks at anything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError, Finding, raise_on_errors
from subsalt.io import own
from subsalt.io.event_log import read_events, said_of
from subsalt.io.files import TRACES, ask
from subsalt.io.publish import explained, make_folder, publish_text, remove, sync_folder
from subsalt.io.run_folder import CONTENTS, claim_run, own_run
from subsalt.methods import Method, method_of
from subsalt.parallel.comm import world
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import facts, scheduler
from subsalt.run.facts import computed_by, facts_of_ending, facts_of_job, over_ranks, write_facts
from subsalt.run.identity import as_begun, begin_run
from subsalt.run.ledger import Ledger
from subsalt.run.leftovers import noted_memory
from subsalt.run.live import Live
from subsalt.run.lock import RunLock, check_shared, inputs_of
from subsalt.run.resume import AS_IT_IS, CrashNote, ResumeOptions, units_to_do
from subsalt.run.units import Bookkeeping, MethodRun, MigrationRequest, Progress, RunState, Written, run_units
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

PREVIOUS = "previous"
NOTE = "previous.json"


def set_aside(folder: Path, run_id: str) -> Path:
    """Move the result of a run directory to ``previous/ID``; return where it is now.

    Only for a directory whose ledger is closed.

    Parameters
    ----------
    folder : Path
        The run directory.
    run_id : str
        Of the run that is set aside; its first letters name the new place.

    Raises
    ------
    CannotCreateError
        When another process works in the directory.
    """
    with RunLock(folder):
        place = make_folder(folder / PREVIOUS) / (run_id[:8] or "run")
        number = 2
        while place.exists():
            place = place.with_name(f"{run_id[:8] or 'run'}-{number}")
            number += 1
        make_folder(place)
        publish_text(folder / NOTE, json.dumps({"to": place.name}) + "\n")
        _move(folder, place)
    return place


def finish_setting_aside(folder: Path) -> Path | None:
    """Go on where `set_aside` was stopped; return where the old result is now, None when nothing was to be done."""
    if not (folder / NOTE).exists():
        return None
    with RunLock(folder):
        try:
            name = json.loads(own.read_text(folder / NOTE))["to"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        place = folder / PREVIOUS / Path(str(name)).name
        if not (folder / PREVIOUS).is_dir() or place.name not in own.names_in(folder / PREVIOUS):
            return None
        _move(folder, place)
    return place


def _move(folder: Path, place: Path) -> None:
    for pattern in CONTENTS:
        for path in sorted(folder.glob(pattern)):
            with explained(path, 0):
                ask("rename", str(path))
                own.replace(path, place / path.name)
    with explained(place, 0):
        sync_folder(place)
        sync_folder(folder)
    remove(folder / NOTE)
    with explained(folder, 0):
        sync_folder(folder)


def open_run(
    stack: ExitStack,
    folder: Path,
    begin: Callable[[Ledger], None],
    recompute: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Ledger:
    """Return the ledger of a run directory, which is made when missing, tied to the job.

    Parameters
    ----------
    stack : ExitStack
        Closes the ledger.
    folder : Path
        The run directory.
    begin : callable
        ``begin(ledger)`` ties the directory to job and inputs, or refuses, see `begin_run`.
    recompute : bool
        The result of another job in the directory is set aside, in ``previous``, instead of refused.
    say : callable, optional
        Told where it went.

    Raises
    ------
    ConfigError
        When the directory belongs to another job.
    CannotCreateError
        When another process works in it.
    """
    make_folder(folder, 0o700)  # on shared scratch a run is its owner's
    own_run(folder, writing=True)
    finish_setting_aside(folder)
    ledger = stack.enter_context(Ledger(folder))
    try:
        begin(ledger)
    except ConfigError as changed:
        if not recompute or changed.code not in ("E810", "E860"):
            raise
        old = ledger.get("run_id") or ""
        ledger.close()
        say(f"the old result is now in {set_aside(folder, old)}")
        ledger = stack.enter_context(Ledger(folder))
        begin(ledger)
    return ledger


#: totals of a run that its result gives as well
COUNTED = ("point_steps", "grid_point_steps", "contributions")


@dataclass
class RunResult:
    """What a finished migration leaves behind.

    Parameters
    ----------
    run_dir : Path
        The run directory.
    image : Path
        SEG-Y image.
    sha256 : str
        Of that file; depends on job and inputs alone.
    phases : dict
        Seconds by phase, with `unexplained` and `wall`.
    peak_memory : int
        Largest resident size of the process, bytes.
    shots_done, shots_failed : list of int
        Ids; of blocks of a time migration.
    point_steps : int
        Points computed in this call, of all time steps of reverse time migration: those that a wave has not reached are
        not.
    report : Path or None
        HTML report.
    findings : list of Finding
        Of the checks, warnings included.
    contributions : int
        Samples that were added; of time migration.
    unit : {"shot", "block"}
        What `shots_done` and `shots_failed` count.
    predicted : dict
        What it was predicted to take, on rank 0 (`MethodRun.predict`).
    grid_point_steps : int
        Grid points times time steps of this call.
    """

    run_dir: Path
    image: Path
    sha256: str
    phases: dict[str, float]
    peak_memory: int
    shots_done: list[int]
    shots_failed: list[int]
    point_steps: int = 0
    report: Path | None = None
    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    contributions: int = 0
    unit: str = "shot"
    predicted: dict[str, Any] = field(default_factory=dict)
    grid_point_steps: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "run": str(self.run_dir),
            "image": str(self.image),
            "sha256": self.sha256,
            "phases": self.phases,
            **(
                {"point_steps": self.point_steps, "grid_point_steps": self.grid_point_steps}
                if self.unit == "shot"
                else {"contributions": self.contributions}
            ),
            "peak_memory_bytes": self.peak_memory,
            f"{self.unit}s_done": self.shots_done,
            f"{self.unit}s_failed": self.shots_failed,
            "report": None if self.report is None else str(self.report),
            "files": [str(f) for f in self.files],
            "model": self.comparison(),
        }

    def comparison(self) -> dict[str, Any] | None:
        """Return the run against what it was predicted to take, phase by phase; None when nothing was predicted."""
        from subsalt.report.time_spent import comparison_of

        found = comparison_of({"predicted": self.predicted, "phases": self.phases})
        return None if found is None else found.to_dict()


class Migration:
    """A migration of a job, on one rank; all ranks call `run` together.

    Parameters
    ----------
    job : BaseJob
        Of any method.
    request : MigrationRequest
    """

    def __init__(self, job: BaseJob, request: MigrationRequest) -> None:
        self.job = job
        self.method: Method = method_of(job.method)
        self.state = RunState(request, world(), Phases())
        self.facts: dict[str, Any] = {}

    def run(self) -> RunResult:
        """Carry the migration from its checks to the report."""
        state, job = self.state, self.job
        request, clock = state.request, state.clock
        run = self._prepared()
        with ExitStack() as stack:
            # for programs: around the command the watch began before the job was checked
            stack.enter_context(watch(state.world, job.parallel.patience))
            with clock("ledger"):
                units, left = self._opened(run, stack)
            with clock("setup"):
                parts = scheduler.form(state.world, *run.group_sizes(), max(1, len(left)))
            crash = stack.enter_context(CrashNote(state.folder, state.world.rank))
            with run.work(stack, parts, crash) as one:
                before, idle = TRACES.now(), state.device.work_done()
                progress = request.progress if state.world.is_root else None
                books = Bookkeeping(clock, state.ledger, progress, state.live, self.method.unit)
                run_units(parts, one, left, len(units), books)
            self._stop_if_unfinished()
            written = run.assemble()
            with clock("facts"):
                done_there = facts.since(state.device, idle)
                spent = over_ranks(state.world, clock.table(), TRACES.now() - before, run.halo, done_there)
                totals = run.totals()
                parallel = parts.facts() | {"threads": kernels.threads_to_use(state.threads)}
                parts.free()
                rows = state.world.bcast(state.ledger.rows() if state.ledger else None)
                self._write_ending(run, written, rows, spent, totals, parallel)
            with state.world.together():
                # pictures show the finished run
                files = written.files + run.finish()
                if state.world.is_root:
                    # those that one rank draws may take most
                    spent["peak_memory_bytes"]["max"] = max(
                        spent["peak_memory_bytes"]["max"], facts.peak_resident()
                    )
                    names = [str(f.relative_to(state.folder)) for f in files]
                    write_facts(state.folder, self.facts | {"files": names, "phases": clock.table()})
        return RunResult(
            run_dir=state.folder,
            image=written.image,
            sha256=written.sha256,
            phases=clock.table(),
            peak_memory=spent["peak_memory_bytes"]["max"],
            shots_done=[r["id"] for r in rows if r["state"] == "done"],
            shots_failed=[r["id"] for r in rows if r["state"] == "quarantined"],
            report=write_report(state.folder, clock),
            files=[Path(f) for f in state.world.bcast([str(f) for f in files])],
            findings=state.findings,
            unit=self.method.unit,
            predicted=self.facts.get("predicted", {}),
            **{name: totals[name] for name in COUNTED if name in totals},
        )

    def _prepared(self) -> MethodRun:
        """Check the job, and set up what all units share."""
        from subsalt.job.checking import check_job

        state, job = self.state, self.job
        clock, everybody = state.clock, state.world
        with clock("check"), everybody.together():
            claim_run(state.folder)
            if everybody.is_root:
                own_run(state.folder, writing=True)
        with clock("check"):
            job = self.job = as_begun(
                job, state.folder, everybody, state.request.say, state.request.recompute
            )
            state.findings = raise_on_errors(check_job(job).findings, state.request.strict)
        run: MethodRun = self.method.open_run(job, state)
        run.load()
        with clock("setup"):
            asked = None if job.parallel.threads == "auto" else int(job.parallel.threads)
            state.threads = scheduler.threads_for(everybody, asked)
            state.device = devices.prepare(everybody, job.parallel.device, state.threads)
            run.prepare()
        with clock("provenance"):
            state.inputs = inputs_of(job, everybody)
            state.run_id = job.run_id(state.inputs)
            state.numerics = run.numerics()
            state.by = kernels.label(state.numerics)
            if state.device.OWN_MEMORY:
                state.request.say(f"computing on {state.by}")
        return run

    def _opened(self, run: MethodRun, stack: ExitStack) -> tuple[Sequence[Any], list[Any]]:
        """Open the run directory; return the units of the run, and those that are left, in order."""
        state, everybody = self.state, self.state.world
        with everybody.together():
            if everybody.is_root:
                self._open_ledger(run, stack)
        check_shared(state.folder, everybody)
        stack.enter_context(noted_memory(state.folder, everybody))
        self._look_at_log()
        units = run.units()
        by_id = {unit.id: unit for unit in units}
        left = [by_id[i] for i in everybody.bcast(units_to_do(state.ledger) if state.ledger else None)]
        with everybody.together():
            predicted = run.predict(left)
            if everybody.is_root:
                self.facts = self._beginning(run) | {"predicted": predicted}
                write_facts(state.folder, self.facts | {"state": "running"})
        return units, left

    def _open_ledger(self, run: MethodRun, stack: ExitStack) -> None:
        """Open the ledger and tell of the run from now on. On rank 0."""
        state, job = self.state, self.job
        resume = state.request.resume

        def begin(ledger: Ledger) -> None:
            accept = resume.accept_changed_inputs
            begin_run(
                ledger,
                job,
                state.run_id,
                state.inputs,
                state.numerics,
                accept_changed_inputs=accept,
                **run.ties(ledger),
            )

        ledger = open_run(stack, state.folder, begin, state.request.recompute, state.request.say)
        ledger.set("unit", self.method.unit)
        live = Live(state.folder, ledger.lock.lease, state.clock, resume.limit, unit=self.method.unit)
        live.given_back = run.given_back
        live.facts["by"] = state.by
        state.ledger, state.live = ledger, stack.enter_context(live)
        publish_text(state.folder / "job.resolved.toml", job.resolved_toml())
        make_folder(state.images)

    def _look_at_log(self) -> None:
        """Say which lines of the log of an earlier start are damaged. Collective."""
        state = self.state
        damaged = state.world.bcast(read_events(state.folder).damaged if state.world.is_root else None)
        if damaged:
            state.request.say(said_of(damaged))
            state.findings = [
                *state.findings,
                Finding("W814", "warning", said_of(damaged), "nothing need be done: it is a log"),
            ]

    def _stop_if_unfinished(self) -> None:
        """End the run here when somebody asked for it. Collective."""
        live, ledger = self.state.live, self.state.ledger
        self.state.world.agree(live.unfinished(len(units_to_do(ledger))) if live and ledger else None)

    def _beginning(self, run: MethodRun) -> dict[str, Any]:
        """Return what run.json says of a run before its first unit."""
        state, job = self.state, self.job
        known = facts_of_job(job, state.run_id, state.inputs, state.numerics, state.findings)
        return known | run.facts()

    def _write_ending(
        self,
        run: MethodRun,
        written: Written,
        rows: Sequence[dict[str, Any]],
        spent: dict[str, Any],
        totals: dict[str, Any],
        parallel: dict[str, Any],
    ) -> None:
        """Write run.json of the finished run. Collective."""
        state = self.state
        with state.world.together():
            if not state.world.is_root:
                return
            done = [r["id"] for r in rows if r["state"] == "done"]
            unit, phases = self.method.unit, state.clock.table()
            self.facts |= totals | {
                "parallel": parallel | run.parallel_facts(),
                "computed_by": computed_by(state.folder, done, unit),
            }
            self.facts |= facts_of_ending(state.folder, unit, rows, written.files, spent, phases)
            self.facts |= run.ending_facts(rows, spent)
            self.facts["findings"] = [vars(f) for f in state.findings]
            write_facts(state.folder, self.facts)


def migrate_job(
    job: BaseJob,
    run_dir: str | Path | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    resume: ResumeOptions = AS_IT_IS,
    say: Callable[[str], None] = lambda text: None,
    recompute: bool = False,
) -> RunResult:
    """Migrate the traces of a job into `run_dir` by its method; a run that was stopped goes on there.

    Started by mpiexec or srun, all ranks work on it together, and all return the result.

    Parameters
    ----------
    job : Job or KirchhoffJob
        With `[data]`.
    run_dir : str or Path, optional
        Made when missing; refused when it belongs to another job; `NAME.run` beside the job file when None. All ranks
        must see it.
    progress : callable, optional
        ``progress(done, total, message)``; called on rank 0.
    strict : bool
        Warnings of the checks stop the run too.
    resume : ResumeOptions, optional
        What to do with quarantined shots and inputs that have changed, and when to stop.
    say : callable, optional
        Told what is used again of what the directory holds, before the first shot.
    recompute : bool
        The result of another job in the directory is set aside, in ``previous``, instead of refused.

    Raises
    ------
    RunStopped
        When it was asked to stop, or its time is over; the same call goes on.
    FindingsError
        When a check finds an error; nothing was started.
    MemoryPlanError
        When the job does not fit; nothing was started.
    """
    folder = job.default_run_dir if run_dir is None else Path(run_dir)
    request = MigrationRequest(folder, progress, strict, resume, say, recompute)
    return Migration(job, request).run()


def write_report(folder: Path, clock: Phases) -> Path:
    """Write the HTML report on rank 0; return its path on all. Collective."""
    from subsalt import report

    everybody, path = world(), ""
    with clock("report"):
        with everybody.together():
            if everybody.is_root:
                path = str(report.write(folder))
        return Path(everybody.bcast(path))
