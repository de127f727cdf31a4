"""What an engine costs where nothing is lost: for which part of the time its workers have no program of a unit.

Units are made long by many time steps, as many as a usual record has, and by the size of the grid. A worker notes when
each of its programs begins and ends, on the clock that all processes of a machine share. Between the first and the last
of them, what is not a program's is the engine's: handing out, news of the end, the client that enters a unit.
What a program takes beyond its shot, to start and to read headers, it would take under any engine; it is said beside.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker_processes import Client, Cluster, contents, migrate, said_by

from subsalt.run.ledger_file import peek

#: part of the time that an engine may take
MOST = 0.01
#: s of record and points along each axis with which the length of a unit is found out
TRIAL = 5.0, 301
#: s: the longest record, as of usual surveys, and its sample interval; what brings a record to the time steps grows
#: with the square of its length, and of 99 s it took a fifth of the shot
LONGEST, INTERVAL = 10.0, 0.004
#: larger than needed by that time: units take at least as long as they should
RESERVE = 1.25


def longer_and_larger(record: float, points: int) -> Callable[[str], str]:
    """Return what changes a job to a record of so many seconds, and to so many points along each axis."""
    last = 10 * (points - 1)
    changes = {
        "shape = [41, 31]": f"shape = [{points}, {points}]",
        "161, 300]": f"161, {last}]",
        "last = [400, 0]": f"last = [{last}, 0]",
        "dt = 0.002": f"dt = {INTERVAL}",
        "record_length = 0.25": f"record_length = {record:g}",
    }

    def changed(text: str) -> str:
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    return changed


def measure_cost(
    folder: Path, options: argparse.Namespace, make_survey: Callable[..., Path]
) -> dict[str, Any]:
    """Compute units of at least `options.seconds` on the workers of an engine; return where the time went.

    Parameters
    ----------
    folder : Path
        Folder for all files.
    options : argparse.Namespace
        `shots`, `workers`, `seconds`.
    make_survey : callable
        ``make_survey(folder, shots, changed, more)`` models shots and returns the job that migrates them.
    """
    # few samples are kept: the whole record fits into memory
    more = "[imaging]\nimage_step = 100\n"
    trial = folder / "trial"
    trial.mkdir()
    record, points = TRIAL
    migrate(
        make_survey(trial, 1, longer_and_larger(record, points), more), trial / "run", trial / "log", ranks=1
    )
    times = RESERVE * options.seconds / peek(trial / "run")[0]["seconds"]
    longer = min(times, LONGEST / record)
    points = round(points * math.sqrt(times / longer))
    job = make_survey(folder, options.shots, longer_and_larger(round(record * longer, 1), points), more)
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
