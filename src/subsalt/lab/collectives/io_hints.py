"""Which hints make MPI-IO faster here? Whole programs that write and read one file, one per set of hints and round.

Every set of hints is given to its program in the way in which it would be used later: a file of hints for ROMIO (MPICH,
Intel MPI, and a component of Open MPI), variables for Open MPI's own OMPIO. What the library says its hints are is
recorded, not what was asked; hints that it does not take are not compared.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, DiskError, MissingInputError, SubsaltError
from subsalt.host import usable_cores
from subsalt.io.os_errors import free_bytes, human
from subsalt.io.publish import make_folder, publish_text
from subsalt.lab import launcher
from subsalt.lab.asked import wrong
from subsalt.lab.load import Watch
from subsalt.lab.mounts import mount_of
from subsalt.lab.pmpi.mpi_in_use import MpiInUse
from subsalt.lab.result import Result
from subsalt.lab.stats import Paired, holm, paired, t_test

#: as for collectives: the interval of default / candidate must lie above this
LEAST_RATIO = 1.05
LEVEL = 0.05
#: rounds that a verdict needs
ROUNDS, LEAST_ROUNDS = 10, 6
#: depth of the volume, and lines of a rank
NZ, LINES = 256, 16
#: smallest file that says something
LEAST_BYTES = 1 << 20
#: ways to cut the volume
PATTERNS = ("slabs", "columns")
#: files of hints, and the variable that names one
HINTS_FILE, HINTS_VARIABLE = "mpiio.hints", "ROMIO_HINTS"
#: file systems that spread a file over servers as hints ask
STRIPED = ("lustre", "panfs", "beegfs")
MIB = 1 << 20

Say = Callable[[str], None]


@dataclass(frozen=True)
class Hints:
    """One way to be compared.

    Parameters
    ----------
    name : str
        For people.
    hints : mapping of str to str
        For ROMIO, in a file.
    variables : mapping of str to str
        Of Open MPI, without the prefix.
    """

    name: str
    hints: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether the library is left alone."""
        return not self.hints and not self.variables

    def files(self) -> dict[str, str]:
        """Return texts of files by name."""
        return {HINTS_FILE: "".join(f"{k} {v}\n" for k, v in self.hints.items())} if self.hints else {}

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the variables for the ranks; files lie in a folder."""
        named = {HINTS_VARIABLE: str(folder / HINTS_FILE)} if self.hints else {}
        return named | {f"OMPI_MCA_{k}": v for k, v in self.variables.items()}


DEFAULT = Hints("default")


def candidates(family: str, ranks: int, file_system: str = "", version: str = "5") -> list[Hints]:
    """Return the sets of hints that are compared, the library's own first.

    Parameters
    ----------
    family : str
        Of the MPI.
    ranks : int
        Of the program: at most so many write.
    file_system : str
        Such as ``"ext4"``; hints of striping are for those that stripe.
    version : str
        Of the MPI: the component with ROMIO in it is called after ROMIO's version.
    """
    romio = [
        Hints("collective buffering on", {"romio_cb_write": "enable", "romio_cb_read": "enable"}),
        Hints("collective buffering off", {"romio_cb_write": "disable", "romio_cb_read": "disable"}),
        Hints("data sieving off", {"romio_ds_write": "disable", "romio_ds_read": "disable"}),
        Hints(
            "both off",
            {f"romio_{k}_{w}": "disable" for k in ("cb", "ds") for w in ("write", "read")},
        ),
        # all ranks of a node may write, not one of each
        *(
            Hints(
                f"{n} of {ranks} ranks write",
                {"romio_cb_write": "enable", "cb_config_list": "*:*", "cb_nodes": str(n)},
            )
            for n in sorted({max(1, ranks // 2), ranks})
        ),
        Hints("buffers of 1 MiB", {"romio_cb_write": "enable", "cb_buffer_size": str(MIB)}),
        Hints("buffers of 64 MiB", {"romio_cb_write": "enable", "cb_buffer_size": str(64 * MIB)}),
    ]
    if file_system in STRIPED:
        romio += [
            Hints(f"{n} stripes", {"striping_factor": str(n), "striping_unit": str(4 * MIB)}) for n in (4, 16)
        ]
    if family != "openmpi":
        return [DEFAULT, *romio]
    other = {"io": "romio321" if version.startswith("4.") else "romio341"}
    return [
        DEFAULT,
        *(Hints(f"fcoll {name}", {}, {"fcoll": name}) for name in ("vulcan", "dynamic_gen2", "individual")),
        *(
            Hints(f"{n} of {ranks} ranks write", {}, {"io_ompio_num_aggregators": str(n)})
            for n in sorted({1, ranks})
        ),
        Hints("buffers of 1 MiB", {}, {"io_ompio_bytes_per_agg": str(MIB)}),
        Hints("romio", {}, other),
        *(Hints(f"romio, {r.name}", r.hints, other) for r in romio[1:4]),
    ]


@dataclass(frozen=True)
class Request:
    """What is measured.

    Parameters
    ----------
    file : Path
        Its size is taken, and its folder; it is not touched.
    ranks : int
        Of the program.
    folder : Path
        Where hints are written.
    rounds : int
        Programs of each set of hints.
    patterns : sequence of str
        Of `PATTERNS`.
    oversubscribe : bool
        Measure also more ranks than cores; the result is marked, and never written.
    timeout : float
        Seconds that one program may take.
    seed : int
        Of the order.
    """

    file: Path
    ranks: int
    folder: Path
    rounds: int = ROUNDS
    patterns: Sequence[str] = PATTERNS
    oversubscribe: bool = False
    timeout: float = 300.0
    seed: int = 0


@dataclass(frozen=True)
class Compared:
    """A set of hints and what came of it.

    Parameters
    ----------
    hints : Hints
        What was asked.
    seconds : tuple of dict
        Of every round, by part.
    came_back : mapping of str to str
        What the library said of what was asked.
    paired : Paired or None
        Default against these hints.
    why : str
        Verdict in words.
    switch : bool
        Whether it is written.
    """

    hints: Hints
    seconds: tuple[Mapping[str, float], ...]
    came_back: Mapping[str, str]
    paired: Paired | None = None
    why: str = ""
    switch: bool = False

    @property
    def totals(self) -> list[float]:
        """Seconds of each round, all parts but subsalt's own."""
        return [sum(s for part, s in one.items() if not part.startswith("ours")) for one in self.seconds]


def shape_of(nbytes: int, ranks: int) -> tuple[int, int, int]:
    """Return a volume of about as many bytes that every pattern cuts evenly.

    Raises
    ------
    ConfigError
        When the file is too small to say something.
    """
    ny = LINES * ranks
    nx = nbytes // (4 * ny * NZ) // ranks * ranks
    if nbytes < LEAST_BYTES or not nx:
        least = max(LEAST_BYTES, 4 * ny * NZ * ranks)
        raise wrong(
            f"--io-hints: a file of {human(nbytes)} is too small for {ranks} ranks",
            f"name one of {human(least)} or more: one of the size that your program writes",
        )
    return nx, ny, NZ


def check(request: Request) -> tuple[int, int, int]:
    """Return the volume that is written, after what cannot be measured was refused.

    Raises
    ------
    MissingInputError, ConfigError, DiskError, DeviceError
        No such file; too small; no room beside it; more ranks than cores (E921).
    """
    if not request.file.is_file():
        raise MissingInputError(
            f"--io-hints {request.file}: no such file",
            "name a file of the size and in the folder that your program writes; it is not touched",
            code="E110",
        )
    if request.rounds < LEAST_ROUNDS:
        raise wrong(f"--rounds {request.rounds}: hints need {LEAST_ROUNDS}", f"use {LEAST_ROUNDS} or more")
    shape = shape_of(request.file.stat().st_size, request.ranks)
    need, have = math.prod(shape) * 4, free_bytes(request.file.parent)
    if need > have:
        raise DiskError(
            f"{request.file.parent} has {human(have)} free, a copy of {request.file.name} takes {human(need)}",
            "free some room, or name a smaller file",
            code="E620",
        )
    cores = usable_cores()
    if request.ranks > cores and not request.oversubscribe:
        raise DeviceError(
            f"{request.ranks} ranks on {cores} core{'s' * (cores != 1)} take turns: their times are no measurement",
            f"use --np {max(2, cores)} at most, or --oversubscribe-ok to see a result that is never written",
            code="E921",
        )
    return shape


def measure(
    mpi: MpiInUse, request: Request, *, say: Say = lambda text: None
) -> tuple[list[Compared], dict[str, Any], list[str]]:
    """Run every set of hints in every round, in an order drawn anew.

    Returns
    -------
    compared : list of Compared
        The library's own first; those that could not be compared say why.
    load : dict
        `Watch.facts`.
    notes : list of str
        What to know.
    """
    shape = check(request)
    found = candidates(mpi.family, request.ranks, mount_of(request.file).kind, mpi.version)
    left_out: list[Compared] = []
    kept: dict[str, list[dict[str, float]]] = {h.name: [] for h in found}
    back: dict[str, dict[str, str]] = {}
    order = random.Random(request.seed)
    with _beside(request.file) as scratch, Watch(min(request.ranks, usable_cores())) as watch:
        runner = _Runner(mpi, request, shape, scratch)
        for number in range(request.rounds + 1):
            for hints in order.sample(found, len(found)) if number else list(found):
                say(
                    f"hints: {hints.name}, "
                    + (f"round {number} of {request.rounds}" if number else "not timed")
                )
                try:
                    ran = runner.run(hints, ours=hints.is_default)
                except SubsaltError as error:
                    if hints.is_default or number:
                        raise
                    left_out.append(Compared(hints, (), {}, why=f"left out: {_short(error)}"))
                    found.remove(hints)
                    continue
                if ran["wrong"]:
                    raise _wrong_data(mpi, hints, ran["wrong"][0])
                if number:
                    kept[hints.name].append(ran["seconds"])
                    continue
                back[hints.name] = said(hints, ran)
                if not hints.is_default and (why := not_taken(hints, back[hints.name])):
                    left_out.append(Compared(hints, (), back[hints.name], why=why))
                    found.remove(hints)
    facts = dict(watch.facts())
    if request.ranks > usable_cores():
        facts["oversubscribed"] = facts["noisy"] = True
    done = [Compared(h, tuple(kept[h.name]), back[h.name]) for h in found]
    return decide(done) + left_out, facts, [watch.text()] if watch.text() else []


def said(hints: Hints, ran: Mapping[str, Any]) -> dict[str, str]:
    """Return what the library says of the hints and variables that were asked for."""
    told = {**ran["came_back"], **ran["variables"]}
    return {k: str(told[k]).strip() for k in (*hints.hints, *hints.variables) if k in told}


def not_taken(hints: Hints, came_back: Mapping[str, str]) -> str:
    """Return why hints are not compared, when the library did not take one of them."""
    for key, value in (*hints.hints.items(), *hints.variables.items()):
        if came_back.get(key) != value:
            return f"left out: {key} {value} was asked, {came_back.get(key, 'nothing')} came back"
    return ""


def decide(compared: Sequence[Compared]) -> list[Compared]:
    """Compare each set of hints with the library's own choice, by the rule that collectives have.

    Parameters
    ----------
    compared : sequence of Compared
        The library's own first, of as many rounds as the others.
    """
    default, others = compared[0], compared[1:]
    if not others:
        return [replace(default, why="nothing to compare with")]
    ratios = [[math.log(b / a) for b, a in zip(default.totals, c.totals, strict=True)] for c in others]
    chances = holm([t_test(r) for r in ratios])
    out = []
    for c, p in zip(others, chances, strict=True):
        pair = paired(default.totals, c.totals)
        sure = p <= LEVEL and pair.ratio_low > LEAST_RATIO
        why = (
            "faster"
            if sure
            else "slower"
            if pair.ratio_high < 1.0 and p <= LEVEL
            else "no significant difference"
        )
        out.append(replace(c, paired=pair, why=why))
    fast = [c for c in out if c.why == "faster"]
    best = min(fast, key=lambda c: statistics.median(c.totals), default=None)
    out = [replace(c, switch=True, why="switch") if c is best else c for c in out]
    return [replace(default, why="the library's own"), *out]


class _Runner:
    """Starts the programs of one measurement."""

    def __init__(self, mpi: MpiInUse, request: Request, shape: Sequence[int], scratch: Path) -> None:
        self.mpi, self.request, self.shape, self.scratch = mpi, request, shape, scratch

    def run(self, hints: Hints, *, ours: bool = False) -> dict[str, Any]:
        """Write and read once under some hints."""
        for name, text in hints.files().items():
            publish_text(self.scratch / name, text)
        return self.start(hints.environment(self.scratch), list(hints.variables), hints.name, ours=ours)

    def start(
        self, environment: Mapping[str, str], variables: Sequence[str], name: str, *, ours: bool = False
    ) -> dict[str, Any]:
        """Write and read once under some variables, and return what rank 0 prints."""
        path = self.scratch / "request.json"
        asked = {
            "file": str(self.scratch / "volume"),
            "shape": list(self.shape),
            "patterns": list(self.request.patterns),
            "ours": ours,
            "variables": list(variables),
        }
        publish_text(path, json.dumps(asked))
        program = [sys.executable, "-m", "subsalt.lab.collectives.io_hints_worker", str(path)]
        words = self.mpi.start(
            self.request.ranks,
            program,
            {"MPI4PY_LIBMPI": str(self.mpi.library), "OMP_NUM_THREADS": "1", **environment},
        )
        ran = launcher.run(words, what=f"MPI-IO with {name}", timeout=self.request.timeout)
        found: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
        return found


class _beside:
    """A folder beside a file, removed in the end with what is in it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> Path:
        self.folder = Path(tempfile.mkdtemp(prefix=".subsalt-io-hints-", dir=self.file.absolute().parent))
        return self.folder

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def write(mpi: MpiInUse, request: Request, chosen: Compared | None) -> tuple[dict[str, str], list[Path]]:
    """Write the hints that were chosen and show that programs get them; nothing of an earlier choice stays.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    request : Request
        What was measured.
    chosen : Compared, optional
        The hints; none: the library's own stay.

    Returns
    -------
    environment : dict of str to str
        Variables for the ranks.
    files : list of Path
        What they name.

    Raises
    ------
    DeviceError
        When the library does not take them from there (E945); then nothing stays.
    """
    folder = request.folder.absolute()
    make_folder(folder)
    (folder / HINTS_FILE).unlink(missing_ok=True)
    if chosen is None:
        return {}, []
    files = []
    for name, text in chosen.hints.files().items():
        publish_text(folder / name, text)
        files.append(folder / name)
    environment = chosen.hints.environment(folder)
    with _beside(request.file) as scratch:
        small = shape_of(max(LEAST_BYTES, 4 * NZ * LINES * request.ranks**2), request.ranks)
        ran = _Runner(mpi, request, small, scratch).start(
            environment, list(chosen.hints.variables), "the hints"
        )
    if why := not_taken(chosen.hints, said(chosen.hints, ran)):
        for file in files:
            file.unlink()
        raise DeviceError(
            f"{mpi.name} does not take the hints from {', '.join(environment)}: {why}",
            "nothing was written; look whether the ranks get the variables and see the folder",
            code="E945",
        )
    return environment, files


def _wrong_data(mpi: MpiInUse, hints: Hints, what: str) -> SubsaltError:
    return SubsaltError(
        f"MPI-IO of {mpi.name} with {hints.name} is wrong: {what}",
        "do not use these hints there; tell the makers of the MPI or of the file system",
        code="E946",
    )


def _short(error: SubsaltError) -> str:
    return error.message.partition(": ")[0]


def result_of(
    mpi: MpiInUse,
    request: Request,
    compared: Sequence[Compared],
    load: Mapping[str, Any],
    notes: Sequence[str],
) -> Result:
    """Return the record of a measurement."""
    shape = shape_of(request.file.stat().st_size, request.ranks)
    rows = []
    for c in compared:
        row: dict[str, Any] = {
            "hints": c.hints.name,
            "verdict": c.why,
            "asked": {**c.hints.hints, **c.hints.variables},
        }
        row["came_back"] = dict(c.came_back)
        row["samples"] = [dict(s) for s in c.seconds]
        if c.seconds:
            row["total"] = statistics.median(c.totals)
            row |= {part: statistics.median(s[part] for s in c.seconds) for part in c.seconds[0]}
        if c.paired is not None:
            p = c.paired
            row |= {"ratio": p.ratio, "ratio_low": p.ratio_low, "ratio_high": p.ratio_high, "p": p.p}
            row["interval"] = f"{p.ratio_low:.2f}-{p.ratio_high:.2f}"
        rows.append(row)
    settings = {
        "file": str(request.file),
        "file_system": mount_of(request.file).kind,
        "bytes": math.prod(shape) * 4,
        "shape": list(shape),
        "ranks": request.ranks,
        "rounds": request.rounds,
        "patterns": list(request.patterns),
        "mpi": mpi.name,
    }
    parts = [f"{way}_{pattern}" for pattern in request.patterns for way in ("write", "read")]
    units = dict.fromkeys(["total", "ours_write", *parts], "s, median, of the slowest rank")
    return Result("io-hints", settings, rows, units, load, notes)
