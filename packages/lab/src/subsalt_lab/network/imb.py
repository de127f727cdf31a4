"""The Intel MPI Benchmarks beside our own figures, where IMB-MPI1 is installed: a cross-check, not a result.

IMB sends all messages of a window from one buffer into one buffer, ours land in memory of their own: large messages
inside of a node are faster in IMB, which leaves them in a cache.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError
from subsalt.machine import launcher
from subsalt.report.table import Column
from subsalt_lab.network.imb_output import Line, read
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

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
    """What IMB-MPI1 is asked for.

    Parameters
    ----------
    ranks : int
        Of all benchmarks; those of two ranks use two.
    sizes : sequence of int
        Of ours; those from 1 on are asked of IMB too.
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
    found = shutil.which("IMB-MPI1")
    if found is None:
        raise DeviceError(
            "IMB-MPI1 (Intel MPI Benchmarks) is not on PATH",
            "put the folder of a built one, or of the impi-rt wheel's, on PATH, or leave --imb out",
            code="E956",
        )
    wants_openmpi = "libmpi.so.40" in launcher.answer(["ldd", found])
    if wants_openmpi != (mpi.family == "openmpi"):
        raise DeviceError(
            f"{found} is linked to {'Open MPI' if wants_openmpi else 'MPICH or Intel MPI'}, "
            f"and the MPI in use is {mpi.name}",
            "build IMB-MPI1 with the MPI in use, or leave --imb out",
            code="E956",
        )
    return Path(found)


def start(run: Run, mpi: MpiInUse) -> str:
    """Run IMB-MPI1 with the MPI in use, whichever it was linked to, and return what it printed."""
    folders = {"LD_LIBRARY_PATH": str(mpi.library.parent)}
    words = mpi.start(run.ranks, [str(executable(mpi)), *run.words()], folders)
    return launcher.run(words, what="IMB-MPI1", timeout=PATIENCE).stdout


def beside(rows: Iterable[Mapping[str, Any]], lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return a row for each case that both measured, with the ratio.

    Parameters
    ----------
    rows : iterable of mapping
        Ours.
    lines : iterable of Line
        Of IMB.
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
