"""A farm without an engine: its workers compute in this process, and do to their tasks what a test wants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from subsalt.job.base import read_job
from subsalt.run.engines.farm import Ended, FarmUnits, Task, WorkerFacts
from subsalt.run.job_of_run import job_of_run
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_on_farm
from subsalt.run.one_unit import Wanted, compute_units
from subsalt.run.result import RunResult


@dataclass
class HereFarm:
    """Workers whose tasks are done when the client asks for news, one at a time."""

    run: Path
    names: list[str] = field(default_factory=lambda: ["a", "b"])
    #: returns the end of a task, or None when its worker is to compute it
    fate: Callable[[HereFarm, str, Task], Ended | None] = lambda farm, worker, task: None
    tasks: deque[tuple[str, Task]] = field(default_factory=deque)
    #: tasks that were started
    started: list[tuple[str, Task]] = field(default_factory=list)
    most: int = 0

    def with_device(self, device: str) -> None:
        assert device == "cpu"

    def workers(self) -> Sequence[WorkerFacts]:
        return [WorkerFacts(name, "here", 4) for name in self.names]

    def start(self, worker: str, task: Task) -> None:
        self.tasks.append((worker, task))
        self.started.append((worker, task))
        self.most = max(self.most, sum(name == worker for name, _ in self.tasks))

    def ended(self, wait: float) -> Sequence[Ended]:
        if not self.tasks:
            return []
        worker, task = self.tasks.popleft()
        end = self.fate(self, worker, task)
        if end is not None:
            return [end]
        if worker not in self.names:
            return []
        self.compute(task)
        return [Ended(task.number, 0)]

    def give_up(self, tasks: Sequence[int]) -> None:
        self.tasks = deque(pair for pair in self.tasks if pair[1].number not in tasks)

    def compute(self, task: Task) -> bool:
        """Compute the units of a task as `subsalt unit` does; return whether the data of one were bad."""
        wanted = Wanted(task.units, task.attempt, task.round)
        return any("reason" in a.outcome for a in list(compute_units(job_of_run(self.run), self.run, wanted)))


def migrate(job: Path, farm: HereFarm, join: float = 0.0, **request: object) -> tuple[RunResult, FarmUnits]:
    """Migrate a job on a farm; return what came of it, and the client."""
    state = RunState.of(RunRequest(farm.run, **request))  # type: ignore[arg-type]
    units = FarmUnits(farm, state, join=join)
    return migrate_on_farm(read_job(job), state, units), units
