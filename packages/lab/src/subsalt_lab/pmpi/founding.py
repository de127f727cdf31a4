"""The four cases of the founding document 002: a reservoir simulator on about 500 cores, before its barriers went."""

from __future__ import annotations

from typing import Any

from subsalt.report.table import Column, render
from subsalt_lab.pmpi.records import Profile
from subsalt_lab.pmpi.tables import clock, whole_rows

#: case, ranks, wall s, in MPI s; barriers: s over ranks, calls over ranks
CASES = (
    ("document 002, case 1", 500, 12505, 4098, 303303.55, 421693313),
    ("document 002, case 2", 500, 4672, 1784, 260468.63, 761836748),
    ("document 002, case 3", 490, 11553, 5152, 1125990.74, 286070005),
    ("document 002, case 4", 500, 22171, 7480, 1315744.11, 1514059234),
)
COLUMNS = (
    Column("case", "case"),
    Column("ranks", "ranks", "d"),
    Column("wall_text", "wall"),
    Column("mpi_text", "MPI time"),
    Column("mpi_percent", "MPI %", ".2f"),
    Column("barrier_seconds", "barriers s, all ranks", ",.2f"),
    Column("barrier_part", "% of MPI", ".2f"),
    Column("barrier_wall", "% of wall", ".2f"),
    Column("barrier_calls", "calls", ",d"),
    Column("barrier_us", "us a call", ",.1f"),
)


def _row(
    case: str, ranks: int, wall: float, in_mpi: float, barrier_seconds: float, barrier_calls: int
) -> dict[str, Any]:
    over_ranks = in_mpi * ranks
    return {
        "case": case,
        "ranks": ranks,
        "wall": wall,
        "wall_text": clock(wall),
        "mpi_seconds": in_mpi,
        "mpi_text": clock(in_mpi),
        "mpi_percent": 100 * in_mpi / wall if wall > 0 else 0.0,
        "barrier_seconds": barrier_seconds,
        "barrier_part": 100 * barrier_seconds / over_ranks if over_ranks > 0 else 0.0,
        "barrier_wall": 100 * barrier_seconds / (wall * ranks) if wall > 0 else 0.0,
        "barrier_calls": barrier_calls,
        "barrier_us": 1e6 * barrier_seconds / barrier_calls if barrier_calls else None,
    }


def rows(profile: Profile | None = None) -> list[dict[str, Any]]:
    """Return the document's cases, and a profile below them: T1 beside the barriers' row of T2.

    Parameters
    ----------
    profile : Profile, optional
        Of a program of today.
    """
    found = [_row(*case) for case in CASES]
    if profile is not None:
        barriers = [r for r in profile.by_call() if r.call == "MPI_Barrier"]
        seconds, calls = sum(r.seconds for r in barriers), sum(r.calls for r in barriers)
        name = whole_rows(profile)[0]["case"]
        found.append(_row(name, profile.ranks, profile.mean_wall, profile.mpi_time, seconds, calls))
    return found


def table(profile: Profile, how: str) -> str:
    """Return the table, as text, Markdown or CSV."""
    return f"Beside the founding document 002\n{render(rows(profile), COLUMNS, how)}"
