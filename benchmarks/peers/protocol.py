"""How a worker talks to `run.py`: one JSON object per line, requests on stdin, answers on stdout.

``{"do": NAME, ...}`` calls the method of that name of the worker's solver. Solvers of a propagation have ``check``
(n steps with a point source from rest, fields saved), ``fill`` (the start field), ``round`` (n steps from the present
state, answers seconds) and ``save``; migrations have ``data``, ``round`` and ``save``. Every worker answers
``memory`` with the peak of its resident memory in bytes; ``quit`` ends it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def peak_memory() -> dict[str, int]:
    """Return bytes: the largest resident memory of this process so far."""
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def save_fields(path: str, fields: Sequence[np.ndarray]) -> float:
    """Save arrays of one shape as one, without a second copy in memory; return the largest absolute value."""
    out = np.lib.format.open_memmap(path, "w+", fields[0].dtype, (len(fields), *fields[0].shape))
    largest = 0.0
    for to, field in zip(out, fields, strict=True):
        for plane_to, plane in zip(to, field, strict=True):
            plane_to[...] = plane
            largest = max(largest, float(np.abs(plane).max()))
    return largest


def serve(make: Callable[[str, str], Any]) -> None:
    """Build the solver ``make(case name, variant)`` and answer requests until stdin ends.

    Whatever a library prints goes to stderr: the real stdout carries answers only.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    start = peak_memory()
    solver = make(sys.argv[1], sys.argv[2])
    answers.write(json.dumps({"ready": solver.about}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        if action == "quit":
            return
        if action == "memory":
            result: Any = peak_memory() | {"imported": start["peak"]}
        else:
            result = getattr(solver, action)(**request)
        answers.write(json.dumps({"result": result}) + "\n")
