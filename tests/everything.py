"""Run all tests where nothing that they ask for is missing; `make test-all`.

A test that finds no program, no rights or no data skips itself, which `make test` counts as right. Here nothing may be
skipped but the halves that need a GPU, and the tests of `make test-libraries`, which have an environment of their own.
What is missing is named first, with the Debian packages that bring it; what was skipped is listed at the end with its
reason. Exit status 2 when something is missing, 1 when a test failed or was skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "build" / "test-all.xml"

#: programs that tests look for, and the Debian package (12, bookworm) that brings them
PROGRAMS = {
    "cc": "gcc",
    "c++": "g++",
    "git": "git",
    "nm": "binutils",
    "readelf": "binutils",
    "addr2line": "binutils",
    "strace": "strace",
    "gfortran": "gfortran",
    "fio": "fio",
    "chromium": "chromium",
    "mpiexec.openmpi": "openmpi-bin",
    "mpicc.openmpi": "libopenmpi-dev",
    "mpif90.openmpi": "libopenmpi-dev",
    "hpcc": "hpcc",
    "flow": "libopm-simulators-bin",
    "icoFoam": "openfoam",
    "blockMesh": "openfoam",
    "decomposePar": "openfoam",
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "mkfs.ext4": "e2fsprogs",
}

#: beginnings of the reasons of tests that a GPU, or the plug-in for one, is missing for
GPU = ("no GPU", "the plug-in is not built", "the plug-in was built from another version")
#: what the reason says of a test of `make test-libraries`
LIBRARIES = "make test-libraries"


def environment() -> dict[str, str]:
    """Return the variables of the tests: programs of the virtual environment first, those of root found too."""
    path = os.pathsep.join(
        [str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
    )
    shared = os.environ.get("SUBSALT_SHARED_DATA", str(ROOT.parent / "shared" / "data"))
    return os.environ | {
        "PATH": path,
        "OMP_NUM_THREADS": "1",
        "SUBSALT_SHARED_DATA": shared,
        "SUBSALT_TESTS": "all",
    }


def missing(env: dict[str, str]) -> list[str]:
    """Return what is not here, with how to get it."""
    out = []
    packages = {package for name, package in PROGRAMS.items() if shutil.which(name, path=env["PATH"]) is None}
    names = [name for name in PROGRAMS if shutil.which(name, path=env["PATH"]) is None]
    if packages:
        out.append(
            f"not on PATH: {', '.join(names)}; apt-get install --no-install-recommends {' '.join(sorted(packages))}"
        )
    if os.geteuid() != 0:
        out.append(
            "disks that fill up and lose power, and two nodes over a link, need root: sudo make test-all"
        )
    if not Path("/dev/loop-control").exists():
        out.append("no loop devices (/dev/loop-control): modprobe loop, or a container with --privileged")
    if not Path(env["SUBSALT_SHARED_DATA"], "segy").is_dir():
        out.append(f"no files in {env['SUBSALT_SHARED_DATA']}; SUBSALT_SHARED_DATA names their folder")
    return out


def skipped(report: Path) -> list[tuple[str, str]]:
    """Return the tests that were skipped, and why."""
    out = []
    for case in ET.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            out.append((f"{case.get('classname')}::{case.get('name')}", skip.get("message") or ""))
    return out


def main(words: list[str]) -> int:
    """Return the exit status; `words`: for pytest, in place of all tests."""
    env = environment()
    if lacking := missing(env):
        print("missing here:\n  " + "\n  ".join(lacking), file=sys.stderr)
        return 2
    REPORT.parent.mkdir(exist_ok=True)
    line = [sys.executable, "-m", "pytest", "--forks", "2", f"--junitxml={REPORT}", *words]
    done = subprocess.run(line, cwd=ROOT, env=env)
    skips = skipped(REPORT)
    mine = [(test, why) for test, why in skips if not why.startswith(GPU) and LIBRARIES not in why]
    print(
        f"{len(skips) - len(mine)} halves of tests without a GPU or of make test-libraries, {len(mine)} others skipped"
    )
    for test, why in mine:
        print(f"  {test}: {why}")
    return int(done.returncode != 0 or bool(mine))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
