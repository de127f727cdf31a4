"""Does a command gain by something: runs of it with and without, interleaved, their outputs compared.

Both ways are run once before, not timed; then every round runs both, in a new random order, so that what the machine
does to one it does to the other. The answer is a saving with its interval: "no significant change" is one.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import usable_cores
from subsalt.machine import programs, stats
from subsalt.machine.load import Watch
from subsalt.machine.stats import Paired
from subsalt_lab.external import printed_time
from subsalt_lab.option_values import wrong
from subsalt_lab.outputs import FOLDER, STDOUT, Difference, Outputs
from subsalt_lab.result import Say

#: rounds that an interval of a median can be drawn from
FEWEST = 5
#: a run is taken to hang after this many times the seconds of the first one
PATIENCE = 10.0
#: and never before this many seconds
LEAST_PATIENCE = 20.0


@dataclass(frozen=True)
class TrialCommand:
    """One of the two ways in which the command is run.

    Parameters
    ----------
    name : str
        How messages call it, such as ``"with all barriers"``.
    words : sequence of str
        The whole launch line. ``{folder}`` stands for a folder of each run's own.
    environment : mapping of str to str
        Variables of the launcher itself, beside those of this process.
    """

    name: str
    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def in_folder(self, folder: Path) -> list[str]:
        """Return the launch line of a run."""
        return [w.replace(FOLDER, str(folder)) for w in self.words]


@dataclass(frozen=True)
class Settings:
    """How the two ways are compared.

    Parameters
    ----------
    rounds : int
        Timed runs of each.
    outputs : Outputs
        Output that is compared.
    ranks : int, optional
        Ranks that the command starts; known to be too many, the times say nothing.
    time_from : str, optional
        Regular expression whose group is the time in what the program prints; from start to end when left out.
    timeout : float, optional
        Seconds after which a run is ended; `PATIENCE` times the first one when left out.
    goes_on : bool
        Time the ways even when their outputs differ.
    oversubscribed_ok : bool
        Run more ranks than cores too; what comes of it is never a saving.
    seed : int
        Seed of the order in the rounds.
    """

    rounds: int = 10
    outputs: Outputs = field(default_factory=Outputs)
    ranks: int | None = None
    time_from: str | None = None
    timeout: float | None = None
    goes_on: bool = False
    oversubscribed_ok: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Trials:
    """Results of the runs with and without a change.

    Parameters
    ----------
    seconds_a, seconds_b : tuple of float
        Seconds of each round; empty when the outputs differed and the times were not taken.
    differences : tuple of Difference
        How outputs of B differ from those of A; empty: the same.
    compared : tuple of str
        Names of the outputs; empty when the program printed nothing.
    paired : Paired, optional
        The saving of B over A; none without times.
    oversubscribed : bool
        There were more ranks than cores: the times are no measurement.
    load : mapping
        `Watch.facts` of the rounds.
    """

    seconds_a: tuple[float, ...]
    seconds_b: tuple[float, ...]
    differences: tuple[Difference, ...]
    compared: tuple[str, ...]
    paired: Paired | None
    oversubscribed: bool
    load: Mapping[str, Any]

    @property
    def identical(self) -> bool:
        """Whether every run of B left what A left."""
        return not self.differences

    @property
    def verdict(self) -> str:
        """Verdict: saving, loss, no significant change, oversubscribed, different outputs, not timed."""
        if self.paired is None:
            return "different outputs" if self.differences else "not timed"
        if self.oversubscribed:
            return "oversubscribed"
        if not self.paired.significant:
            return "no significant change"
        return "saving" if self.paired.low > 0 else "loss"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "seconds_a": list(self.seconds_a),
            "seconds_b": list(self.seconds_b),
            "identical": self.identical,
            "differences": [asdict(d) for d in self.differences],
            "compared": list(self.compared),
            "paired": None if self.paired is None else asdict(self.paired),
            "oversubscribed": self.oversubscribed,
            "verdict": self.verdict,
            "load": dict(self.load),
        }


def trials(
    a: TrialCommand,
    b: TrialCommand,
    settings: Settings,
    *,
    after: Callable[[str, programs.Ran], None] | None = None,
    run: Callable[..., programs.Ran] = programs.run,
    say: Say = lambda text: None,
) -> Trials:
    """Run a command in two ways, interleaved, and compare times and outputs.

    Parameters
    ----------
    a, b : TrialCommand
        The command as it is, and changed.
    settings : Settings
        Rounds, outputs, limits.
    after : callable, optional
        Callback after every timed run: "a" or "b", and what it printed.
    run : callable
        As `programs.run`.
    say : callable
        Callback for progress text.

    Raises
    ------
    SubsaltError
        Too few rounds or too many ranks (E921); outputs that differ between two runs of A (E922); a run of B that
        fails or hangs while A does not (E923).
    """
    crowded = _crowded(settings)
    with tempfile.TemporaryDirectory(prefix="subsalt-trials-") as name:
        bench = _Bench(Path(name), settings, run)
        say(f"trial: {a.name}, not timed")
        bench.reference(a)
        say(f"trial: {b.name}, not timed")
        differences = bench.changed(a, b)
        seconds: dict[str, list[float]] = {"a": [], "b": []}
        order = random.Random(settings.seed)
        rounds = 0 if differences and not settings.goes_on else settings.rounds
        with Watch(min(settings.ranks or 1, usable_cores())) as watch:
            for number in range(rounds):
                for key, way in order.sample([("a", a), ("b", b)], 2):
                    say(f"trial: {way.name}, round {number + 1} of {rounds}")
                    ran, took, differing = bench.once(way, is_changed=key == "b")
                    if differing and key == "a":
                        raise _unsteady(differing[0])
                    differences = differences or differing
                    seconds[key].append(took)
                    if after is not None:
                        after(key, ran)
        return Trials(
            tuple(seconds["a"]),
            tuple(seconds["b"]),
            tuple(differences),
            # a program that prints nothing was compared in nothing
            tuple(
                name for name, file in bench.reference_files.items() if name != STDOUT or file.stat().st_size
            ),
            stats.paired(seconds["a"], seconds["b"]) if rounds else None,
            crowded,
            watch.facts(),
        )


class _Bench:
    """The runs of one comparison: their folders, the outputs of the first one, and how long they may take."""

    def __init__(self, folder: Path, settings: Settings, run: Callable[..., programs.Ran]) -> None:
        self.folder, self.settings, self.run = folder, settings, run
        self.reference_files: dict[str, Path] = {}
        self.timeout = settings.timeout
        self.runs = 0

    def reference(self, way: TrialCommand) -> None:
        """Run the first time and keep the outputs."""
        with self._place() as place:
            before = self.settings.outputs.stamps(place)
            ran = self._start(way, place)
            self.reference_files = self.settings.outputs.keep(ran.stdout, before, place, self.folder / "kept")
        if self.timeout is None:
            self.timeout = max(LEAST_PATIENCE, PATIENCE * ran.seconds)

    def changed(self, a: TrialCommand, b: TrialCommand) -> list[Difference]:
        """Run B once and return how its outputs differ; what differs must not differ between runs of A."""
        differing = self.once(b, is_changed=True)[2]
        if differing and (own := self.once(a, is_changed=False)[2]):
            raise _unsteady(own[0])
        return differing

    def once(self, way: TrialCommand, is_changed: bool) -> tuple[programs.Ran, float, list[Difference]]:
        """Run a way; return what it printed, its seconds, and the differences from the first run."""
        with self._place() as place:
            before = self.settings.outputs.stamps(place)
            try:
                ran = self._start(way, place)
            except SubsaltError as error:
                raise _broken(error) if is_changed and error.code == "E781" else error from None
            differing = self.settings.outputs.differences(self.reference_files, ran.stdout, before, place)
        if self.settings.time_from is None:
            return ran, ran.seconds, differing
        return ran, printed_time(ran.stdout + "\n" + ran.stderr, self.settings.time_from)[0], differing

    def _start(self, way: TrialCommand, place: Path) -> programs.Ran:
        return self.run(
            way.in_folder(place),
            what=f"the run {way.name}",
            extra=way.environment,
            timeout=self.timeout,
        )

    @contextmanager
    def _place(self) -> Iterator[Path]:
        """Make the folder of one run, and remove it with what is in it."""
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as name:
            yield Path(name)


def _crowded(settings: Settings) -> bool:
    """Return whether there are more ranks than cores, after what cannot be compared was refused."""
    if settings.rounds < FEWEST:
        raise wrong(
            f"--rounds {settings.rounds}: an interval of the saving needs {FEWEST} at least",
            f"use {FEWEST} or more; 10 is the default",
        )
    cores = usable_cores()
    if settings.ranks is None or settings.ranks <= cores:
        return False
    if settings.oversubscribed_ok:
        return True
    error = DeviceError(
        f"{settings.ranks} ranks on {cores} core{'s' * (cores != 1)} take turns: their times are no measurement",
        f"use {cores} ranks at most, or --oversubscribe-ok to see a result that is never applied",
        code="E921",
    )
    raise error


def _unsteady(difference: Difference) -> SubsaltError:
    return SubsaltError(
        f"two runs of the unchanged program differ: {difference}",
        "name files that are the same every time with --outputs, or what to leave out of the output with --ignore",
        code="E922",
    )


def _broken(error: SubsaltError) -> SubsaltError:
    changed = SubsaltError(
        error.message, "the program needs what was changed: leave it as it is", code="E923"
    )
    changed.exit_code = 70
    return changed
