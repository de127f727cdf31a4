"""How long does a survey of ten million short traces take, from the scan to both images, and in how much memory?

50,000 shots of a streamer of 200 channels, 100 samples of 8 ms: 10^7 traces in one SEG-Y file of 6.4 GB. 50 sail lines
100 m apart of 1000 shots every 25 m, channels every 25 m behind the shot. The medium has 2000 m/s and one flat
reflector at 300 m, and there is noise.

    python benchmarks/many_traces.py [FOLDER] [--shots-per-line 1000] [--threads 2] [--keep]

Makes the file, then runs as a user does, each command in a process of its own: ``scan --index``; ``check`` and
``migrate`` of a time migration of 21 x 21 bins; ``check`` and ``migrate`` of reverse time migration of four shots.
Prints seconds, peak memory and, for runs, the memory that the plan counted with; the last line is one JSON object. Ends
with 1 when a run takes more memory than planned, the saved headers more than 40 MB per 10^6 traces, or a command fails.
The file is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402

from subsalt.earth.grid import Grid  # noqa: E402
from subsalt.io.volumes import volume  # noqa: E402

LINES, CHANNELS, NS, DT = 50, 200, 100, 0.008
STEP, APART, NEAR = 25.0, 100.0, 100.0
V, DEPTH, F0 = 2000.0, 300.0, 8.0
KINDS = {
    9: "ffid", 13: "channel", 17: "point", 29: "kind", 37: "offset", 71: "scalar", 73: "sx", 77: "sy", 81: "gx",
    85: "gy", 115: "ns", 117: "dt", 189: "inline", 193: "crossline",
}  # fmt: skip
SHORT = {29, 71, 115, 117}


def trace_dtype() -> np.dtype:
    """Return the bytes of a trace: the header values that are set, and samples."""
    return np.dtype(
        {
            "names": [*KINDS.values(), "samples"],
            "formats": [*(">i2" if b in SHORT else ">i4" for b in KINDS), (">f4", NS)],
            "offsets": [*(b - 1 for b in KINDS), 240],
            "itemsize": 240 + 4 * NS,
        }
    )


def write(path: Path, shots: int) -> int:
    """Write the survey, a sail line at a time; return the number of traces."""
    rng = np.random.default_rng(1)
    channel = np.arange(CHANNELS)
    offset = NEAR + STEP * channel
    t = DT * np.arange(NS)
    arrival = np.sqrt((2 * DEPTH / V) ** 2 + (offset / V) ** 2)
    a = (np.pi * F0 * (t[None] - arrival[:, None])) ** 2
    gather = ((1 - 2 * a) * np.exp(-a) / arrival[:, None]).astype(np.float32)
    noise = 0.02 * rng.standard_normal((64, CHANNELS, NS)).astype(np.float32)
    head = np.zeros(400, np.uint8)
    for byte, value in ((17, round(DT * 1e6)), (21, NS), (25, 5), (55, 1), (301, 0x0100), (303, 1)):
        head[byte - 1 : byte + 1] = np.array([value], ">i2").view(np.uint8)
    with path.open("wb") as out:
        out.write("C 1 MANY SHORT TRACES".ljust(3200).encode("cp037") + head.tobytes())
        for line in range(LINES):
            traces = np.zeros((shots, CHANNELS), trace_dtype())
            k = np.arange(shots)[:, None]
            traces["ffid"], traces["channel"] = line * shots + k + 1, channel + 1
            traces["point"], traces["kind"], traces["scalar"] = k + 1, 1, -100
            traces["offset"], traces["ns"], traces["dt"] = offset, NS, round(DT * 1e6)
            traces["sx"], traces["sy"] = 100 * STEP * k + 1e6, 100 * APART * line
            traces["gx"], traces["gy"] = traces["sx"] - 100 * offset, traces["sy"]
            # bins of half a group interval along the line
            traces["inline"] = line + 1
            traces["crossline"] = 2 * k - channel + 500
            traces["samples"] = gather + noise[rng.integers(0, 64, shots)]
            traces.tofile(out)
    return LINES * shots * CHANNELS


def jobs(folder: Path, shots: int, threads: int) -> dict[str, Path]:
    """Write the job of each method."""
    middle = 1e4 + STEP * shots / 2
    y = APART * LINES / 2
    common = f'[parallel]\nthreads = {threads}\n[output]\nformats = ["rsf"]\npictures = false\n'
    data = '[data]\nfiles = ["traces.sgy"]\n'
    time_job = (
        f'method = "kirchhoff"\n{data}[velocity]\nv = {V:g}\n[kirchhoff]\naperture = 500\n'
        f"inline = {{first = 1, last = 21}}\ncrossline = {{first = 1, last = 21}}\n"
        f"origin = [{middle:g}, {y:g}]\nspacing = [{STEP:g}, {STEP:g}]\nazimuth = 0\n{common}"
    )
    grid = Grid((257, 61, 41), (25.0, 25.0, 20.0), (middle - 5600.0, y - 750.0, 0.0))
    volume.write(folder / "vp.rsf", grid, np.full(grid.shape, V, np.float32))
    first = LINES // 2 * shots + shots // 2
    picked = ", ".join(str(first + 10 * k) for k in range(4))
    depth_job = (
        f'{data}line = "auto"\nshots = "{picked}"\n[model]\nvp = "vp.rsf"\n[source]\nf0 = {F0:g}\n'
        f"[imaging]\naperture = 600\n{common}"
    )
    made = {"kirchhoff": folder / "time.toml", "rtm": folder / "depth.toml"}
    for path, text in zip(made.values(), (time_job, depth_job), strict=True):
        path.write_text(text)
    return made


def run(words: list[str], threads: int) -> dict[str, Any]:
    """Run a command of subsalt; return its seconds, its peak memory and what it printed."""
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "subsalt", *words],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
    )
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    print(
        f"{' '.join(words[:2]):28} {seconds:8.1f} s  {usage.ru_maxrss / 1e6:6.2f} GB  exit {child.returncode}",
        flush=True,
    )
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}: {said[-3000:]}")
    return {
        "seconds": round(seconds, 1),
        "peak_gb": round(usage.ru_maxrss / 1e6, 3),
        "exit": child.returncode,
        "said": said,
    }


def main() -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="where the files are made; a temporary folder")
    parser.add_argument("--shots-per-line", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="leave the files")
    options = parser.parse_args()
    print(", ".join(f"{k} {v}" for k, v in machine(options.threads).items()), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="many-traces-", dir=options.folder))
    wrong: list[str] = []
    try:
        begin = time.perf_counter()
        n = write(folder / "traces.sgy", options.shots_per_line)
        print(f"{n:,} traces made in {time.perf_counter() - begin:.0f} s", flush=True)
        rows = {"scan --index": run(["scan", "--index", str(folder / "traces.sgy")], options.threads)}
        index = folder / "traces.sgy.subsalt-index"
        per_million = index.stat().st_size / n
        if per_million > 40:
            wrong.append(f"saved headers take {per_million:.1f} MB per 10^6 traces")
        for name, job in jobs(folder, options.shots_per_line, options.threads).items():
            rows[f"{name} check"] = run(["check", str(job), "--json"], options.threads)
            place = folder / f"{name}.run"
            rows[f"{name} migrate"] = run(
                ["migrate", str(job), "--run", str(place), "--json"], options.threads
            )
            facts = json.loads((place / "run.json").read_text("utf-8"))
            row, plan = rows[f"{name} migrate"], facts["memory_plan"]
            row["planned_gb"] = round(sum(plan.values()) / 1e9, 3)
            if row["peak_gb"] > row["planned_gb"]:
                wrong.append(f"{name}: {row['peak_gb']} GB, planned {row['planned_gb']}")
        result = {
            "question": "many traces",
            "traces": n,
            "index_mb_per_million": round(per_million, 1),
            "rows": {k: {a: b for a, b in v.items() if a != "said"} for k, v in rows.items()},
            "wrong": wrong,
        }
        print(json.dumps(result))
    finally:
        if not options.keep:
            import shutil

            shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
