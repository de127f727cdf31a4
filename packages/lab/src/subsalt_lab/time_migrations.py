"""Kirchhoff time migrations over ranks, threads, and the instruction sets they are compiled for.

Of made-up traces, or of a job of the user's. Two builds side by side are what founding document 001 calls the code
rebuild: there two compilers, here the best instruction set of the machine against x86-64-v2. The image of the made-up
traces means nothing, its cost is real.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.io.publish import publish_text
from subsalt.io.segy.trace_writing import write_traces
from subsalt.machine.stats import ratio, summary
from subsalt_lab.campaign import UNITS, key_of
from subsalt_lab.layouts import RankLayout
from subsalt_lab.migrations import MigrationCase, MigrationResult, Migrations, written
from subsalt_lab.result import Say

#: m between bins; m/s; s between samples; peak frequency in Hz
BIN, V, DT, F0 = 15.0, 2500.0, 0.008, 15.0
#: m between the offsets of a bin, and the first of them
OFFSETS = 250.0, 400.0
#: bytes of a trace header and of what other files take
HEADER, OTHER = 240, 1 << 20

JOB = """\
title = "made-up traces for measurements"
method = "kirchhoff"

[data]
files = ["traces.sgy"]

[velocity]
v = {v:g}

[kirchhoff]
inline = {{first = 1, last = {ni}}}
crossline = {{first = 1, last = {nj}}}
corners = [[1, 1, 0, 0], [1, 2, {bin:g}, 0], [2, 1, 0, {bin:g}]]
gathers = "full-offset"
amplitude = "3d"
antialias_spacing = [{bin:g}, {bin:g}]
stretch_mute = 0.15

[output]
pictures = false
"""


@dataclass(frozen=True)
class MadeTraces:
    """Traces to make: in every bin of the output one trace of each offset, in the words of the founding case.

    Parameters
    ----------
    inlines, crosslines : int
        Bins of the output, and of the midpoints.
    samples : int
        Samples of a trace.
    offsets : int
        Traces in a bin.
    """

    inlines: int
    crosslines: int
    samples: int
    offsets: int = 4

    @property
    def grid(self) -> tuple[int, int, int]:
        """Inlines, crosslines and samples of the output."""
        return self.inlines, self.crosslines, self.samples

    @property
    def traces(self) -> int:
        """Number of traces."""
        return self.inlines * self.crosslines * self.offsets

    def __str__(self) -> str:
        return f"{self.traces} traces"

    @property
    def bytes_needed(self) -> int:
        """Bytes of all files, those of a run included: sums of the blocks, gathers, image and hits."""
        image = self.inlines * self.crosslines * (HEADER + 4 * self.samples)
        return self.traces * (HEADER + 4 * self.samples) + image * (2 * self.offsets + 4) + OTHER

    def write(self, folder: Path) -> list[Path]:
        """Write traces, in shot order, and their job into a folder; return the input files."""
        first, step = OFFSETS
        il, xl, h = (
            a.ravel()
            for a in np.meshgrid(
                np.arange(self.inlines),
                np.arange(self.crosslines),
                first + step * np.arange(self.offsets),
                indexing="ij",
            )
        )
        middle = np.stack([BIN * xl, BIN * il], axis=1)
        half = np.stack([0.5 * h, np.zeros(len(h))], axis=1)
        src, rcv = middle - half, middle + half
        order = np.lexsort((rcv[:, 0], src[:, 0], src[:, 1]))
        time = TimeAxis(self.samples, DT)

        def samples(block: slice) -> NDArray[np.float32]:
            # two pulses, at the times of flat reflectors
            length = np.sqrt(((rcv - src)[order[block]] ** 2).sum(axis=1))
            out = np.zeros((len(length), self.samples), np.float32)
            for part in (0.3, 0.7):
                at = np.sqrt((part * time.duration) ** 2 + (length / V) ** 2)
                a = (np.pi * F0 * (time.values() - at[:, None])) ** 2
                out += ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
            return out

        traces = write_traces(folder / "traces.sgy", src[order], rcv[order], time, samples)
        publish_text(folder / "measure.toml", JOB.format(v=V, ni=self.inlines, nj=self.crosslines, bin=BIN))
        return [traces]


UNITS_OF_BUILDS = {
    "rate": "contributions/s of the sum",
    "build_gain": "total of the second build over that of the first, median over rounds",
    "kernel_gain": "the same of the sum",
}


@dataclass(frozen=True)
class GivenJob:
    """A job of the user's.

    Parameters
    ----------
    path : Path
        The job file.
    name : str
        Name in tables.
    files : tuple of Path
        Its input.
    """

    path: Path
    name: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Settings(Migrations):
    """Settings of the measurement.

    Parameters
    ----------
    grid : tuple of int
        Inlines, crosslines and samples of the made-up output; in weak scaling the crosslines are those of one rank.
    offsets : int
        Traces in each of its bins.
    job : GivenJob, optional
        Migrated in place of made-up traces.
    builds : sequence of str
        Instruction sets, the first one in the rows and a second one to compare with; empty: the one that is in use.
    """

    grid: tuple[int, int, int] = (20, 100, 500)
    offsets: int = 4
    job: GivenJob | None = None
    builds: Sequence[str] = ()

    what: ClassVar[str] = "time migration"
    work: ClassVar[str] = "contributions"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "init": ("check", "trace headers", "setup", "provenance", "ledger"),
        "traces": ("trace input",),
        "prepare": ("prepare",),
        "kernel": ("sum",),
        "image": ("save", "block output", "stack", "output", "pictures", "report"),
    }
    units: ClassVar[Mapping[str, str]] = UNITS | UNITS_OF_BUILDS

    def survey_of(self, layout: RankLayout) -> MadeTraces:
        """Return the traces that a layout migrates when none are given."""
        ni, nj, nt = self.grid
        return MadeTraces(ni, nj * (layout.ranks if self.weak else 1), nt, self.offsets)

    @contextmanager
    def cases(self, layouts: Sequence[RankLayout], say: Say) -> Iterator[list[MigrationCase]]:
        """Make the files that are needed."""
        builds: Sequence[str | None] = self.builds or [None]
        surveys = [] if self.job else [self.survey_of(layout) for layout in layouts]
        with written(surveys, self.directory, "the made-up traces", say) as (root, files):
            jobs: list[tuple[Path, tuple[Path, ...], dict[str, Any]]]
            if self.job:
                key = {"traces_in": None}
                jobs = [(self.job.path, self.job.files, key_of(x, ()) | key) for x in layouts]
            else:
                jobs = [
                    (folder / "measure.toml", some, key_of(x, made.grid) | {"traces_in": made.traces})
                    for x, made, (folder, some) in zip(layouts, surveys, files, strict=True)
                ]
            yield [
                MigrationCase(layout, key, job, some, root / "measure.run", build or "", build)
                for build in builds
                for layout, (job, some, key) in zip(layouts, jobs, strict=True)
            ]

    def beside(
        self,
        table: Sequence[dict[str, Any]],
        first: Sequence[list[MigrationResult]],
        second: Sequence[list[MigrationResult]],
    ) -> None:
        """Add the second build to the rows of the first; gains are medians over rounds, as both shared each round."""
        for row, ours, other in zip(table, first, second, strict=True):
            row["total_b"] = summary([a.total for a in other]).median
            row["kernel_b"] = summary(self.seconds("kernel", other)).median
            row["build_gain"] = ratio([a.total for a in other], [a.total for a in ours]).median
            sums = [self.seconds("kernel", side) for side in (other, ours)]
            row["kernel_gain"] = ratio(*sums).median if min(sums[1]) > 0 else None

    @property
    def notes(self) -> list[str]:
        """Notes for the reader of the table."""
        out = [
            "total: from the start of the command to its end; init: start of the ranks, checks, trace headers; sum: of "
            "the slowest rank; read: bytes read by all ranks",
            self.cache_note,
        ]
        if self.builds:
            beside = f"; B is the build for {self.builds[1]}" if len(self.builds) > 1 else ""
            out.append(f"build for {self.builds[0]}{beside}")
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result, without folders."""
        job = None if self.job is None else self.job.name
        return super().to_dict() | {"method": "kirchhoff", "job": job}
