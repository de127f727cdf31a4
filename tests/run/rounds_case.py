"""A method of three rounds over arrays on disk: round k makes x[k+1] = (x[k] + sum of the units' maps of x[k]) / 2."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.io.publish import make_folder, publish_array, sha256_file
from subsalt.methods.rtm.job import Job
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.engine import Engine
from subsalt.run.method_run import ImagingRun, RunRequest, RunState
from subsalt.run.result import RunResult, Written
from subsalt.run.rounds import RoundEnd
from subsalt.run.run_directory import RunDirectory
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import Report

UNITS, ROUNDS, SIZE = 5, 3, 24
JOB = """
[model]
vp = 2000
[grid]
spacing = 10
shape = [21, 21]
[source]
f0 = 15
"""


@dataclass(frozen=True)
class Unit:
    """A unit of the iteration."""

    id: int


def first() -> np.ndarray:
    return np.linspace(0.1, 1.0, SIZE)


def mapped(unit: int, x: np.ndarray) -> np.ndarray:
    """Return the part of a unit in the sum over units."""
    return np.sin(np.roll(x, unit) * unit) / UNITS


def expected(missing: Mapping[int, Sequence[int]] | None = None) -> np.ndarray:
    """Return what three rounds make, without the units that are missing in a round."""
    x = first()
    for k in range(ROUNDS):
        total = np.zeros(SIZE)
        for unit in range(1, UNITS + 1):
            if unit not in (missing or {}).get(k, ()):
                total += mapped(unit, x)
        x = 0.5 * (x + total)
    return x


class FixedPoint(ImagingRun):
    """See the head of this file; `fails` are the pairs (round, unit) that cannot be done."""

    several_rounds = True
    fails: Sequence[tuple[int, int]] = ()
    scale = 1.0

    def load(self) -> None:
        """Read nothing."""

    def prepare(self) -> None:
        """Set up nothing."""

    def _path(self, unit: int) -> Path:
        return self.state.images / f"unit_{unit}.npy"

    def _whole(self) -> set[int]:
        """Return the done units whose partial results are as the ledger knows them."""
        whole = set()
        for unit, sha in self.state.hashes().items():
            if self._path(unit).exists() and sha256_file(self._path(unit)) == sha:
                whole.add(unit)
        return whole

    def units(self) -> list[Unit]:
        state = self.state
        assert len(state.results) == state.round
        before = state.folder / f"rounds/x_{state.round - 1:03d}.npy"
        self.x = np.load(before) if state.results else first()
        whole = self._whole()
        if state.ledger is not None:
            state.ledger.plan(list(range(1, UNITS + 1)))
            state.ledger.keep(whole)
        return [Unit(i) for i in range(1, UNITS + 1)]

    def units_ahead(self) -> int:
        return UNITS * (ROUNDS - 1 - self.state.round)

    @contextmanager
    def work(
        self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None
    ) -> Iterator[Callable[[Unit, Unit | None, Report], Outcome]]:
        def process(unit: Unit, next_unit: Unit | None, report: Report) -> Outcome:
            report(unit, 0.0)
            if crash is not None:
                crash.now(unit.id)
            if (self.state.round, unit.id) in self.fails:
                return {"unit": unit.id, "reason": "E999 it fails"}
            sha = publish_array(self._path(unit.id), self.scale * mapped(unit.id, self.x))
            return {"unit": unit.id, "sha256": sha, "seconds": 0.1}

        yield process

    def close_round(self) -> RoundEnd:
        state, path = self.state, self.state.folder / f"rounds/x_{self.state.round:03d}.npy"
        done = state.hashes()
        with state.world.together():
            if state.world.is_root:
                total = np.zeros(SIZE)
                for unit in sorted(done):
                    total += np.load(self._path(unit))
                make_folder(path.parent)
                publish_array(path, 0.5 * (self.x + total))
        return RoundEnd([path], last=state.round == ROUNDS - 1, facts={"size": SIZE})

    def totals(self) -> dict[str, Any]:
        return {"point_steps": 0}

    def facts(self) -> dict[str, Any]:
        return {}

    def assemble(self) -> Written:
        state, image = self.state, self.state.folder / "image.npy"
        assert state.round == ROUNDS - 1
        sha = ""
        with state.world.together():
            if state.world.is_root:
                sha = publish_array(image, np.load(state.folder / f"rounds/x_{state.round:03d}.npy"))
        return Written(image, state.world.bcast(sha), [image])

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        return {"image": {"path": "image.npy"}}


def iterate(folder: Path, kind: type[FixedPoint] = FixedPoint, **request: Any) -> RunResult:
    """Carry the iteration in a run directory; all ranks call it."""
    folder.parent.mkdir(exist_ok=True, parents=True)
    job = Job.from_toml(job_file(folder.parent))
    state = RunState.of(RunRequest(folder, **request))
    run = kind(job, state)
    return Engine(run, RunDirectory(run)).carry()


def job_file(folder: Path) -> Path:
    """Return the job file in a folder; written when it is missing."""
    path = folder / "iteration.toml"
    if not path.exists():
        # whole or not there: all ranks come here
        mine = path.with_suffix(f".{os.getpid()}")
        mine.write_text(JOB)
        os.replace(mine, path)
    return path
