"""Curves on logarithmic axes as inline SVG: no script, no style attribute, legible in the dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from subsalt.report.render import part

if TYPE_CHECKING:
    from markupsafe import Markup

#: size of a chart, and room for its axes
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 260, 62, 12, 12, 34
#: curves that are told apart by colour and marker; more are left out
MOST = 6

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
    shown = dict(list(drawn.items())[:MOST])
    if not shown:
        return None
    xs = [x for some in shown.values() for x, _ in some]
    ys = [y for some in shown.values() for _, y in some]
    (x0, x1), (y0, y1) = _decades(xs), _decades(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0)
        up = (math.log10(y) - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    lines, texts = _grid((x0, x1), (y0, y1), at)
    texts += [
        (f"{WIDTH - RIGHT:.1f}", f"{HEIGHT - 4:.1f}", x_name, "end"),
        ("4.0", f"{TOP:.1f}", y_name, "start"),
    ]
    left_out = f" ({len(drawn) - MOST} more in the table)" if len(drawn) > MOST else ""
    content = {
        "title": title + left_out,
        "width": WIDTH,
        "height": HEIGHT,
        "lines": lines,
        "texts": texts,
        "curves": [[(f"{x:.1f}", f"{y:.1f}") for x, y in (at(*p) for p in some)] for some in shown.values()],
        "names": list(shown),
    }
    return part("parts.html", "chart", content)


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


def _grid(
    across: tuple[float, float], up: tuple[float, float], at: Callable[[float, float], tuple[float, float]]
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return lines (x1, x2, y1, y2) and texts (x, y, text, anchor) at round values of both axes."""
    lines: list[tuple[str, ...]] = []
    texts: list[tuple[str, ...]] = []
    for value in _ticks(*across):
        x, _ = at(value, 10 ** up[0])
        lines.append((f"{x:.1f}", f"{x:.1f}", str(TOP), str(HEIGHT - BOTTOM)))
        texts.append((f"{x:.1f}", f"{HEIGHT - BOTTOM + 14:.1f}", short(value), "middle"))
    for value in _ticks(*up):
        _, y = at(10 ** across[0], value)
        lines.append((str(LEFT), str(WIDTH - RIGHT), f"{y:.1f}", f"{y:.1f}"))
        texts.append((f"{LEFT - 5:.1f}", f"{y + 4:.1f}", short(value), "end"))
    return lines, texts


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two powers of ten: decades, or 1, 2, 5 where there are few."""
    steps = (1.0,) if high - low > 2.5 else (1.0, 2.0, 5.0)
    ticks = [s * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    ticks = [v for v in ticks if low <= math.log10(v) <= high]
    return ticks[:: max(1, math.ceil(len(ticks) / 7))]


def short(value: float) -> str:
    """Return a number of an axis: ``5``, ``20k``, ``1M``, ``0.02``."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:g}" if value >= 0.001 else f"{value:.0e}"
