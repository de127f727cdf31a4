"""F4, F5, F6: the k-th file operation fails, for every k: a clear end, no half file, and the same command goes on."""

from __future__ import annotations

import errno

import pytest
from strikes import FOREVER, ONCE, SHORT, Point, spread
from struck_survey import Case

from thorough import sample

#: done (what failed was only looked at), cannot create, reading or writing failed
CODES = (0, 73, 74)


def failed(case: Case, point: Point, number: int, mode: int) -> tuple[str, int]:
    """Fail an operation, once, or it and all behind it; return what is wrong, and how the run ended."""
    case.fresh()
    end = case.start(point, mode, number)
    if end.struck is None:
        # removing is let through: clearing up works on a full disk
        return ("" if end.code == 0 else f"ended with {end.code}, though nothing failed: {end.err}"), -1
    if end.code not in CODES:
        return f"{end.struck}: ended with {end.code}: {end.err}", end.code
    if "Traceback" in end.err + end.out:
        return f"{end.struck}: printed a traceback: {end.err}", end.code
    if end.code and not any(word in end.err for word in ("error E6", "error E8")):
        return f"{end.struck}: says no code: {end.err}", end.code
    if end.code == 0 and (fault := case.verdict(end, log_stays=True)):
        return f"{end.struck}: claimed success, but {fault}", 0
    fault = case.verdict(case.start())
    return (f"{end.struck}: {fault}" if fault else ""), end.code


def test_no_space_at_any_operation(case: Case) -> None:
    """ENOSPC once, at every k: of Python's writers, of SQLite, of the threads behind the stores.

    Every operation on every part at its first and last time; all of them by ``SUBSALT_TESTS=all``.
    """
    n = len(case.points)
    kinds = len({(p.operation, p.part) for p in case.points})
    points = spread(case.points, sample(2 * kinds, n))
    results = [failed(case, point, errno.ENOSPC, ONCE) for point in points]
    faults = [fault for fault, _ in results if fault]
    assert not faults, "\n".join(faults)
    # only what is told and what may be missing passes without an error
    ended = [code for _, code in results if code >= 0]
    assert len(ended) > 0.9 * len(points)
    assert sum(code in (73, 74) for code in ended) > 0.7 * len(points)


@pytest.mark.parametrize(
    ("number", "mode"),
    [(errno.ENOSPC, FOREVER), (errno.EIO, ONCE), (errno.EIO, FOREVER), (errno.EDQUOT, FOREVER)],
)
def test_other_failures_at_a_sample_of_operations(case: Case, number: int, mode: int) -> None:
    results = [failed(case, point, number, mode) for point in spread(case.points, 16)]
    faults = [fault for fault, _ in results if fault]
    assert not faults, "\n".join(faults)
    # a failure for ever strikes something that matters, wherever it begins
    assert sum(code in (73, 74) for _, code in results) >= (14 if mode == FOREVER else 6)


@pytest.mark.parametrize("most", [1000, 137])
def test_short_transfers_and_interruptions_are_invisible(case: Case, most: int) -> None:
    """F6: so many bytes at most per read and write, and every seventh is interrupted."""
    case.fresh()
    end = case.start(0, SHORT, most)
    assert case.verdict(end) == ""
