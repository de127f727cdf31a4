"""What do 400 small files cost beside one file of the same traces?

A streamer of 48 channels, 500 samples of 4 ms: 400 shots every 25 m, in one SEG-Y file of 43 MB and in 400 files of
111 kB. Water of 1500 m/s, one flat reflector, a little noise: nothing that a check would have to explain.

    python benchmarks/many_files.py [FOLDER] [--files 400] [--shots-per-file 1] [--rounds 3] [--keep]

Makes both, then runs ``scan`` and ``check --no-map`` of each as a user does, in processes of their own with one
thread, by turns. Prints the processor time (user and system) of each command, the start of the program included, and
the ratio of the medians; the last line is one JSON object. Ends with 1 when a ratio is above 1.5, a command fails, or
the two say different things. Processor time is that of the process alone: other programs on the machine
lengthen it by what they take of caches and of a core that two threads share, in both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402
from many_traces import KINDS, SHORT  # noqa: E402

from subsalt.earth.grid import Grid  # noqa: E402
from subsalt.io.volumes import volume  # noqa: E402

CHANNELS, NS, DT = 48, 500, 0.004
STEP, NEAR = 25.0, 100.0
V, DEPTH, F0, T0 = 1500.0, 450.0, 20.0, 0.06
SPACING = 7.5
#: m: largest east of the receivers of the first shot
WEST = 2000.0
LIMIT = 1.5


def traces_of(shots: int) -> np.ndarray:
    """Return all traces, (shots, channels), as they stand in a file."""
    kind = np.dtype(
        {
            "names": [*KINDS.values(), "samples"],
            "formats": [*(">i2" if b in SHORT else ">i4" for b in KINDS), (">f4", NS)],
            "offsets": [*(b - 1 for b in KINDS), 240],
            "itemsize": 240 + 4 * NS,
        }
    )
    traces = np.zeros((shots, CHANNELS), kind)
    k, channel = np.arange(shots)[:, None], np.arange(CHANNELS)
    offset = NEAR + STEP * channel
    traces["ffid"], traces["channel"], traces["point"] = k + 1, channel + 1, k + 1
    traces["kind"], traces["scalar"], traces["ns"], traces["dt"] = 1, -100, NS, round(DT * 1e6)
    traces["offset"] = -offset
    traces["sx"] = 100 * (WEST + STEP * k)
    traces["gx"] = traces["sx"] - 100 * offset
    t = DT * np.arange(NS)
    gather = np.zeros((CHANNELS, NS))
    for amplitude, way in ((30.0, offset), (20.0, np.hypot(offset, 2 * DEPTH))):
        a = (np.pi * F0 * (t[None] - way[:, None] / V - T0)) ** 2
        gather += (amplitude / way)[:, None] * (1 - 2 * a) * np.exp(-a)
    rng = np.random.default_rng(1)
    noise = 1e-3 * rng.standard_normal((16, CHANNELS, NS))
    traces["samples"] = gather + noise[np.arange(shots) % 16]
    return traces


def write(folder: Path, shots: int, per_file: int) -> dict[str, list[Path]]:
    """Write the survey as one file and as many; return the files."""
    traces = traces_of(shots)
    head = np.zeros(400, np.uint8)
    for byte, value in ((17, round(DT * 1e6)), (21, NS), (25, 5), (55, 1), (301, 0x0100), (303, 1)):
        head[byte - 1 : byte + 1] = np.array([value], ">i2").view(np.uint8)
    begin = "C 1 MANY SMALL FILES".ljust(3200).encode("cp037") + head.tobytes()
    one = folder / "one.sgy"
    one.write_bytes(begin + traces.tobytes())
    many = []
    for k in range(0, shots, per_file):
        many.append(folder / f"shot{k + 1:05d}.sgy")
        many[-1].write_bytes(begin + traces[k : k + per_file].tobytes())
    return {"one": [one], "many": many}


def jobs(folder: Path, shots: int) -> dict[str, Path]:
    """Write the job of each form."""
    nx = round((2 * WEST + STEP * shots) / SPACING)
    grid = Grid((nx, 120), (SPACING, SPACING), (0.0, 0.0))
    volume.write(folder / "vp.rsf", grid, np.full(grid.shape, V, np.float32))
    made = {}
    for name, pattern in (("one", "one.sgy"), ("many", "shot*.sgy")):
        made[name] = folder / f"{name}.toml"
        made[name].write_text(
            f'[data]\nfiles = ["{pattern}"]\nline = "x"\n[model]\nvp = "vp.rsf"\n'
            f"[source]\nf0 = {F0:g}\nt0 = {T0:g}\n[imaging]\naperture = 800\n"
            '[parallel]\nthreads = 1\n[output]\nformats = ["rsf"]\npictures = false\n'
        )
    return made


def run(words: list[str]) -> tuple[float, str]:
    """Run a command of subsalt; return the processor time that it took, s, and what it printed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "subsalt", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        | {"OMP_NUM_THREADS": "1"},
    )
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(words[:2])} ended with {child.returncode}: {said[-3000:]}")
    return usage.ru_utime + usage.ru_stime, said


def codes(said: dict[str, Any]) -> list[str]:
    """Return the codes of the findings of a command."""
    return sorted(f["code"] for f in said["findings"])


def main() -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="where the files are made; a temporary folder")
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--shots-per-file", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the files")
    options = parser.parse_args()
    print(", ".join(f"{k} {v}" for k, v in machine(1).items()), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="many-files-", dir=options.folder))
    wrong: list[str] = []
    try:
        shots = options.files * options.shots_per_file
        files = write(folder, shots, options.shots_per_file)
        made = jobs(folder, shots)
        commands = {("scan", form): ["scan", *map(str, paths)] for form, paths in files.items()} | {
            ("check", form): ["check", "--no-map", str(job)] for form, job in made.items()
        }
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in commands}
        # this compiles the program, too, and brings the files into memory
        said = {key: json.loads(run([*words, "--json"])[1]) for key, words in commands.items()}
        for _ in range(options.rounds):
            for key, words in commands.items():
                seconds[key].append(run(words)[0])
        rows = {}
        for what in ("scan", "check"):
            one, many = (statistics.median(seconds[what, form]) for form in ("one", "many"))
            rows[what] = {"one_s": round(one, 3), "many_s": round(many, 3), "ratio": round(many / one, 3)}
            print(f"{what:6} {one:7.2f} s  {many:7.2f} s  {many / one:6.2f} times", flush=True)
            if many > LIMIT * one:
                wrong.append(f"{what}: {many / one:.2f} times")
            if codes(said[what, "one"]) != codes(said[what, "many"]):
                wrong.append(
                    f"{what} says other things: {codes(said[what, 'one'])}, {codes(said[what, 'many'])}"
                )
        result = {
            "question": "many files",
            "files": options.files,
            "file_bytes": files["many"][0].stat().st_size,
            "rows": rows,
            "seconds": {" ".join(key): [round(s, 3) for s in some] for key, some in seconds.items()},
            "wrong": wrong,
        }
        print(json.dumps(result))
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
