"""Disks that fail: an ext4 whose power is cut, and a small one that fills up. For root, in a mount namespace.

`python disks.py FOLDER POWER FULL` makes so many trials of each kind, and prints a line of JSON per trial, with what
was wrong, empty when nothing was.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "run")]

from small_run import digest, make  # noqa: E402
from strikes import Striker, build  # noqa: E402

from subsalt.run.ledger_file import peek  # noqa: E402

MEGABYTE = 1 << 20


def able() -> str:
    """Return why disks cannot be made here, empty when they can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("unshare", "mkfs.ext4", "mount"):
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            return f"{program} is not there"
    if not Path("/dev/loop-control").exists():
        return "no loop devices"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "may not unshare mounts"
    return ""


def trials(folder: Path, power: int = 0, full: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Run so many trials of each kind in a mount namespace of their own; return their lines by kind."""
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    done = subprocess.run(
        ["unshare", "-m", sys.executable, str(HERE / "disks.py"), str(folder), str(power), str(full)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(lines) != power + full:
        raise RuntimeError(
            f"{len(lines)} of {power + full} trials, exit code {done.returncode}: {done.stderr[-2000:]}"
        )
    return {kind: [line for line in lines if line["kind"] == kind] for kind in ("power", "full")}


def sh(*words: object) -> None:
    subprocess.run([str(w) for w in words], check=True, capture_output=True)


class Disk:
    """A file with a file system, and where it is mounted."""

    def __init__(self, folder: Path) -> None:
        self.image, self.place = folder / "disk", folder / "mount"
        self.place.mkdir()

    def make(self) -> None:
        self.image.unlink(missing_ok=True)
        sh("truncate", "-s", "32M", self.image)
        sh("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", self.image)
        self.mount()

    def mount(self) -> None:
        sh("mount", "-o", "loop", self.image, self.place)

    def unmount(self) -> None:
        for _ in range(100):  # the last killed process may still be closing files
            if subprocess.run(["umount", self.place], capture_output=True).returncode == 0:
                return
            time.sleep(0.02)
        raise RuntimeError("the disk is still in use")


def power(striker: Striker, job: Path, whole: Path, count: int) -> None:
    """Cut the power of the disk of a run now and then; what was called done is there, and the run goes on."""
    disk, dice = Disk(striker.folder), random.Random(7)
    run = disk.place / "run"
    disk.make()
    begin = time.monotonic()
    assert striker("migrate", job, "--run", run).code == 0
    seconds = time.monotonic() - begin
    disk.unmount()
    for k in range(count):
        disk.make()
        # anywhere in the run; or close behind a shot that was just called done
        shots, fault = k % 3, ""
        after = dice.uniform(0, 0.01 if shots else 0.9 * seconds)
        cut = striker(
            "migrate", job, "--run", run, after=after, shots=shots, run=str(run), disk=str(disk.place)
        )
        disk.unmount()
        disk.mount()
        there = [r["id"] for r in peek(run) if r["state"] == "done"]
        if lost := set(cut.done) - set(there):
            fault = f"lost: {sorted(lost)}"
        end = striker("migrate", job, "--run", run)
        if end.code:
            fault = f"going on ended with {end.code}: {end.err[-500:]}"
        elif digest(run) != digest(whole):
            fault = "the image differs"
        redone = sum(r["attempt"] for r in peek(run)) - 3 if not fault else 0
        disk.unmount()
        facts = {
            "kind": "power",
            "after": after,
            "running": cut.code != 0,
            "done": cut.done,
            "fault": fault,
            "redone": redone,
        }
        print(json.dumps(facts), flush=True)


def full(striker: Striker, job: Path, whole: Path, count: int) -> None:
    """Run on disks that are too small, make them larger, and go on."""
    place = striker.folder / "small"
    place.mkdir()
    run = place / "run"
    need = sum(p.stat().st_blocks * 512 for p in whole.rglob("*"))
    for k in range(count):
        # a run that would not fit is refused before it begins; the last disk has room for all
        size = 32 * MEGABYTE if k == count - 1 else int(2 * need * (k + 1) / count) // 4096 * 4096
        sh("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place)
        small, fault = striker("migrate", job, "--run", run), ""
        if small.code not in (0, 69, 73, 74) or "Traceback" in small.err:
            fault = f"ended with {small.code}: {small.err[-500:]}"
        elif small.code and "E6" not in small.err:
            fault = f"says no code: {small.err[-500:]}"
        sh("mount", "-o", f"remount,size={64 * MEGABYTE}", place)
        end = striker("migrate", job, "--run", run)
        if end.code or digest(run) != digest(whole):
            fault = fault or f"going on ended with {end.code}, or another image: {end.err[-500:]}"
        sh("umount", place)
        print(json.dumps({"kind": "full", "size": size, "code": small.code, "fault": fault}), flush=True)


def main(folder: Path, cuts: int, fills: int) -> None:
    """Make the trials of both kinds, of one survey."""
    job, whole = make(folder), folder / "whole"
    with Striker(folder, build(folder) or Path()) as striker:
        assert striker("migrate", job, "--run", whole, here=True).code == 0
        if cuts:
            power(striker, job, whole, cuts)
        full(striker, job, whole, fills)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
