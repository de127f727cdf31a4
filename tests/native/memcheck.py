"""Small jobs of every medium under valgrind's memcheck: no kernel reads what nobody has written, or beyond an array.

Run by ``make memcheck``; takes some minutes. Ends with 1 when valgrind saw an error with a frame of the compiled
kernels, or bytes that nobody has written on their way to a file. What Python and its packages do among themselves is
not counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

LINE = """
[grid]
spacing = 10
shape = [41, 31]
[source]
f0 = 15
"""

VOLUME = """
[grid]
spacing = [10, 10, 10]
shape = [25, 13, 21]
[source]
f0 = 18
"""

SHOTS = {
    LINE: """
[acquisition]
shots = { first = [100, 10], last = [300, 10], n = 2 }
receivers = { first = [0, 10], last = [400, 10], n = 21 }
record_length = 0.15
dt = 0.002
""",
    VOLUME: """
[acquisition]
shots = { first = [60, 60, 0], last = [180, 60, 0], n = 2 }
receivers = { first = [23, 40, 10], last = [217, 80, 10], n = [8, 3] }
record_length = 0.1
dt = 0.002
""",
}

VTI = "epsilon = 0.1\ndelta = 0.05\n"
TTI = VTI + "theta = 0.3\n"

#: by name: the grid, what the model has beside vp, and further sections of the migration
CASES = {
    "isotropic 2-D": (LINE, "", ""),
    "isotropic 2-D, damping, by revolve": (
        LINE,
        "",
        '[propagation]\nboundary = "damping"\n[checkpoint]\nstrategy = "revolve"\nslots = 3\n',
    ),
    "isotropic 2-D, boundary reversal": (LINE, "", '[checkpoint]\nstrategy = "boundary"\n'),
    "VTI 2-D, free surface": (LINE, VTI, "[propagation]\nfree_surface = true\n"),
    "VTI 3-D, 16-bit models": (VOLUME, VTI, '[propagation]\nmodel_storage = "u16"\nlayer = 6\n'),
    "isotropic 3-D, order 4": (VOLUME, "", "[propagation]\norder = 4\nlayer = 6\n"),
    "TTI 2-D": (LINE, TTI, "[propagation]\nlayer = 4\n"),
    "TTI 3-D": (VOLUME, TTI + "phi = 0.5\n", "[propagation]\nlayer = 2\nsource_taper = 1\n"),
}


def run_case(name: str, folder: Path) -> None:
    """Model and migrate a case."""
    from subsalt.methods.rtm.job import Job
    from subsalt.methods.rtm.model_job import model_job
    from subsalt.run.migrate import migrate_job

    grid, model, more = CASES[name]
    folder.mkdir()
    true = "[model]\nvp = { z = [0, 120, 121, 300], value = [2000, 2000, 2400, 2400] }\n"
    files = '[data]\nfiles = ["shots/*.sgy"]\n'
    (folder / "model.toml").write_text(true + model + SHOTS[grid] + 'files = "per-shot"\n' + grid)
    (folder / "job.toml").write_text(
        f"{files}[model]\nvp = 2000\n{model}[output]\npictures = false\n{grid}{more}"
    )
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    migrate_job(Job.from_toml(folder / "job.toml"), folder / "run")
    print(f"done: {name}", flush=True)


def ours(error: ET.Element) -> bool:
    """Return whether an error is one of the kernels, or one of bytes that go to a file."""
    if (error.findtext("kind") or "").startswith("Leak"):
        return False
    frames = [frame.findtext("obj", "") for frame in error.iter("frame")]
    to_file = error.findtext("kind") == "SyscallParam" and "write" in (error.findtext("what") or "")
    return to_file or any("_native" in Path(obj).name for obj in frames)


def said(error: ET.Element) -> str:
    """Return an error in a few lines: what it is, and the innermost frames."""
    what = error.findtext("what") or error.findtext("xwhat/text") or error.findtext("kind") or "?"
    stack = error.find("stack")
    frames = list(stack.iter("frame"))[:8] if stack is not None else []
    places = [
        f"    {f.findtext('fn', '?')[:90]} ({f.findtext('file') or Path(f.findtext('obj', '?')).name}"
        f"{':' + (f.findtext('line') or '') if f.findtext('line') else ''})"
        for f in frames
    ]
    return "\n".join([what, *places])


def checked(names: list[str], log: Path) -> int:
    """Run cases under valgrind; return how many errors are ours, which are printed."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("make memcheck needs valgrind; on Debian or Ubuntu install the package valgrind")
    command = [
        valgrind,
        "--tool=memcheck",
        # long blocks of the unrolled kernels exhaust the storage of its translator
        "--vex-guest-max-insns=25",
        "--vex-iropt-unroll-thresh=0",
        "--xml=yes",
        f"--xml-file={log}",
        "--error-limit=no",
    ]
    command += [
        "--num-callers=24",
        "--fair-sched=yes",
        "--child-silent-after-fork=yes",
        "--leak-check=no",
        "-q",
    ]
    # Python's own allocator hides what is freed; valgrind knows no AVX-512
    settings = {"PYTHONMALLOC": "malloc", "SUBSALT_ISA": "v3", "OMP_NUM_THREADS": "2", "SUBSALT_BATCH": "1"}
    done = subprocess.run(
        [*command, sys.executable, __file__, "--inside", *names], env=os.environ | settings, check=False
    )
    if done.returncode:
        sys.exit(f"a case failed under valgrind: exit status {done.returncode}")
    root = ET.parse(log).getroot()
    counts = Counter({(c.findtext("unique") or ""): int(c.findtext("count") or 1) for c in root.iter("pair")})
    errors = list(root.iter("error"))
    own_errors = [e for e in errors if ours(e)]
    for error in own_errors:
        print(f"{counts[error.findtext('unique') or ''] or 1} x {said(error)}\n")
    print(
        f"{len(names)} cases; {len(own_errors)} errors of the kernels, "
        f"{len(errors) - len(own_errors)} of others, not counted"
    )
    return len(own_errors)


def main() -> None:
    """Run all cases, or those named."""
    inside, names = sys.argv[1:2] == ["--inside"], [a for a in sys.argv[1:] if a != "--inside"]
    with tempfile.TemporaryDirectory() as folder:
        if inside:
            for i, name in enumerate(names):
                run_case(name, Path(folder) / str(i))
            return
        sys.exit(checked(names or list(CASES), Path(folder) / "valgrind.xml") > 0)


if __name__ == "__main__":
    main()
