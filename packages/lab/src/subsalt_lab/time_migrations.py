"""How do Kirchhoff time migrations scale over ranks, threads, and the instruction sets they are compiled for?

``subsalt migrate`` of made-up traces, or of a job of the user's, from the start of the command to its end, with every
layout in turn. Two builds side by side are what founding document 001 calls the code rebuild: there two compilers, here
the best instruction set of the machine against x86-64-v2.

Made-up prestack traces for ``lab scaling --method kirchhoff``: their image means nothing, its cost is real.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.io.prestack.writing import write_traces
from subsalt.io.publish import publish_text
from subsalt.machine import page_cache
from subsalt.machine.launcher import ALONE, Launcher
from subsalt.machine.load import Watch
from subsalt.machine.stats import ratio, summary
from subsalt_lab.campaign import interleaved
from subsalt_lab.layouts import Layout
from subsalt_lab.made_survey import folder_in
from subsalt_lab.result import Result
from subsalt_lab.scaling import UNITS, Say, key_of, located, notes, same_bits
from subsalt_lab.whole import run_job, scaled, slowest

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
    """What is made: in every bin of the output one trace of each offset, in the words of the founding case.

    Parameters
    ----------
    inlines, crosslines : int
        Bins of the output, and of the midpoints.
    samples : int
        Of a trace.
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


#: columns of a table, and the phases of a run that they sum; `init` has also what comes before the first phase
PHASES: Mapping[str, tuple[str, ...]] = {
    "init": ("check", "trace headers", "setup", "provenance", "ledger"),
    "traces": ("trace input",),
    "prepare": ("prepare",),
    "kernel": ("sum",),
    "image": ("save", "block output", "stack", "output", "pictures", "report"),
}

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
        What a table calls it.
    files : tuple of Path
        Its input.
    """

    path: Path
    name: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    layouts : sequence of Layout
        In the order of the table.
    grid : tuple of int
        Inlines, crosslines and samples of the made-up output; in weak scaling the crosslines are those of one rank.
    offsets : int
        Traces in each of its bins.
    job : GivenJob, optional
        Migrated in place of made-up traces.
    builds : sequence of str
        Instruction sets, the first one in the rows and a second one beside it; empty: the one that is in use.
    repeats : int
        Runs of each layout.
    weak : bool
        The output and its traces grow with the ranks.
    directory : Path, optional
        Where the files are made.
    cached : bool
        Leave the files in the page cache between runs.
    timeout : float
        Seconds that one run may take.
    """

    layouts: Sequence[Layout]
    grid: tuple[int, int, int] = (20, 100, 500)
    offsets: int = 4
    job: GivenJob | None = None
    builds: Sequence[str] = ()
    repeats: int = 5
    weak: bool = False
    directory: Path | None = None
    cached: bool = False
    timeout: float = 3600.0
    launcher: Launcher = ALONE

    def survey_of(self, layout: Layout) -> MadeTraces:
        """Return the traces that a layout migrates when none are given."""
        ni, nj, nt = self.grid
        return MadeTraces(ni, nj * (layout.ranks if self.weak else 1), nt, self.offsets)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result, without folders."""
        plain = asdict(self) | {"launcher": self.launcher.name, "method": "kirchhoff"}
        del plain["directory"]
        plain["job"] = None if self.job is None else self.job.name
        return plain | {"layouts": [asdict(x) | {"name": x.name} for x in self.layouts]}


@dataclass(frozen=True)
class Case:
    """One layout with one build; `survey` is None for a job that was given."""

    layout: Layout
    build: str | None
    job: Path
    files: tuple[Path, ...]
    run_dir: Path
    survey: MadeTraces | None


@dataclass(frozen=True)
class Answer:
    """What one migration gave.

    Parameters
    ----------
    total : float
        Seconds from the start of the command to its end.
    phases : mapping of str to float
        Seconds by phase of the rank that spent most in it, and `wall`.
    contributions : int
        Samples of traces added to samples of the image.
    sha256 : str
        Of the image.
    read : int
        Bytes read by all ranks.
    """

    total: float
    phases: Mapping[str, float]
    contributions: int
    sha256: str
    read: int = 0

    def seconds(self, column: str) -> float:
        """Return the seconds of a column of `PHASES`."""
        before = self.total - self.phases["wall"] if column == "init" else 0.0
        return before + sum(self.phases.get(name, 0.0) for name in PHASES[column])


def migrate(settings: Settings, case: Case) -> Answer:
    """Migrate once."""
    if not settings.cached:
        page_cache.drop(case.files)
    extra = {} if case.build is None else {"SUBSALT_ISA": case.build}
    seconds, found, spent = run_job(settings, case.layout, case.job, case.run_dir, extra)
    read = int(spent["input"]["all"]["read"])
    return Answer(seconds, slowest(spent), int(found["contributions"]), found["sha256"], read)


@contextmanager
def cases_of(settings: Settings, found: Sequence[Layout], say: Say) -> Iterator[list[Case]]:
    """Make the files that are needed; they are removed at the end. All layouts of the first build come first."""
    builds: Sequence[str | None] = list(settings.builds) or [None]
    given = settings.job
    surveys = {} if given else dict.fromkeys(settings.survey_of(x) for x in found)
    need = sum(s.bytes_needed for s in surveys)
    with folder_in(settings.directory, need, "the made-up traces") as root:
        run_dir = root / "measure.run"
        if given:
            yield [Case(x, b, given.path, given.files, run_dir, None) for b in builds for x in found]
            return
        written: dict[MadeTraces, tuple[Path, tuple[Path, ...]]] = {}
        for k, survey in enumerate(surveys):
            say(f"scaling: writing {survey.traces} traces")
            folder = root / str(k)
            folder.mkdir()
            written[survey] = folder / "measure.toml", tuple(survey.write(folder))
        yield [
            Case(x, b, *written[settings.survey_of(x)], run_dir, settings.survey_of(x))
            for b in builds
            for x in found
        ]


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, Case], Answer] = migrate,
) -> Result:
    """Measure time migrations with every layout, of one build or two.

    Parameters
    ----------
    settings : Settings
        What is measured.
    say : callable
        Told what is being measured.
    run : callable
        Migrates once.

    Raises
    ------
    SubsaltError
        When layouts of one build give different images (E710): nothing is reported then.
    """
    found = located(settings, say) if run is migrate else list(settings.layouts)

    def once(case: Case, number: int) -> Answer:
        with_build = f", {case.build}" if case.build else ""
        say(f"scaling: {case.layout.name}{with_build}, round {number + 1} of {settings.repeats}")
        return run(settings, case)

    with cases_of(settings, found, say) as cases, Watch(max(x.cores for x in found)) as watch:
        answers = interleaved(cases, settings.repeats, once)
    n = len(found)
    for first in range(0, len(cases), n):  # v2 rounds otherwise: a build is compared with itself
        group = zip(cases[first : first + n], answers[first : first + n], strict=True)
        same_bits([(c.survey.grid if c.survey else (), [a.sha256 for a in given]) for c, given in group])
    table = totals(settings, found, answers[:n])
    if len(settings.builds) > 1:
        _beside(table, answers[:n], answers[n : 2 * n])
    return Result(
        "scaling",
        settings.to_dict() | {"what": "time migration", "scaling": "weak" if settings.weak else "strong"},
        table,
        UNITS | UNITS_OF_BUILDS,
        watch.facts(),
        [*_notes(settings), *notes(found), *filter(None, [watch.text()])],
    )


def totals(
    settings: Settings, found: Sequence[Layout], answers: Sequence[Sequence[Answer]]
) -> list[dict[str, Any]]:
    """Return the rows of one build: medians of the phases, scaling of the total and of the sum."""
    keys = []
    for layout in found:
        survey = None if settings.job else settings.survey_of(layout)
        keys.append(
            key_of(layout, survey.grid if survey else ()) | {"traces_in": survey.traces if survey else None}
        )
    return scaled(found, keys, answers, "contributions", PHASES)


def _beside(
    table: Sequence[dict[str, Any]], first: Sequence[Sequence[Answer]], second: Sequence[Sequence[Answer]]
) -> None:
    """Add the second build to the rows of the first; gains are medians over rounds, as both shared each round."""
    for row, ours, other in zip(table, first, second, strict=True):
        row["total_b"] = summary([a.total for a in other]).median
        row["kernel_b"] = summary([a.seconds("kernel") for a in other]).median
        row["build_gain"] = ratio([a.total for a in other], [a.total for a in ours]).median
        sums = [[a.seconds("kernel") for a in side] for side in (other, ours)]
        row["kernel_gain"] = ratio(*sums).median if min(sums[1]) > 0 else None


def _notes(settings: Settings) -> list[str]:
    out = [
        "total: from the start of the command to its end; init: start of the ranks, checks, trace headers; sum: of the "
        "slowest rank; read: bytes read by all ranks"
    ]
    out.append(
        "files may come from the page cache"
        if settings.cached
        else "before every run the page cache was asked to forget the files"
    )
    if settings.builds:
        beside = f"; B is the build for {settings.builds[1]}" if len(settings.builds) > 1 else ""
        out.append(f"build for {settings.builds[0]}{beside}")
    return out
