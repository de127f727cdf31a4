"""Does a device look whether a result is tiny before it rounds it, or after?

Kernels flush denormals: a result below the smallest normal number, 2^-126, becomes a zero of its sign. IEEE 754 lets
hardware look at the exact result, or at the result rounded to 24 bits as if exponents had no end. x86 looks after
rounding. The answers differ for

    2^-126 (1 - 2^-25) <= |a b + c| < 2^-126

which rounds to 2^-126: kept by who looks after, flushed by who looks before. `cases` makes products and multiply-adds
on both sides of these bounds and on them; `expected` says what each convention makes of them, in rational arithmetic;
`verdict` says which one some results follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: exponent of the smallest normal float32, and bits of a mantissa
LEAST, BITS = -126, 24
SMALLEST = Fraction(1, 2**-LEAST)


@dataclass(frozen=True)
class Expected:
    """What both conventions make of some operands.

    Parameters
    ----------
    after, before : ndarray
        Results of hardware that looks after rounding, and before, float32 (n,).
    """

    after: NDArray
    before: NDArray


def rounded(value: Fraction) -> Fraction:
    """Return a number rounded to 24 bits, ties to even, as if exponents had no end."""
    if not value:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - BITS + 1)
    return round(value / unit) * unit


def flushed(value: Fraction, *, before: bool) -> np.float32:
    """Return what a device that flushes denormals makes of an exact result that is not zero."""
    value_rounded = rounded(value)
    tiny = abs(value if before else value_rounded) < SMALLEST
    return np.float32(np.copysign(0.0 if tiny else float(value_rounded), float(value)))


def expected(a: NDArray, b: NDArray, c: NDArray) -> Expected:
    """Return what both conventions make of a b + c; operands are normal numbers or zero, results are not zero."""
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)
    ]
    results = (np.array([flushed(v, before=early) for v in exact], np.float32) for early in (False, True))
    return Expected(*results)


def cases(count: int, seed: int = 1) -> tuple[NDArray, NDArray, NDArray]:
    """Return operands a, b and c, float32: `count` of each kind, and as many with all results negative.

    Kinds: c = 0; c the smallest normal number; c up to 2^8 units of the last place above it, and up to twice as large.
    The exact results are 2^-126 less up to 2^-149, or more; a few are the bound 2^-126 (1 - 2^-25), and its neighbours.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for above in (None, 0, 1 << 8, 1 << 23):
        steps = rng.integers(0, above, count) if above else np.zeros(count, np.int64)
        # half of the misses in the narrow stretch where conventions differ
        missing = rng.uniform(-4.0, 4.0, count) * np.where(rng.random(count) < 0.5, 0.25, 1.0)
        target = -np.ldexp(missing, LEAST - BITS - 1)
        if above is None:
            target += np.ldexp(1.0, LEAST)
        else:
            target -= np.ldexp(steps.astype(np.float64), LEAST - BITS + 1)
        c = (
            np.zeros(count)
            if above is None
            else np.ldexp(1.0 + np.ldexp(steps.astype(np.float64), 1 - BITS), LEAST)
        )
        a = np.ldexp(rng.integers(1 << 23, 1 << 24, count).astype(np.float64), -88).astype(np.float32)
        b = (target / a).astype(np.float32)
        parts.append((a, b, c.astype(np.float32)))
    parts.append(_on_the_bound())
    a, b, c = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    used = np.abs(b) >= np.float32(2.0**LEAST)  # a denormal operand would be flushed itself
    a, b, c = a[used], b[used], c[used]
    return np.concatenate([a, a]), np.concatenate([b, -b]), np.concatenate([c, -c])


def _on_the_bound() -> tuple[NDArray, NDArray, NDArray]:
    """Return 2^-126 - d with d = 2^-151, which is the bound, and d of a float32 more and less."""
    a = np.full(3, np.ldexp(1.0, -60), np.float32)
    d = np.float32(np.ldexp(1.0, -91))
    b = -np.array([np.nextafter(d, np.float32(0)), d, np.nextafter(d, np.float32(1))], np.float32)
    return a, b, np.full(3, np.ldexp(1.0, LEAST), np.float32)


def verdict(got: NDArray, wanted: Expected) -> str:
    """Return the convention that results follow bit for bit: ``"after"``, ``"before"``, or ``"neither"``."""
    for name, results in (("after", wanted.after), ("before", wanted.before)):
        if np.array_equal(got.view(np.uint32), results.view(np.uint32)):
            return name
    return "neither"


def judged(got: NDArray, operands: tuple[NDArray, NDArray, NDArray], shown: int) -> dict[str, Any]:
    """Return a row for device_arithmetic.py: results that are not x86's, some of them, and the convention."""
    wanted = expected(*operands)
    differ = np.flatnonzero(got.view(np.uint32) != wanted.after.view(np.uint32))
    names = (*zip("abc", operands, strict=True), ("got", got))
    return {
        "what": "multiply-add",
        "tried": len(got),
        "wrong": len(differ),
        "operands": [{name: float(values[i]).hex() for name, values in names} for i in differ[:shown]],
        "tininess": verdict(got, wanted),
        "conventions_differ": int((wanted.after != wanted.before).sum()),
    }
