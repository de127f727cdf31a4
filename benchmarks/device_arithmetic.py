"""Are roots, inverses and quotients on a GPU rounded correctly, operand for operand, and denormals flushed as on x86?

The Kirchhoff sum corrects approximations of the hardware (native/cuda/kirchhoff_operator.cuh); its other roots and
quotients are the compiler's. Both are computed on the GPU and compared with the processor's float32, which are rounded
correctly (IEEE 754): roots of all 2^24 mantissas of [1, 4), inverses of all 2^23 of [1, 2), both also scaled to the
ends of the range that the sum uses; quotients of random numbers, and the hardest ones:

    a / b lies next to the middle m of two float32, 2^25 a = m b - 1 or + 1,   m odd, of 25 bits, b odd, of 24 bits

Of the inverse of b modulo 2^25 and its negative exactly one has 25 bits: 2^22 quotients, one for every odd b.

Multiply-adds next to the smallest normal number, 2^-126, tell whether the GPU decides after rounding whether a result
is flushed, as x86 does, or before (tininess.py). Before, a result that rounds up to 2^-126 would be zero there.

    python benchmarks/device_arithmetic.py --quotients 1000000000
    python benchmarks/device_arithmetic.py --tininess

Ends with 1 when a result differs. With approximations as bad as PTX allows, two of the roots and one of the inverses
could (tests/cuda/test_corrections.py); operands are printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator

import numpy as np
import tininess
from facts import machine
from numpy.typing import NDArray

from subsalt.kernels.cuda import DeviceArray, copy
from subsalt.kernels.cuda_library import availability, call, chosen

#: of native/cuda/arithmetic.cu, and the processor's
KINDS: dict[str, tuple[int, Callable[[NDArray, NDArray], NDArray]]] = {
    "root, corrected": (0, lambda a, b: np.sqrt(a)),
    "inverse, corrected": (1, lambda a, b: np.float32(1) / b),
    "quotient, corrected": (2, lambda a, b: a / b),
    "root, compiler's": (3, lambda a, b: np.sqrt(a)),
    "quotient, compiler's": (4, lambda a, b: a / b),
}
#: of native/cuda/arithmetic.cu, compared with exact results, and how many of each kind of operands
MULTIPLY_ADD, ADDED = 5, 500
#: operands that are compared at once
PIECE = 1 << 24
#: powers of 2 by which operands are scaled: squares of times are 1e-8 to 1e35
SCALES = (0, -26, 114)
#: wrong operands that are printed
SHOWN = 8

Pairs = Iterator[tuple[NDArray, NDArray]]


def mantissas(first: float, end: float, most: int) -> Pairs:
    """Yield all float32 of [first, end) at every scale, as both operands; `most`: of each scale, spread evenly."""
    lo, hi = (int(np.float32(x).view(np.uint32)) for x in (first, end))
    stride = max(1, (hi - lo) // most)
    for start in range(lo, hi, PIECE * stride):
        bits = np.arange(start, min(hi, start + PIECE * stride), stride, dtype=np.uint32)
        for scale in SCALES:
            a = np.ldexp(bits.view(np.float32), scale).astype(np.float32)
            yield a, a


def random_pairs(count: int) -> Pairs:
    """Yield pairs of random mantissas and exponents between 2^-30 and 2^30."""
    rng = np.random.default_rng(1)
    for start in range(0, count, PIECE):
        n = min(PIECE, count - start)
        bits = rng.integers(0, 1 << 23, (2, n), dtype=np.uint32)
        bits |= rng.integers(127 - 30, 127 + 30, (2, n), dtype=np.uint32) << np.uint32(23)
        a, b = bits.view(np.float32)
        yield a, b


def hardest_pairs(most: int) -> Pairs:
    """Yield the quotients that lie nearest to the middle of two float32; `most`: divisors, spread evenly."""
    stride = 2 * max(1, (1 << 22) // most)
    b = np.arange((1 << 23) + 1, 1 << 24, stride, dtype=np.uint64)
    inverse = b.copy()  # right in 3 bits, modulo 2^64; Newton doubles them
    for _ in range(5):
        inverse *= np.uint64(2) - b * inverse
    for sign in (1, -1):
        m = (inverse if sign > 0 else np.uint64(0) - inverse) & np.uint64((1 << 25) - 1)
        # of 25 bits, so that the quotient is 1/2 or more
        chosen_m = m >= np.uint64(1 << 24)
        divisor, m = b[chosen_m], m[chosen_m]
        a = (m * divisor - np.uint64(1) if sign > 0 else m * divisor + np.uint64(1)) >> np.uint64(25)
        yield a.astype(np.float32), divisor.astype(np.float32)


class Trial:
    """Arrays on the GPU for one piece of operands."""

    def __init__(self, size: int = PIECE) -> None:
        self.arrays = [DeviceArray((size,), np.float32, zeroed=False) for _ in range(4)]

    def results(self, kind: int, *operands: NDArray) -> NDArray:
        """Return what the GPU makes of the operands a, b and, where the kind reads it, c."""
        n = len(operands[0])
        *there, out = (array[:n] for array in self.arrays)
        for target, source in zip(there, operands, strict=False):
            copy(target, source)
        given = [array.pointer if i < len(operands) else None for i, array in enumerate(there)]
        call("subsalt_cuda_arithmetic", kind, *given, out.pointer, n)
        return np.asarray(out)


def compared(trial: Trial, name: str, pairs: Pairs) -> dict[str, object]:
    """Return how many results were compared and how many differ, and some of those."""
    kind, right = KINDS[name]
    tried, wrong, shown = 0, 0, []
    for a, b in pairs:
        got, wanted = trial.results(kind, a, b), right(a, b)
        differ = np.flatnonzero(got.view(np.uint32) != wanted.view(np.uint32))
        tried, wrong = tried + len(a), wrong + len(differ)
        shown += [
            {"a": float(a[i]).hex(), "b": float(b[i]).hex(), "got": float(got[i]).hex()}
            for i in differ[: SHOWN - len(shown)]
        ]
    return {"what": name, "tried": tried, "wrong": wrong, "operands": shown}


def main() -> None:
    """Parse, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quotients", type=int, default=10**9, help="random ones, of each kind")
    parser.add_argument(
        "--most", type=int, default=1 << 24, help="mantissas, and divisors of hardest quotients"
    )
    parser.add_argument("--tininess", action="store_true", help="multiply-adds alone, in a second")
    args = parser.parse_args()
    gpu, trial, rows = chosen(), Trial(), []

    def show(row: dict[str, object], operands: str) -> None:
        row["what"] = f"{row['what']}: {operands}"
        print(f"{row['what']:<50}{row['tried']:>12}{row['wrong']:>8} wrong", flush=True)
        rows.append(row)

    for name in () if args.tininess else KINDS:
        if name.startswith("quotient"):
            show(compared(trial, name, hardest_pairs(args.most)), "next to a middle")
            show(compared(trial, name, random_pairs(args.quotients)), "at random")
        else:
            end = 2.0 if name.startswith("inverse") else 4.0
            show(compared(trial, name, mantissas(1.0, end, args.most)), f"all of [1, {end:g})")
    operands = tininess.cases(ADDED)
    row = tininess.judged(trial.results(MULTIPLY_ADD, *operands), operands, SHOWN)
    show(row, f"next to 2^-126, tiny {row['tininess']} rounding")
    facts = machine(1) | {"gpu": gpu.name, "emulated": availability().emulated}
    print(json.dumps(facts | {"rows": rows}))
    raise SystemExit(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    main()
