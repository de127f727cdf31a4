"""Environments of the peers, one each, made from its pinned list when they are not there."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = {"devito": ROOT / ".venv-peers", "deepwave": ROOT / ".venv-peers-deepwave"}
FOLDERS["pylops"] = ROOT / ".venv-peers-pylops"


def python_of(peer: str) -> Path:
    """Return the interpreter that has `peer`: this one, or that of its environment.

    Installs it there when it is missing or its pins have changed.
    Deepwave brings PyTorch, in the default index a build for GPUs: about 3 GB to fetch, 6 GB on disk.
    """
    if importlib.util.find_spec(peer) is not None:
        return Path(sys.executable)
    folder, pins = FOLDERS[peer], HERE / f"constraints-{peer}.txt"
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not (python.exists() and stamp.exists() and stamp.read_text() == pins.read_text()):
        print(f"installing {pins.name} into {folder.name}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "-r", pins], check=True)
        shutil.copy(pins, stamp)
    return python
