"""How long does each program take for a waveform that is right to 1 % after 40 wavelengths, in 3-D?

    make bench-accuracy [MEDIA="iso vti tti"]

A shot in a uniform medium; ten receivers 40 shortest wavelengths (of 2.5 times the peak frequency) away, in ten
directions; the error is relative L2 over the records, against the exact solution. Ours is `subsalt.forward` with its
weights, on the grid for which they promise that accuracy in any direction of any medium. Devito has Taylor weights of
order 8, 12 and 16, each on the coarsest grid that has the accuracy over these records (`peers/plane_waves.py`,
confirmed by the run), 0.99 of the largest stable time step, and the same correction of time dispersion. Its options are
the fastest of `peers/run.py`. Neither has an absorbing layer.

Timed is everything from opening the files of the model to having written the traces. What Devito compiles and tunes is
kept, and not counted. Every side is a process that stays; sides take turns. Prints a table and, last, one JSON object;
``--publish`` keeps it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from facts import machine, spread
from plane_waves import Medium, Scheme
from sides import HUGE_PAGES, Side, Worker
from waveform_case import DT, F0, FAR, MEDIA, SHORTEST, TAIL, VP, Setting, offsets, traveltimes

from run import ratio
from subsalt import analytic, ricker
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.rtm.traces import source_samples, to_record
from subsalt.numerics.stencil import Stencil

ACCURACY = 0.01
#: ours: orders that a user can choose, the default first
OUR_ORDERS = {"iso": (12, 8, 16), "vti": (12, 8, 16), "tti": (8, 12, 16)}
PEER_ORDERS = (8, 12, 16)
#: schemes of the peer (`plane_waves.Scheme`)
KINDS = {"iso": ("",), "vti": ("",), "tti": ("fluxes", "seconds")}
#: a scheme that holds only where the axis does not turn: run, and shown beside what counts
BESIDE = "seconds"
#: a side of the peer may miss the accuracy by so much, in its favour: its grid is predicted
ROOM = 1.05
#: a side of the peer that takes so many times as long as its fastest in the first round, which does not count, is left
#: out of the others
SLOW = 2.0
#: parts of the stable time step at which the peer is predicted without the correction of time dispersion
PARTS = (0.05, 0.1, 0.2)
#: of a record
SAMPLES = math.ceil((FAR / VP + TAIL) / DT) + 1
RESULT = Path(__file__).resolve().parents[1] / "docs" / "performance" / "accuracy.json"


def our_spacing(medium: str, order: int) -> float:
    """Return the spacing of the grid on which our weights promise the accuracy, m."""
    return SHORTEST / Stencil(order, "fitted").points(tilted=medium == "tti")


def exact(medium: str, offset: np.ndarray, samples: int) -> np.ndarray:
    """Return the exact records, (receivers, samples)."""
    fine = 4
    wavelet = ricker(F0, DT / fine).samples
    wavelet = np.pad(wavelet, (0, max(0, fine * samples - len(wavelet))))
    epsilon, theta, phi = MEDIA[medium]
    made = analytic.elliptical_waveform(
        offset, VP, epsilon, wavelet, DT / fine, fine * samples, theta=theta, phi=phi
    )
    return made[:, ::fine]


def looked_at(medium: str, offset: np.ndarray, samples: int) -> np.ndarray:
    """Return True where a record is compared: until the wave has passed, before the echoes of the walls."""
    return DT * np.arange(samples)[None] <= traveltimes(medium, offset)[:, None] + TAIL


def errors(records: np.ndarray, medium: str, offset: np.ndarray) -> tuple[float, list[float]]:
    """Return the relative L2 error over all records, and that of each."""
    truth, used = exact(medium, offset, records.shape[1]), looked_at(medium, offset, records.shape[1])
    off, whole = (((a * used) ** 2).sum(axis=1) for a in (records - truth, truth))
    return math.sqrt(off.sum() / whole.sum()), [float(f"{math.sqrt(e):.3g}") for e in off / whole]


@dataclass
class Entry:
    """One side of a medium: what it computes, who computes it, and what was found."""

    setting: Setting
    peer: str = ""
    worker: Worker | None = None
    error: float = math.nan
    each: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def start(self, threads: int) -> None:
        """Start the process; it compiles."""
        # tiles are tried anew, in the round that does not count: what the user's cache has may be of a busier day
        ours = Side("subsalt_waveform.py", "", env={"XDG_CACHE_HOME": self.setting.folder})
        theirs = Side("devito_waveform.py", "", "devito", env=HUGE_PAGES)
        self.worker = Worker(theirs if self.peer else ours, self.setting, threads)  # type: ignore[arg-type]

    def tune(self) -> None:
        """Let the peer choose its blocks."""
        assert self.worker is not None
        if self.peer:
            self.worker.ask("tune")

    def round(self) -> float:
        """Model the shot once, judge its records, and return the seconds."""
        assert self.worker is not None
        setting, traces = self.setting, Path(self.setting.folder) / "traces.npy"
        if self.peer:
            seconds, records = self._through_the_transform(traces)
        else:
            seconds = self.worker.ask("round", out=str(traces))
            records = np.load(traces)
        self.facts = self.worker.ask("facts")
        self.error, self.each = errors(records, setting.medium, np.array(self.facts["offsets"]))
        return float(seconds)

    def _through_the_transform(self, traces: Path) -> tuple[float, np.ndarray]:
        """Return the seconds and records of the peer, with what the transform of both takes."""
        assert self.worker is not None
        setting, wavelet = self.setting, traces.with_name("wavelet.npy")
        axis = TimeAxis(setting.nt, setting.dt)
        begin = time.perf_counter()
        np.save(wavelet, source_samples(ricker(F0, DT / 4), axis, True))
        before = time.perf_counter() - begin
        seconds = self.worker.ask("round", wavelet=str(wavelet), out=str(traces))
        begin = time.perf_counter()
        mapping = to_record(axis, TimeAxis(setting.samples, DT), time_dispersion=True)
        records = mapping.apply(np.load(traces).astype(np.float64))
        return before + seconds + time.perf_counter() - begin, records

    def row(self) -> dict[str, Any]:
        """Return what there is to publish."""
        assert self.worker is not None
        setting, memory = self.setting, self.worker.ask("memory")
        return {
            "points": round(SHORTEST / setting.spacing, 3),
            "shape": list(setting.shape),
            "dt": round(self.facts["dt"], 7),
            "point_steps": self.facts["point_steps"],
            "error": float(f"{self.error:.3g}"),
            "worst_record": max(self.each),
            "seconds": round(median(self.seconds), 4),
            "spread": round(spread(self.seconds), 4),
            "peak_bytes": memory["peak"],
            "before_arrays_bytes": memory["imported"],
            "version": self.facts["version"],
        }


def entries(medium: str, folder: Path, orders: Sequence[Sequence[int]]) -> dict[str, Entry]:
    """Return the sides of a medium by name, ours first."""
    ours, theirs = orders
    out = {}
    for order in ours:
        out[f"order {order}"] = Entry(Setting(medium, order, our_spacing(medium, order), "", samples=SAMPLES))
    energy = (exact(medium, offsets(medium), SAMPLES) ** 2).sum(axis=1)
    for order in theirs:
        # one order is enough to show what does not count
        for kind in KINDS[medium] if order == theirs[-1] else KINDS[medium][:1]:
            scheme = Scheme(Medium(medium), order, kind)
            spacing = SHORTEST / scheme.needed(ACCURACY, energy)
            dt = scheme.stable_step(spacing)
            steps = math.ceil(SAMPLES * DT / dt) + 1
            setting = Setting(medium, order, spacing, "", kind, dt, steps, SAMPLES)
            out[f"Devito, order {order}" + f", {kind}" * bool(kind)] = Entry(setting, "devito")
    for i, entry in enumerate(out.values()):
        entry.setting = replace(entry.setting, folder=str(folder / str(i)))
        (folder / str(i)).mkdir()
    return out


def predicted(medium: str) -> list[dict[str, Any]]:
    """Return what is not run: the grids of the peer where every record is right, and without the correction of time
    dispersion; the steps over the grid, and so the work, relative to what is run.
    """
    energy = (exact(medium, offsets(medium), SAMPLES) ** 2).sum(axis=1)
    out = []
    for order in PEER_ORDERS:
        scheme = Scheme(Medium(medium), order, KINDS[medium][0])
        run, every = scheme.needed(ACCURACY, energy), scheme.needed(ACCURACY)
        part, plain = min(
            ((p, scheme.needed(ACCURACY, energy, p)) for p in PARTS),
            key=lambda points: points[1] ** 4 / points[0],
        )
        row = {
            "order": order,
            "points": run,
            "points_every_record": every,
            "work_every_record": (every / run) ** 4,
        }
        row |= {"points_uncorrected": plain, "part_of_stable_step": part}
        row["work_uncorrected"] = (plain / run) ** 4 * 0.99 / part
        out.append({k: round(v, 3) for k, v in row.items()})
    return out


def checked(name: str, entry: Entry) -> bool:
    """Return whether the records are right; end the run when those of the peer, or of our default, are not."""
    limit = ACCURACY * (ROOM if entry.peer else 1.0)
    if not entry.error <= limit and (
        entry.peer or entry.setting.order == OUR_ORDERS[entry.setting.medium][0]
    ):
        raise SystemExit(
            f"{name}: error {entry.error:.3%} over the records, more than {limit:.2%}: {entry.each}"
        )
    return entry.error <= limit


def measure(medium: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one medium and return its row."""

    def ready(what: str) -> None:
        if options.pause:
            print(f"ready: {what}", file=sys.stderr, flush=True)
            sys.stdin.readline()

    with tempfile.TemporaryDirectory() as folder:
        entry_rows = entries(
            medium, Path(folder), (options.orders or OUR_ORDERS[medium], options.peer_orders)
        )
        first: dict[str, float] = {}
        try:
            for entry in entry_rows.values():
                entry.start(options.threads)
            for name, entry in entry_rows.items():
                ready(f"{name}: tune and verify")
                entry.tune()
                first[name] = entry.round()
            right = [name for name, e in entry_rows.items() if checked(name, e)]
            counted = [n for n, e in entry_rows.items() if e.peer and e.setting.scheme != BESIDE]
            limit = SLOW * min(first[name] for name in counted)
            left_out = [name for name, e in entry_rows.items() if e.peer and first[name] > limit]
            taking_turns = [name for name in entry_rows if name not in left_out]
            for i in range(options.rounds):
                ready(f"round {i + 1}")
                for name in taking_turns if i % 2 == 0 else reversed(taking_turns):
                    entry_rows[name].seconds.append(entry_rows[name].round())
            for name in left_out:
                entry_rows[name].seconds.append(first[name])
            rows = {name: entry.row() for name, entry in entry_rows.items()}
        finally:
            for entry in entry_rows.values():
                if entry.worker is not None:
                    entry.worker.close()
    best = min(counted, key=lambda n: rows[n]["seconds"])
    ours = [name for name in entry_rows if not entry_rows[name].peer]
    return {
        "ours": ours[0],
        "peer": best,
        "rounds": options.rounds,
        "ratios": {name: ratio(entry_rows[best].seconds, entry_rows[name].seconds) for name in ours},
        "memory_ratios": {
            name: round(rows[name]["peak_bytes"] / rows[best]["peak_bytes"], 3) for name in ours
        },
        "missed": [name for name in entry_rows if name not in right],
        "one_round": left_out,
        "sides": rows,
        "predicted": predicted(medium),
    }


def table(medium: str, row: dict[str, Any]) -> str:
    """Return a row as text."""
    lines = [
        f"\n{medium}: points per shortest wavelength, grid, 10^9 point-steps, error and worst record, time, memory"
    ]
    for name, side in row["sides"].items():
        said = f"{row['ratios'][name]['ratio']:.2f}" if name in row["ratios"] else "*" * (name == row["peer"])
        said += ", misses the accuracy" * (name in row["missed"]) + ", one round" * (name in row["one_round"])
        lines.append(
            f"{name:28}{side['points']:7.3f}{side['shape'][0]:5}^3{side['point_steps'] / 1e9:7.2f}"
            f"{100 * side['error']:7.2f} %{100 * side['worst_record']:6.2f} %{side['seconds']:9.3f} s"
            f"{side['peak_bytes'] / 1e6:7.0f} MB  {said}"
        )
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, run the media, print the tables and the JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("media", nargs="*", default=list(MEDIA), help=", ".join(MEDIA))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--orders", type=int, nargs="+", default=None, help="of ours")
    parser.add_argument("--peer-orders", type=int, nargs="+", default=PEER_ORDERS, help="of Devito")
    parser.add_argument(
        "--pause", action="store_true", help="wait for a line of input before anything is timed"
    )
    parser.add_argument(
        "--publish", action="store_true", help="keep the rows in docs/performance/accuracy.json"
    )
    options = parser.parse_args()
    for medium in options.media:
        if medium not in MEDIA:
            parser.error(f"unknown medium {medium!r}; use {', '.join(MEDIA)}")
    facts = machine(options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    rows = {}
    for medium in options.media:
        rows[medium] = measure(medium, options)
        print(table(medium, rows[medium]), flush=True)
    result = {"question": "accuracy", "command": "make bench-accuracy", "machine": facts, "media": rows}
    if options.publish:
        publish(result)
    result["ratio"] = {m: r["ratios"][r["ours"]]["ratio"] for m, r in rows.items()}
    result["memory_ratio"] = {m: r["memory_ratios"][r["ours"]] for m, r in rows.items()}
    print(json.dumps(result))


def publish(result: dict[str, Any], to: Path = RESULT) -> None:
    """Keep the media of a result beside those that the file has from the same machine and day."""
    if to.exists():
        before = json.loads(to.read_text())
        if all(before["machine"][k] == result["machine"][k] for k in ("cpu", "date", "subsalt")):
            result = result | {"media": before["media"] | result["media"]}
    to.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
