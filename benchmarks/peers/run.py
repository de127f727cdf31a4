"""Which is faster on this machine, subsalt's kernels or Devito's, on the same equations with the same layer?

One interleaved run per case: both sides are persistent processes, rounds alternate, a round is n time steps
from a field that fills the grid. Devito takes part with several of its own options (`DEVITO_VARIANTS`); the
fastest is the one that counts. The answers are compared before any time is believed. Prints a table and,
last, one JSON object.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER_ENV = ROOT / ".venv-peers"
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
#: Devito's storage choices: variant of the worker, extra environment
DEVITO_VARIANTS = {
    "example style": ("volume", {}),
    "1-D profiles": ("axes", {}),
    "1-D profiles, 2 levels": ("axes-two-levels", {}),
    "1-D profiles, 2 levels, huge pages": ("axes-two-levels", HUGE_PAGES),
}
#: relative L2 difference of the wavefields that is accepted: both float32, in different orders of operations;
#: each of the n <= 60 steps rounds at 1e-7 of the field, and the leapfrog sums them; 1e-6 was seen at 64^3
TOLERANCE = 2e-5


class Worker:
    """One side: a process that waits for requests."""

    def __init__(
        self, python: Path, script: str, case: str, variant: str, threads: int, extra: dict[str, str]
    ) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1", **extra}
        self.process = subprocess.Popen(
            [str(python), str(HERE / script), case, variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.about = self._answer()["ready"]

    def _answer(self) -> dict:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"worker {self.process.args} ended with code {self.process.wait()}; its message is above"
            )
        return json.loads(line)

    def ask(self, action: str, **values: object) -> float:
        """Send a request and wait for its number."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": action, **values}) + "\n")
        self.process.stdin.flush()
        return self._answer()["result"]

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def peer_python() -> Path:
    """Return the interpreter of the peer environment; make it from the pinned list when it is not there."""
    python, pins = PEER_ENV / "bin" / "python", HERE / "constraints.txt"
    stamp = PEER_ENV / "installed.txt"
    if not (python.exists() and stamp.exists() and stamp.read_text() == pins.read_text()):
        print(f"installing the peers of {pins.relative_to(ROOT)} into {PEER_ENV.name}", file=sys.stderr)
        venv.create(PEER_ENV, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "-r", pins], check=True)
        shutil.copy(pins, stamp)
    return python


def relative_l2(ours: Path, theirs: Path) -> float:
    """Return |ours - theirs| / |theirs| over all fields, in float64, one plane at a time."""
    import numpy as np

    a, b = np.load(ours, mmap_mode="r"), np.load(theirs, mmap_mode="r")
    assert a.shape == b.shape, (a.shape, b.shape)
    top = bottom = 0.0
    for f in range(a.shape[0]):
        for i in range(a.shape[1]):
            u, v = a[f, i].astype(np.float64), b[f, i].astype(np.float64)
            top += float(((u - v) ** 2).sum())
            bottom += float((v**2).sum())
    return (top / bottom) ** 0.5


def verify(ours: Worker, theirs: Worker, source_steps: int, field_steps: int) -> dict[str, float]:
    """Compare the wavefields: a point source from rest, then the filled grid of the timed rounds."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "ours.npy", Path(folder) / "theirs.npy"]
        peak = [
            w.ask("check", steps=source_steps, out=str(f)) for w, f in zip((ours, theirs), files, strict=True)
        ]
        if not all(p > 0 for p in peak):
            raise SystemExit(f"no wavefield to compare: largest values {peak}")
        found["source"] = relative_l2(*files)
        for w, f in zip((ours, theirs), files, strict=True):
            w.ask("fill")
            w.ask("round", steps=field_steps)
            w.ask("save", out=str(f))
        found["field"] = relative_l2(*files)
    for name, value in found.items():
        if not value <= TOLERANCE:
            raise SystemExit(
                f"{name}: the wavefields differ by {value:.2e} (relative L2), more than {TOLERANCE:g}"
            )
    return found


def timed(worker: Worker, steps: int) -> float:
    """Return the seconds of one round that starts from the filled grid."""
    worker.ask("fill")
    return worker.ask("round", steps=steps)


def spread(values: list[float]) -> float:
    """Return half the range of the middle half, relative to the median."""
    s = sorted(values)
    n = len(s)
    return (s[(3 * n) // 4 if n > 1 else 0] - s[n // 4]) / 2 / median(s)


def start(case: str, options: argparse.Namespace) -> dict[str, Worker]:
    """Start every side: Devito's variants by their names, ours by its layer."""
    device = "" if options.device == "cpu" else f"@{options.device}"
    sides = {
        name: Worker(peer_python(), "devito_worker.py", case, variant, options.threads, extra)
        for name, (variant, extra) in DEVITO_VARIANTS.items()
    }
    for layer in ("damping", "pml"):
        python = Path(sys.executable)
        sides[layer] = Worker(python, "subsalt_worker.py", case, layer + device, options.threads, {})
    return sides


def compare(case: str, options: argparse.Namespace) -> dict:
    """Run one case and return its row."""
    points = int(case.split("-")[1]) ** 3 * options.steps
    sides = start(case, options)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    agreement: dict[str, float] = {}
    try:
        for name in DEVITO_VARIANTS:
            found = verify(sides["damping"], sides[name], options.check_steps, options.steps)
            agreement = {k: max(v, agreement.get(k, 0.0)) for k, v in found.items()}
        for i in range(options.rounds):
            for name in list(sides) if i % 2 == 0 else reversed(sides):
                seconds[name].append(timed(sides[name], options.steps))
    finally:
        for worker in sides.values():
            worker.close()
    best = min(DEVITO_VARIANTS, key=lambda name: median(seconds[name]))
    ratios = [d / o for d, o in zip(seconds[best], seconds["damping"], strict=True)]
    pml = [d / o for d, o in zip(seconds[best], seconds["pml"], strict=True)]
    gpts = {name: round(points / median(v) / 1e9, 3) for name, v in seconds.items()}
    return {
        "ratio": round(median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "spread": round(spread(ratios), 4),
        "ours_gpts": gpts["damping"],
        "devito_gpts": gpts[best],
        "pml_ratio": round(median(pml), 3),
        "pml_gpts": gpts["pml"],
        "rounds": options.rounds,
        "steps": options.steps,
        "relative_l2": {k: float(f"{v:.2e}") for k, v in agreement.items()},
        "devito": {**sides[best].about, "variant": best},
        "devito_variants_gpts": {name: gpts[name] for name in DEVITO_VARIANTS},
        "ours": sides["damping"].about,
    }


def machine(threads: int) -> dict[str, object]:
    """Return what the run was made on; no host name."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [l for l in cpuinfo.read_text().splitlines() if l.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gcc = shutil.which("gcc")
    asked = [gcc, "-dumpfullversion"] if gcc else ["true"]
    compiler = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "ram_gib": round(ram, 1),
        "threads": threads,
        "gcc": compiler,
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "date": datetime.date.today().isoformat(),
    }


def table(rows: dict[str, dict]) -> str:
    """Return the rows as text; rates in 10^9 point-steps per second, all points of the layer counted."""
    columns = {"ours": 8, "Devito": 9, "ratio": 8, "min": 7, "max": 7, "PML": 8, "PML/Dev": 8, "L2": 10}
    head = f"{'case':<10}" + "".join(f"{k:>{w}}" for k, w in columns.items()) + "  Devito's best"
    lines = ["10^9 point-steps/s; damping against damping, our PML beside", head]
    for name, r in rows.items():
        lines.append(
            f"{name:<10}{r['ours_gpts']:>8.3f}{r['devito_gpts']:>9.3f}{r['ratio']:>8.2f}{r['ratio_min']:>7.2f}"
            f"{r['ratio_max']:>7.2f}{r['pml_gpts']:>8.3f}{r['pml_ratio']:>8.2f}"
            f"{max(r['relative_l2'].values()):>10.1e}  {r['devito']['variant']}"
        )
        others = ", ".join(f"{k} {v:.3f}" for k, v in r["devito_variants_gpts"].items())
        lines.append(f"{'':<10}Devito's variants: {others}")
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, run the cases, print the table and the JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["iso-256", "vti-256"], help="iso-N or vti-N")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=20, help="time steps per round")
    parser.add_argument("--check-steps", type=int, default=60, help="steps of the point-source comparison")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="our device: cpu, or reference for a trial")
    parser.add_argument("--out", type=Path, help="also write the JSON object to this file")
    options = parser.parse_args()
    facts = machine(options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    rows = {case: compare(case, options) for case in options.cases}
    print(table(rows))
    result = {"machine": facts, "cases": rows, "ratio": {k: r["ratio"] for k, r in rows.items()}}
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
