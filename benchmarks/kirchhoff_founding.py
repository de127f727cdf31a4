"""How long does the founding Kirchhoff case take as a whole job, with how much memory, and is its image right?

Document 001 of 2009 times a production 3-D prestack Kirchhoff time migration: 70,808 or 283,232 traces of 625 samples
at 8 ms, output inlines 65-85 x crosslines 1-200, full-offset image gathers, 10 alias bands for a spacing of 15 x 15,
stretch mute 15 %, 3-D amplitude and phase correction; 288 s for the small set on one node of 8 cores. It does not
give bin sizes, offsets, velocities or aperture. Here:

- bins of 15 x 15 m, the antialias spacing; one trace per bin and offset in 106 x 167 bins around the output: 4
  offsets are 70,808 traces, 16 are 283,232, both with a mean of 850 m;
- no limit of aperture or dip: what the sum leaves out is the stretch mute's, and the record's end. `fraction` is what
  is left of traces x bins x samples, the bound of which the document's rates are made;
- a medium of 2500 m/s with six flat reflectors, so that the image can be held against their coefficients.

    python benchmarks/kirchhoff_founding.py [FOLDER] [--large] [--ranks 1] [--threads 2] [--publish]

Makes the survey as one SEG-Y file in shot order, asks the page cache to forget it, and runs ``subsalt migrate`` in a
process of its own. ``--large`` runs the large set too, and the small one again behind it: the ratio is that to the mean
of both. ``--divide 5`` a fraction of both for a trial. The last line
is one JSON object with `seconds`, `peak_gb`, `gcontrib_per_s` of the small set; ends with 1 when a bar is missed (130
s, 1 GB, amplitudes within 2 %, the large set in 4.1 times the small).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402

from subsalt import __version__, analytic  # noqa: E402
from subsalt.acquisition.survey import TimeAxis  # noqa: E402
from subsalt.acquisition.wavelet import ricker  # noqa: E402
from subsalt.io.segy.rev1 import trace_rows  # noqa: E402
from subsalt.io.segy.trace_writing import write_traces  # noqa: E402
from subsalt.machine import records  # noqa: E402
from subsalt.machine.launcher import Launcher  # noqa: E402

#: s on one node of 8 cores, the faster of two builds
DOCUMENT = {"small": 288.0, "large": 1278.0}
BARS = {"seconds": 130.0, "peak_gb": 1.0, "amplitude": 0.02, "large_over_small": 4.1}

BIN, V, F0 = 15.0, 2500.0, 15.0
TIME = TimeAxis(625, 0.008)
STRETCH = 0.15
#: two-way times of flat reflectors, s, and their coefficients; the last two only make the sum work
T0 = (0.8, 1.2, 1.6, 2.0, 3.0, 4.0)
R = (0.2, -0.15, 0.1, 0.2, 0.15, -0.2)
CHECKED = 4
#: a class counts in the check where the trace above the reflector is stretched by no more than this: nearer the mute
#: its aperture is narrower than the Fresnel zone
STRETCH_CHECKED = 0.06


@dataclass(frozen=True)
class Case:
    """One survey and its output.

    Parameters
    ----------
    name : str
        ``"small"`` or ``"large"``.
    divide : int
        Of all numbers of lines, for a trial.
    """

    name: str
    divide: int = 1

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the traces, m."""
        return np.arange(250.0, 1451.0, 400.0) if self.name == "small" else np.arange(100.0, 1601.0, 100.0)

    @property
    def output(self) -> tuple[range, range]:
        """Output inlines and crosslines."""
        k = self.divide
        return range(65, 65 + max(1, 21 // k)), range(1, 1 + 200 // k)

    @property
    def input(self) -> tuple[range, range]:
        """Inlines and crosslines with traces: around the middle of the output."""
        numbers = []
        for lines, n in zip(self.output, (106, 167), strict=True):
            first = (lines[0] + lines[-1]) // 2 - n // self.divide // 2
            numbers.append(range(first, first + n // self.divide))
        return numbers[0], numbers[1]

    @property
    def bound(self) -> int:
        """Contributions of every trace to every sample of every bin."""
        traces = len(self.offsets) * len(self.input[0]) * len(self.input[1])
        return traces * len(self.output[0]) * len(self.output[1]) * TIME.nt

    def geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return sources and receivers (n, 2), inline and crossline of each midpoint, in the order of the file.

        Crossline numbers grow along x, inline numbers along y; a shot is a source position.
        """
        il, xl, h = (a.ravel() for a in np.meshgrid(*self.input, self.offsets, indexing="ij"))
        middle = np.stack([BIN * xl, BIN * il], axis=1)
        half = np.stack([0.5 * h, np.zeros(len(h))], axis=1)
        src, rcv = middle - half, middle + half
        order = np.lexsort((rcv[:, 0], src[:, 0], src[:, 1]))
        return src[order], rcv[order], il[order].astype(np.int64), xl[order].astype(np.int64)

    def write(self, folder: Path, threads: int) -> Path:
        """Write traces and job; return the job file."""
        src, rcv, il, xl = self.geometry()
        first = np.flatnonzero(np.r_[True, (np.diff(src, axis=0) != 0).any(axis=1)])
        shot = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(src)]))
        numbers = {
            "ffid": shot + 1,
            "channel": np.arange(len(src)) - first[shot] + 1,
            "inline": il,
            "crossline": xl,
        }
        reflectors = [analytic.Plane(V * t / 2, r) for t, r in zip(T0, R, strict=True)]
        wavelet = ricker(F0, 0.002, delay=0.0)

        def samples(block: slice) -> np.ndarray:
            return analytic.primaries(src[block], rcv[block], reflectors, V, wavelet, TIME)

        write_traces(folder / "traces.sgy", src, rcv, TIME, samples, **numbers)
        job = folder / "job.toml"
        job.write_text(self.job(threads))
        return job

    def job(self, threads: int) -> str:
        """Return the job, in the words of the document."""
        il, xl = self.output
        corners = [
            [i, x, BIN * x, BIN * i] for i, x in ((il[0], xl[0]), (il[0], xl[-1]), (il[0] + 20, xl[0]))
        ]
        return f"""\
method = "kirchhoff"
title = "founding Kirchhoff case, {self.name}"
[data]
files = ["traces.sgy"]
[velocity]
v = {V:g}
[kirchhoff]
inline = {{first = {il[0]}, last = {il[-1]}}}
crossline = {{first = {xl[0]}, last = {xl[-1]}}}
corners = {corners}
gathers = "full-offset"
amplitude = "3d"
antialias = "bands"
bands = 10
antialias_spacing = [{BIN:g}, {BIN:g}]
stretch_mute = {STRETCH}
memory = "750 MB"
[parallel]
threads = {threads}
[output]
formats = ["segy"]
pictures = false
"""


def migrate(job: Path, run: Path, ranks: int, threads: int) -> tuple[float, int, dict[str, Any]]:
    """Run the job as a user does; return seconds of the command, peak memory of all its processes, and its facts."""
    records.drop_from_cache([job.with_name("traces.sgy")])
    words = [sys.executable, "-m", "subsalt", "migrate", str(job), "--run", str(run), "--json"]
    if ranks > 1:
        words = Launcher.find().start(ranks, words)
    begin = time.perf_counter()
    child = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": str(threads)}
    )
    peaks: dict[int, int] = {}
    while child.poll() is None:
        now = high_water(child.pid)
        peaks |= {n: max(now[n], peaks.get(n, 0)) for n in now}  # one that has ended has no memory any more
        time.sleep(0.05)
    seconds = time.perf_counter() - begin
    assert child.stdout is not None
    said = child.stdout.read()
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}: {said}")
    return seconds, sum(peaks.values()), json.loads((run / "run.json").read_text("utf-8"))


def high_water(root: int) -> dict[int, int]:
    """Return the largest resident bytes so far of a process and its descendants; their sum is at least their peak."""
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(l.split(":", 1) for l in status.read_text().splitlines() if ":" in l)
        except OSError:
            continue  # it ended meanwhile
        number = int(status.parent.name)
        parents[number] = int(facts["PPid"])
        peaks[number] = int(facts.get("VmHWM", "0 kB").split()[0]) * 1024
    family = {root}
    while more := {n for n, p in parents.items() if p in family} - family:
        family |= more
    return {n: peaks[n] for n in family if n in peaks}


def gathers_of(path: Path, case: Case) -> np.ndarray:
    """Return the image gathers, (inline, crossline, offset, time)."""
    shape = len(case.output[0]), len(case.output[1]), len(case.offsets)
    raw, _ = trace_rows(0, TIME.nt)
    rows = np.memmap(path, np.uint8, "r", 3600).reshape(-1, raw.shape[1])
    samples = np.ascontiguousarray(rows[:, 240:]).view(">f4").astype(np.float32)
    return samples.reshape(*shape, TIME.nt)


def amplitudes(gathers: np.ndarray, case: Case) -> list[dict[str, float]]:
    """Return per reflector the worst relative error of its peak, over classes and nine locations in the middle."""
    rows = []
    ni, nj = gathers.shape[:2]
    lines = [sorted({int(n * f) for f in (0.4, 0.5, 0.6)}) for n in (ni, nj)]
    fine = 16
    for t0, r in list(zip(T0, R, strict=True))[:CHECKED]:
        window = slice(round((t0 - 0.2) / TIME.dt), round((t0 + 0.2) / TIME.dt))
        worst, late, count = 0.0, 0.0, 0
        for k, offset in enumerate(case.offsets):
            if np.hypot(1, offset / (V * t0)) - 1 > STRETCH_CHECKED:
                continue
            for i, j in ((i, j) for i in lines[0] for j in lines[1]):
                trace = gathers[i, j, k, window].astype(np.float64)
                dense = np.fft.irfft(np.fft.rfft(trace), len(trace) * fine) * fine
                at = int(np.argmax(np.abs(dense)))
                worst = max(worst, abs(dense[at] / r - 1))
                late = max(late, abs(window.start * TIME.dt + at * TIME.dt / fine - t0))
                count += 1
        rows.append(
            {"t0": t0, "R": r, "error": round(worst, 5), "seconds_off": round(late, 5), "checked": count}
        )
    return rows


def measure(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make the survey, run the job, check the image; return the row."""
    place = folder / case.name
    place.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    job = case.write(place, options.threads)
    made = time.perf_counter() - begin
    run = Path(tempfile.mkdtemp(prefix="run-", dir=place)) / "run"
    seconds, peak, facts = migrate(job, run, options.ranks, options.threads)
    # of the rank that spent most in a phase
    phases = {name: spent["max"] for name, spent in facts["over_ranks"]["phases"].items()}
    contributions = int(facts["contributions"])
    return {
        "case": case.name,
        "traces": len(case.offsets) * len(case.input[0]) * len(case.input[1]),
        "bins": len(case.output[0]) * len(case.output[1]),
        "seconds": round(seconds, 2),
        "peak_gb": round(peak / 1e9, 3),
        "contributions": contributions,
        "fraction": round(contributions / case.bound, 4),
        "gcontrib_per_s": round(contributions / phases["sum"] / 1e9, 3),
        "gcontrib_per_s_whole": round(contributions / seconds / 1e9, 3),
        "document_seconds": DOCUMENT[case.name],
        "document_gcontrib_per_s": round(case.bound / DOCUMENT[case.name] / 1e9, 3),
        "phases": {k: round(v, 2) for k, v in phases.items()},
        "bytes_traces": (place / "traces.sgy").stat().st_size,
        "bytes_gathers": (run / facts["gathers"]["path"]).stat().st_size,
        "survey_made_in": round(made, 1),
        "amplitudes": amplitudes(gathers_of(run / facts["gathers"]["path"], case), case),
    }


def text(row: dict[str, Any]) -> str:
    """Return a row in words."""
    worst = max(a["error"] for a in row["amplitudes"])
    seconds = f"{row['seconds']:.1f} s (2009: {row['document_seconds']:g} s on 8 cores)"
    share = f"{row['contributions']:.3e} contributions ({100 * row['fraction']:.0f} % of the bound)"
    rates = f"{row['gcontrib_per_s']:.2f} G/s in the sum, {row['gcontrib_per_s_whole']:.2f} G/s in all"
    return (
        f"{row['case']}: {row['traces']} traces, {row['bins']} bins, {seconds}, peak {row['peak_gb']:.2f} GB, "
        f"{share}, {rates}; amplitudes within {100 * worst:.2f} %"
    )


def missed(result: dict[str, Any]) -> list[str]:
    """Return the bars that a result misses."""
    figures = {
        "seconds": result["seconds"],
        "peak_gb": result["peak_gb"],
        "amplitude": max(a["error"] for r in result["rows"] for a in r["amplitudes"]),
        "large_over_small": result.get("large_over_small", 0.0),
    }
    return [f"{name} {figures[name]:g} > {bar:g}" for name, bar in BARS.items() if not figures[name] <= bar]


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="where the files are made; a temporary folder")
    parser.add_argument("--large", action="store_true", help="the large set too")
    parser.add_argument("--divide", type=int, default=1, help="every number of lines by this, for a trial")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of a rank")
    parser.add_argument(
        "--publish", action="store_true", help="write docs/performance/kirchhoff-founding.json"
    )
    options = parser.parse_args()
    facts = machine(options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    cases = [Case(name, options.divide) for name in ("small", "large")[: 1 + options.large]]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = []
        for case in cases:
            rows.append(measure(case, Path(folder), options))
            print(text(rows[-1]), flush=True)
        if options.large:
            # again behind the large one: the machine has become another by then
            rows.append(measure(cases[0], Path(folder), options))
            print(text(rows[-1]), flush=True)
    result: dict[str, Any] = {
        "question": "founding kirchhoff",
        "command": "make bench-kirchhoff" + (" LARGE=1" if options.large else ""),
        "machine": facts,
        "version": __version__,
        "ranks": options.ranks,
        "threads": options.threads,
        **{k: rows[0][k] for k in ("seconds", "peak_gb", "gcontrib_per_s")},
        "rows": rows,
    }
    if options.large:
        around = 0.5 * (rows[0]["seconds"] + rows[2]["seconds"])
        result["large_over_small"] = round(rows[1]["seconds"] / around, 3)
    if options.publish:
        path = HERE.parent / "docs" / "performance" / "kirchhoff-founding.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
    faults = missed(result) if options.divide == 1 else []
    for line in faults:
        print(f"missed: {line}", flush=True)
    print(json.dumps(result))
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
