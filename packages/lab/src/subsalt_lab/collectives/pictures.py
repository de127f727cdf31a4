"""Pictures of collectives: the time of a call by its size, one curve per algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.view import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]

#: curves beside that of the library's own choice, told apart by colour and mark (Okabe and Ito's, without yellow)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f")
_LINES = ("-", "--", ":")
_MARKS = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "*")
_WIDE, _TALL, _LOW, _GAP = 3.6, 3.1, 1.7, 0.5
_LEFT, _TOP, _KEY = 0.8, 0.85, 2.6
_BAR = 0.24


def collective_pictures(rows: Sequence[Row], folder: Path, about: str = "") -> list[Path]:
    """Draw one picture per collective, with a panel for each number of ranks.

    Parameters
    ----------
    rows : sequence of mapping
        Of a result of ``subsalt lab collectives``, with their algorithms.
    folder : path
        Where ``COLLECTIVE.png`` are written.
    about : str
        A line beneath the heading: library, machine.
    """
    out = []
    for collective in dict.fromkeys(str(r["collective"]) for r in rows):
        some = [r for r in rows if r["collective"] == collective]
        path = folder / f"{collective}.png"
        if collective == "barrier":
            _bars(some, path, about)
        else:
            _curves(collective, some, path, about)
        out.append(path)
    return out


def _names(rows: Sequence[Row]) -> list[str]:
    """Return all algorithms but the library's own choice, in the order of the library."""
    names = dict.fromkeys(a["name"] for r in rows for a in r["algorithms"] if a["settings"])
    return list(names)


def _look(n: int) -> dict[str, Any]:
    style_ = _LINES[n // len(_COLOURS) % len(_LINES)]
    return {"color": _COLOURS[n % len(_COLOURS)], "marker": _MARKS[n % len(_MARKS)], "ls": style_}


def _curves(collective: str, rows: Sequence[Row], path: Path, about: str) -> None:
    ranks = sorted({r["ranks"] for r in rows})
    names = _names(rows)
    size = (_LEFT + len(ranks) * (_WIDE + _GAP) + _KEY, _TOP + _TALL + _GAP + _LOW + 0.55)
    title = f"{collective}: time of a call by size"
    with style.page(path, size, title=title, about=about) as fig:
        style.heading(fig, title, about)
        for i, p in enumerate(ranks):
            here = sorted((r for r in rows if r["ranks"] == p), key=lambda r: r["bytes"])
            left = _LEFT + i * (_WIDE + _GAP)
            above = style.place(fig, (left, _TOP, _WIDE, _TALL))
            below = style.place(fig, (left, _TOP + _TALL + _GAP, _WIDE, _LOW))
            _panel(above, here, names, lambda r: 1.0)
            above.set_title(f"{p} ranks")
            above.set_ylim(*_limits(rows))
            _panel(below, here, names, lambda r: float(r["default_us"]))
            below.set_ylim(0.45, 4.0)
            below.set_yticks([0.5, 1, 2, 4])
            below.minorticks_off()
            below.set_xlabel("bytes of one rank")
            if i == 0:
                above.set_ylabel("microseconds")
                below.set_ylabel("over the library's choice")
            else:
                above.tick_params(labelleft=False)
                below.tick_params(labelleft=False)
        handles, labels = above.get_legend_handles_labels()
        corner = (1 - (_KEY - 0.05) / size[0], 1 - _TOP / size[1])
        fig.legend(handles, labels, loc="upper left", bbox_to_anchor=corner, frameon=False, borderaxespad=0.0)


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ends of the time axis, the same for all panels."""
    times = [a["us"] for r in rows for a in r["algorithms"]]
    return min(times) / 1.3, max(times) * 1.3


def _panel(ax: Axes, rows: Sequence[Row], names: Sequence[str], unit: Callable[[Row], float]) -> None:
    """Draw times in a unit: microseconds, or what the library's own choice takes."""
    from matplotlib.ticker import FuncFormatter

    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    for n, name in enumerate(names):
        # an empty curve keeps its place in the key
        points = [(r["bytes"], a["us"] / unit(r)) for r in rows for a in r["algorithms"] if a["name"] == name]
        ax.plot(*_axes(points), lw=0.9, ms=3.4, label=name, **_look(n))
    own = [(r["bytes"], r["default_us"] / unit(r)) for r in rows]
    ax.plot(*_axes(own), color=style.INK, lw=2.2, label="the library's choice")
    switched = [(r["bytes"], r["best_us"] / unit(r)) for r in rows if r["switch"]]
    ring: dict[str, Any] = {"ms": 9.0, "mfc": "none", "mec": style.OUTSIDE, "mew": 1.6}
    ax.plot(*_axes(switched), "o", label="surely faster: switch", **ring)
    ax.xaxis.set_major_formatter(FuncFormatter(_bytes))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(True, which="major", lw=0.4, color="#dddddd")
    ax.set_axisbelow(True)


def _axes(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _bytes(value: float, _: object) -> str:
    for unit, one in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= one:
            return f"{value / one:g}{unit}"
    return f"{value:g}"


def _bars(rows: Sequence[Row], path: Path, about: str) -> None:
    """Draw the barrier, which has no size: one bar per algorithm."""
    names = _names(rows)
    tall = _BAR * (len(names) + 1) + 0.2
    size = (1.9 + len(rows) * 3.4, _TOP + tall + 0.6)
    title = "barrier: time of a call"
    with style.page(path, size, title=title, about=about) as fig:
        style.heading(fig, title, about)
        for i, r in enumerate(sorted(rows, key=lambda r: r["ranks"])):
            ax = style.place(fig, (1.75 + i * 3.4, _TOP, 3.0, tall))
            us = {a["name"]: a["us"] for a in r["algorithms"] if a["settings"]}
            values = [r["default_us"], *(us.get(n, 0.0) for n in names)]
            chosen = r["switch"] and r.get("best")
            colours = [style.INK, *(style.OUTSIDE if n == chosen else _COLOURS[0] for n in names)]
            ax.barh(range(len(values)), values, height=0.7, color=colours)
            for y, v in enumerate(values):
                ax.text(v, y, f" {v:.3g}" if v else " left out", va="center", fontsize=8)
            ax.set_xlim(0, 1.2 * max(values))
            ax.set_yticks(
                range(len(values)), ["the library's choice", *names] if i == 0 else [""] * len(values)
            )
            ax.invert_yaxis()
            ax.set_title(f"{r['ranks']} ranks")
            ax.set_xlabel("microseconds, slowest rank, median")
