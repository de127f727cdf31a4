"""Which algorithm of each collective is fastest here: the measurement from its request to its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.host import usable_cores
from subsalt.machine.load import Watch
from subsalt.report.table import Column
from subsalt.view import palettes, style
from subsalt_lab.collectives.choice import Algorithm, AlgorithmChoice
from subsalt_lab.collectives.decide import LEAST_RATIO, PlaceVerdict, choices, verdicts
from subsalt_lab.collectives.request import TuningRequest
from subsalt_lab.collectives.sweep import Sweep, sweep
from subsalt_lab.result import Result, Say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from subsalt_lab.pmpi.mpi_in_use import MpiInUse


COLUMNS = (
    Column("collective", "collective"),
    Column("ranks", "ranks", "d"),
    Column("size", "bytes"),
    Column("default_us", "default us", ".4g"),
    Column("best", "best other"),
    Column("best_us", "us", ".4g"),
    Column("ratio", "ratio", ".2f"),
    Column("interval", "95 % interval"),
    Column("verdict", "verdict"),
)
UNITS = {
    "bytes": "B of one rank; of alltoall for one other rank",
    "default_us": "us, median, of the slowest rank",
    "best_us": "us, median, of the slowest rank",
    "ratio": "default / best, median over rounds",
    "ratio_low": "lower end of the 95 % interval of the ratio, over rounds and starts",
    "ratio_high": "upper end of it",
    "p": "chance of such a difference, corrected after Holm for all algorithms",
    "seconds": "s of a call, one line per start",
}


@dataclass
class Tuning(Result):
    """Result of a tuning: measurements and decisions.

    Parameters
    ----------
    choices : sequence of AlgorithmChoice
        The switches that the measurements carry.
    applicable : bool
        Whether they may be applied: every rank had a core, and nothing else used it.
    left_out : sequence of str
        Algorithms that were not timed, and why.
    """

    choices: Sequence[AlgorithmChoice] = ()
    applicable: bool = True
    left_out: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, every sample included."""
        return super().to_dict() | {
            "choices": [c.to_dict() for c in self.choices],
            "applicable": self.applicable,
            "left_out": list(self.left_out),
        }

    def short(self) -> dict[str, Any]:
        """Return plain values without the samples."""
        plain = self.to_dict()
        return plain | {
            "rows": [{k: v for k, v in row.items() if k != "algorithms"} for row in plain["rows"]]
        }


def tune(
    mpi: MpiInUse,
    request: TuningRequest,
    *,
    writable: Callable[[Algorithm], str] = lambda algorithm: "",
    measure: Callable[..., Sweep] = sweep,
    say: Say = lambda text: None,
) -> Tuning:
    """Measure the algorithms of an MPI and decide which of them to use.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI.
    request : TuningRequest
        The measurement to run.
    writable : callable
        Says why an algorithm cannot be chosen for a program; empty: it can.
    measure : callable
        As `sweep.sweep`.
    say : callable
        Callback for progress text.
    """
    with Watch(min(request.ranks[-1], usable_cores())) as watch:
        swept = measure(mpi, request, say=say)
    decided = verdicts(swept.samples, swept.floor, writable)
    noisy = swept.crowded or watch.text()
    switches = choices(decided)
    left_out = [x.text() for x in swept.left_out]
    return Tuning(
        "collectives",
        request.to_dict() | {"mpi": mpi.name, "launcher": mpi.launcher.name, "floor": swept.floor},
        rows(swept, decided),
        UNITS,
        watch.facts() | ({"noisy": True, "oversubscribed": swept.crowded} if swept.crowded else {}),
        [
            f"{mpi.name}; {request.starts} starts of {request.rounds} rounds; algorithms in random order in each round",
            *left_out,
            *_said(mpi.name, switches, noisy),
        ],
        choices=switches,
        applicable=not noisy,
        left_out=left_out,
    )


def rows(swept: Sweep, decided: Sequence[PlaceVerdict]) -> list[dict[str, Any]]:
    """Return one row per place, with the samples of all of its algorithms."""
    out = []
    for v in decided:
        here = [s for s in swept.samples if s.place == (v.collective, v.comm_size, v.nbytes)]
        out.append(
            v.row()
            | {
                "size": f"{v.nbytes:,}" if v.collective != "barrier" else "-",
                "algorithms": [
                    s.algorithm.to_dict() | {"us": s.us, "seconds": [list(line) for line in s.seconds]}
                    for s in here
                ],
            }
        )
    return out


def _said(name: str, switches: Sequence[AlgorithmChoice], noisy: str) -> list[str]:
    """Return the lines that sum up."""
    if not switches:
        said = [
            f"no change: nothing is surely more than {LEAST_RATIO - 1:.0%} faster than what {name} does by itself"
        ]
    else:
        said = [switch_text(c) for c in switches]
        if any(c.collective in ("reduce", "allreduce") for c in switches):
            said.append(
                "ATTENTION: another reduce or allreduce adds in another order: results of programs that use it change "
                "in their last bits"
            )
    if noisy:
        said.append(f"{noisy}: none of this is applied")
    return said


def switch_text(c: AlgorithmChoice) -> str:
    """Return a line about one switch."""
    sizes = "" if c.bytes_below is None else f" from {c.bytes_from:,} to {c.bytes_below - 1:,} bytes"
    return (
        f"switch {c.collective} on {c.comm_size} ranks{sizes} to {c.algorithm.name}: {c.default_us:.4g} us become "
        f"{c.chosen_us:.4g} us, ratio {c.ratio_low:.2f} to {c.ratio_high:.2f}"
    )


Row = Mapping[str, Any]

#: curves beside that of the library's own choice, distinguished by colour, dashes and mark
_COLOURS = palettes.CURVES
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
        Rows of a result of ``subsalt lab collectives``, with their algorithms.
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
    ax.plot(*_axes(own), color=palettes.INK, lw=2.2, label="the library's choice")
    switched = [(r["bytes"], r["best_us"] / unit(r)) for r in rows if r["switch"]]
    ring: dict[str, Any] = {"ms": 9.0, "mfc": "none", "mec": palettes.MARK, "mew": 1.6}
    ax.plot(*_axes(switched), "o", label="surely faster: switch", **ring)
    ax.xaxis.set_major_formatter(FuncFormatter(_bytes))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(True, which="major", lw=0.4, color=palettes.GRID_LINE)
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
            colours = [palettes.INK, *(palettes.MARK if n == chosen else _COLOURS[0] for n in names)]
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
