"""What the report says of the ranks of a run: groups, time by phase over all of them, and the input they moved."""

from __future__ import annotations

from typing import Any

from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section
from subsalt.report.html import Markup, bar, join, number, table, tag


def ranks(facts: RunFacts) -> Markup | None:
    """Groups and phases over the ranks; None for a process alone."""
    parallel, over = section(facts.run, "parallel"), section(facts.run, "over_ranks")
    count: Any = parallel.get("ranks")
    if not words.is_number(count) or count < 2:
        return None
    return join(
        [_groups(parallel, facts.unit), _phases(section(over, "phases")), _input(section(over, "input"))]
    )


def _groups(parallel: dict[str, Any], unit: str) -> Markup:
    """One sentence on who worked with whom."""
    sizes = [n for n in listed(parallel, "groups") if words.is_number(n)]
    each = (
        f"{min(sizes)}" if sizes and min(sizes) == max(sizes) else " or ".join(map(str, sorted(set(sizes))))
    )
    parts = [
        f"{parallel['ranks']} ranks on {_nodes(parallel.get('nodes'))}",
        _gpus(parallel),
        f"{parallel['threads']} threads each" if words.is_number(parallel.get("threads")) else "",
        f"in {len(sizes)} groups of {each}, one {unit} each"
        if len(sizes) > 1
        else f"all on one {unit} at a time",
    ]
    idle = parallel.get("idle_ranks")
    if words.is_number(idle) and idle:
        parts.append(
            f"{idle} of them without {unit}s: slabs of larger groups would be thinner than their halo"
        )
    return tag("p", ", ".join(p for p in parts if p) + ".")


def _gpus(parallel: dict[str, Any]) -> str:
    """Return how many GPUs they computed on, and which; empty on processors."""
    seats = [s for s in listed(parallel, "gpus") if isinstance(s, dict)]
    count = len({(str(s.get("host")), str(s.get("bus"))) for s in seats})
    names = ", ".join(dict.fromkeys(str(s.get("name")) for s in seats))
    return f"on {count} GPU{'s' * (count != 1)} ({names})" if seats else ""


def _nodes(count: Any) -> str:
    return f"{count} nodes" if words.is_number(count) and count != 1 else "1 node"


def _phases(phases: dict[str, Any]) -> Markup | None:
    """Mean and largest seconds of every phase over the ranks."""
    mean = {k: v.get("mean") for k, v in phases.items() if isinstance(v, dict)}
    largest = {k: v.get("max") for k, v in phases.items() if isinstance(v, dict)}
    if not mean:
        return None
    rows, wall = words.phase_rows(mean)
    most = max([v for _, v in rows] + [1e-9])
    body = [
        (
            name,
            number(f"{v:.3f}"),
            number(_seconds(largest.get(name))),
            tag("td", bar(v / most), class_="wide"),
        )
        for name, v in rows
    ]
    head = (
        "phase",
        tag("th", "mean, seconds", class_="number"),
        tag("th", "largest", class_="number"),
        "",
    )
    foot = ("wall", number(f"{wall:.3f}"), number(_seconds(largest.get("wall"))), "")
    return table(head, body, foot, class_="phases")


def _seconds(value: Any) -> str:
    return f"{value:.3f}" if words.is_number(value) else ""


def _input(kinds: dict[str, Any]) -> Markup | None:
    """Bytes that were asked for and bytes that moved, summed over the ranks."""
    names = {"traces": "traces", "all": "all input, checks included"}
    rows = []
    for kind, label in names.items():
        known = section(kinds, kind)
        amounts: list[Any] = [known.get(k) for k in ("wanted", "read", "received")]
        if not all(words.is_number(v) for v in amounts):
            continue
        wanted, read, received = amounts
        ratio = f"{(read + received) / wanted:.2f}" if wanted else ""
        rows.append((label, *(number(words.size(v)) for v in (wanted, read, received)), number(ratio)))
    if not rows:
        return None
    head = (
        "input",
        *(tag("th", h, class_="number") for h in ("wanted", "read", "received", "moved / wanted")),
    )
    return table(head, rows)
