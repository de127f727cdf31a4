"""What is dear and always the same is made once in a session of the tests: by the first worker that asks for it."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")

#: the folder of the session, which its workers share; `conftest.py` sets it, and it is gone with the session
FOLDER = "SUBSALT_TESTS_SHARED"


def once(name: str, make: Callable[[], Made]) -> Made:
    """Return what `make` makes, which must be the same in every process: this process makes it, or finds it made."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return make()
    pickled = Path(folder, f"{name}.pickle")
    with open(f"{pickled}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if pickled.exists():
            return pickle.loads(pickled.read_bytes())
        made = make()
        pickled.write_bytes(pickle.dumps(made))
        return made
