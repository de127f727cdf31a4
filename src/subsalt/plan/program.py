"""Memory of a run before its first array: interpreter, libraries, and what its checks leave allocated.

It is another figure with every Python, libc and build of the libraries, so it is measured where plans are made: a
process of its own migrates a tiny job, and what it took beside the arrays of that job is kept in machine.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from subsalt import __version__
from subsalt.acquisition.survey import Survey
from subsalt.errors import SubsaltError
from subsalt.host import machine_facts
from subsalt.io.publish import publish_text
from subsalt.io.segy.writing import write_survey
from subsalt.machine import machine_file as machines
from subsalt.machine.machine_file import Machine
from subsalt.methods import method_of
from subsalt.parallel.comm import Comm
from subsalt.plan.rates import machine_if_known
from subsalt.plan.world import PROGRAM

#: seconds after which the tiny job is given up
PATIENCE = 120.0


def program_of(machine: Machine | None, method: str) -> int:
    """Return the bytes of a process of a method before its first array, assumed where they were not measured."""
    rows = [] if machine is None else machine.find("programs", **kind_of(method))
    return int(rows[0]["bytes"]) if rows else PROGRAM


def agreed(comm: Comm, method: str) -> int:
    """Return the most that ranks know of it: all plan alike. Collective."""
    return int(comm.max(program_of(machine_if_known(), method)))


def measured(method: str, say: Callable[[str], None] = lambda text: None) -> None:
    """Measure it where this machine does not know it, and keep it."""
    known = machine_if_known()
    if os.environ.get("SUBSALT_MEASURE") == "off" or (
        known is not None and known.find("programs", **kind_of(method))
    ):
        return
    say("measuring the memory of the program itself: a few seconds")
    try:
        machines.save(machines.default_path(), "programs", [measure(method)])
    except (SubsaltError, OSError, ValueError, KeyError, subprocess.SubprocessError):
        return  # what cannot be measured or kept leaves the plan as it was


def kind_of(method: str) -> dict[str, object]:
    """Return what makes a row one of this method, Python and version."""
    return {"method": method, "python": machine_facts()["python"], "version": __version__}


def measure(method: str) -> dict[str, Any]:
    """Return the row of machine.json: bytes that a process of its own takes beside the arrays of a tiny job."""
    with tempfile.TemporaryDirectory(prefix="subsalt-program-") as place:
        folder = Path(place)
        _write_traces(folder)
        publish_text(folder / "tiny.toml", method_of(method).tiny_job())
        subprocess.run(
            [sys.executable, "-m", "subsalt", "migrate", "tiny.toml", "--run", "run"],
            cwd=folder,
            # it belongs to no launch of ranks, and measures nothing itself
            env={**os.environ, "SUBSALT_MPI": "off", "SUBSALT_MEASURE": "off"},
            check=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        run = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    arrays = sum(size for name, size in run["memory_plan"].items() if name != "program")
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return kind_of(method) | {"bytes": int(run["peak_memory_bytes"]) - arrays, "date": when}


def _write_traces(folder: Path) -> None:
    x = 20.0 * np.arange(24)
    src = np.array([[100.0, 10.0], [300.0, 10.0]])
    rcv = np.stack([x, np.full(24, 10.0)], axis=1)
    t = 0.004 * np.arange(126)
    far = np.abs(x - src[:, :1])[:, :, None]
    data = sum(
        np.exp(-(((t - 0.15 - np.hypot(t0, far / 2000.0)) / 0.02) ** 2)).astype(np.float32)
        for t0 in (0.0, 0.25)
    )
    survey = Survey.from_arrays(src, rcv, nt=len(t), dt=0.004, data=data)
    write_survey(folder / "shots.sgy", survey)
