"""The Intel MPI Benchmarks beside our own figures, where IMB-MPI1 is installed: a cross-check, not a result.

IMB sends all messages of a window from one buffer into one buffer, ours land in memory of their own: large messages
inside of a node are faster in IMB, which leaves them in a cache.

What the Intel MPI Benchmarks print: tables of one benchmark each, by message size.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.machine import programs
from subsalt.report.table import Column
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: columns of a table: of what is timed, and of what counts bytes
TIMED = ["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"]
COUNTED = ["#bytes", "#repetitions", "Mbytes/sec", "Msg/sec"]
SPREAD = ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"]


@dataclass(frozen=True)
class ImbLine:
    """One line of a table.

    Parameters
    ----------
    benchmark : str
        Such as ``"PingPong"``.
    ranks : int
        That take part.
    nbytes : int
        Bytes of a message.
    seconds : float, optional
        Seconds of one call; of PingPong half a round trip, of operations of all ranks that of the slowest.
    rate : float, optional
        Bytes per second; of Uniband and Biband those of all messages.
    """

    benchmark: str
    ranks: int
    nbytes: int
    seconds: float | None
    rate: float | None


def read(text: str) -> list[ImbLine]:
    """Return the lines of all tables; a size that ran out of time ends its table.

    Parameters
    ----------
    text : str
        Output of IMB-MPI1.

    Raises
    ------
    SubsaltError
        When it is no output of IMB-MPI1, has columns that are not known, or is cut off (E957).
    """
    if "Intel(R) MPI Benchmarks" not in text:
        raise _unusable("its first lines do not name the Intel(R) MPI Benchmarks")
    lines: list[ImbLine] = []
    benchmark, ranks = "", 0
    columns: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if begin := re.match(r"# Benchmarking (\w+)", line):
            benchmark, ranks, columns = begin[1], 0, []
        elif count := re.match(r"# #processes = (\d+)", line):
            ranks = int(count[1])
        elif words[:1] == ["#bytes"]:
            columns = words
            if columns not in (TIMED, COUNTED, SPREAD):
                raise _unusable(f"{benchmark} has columns {' '.join(columns)}")
        elif columns and words and words[0].isdecimal():
            if "time-out" in line:
                columns = []
                continue
            lines.append(_line(benchmark, ranks, columns, words))
    if not lines:
        raise _unusable("it has no figures")
    if "# All processes entering MPI_Finalize" not in text:
        raise _unusable("it is cut off")
    return lines


def _line(benchmark: str, ranks: int, columns: list[str], words: list[str]) -> ImbLine:
    try:
        if len(words) != len(columns) or not ranks:
            raise ValueError
        nbytes = int(words[0])
        value = {c: float(w) for c, w in zip(columns[2:], words[2:], strict=True)}
    except ValueError:
        raise _unusable(f"{benchmark} has the line {' '.join(words)!r}") from None
    micro = value.get("t_max[usec]", value.get("t[usec]"))
    rate = value.get("Mbytes/sec")
    return ImbLine(
        benchmark,
        ranks,
        nbytes,
        None if micro is None else micro * 1e-6,
        # 10^6 bytes since IMB 2018
        rate * 1e6 if rate else None,
    )


def _unusable(why: str) -> SubsaltError:
    return SubsaltError(
        f"the output of IMB-MPI1 cannot be used: {why}",
        "use IMB-MPI1 of 2018 or later, and let it come to its end",
        code="E957",
    )


#: IMB's benchmark -> what ours is called, and IMB's figure over the unit of ours
NAMES = {
    "PingPong": "latency",
    "Uniband": "stream",
    "Biband": "bidirectional",
    "Alltoall": "alltoall",
    "Allreduce": "allreduce",
    "Reduce": "reduce",
}
#: seconds of a benchmark
PATIENCE = 3600.0

COLUMNS = [
    Column("of", "what"),
    Column("ranks", "ranks", "d"),
    Column("bytes", "bytes", "d"),
    Column("ours", "ours", ".4g"),
    Column("imb", "IMB", ".4g"),
    Column("unit", "unit"),
    Column("ratio", "ours / IMB", ".2f"),
]
HEADING = "Cross-check by the Intel MPI Benchmarks"


@dataclass(frozen=True)
class Run:
    """A run of IMB-MPI1: ranks and sizes.

    Parameters
    ----------
    ranks : int
        Ranks of all benchmarks; those of two ranks use two.
    sizes : sequence of int
        Sizes of our own messages; those from 1 on are measured by IMB, too.
    threads : str
        ``"multiple"`` or ``"single"``, as ours.
    seconds : float
        IMB spends on one size at most.
    """

    ranks: int
    sizes: tuple[int, ...]
    threads: str = "multiple"
    seconds: float = 2.0

    def words(self) -> list[str]:
        """Return the arguments, sizes as a range of powers of two: IMB reads lists of sizes from files only."""
        top = max(max(self.sizes).bit_length() - 1, 0)
        bottom = max(min((s for s in self.sizes if s), default=1).bit_length() - 1, 0)
        # -npmin: no second run with fewer ranks
        limits = [
            "-npmin",
            str(self.ranks),
            "-time",
            f"{self.seconds:g}",
            "-msglog",
            f"{bottom}:{max(top, 1)}",
        ]
        return [*limits, "-thread_level", self.threads, *NAMES]


def executable(mpi: MpiInUse) -> Path:
    """Return IMB-MPI1 on PATH, when it can run with an MPI.

    Raises
    ------
    DeviceError
        When there is none, or it is linked to another kind of MPI (E956).
    """
    program = shutil.which("IMB-MPI1")
    if program is None:
        raise DeviceError(
            "IMB-MPI1 (Intel MPI Benchmarks) is not on PATH",
            "put the folder of a built one, or of the impi-rt wheel's, on PATH, or leave --imb out",
            code="E956",
        )
    wants_openmpi = "libmpi.so.40" in programs.answer(["ldd", program])
    if wants_openmpi != (mpi.family == "openmpi"):
        raise DeviceError(
            f"{program} is linked to {'Open MPI' if wants_openmpi else 'MPICH or Intel MPI'}, "
            f"and the MPI in use is {mpi.name}",
            "build IMB-MPI1 with the MPI in use, or leave --imb out",
            code="E956",
        )
    return Path(program)


def start(run: Run, mpi: MpiInUse) -> str:
    """Run IMB-MPI1 with the MPI in use, whichever it was linked to, and return what it printed."""
    folders = {"LD_LIBRARY_PATH": str(mpi.library.parent)}
    words = mpi.start(run.ranks, [str(executable(mpi)), *run.words()], folders)
    return programs.run(words, what="IMB-MPI1", timeout=PATIENCE).stdout


def beside(rows: Iterable[Mapping[str, Any]], lines: Iterable[ImbLine]) -> list[dict[str, Any]]:
    """Return a row for each case that both measured, with the ratio.

    Parameters
    ----------
    rows : iterable of mapping
        Ours.
    lines : iterable of ImbLine
        Lines of the output of IMB.
    """
    ours = {(r["what"], r["ranks"], r["bytes"]): r for r in rows if "value" in r}
    out = []
    for line in lines:
        mine = ours.get((NAMES.get(line.benchmark), line.ranks, line.nbytes))
        theirs = line.seconds
        if mine is not None and mine["unit"] == "GB/s":
            theirs = None if line.rate is None else line.rate / 1e9
        if mine is None or not theirs:
            continue
        scale, unit = (1e6, "us") if mine["unit"] == "s" else (1.0, mine["unit"])
        out.append(
            {
                "what": "imb",
                "of": mine["what"],
                "ranks": line.ranks,
                "bytes": line.nbytes,
                "ours": mine["value"] * scale,
                "imb": theirs * scale,
                "unit": unit,
                "ratio": mine["value"] / theirs,
            }
        )
    return out


def check(rows: Iterable[Mapping[str, Any]], run: Run, mpi: MpiInUse) -> list[dict[str, Any]]:
    """Run IMB-MPI1 and return the rows of both."""
    return beside(rows, read(start(run, mpi)))
