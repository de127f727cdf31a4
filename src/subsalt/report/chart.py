"""Curves on logarithmic axes as inline SVG: no script, no style attribute, legible in the dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from subsalt.report.html import Markup, tag

#: size of a chart, and room for its axes
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 260, 62, 12, 12, 34
#: curves that are told apart by colour and marker; more are left out
MOST = 6

CSS = """
svg.chart { width: 100%; max-width: 620px; height: auto; display: block; margin: 8px 0 2px; }
svg.chart text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg.chart line { stroke: var(--line); stroke-width: 1; }
svg.chart polyline { fill: none; stroke-width: 2; } svg.chart circle { stroke: none; }
.c0 { stroke: #1f6fb4; fill: #1f6fb4; color: #1f6fb4; } .c1 { stroke: #c2571a; fill: #c2571a; color: #c2571a; }
.c2 { stroke: #2b8a4b; fill: #2b8a4b; color: #2b8a4b; } .c3 { stroke: #8a4fb0; fill: #8a4fb0; color: #8a4fb0; }
.c4 { stroke: #b0334f; fill: #b0334f; color: #b0334f; } .c5 { stroke: #6b6b1f; fill: #6b6b1f; color: #6b6b1f; }
@media (prefers-color-scheme: dark) {
.c0 { stroke: #6db3ee; fill: #6db3ee; color: #6db3ee; } .c1 { stroke: #f0985a; fill: #f0985a; color: #f0985a; }
.c2 { stroke: #6fce93; fill: #6fce93; color: #6fce93; } .c3 { stroke: #c79be8; fill: #c79be8; color: #c79be8; }
.c4 { stroke: #f08aa0; fill: #f08aa0; color: #f08aa0; } .c5 { stroke: #cfcf6a; fill: #cfcf6a; color: #cfcf6a; } }
.legend { font-size: 12.5px; display: flex; flex-wrap: wrap; gap: 2px 14px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 4px 18px; }
"""

Curve = Sequence[tuple[float, float]]


def curves(title: str, x_name: str, y_name: str, series: Mapping[str, Curve]) -> Markup | None:
    """Return curves over logarithmic axes with a legend; None when nothing can be drawn.

    Parameters
    ----------
    title, x_name, y_name : str
        What is drawn, and what stands at the axes, with units.
    series : mapping of str to sequence of (x, y)
        By name; points that are not positive and finite are left out, curves of fewer than two points too.
    """
    drawn = {name: _points(some) for name, some in series.items()}
    drawn = {name: some for name, some in list(drawn.items()) if len(some) > 1}
    kept = dict(list(drawn.items())[:MOST])
    if not kept:
        return None
    xs = [x for some in kept.values() for x, _ in some]
    ys = [y for some in kept.values() for _, y in some]
    (x0, x1), (y0, y1) = _decades(xs), _decades(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0)
        up = (math.log10(y) - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [*_grid(x0, x1, y0, y1, at), _text(WIDTH - RIGHT, HEIGHT - 4, x_name, "end")]
    parts.append(_text(4, TOP, y_name, "start"))
    for number, some in enumerate(kept.values()):
        places = [at(x, y) for x, y in some]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(tag("polyline", points=line, class_=f"c{number}"))
        parts += [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, class_=f"c{number}") for x, y in places]
    picture = tag("svg", parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="chart", role="img", aria_label=title)
    names = [tag("span", tag("span", "● ", class_=f"c{i}"), name) for i, name in enumerate(kept)]
    left_out = f" ({len(drawn) - MOST} more in the table)" if len(drawn) > MOST else ""
    return tag("figure", tag("figcaption", title, left_out), picture, tag("div", names, class_="legend"))


def _points(some: Curve) -> list[tuple[float, float]]:
    good = [
        (float(x), float(y)) for x, y in some if x > 0 and y > 0 and math.isfinite(x) and math.isfinite(y)
    ]
    return sorted(good)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis in powers of ten: close around the values, never empty."""
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 0.2:
        return low - 0.15, high + 0.15
    room = 0.04 * (high - low)
    return low - room, high + room


def _grid(x0: float, x1: float, y0: float, y1: float, at: object) -> list[Markup]:
    """Return lines and numbers at round values of both axes."""
    assert callable(at)
    parts = []
    for value in _ticks(x0, x1):
        x, _ = at(value, 10**y0)
        parts.append(tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP, y2=HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 14, short(value), "middle"))
    for value in _ticks(y0, y1):
        _, y = at(10**x0, value)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        parts.append(_text(LEFT - 5, y + 4, short(value), "end"))
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two powers of ten: decades, or 1, 2, 5 where there are few."""
    steps = (1.0,) if high - low > 2.5 else (1.0, 2.0, 5.0)
    found = [s * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    found = [v for v in found if low <= math.log10(v) <= high]
    return found[:: max(1, math.ceil(len(found) / 7))]


def short(value: float) -> str:
    """Return a number of an axis: ``5``, ``20k``, ``1M``, ``0.02``."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:g}" if value >= 0.001 else f"{value:.0e}"


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
