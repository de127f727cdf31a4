"""HPC Challenge, where `hpcc` is installed: HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT, latency and bandwidth.

hpcc measures the MPI that it was linked with: Debian's runs under Debian's Open MPI, not under the MPI of this
environment. It works in a temporary folder, of which nothing stays.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import cache_bytes, machine_facts, usable_cores
from subsalt.io.publish import publish_text
from subsalt.machine import launcher
from subsalt.report.table import Column
from subsalt_lab.memory import USUAL_CACHE
from subsalt_lab.network import hpcc_input, hpcc_output
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: seconds that it may take
PATIENCE = 4 * 3600.0
#: ranks are the parallel part: a threaded BLAS would start as many threads on every rank
THREADS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
}

COLUMNS = [
    Column("test", "test"),
    Column("who", "ranks"),
    Column("value", "", ".4g"),
    Column("unit", "unit"),
    Column("note", ""),
]
HEADING = "HPC Challenge"

#: starts hpcc in a folder; returns when it has ended
Start = Callable[[Path], None]


@dataclass(frozen=True)
class HpccResult:
    """What HPC Challenge gave.

    Parameters
    ----------
    rows : list of dict
        As of `hpcc_output.rows`.
    notes : list of str
        What a reader must know.
    dgemm : float or None
        GFLOP/s of all ranks multiplying matrices at the same time.
    """

    rows: list[dict[str, Any]]
    notes: list[str]
    dgemm: float | None


def executable() -> Path:
    """Return hpcc on PATH.

    Raises
    ------
    DeviceError
        When there is none (E954).
    """
    found = shutil.which("hpcc")
    if found is None:
        raise DeviceError(
            "hpcc (HPC Challenge) is not on PATH",
            "install it, on Debian with apt install hpcc libopenblas0-pthread, or leave --hpcc out",
            code="E954",
        )
    return Path(found)


def blas_of(program: Path) -> tuple[str, bool]:
    """Return the BLAS that a program loads, in words, and whether it is the slow reference."""
    for line in launcher.answer(["ldd", str(program)]).splitlines():
        name, _, rest = line.strip().partition(" => ")
        if "blas" in name.lower() or "mkl" in name.lower():
            file = Path(rest.split(" (")[0]).resolve()
            # /usr/lib/TRIPLET/openblas-pthread/libblas.so.3, /usr/lib/TRIPLET/blas/libblas.so.3.11.0
            kind = file.parent.name if file.name.startswith("libblas") else file.name
            return f"{kind} ({file.name})", kind == "blas"
    return "its own, or one inside of it", False


def memory_of(part: float) -> float:
    """Return the bytes that are a part of the memory of this node."""
    return part * float(machine_facts()["ram_bytes"])


def measure(
    part: float,
    ranks: int | None = None,
    *,
    say: Callable[[str], None] = lambda text: None,
    start: Start | None = None,
    cache: int | None = None,
) -> HpccResult:
    """Run HPC Challenge on this node.

    Parameters
    ----------
    part : float
        Of the memory, for the matrix of HPL.
    ranks : int, optional
        As many as cores when left out.
    say : callable
        Told what happens.
    start : callable, optional
        In place of hpcc.
    cache : int, optional
        Bytes of the last-level cache, in place of what the system says.

    Raises
    ------
    SubsaltError
        When there is no hpcc (E954), it fails (E781), what it wrote cannot be read (E955), or is wrong (E710).
    """
    ranks = ranks or usable_cores()
    notes: list[str] = []
    if start is None:
        start, notes = starts(ranks)
    n = hpcc_input.order(memory_of(part))
    say(f"network: HPC Challenge, {ranks} ranks, matrix of {n} x {n}; from a minute to an hour")
    with tempfile.TemporaryDirectory(prefix="subsalt-hpcc-") as made:
        folder = Path(made)
        publish_text(folder / "hpccinf.txt", hpcc_input.text(n, ranks))
        start(folder)
        file = folder / "hpccoutf.txt"
        if not file.exists():
            raise launcher.failed("hpcc wrote no hpccoutf.txt", "")
        summary = hpcc_output.summary(file.read_text(errors="replace"))
    hpcc_output.check(summary)
    cache = cache or max(cache_bytes().values(), default=USUAL_CACHE)
    rows = hpcc_output.rows(summary, cache)
    each = next(r["value"] for r in rows if r["test"] == "DGEMM" and r["who"] == "each")
    return HpccResult(
        rows,
        [*hpcc_output.notes(summary, cache), *notes],
        each * ranks if math.isfinite(each) and each > 0 else None,
    )


def starts(ranks: int) -> tuple[Start, list[str]]:
    """Return what starts hpcc on some ranks, and what must be said of its libraries.

    Raises
    ------
    DeviceError
        When there is no hpcc (E954), or nothing that starts ranks of its MPI.
    """
    program = executable()
    mpi = MpiInUse.find(program=program)
    blas, is_reference = blas_of(program)
    notes = [f"hpcc: {mpi.name}, BLAS {blas}"]
    if is_reference:
        notes.append(
            "hpcc: this is the reference BLAS, several times slower than a tuned one: install libopenblas0-pthread, or "
            "choose one with update-alternatives --config libblas.so.3-x86_64-linux-gnu"
        )

    def start(folder: Path) -> None:
        words = mpi.start(ranks, [str(program)], THREADS)
        try:
            launcher.run(words, what="hpcc", timeout=PATIENCE, folder=folder)
        except SubsaltError as error:
            out = folder / "hpccoutf.txt"
            said = [
                w for w in (out.read_text(errors="replace").splitlines() if out.exists() else []) if w.strip()
            ]
            raise launcher.failed(error.message, "\n".join(said[-2:])) from None

    return start, notes
