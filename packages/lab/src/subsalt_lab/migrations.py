"""How do whole migrations scale, from the start of the command to its end? The frame of both methods.

``subsalt migrate``, as a user starts it, with every layout in turn, and where two directories or two builds are
compared, with both sides of them in every round.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from subsalt.errors import DiskError
from subsalt.io.publish import make_folder
from subsalt.machine import programs, records
from subsalt.machine.launcher import ALONE, Launcher
from subsalt.machine.stats import summary
from subsalt_lab.campaign import CLOCK, UNITS, Campaign, marks_of, notes, plain, same_bits
from subsalt_lab.layouts import RankLayout
from subsalt_lab.rank_programs import located, run_ranks
from subsalt_lab.result import Result, Say
from subsalt_lab.scaling_rows import Timed, add_rates, rows


class Made(Protocol):
    """Input that is made up for a measurement; progress calls it by its text."""

    @property
    def bytes_needed(self) -> int:
        """Bytes of all files, those of a run included."""

    def write(self, folder: Path) -> list[Path]:
        """Write the files into a folder and return the input files."""


Input = TypeVar("Input", bound=Made)


@dataclass(frozen=True)
class MigrationCase:
    """One layout on one side of a comparison.

    Parameters
    ----------
    layout : RankLayout
        Ranks and threads.
    key : mapping
        First entries of its row.
    job : Path
        Job that is migrated.
    files : tuple of Path
        Its input.
    run_dir : Path
        Made and removed by every run.
    side : str
        How progress calls the side; empty when there is one.
    build : str, optional
        Instruction set; the one in use when None.
    """

    layout: RankLayout
    key: Mapping[str, Any]
    job: Path
    files: tuple[Path, ...]
    run_dir: Path
    side: str = ""
    build: str | None = None


@dataclass(frozen=True)
class MigrationResult:
    """Result of one migration.

    Parameters
    ----------
    total : float
        Seconds from the start of the command to its end.
    phases : mapping of str to float
        Seconds by phase of the rank that spent most in it, and `wall`.
    work : int
        Work of the migration, in the unit of `Migrations.work`.
    sha256 : str
        Checksum of the image.
    read : int
        Bytes of input read by all ranks.
    """

    total: float
    phases: Mapping[str, float]
    work: int
    sha256: str
    read: int = 0


@dataclass(frozen=True)
class Migrations(ABC):
    """Settings and units of the migrations by one method.

    Parameters
    ----------
    layouts : sequence of RankLayout
        In the order of the table.
    repeats : int
        Runs of each layout.
    weak : bool
        The input grows with the ranks.
    directory : Path, optional
        Where the files are made.
    cached : bool
        Leave the files in the page cache between runs.
    timeout : float
        Seconds that one run may take.
    """

    layouts: Sequence[RankLayout]
    _: KW_ONLY
    repeats: int = 5
    weak: bool = False
    directory: Path | None = None
    cached: bool = False
    timeout: float = 3600.0
    launcher: Launcher = ALONE

    #: what a result calls this
    what: ClassVar[str]
    #: what counts the work in the answer of ``subsalt migrate --json``; a column, too
    work: ClassVar[str]
    #: columns of a table, and the phases of a run that they sum; `init` has also what comes before the first phase
    columns: ClassVar[Mapping[str, tuple[str, ...]]]
    units: ClassVar[Mapping[str, str]] = UNITS

    @abstractmethod
    def cases(self, layouts: Sequence[RankLayout], say: Say) -> AbstractContextManager[list[MigrationCase]]:
        """Make the files that are needed, which are removed at the end; all cases of the first side come first."""

    @abstractmethod
    def beside(
        self,
        table: Sequence[dict[str, Any]],
        first: Sequence[list[MigrationResult]],
        second: Sequence[list[MigrationResult]],
    ) -> None:
        """Add the second side to the rows of the first."""

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """Notes for the reader of the table on this method."""

    @property
    def cache_note(self) -> str:
        """State of the page cache."""
        if self.cached:
            return "files may come from the page cache"
        return "before every run the page cache was asked to forget the files"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result, without folders: they say much about a machine."""
        return {k: v for k, v in plain(self).items() if k not in ("directory", "against")}

    def seconds(self, column: str, answers: Sequence[MigrationResult]) -> list[float]:
        """Return the seconds of a column, of each answer."""
        return [
            (a.total - a.phases["wall"] if column == "init" else 0.0)
            + sum(a.phases.get(name, 0.0) for name in self.columns[column])
            for a in answers
        ]


@contextmanager
def written(
    inputs: Sequence[Input], directory: Path | None, what: str, say: Say
) -> Iterator[tuple[Path, list[tuple[Path, tuple[Path, ...]]]]]:
    """Make inputs, equal ones once; yield a folder for all, and the folder and the files of each."""
    different = dict.fromkeys(inputs)
    with _folder_in(directory, sum(i.bytes_needed for i in different), what) as root:
        made: dict[Input, tuple[Path, tuple[Path, ...]]] = {}
        for k, each in enumerate(different):
            say(f"scaling: writing {each}")
            folder = root / str(k)
            folder.mkdir()
            made[each] = folder, tuple(each.write(folder))
        yield root, [made[i] for i in inputs]


@contextmanager
def _folder_in(directory: Path | None, need: int, what: str) -> Iterator[Path]:
    """Make a folder with a name of its own, for `need` bytes; it is removed with all it holds.

    Raises
    ------
    DiskError
        When the file system has less room (E785).
    """
    parent = make_folder(directory) if directory is not None else Path(tempfile.gettempdir())
    free = shutil.disk_usage(parent).free
    if need > free:
        raise DiskError(
            f"{what} takes {need / 1e9:.2f} GB in {parent}, {free / 1e9:.2f} GB are free",
            "choose a smaller --grid or fewer --shots, or another --directory",
            code="E785",
        )
    made = Path(tempfile.mkdtemp(prefix="subsalt-scaling-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def migrate(settings: Migrations, case: MigrationCase) -> MigrationResult:
    """Migrate once, in a run directory that is removed."""
    if not settings.cached:
        records.drop_from_cache(case.files)
    words = ["subsalt", "migrate", str(case.job), "--run", str(case.run_dir), "--json"]
    build = {} if case.build is None else {"SUBSALT_ISA": case.build}
    try:
        ran = run_ranks(settings, case.layout, words, "the migration with", build)
        facts = json.loads((case.run_dir / "run.json").read_text("utf-8"))
    finally:
        shutil.rmtree(case.run_dir, ignore_errors=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise programs.failed(
            f"the migration with layout {case.layout.name} printed {len(lines)} results", ran.stderr
        )
    said, spent = json.loads(lines[0]), facts["over_ranks"]
    slowest = {name: float(seconds["max"]) for name, seconds in spent["phases"].items()}
    read = int(spent["input"]["all"]["read"])
    return MigrationResult(ran.seconds, slowest, int(said[settings.work]), said["sha256"], read)


def measure(
    settings: Migrations,
    *,
    say: Say = lambda text: None,
    run: Callable[[Any, MigrationCase], MigrationResult] = migrate,
) -> Result:
    """Measure migrations with every layout, and on both sides where two are compared.

    Parameters
    ----------
    settings : Migrations
        Settings of the measurement.
    say : callable
        Callback for progress text.
    run : callable
        Migrates once.

    Raises
    ------
    SubsaltError
        When layouts of one build give different images (E710): nothing is reported then.
    """
    layouts = located(settings, say) if run is migrate else list(settings.layouts)
    campaign = Campaign(settings.repeats, max(x.cores for x in layouts), say)

    def name(case: MigrationCase) -> str:
        return ", ".join(filter(None, [case.layout.name, case.side]))

    with settings.cases(layouts, say) as cases:
        answers = campaign.samples(cases, partial(run, settings), name)
    # v2 rounds otherwise: a build is compared with itself
    for build in {case.build for case in cases}:
        group = [(c, given) for c, given in zip(cases, answers, strict=True) if c.build == build]
        same_bits([(c.key["grid"], [a.sha256 for a in given]) for c, given in group])
    first, second = answers[: len(layouts)], answers[len(layouts) :]
    table = _rows(settings, cases[: len(layouts)], first)
    if second:
        settings.beside(table, first, second)
    facts = {"what": settings.what, "scaling": "weak" if settings.weak else "strong"}
    return campaign.result(
        settings.to_dict() | facts, table, settings.units, [*settings.notes, *notes(layouts)]
    )


def _rows(
    settings: Migrations, cases: Sequence[MigrationCase], answers: Sequence[Sequence[MigrationResult]]
) -> list[dict[str, Any]]:
    """Return a row for each layout: scaling of the total and of the kernel, medians of the phases."""
    timed, kernels = [], []
    for case, given in zip(cases, answers, strict=True):
        layout, amount, kernel_seconds = case.layout, float(given[0].work), settings.seconds("kernel", given)
        timed.append(Timed(case.key, layout.cores, [a.total for a in given], amount, CLOCK, marks_of(layout)))
        kernels.append(Timed(case.key, layout.cores, kernel_seconds, amount, CLOCK))
    table = rows(timed)
    for row, kernel, given in zip(table, rows(kernels), answers, strict=True):
        row |= {name: summary(settings.seconds(name, given)).median for name in settings.columns}
        row |= {"total": row["time"], settings.work: given[0].work, "read": given[0].read}
        row |= {"kernel_speed_up": kernel["speed_up"], "kernel_efficiency": kernel["efficiency"]}
        shares = [k / t for k, t in zip(kernel["seconds"], row["seconds"], strict=True)]
        row["kernel_share"] = summary(shares).median
    add_rates(table, settings.work, "kernel")
    return table
