"""What an engine costs where nothing is lost: for which part of the time its workers have no program of a unit.

Units are made long by many time steps on a small grid. A worker notes when each of its programs begins and ends, on the
clock that all processes of a machine share. Between the first and the last of them, what is not a program's is the
engine's: handing out, news of the end, the client that enters a unit in the ledger. What a program takes beyond its
shot, to start and to read headers, it would take under any engine; it is said beside.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small_run import MODEL
from worker_processes import Client, Cluster, contents, migrate, said_by

from subsalt.run.ledger_file import peek

#: part of the time that an engine may take
MOST = 0.01
#: s of record with which the length of a unit is found out, and the longest that a SEG-Y trace of this interval has
TRIAL, INTERVAL = 20.0, 0.004
LONGEST = 65000 * INTERVAL


def model_of(record: float) -> str:
    """Return the job that models shots with a record of so many seconds."""
    text = MODEL.replace("shape = [41, 31]", "shape = [401, 301]").replace("161, 300]", "161, 3000]")
    text = text.replace("record_length = 0.25", f"record_length = {record:g}")
    return text.replace("dt = 0.002", f"dt = {INTERVAL}")


def measure_cost(
    folder: Path, options: argparse.Namespace, make_survey: Callable[[Path, int, str, str], Path]
) -> dict[str, Any]:
    """Compute units of at least `options.seconds` on the workers of an engine; return where the time went.

    Parameters
    ----------
    folder : Path
        Folder for all files.
    options : argparse.Namespace
        `shots`, `workers`, `seconds`.
    make_survey : callable
        ``make_survey(folder, shots, model, more)`` models shots and returns the job that migrates them.
    """
    # few samples are kept: the whole record fits into memory
    more = "[imaging]\nimage_step = 100\n"
    trial = folder / "trial"
    trial.mkdir()
    migrate(make_survey(trial, 1, model_of(TRIAL), more), trial / "run", trial / "log", ranks=1)
    rate = peek(trial / "run")[0]["seconds"] / TRIAL
    record = round(min(LONGEST, 1.2 * options.seconds / rate), 1)
    job = make_survey(folder, options.shots, model_of(record), more)
    migrate(job, folder / "whole.run", folder / "whole.log", ranks=1)
    cluster = Cluster(folder, options.workers, "timed")
    cluster.start()
    client = Client(job, folder / "engine.run", folder / "engine.log")
    begin = time.monotonic()
    try:
        client.start(cluster.address)
        while client.runs:
            time.sleep(0.1)
        end = time.monotonic()
    finally:
        cluster.end()
        client.kill()
    if client.code != 0:
        raise SystemExit(f"the client ended with {client.code}: {said_by(folder / 'engine.log')}")
    units = [row["seconds"] for row in peek(folder / "engine.run")]
    whole, now = contents(folder / "whole.run"), contents(folder / "engine.run")
    differ = sorted(name for name in {*whole, *now} if whole.get(name) != now.get(name))
    result = shares(folder / "programs.txt", sum(units))
    return result | {
        "units": len(units),
        "workers": options.workers,
        "shortest unit": round(min(units), 1),
        "seconds": round(end - begin, 1),
        "differing files": differ,
        "wrong": (["engine"] if result["part of the engine"] > MOST else []) + differ,
    }


def shares(log: Path, computing: float) -> dict[str, Any]:
    """Return the parts of the time of the workers; `computing` seconds were spent in shots."""
    spans = defaultdict(list)
    for line in log.read_text().splitlines():
        worker, begin, end = line.split()
        spans[worker].append((float(begin), float(end)))
    window = sum(max(e for _, e in some) - min(b for b, _ in some) for some in spans.values())
    busy = sum(e - b for some in spans.values() for b, e in some)
    between = sum(len(some) - 1 for some in spans.values())
    return {
        "part of the engine": round((window - busy) / window, 5),
        "seconds between two programs": round((window - busy) / max(1, between), 3),
        "part of programs beside their shots": round((busy - computing) / window, 5),
    }
