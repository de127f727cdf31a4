"""Bars of the page of a profile: stacked ones for times, columns for sizes; SVG without a style attribute."""

from __future__ import annotations

from collections.abc import Sequence

from subsalt.report.html import Markup, join, tag

CSS = """
:root { --work: #b9c2cc; --mpi: #1f6fb4; --wait: #d08a1c; }
@media (prefers-color-scheme: dark) { :root { --work: #55606d; --mpi: #6db3ee; --wait: #e6b450; } }
svg.stack { width: 100%; height: 14px; display: block; margin-top: 4px; }
svg.columns { width: 100%; height: 74px; display: block; }
rect.work { fill: var(--work); } rect.mpi { fill: var(--mpi); } rect.wait { fill: var(--wait); }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin: 0 5px 0 14px; }
.key.work { background: var(--work); } .key.mpi { background: var(--mpi); } .key.wait { background: var(--wait); }
.sizes { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); gap: 10px 16px; }
.sizes figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 8px 10px 6px; min-width: 0; }
.sizes figcaption b { color: var(--ink); overflow-wrap: anywhere; }
.ends { display: flex; justify-content: space-between; font-size: 11.5px; color: var(--soft);
  border-top: 1px solid var(--line); }
td.wide { width: 34%; } td.name code { white-space: nowrap; } td.text { min-width: 260px; }
"""

#: columns that there is always room for: a single one would look like a wall
FEWEST = 8
#: kinds of time, as legends call them
KINDS = {"work": "not in MPI", "mpi": "in MPI", "wait": "waiting between looks at MPI"}


def legend(kinds: Sequence[str] = tuple(KINDS)) -> Markup:
    """Return what the colours mean."""
    return tag("p", [[tag("i", class_=f"key {k}"), KINDS[k]] for k in kinds], class_="soft")


def stacked(parts: Sequence[tuple[str, float]], whole: float) -> Markup:
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
        width = 100.0 * max(0.0, seconds) / whole if whole > 0 else 0.0
        width = min(width, 100.0 - at)
        # a rect has no closing tag: the group around it ends it
        drawn.append(tag("g", tag("rect", x=f"{at:.3f}", y=0, width=f"{width:.3f}", height=10, class_=kind)))
        at += width
    return tag(
        "svg", drawn, viewBox="0 0 100 10", preserveAspectRatio="none", class_="stack", aria_hidden="true"
    )


def columns(values: Sequence[tuple[float, str]], first: str, last: str) -> Markup:
    """Return columns side by side, each with a text that shows on hovering.

    Parameters
    ----------
    values : sequence of (float, str)
        Heights, not negative, and texts.
    first, last : str
        What stands below the ends.
    """
    most = max((v for v, _ in values), default=0.0) or 1.0
    step, drawn = 100.0 / max(FEWEST, len(values)), []
    for i, (value, text) in enumerate(values):
        # what is there is seen, however little it is
        height = max(2.0, 58.0 * value / most) if value > 0 else 0.0
        drawn.append(
            tag(
                "g",
                tag("title", text),
                tag(
                    "rect",
                    x=f"{i * step + 0.08 * step:.3f}",
                    y=f"{60 - height:.2f}",
                    width=f"{0.84 * step:.3f}",
                    height=f"{height:.2f}",
                    class_="mpi",
                ),
            )
        )
    picture = tag(
        "svg", drawn, viewBox="0 0 100 60", preserveAspectRatio="none", class_="columns", role="img"
    )
    return join([picture, tag("div", tag("span", first), tag("span", last), class_="ends")])
