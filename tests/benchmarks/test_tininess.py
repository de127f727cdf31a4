"""Results next to the smallest normal number: what hardware that looks before or after rounding makes of them."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import tininess

#: 2^-126, and half a unit of the last place of the numbers below it, were there any
SMALLEST, HALF = 2.0**-126, 2.0**-151

#: by exact result: as (kept by who looks after rounding, kept by who looks before); written down, not computed
KNOWN = {
    Fraction(SMALLEST): (SMALLEST, SMALLEST),
    Fraction(SMALLEST) - Fraction(HALF) / 2: (SMALLEST, 0.0),
    Fraction(SMALLEST) - Fraction(HALF): (SMALLEST, 0.0),  # a tie: 2^-126 is the even one
    Fraction(SMALLEST) - Fraction(HALF) * Fraction(4097, 4096): (0.0, 0.0),
    Fraction(SMALLEST) - 2 * Fraction(HALF): (0.0, 0.0),
    Fraction(SMALLEST) + 2 * Fraction(HALF): (SMALLEST, SMALLEST),  # a tie again
    Fraction(SMALLEST) + 3 * Fraction(HALF): (SMALLEST + 4 * HALF, SMALLEST + 4 * HALF),
}


@pytest.mark.parametrize("exact", KNOWN)
def test_results_are_those_written_down(exact):
    for sign in (1, -1):
        for before, wanted in zip((False, True), KNOWN[exact], strict=True):
            got = tininess.flushed(sign * exact, before=before)
            assert got.tobytes() == np.float32(sign * wanted).tobytes()


def test_rounding_is_that_of_float32():
    # where exponents have not ended, the host rounds the same
    rng = np.random.default_rng(3)
    for value in rng.uniform(-1, 1, 200) * 2.0 ** rng.integers(-100, 100, 200):
        assert float(tininess.rounded(Fraction(value))) == float(np.float32(value))


def test_cases_lie_on_both_sides_of_both_bounds():
    operands = tininess.cases(60)
    assert all(a.dtype == np.float32 for a in operands)
    normal = [np.abs(a[a != 0]) >= np.float32(SMALLEST) for a in operands]
    assert all(n.all() for n in normal)
    wanted = tininess.expected(*operands)
    only_after = (wanted.after != 0) & (wanted.before == 0)
    for some in (only_after, wanted.before != 0, wanted.after == 0):
        assert some.mean() > 0.1
    assert set(np.abs(wanted.after[only_after])) == {np.float32(SMALLEST)}
    # a product alone, the smallest normal number, and larger addends: each tells the conventions apart
    c = np.abs(operands[2])
    for kind in (c == 0, c == np.float32(SMALLEST), c > np.float32(SMALLEST)):
        assert only_after[kind].any()


def test_a_device_of_either_convention_is_told():
    operands = tininess.cases(40)
    wanted = tininess.expected(*operands)
    rows = [tininess.judged(got, operands, 4) for got in (wanted.after, wanted.before, -wanted.after)]
    assert [row["tininess"] for row in rows] == ["after", "before", "neither"]
    assert [row["wrong"] for row in rows] == [0, rows[0]["conventions_differ"], len(operands[0])]
    assert rows[0]["conventions_differ"] > 0
    assert [len(row["operands"]) for row in rows] == [0, 4, 4]


def test_the_emulated_device_does_as_this_processor(emulated):
    """Its arithmetic is the host's: of x86, which looks after rounding."""
    import platform

    import device_arithmetic

    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("another processor may look before rounding")
    operands = tininess.cases(40)
    got = device_arithmetic.Trial(len(operands[0])).results(device_arithmetic.MULTIPLY_ADD, *operands)
    assert tininess.verdict(got, tininess.expected(*operands)) == "after"
