"""A survey that is struck again and again, and what must hold after each strike."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from small_run import digest
from strikes import KILL, End, Point, Striker

from subsalt.run.ledger_file import peek


@dataclass
class Case:
    """The survey in its folder, and its undisturbed run.

    Parameters
    ----------
    folder : Path
        Of the job; the runs lie in it, and what they keep elsewhere.
    job : Path
        The job file.
    striker : Striker
        Runs the command.
    """

    folder: Path
    job: Path
    striker: Striker
    points: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run, self.scratch = self.folder / "run", self.folder / "scratch"
        self.under = f"{self.run}:{self.scratch}"
        self.fresh()
        end = self.striker("migrate", self.job, "--run", self.run, here=True)
        assert end.code == 0, end.err
        self.sha256, self.names, self.shots = digest(self.run), self.files(), len(peek(self.run))
        self.fresh()
        self.points = self.striker.points("migrate", self.job, "--run", self.run, under=self.under)

    def fresh(self) -> None:
        """Remove what a run has made."""
        for folder in (self.run, self.scratch):
            shutil.rmtree(folder, ignore_errors=True)
        # the disks of a job are there before it
        for name in ("a", "b"):
            (self.scratch / name).mkdir(parents=True)

    def files(self) -> set[str]:
        """Return the names of all files of the run."""
        paths = [p for folder in (self.run, self.scratch) for p in folder.rglob("*") if p.is_file()]
        return {str(p.relative_to(self.folder)) for p in paths}

    def start(self, at: int | Point = 0, mode: int = -1, arg: int = 0) -> End:
        """Migrate, struck as asked."""
        return self.striker(
            "migrate", self.job, "--run", self.run, at=at, mode=mode, arg=arg, under=self.under
        )

    def resume(self, at: int | Point = 0, mode: int = -1, arg: int = 0) -> End:
        """Go on by the directory alone, struck as asked."""
        return self.striker("resume", self.run, at=at, mode=mode, arg=arg, under=self.under)

    def go_on(self, by_directory: bool, at: int | Point = 0, mode: int = -1) -> End:
        """Go on, by the directory when asked and when the job was already written down there."""
        known = by_directory and (self.run / "job.resolved.toml").exists()
        return self.resume(at, mode) if known else self.start(at, mode)

    def kill(
        self, point: Point, again: int = 0, by_directory: bool = False, mode: int = KILL
    ) -> tuple[str, int]:
        """Kill a run at a point, and what goes on at its operation `again`; return what is wrong, and shots redone."""
        self.fresh()
        killed = [self.start(point, mode)]
        if again:
            killed.append(self.go_on(by_directory, again, mode))
        for end in killed:
            # the last may come to its end before the second strike
            if end.struck is None and end is killed[0]:
                return f"{point} was not struck", 0
            if end.code != (-9 if end.struck else 0):
                return f"ended with {end.code} at {end.struck}: {end.err}", 0
        fault = self.verdict(self.go_on(by_directory))
        redone = sum(row["attempt"] for row in peek(self.run)) - self.shots
        if not fault and redone > sum(end.struck is not None for end in killed):
            fault = f"{redone} shots were computed again"
        return fault, redone

    def verdict(self, end: End, log_stays: bool = False) -> str:
        """Return what is wrong with a run that has come to its end, nothing when all is as it was undisturbed.

        With `log_stays` the ledger may have its log beside it: all that was committed is in the two.
        """
        allowed = {"run/ledger.sqlite-wal", "run/ledger.sqlite-shm"} if log_stays else set()
        if end.code != 0:
            return f"going on ended with {end.code}: {end.err[-1000:]}"
        if digest(self.run) != self.sha256:
            return "the image differs"
        if extra := (self.files() - allowed) ^ self.names:
            return f"other files than undisturbed: {sorted(extra)}"
        return ""
