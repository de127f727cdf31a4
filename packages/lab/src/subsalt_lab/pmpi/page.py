"""The page of an MPI profile: one HTML file that needs nothing else. The tables of document 002, with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.report import render
from subsalt.report.render import seconds as in_words
from subsalt.report.render import size
from subsalt_lab.barriers.audit import sites_of
from subsalt_lab.barriers.records import barriers as barriers_of
from subsalt_lab.pmpi import tables
from subsalt_lab.pmpi.places import shown
from subsalt_lab.pmpi.records import CallRow, MpiProfile

render.add_templates(Path(__file__).parents[1] / "templates")

#: ranks that have a bar of their own; of more, some from the least to the most in MPI
MOST_RANKS = 48
#: rows of a table, at least and at most; those below this part of the time in MPI, or of the wall, are summed; pictures
#: of sizes
LEAST_ROWS, MOST_ROWS, PART, MOST_SIZES = 8, 24, 0.001, 12
#: columns that there is always room for: a single one would look like a wall
FEWEST = 8
#: kinds of time, as legends call them
KINDS = {"work": "not in MPI", "mpi": "in MPI", "wait": "waiting between looks at MPI"}


def write(profile: MpiProfile, path: str | Path) -> Path:
    """Write the page of a profile.

    Parameters
    ----------
    profile : MpiProfile
        MPI profile of a program.
    path : path
        HTML file.
    """
    from subsalt.io.publish import publish_text

    out = Path(path)
    publish_text(out, page(profile))
    return out


def page(profile: MpiProfile) -> str:
    """Return the page as HTML."""
    contents = [(key, title, content(profile)) for key, title, content in SECTIONS]
    sections = [
        render.PageSection(key, title, render.part("mpi.html", key, content))
        for key, title, content in contents
        if content is not None
    ]
    title = f"{tables.whole_rows(profile)[0]['case']} · MPI profile"
    header = render.part("mpi.html", "header", _header(profile))
    return render.page(title, header, sections, __version__, styles=["mpi.css"])


def _header(profile: MpiProfile) -> dict[str, Any]:
    how = {"interposer": "by the interposer", "wrapper": "by the run itself"}[profile.source]
    nodes = len(set(profile.hosts))
    ranks = f"{profile.ranks} rank{'s' * (profile.ranks != 1)} on {nodes} node{'s' * (nodes != 1)}"
    return {
        "command": profile.command,
        "facts": [profile.mpi, ranks, f"counted {how}"],
        "notes": profile.notes,
    }


def _whole(profile: MpiProfile) -> list[tuple[str, str]]:
    """T1 as cards."""
    cards = [
        (in_words(profile.mean_wall), "wall, MPI_Init to MPI_Finalize, mean over ranks"),
        (in_words(profile.mpi_time), "of it in MPI"),
        (f"{profile.mpi_percent:.2f} %", "MPI time"),
    ]
    if any(p.waiting for p in profile.phases):
        waits = sum(profile.waiting) / profile.ranks
        cards += [
            (in_words(waits), "waiting for others between looks at MPI"),
            (f"{profile.waiting_percent:.2f} %", "MPI time and waiting"),
        ]
    given = sum(r.bytes for r in profile.calls if not r.is_io)
    return [
        *cards,
        (f"{sum(r.calls for r in profile.calls):,}", "calls of all ranks"),
        (size(given), "in messages, as each rank gives or asks them"),
    ]


def _ranks(profile: MpiProfile) -> dict[str, Any]:
    """One bar for each rank; who waits least is the one that others wait for."""
    waits = profile.waiting
    away = [a + b for a, b in zip(profile.mpi_seconds, waits, strict=True)]
    order = sorted(range(profile.ranks), key=lambda r: (away[r], r))
    text = ""
    if profile.ranks > 1 and away[order[-1]] > 0:
        first, last = order[0], order[-1]
        text = (
            f"Rank {first} spends least there, {in_words(away[first])}, rank {last} most, {in_words(away[last])}: "
            f"what the others wait for is more likely late on rank {first}."
        )
    some = sorted(order)
    if profile.ranks > MOST_RANKS:
        step = (profile.ranks - 1) / (MOST_RANKS - 1)
        some = [order[round(i * step)] for i in range(MOST_RANKS)]
        text += f" {MOST_RANKS} of {profile.ranks} ranks are shown, from the least to the most."
    longest = max(profile.wall)
    rows = [
        (
            str(r),
            *(f"{seconds[r]:.3f}" for seconds in (profile.wall, profile.mpi_seconds, waits)),
            stacked(_parts(profile.wall[r], profile.mpi_seconds[r], waits[r]), longest),
        )
        for r in some
    ]
    return {"kinds": _kinds(profile), "rows": rows, "text": text}


def stacked(parts: Sequence[tuple[str, float]], whole: float) -> Any:
    """Return one bar of several parts.

    Parameters
    ----------
    parts : sequence of (str, float)
        Kind and seconds, from the left.
    whole : float
        Seconds of the full width.
    """
    at, drawn = 0.0, []
    for kind, seconds in parts:
        width = min(100.0 * max(0.0, seconds) / whole if whole > 0 else 0.0, 100.0 - at)
        drawn.append((kind, at, width))
        at += width
    return render.part("mpi.html", "stacked", drawn)


def _calls(profile: MpiProfile) -> dict[str, Any]:
    """T2 with bars."""
    return _calls_table(profile, profile.by_call(), "call", "call")


def _sites(profile: MpiProfile) -> dict[str, Any] | None:
    """Return the call sites, where they were distinguished."""
    known = [r for r in profile.by_site() if r.site]
    if all(r.call in ("MPI_Barrier", "MPI_Ibarrier") for r in known):
        return None  # those are always told apart, and have a section of their own
    return _calls_table(profile, known, "called from", "place")


def _calls_table(profile: MpiProfile, calls: Sequence[CallRow], head: str, name: str) -> dict[str, Any]:
    rows = tables.rows(calls, profile)
    most = max((r["seconds"] for r in rows), default=0.0) or 1.0
    n = _shown([r["mpi_part"] or 0.0 for r in rows])
    body = [
        (
            r[name] if name == "call" else f"{r[name]} {r['call']}",
            f"{r['seconds']:,.4f}",
            _percent(r["mpi_part"]),
            _percent(r["wall_part"]),
            f"{r['calls']:,}",
            "" if r["bytes"] is None else size(r["bytes"]),
            f"{1e6 * r['mean']:,.2f}" if r["mean"] is not None else "",
            f"{r['least_rank']:,.4f}",
            f"{r['most_rank']:,.4f}",
            r["seconds"] / most,
        )
        for r in rows[:n]
    ]
    rest = rows[n:]
    foot = (f"{len(rest)} more", f"{sum(r['seconds'] for r in rest):,.4f}", *[""] * 8) if rest else ()
    return {"head": head, "rows": body, "foot": foot}


def _phases(profile: MpiProfile) -> dict[str, Any] | None:
    """Phases of the program: what of each is in MPI, and waiting."""
    if not any(p.phase for p in profile.phases):
        return None
    order = _sums_of_phases(profile)
    mean_wall, most = profile.mean_wall, order[0][1][0]
    n = _shown([v[0] / mean_wall for _, v in order], MOST_ROWS * 2)
    rows: list[tuple[Any, ...]] = [
        (
            name,
            f"{wall:.3f}",
            _percent(wall / mean_wall if mean_wall > 0 else None),
            f"{called:.3f}",
            f"{waits:.3f}",
            stacked(_parts(wall, called, waits), most),
        )
        for name, (wall, called, waits) in order[:n]
    ]
    if rest := order[n:]:
        left = sum(v[0] for _, v in rest)
        rows.append((f"{len(rest)} more", f"{left:.3f}", _percent(left / mean_wall), *[""] * 3))
    total = sum(v[0] for _, v in order)
    foot = ("all", f"{total:.3f}", _percent(total / mean_wall), *[""] * 3)
    return {"kinds": _kinds(profile), "rows": rows, "foot": foot}


def _sums_of_phases(profile: MpiProfile) -> list[tuple[str, list[float]]]:
    """Return phases, the longest first, with their mean seconds: all, in MPI, and waiting.

    The waiting of a phase is counted as a phase of its own: here they stand in one row.
    """
    sums: dict[str, list[float]] = {}
    in_mpi: dict[str, float] = {}
    for c in profile.calls:
        in_mpi[c.phase] = in_mpi.get(c.phase, 0.0) + c.seconds / profile.ranks
    for p in profile.phases:
        row = sums.setdefault(p.phase.removesuffix(", waiting") or "(outside of phases)", [0.0, 0.0, 0.0])
        mean, called = sum(p.per_rank) / profile.ranks, in_mpi.get(p.phase, 0.0)
        row[0] += mean
        row[1] += called
        row[2] += max(0.0, mean - called) if p.waiting else 0.0
    return sorted(sums.items(), key=lambda item: -item[1][0])


def _sizes(profile: MpiProfile) -> list[dict[str, Any]] | None:
    """One picture of calls by size for each function that carries bytes."""
    return [_columns(r) for r in profile.by_call() if r.sizes][:MOST_SIZES] or None


def _columns(r: CallRow) -> dict[str, Any]:
    """Return the columns of one function: x, width, height and the text that shows on hovering."""
    low, high = r.sizes[0].bytes_from.bit_length(), r.sizes[-1].bytes_from.bit_length()
    known = {b.bytes_from.bit_length(): b for b in r.sizes}
    most = max((b.calls for b in r.sizes), default=0) or 1
    step, drawn = 100.0 / max(FEWEST, high + 1 - low), []
    for i, bits in enumerate(range(low, high + 1)):
        b = known.get(bits)
        text = f"{tables.size_text(1 << bits >> 1)} bytes: " if bits else "no bytes: "
        text += f"{b.calls:,} calls, {b.seconds:.4g} s, {b.bytes:,} bytes" if b else "none"
        # what is there is seen, however little it is
        height = max(2.0, 58.0 * b.calls / most) if b and b.calls else 0.0
        drawn.append((i * step + 0.08 * step, 0.84 * step, height, text))
    first, last = (f"{tables.size_text(k.bytes_from)} B" for k in (r.sizes[0], r.sizes[-1]))
    return {
        "call": r.call,
        "about": f"{r.calls:,} calls, {size(r.bytes)}",
        "drawn": drawn,
        "first": first,
        "last": last if high > low else "",
    }


def _files(profile: MpiProfile) -> list[tuple[str, ...]] | None:
    """MPI-IO."""
    return [
        (
            r["call"],
            f"{r['calls']:,}",
            "" if r["bytes"] is None else size(r["bytes"]),
            f"{r['seconds']:,.4f}",
            "" if r["rate"] is None else f"{r['rate'] / 1e9:.3g}",
        )
        for r in tables.file_rows(profile)
    ] or None


def _barriers(profile: MpiProfile) -> list[dict[str, Any]] | None:
    """Return the audit's verdict on every place that calls a barrier."""
    if not profile.audit:
        return None
    wall, sites = sum(profile.wall), []
    for site in sites_of(barriers_of(profile.audit)):
        r: Mapping[str, Any] = site.row(wall)
        late = "" if r["late_share"] is None else f"{100 * r['late_share']:.0f}"
        sites.append(
            {
                "place": shown(r["site"], profile.places, Path.cwd()),
                "ranks": f"{r['comm']} ({r['comm_size']})",
                "numbers": [
                    f"{r['count']:,}",
                    f"{r['seconds']:.3f}",
                    _percent(r["seconds"] / wall),
                    late,
                ],
                "colour": {"candidate": "warn", "keep": "good"}.get(site.kind),
                "verdict": r["class"],
                "reason": r["reason"],
            }
        )
    return sites


def _background(profile: MpiProfile) -> list[tuple[str, ...]] | None:
    """Calls of other threads than the one that started MPI."""
    rows = tables.background_rows(profile)
    return [(r["call"], f"{r['calls']:,}", f"{r['seconds']:,.4f}") for r in rows] or None


def _parts(wall: float, called: float, waits: float) -> list[tuple[str, float]]:
    return [("work", max(0.0, wall - called - waits)), ("mpi", called), ("wait", waits)]


def _kinds(profile: MpiProfile) -> list[tuple[str, str]]:
    """Return the kinds of time that bars of this profile show."""
    return [(k, v) for k, v in KINDS.items() if k != "wait" or any(p.waiting for p in profile.phases)]


def _shown(parts: Sequence[float], most: int = MOST_ROWS) -> int:
    """Return how many of these parts, in falling order, have a row of their own."""
    return min(most, max(LEAST_ROWS, sum(p >= PART for p in parts)))


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.2f}"


SECTIONS = (
    ("run", "The run (T1)", _whole),
    ("ranks", "Who waits", _ranks),
    ("calls", "Calls (T2)", _calls),
    ("phases", "Phases", _phases),
    ("sizes", "Sizes of messages and transfers", _sizes),
    ("sites", "Where calls are made", _sites),
    ("files", "Files (MPI-IO)", _files),
    ("barriers", "Barriers", _barriers),
    ("background", "Other threads", _background),
)
