"""The engine of a run: it carries a method through its rounds of units, on any number of ranks.

The partial result of each unit is published before the ledger calls it done, and the result is made of them in a fixed
order: neither a stop nor the order of work changes a byte of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, Protocol, TypeVar

from subsalt import kernels
from subsalt.io.input_traffic import TRACES, InputTraffic
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import facts, scheduler
from subsalt.run.attempts import adopt
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.leftovers import noted_memory
from subsalt.run.lock import check_shared
from subsalt.run.method_run import MethodRun, RunState
from subsalt.run.rounds import Rounds
from subsalt.run.scheduler import RankGroups
from subsalt.run.units import Bookkeeping, run_units

Result = TypeVar("Result", covariant=True)


class Record(Protocol[Result]):
    """The record of a run: a run directory, or a folder of result files.

    Attributes
    ----------
    lock : str
        Name of the file in the folder that keeps other processes out.
    phase : str
        Name of the phase in which it is opened.
    """

    lock: str
    phase: str

    def open(self, stack: ExitStack) -> None:
        """Open the folder for this run, or refuse it. On rank 0."""

    def begin(self, stack: ExitStack) -> CrashNote | None:
        """Review the results of an earlier start; return the note in which ranks name their units. Collective."""

    def left(self, units: Sequence[Any]) -> list[Any]:
        """Return the units of the round that are left, in order, and predict their cost. Collective."""

    def books(self, units: int, left: int) -> Bookkeeping:
        """Return the bookkeeping of the units of the round."""

    def end_of_units(self, more: bool = False) -> None:
        """End the run here when a stop was requested and units, or `more` rounds, are left. Collective."""

    def end(self, groups: RankGroups, meter: Meter) -> None:
        """Assemble the result of the units and write it. Collective."""

    def result(self) -> Result:
        """Return the result of the run, whose folder is closed. Collective."""


class Meter:
    """Traces that this rank has read, and the work of its device, since the first unit of this start."""

    def __init__(self, state: RunState) -> None:
        self._device = state.device
        self._traces, self._work = TRACES.now(), state.device.work_done()

    def traces(self) -> InputTraffic:
        """Return the bytes of traces."""
        return TRACES.now() - self._traces

    def work(self) -> dict[str, int]:
        """Return the work of the device."""
        return facts.since(self._device, self._work)


def set_up(run: MethodRun) -> None:
    """Read the inputs of a run, and set up the objects that all its units share. Collective."""
    state, threads = run.state, run.job.parallel.threads
    run.load()
    with state.clock("setup"):
        state.threads = scheduler.threads_for(state.world, None if threads == "auto" else int(threads))
        state.device = devices.prepare(state.world, run.job.parallel.device, state.threads)
        run.prepare()


class Engine(Generic[Result]):
    """Carries a run from its model to its result, on one rank; all ranks call `carry` together.

    Parameters
    ----------
    run : MethodRun
        Run of a checked job.
    record : Record
        Record of the run.
    compute : callable
        Computes the units of a round that are left, as `run_units` does on the ranks of this program.
    """

    def __init__(
        self, run: MethodRun, record: Record[Result], compute: Callable[..., None] = run_units
    ) -> None:
        self.run, self.record, self.state = run, record, run.state
        self._compute = compute
        self._groups: RankGroups | None = None
        self._meter: Meter | None = None

    def carry(self) -> Result:
        """Carry the run from its model to its result."""
        run, record, state = self.run, self.record, self.state
        self._prepare()
        with ExitStack() as stack:
            # for programs that call the package: a command watches from before the checks
            stack.enter_context(watch(state.world, run.job.parallel.patience))
            with state.clock(record.phase):
                self._open(stack)
                rounds = Rounds(state, run.several_rounds)
                crash = record.begin(stack)
            for number in rounds.to_do():
                self._do_round(stack, number, crash)
                record.end_of_units()
                if run.several_rounds:
                    rounds.close(run.close_round())
                    record.end_of_units(more=not rounds.closed[number].last)
            record.end(self._groups or scheduler.form(state.world, 1, 1, 1), self._meter or Meter(state))
        return record.result()

    def _prepare(self) -> None:
        """Set up the objects that all units share."""
        set_up(self.run)
        self.run.identify()

    def plan(self) -> list[int]:
        """Begin the run, or take it up again, and return the units that are left in its current round, uncomputed.

        Other processes may compute them (`run.one_unit`); a later start enters what they have published.
        """
        state = self.state
        self._prepare()
        with ExitStack() as stack:
            with state.clock(self.record.phase):
                self._open(stack)
                rounds = Rounds(state, self.run.several_rounds)
                self.record.begin(stack)
            state.world.agree(self.run.only_here())
            left: list[int] = []
            for _ in rounds.to_do():
                left = [unit.id for unit in self._units_left()[1]]
                while state.world.size == 1 and self.run.between_units():
                    pass
                if left or not self.run.several_rounds:
                    break
                rounds.close(self.run.close_round())
            if state.live is not None:
                state.live.prepared = True
        return left

    def _units_left(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the units of the current round, and those that are left. Collective."""
        with self.state.clock(self.record.phase):
            adopt(self.state)
            units = self.run.units()
            return units, self.record.left(units)

    def _open(self, stack: ExitStack) -> None:
        """Open the folder of the run."""
        state, record = self.state, self.record
        with state.world.together():
            if state.world.is_root:
                record.open(stack)
        check_shared(state.folder, state.world, record.lock)
        stack.enter_context(noted_memory(state.folder, state.world))

    def _do_round(self, stack: ExitStack, number: int, crash: CrashNote | None) -> None:
        """Compute the units of a round that are left."""
        run, record, state = self.run, self.record, self.state
        units, left = self._units_left()
        if self._groups is not None:
            self._groups.free()
        with state.clock("setup"):
            self._groups = scheduler.form(state.world, *run.group_sizes(), max(1, len(left)))
        if crash is not None:
            crash.round = number
        at_once = min(run.units_at_once(), max(1, len(left)))
        with run.work(stack, self._groups, crash) as process, self._threads_of_a_unit(at_once):
            self._meter = self._meter or Meter(state)
            books = record.books(len(units), len(left))
            books.between = run.between_units
            self._compute(self._groups, process, left, len(units), books, at_once)

    @contextmanager
    def _threads_of_a_unit(self, at_once: int) -> Iterator[None]:
        """Share the threads of this rank among the units that it computes side by side, while it does."""
        device, threads = self.state.device, kernels.threads_to_use(self.state.threads)
        if at_once > 1:
            device.set_threads(max(1, threads // at_once))
        try:
            yield
        finally:
            if at_once > 1:
                device.set_threads(threads)
