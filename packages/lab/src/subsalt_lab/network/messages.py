"""Messages between ranks: start them, let `net.c` measure, and make rows of what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import DeviceError, MemoryPlanError, SubsaltError
from subsalt.host import machine_facts
from subsalt.machine import programs
from subsalt_lab.compiled import compiled
from subsalt_lab.launch_line import kind_of
from subsalt_lab.network import rows as make
from subsalt_lab.network.lines import MessageTimes, Rank, name_of, read
from subsalt_lab.network.places import choose, oversubscribed
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Say

#: exit code of the program when what arrived is not what was sent, or a sum is wrong
WRONG = 97
#: the program
SOURCE = Path(__file__).with_name("net.c")
#: part of the memory of a node that the messages of its ranks may take
SHARE = 0.5
#: seconds that one start may take
PATIENCE = 7200.0

#: starts the program on so many ranks with these arguments; returns what it printed
Start = Callable[[int, Sequence[str]], str]


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    ranks : sequence of int
        Each is a start of its own.
    sizes : sequence of int
        Bytes of messages, ascending.
    launcher : str, optional
        As `launcher.Launcher.find`.
    library : Path, optional
        The libmpi that is measured; the one that MPI for Python loads when left out.
    blocks : int
        Samples of each case.
    microseconds : int
        Length of a block at least.
    seconds : float
        Time limit of all blocks of one case, s; slower ones have three blocks, and larger messages are left out.
    threads : str
        ``"multiple"``, as subsalt and MPI for Python start MPI, or ``"single"``.
    """

    ranks: Sequence[int]
    sizes: Sequence[int]
    launcher: str | None = None
    library: Path | None = None
    blocks: int = 15
    microseconds: int = 2000
    seconds: float = 1.0
    threads: str = "multiple"


def program(mpi: MpiInUse) -> Path:
    """Return the measuring program for an MPI, compiled if need be.

    Raises
    ------
    DeviceError
        When there is no compiler for it (E952), or it fails (E950).
    """
    if mpi.compiler is None:
        raise DeviceError(
            f"no compiler of {mpi.name} was found: the program that measures is C",
            "install a C compiler and the mpicc of that MPI (Debian: gcc, with libmpich-dev or libopenmpi-dev), "
            "and put it on PATH",
            code="E952",
        )
    header = mpi.include / "mpi.h" if mpi.include is not None else None
    text = header.read_text(errors="replace") if header is not None and header.exists() else ""
    return compiled("net", [SOURCE], [str(mpi.compiler)], made_from=text)


def fits_launcher(mpi: MpiInUse) -> None:
    """Refuse a launcher of another MPI: its ranks would not see each other.

    Raises
    ------
    DeviceError
        When the launcher is known, and known to belong to another MPI (E782).
    """
    kind = kind_of(mpi.launcher.words[0]) if mpi.launcher.words else "none"
    if kind in ("hydra", "openmpi") and (kind == "openmpi") != (mpi.family == "openmpi"):
        whose = "Open MPI" if kind == "openmpi" else "MPICH or Intel MPI"
        raise DeviceError(
            f"{mpi.launcher.name} starts ranks of {whose}, and the MPI in use is {mpi.name}",
            "name a launcher of that MPI with --launcher, or the library of this one with --mpi /path/to/libmpi.so",
            code="E782",
        )


def explained(error: SubsaltError, what: str) -> SubsaltError:
    """Return E710 in place of the error of a program that found a wrong answer, other errors as they are.

    Parameters
    ----------
    error : SubsaltError
        Error of `programs.run`.
    what : str
        Name of the measurement.
    """
    # launchers say more after it, so that it may be missing in the last lines, or leave with the code of another rank
    said = re.search(r"net: ((?:what arrived|a sum)[^|]+)", error.message)
    if not said and not re.search(rf"exit code {WRONG}\b", error.message):
        return error
    wrong = said[1].strip() if said else "what arrived is not what was sent, or a sum is wrong"
    return SubsaltError(
        f"{what}: {wrong}; no figure is given",
        "let the network, its driver and this MPI be looked at; try --launcher with another transport",
        code="E710",
    )


def starts(settings: Settings) -> tuple[MpiInUse, Start]:
    """Return the MPI in use, and what starts the program on ranks of it."""
    mpi = MpiInUse.find(settings.launcher, library=settings.library)
    fits_launcher(mpi)
    path = program(mpi)

    def start(ranks: int, words: Sequence[str]) -> str:
        command = mpi.start(ranks, [str(path), *words])
        what = f"messages between {ranks} ranks"
        try:
            return programs.run(command, what=what, timeout=PATIENCE).stdout
        except SubsaltError as error:
            raise explained(error, what) from None

    return mpi, start


@dataclass(frozen=True)
class Messages:
    """Results of the measurement.

    Parameters
    ----------
    rows : list of dict
        Rows of messages between two ranks, of operations of all ranks, and of lines through the times.
    notes : list of str
        Notes for the reader of the figures.
    mpi : str
        Such as ``"MPICH 5.0.2"``.
    """

    rows: list[make.Row]
    notes: list[str]
    mpi: str


def messages(settings: Settings, start: Start, say: Say, measured: list[make.Row] | None = None) -> Messages:
    """Measure messages between two ranks and among all.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    start : callable
        Function that starts a program, of `starts`.
    say : callable
        Callback for progress text.
    measured : list, optional
        List that gets the rows as they come, so that they remain after a stop.

    Raises
    ------
    SubsaltError
        When the ranks cannot be started, do not see each other, or receive something else than was sent.
    """
    rows: list[make.Row] = [] if measured is None else measured
    notes: list[str] = []
    known: set[tuple[str, int]] = set()
    mpi = ""
    for ranks in settings.ranks:
        say(f"network: {ranks} ranks")
        there = read(start(ranks, [f"threads={settings.threads}"]), ranks)
        taking_turns = oversubscribed(there.ranks)
        _fits(settings, there.ranks)
        sets = [p for p in choose(there.ranks) if (p.where, p.ranks) not in known]
        known |= {(p.where, p.ranks) for p in sets}
        answer = read(start(ranks, _words(settings, [p.text() for p in sets])), ranks)
        if [r.host for r in answer.ranks] != [r.host for r in there.ranks]:
            raise DeviceError(
                "the launcher put the ranks on other nodes the second time",
                "let --launcher name the hosts",
                code="E953",
            )
        mpi = name_of(answer.mpi)
        more = {"mpi": mpi.rpartition(" ")[0] or mpi, "threads": answer.level, "oversubscribed": taking_turns}
        rows += make.between_two(answer, sets, **more) + make.among_all(answer, **more)
        notes += _notes(answer, ranks, taking_turns)
    return Messages(rows + make.fits(rows), notes, mpi)


def _words(settings: Settings, pairs: Iterable[str]) -> list[str]:
    """Return the arguments of the program."""
    return [
        "sizes=" + ",".join(map(str, settings.sizes)),
        "tests=latency,stream,both",
        "collectives=" + ",".join(make.COLLECTIVES),
        f"blocks={settings.blocks}",
        f"microseconds={settings.microseconds}",
        f"seconds={settings.seconds:g}",
        f"threads={settings.threads}",
        *(f"pairs={p}" for p in pairs),
    ]


def _fits(settings: Settings, ranks: Sequence[Rank]) -> None:
    """Refuse messages for which the memory of a node is too small; other nodes count as like this one."""
    together = max([r.host for r in ranks].count(r.host) for r in ranks)
    need = together * max(settings.sizes) * (max(make.WINDOW, len(ranks)) + len(ranks))
    memory = machine_facts()["ram_bytes"]
    if need > SHARE * memory:
        raise MemoryPlanError(
            f"{together} ranks of a node with {make.WINDOW} messages of {max(settings.sizes)} bytes in flight take "
            f"{need / 1e9:.1f} of its {memory / 1e9:.1f} GB",
            "measure smaller messages, such as --sizes 0:256K",
            code="E612",
        )


def _notes(answer: MessageTimes, ranks: int, taking_turns: bool) -> list[str]:
    """Return what a reader of the figures of one start must know."""
    out = []
    if taking_turns:
        out.append(f"oversubscribed: {ranks} ranks shared cores; such rows are never used for a plan")
    for _, test, nbytes in answer.left:
        out.append(f"{ranks} ranks, {test}: nothing from {nbytes} bytes on, for a call takes too long")
    return out
