"""Which files of subsalt does one migration go through?

    python benchmarks/house_walk.py [--json] [--folder FOLDER]

A small isotropic survey is modelled, then ``subsalt migrate`` runs on it in this process while every call of a
function is noted. A file belongs to the walk when one of its functions is called while the command runs; what its
import executes does not count, nor what runs on behalf of an import (decorators, tables). Threads count too.

The files are printed in the order of their first call, with the number of their functions that were called and the
stages in which they were. A stage is what runs below one function (`STAGES`), the rest is the frame: command, job and
run directory. Who follows one shot from the engine to the kernels meets the files of the stage "shots".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

MODEL_JOB = """\
[model]
vp = "true.rsf"

[source]
f0 = "10 Hz"

[acquisition]
shots = { first = [400, 10], last = [1000, 10], n = 3 }
receivers = { first = [0, 10], last = [1400, 10], n = 57 }
record_length = 1.0
dt = 0.004
files = "per-shot"
"""

MIGRATE_JOB = """\
[data]
files = ["shots/*.sgy"]

[model]
vp = "vp.rsf"

[source]
f0 = "10 Hz"

[output]
pictures = false
"""


#: stages of a migration by the function that begins them: the folder of its file, and its name
STAGES = {
    ("job", "check_before_run"): "checks",
    ("run", "run_units"): "shots",
    ("methods/rtm", "prepare"): "setup",
    ("methods/rtm", "predict"): "setup",
    ("methods/rtm", "assemble"): "image",
    ("report", "write"): "report",
}
FRAME = "frame"


class Calls:
    """The functions of some folder that are called, in the order of their first call, import time aside.

    Parameters
    ----------
    folder : Path
        Only files below it are noted.
    """

    def __init__(self, folder: Path) -> None:
        self.prefix = str(folder) + os.sep
        self.called: dict[CodeType, set[str]] = {}
        self.stages: list[tuple[CodeType, str]] = []
        self._importing = threading.local()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; the signature is that of `sys.setprofile`."""
        if event not in ("call", "return"):
            return
        depth = getattr(self._importing, "depth", 0)
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing.depth = max(0, depth + (1 if event == "call" else -1))
        elif not depth and code.co_filename.startswith(self.prefix):
            self._note(code, event)

    def _note(self, code: CodeType, event: str) -> None:
        """Note a call, or the end of a stage; other threads work for the stage that the first one is in."""
        folder = os.path.dirname(code.co_filename).removeprefix(self.prefix)
        stage = STAGES.get((folder, code.co_name))
        if event == "return":
            if self.stages and self.stages[-1][0] is code:
                self.stages.pop()
            return
        if stage is not None:
            self.stages.append((code, stage))
        self.called.setdefault(code, set()).add(self.stages[-1][1] if self.stages else FRAME)

    def files(self) -> dict[str, dict[str, Any]]:
        """Return the files in the order of their first call: functions called, and stages, by name."""
        files: dict[str, dict[str, Any]] = {}
        for code, stages in self.called.items():
            name = code.co_filename.removeprefix(self.prefix)
            if not name.endswith(".py"):  # templates are compiled, too
                continue
            file = files.setdefault(name, {"functions": 0, "stages": []})
            file["functions"] += 1
            file["stages"] = sorted({*file["stages"], *stages})
        return files


def make_survey(folder: Path) -> None:
    """Write a model of two layers, a smooth one beside it, shots modelled in the former, and the job that migrates."""
    import numpy as np

    import subsalt
    from subsalt.io.volumes import volume

    grid = subsalt.Grid((141, 81), (10.0, 10.0))
    depth = np.broadcast_to(grid.axis(-1), grid.shape)
    volume.write(folder / "true.rsf", grid, np.where(depth < 500.0, 1800.0, 2400.0).astype(np.float32))
    volume.write(folder / "vp.rsf", grid, np.full(grid.shape, 1800.0, np.float32))
    (folder / "model.toml").write_text(MODEL_JOB)
    (folder / "job.toml").write_text(MIGRATE_JOB)


def run_command(*words: str) -> int:
    """Run ``subsalt WORDS`` in this process, its output thrown away; return its exit code."""
    from subsalt.cli.app import main

    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        try:
            main(list(words))
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def traced(work: Callable[[], int], folder: Path) -> Calls:
    """Return the calls that some work makes, on all threads; it has to end well."""
    calls = Calls(folder)
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        code = work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if code:
        raise SystemExit(f"the migration ended with exit code {code}")
    return calls


def walk(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the files of the package that ``subsalt migrate`` of a small isotropic job executes, in order."""
    import subsalt

    make_survey(folder)
    if run_command("model", str(folder / "model.toml"), "--out", str(folder / "shots")):
        raise SystemExit("the survey could not be modelled")
    job, run = folder / "job.toml", folder / "job.run"
    package = Path(subsalt.__file__).parent
    return traced(lambda: run_command("migrate", str(job), "--run", str(run)), package).files()


def main(words: list[str]) -> int:
    """Record the walk and print its files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the files as an object")
    parser.add_argument("--folder", type=Path, help="make survey and run here, and leave them")
    options = parser.parse_args(words)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        files = walk(folder)
    if options.json:
        print(json.dumps(files, indent=1))
    else:
        for name, file in files.items():
            print(f"{file['functions']:4d}  {name:40s} {', '.join(file['stages'])}")
        print(f"{len(files)} files, {sum(file['functions'] for file in files.values())} functions")
        for stage in (FRAME, *dict.fromkeys(STAGES.values())):
            print(f"{sum(stage in file['stages'] for file in files.values()):4d} files in stage {stage}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
