"""F4, F5, F6: the k-th file operation fails, for every k: a clear end, no half file, and the same command goes on."""

from __future__ import annotations

import errno

import pytest
from strikes import FOREVER, ONCE, SHORT, Point, spread, thinned
from struck_survey import Case

from thorough import sample, some, thorough

#: done (what failed was only looked at), cannot create, reading or writing failed
CODES = (0, 73, 74)


#: what is only looked at while a run goes on, or after a crash
NOTES = ("crash note", "progress")
#: what else passes without an error, by operation and file, but for the times named here
SPARED = {
    # who holds the lock; the lock itself is the system's
    ("write", "run.lock"): (),
    ("ftruncate", "run.lock"): (),
    # the folder is there by then
    ("mkdir", "run"): (1,),
    # made before SQLite opens it; what fails there SQLite meets, and says
    ("create", "ledger.sqlite"): (2,),
    # folders that SQLite syncs, and where that fails passes over; what is published in them syncs them again
    ("fdatasync", "run"): (),
    # at the start, the change to a write-ahead log: the ledger goes on with a journal, as safe and slower
    ("fdatasync", "ledger.sqlite-journal"): (),
    ("pwrite64", "ledger.sqlite-journal"): (1,),
    # that too, or at the end, as the log is put into the database: it stays, and holds all
    ("pwrite64", "ledger.sqlite"): (),
    ("fdatasync", "ledger.sqlite"): (),
    ("ftruncate", "ledger.sqlite"): (),
}


def may_pass(case: Case, point: Point) -> bool:
    """Return whether a run may come to its end, and claim success, where this fails once."""
    at = point.operation, point.path.rsplit("/", 1)[-1]
    if at == ("fdatasync", "ledger.sqlite-wal"):
        # a commit each, and once more before the log is put into the database
        return point == [p for p in case.points if p.name == point.name][-1]
    return point.part in NOTES or (at in SPARED and point.k not in SPARED[at])


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

    Some operations on every part at their first time; all of them, at every time, by ``SUBSALT_TESTS=all``.
    """
    n = len(case.points)
    kinds = len({(p.operation, p.part) for p in case.points})
    points = thinned(spread(case.points, sample(kinds, n)), sample(5, 1))
    results = [failed(case, point, errno.ENOSPC, ONCE) for point in points]
    faults = [fault for fault, _ in results if fault]
    assert not faults, "\n".join(faults)
    # removing is let through, all else is struck
    ended = [(point, code) for point, (_, code) in zip(points, results, strict=True) if code >= 0]
    assert len(ended) > 0.9 * sum(point.operation != "unlink" for point in points)
    # only what is named above passes without an error
    silent = [point for point, code in ended if code == 0 and not may_pass(case, point)]
    assert not silent, silent
    parts = {point.part for point, code in ended if code}
    assert parts == {point.part for point in points} - {*NOTES, "scratch"}


@pytest.mark.parametrize(
    ("number", "mode"),
    [
        (errno.ENOSPC, FOREVER),
        (errno.EIO, ONCE),
        # either half of it is in one of the others
        pytest.param(errno.EIO, FOREVER, marks=thorough),
        (errno.EDQUOT, FOREVER),
    ],
)
def test_other_failures_at_a_sample_of_operations(case: Case, number: int, mode: int) -> None:
    points = spread(case.points, 16)[:: sample(6, 1)]
    results = [failed(case, point, number, mode) for point in points]
    faults = [fault for fault, _ in results if fault]
    assert not faults, "\n".join(faults)
    # a failure for ever strikes something that matters, wherever it begins
    least = len(points) - 2 if mode == FOREVER else 3 * len(points) // 8
    assert sum(code in (73, 74) for _, code in results) >= least


@pytest.mark.parametrize("most", some([137, 1000], 1))
def test_short_transfers_and_interruptions_are_invisible(case: Case, most: int) -> None:
    """F6: so many bytes at most per read and write, and every seventh is interrupted."""
    case.fresh()
    end = case.start(0, SHORT, most)
    assert case.verdict(end) == ""
