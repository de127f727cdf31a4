"""How long does each program take for a shot in rock that is right to 1 % in every record, in 3-D?

    python benchmarks/accuracy_rock.py [iso vti] [--flat] [--scan]

The case `rock` of `make bench-accuracy` (`peers/rock_case.py`): velocity grows from 1500 to 4500 m/s over 40 shortest
wavelengths of the top. Ours is `subsalt.forward` with ``grid = "auto"``, on a uniform depth axis and on one that
follows the velocity, with its layer of 12 cells. Devito has Taylor weights of order 8, 12 and 16, damping, 0.99 of the
largest stable time step and the same correction of time dispersion; of its grids, on all of which source and receivers
are nodes, the coarsest on which every record is right. The records are judged by `rock_reference.py`; ``--flat`` is the
case in 2-D, ``--scan`` prints the errors of Devito's grids and times nothing. ``--part N`` lets Devito make N of its
steps in every timed round and scales their time to all; its records are judged once, after a whole run, and with
``--unjudged`` not at all. In a medium whose reference is not kept nothing is judged.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from facts import machine, spread
from rock_case import (
    BOTTOM,
    DT,
    F0,
    LENS_STRENGTH,
    MEDIA,
    REFLECTOR_STRENGTH,
    SAMPLES,
    SHORTEST,
    Setting,
    name_of,
)
from rock_reference import is_kept, kept, relative
from sides import HUGE_PAGES, Side, Worker

from run import ratio
from subsalt import ricker
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.rtm.traces import source_samples, to_record
from subsalt.numerics.stencil import Stencil

ACCURACY = 0.01
#: points per shortest wavelength of the model that ours is given, and its orders
GIVEN, OUR_ORDERS = 4.5, (8, 12)
#: depth axes of ours
AXES = ("uniform", "auto")
#: a part of the largest stable time step
OF_STABLE = 0.99
#: Devito's orders, the grids that are tried, in points per shortest wavelength, and the cells of its layer
PEER_ORDERS, PEER_POINTS, PEER_LAYER = (8, 12, 16), (4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 8.0), 40
#: amplitude that a wave at normal incidence keeps on its way through the layer and back
PEER_ECHO = 1e-4


def peer_setting(
    medium: str, ndim: int, order: int, points: float, layer: int, echo: float, folder: str
) -> Setting:
    """Return how Devito computes."""
    spacing = SHORTEST / points
    nyquist = Stencil(order, "taylor").nyquist()
    epsilon = MEDIA[medium][0]
    fastest = BOTTOM * (1 + LENS_STRENGTH * 0.7) * (1 + REFLECTOR_STRENGTH)
    across = 1 + 2 * epsilon
    # an upright axis: across it ndim - 1 directions; a tilted one: at most all
    symbol = nyquist * ((ndim - 1) * across + (across if medium == "tti" else 1))
    dt = OF_STABLE * 2 * spacing / (fastest * math.sqrt(symbol))
    steps = math.ceil((SAMPLES - 1) * DT / dt) + 40
    return Setting(
        medium, order, spacing, folder, ndim, options={"layer": layer, "echo": echo}, dt=dt, nt=steps
    )


@dataclass
class Entry:
    """One side: what it computes, who computes it, and what was found."""

    setting: Setting
    peer: str = ""
    worker: Worker | None = None
    error: float = math.nan
    each: list[float] = field(default_factory=lambda: [math.nan])
    seconds: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def start(self, threads: int) -> None:
        """Start the process; the peer compiles and tunes."""
        ours = Side("subsalt_rock.py", "", env={"XDG_CACHE_HOME": self.setting.folder})
        theirs = Side("devito_rock.py", "", "devito", env=HUGE_PAGES)
        self.worker = Worker(theirs if self.peer else ours, self.setting, threads)  # type: ignore[arg-type]
        if self.peer:
            self.worker.ask("tune")

    def round(self, steps: int = 0) -> float:
        """Model the shot once, judge its records unless the peer makes only some `steps`, and return the seconds."""
        assert self.worker is not None
        setting, traces = self.setting, Path(self.setting.folder) / "traces.npy"
        if not self.peer:
            seconds, steps = float(self.worker.ask("round", out=str(traces))), 0
            records = np.load(traces)
        else:
            axis = TimeAxis(setting.nt, setting.dt)
            begin = time.perf_counter()
            np.save(
                wavelet := traces.with_name("wavelet.npy"), source_samples(ricker(F0, DT / 4), axis, True)
            )
            before = time.perf_counter() - begin
            seconds = before + self.worker.ask("round", wavelet=str(wavelet), out=str(traces), steps=steps)
            begin = time.perf_counter()
            mapping = to_record(axis, TimeAxis(SAMPLES, DT), time_dispersion=True)
            records = mapping.apply(np.load(traces).astype(np.float64))
            seconds += time.perf_counter() - begin
        self.facts = self.worker.ask("facts")
        name = name_of(setting.medium, setting.ndim)
        if not steps and is_kept(name):
            self.error, self.each = relative(records, kept(name))
        return seconds

    def row(self) -> dict[str, Any]:
        """Return what there is to publish."""
        assert self.worker is not None
        return {
            "order": self.setting.order,
            "points": round(self.setting.points, 3),
            "layer": self.setting.options.get("layer", 12) if self.setting.options else 12,
            "dt": round(self.facts["dt"], 7),
            "point_steps": self.facts["point_steps"],
            "error": None if math.isnan(self.error) else float(f"{self.error:.3g}"),
            "worst_record": None if math.isnan(self.error) else max(self.each),
            "seconds": round(median(self.seconds), 3),
            "spread": round(spread(self.seconds), 4),
            "peak_bytes": self.worker.ask("memory")["peak"],
            "version": self.facts["version"],
        }

    def close(self) -> None:
        """End the process."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def coarsest(medium: str, ndim: int, order: int, options: argparse.Namespace, folder: Path) -> Entry | None:
    """Return the side of the peer on the coarsest grid on which every record is right, or on the one that is given.

    None where no grid is right.
    """
    given = [points for at, points in options.grids if at == order]
    for points in given or options.points:
        where = folder / f"devito-{order}-{points:g}"
        where.mkdir()
        entry = Entry(
            peer_setting(medium, ndim, order, points, options.layer, options.echo, str(where)), "devito"
        )
        entry.start(options.threads)
        seconds = entry.round(options.part if options.unjudged else 0)
        print(
            f"{name_of(medium, ndim)}: Devito, order {order}, {points:g} points, "
            f"layer {options.layer}, echo {options.echo:g}: "
            f"{entry.error:.2%}, worst {max(entry.each):.2%}, {seconds:.1f} s",
            entry.each,
            flush=True,
        )
        if (given or max(entry.each) <= ACCURACY) and not options.scan:
            return entry
        entry.close()
    return None


def measure(medium: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one medium and return its row."""
    ndim = 2 if options.flat else 3
    sides: dict[str, Entry] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for order in dict.fromkeys(order for order, _ in options.grids) or options.peer_orders:
                coarse = coarsest(medium, ndim, order, options, Path(folder))
                if coarse is not None:
                    sides[f"Devito, order {order}"] = coarse
            for order in () if options.scan else options.orders:
                for axis in options.axes:
                    where = Path(folder) / f"ours-{order}-{axis}"
                    where.mkdir()
                    keys: dict[str, object] = {"grid": "auto", "depth_axis": axis}
                    setting = Setting(medium, order, SHORTEST / GIVEN, str(where), ndim, options=keys)
                    sides[f"order {order}, depth axis {axis}"] = entry = Entry(setting)
                    entry.start(options.threads)
                    entry.round()
            for i in range(0 if options.scan else options.rounds):
                for name in sides if i % 2 == 0 else reversed(sides):
                    sides[name].seconds.append(sides[name].round(options.part))
            rows = {name: entry.row() for name, entry in sides.items()} if not options.scan else {}
        finally:
            for entry in sides.values():
                entry.close()
    theirs = [name for name in rows if sides[name].peer]
    best = min(theirs, key=lambda n: rows[n]["seconds"], default=None)
    for name, row in rows.items():
        said = f"{median(ratio_of(sides[best], sides[name])):.2f}" if best else ""
        print(
            f"{name:32}{row['points']:6.2f}{row['point_steps'] / 1e9:8.2f} G{sides[name].error:9.2%}"
            f"{max(sides[name].each):9.2%}{row['seconds']:9.2f} s{row['peak_bytes'] / 1e6:7.0f} MB  {said}",
            flush=True,
        )
    ratios = {n: ratio(sides[best].seconds, sides[n].seconds) for n in rows if best and not sides[n].peer}
    return {"peer": best, "rounds": options.rounds, "ratios": ratios, "sides": rows}


def a_grid(text: str) -> tuple[int, float]:
    """Return the order and the points per shortest wavelength of ``8:3.25``."""
    order, points = text.split(":")
    return int(order), float(points)


def without_file(words: list[str]) -> list[str]:
    """Return the words of a command line without ``--json FILE``."""
    at = words.index("--json") if "--json" in words else len(words)
    return words[:at] + words[at + 2 :]


def ratio_of(theirs: Entry, ours: Entry) -> list[float]:
    """Return the ratio of every round."""
    return [a / b for a, b in zip(theirs.seconds, ours.seconds, strict=True)]


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("media", nargs="*", default=["iso", "vti"], help="iso, vti, tti")
    parser.add_argument("--flat", action="store_true", help="the case in 2-D")
    parser.add_argument("--scan", action="store_true", help="only errors of the peer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer-orders", type=int, nargs="*", default=PEER_ORDERS)
    parser.add_argument("--points", type=float, nargs="+", default=PEER_POINTS, help="of the peer")
    parser.add_argument("--layer", type=int, default=PEER_LAYER, help="cells of the peer's damping")
    parser.add_argument(
        "--grids",
        type=a_grid,
        nargs="*",
        default=[],
        metavar="ORDER:POINTS",
        help="of the peer, right or not",
    )
    parser.add_argument("--orders", type=int, nargs="*", default=OUR_ORDERS, help="ours")
    parser.add_argument("--axes", nargs="*", default=AXES, help="ours: uniform, auto")
    parser.add_argument("--echo", type=float, default=PEER_ECHO, help="what the peer's damping sends back")
    parser.add_argument("--part", type=int, default=0, help="steps of the peer in a timed round")
    parser.add_argument("--unjudged", action="store_true", help="no whole run of the peer")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = {
        "question": "accuracy in rock",
        "command": "python benchmarks/accuracy_rock.py " + " ".join(without_file(sys.argv[1:])),
        "machine": machine(options.threads),
        "media": {medium: measure(medium, options) for medium in options.media},
    }
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
