"""Functions that run inside a worker of an engine: the facts that a client compares, and the program of a unit.

Arguments and answers are texts and numbers. A unit is a program with threads or ranks of its own, so that a crash of a
kernel ends the program and not the worker.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import threading
from pathlib import Path

#: one task at a time, however many threads a worker has
_ONE = threading.Lock()
#: letters of what a program said that go back to the client
SAID = 2000


def facts(mark: str, token: str, device: str) -> str:
    """Return what a client compares, as JSON: version and hash of the code, numerics class, host, cores, shared folder.

    Parameters
    ----------
    mark : str
        File in the run directory into which the client has written `token`.
    device : str
        Name of the device whose numerics class is wanted; empty for none.
    """
    from subsalt import kernels
    from subsalt.run.facts import code_facts

    code = code_facts()
    try:
        shared = Path(mark).read_text(encoding="utf-8") == token
    except OSError:
        shared = False
    answer = {
        "version": code["version"],
        "code": code["python_sha256"],
        "class": kernels.get(device).describe()["class"] if device else "",
        "host": platform.node(),
        "cores": kernels.cores(),
        "shared": shared,
    }
    return json.dumps(answer)


def compute(run: str, units: str, attempts: int, number: int, threads: int, launcher: str) -> str:
    """Compute units by a program, and return its exit code, its lines and its last words as JSON.

    Parameters
    ----------
    run : str
        The run directory.
    units : str
        Numbers of the units, separated by commas.
    attempts : int
        Number of the attempt at them.
    number : int
        The round.
    threads : int
        Threads of the program.
    launcher : str
        Words before the program, such as ``"srun -n 4"``; empty for one process.
    """
    from subsalt.machine import programs

    chosen = [word for unit in units.split(",") for word in ("--unit", unit)]
    words = [
        *shlex.split(launcher),
        *(sys.executable, "-m", "subsalt", "unit", run, *chosen),
        *("--attempt", str(attempts), "--round", str(number), "--threads", str(threads)),
        # a launcher may start ranks on other machines: they look at the run alone
        *("--owner", "0" if launcher else str(os.getpid())),
    ]
    # an engine gives its workers one thread, and a worker belongs to no launch of ranks
    extra = {"OMP_NUM_THREADS": str(threads)} | ({} if launcher else {"SUBSALT_MPI": "off"})
    with _ONE:
        code, said, errors = programs.finish(words, what=f"unit {units}", extra=extra)
    return json.dumps({"code": code, "said": said[-SAID:], "errors": errors.strip()[-SAID:]})
