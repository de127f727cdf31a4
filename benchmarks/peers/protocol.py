"""How a worker talks to `run.py`: one JSON object per line, requests on stdin, answers on stdout.

``{"do": "check", "steps": n, "out": FILE}`` runs n steps with a point source from rest and saves the fields;
``{"do": "fill"}`` loads the start field; ``{"do": "round", "steps": n}`` times n steps from the present state
and answers seconds; ``{"do": "save", "out": FILE}`` saves the present fields; ``{"do": "quit"}`` ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def serve(make: Callable[[str, str], Any]) -> None:
    """Build the solver ``make(case name, variant)`` and answer requests until stdin ends.

    Whatever a library prints goes to stderr: the real stdout carries answers only.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    solver = make(sys.argv[1], sys.argv[2])
    answers.write(json.dumps({"ready": solver.about}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        if action == "quit":
            return
        result = getattr(solver, action)(**request)
        answers.write(json.dumps({"result": result}) + "\n")
