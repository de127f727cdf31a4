"""HPC Challenge, where `hpcc` is installed: HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT, latency and bandwidth.

hpcc measures the MPI that it was linked with: Debian's runs under Debian's Open MPI, not under the MPI of this
environment. It works in a temporary folder, of which nothing stays.

The input of HPC Challenge: one problem, sized by a part of the memory, on a grid of ranks as square as can be.

What HPC Challenge prints: the summary of hpccoutf.txt, whether its answers are right, what its figures are worth.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import cache_bytes, machine_facts, usable_cores
from subsalt.io.publish import publish_text
from subsalt.machine import programs
from subsalt.report.table import Column
from subsalt_lab.memory import USUAL_CACHE
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Say

BEGIN, END = "Begin of Summary section.", "End of Summary section."
#: version whose output is known
KNOWN = (1, 5)
#: of HPL's scaled residuals, and of what is compared with the rounding of an algorithm
THRESHOLD = 16.0
#: part of the updates that RandomAccess may lose by its own rules
LOST_UPDATES = 0.01
#: how much larger than the last-level cache STREAM's arrays must be
CACHES = 4
#: arrays of STREAM
ARRAYS = 3


@dataclass(frozen=True)
class Figure:
    """One figure of the table.

    Parameters
    ----------
    key : str
        In the summary.
    test : str
        Name of the test.
    who : str
        ``"one"`` rank alone, ``"each"`` of all ranks at once, ``"all"`` together.
    unit : str
        Unit in the table.
    scale : float
        From the summary's unit.
    """

    key: str
    test: str
    who: str
    unit: str
    scale: float = 1.0


FIGURES = (
    Figure("HPL_Tflops", "HPL", "all", "GF/s", 1000.0),
    Figure("StarDGEMM_Gflops", "DGEMM", "each", "GF/s"),
    Figure("SingleDGEMM_Gflops", "DGEMM", "one", "GF/s"),
    Figure("StarSTREAM_Triad", "STREAM triad", "each", "GB/s"),
    Figure("SingleSTREAM_Triad", "STREAM triad", "one", "GB/s"),
    Figure("PTRANS_GBs", "PTRANS", "all", "GB/s"),
    Figure("MPIRandomAccess_GUPs", "RandomAccess", "all", "GUP/s"),
    Figure("StarRandomAccess_GUPs", "RandomAccess", "each", "GUP/s"),
    Figure("MPIFFT_Gflops", "FFT", "all", "GF/s"),
    Figure("StarFFT_Gflops", "FFT", "each", "GF/s"),
    Figure("AvgPingPongLatency_usec", "ping-pong latency", "one", "us"),
    Figure("AvgPingPongBandwidth_GBytes", "ping-pong bandwidth", "one", "GB/s"),
    Figure("RandomlyOrderedRingLatency_usec", "random ring latency", "all", "us"),
    Figure("RandomlyOrderedRingBandwidth_GBytes", "random ring bandwidth", "each", "GB/s"),
)


def summary(text: str) -> dict[str, str]:
    """Return the entries of the summary section of hpccoutf.txt.

    Raises
    ------
    SubsaltError
        When there is none, it is cut off, or of another version (E955).
    """
    if BEGIN not in text:
        raise _unusable("it has no summary section")
    inside, end, _ = text.partition(BEGIN)[2].partition(END)
    if not end:
        raise _unusable("its summary section is cut off")
    entries = dict(line.strip().split("=", 1) for line in inside.splitlines() if "=" in line)
    version = tuple(_number(entries, f"Version{part}") for part in ("Major", "Minor"))
    if version != KNOWN:
        raise _unusable(f"it is of version {version[0]:g}.{version[1]:g}, known is {KNOWN[0]}.{KNOWN[1]}")
    missing = [f.key for f in FIGURES if f.key not in entries]
    if missing:
        raise _unusable(f"{missing[0]} is missing in its summary")
    return entries


def _unusable(why: str) -> SubsaltError:
    return SubsaltError(
        f"the output of hpcc cannot be used: {why}",
        "use hpcc 1.5.0 (Debian's package hpcc), and let it come to its end",
        code="E955",
    )


def _number(entries: Mapping[str, str], key: str) -> float:
    try:
        return float(entries[key])
    except (KeyError, ValueError):
        raise _unusable(f"{key} is {entries.get(key, 'missing')!r}, no number") from None


def check(entries: Mapping[str, str]) -> None:
    """Refuse figures whose answers are wrong.

    Raises
    ------
    SubsaltError
        When a part says that it failed, or a residual is larger than rounding allows (E710).
    """
    eps, n = _number(entries, "HPL_eps"), _number(entries, "HPL_N")
    size = _number(entries, "HPL_AnormI") * _number(entries, "HPL_XnormI") + _number(entries, "HPL_BnormI")
    points = max(_number(entries, "MPIFFT_N"), 2.0)
    answers = (
        ("HPL's scaled residual", _number(entries, "HPL_RnormI") / (eps * size * n), THRESHOLD),
        ("PTRANS's residual", _number(entries, "PTRANS_residual"), THRESHOLD),
        ("the part of wrong updates of RandomAccess", _number(entries, "MPIRandomAccess_ErrorsFraction"), LOST_UPDATES),
        # the error of a transform grows with the logarithm of its length
        ("FFT's error over rounding", _number(entries, "MPIFFT_maxErr") / (eps * math.log2(points)), THRESHOLD),
    )  # fmt: skip
    wrong = [
        f"{name} is {value:.3g}, at most {most:g} is right"
        for name, value, most in answers
        if not value <= most
    ]
    if _number(entries, "Success") != 1:
        wrong.insert(0, "it says Success=0")
    if wrong:
        raise SubsaltError(
            f"hpcc gave wrong answers: {'; '.join(wrong)}; no figure is given",
            "look at the compiler and BLAS that hpcc was built with",
            code="E710",
        )


def stream_bytes(entries: Mapping[str, str]) -> float:
    """Return the bytes of STREAM's three arrays on one rank."""
    return ARRAYS * _number(entries, "sizeof_double") * _number(entries, "STREAM_VectorSize")


def rows(entries: Mapping[str, str], cache: int) -> list[dict[str, Any]]:
    """Return a row for each of `FIGURES`; STREAM's are marked where its arrays fit into caches.

    Parameters
    ----------
    entries : mapping
        Entries of `summary`.
    cache : int
        Bytes of the last-level cache.
    """
    out = []
    in_cache = stream_bytes(entries) <= CACHES * cache
    for f in FIGURES:
        value = _number(entries, f.key) * f.scale
        # a clock that does not tick between two messages
        valid = math.isfinite(value) and value > 0 and not (in_cache and f.test.startswith("STREAM"))
        out.append(
            {"what": "hpcc", "test": f.test, "who": f.who, "value": value, "unit": f.unit, "valid": valid,
             "note": None if valid else "not valid"}
        )  # fmt: skip
    return out


def notes(entries: Mapping[str, str], cache: int) -> list[str]:
    """Return what a reader of the figures must know."""
    n, p, q = (int(_number(entries, f"HPL_{k}")) for k in ("N", "nprow", "npcol"))
    out = [
        f"hpcc: matrix of {n} x {n}, blocks of {entries['HPL_NB']}, {p} x {q} ranks; all answers are right"
    ]
    size = stream_bytes(entries)
    if size <= CACHES * cache:
        out.append(
            f"hpcc: STREAM's three arrays take {size / 1e6:.0f} MB on a rank, not more than {CACHES} times the "
            f"last-level cache of {cache / 1e6:.0f} MB: its figures are those of caches; give --hpcc-memory more"
        )
    return out


#: blocks of columns; of HPL and PTRANS
BLOCK = 192
#: the least that has a few blocks in each direction
SMALLEST = 4 * BLOCK

# 32 lines of HPL, in HPL's order, the 32nd of them ignored; then the sizes of PTRANS beside the one that HPL gives
TEXT = """\
HPLinpack benchmark input file
made by subsalt lab network
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}          Ns
1            # of NBs
{block}      NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p}          Ps
{q}          Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def order(memory: float) -> int:
    """Return the order of the matrix of doubles that fills `memory` bytes, in whole blocks."""
    return max(SMALLEST, int(math.sqrt(memory / 8)) // BLOCK * BLOCK)


def grid(ranks: int) -> tuple[int, int]:
    """Return rows and columns of ranks: as square as can be, no more rows than columns."""
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def text(n: int, ranks: int) -> str:
    """Return what hpccinf.txt holds.

    Parameters
    ----------
    n : int
        Order of the matrix.
    ranks : int
        All of which take part.
    """
    p, q = grid(ranks)
    return TEXT.format(n=n, block=BLOCK, p=p, q=q)


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
    """Result of HPC Challenge.

    Parameters
    ----------
    rows : list of dict
        See `rows`.
    notes : list of str
        Notes for the reader.
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
    program = shutil.which("hpcc")
    if program is None:
        raise DeviceError(
            "hpcc (HPC Challenge) is not on PATH",
            "install it, on Debian with apt install hpcc libopenblas0-pthread, or leave --hpcc out",
            code="E954",
        )
    return Path(program)


def blas_of(program: Path) -> tuple[str, bool]:
    """Return the BLAS that a program loads, in words, and whether it is the slow reference."""
    for line in programs.answer(["ldd", str(program)]).splitlines():
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
    say: Say = lambda text: None,
    start: Start | None = None,
    cache: int | None = None,
) -> HpccResult:
    """Run HPC Challenge on this node.

    Parameters
    ----------
    part : float
        Part of the memory that the matrix of HPL takes.
    ranks : int, optional
        Number of ranks; as many as cores when left out.
    say : callable
        Callback for progress text.
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
    said: list[str] = []
    if start is None:
        start, said = starts(ranks)
    n = order(memory_of(part))
    say(f"network: HPC Challenge, {ranks} ranks, matrix of {n} x {n}; from a minute to an hour")
    with tempfile.TemporaryDirectory(prefix="subsalt-hpcc-") as made:
        folder = Path(made)
        publish_text(folder / "hpccinf.txt", text(n, ranks))
        start(folder)
        file = folder / "hpccoutf.txt"
        if not file.exists():
            raise programs.failed("hpcc wrote no hpccoutf.txt", "")
        entries = summary(file.read_text(errors="replace"))
    check(entries)
    cache = cache or max(cache_bytes().values(), default=USUAL_CACHE)
    measured = rows(entries, cache)
    each = next(r["value"] for r in measured if r["test"] == "DGEMM" and r["who"] == "each")
    return HpccResult(
        measured,
        [*notes(entries, cache), *said],
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
    said = [f"hpcc: {mpi.name}, BLAS {blas}"]
    if is_reference:
        said.append(
            "hpcc: this is the reference BLAS, several times slower than a tuned one: install libopenblas0-pthread, or "
            "choose one with update-alternatives --config libblas.so.3-x86_64-linux-gnu"
        )

    def start(folder: Path) -> None:
        words = mpi.start(ranks, [str(program)], THREADS)
        try:
            programs.run(words, what="hpcc", timeout=PATIENCE, folder=folder)
        except SubsaltError as error:
            out = folder / "hpccoutf.txt"
            last = [
                w for w in (out.read_text(errors="replace").splitlines() if out.exists() else []) if w.strip()
            ]
            raise programs.failed(error.message, "\n".join(last[-2:])) from None

    return start, said
