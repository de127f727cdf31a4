"""A run directory as the record of an imaging run: ledger, live progress, run.json, outputs and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from subsalt import kernels
from subsalt.errors import Finding
from subsalt.io.event_log import read_events, said_of
from subsalt.io.publish import publish_text
from subsalt.parallel.comm import Comm
from subsalt.run import facts
from subsalt.run.attempts import forget_all
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.engine import Meter
from subsalt.run.facts import computed_by, facts_of_ending, facts_of_job, over_ranks, write_facts
from subsalt.run.identity import begin_run
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.lock import NAME as LOCK
from subsalt.run.method_run import ImagingRun
from subsalt.run.opening import open_run
from subsalt.run.result import RunResult, Written
from subsalt.run.resume import review_last_start, units_to_do
from subsalt.run.scheduler import RankGroups
from subsalt.run.units import Bookkeeping
from subsalt.timing import Phases

#: totals of a run that its result gives as well
COUNTED = ("point_steps", "grid_point_steps", "contributions")


class RunDirectory:
    """The run directory of an imaging run, on one rank; a `Record` of the engine.

    Parameters
    ----------
    run : ImagingRun
    """

    lock = LOCK
    phase = "ledger"

    def __init__(self, run: ImagingRun) -> None:
        self.run, self.state = run, run.state
        self.facts: dict[str, Any] = {}
        self._began = False

    def open(self, stack: ExitStack) -> None:
        """Open the ledger, and publish the progress of the run from now on."""
        state = self.state
        resume, job = state.request.resume, state.request.stored or self.run.job

        def begin(ledger: Ledger) -> None:
            begin_run(
                ledger,
                job,
                state.run_id,
                state.inputs,
                state.numerics,
                accept_changed_inputs=resume.accept_changed_inputs,
                **self.run.identity_extras(ledger),
            )

        ledger = open_run(stack, state.folder, begin, state.request.recompute, state.request.say)
        ledger.set("unit", self.run.unit)
        live = Live(state.folder, ledger.lock.lease, state.clock, resume.limit, unit=self.run.unit)
        live.stop_message = self.run.stop_message
        live.facts["by"] = state.by
        state.ledger, state.live = ledger, stack.enter_context(live)
        publish_text(state.folder / "job.resolved.toml", job.resolved_toml())

    def begin(self, stack: ExitStack) -> CrashNote:
        """Look at how an earlier start ended; return where this rank notes what it works on."""
        state = self.state
        with state.world.together():
            if state.ledger is not None:
                review_last_start(state.ledger, state.request.resume)
        damaged = state.world.bcast(read_events(state.folder).damaged if state.world.is_root else None)
        if damaged:
            state.request.say(said_of(damaged))
            state.findings = [
                *state.findings,
                Finding("W814", "warning", said_of(damaged), "nothing need be done: it is a log"),
            ]
        return stack.enter_context(CrashNote(state.folder, state.world.rank))

    def left(self, units: Sequence[Any]) -> list[Any]:
        """Return the units that are left, suspects last; run.json says before the first of them what is known."""
        state = self.state
        by_id = {unit.id: unit for unit in units}
        left = [by_id[i] for i in state.world.bcast(units_to_do(state.ledger) if state.ledger else None)]
        self._begin_facts(left)
        return left

    def _begin_facts(self, left: Sequence[Any]) -> None:
        """Write run.json before the first unit of this start. Collective."""
        if self._began:
            return
        self._began = True
        state, run = self.state, self.run
        with state.world.together():
            predicted = run.predict(left)
            if state.world.is_root:
                known = facts_of_job(run.job, state.run_id, state.inputs, state.numerics, state.findings)
                self.facts = known | run.facts() | ({} if predicted is None else {"predicted": predicted})
                write_facts(state.folder, self.facts | {"state": "running"})

    def books(self, units: int, left: int) -> Bookkeeping:
        """Return ledger, log, progress and live state for the units of the round."""
        state = self.state
        ahead = self.run.units_ahead()
        earlier = 0
        if state.several_rounds and state.ledger is not None:
            earlier = sum(row["round"] < state.round for row in state.ledger.rows())
        progress = state.request.progress if state.world.is_root else None
        number = state.round if state.several_rounds else None
        return Bookkeeping(
            state.clock, state.ledger, progress, state.live, self.run.unit, number, earlier, ahead
        )

    def end_of_units(self, more: bool = False) -> None:
        """End the run here when a stop was requested and units or rounds are left."""
        live, ledger = self.state.live, self.state.ledger
        left = live is not None and ledger is not None and (more or bool(units_to_do(ledger)))
        self.state.world.agree(live.unfinished(left) if live else None)

    def end(self, groups: RankGroups, meter: Meter) -> None:
        """Write image, outputs, run.json and pictures."""
        run, state = self.run, self.state
        self._begin_facts([])  # of a start that finds every round closed
        written = run.assemble()
        with state.clock("facts"):
            self._spent = over_ranks(state.world, state.clock.table(), meter.traces(), run.halo, meter.work())
            self._totals = run.totals()
            parallel = groups.facts() | {"threads": kernels.threads_to_use(state.threads)}
            groups.free()
            self._rows = state.world.bcast(state.ledger.rows() if state.ledger else None)
            self._write_ending(written, parallel)
        peak = self._spent["peak_memory_bytes"]
        with state.world.together():
            # pictures show the finished run
            files = written.files + run.finish()
            if state.world.is_root:
                forget_all(state.folder)
                # those that one rank draws may take most
                peak["max"] = max(peak["max"], facts.peak_resident())
                names = [str(f.relative_to(state.folder)) for f in files]
                write_facts(state.folder, self.facts | {"files": names, "phases": state.clock.table()})
        self._written = Written(written.image, written.sha256, files)

    def _write_ending(self, written: Written, parallel: Mapping[str, Any]) -> None:
        """Write run.json of the finished run."""
        state, run, rows = self.state, self.run, self._rows
        with state.world.together():
            if not state.world.is_root:
                return
            self.facts |= self._totals | {"parallel": {**parallel, **run.parallel_facts()}}
            if "predicted" in self.facts:
                self.facts["computed_by"] = computed_by(state.folder, rows, run.unit)
            phases = state.clock.table()
            self.facts |= facts_of_ending(state.folder, run.unit, rows, written.files, self._spent, phases)
            self.facts |= run.ending_facts(rows, self._spent)
            self.facts["findings"] = [vars(f) for f in state.findings]
            write_facts(state.folder, self.facts)

    def result(self) -> RunResult:
        """Write the report; return the result."""
        state, rows, written = self.state, self._rows, self._written
        last = [r for r in rows if r.get("round", state.round) == state.round]
        failed = [r["id"] for r in rows if r["state"] == "quarantined"]
        return RunResult(
            run_dir=state.folder,
            image=written.image,
            sha256=written.sha256,
            phases=state.clock.table(),
            peak_memory=self._spent["peak_memory_bytes"]["max"],
            shots_done=[r["id"] for r in last if r["state"] == "done"],
            shots_failed=list(dict.fromkeys(failed)),
            report=write_report(state.folder, state.world, state.clock),
            files=[Path(f) for f in state.world.bcast([str(f) for f in written.files])],
            findings=state.findings,
            unit=self.run.unit,
            predicted=self.facts.get("predicted", {}),
            **{name: self._totals[name] for name in COUNTED if name in self._totals},
        )


def write_report(folder: Path, world: Comm, clock: Phases) -> Path:
    """Write the HTML report on rank 0; return its path on all. Collective."""
    from subsalt import report

    path = ""
    with clock("report"):
        with world.together():
            if world.is_root:
                path = str(report.write(folder))
        return Path(world.bcast(path))
