"""Sets of hints for MPI-IO that are worth comparing, and the programs that write and read a file under each of them.

ROMIO (MPICH, Intel MPI, and a component of Open MPI) reads hints from a file that a variable names; Open MPI's own
OMPIO takes variables.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, DiskError, MissingInputError
from subsalt.host import human, usable_cores
from subsalt.io.publish import explain_os_error, free_bytes, publish_text
from subsalt.machine import programs
from subsalt_lab.option_values import wrong
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: rounds that a verdict needs
ROUNDS, LEAST_ROUNDS = 10, 6
#: depth of the volume, and lines of a rank
NZ, LINES = 256, 16
#: smallest file that says something
LEAST_BYTES = 1 << 20
#: ways to cut the volume
PATTERNS = ("slabs", "columns")


@dataclass(frozen=True)
class HintRequest:
    """The measurement to run.

    Parameters
    ----------
    file : Path
        Its size is taken, and its folder; it is not touched.
    ranks : int
        Ranks of the program.
    folder : Path
        Where hints are written.
    rounds : int
        Programs of each set of hints.
    patterns : sequence of str
        Patterns to measure, out of `PATTERNS`.
    oversubscribe : bool
        Measure also more ranks than cores; the result is marked, and never written.
    timeout : float
        Seconds that one program may take.
    seed : int
        Seed of the random order.
    """

    file: Path
    ranks: int
    folder: Path
    rounds: int = ROUNDS
    patterns: Sequence[str] = PATTERNS
    oversubscribe: bool = False
    timeout: float = 300.0
    seed: int = 0


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


def check(request: HintRequest) -> tuple[int, int, int]:
    """Return the volume that is written, after what cannot be measured was refused.

    Raises
    ------
    MissingInputError, ConfigError, DiskError, DeviceError
        No such file; too small; no space next to it; more ranks than cores (E921).
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


class Programs:
    """Starts the programs of one measurement."""

    def __init__(self, mpi: MpiInUse, request: HintRequest, shape: Sequence[int], scratch: Path) -> None:
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
        request = {
            "file": str(self.scratch / "volume"),
            "shape": list(self.shape),
            "patterns": list(self.request.patterns),
            "ours": ours,
            "variables": list(variables),
        }
        publish_text(path, json.dumps(request))
        program = [sys.executable, "-m", "subsalt_lab.collectives.io_hints_worker", str(path)]
        words = self.mpi.start(
            self.request.ranks,
            program,
            {"MPI4PY_LIBMPI": str(self.mpi.library), "OMP_NUM_THREADS": "1", **environment},
        )
        ran = programs.run(words, what=f"MPI-IO with {name}", timeout=self.request.timeout)
        answer: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
        return answer


@contextmanager
def beside(file: Path) -> Iterator[Path]:
    """Make a folder beside a file, and remove it in the end with what is in it."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".subsalt-io-hints-", dir=file.absolute().parent))
    except OSError as error:
        raise explain_os_error(error, file.absolute().parent) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def said(hints: Hints, ran: Mapping[str, Any]) -> dict[str, str]:
    """Return what the library says of the hints and variables that were asked for."""
    answers = {**ran["came_back"], **ran["variables"]}
    return {k: str(answers[k]).strip() for k in (*hints.hints, *hints.variables) if k in answers}


def not_taken(hints: Hints, came_back: Mapping[str, str]) -> str:
    """Return why hints are not compared, when the library did not take one of them."""
    for key, value in (*hints.hints.items(), *hints.variables.items()):
        if came_back.get(key) != value:
            return f"left out: {key} {value} was asked, {came_back.get(key, 'nothing')} came back"
    return ""


#: file of hints, and the variable that names it
HINTS_FILE, HINTS_VARIABLE = "mpiio.hints", "ROMIO_HINTS"
#: file systems that spread a file over servers as hints ask
STRIPED = ("lustre", "panfs", "beegfs")
MIB = 1 << 20


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
        Variables of Open MPI, without the prefix.
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
        Family of the MPI.
    ranks : int
        Ranks of the program: at most so many write.
    file_system : str
        Such as ``"ext4"``; hints of striping are for those that stripe.
    version : str
        Version of the MPI: the component with ROMIO in it is named after ROMIO's version.
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
