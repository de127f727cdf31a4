"""Tables of a profile of MPI, in the shape of document 002: whole run, calls, phases, call sites, sizes, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from subsalt.report.table import Column, render
from subsalt_lab.pmpi.places import shown
from subsalt_lab.pmpi.records import CallRow, MpiProfile, SizeBin, add_sizes, merged

#: rows of a table before the rest is summed into one
MOST = 16
#: functions with a histogram of sizes in the text; the result has those of all
MOST_SIZES = 4
#: part of the wall below which phases are summed into one row
SMALL_PHASE = 1e-3

WHOLE = [
    Column("case", "case"),
    Column("ranks", "ranks", "d"),
    Column("wall_text", "wall"),
    Column("wall", "wall s", ".3f"),
    Column("mpi_text", "MPI time"),
    Column("mpi_seconds", "MPI s", ".3f"),
    Column("mpi_percent", "MPI %", ".2f"),
    Column("least_percent", "least %", ".2f"),
    Column("most_percent", "most %", ".2f"),
    Column("waiting", "waiting s", ".3f"),
    Column("waiting_percent", "MPI and waiting %", ".2f"),
]
_TIME = [
    Column("seconds", "s, all ranks", ",.4f"),
    Column("mpi_part", "% of MPI", ".2f", 100),
    Column("wall_part", "% of wall", ".2f", 100),
    Column("calls", "calls", ",d"),
    Column("bytes", "bytes", ",d"),
    Column("mean", "us a call", ",.2f", 1e6),
]
_SPREAD = [
    Column("least_rank", "min s", ",.4f"),
    Column("most_rank", "max s", ",.4f"),
    Column("imbalance", "max/mean", ".2f"),
]
CALLS = [Column("call", "call"), *_TIME, *_SPREAD]
SITES = [Column("call", "call"), Column("place", "called from"), *_TIME, *_SPREAD]
COMMS = [Column("call", "call"), Column("comm", "communicator"), Column("comm_size", "ranks", "d"), *_TIME]
PHASES = [
    Column("phase", "phase"),
    Column("seconds", "s", ",.4f"),
    Column("wall_part", "% of wall", ".1f", 100),
    Column("mpi_seconds", "in MPI s", ",.4f"),
    Column("mpi_part", "in MPI %", ".1f", 100),
    Column("least_rank", "min s", ",.4f"),
    Column("most_rank", "max s", ",.4f"),
    Column("first", "most of it in"),
]
SIZES = [
    Column("call", "call"),
    Column("size", "bytes each"),
    Column("calls", "calls", ",d"),
    Column("bytes", "bytes", ",d"),
    Column("seconds", "s, all ranks", ",.4f"),
    Column("mean", "us a call", ",.2f", 1e6),
    Column("bar", "calls by size"),
]
FILES = [
    Column("call", "call"),
    Column("calls", "calls", ",d"),
    Column("bytes", "bytes", ",d"),
    Column("seconds", "s, all ranks", ",.4f"),
    Column("rate", "GB/s of a rank", ".3g", 1e-9),
    *_SPREAD,
]
#: everything that is distinguished, for a program
ALL = [
    Column("call", "call"),
    Column("site", "site"),
    Column("place", "place"),
    Column("comm", "comm"),
    Column("comm_size", "comm_size"),
    Column("phase", "phase"),
    *_TIME,
    *_SPREAD,
]


def clock(seconds: float) -> str:
    """Return a time as h:mm:ss from a minute on, in seconds below.

    Parameters
    ----------
    seconds : float
        Such as 4098, which is ``"1:08:18"``.
    """
    if seconds < 60:
        return f"{seconds:.2f} s"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def whole_rows(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return the row of T1: ranks, wall time, time in MPI."""
    parts = [100 * m / w for m, w in zip(profile.mpi_seconds, profile.wall, strict=True) if w > 0] or [0.0]
    row: dict[str, Any] = {
        "case": _case(profile.command),
        "ranks": profile.ranks,
        "wall": profile.mean_wall,
        "mpi_seconds": profile.mpi_time,
        "mpi_percent": profile.mpi_percent,
        "least_percent": min(parts),
        "most_percent": max(parts),
    }
    if any(p.waiting for p in profile.phases):
        row |= {
            "waiting": sum(profile.waiting) / profile.ranks,
            "waiting_percent": profile.waiting_percent,
        }
    if profile.mean_wall >= 60:
        row |= {"wall_text": clock(profile.mean_wall), "mpi_text": clock(profile.mpi_time)}
        del row["wall"], row["mpi_seconds"]
    return [row]


def _case(command: str) -> str:
    """Return the program of a launch line for a table, not the launcher with all its options."""
    return command if len(command) <= 60 else command[:28] + " ... " + command[-27:]


def rows(calls: Sequence[CallRow], profile: MpiProfile, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return rows of calls with their parts of the times in MPI and of the wall.

    Parameters
    ----------
    calls : sequence of CallRow
        Calls of the profile, distinguished in any way.
    profile : MpiProfile
        Gives the sums.
    folder : path, optional
        The working folder, for the names of files of Python.
    """
    in_mpi, wall = sum(profile.mpi_seconds), sum(profile.wall)
    here = folder or Path.cwd()
    return [
        {
            "call": r.call,
            "site": r.site,
            "place": shown(r.site, profile.places, here) if r.site else "",
            "comm": r.comm,
            "comm_size": r.comm_size,
            "phase": r.phase,
            "seconds": r.seconds,
            "mpi_part": r.seconds / in_mpi if in_mpi > 0 else None,
            "wall_part": r.seconds / wall if wall > 0 else None,
            "calls": r.calls,
            "bytes": r.bytes if r.sizes else None,
            "mean": r.seconds / r.calls if r.calls else None,
            "least_rank": min(r.per_rank),
            "most_rank": max(r.per_rank),
            "imbalance": max(r.per_rank) * len(r.per_rank) / r.seconds if r.seconds > 0 else None,
        }
        for r in calls
    ]


def phase_rows(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return the rows of the phases: seconds, mean over ranks, and what of them is in MPI."""
    in_mpi: dict[str, list[CallRow]] = {}
    for r in merged(profile.calls, site=False, comm=False):
        in_mpi.setdefault(r.phase, []).append(r)
    table = []
    for p in profile.phases:
        mean = sum(p.per_rank) / profile.ranks
        calls = in_mpi.get(p.phase, [])
        seconds = sum(r.seconds for r in calls) / profile.ranks
        first = calls[0] if calls else None
        table.append(
            {
                "phase": p.phase or "(outside of phases)",
                "seconds": mean,
                "wall_part": mean / profile.mean_wall if profile.mean_wall > 0 else None,
                "mpi_seconds": seconds,
                "mpi_part": seconds / mean if mean > 0 else None,
                "least_rank": min(p.per_rank),
                "most_rank": max(p.per_rank),
                "first": f"{first.call}, {100 * first.seconds / profile.ranks / seconds:.0f} %"
                if first and seconds > 0
                else "",
                "waiting": p.waiting,
            }
        )
    return sorted(table, key=lambda r: -r["seconds"])


def size_rows(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return the rows of the message sizes: all calls together, then the most expensive by themselves."""
    carrying = [r for r in profile.by_call() if r.sizes]
    together = add_sizes(b for r in carrying for b in r.sizes)
    groups = [("all of them", together)] if len(carrying) > 1 else []
    groups += [(r.call, r.sizes) for r in carrying[:MOST_SIZES]]
    return [row for name, bins in groups for row in _bins(name, bins)]


def _bins(name: str, bins: Sequence[SizeBin]) -> Iterator[dict[str, Any]]:
    most = max(b.calls for b in bins)
    for i, b in enumerate(bins):
        yield {
            "call": name if i == 0 else "",
            "size": size_text(b.bytes_from),
            "bytes_from": b.bytes_from,
            "calls": b.calls,
            "bytes": b.bytes,
            "seconds": b.seconds,
            "mean": b.seconds / b.calls if b.calls else None,
            # one mark at least: that there is a call at all is what one looks for
            "bar": "#" * max(1, round(24 * b.calls / most)),
        }


def size_text(bytes_from: int) -> str:
    """Return the sizes of a bin in words, such as ``"4-7"`` or ``"1-2 Ki"``."""
    if bytes_from < 2:
        return str(bytes_from)
    for unit, scale in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if bytes_from >= scale:
            return f"{bytes_from // scale}-{2 * bytes_from // scale} {unit}"
    return f"{bytes_from}-{2 * bytes_from - 1}"


def file_rows(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return the rows of MPI-IO; the rate is that of one rank while it is in such a call."""
    some = [r for r in profile.by_call() if r.is_io]
    table = rows(some, profile)
    for row, r in zip(table, some, strict=True):
        row["rate"] = r.bytes / r.seconds if r.sizes and r.bytes and r.seconds > 0 else None
    return table


def background_rows(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return the rows of calls of other threads than the one that started MPI."""
    return rows(merged(profile.background, site=False, comm=False, phase=False), profile)


def shortened(table: list[dict[str, Any]], most: int = MOST) -> list[dict[str, Any]]:
    """Return the first rows of a table, the rest summed into one."""
    if len(table) <= most + 1:
        return table
    rest = table[most:]
    sums: dict[str, Any] = {
        k: sum(r[k] or 0 for r in rest) for k in ("seconds", "mpi_part", "wall_part", "calls")
    }
    sums["mean"] = sums["seconds"] / sums["calls"] if sums["calls"] else None
    return [*table[:most], {"call": f"{len(rest)} more", **sums}]


def _large_phases(phases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of phases, the small ones summed into one."""
    small = [r for r in phases if (r["wall_part"] or 0) < SMALL_PHASE]
    if len(small) < 2:
        return phases
    sums = {k: sum(r[k] or 0 for r in small) for k in ("seconds", "wall_part", "mpi_seconds")}
    part = sums["mpi_seconds"] / sums["seconds"] if sums["seconds"] > 0 else None
    return [r for r in phases if r not in small] + [{"phase": f"{len(small)} more", **sums, "mpi_part": part}]


def tables(profile: MpiProfile, how: str, *, sites: bool = False) -> list[str]:
    """Return the tables of a profile; as CSV one, with everything that is distinguished.

    Parameters
    ----------
    profile : MpiProfile
        Profile to show.
    how : str
        ``"text"``, ``"markdown"`` or ``"csv"``.
    sites : bool
        Whether call sites were distinguished for all calls.
    """
    if how == "csv":
        return [render(rows(profile.calls, profile), ALL, how)]
    parts = [
        ("The run (T1): between MPI_Init and MPI_Finalize, mean over ranks", whole_rows(profile), WHOLE),
        ("Calls (T2): sums over ranks", shortened(rows(profile.by_call(), profile)), CALLS),
    ]
    if any(p.phase for p in profile.phases):
        parts.append(("Phases: mean over ranks", _large_phases(phase_rows(profile)), PHASES))
    if sites:
        parts.append(("Call sites", shortened(rows(profile.by_site(), profile), 2 * MOST), SITES))
    comms = [r for r in profile.by_comm() if r.comm]
    if len({r.comm for r in comms}) > 1:
        parts.append(("Communicators", shortened(rows(comms, profile), MOST // 2), COMMS))
    if sizes := size_rows(profile):
        parts.append(("Sizes of messages and transfers", sizes, SIZES))
    if files := file_rows(profile):
        parts.append(("Files (MPI-IO)", files, FILES))
    if background := background_rows(profile):
        parts.append(("Other threads: not in the time in MPI above", shortened(background), CALLS))
    # Markdown takes a line right above a table for its head
    below = "\n\n" if how == "markdown" else "\n"
    return [title + below + render(content, columns, how) for title, content, columns in parts]


def calls_for_programs(profile: MpiProfile) -> list[Mapping[str, Any]]:
    """Return one entry for each function, for JSON: T2 with plain numbers."""
    table = rows(profile.by_call(), profile)
    return [{**{k: v for k, v in r.items() if k not in _EMPTY}, "bytes": r["bytes"] or 0} for r in table]


#: what a row of all sites, communicators and phases together does not have
_EMPTY = ("site", "place", "comm", "comm_size", "phase")
