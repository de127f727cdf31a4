"""The engine of a run: it carries a method from the checks of its job to the report, on any number of ranks.

The partial result of each unit is published before the ledger calls it done, and the image is made of them in a fixed
order: neither a stop nor the order of work changes a byte of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import Finding, raise_on_errors
from subsalt.io.event_log import read_events, said_of
from subsalt.io.input_traffic import TRACES
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.run_folder import claim_run, own_run
from subsalt.methods import Method, method_of
from subsalt.parallel.comm import world
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import facts, scheduler
from subsalt.run.facts import computed_by, facts_of_ending, facts_of_job, over_ranks, write_facts
from subsalt.run.identity import begin_run, pin_to_started_job
from subsalt.run.ledger import Ledger
from subsalt.run.leftovers import noted_memory
from subsalt.run.live import Live
from subsalt.run.lock import check_shared, inputs_of
from subsalt.run.method_run import MethodRun, RunRequest, RunState
from subsalt.run.opening import open_run
from subsalt.run.result import RunResult, Written
from subsalt.run.resume import CrashNote, units_to_do
from subsalt.run.units import Bookkeeping, run_units
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

#: totals of a run that its result gives as well
COUNTED = ("point_steps", "grid_point_steps", "contributions")


class Engine:
    """A migration of a job, on one rank; all ranks call `run` together.

    Parameters
    ----------
    job : BaseJob
        Of any method.
    request : RunRequest
    """

    def __init__(self, job: BaseJob, request: RunRequest) -> None:
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
            with run.work(stack, parts, crash) as process:
                before, idle = TRACES.now(), state.device.work_done()
                progress = request.progress if state.world.is_root else None
                books = Bookkeeping(clock, state.ledger, progress, state.live, self.method.unit)
                run_units(parts, process, left, len(units), books)
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
            job = self.job = pin_to_started_job(
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
                **run.identity_extras(ledger),
            )

        ledger = open_run(stack, state.folder, begin, state.request.recompute, state.request.say)
        ledger.set("unit", self.method.unit)
        live = Live(state.folder, ledger.lock.lease, state.clock, resume.limit, unit=self.method.unit)
        live.stop_message = run.stop_message
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


def write_report(folder: Path, clock: Phases) -> Path:
    """Write the HTML report on rank 0; return its path on all. Collective."""
    from subsalt import report

    everybody, path = world(), ""
    with clock("report"):
        with everybody.together():
            if everybody.is_root:
                path = str(report.write(folder))
        return Path(everybody.bcast(path))
