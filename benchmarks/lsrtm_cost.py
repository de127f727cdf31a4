"""What does one iteration of least-squares migration cost, over a migration of the same shots?

    python benchmarks/lsrtm_cost.py [--small] [--rounds N] [--json FILE]

Three shots of 301 x 151 points, from traces in files to images in files, by jobs in turn: migrations of 3 and of 6
shots, least squares of 3 shots with 1 and with 3 iterations, each in a process of its own. A migration of 3 shots costs
the difference of the first two, an iteration half that of the last two: what each reads and writes is in it, start and
end of a run are in neither. Source wavefields come back from memory, from disk, and by computing again what a few
states in memory leave out. Seconds are those of the processor, user and system, which hold on a machine that does other
work as well; ratios are taken round by round.

--small takes shots of 61 x 41 points and is judged by nothing. Ends with an error if an iteration costs more than 2.2
times a migration.
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
#: traces of three shots each
FILES = "shots.sgy", "more.sgy"
#: iterations of the two runs whose difference counts
FEW, MANY = 1, 3
#: [checkpoint] of a job by what it does
CHECKPOINTS = {
    "all samples in memory": 'strategy = "store"\nplace = "memory"',
    "all samples on disk": 'strategy = "store"\nplace = "disk"',
    "states in memory, the rest again": 'strategy = "revolve"\nslots = 3\ndisk_slots = 0\nblock = 20',
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
    """Write the scattered traces of a flat reflector: three shots to each of two files."""
    grid = subsalt.Grid(shape, (10.0, 10.0))
    end = grid.last[0]
    receivers = [(x, 20.0) for x in np.arange(50.0, end - 40.0, 25.0)]
    sources = [(part * end, 20.0) for part in (0.25, 0.5, 0.75, 0.27, 0.52, 0.77)]
    survey = subsalt.Survey.from_arrays(sources, receivers, nt=round(1.3 * shape[0] + 110), dt=0.004)
    dm = np.zeros(shape)
    dm[:, shape[1] // 2] = 3e-9
    wavelet = subsalt.ricker(15.0, 0.001)
    data = subsalt.born_operator(subsalt.EarthModel(grid, 2000.0), survey, wavelet).forward(dm)
    for file, some in zip(FILES, (slice(0, 3), slice(3, 6)), strict=True):
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


def measured(folder: Path, shape: tuple[int, int], checkpoint: str, rounds: int) -> dict[str, Any]:
    """Return the seconds of a migration and of an iteration, and their ratio, with one kind of checkpoint."""
    text, both = (
        JOB.format(*shape, ", ".join(f'"{name}"' for name in files)) + checkpoint + "\n"
        for files in (FILES[:1], FILES)
    )

    def inverted(iterations: int) -> str:
        return f'method = "lsrtm"\n{text}[inversion]\niterations = {iterations}\n'

    migration, iteration = [], []
    for _ in range(rounds):
        three = run(folder, text)
        migration.append(run(folder, both) - three)
        few = run(folder, inverted(FEW))
        iteration.append((run(folder, inverted(MANY)) - few) / (MANY - FEW))
    ratios = [i / m for i, m in zip(iteration, migration, strict=True)]
    return {
        "migration_seconds": round(median(migration), 3),
        "iteration_seconds": round(median(iteration), 3),
        "ratio": round(median(ratios), 3),
        "min": round(min(ratios), 3),
        "max": round(max(ratios), 3),
        "spread": round(spread(ratios), 4),
    }


def main() -> None:
    """Measure every kind, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="61 x 41 points, one round; not judged")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--json", type=Path, help="file for the result")
    options = parser.parse_args()
    shape, rounds = ((61, 41), 1) if options.small else ((301, 151), options.rounds)
    on = machine(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        seconds(lambda: write_shots(Path(folder), shape))
        for name, checkpoint in CHECKPOINTS.items():
            rows[name] = measured(Path(folder), shape, checkpoint, rounds)
            print(f"{name:36} {rows[name]}", flush=True)
    holds = all(row["ratio"] <= LIMIT for row in rows.values())
    out = {
        "question": "what does an iteration of least squares cost over a migration",
        "command": "python benchmarks/lsrtm_cost.py",
        "machine": on,
        "grid": list(shape),
        "shots": 3,
        "rounds": rounds,
        "limit": LIMIT,
        "holds": holds,
        "rows": rows,
    }
    text = json.dumps(out, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        options.json.write_text(text)
    if not holds and not options.small:
        sys.exit(f"an iteration costs more than {LIMIT} times a migration")


if __name__ == "__main__":
    main()
