"""What does one iteration of least-squares migration cost, over a migration of the same shots?

    python benchmarks/lsrtm_cost.py [--small] [--draws] [--only memory,disk,again] [--rounds N]
        [--json FILE [--append]]

Three shots of 301 x 151 points, from traces in files to images in files, by jobs in turn: migrations of 3 and of 15
shots, least squares of 3 shots with 1 and with 3 iterations, each in a process of its own. A migration of 3 shots costs
a quarter of the difference of the first two, an iteration half that of the last two: what each reads and writes is in
it, start and end of a run are in neither. Source wavefields come back from memory, from disk, and by computing again
what a few states in memory leave out. Seconds are those of the processor, user and system, which hold on a machine that
does other work as well; ratios are taken round by round.

--only measures some kinds; with --json and --append the rounds go to those that are in the file. --small takes shots of
61 x 41 points and is judged by nothing. --draws lets iterations draw all three shots, in two rounds (`subset = 3`), and
is judged by nothing either. Ends with an error if an iteration costs more than 2.2 times a migration.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from facts import machine, spread

import subsalt
from subsalt.io.segy.writing import write_survey
from subsalt.job.base import read_job

LIMIT = 2.2
#: traces of 3 shots, and of so many times as many
FILES, MORE = ("shots.sgy", "more.sgy"), 4
#: iterations of the two runs whose difference counts
FEW, MANY = 1, 3
#: [checkpoint] of a job by what it does
CHECKPOINTS = {
    "memory": 'strategy = "store"\nplace = "memory"',
    "disk": 'strategy = "store"\nplace = "disk"',
    "again": 'strategy = "revolve"\nslots = 3\ndisk_slots = 0\nblock = 20',
}
JOB = """
[data]
files = [{2}]
first_breaks = "ignore"
[model]
vp = 2000
[output]
pictures = false
[grid]
spacing = 10
shape = [{0}, {1}]
[source]
f0 = 15
[propagation]
grid = "model"
[checkpoint]
"""


def write_shots(folder: Path, shape: tuple[int, int]) -> None:
    """Write the scattered traces of a flat reflector: 3 shots to a file, and `MORE` times as many to another."""
    grid = subsalt.Grid(shape, (10.0, 10.0))
    end = grid.last[0]
    receivers = [(x, 20.0) for x in np.arange(50.0, end - 40.0, 25.0)]
    parts = [0.25, 0.5, 0.75, *np.linspace(0.2, 0.8, 3 * MORE)]
    sources = [(part * end, 20.0) for part in parts]
    survey = subsalt.Survey.from_arrays(sources, receivers, nt=round(1.3 * shape[0] + 110), dt=0.004)
    dm = np.zeros(shape)
    dm[:, shape[1] // 2] = 3e-9
    wavelet = subsalt.ricker(15.0, 0.001)
    data = subsalt.born_operator(subsalt.EarthModel(grid, 2000.0), survey, wavelet).forward(dm)
    for file, some in zip(FILES, (slice(0, 3), slice(3, None)), strict=True):
        shots = [replace(s, data=d.astype(np.float32)) for s, d in zip(survey.shots, data, strict=True)]
        write_survey(folder / file, replace(survey, shots=shots[some]))


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a piece of work in a fork of this process, which has no threads itself."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
            code = 0
        except BaseException as error:
            print(error, file=sys.stderr)
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit("a run failed; its message is above")
    return used.ru_utime + used.ru_stime


def run(folder: Path, text: str) -> float:
    """Return the processor time of a run of a job, whose run directory is removed."""
    job = folder / "job.toml"
    job.write_text(text)
    spent = seconds(lambda: subsalt.migrate_job(read_job(job)))
    shutil.rmtree(folder / "job.run")
    return spent


def measured(folder: Path, shape: tuple[int, int], checkpoint: str, keys: str) -> tuple[float, float]:
    """Return the seconds of a migration and of an iteration with one kind of checkpoint: one round."""
    text, both = (
        JOB.format(*shape, ", ".join(f'"{name}"' for name in files)) + checkpoint + "\n"
        for files in (FILES[:1], FILES)
    )

    def inverted(iterations: int) -> str:
        return f'method = "lsrtm"\n{text}[inversion]\niterations = {iterations}\n{keys}'

    three = run(folder, text)
    migration = (run(folder, both) - three) / MORE
    few = run(folder, inverted(FEW))
    return migration, (run(folder, inverted(MANY)) - few) / (MANY - FEW)


def summary(rounds: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the medians of a kind, and the ratios of its rounds."""
    ratios = [iteration / migration for migration, iteration in rounds]
    return {
        "rounds": [[round(seconds, 3) for seconds in one] for one in rounds],
        "migration_seconds": round(median(m for m, _ in rounds), 3),
        "iteration_seconds": round(median(i for _, i in rounds), 3),
        "ratio": round(median(ratios), 3),
        "min": round(min(ratios), 3),
        "max": round(max(ratios), 3),
        "spread": round(spread(ratios), 4),
    }


def main() -> None:
    """Measure every kind, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="61 x 41 points, one round; not judged")
    parser.add_argument("--draws", action="store_true", help="iterations over drawn shots; not judged")
    parser.add_argument("--only", default=",".join(CHECKPOINTS), help=f"some of {','.join(CHECKPOINTS)}")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--append", action="store_true", help="keep the rounds that the file has")
    options = parser.parse_args()
    kinds = options.only.split(",")
    if unknown := [name for name in kinds if name not in CHECKPOINTS]:
        parser.error(f"--only {','.join(unknown)}: they are {', '.join(CHECKPOINTS)}")
    shape, rounds = ((61, 41), 1) if options.small else ((301, 151), options.rounds)
    on = machine(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    rows: dict[str, Any] = {}
    if options.append and options.json is not None and options.json.is_file():
        rows = json.loads(options.json.read_text())["rows"]
    with tempfile.TemporaryDirectory() as folder:
        seconds(lambda: write_shots(Path(folder), shape))
        for name in kinds:
            before = [(m, i) for m, i in rows.get(name, {}).get("rounds", [])]
            keys = "subset = 3\n" if options.draws else ""
            now = [measured(Path(folder), shape, CHECKPOINTS[name], keys) for _ in range(rounds)]
            rows[name] = summary(before + now)
            print(f"{name:8} {rows[name]}", flush=True)
    holds = all(row["ratio"] <= LIMIT for row in rows.values())
    out = {
        "question": "what does an iteration of least squares cost over a migration",
        "command": "python benchmarks/lsrtm_cost.py",
        "machine": on,
        "grid": list(shape),
        "shots": 3,
        "limit": LIMIT,
        "holds": holds,
        "rows": rows,
    }
    text = json.dumps(out, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        options.json.write_text(text)
    if not (holds or options.small or options.draws):
        sys.exit(f"an iteration costs more than {LIMIT} times a migration")


if __name__ == "__main__":
    main()
