"""The page of an MPI profile: one HTML file that needs nothing else. The tables of document 002, with pictures."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.lab.barriers.audit import sites_of
from subsalt.lab.barriers.records import barriers as barriers_of
from subsalt.lab.pmpi import tables
from subsalt.lab.pmpi.places import shown
from subsalt.lab.pmpi.records import CallRow, Profile
from subsalt.report.html import Markup, bar, code, join, number, table, tag
from subsalt.report.mpi_bars import CSS as BARS
from subsalt.report.mpi_bars import columns, legend, stacked
from subsalt.report.style import CSS
from subsalt.report.words import seconds as in_words
from subsalt.report.words import size

#: ranks that have a bar of their own; of more, some from the least to the most in MPI
MOST_RANKS = 48
#: rows of a table, at least and at most; those below this part of the time in MPI, or of the wall, are summed; pictures
#: of sizes
LEAST_ROWS, MOST_ROWS, PART, MOST_SIZES = 8, 24, 0.001, 12


def write(profile: Profile, path: str | Path) -> Path:
    """Write the page of a profile.

    Parameters
    ----------
    profile : Profile
        What a program did in MPI.
    path : path
        HTML file.
    """
    from subsalt.io.publish import publish_text

    out = Path(path)
    publish_text(out, page(profile))
    return out


def page(profile: Profile) -> str:
    """Return the page as HTML."""
    found = [(key, title, part(profile)) for key, title, part in SECTIONS]
    shown = [(key, title, block) for key, title, block in found if block]
    main = tag(
        "main",
        tag("nav", [tag("a", title, href=f"#{key}") for key, title, _ in shown], class_="contents"),
        [tag("section", tag("h2", title), block, id=key) for key, title, block in shown],
    )
    foot = tag("footer", f"One page, no script, no network: written by subsalt {__version__}.")
    body = tag("body", _header(profile), main, foot)
    return "<!DOCTYPE html>\n" + tag("html", _head(profile), body, lang="en") + "\n"


def _head(profile: Profile) -> Markup:
    style = CSS + BARS
    # the style is allowed by its hash, so that nothing injected could bring one along
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{tables.whole_rows(profile)[0]['case']} · MPI profile"),
        tag("style", Markup(style)),
    )


def _header(profile: Profile) -> Markup:
    how = {"interposer": "by the interposer", "wrapper": "by the run itself"}[profile.source]
    nodes = len(set(profile.hosts))
    facts = [
        profile.mpi,
        f"{profile.ranks} rank{'s' * (profile.ranks != 1)} on {nodes} node{'s' * (nodes != 1)}",
        f"counted {how}",
    ]
    return tag(
        "header",
        tag("h1", "What it does in MPI"),
        tag("p", code(profile.command)),
        tag("p", " · ".join(facts), class_="soft"),
        [tag("p", text, class_="warn") for text in profile.notes],
    )


def _whole(profile: Profile) -> Markup:
    """T1 as cards."""
    waits = sum(profile.waiting) / profile.ranks
    cards = [
        (in_words(profile.mean_wall), "wall, MPI_Init to MPI_Finalize, mean over ranks"),
        (in_words(profile.mpi_time), "of it in MPI"),
        (f"{profile.mpi_percent:.2f} %", "MPI time"),
    ]
    if any(p.waiting for p in profile.phases):
        cards += [
            (in_words(waits), "waiting for others between looks at MPI"),
            (f"{profile.waiting_percent:.2f} %", "MPI time and waiting"),
        ]
    calls = sum(r.calls for r in profile.calls)
    given = sum(r.bytes for r in profile.calls if not r.is_io)
    cards += [
        (f"{calls:,}", "calls of all ranks"),
        (size(given), "in messages, as each rank gives or asks them"),
    ]
    return tag(
        "div", [tag("div", tag("b", v), tag("span", m), class_="card") for v, m in cards], class_="cards"
    )


def _ranks(profile: Profile) -> Markup:
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
            f"{r}",
            number(f"{profile.wall[r]:.3f}"),
            number(f"{profile.mpi_seconds[r]:.3f}"),
            number(f"{waits[r]:.3f}"),
            tag(
                "td",
                stacked(_parts(profile.wall[r], profile.mpi_seconds[r], waits[r]), longest),
                class_="wide",
            ),
        )
        for r in some
    ]
    head = ("rank", _right("wall s"), _right("in MPI s"), _right("waiting s"), "")
    return join([legend(_kinds(profile)), table(head, rows), tag("p", text, class_="soft") if text else None])


def _calls(profile: Profile) -> Markup | None:
    """T2 with bars."""
    return _calls_table(profile, profile.by_call(), "call", lambda r: code(r["call"]))


def _calls_table(profile: Profile, found: Sequence[CallRow], head: str, name: Any) -> Markup | None:
    rows = tables.rows(found, profile)
    if not rows:
        return tag("p", "The program calls nothing of MPI between MPI_Init and MPI_Finalize.", class_="soft")
    most = max(r["seconds"] for r in rows) or 1.0
    kept = _shown([r["mpi_part"] or 0.0 for r in rows])
    body = [
        (
            tag("td", name(r), class_="name"),
            number(f"{r['seconds']:,.4f}"),
            number(_percent(r["mpi_part"])),
            number(_percent(r["wall_part"])),
            number(f"{r['calls']:,}"),
            number("" if r["bytes"] is None else size(r["bytes"])),
            number(f"{1e6 * r['mean']:,.2f}" if r["mean"] is not None else ""),
            number(f"{r['least_rank']:,.4f}"),
            number(f"{r['most_rank']:,.4f}"),
            tag("td", bar(r["seconds"] / most), class_="wide"),
        )
        for r in rows[:kept]
    ]
    heads = (
        "s, all ranks",
        "% of MPI",
        "% of wall",
        "calls",
        "bytes",
        "µs a call",
        "least rank s",
        "most rank s",
    )
    rest = rows[kept:]
    foot = (f"{len(rest)} more", number(f"{sum(r['seconds'] for r in rest):,.4f}"), *[""] * 8) if rest else ()
    return table((head, *map(_right, heads), ""), body, foot)


def _phases(profile: Profile) -> Markup | None:
    """Phases of the program: what of each is in MPI, and waiting."""
    if not any(p.phase for p in profile.phases):
        return None
    # the waiting of a phase is told as a phase of its own: here they stand in one bar
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
    order = sorted(sums.items(), key=lambda item: -item[1][0])
    most, kept = order[0][1][0], _shown([v[0] / profile.mean_wall for _, v in order], MOST_ROWS * 2)
    rest = order[kept:]
    rows: list[tuple[Any, ...]] = [
        (
            name,
            number(f"{wall:.3f}"),
            number(_percent(wall / profile.mean_wall if profile.mean_wall > 0 else None)),
            number(f"{called:.3f}"),
            number(f"{waits:.3f}"),
            tag("td", stacked(_parts(wall, called, waits), most), class_="wide"),
        )
        for name, (wall, called, waits) in order[:kept]
    ]
    if rest:
        left = sum(v[0] for _, v in rest)
        rows.append(
            (
                f"{len(rest)} more",
                number(f"{left:.3f}"),
                number(_percent(left / profile.mean_wall)),
                *[""] * 3,
            )
        )
    head = ("phase", _right("s, mean"), _right("% of wall"), _right("in MPI s"), _right("waiting s"), "")
    total = sum(v[0] for v in sums.values())
    foot = ("all", number(f"{total:.3f}"), number(_percent(total / profile.mean_wall)), *[""] * 3)
    return join([legend(_kinds(profile)), table(head, rows, foot)])


def _sizes(profile: Profile) -> Markup | None:
    """One picture of calls by size for each function that carries bytes."""
    carrying = [r for r in profile.by_call() if r.sizes]
    if not carrying:
        return None
    figures = []
    for r in carrying[:MOST_SIZES]:
        low, high = r.sizes[0].bytes_from.bit_length(), r.sizes[-1].bytes_from.bit_length()
        known = {b.bytes_from.bit_length(): b for b in r.sizes}
        values = []
        for bits in range(low, high + 1):
            b = known.get(bits)
            text = f"{tables.size_text(1 << bits >> 1)} bytes: " if bits else "no bytes: "
            text += f"{b.calls:,} calls, {b.seconds:.4g} s, {b.bytes:,} bytes" if b else "none"
            values.append((float(b.calls) if b else 0.0, text))
        ends = [tables.size_text(k.bytes_from) for k in (r.sizes[0], r.sizes[-1])]
        caption = tag("figcaption", tag("b", r.call), f" {r.calls:,} calls, {size(r.bytes)}")
        figures.append(
            tag("figure", caption, columns(values, f"{ends[0]} B", f"{ends[1]} B" if high > low else ""))
        )
    about = "Height: calls. Every column stands for sizes up to the double; at the ends the smallest and the largest."
    return join([tag("p", about, class_="soft"), tag("div", figures, class_="sizes")])


def _sites(profile: Profile) -> Markup | None:
    """Call sites, where they were told apart."""
    known = [r for r in profile.by_site() if r.site]
    if all(r.call in ("MPI_Barrier", "MPI_Ibarrier") for r in known):
        return None  # those are always told apart, and have a section of their own
    return (
        _calls_table(profile, known, "called from", lambda r: [code(r["place"]), " ", r["call"]])
        if known
        else None
    )


def _files(profile: Profile) -> Markup | None:
    """MPI-IO."""
    rows = tables.file_rows(profile)
    if not rows:
        return None
    body = [
        (
            tag("td", code(r["call"]), class_="name"),
            number(f"{r['calls']:,}"),
            number("" if r["bytes"] is None else size(r["bytes"])),
            number(f"{r['seconds']:,.4f}"),
            number("" if r["rate"] is None else f"{r['rate'] / 1e9:.3g}"),
        )
        for r in rows
    ]
    return table(("call", *map(_right, ("calls", "bytes", "s, all ranks", "GB/s of a rank"))), body)


def _barriers(profile: Profile) -> Markup | None:
    """What the audit says of every place that calls a barrier."""
    if not profile.audit:
        return None
    sites = sites_of(barriers_of(profile.audit))
    if not sites:
        return tag("p", "The program calls no barrier.", class_="good")
    body = []
    for site in sites:
        r: Mapping[str, Any] = site.row(sum(profile.wall))
        colour = {"candidate": "warn", "keep": "good"}.get(site.kind)
        late = "" if r["late_share"] is None else f"{100 * r['late_share']:.0f}"
        body.append(
            (
                tag("td", code(shown(r["site"], profile.places, Path.cwd())), class_="name"),
                f"{r['comm']} ({r['comm_size']})",
                number(f"{r['count']:,}"),
                number(f"{r['seconds']:.3f}"),
                number(_percent(r["seconds"] / sum(profile.wall))),
                number(late),
                tag("td", tag("b", r["class"], class_=colour), ": ", r["reason"], class_="text"),
            )
        )
    heads = (_right("count"), _right("s, all ranks"), _right("% of wall"), _right("late %"))
    about = (
        "Late: the part of the time that is waiting for ranks that came later, which another call would take over. "
        "subsalt lab barriers --try measures what a barrier less saves."
    )
    return join([table(("called from", "ranks", *heads, "verdict"), body), tag("p", about, class_="soft")])


def _background(profile: Profile) -> Markup | None:
    """Calls of other threads than the one that started MPI."""
    rows = tables.background_rows(profile)
    if not rows:
        return None
    body = [
        (tag("td", code(r["call"])), number(f"{r['calls']:,}"), number(f"{r['seconds']:,.4f}")) for r in rows
    ]
    about = "They run beside the program: their time is in no figure above."
    return join(
        [tag("p", about, class_="soft"), table(("call", _right("calls"), _right("s, all ranks")), body)]
    )


def _parts(wall: float, called: float, waits: float) -> list[tuple[str, float]]:
    return [("work", max(0.0, wall - called - waits)), ("mpi", called), ("wait", waits)]


def _kinds(profile: Profile) -> tuple[str, ...]:
    return ("work", "mpi", "wait") if any(p.waiting for p in profile.phases) else ("work", "mpi")


def _shown(parts: Sequence[float], most: int = MOST_ROWS) -> int:
    """Return how many of these parts, in falling order, have a row of their own."""
    return min(most, max(LEAST_ROWS, sum(p >= PART for p in parts)))


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.2f}"


def _right(text: str) -> Markup:
    return tag("th", text, class_="number", scope="col")


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
