"""What HPC Challenge prints: the summary of hpccoutf.txt, whether its answers are right, what its figures are worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from subsalt.errors import SubsaltError

BEGIN, END = "Begin of Summary section.", "End of Summary section."
#: version whose output is known
KNOWN = (1, 5)
#: of HPL's scaled residuals, and of what is held against the rounding of an algorithm
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
        What it is called.
    who : str
        ``"one"`` rank alone, ``"each"`` of all ranks at once, ``"all"`` together.
    unit : str
        Of the table.
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
    found = dict(line.strip().split("=", 1) for line in inside.splitlines() if "=" in line)
    version = tuple(_number(found, f"Version{part}") for part in ("Major", "Minor"))
    if version != KNOWN:
        raise _unusable(f"it is of version {version[0]:g}.{version[1]:g}, known is {KNOWN[0]}.{KNOWN[1]}")
    missing = [f.key for f in FIGURES if f.key not in found]
    if missing:
        raise _unusable(f"{missing[0]} is missing in its summary")
    return found


def _unusable(why: str) -> SubsaltError:
    return SubsaltError(
        f"the output of hpcc cannot be used: {why}",
        "use hpcc 1.5.0 (Debian's package hpcc), and let it come to its end",
        code="E955",
    )


def _number(found: Mapping[str, str], key: str) -> float:
    try:
        return float(found[key])
    except (KeyError, ValueError):
        raise _unusable(f"{key} is {found.get(key, 'missing')!r}, no number") from None


def check(found: Mapping[str, str]) -> None:
    """Refuse figures whose answers are wrong.

    Raises
    ------
    SubsaltError
        When a part says that it failed, or a residual is larger than rounding allows (E710).
    """
    eps, n = _number(found, "HPL_eps"), _number(found, "HPL_N")
    size = _number(found, "HPL_AnormI") * _number(found, "HPL_XnormI") + _number(found, "HPL_BnormI")
    points = max(_number(found, "MPIFFT_N"), 2.0)
    answers = (
        ("HPL's scaled residual", _number(found, "HPL_RnormI") / (eps * size * n), THRESHOLD),
        ("PTRANS's residual", _number(found, "PTRANS_residual"), THRESHOLD),
        ("the part of wrong updates of RandomAccess", _number(found, "MPIRandomAccess_ErrorsFraction"), LOST_UPDATES),
        # the error of a transform grows with the logarithm of its length
        ("FFT's error over rounding", _number(found, "MPIFFT_maxErr") / (eps * math.log2(points)), THRESHOLD),
    )  # fmt: skip
    wrong = [
        f"{name} is {value:.3g}, at most {most:g} is right"
        for name, value, most in answers
        if not value <= most
    ]
    if _number(found, "Success") != 1:
        wrong.insert(0, "it says Success=0")
    if wrong:
        raise SubsaltError(
            f"hpcc gave wrong answers: {'; '.join(wrong)}; no figure is given",
            "look at the compiler and BLAS that hpcc was built with",
            code="E710",
        )


def stream_bytes(found: Mapping[str, str]) -> float:
    """Return the bytes of STREAM's three arrays on one rank."""
    return ARRAYS * _number(found, "sizeof_double") * _number(found, "STREAM_VectorSize")


def rows(found: Mapping[str, str], cache: int) -> list[dict[str, Any]]:
    """Return a row for each of `FIGURES`; STREAM's are marked where its arrays fit into caches.

    Parameters
    ----------
    found : mapping
        Of `summary`.
    cache : int
        Bytes of the last-level cache.
    """
    out = []
    in_cache = stream_bytes(found) <= CACHES * cache
    for f in FIGURES:
        value = _number(found, f.key) * f.scale
        # a clock that does not tick between two messages
        valid = math.isfinite(value) and value > 0 and not (in_cache and f.test.startswith("STREAM"))
        out.append(
            {"what": "hpcc", "test": f.test, "who": f.who, "value": value, "unit": f.unit, "valid": valid,
             "note": None if valid else "not valid"}
        )  # fmt: skip
    return out


def notes(found: Mapping[str, str], cache: int) -> list[str]:
    """Return what a reader of the figures must know."""
    n, p, q = (int(_number(found, f"HPL_{k}")) for k in ("N", "nprow", "npcol"))
    out = [f"hpcc: matrix of {n} x {n}, blocks of {found['HPL_NB']}, {p} x {q} ranks; all answers are right"]
    size = stream_bytes(found)
    if size <= CACHES * cache:
        out.append(
            f"hpcc: STREAM's three arrays take {size / 1e6:.0f} MB on a rank, not more than {CACHES} times the "
            f"last-level cache of {cache / 1e6:.0f} MB: its figures are those of caches; give --hpcc-memory more"
        )
    return out
