"""The plan of a run, whatever its method: its needs, whether it may start, as lines and as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from subsalt.errors import Finding, SubsaltError
from subsalt.extensions import library
from subsalt.job.signal.summary import signal_row
from subsalt.plan.disk import Disk, disk_error
from subsalt.plan.gpu import PlannedGpu
from subsalt.plan.prediction import Prediction

Basis = TypeVar("Basis")


@dataclass(frozen=True)
class Plan(Generic[Basis]):
    """Needs of a run, and whether it may start.

    Parameters
    ----------
    sections : sequence of sequence of str
        Lines that people read, by subject; the verdict follows.
    verdict : str
        The last line: whether it fits, and how.
    facts : dict
        Plain values, for JSON; findings aside.
    bytes_per_rank : int
        Memory of the rank that takes most.
    disks : sequence of Disk
        Bytes that are written: into the run directory first, then to other file systems.
    duration : Prediction
        Seconds by phase.
    units : str
        Name of the units that are distributed to the ranks.
    basis : object
        Inputs from which the method made the figures.
    memory_error : SubsaltError or None
        Why memory does not suffice.
    warnings : sequence of Finding
        Warnings for the reader of the plan, whether the run may start or not.
    ranks_together : int
        Ranks that share a unit.
    """

    sections: Sequence[Sequence[str]]
    verdict: str
    facts: dict[str, Any]
    bytes_per_rank: int
    disks: Sequence[Disk]
    duration: Prediction
    units: str
    basis: Basis
    memory_error: SubsaltError | None = None
    warnings: Sequence[Finding] = field(default_factory=tuple)
    ranks_together: int = 1

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_plan(self))

    @property
    def count(self) -> int:
        """Number of units; 0 where `units` does not begin with it."""
        number = self.units.partition(" ")[0]
        return int(number) if number.isdigit() else 0

    @property
    def disk(self) -> Disk:
        """Bytes that are written into the run directory."""
        return self.disks[0]

    @property
    def error(self) -> SubsaltError | None:
        """Error that a run would raise; None when it may start."""
        return refusal(self.memory_error, self.disks)

    @property
    def fits(self) -> bool:
        """Whether memory and disk suffice."""
        return self.error is None

    @property
    def findings(self) -> list[Finding]:
        """Warnings, and the error that a run would raise last."""
        error = self.error
        errors = [] if error is None else [Finding(error.code, "error", error.message, error.fix)]
        return [*self.warnings, *errors]

    def lines(self) -> list[str]:
        """Return the plan as lines that people read."""
        return [line for section in self.sections for line in (*section, "")] + [self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return self.facts | {"findings": [vars(f) for f in self.findings]}


def refusal(memory: SubsaltError | None, disks: Sequence[Disk]) -> SubsaltError | None:
    """Return what a run would raise: memory goes before disk; None when it may start."""
    return memory or disk_error(disks)


def table_of_bytes(arrays: Mapping[str, int], width: int) -> list[str]:
    """Return bytes by what they are for, the most first, and their sum; names take `width` columns."""
    total = sum(arrays.values())
    rows = sorted(arrays.items(), key=lambda kv: -kv[1])
    out = [f"  {name:<{width}}{size(count):>10}{count / total:>7.0%}" for name, count in rows]
    return [*out, f"  {'in all':<{width}}{size(total):>10}"]


def last_rows(signal: dict[str, Any], disks: Sequence[Disk], spent: Prediction) -> list[tuple[str, str]]:
    """Return name and text of the rows with which all plans end: steps on traces, disks, seconds by phase."""
    rows = [("signal", signal_row(signal))] if signal else []
    rows += [("disk", _disk_text(disks[0]))]
    rows += [("", f"{other.where}: {_disk_text(other)}") for other in disks[1:]]
    if spent.wall is not None:
        rows.append(("time", f"{duration(spent.wall)} for the run: {_phases_text(spent.phases)}"))
    if spent.steps is not None and spent.steps.shot_phases:
        rows.append(("", f"largest shot: {_phases_text(spent.steps.shot_phases)}"))
    if spent.halo:
        rows.append(("", f"of it waiting for ghost planes {duration(spent.halo)}"))
    return rows + [("" if spent.wall is not None else "time", note) for note in spent.notes]


def rows_text(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return rows as lines whose names take `width` columns."""
    return [f"{name:<{width}}{text}" for name, text in rows]


def _disk_text(disk: Disk) -> str:
    parts = ", ".join(f"{name} {size(count)}" for name, count in disk.parts.items())
    return f"{size(disk.total)} of {size(disk.free)} free: {parts}"


def _phases_text(phases: Mapping[str, float]) -> str:
    """Return seconds by phase, those that matter."""
    total = sum(phases.values())
    return ", ".join(f"{name} {duration(s)}" for name, s in phases.items() if s >= 0.01 * total)


def gpu_line(gpu: PlannedGpu) -> str:
    """Return what is known of the GPU, and from where."""
    known = f"measured on {gpu.measured[:10]}" if gpu.measured else "assumed"
    where = "here" if gpu.there else "not in this machine"
    share = f", {gpu.sharing} ranks share it" if gpu.sharing > 1 else ""
    return (
        f"{gpu.name} ({where}): {size(gpu.limit)} for a rank{share}; copies {gpu.copy / 1e12:.2f} TB/s, "
        f"to the host {gpu.down / 1e9:.0f} GB/s, from it {gpu.up / 1e9:.0f} GB/s ({known})"
    )


def size(count: int) -> str:
    """Return bytes in a unit that suits them."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}" if count < 10 * scale else f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def counted(n: int, what: str) -> str:
    """Return a number with its noun, in the plural where there are several."""
    return f"{n} {what}{'s' * (n != 1)}"
