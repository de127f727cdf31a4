"""Counts the MPI calls of a program, by name and by phase of the main thread, with the interposer of the lab.

`MPI_Pcontrol(k)` begins phase k; the calls of other threads count as phase 0. What a run tells of its own phases is to
be turned off in the program: ``subsalt.parallel.mpi_library._listeners = lambda: None``.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from subsalt.errors import DeviceError
from subsalt_lab.launch_line import preload
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.run import interposer


def build() -> str:
    """Return what LD_PRELOAD of the ranks must be; skips the test where nothing can be compiled."""
    try:
        mpi = MpiInUse.find()
        return preload([interposer(mpi), mpi.library], {})
    except DeviceError as error:
        pytest.skip(str(error))


def variables(preloaded: str, file: Path) -> dict[str, str]:
    """Return the variables of the ranks whose calls are to be written into a file."""
    return {"LD_PRELOAD": preloaded, "SUBSALT_PMPI_OUT": os.fspath(file)}


def counts(file: Path) -> list[dict[int, Counter[str]]]:
    """Return the calls by rank, phase and name; large-count functions under the plain name."""
    out = []
    for rank in sorted(json.loads(file.read_text())["ranks"], key=lambda r: r["rank"]):
        by_phase: dict[int, Counter[str]] = defaultdict(Counter)
        for row in rank["calls"]:
            by_phase[row["phase"] if row["main"] else 0][row["call"].removesuffix("_c")] += row["calls"]
        out.append(by_phase)
    return out


def table(counts: list[dict[int, Counter[str]]], phase: int) -> str:
    """Return the calls of a phase as JSON, for the message of a failed assertion."""
    return json.dumps([dict(rank[phase]) for rank in counts], indent=1)
