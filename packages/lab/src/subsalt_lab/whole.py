"""How do whole migrations scale: model input, traces, time steps, image, from the start of the command to its end?

``subsalt migrate`` of a made-up survey, as a user starts it, with every layout in turn, from one directory or from two.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from subsalt.machine import launcher, page_cache
from subsalt.machine.launcher import ALONE, Launcher
from subsalt.machine.load import Watch
from subsalt.machine.stats import summary
from subsalt_lab.campaign import interleaved
from subsalt_lab.layouts import Layout
from subsalt_lab.made_survey import MadeSurvey, folder_in
from subsalt_lab.result import Result
from subsalt_lab.scaling import CLOCK, UNITS, Say, Started, key_of, located, marks_of, notes, same_bits
from subsalt_lab.scaling_rows import Timed, add_rates, rows

#: columns of a table, and the phases of a run that they sum; `init` has also what comes before the first phase
PHASES: Mapping[str, tuple[str, ...]] = {
    "init": ("check", "model input", "survey", "provenance"),
    "traces": ("trace input",),
    "kernel": ("source", "receivers"),
    "image": ("partial image", "image sum", "output"),
}


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    layouts : sequence of Layout
        In the order of the table.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    grid : tuple of int
        Points of the model; in weak scaling those of one rank.
    samples : int
        Of a trace.
    shots : int
        Of the survey; in weak scaling of each rank.
    ranks_per_shot : str
        ``"auto"``, ``"all"`` or a number.
    repeats : int
        Runs of each layout.
    weak : bool
        The survey grows along x with the ranks.
    directory, against : Path, optional
        Where the files are made; a second place to compare with.
    cached : bool
        Leave the files in the page cache between runs.
    timeout : float
        Seconds that one run may take.
    """

    layouts: Sequence[Layout]
    medium: str = "vti"
    grid: tuple[int, int, int] = (160, 96, 96)
    samples: int = 300
    shots: int = 4
    ranks_per_shot: str = "auto"
    repeats: int = 5
    weak: bool = False
    directory: Path | None = None
    against: Path | None = None
    cached: bool = False
    timeout: float = 3600.0
    launcher: Launcher = ALONE

    def survey_of(self, layout: Layout) -> MadeSurvey:
        """Return the survey that a layout migrates.

        In weak scaling it grows along x: more shots with windows of one size; where all ranks share every shot, the
        windows grow in place of their number.
        """
        nx, ny, nz = self.grid
        times = layout.ranks if self.weak else 1
        apart = self.weak and self.ranks_per_shot != "all"
        return MadeSurvey(
            (nx * times, ny, nz),
            self.medium,
            self.samples,
            self.shots * (times if apart else 1),
            nx if apart else nx * times,
            aperture=apart,
        )

    def group_of(self, layout: Layout) -> int | str:
        """Return the ranks per shot of a layout."""
        if self.ranks_per_shot == "auto":
            return "auto"
        return layout.ranks if self.ranks_per_shot == "all" else min(int(self.ranks_per_shot), layout.ranks)

    @property
    def places(self) -> list[Path | None]:
        """The directories, one or two."""
        return [self.directory] if self.against is None else [self.directory, self.against]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result, without folders."""
        plain = asdict(self) | {"launcher": self.launcher.name, "directories": len(self.places)}
        del plain["directory"], plain["against"]
        return plain | {"layouts": [asdict(x) | {"name": x.name} for x in self.layouts]}


@dataclass(frozen=True)
class Case:
    """One layout on the files of one directory."""

    layout: Layout
    place: int
    folder: Path
    files: tuple[Path, ...]
    survey: MadeSurvey


@dataclass(frozen=True)
class Answer:
    """What one migration gave.

    Parameters
    ----------
    total : float
        Seconds from the start of the command to its end.
    phases : mapping of str to float
        Seconds by phase of the rank that spent most in it, and `wall`.
    point_steps : int
        Of both wavefields of all shots.
    sha256 : str
        Of the image.
    read : int
        Bytes read from model and traces by all ranks.
    """

    total: float
    phases: Mapping[str, float]
    point_steps: int
    sha256: str
    read: int = 0

    def seconds(self, column: str) -> float:
        """Return the seconds of a column of `PHASES`."""
        before = self.total - self.phases["wall"] if column == "init" else 0.0
        return before + sum(self.phases.get(name, 0.0) for name in PHASES[column])


def migrate(settings: Settings, case: Case) -> Answer:
    """Migrate once, in a run directory that is removed."""
    job = case.survey.write_job(
        case.folder / "measure.toml", case.layout.threads, settings.group_of(case.layout)
    )
    if not settings.cached:
        page_cache.drop(case.files)
    seconds, found, spent = run_job(settings, case.layout, job, case.folder / "measure.run")
    read = int(spent["input"]["all"]["read"])
    return Answer(seconds, slowest(spent), int(found["point_steps"]), found["sha256"], read)


def run_job(
    settings: Started, layout: Layout, job: Path, run_dir: Path, extra: Mapping[str, str] | None = None
) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """Run ``subsalt migrate`` on a job, in a run directory that is removed.

    Returns
    -------
    float
        Seconds from the start of the command to its end.
    dict
        What it printed.
    dict
        What its ranks spent: ``over_ranks`` of its facts.
    """
    words = [sys.executable, "-m", "subsalt_lab.pinned", layout.pin_lists, "subsalt", "migrate", str(job)]
    words += ["--run", str(run_dir), "--json"]
    if layout.ranks > 1 or "{ranks}" in " ".join(settings.launcher.words):
        words = settings.launcher.start(layout.ranks, words)
    try:
        ran = launcher.run(
            words,
            what=f"the migration with {layout.ranks} ranks x {layout.threads} threads",
            extra={"OMP_NUM_THREADS": str(layout.threads)} | dict(extra or {}),
            timeout=settings.timeout,
        )
        facts = json.loads((run_dir / "run.json").read_text("utf-8"))
    finally:
        shutil.rmtree(run_dir, ignore_errors=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise launcher.failed(
            f"the migration with layout {layout.name} printed {len(lines)} results", ran.stderr
        )
    return ran.seconds, json.loads(lines[0]), facts["over_ranks"]


def slowest(spent: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds by phase of the rank that spent most in it."""
    return {name: float(seconds["max"]) for name, seconds in spent["phases"].items()}


@contextmanager
def files_of(settings: Settings, found: Sequence[Layout], say: Say) -> Iterator[list[Case]]:
    """Make the files of all layouts in all directories; they are removed at the end."""
    surveys = dict.fromkeys(settings.survey_of(x) for x in found)
    need = sum(s.bytes_needed for s in surveys)
    with ExitStack() as kept:
        cases: list[Case] = []
        for number, place in enumerate(settings.places):
            root = kept.enter_context(folder_in(place, need, "the made-up survey"))
            written: dict[MadeSurvey, tuple[Path, tuple[Path, ...]]] = {}
            for k, survey in enumerate(surveys):
                say(f"scaling: writing {survey.bytes_needed / 1e6:.0f} MB or less")
                folder = root / str(k)
                folder.mkdir()
                written[survey] = folder, tuple(survey.write(folder))
            for layout in found:
                survey = settings.survey_of(layout)
                cases.append(Case(layout, number, *written[survey], survey))
        yield cases


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, Case], Answer] = migrate,
) -> Result:
    """Measure whole migrations with every layout, from one directory or two.

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
        When layouts give different images (E710): nothing is reported then.
    """
    found = located(settings, say) if run is migrate else list(settings.layouts)

    def once(case: Case, number: int) -> Answer:
        where = f", directory {'AB'[case.place]}" if settings.against is not None else ""
        say(f"scaling: {case.layout.name}{where}, round {number + 1} of {settings.repeats}")
        return run(settings, case)

    with files_of(settings, found, say) as cases, Watch(max(x.cores for x in found)) as watch:
        answers = interleaved(cases, settings.repeats, once)
    same_bits([(c.survey.grid, [a.sha256 for a in given]) for c, given in zip(cases, answers, strict=True)])
    first = answers[: len(found)]
    table = totals(settings, found, first)
    if settings.against is not None:
        _beside(table, answers[len(found) :])
    return Result(
        "scaling",
        settings.to_dict() | {"what": "whole", "scaling": "weak" if settings.weak else "strong"},
        table,
        UNITS,
        watch.facts(),
        [*_notes(settings), *notes(found), *filter(None, [watch.text()])],
    )


def totals(
    settings: Settings, found: Sequence[Layout], answers: Sequence[Sequence[Answer]]
) -> list[dict[str, Any]]:
    """Return the rows of one directory: medians of the phases, scaling of the total and of the time steps."""
    surveys = [settings.survey_of(layout) for layout in found]
    keys = [
        key_of(layout, survey.grid) | {"shots": survey.shots}
        for layout, survey in zip(found, surveys, strict=True)
    ]
    return scaled(found, keys, answers, "point_steps", PHASES)


def scaled(
    found: Sequence[Layout],
    keys: Sequence[dict[str, Any]],
    answers: Sequence[Sequence[Any]],
    work: str,
    phases: Iterable[str],
) -> list[dict[str, Any]]:
    """Return a row for each layout: scaling of the total and of the kernel, medians of the phases.

    Parameters
    ----------
    found : sequence of Layout
        The layouts.
    keys : sequence of dict
        What a row begins with.
    answers : sequence of sequence of Answer
        Of each layout, by round; those of any method.
    work : str
        Attribute of an answer that counts its work, and its column.
    phases : iterable of str
        Columns of seconds; one of them is ``"kernel"``.
    """
    timed, kernels = [], []
    for layout, key, given in zip(found, keys, answers, strict=True):
        amount = float(getattr(given[0], work))
        timed.append(Timed(key, layout.cores, [a.total for a in given], amount, CLOCK, marks_of(layout)))
        kernels.append(Timed(key, layout.cores, [a.seconds("kernel") for a in given], amount, CLOCK))
    table = rows(timed)
    for row, kernel, given in zip(table, rows(kernels), answers, strict=True):
        row |= {name: summary([a.seconds(name) for a in given]).median for name in phases}
        row |= {"total": row["time"], work: getattr(given[0], work), "read": given[0].read}
        row |= {"kernel_speed_up": kernel["speed_up"], "kernel_efficiency": kernel["efficiency"]}
        row["kernel_share"] = summary([a.seconds("kernel") / a.total for a in given]).median
    add_rates(table, work, "kernel")
    return table


def _beside(table: Sequence[dict[str, Any]], answers: Sequence[Sequence[Answer]]) -> None:
    """Add the times of the second directory to the rows of the first."""
    for row, given in zip(table, answers, strict=True):
        row |= {f"{name}_b": summary([a.seconds(name) for a in given]).median for name in ("init", "traces")}
        row["total_b"] = summary([a.total for a in given]).median
        row["b_over_a"] = row["total_b"] / row["total"]


def _notes(settings: Settings) -> list[str]:
    out = [
        "total: from the start of the command to its end; init: start of the ranks, checks, model input; "
        "kernel: time steps of the slowest rank; read: bytes read by all ranks"
    ]
    out.append(
        "files may come from the page cache"
        if settings.cached
        else "before every run the page cache was asked to forget the files"
    )
    if settings.against is not None:
        out.append("A is --directory, B is --against")
    return out
