"""What does protection cost: checksums, the ledger, and outputs that appear complete or not at all?

`subsalt migrate` of a made-up survey with snapshots on disk, in turn as it is and with the protection left out: no
checksum of a snapshot, no sha256 of inputs and images, no flush to the device, a ledger that waits for nothing. A run
without it is worth nothing; only its time is wanted. The images must be the same.

    python benchmarks/protection.py DIR [--grid 160 120 120] [--shots 6] [--samples 251] [--rounds 5]

Prints a table and, last, one JSON object; ends with 1 when the median cost is above 2 % of the wall time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

BAR = 0.02

CHECKPOINT = """
[checkpoint]
strategy = "store"
place = "disk"
"""


class NoHash:
    """A hash of nothing, always the same: what is compared with it agrees."""

    digest_size, block_size, name = 32, 64, "sha256"

    def __init__(self, data: bytes = b"", **more: object) -> None:
        pass

    def update(self, data: object) -> None:
        """Look at nothing."""

    def digest(self) -> bytes:
        """Return zeros."""
        return bytes(32)

    def hexdigest(self) -> str:
        """Return zeros."""
        return self.digest().hex()

    def copy(self) -> NoHash:
        """Return another."""
        return NoHash()


class Careless(sqlite3.Connection):
    """A connection that waits for no disk."""

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
        """Execute a statement, the cheap way where there is one."""
        if sql.startswith("PRAGMA synchronous ="):
            sql = "PRAGMA synchronous = OFF"
        elif sql.startswith("PRAGMA integrity_check"):
            sql = "SELECT 'ok'"
        return super().execute(sql, *more)


def leave_out() -> None:
    """Take the protection out of this process."""
    for name in ("fsync", "fdatasync"):
        setattr(os, name, lambda fd: None)
    hashlib.sha256 = NoHash  # type: ignore[misc, assignment]
    connect = sqlite3.connect

    def careless(*args: Any, **more: Any) -> sqlite3.Connection:
        return connect(*args, **({"factory": Careless} | more))

    sqlite3.connect = careless  # type: ignore[assignment]
    from subsalt.checkpoint.storage import transfers

    leave_checksums_out(transfers)


def leave_checksums_out(transfers: Any) -> None:
    """Take the checksums out of the store."""
    transfers.CHECKSUMS = False


def migrate(job: Path, run: Path, *, bare: bool) -> dict[str, Any]:
    """Run the real command in a process of its own; return its run.json."""
    words = ["migrate", str(job), "--run", str(run)]
    command = [sys.executable, __file__, "--child", "bare" if bare else "whole", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    facts: dict[str, Any] = json.loads((run / "run.json").read_text())
    return facts


def child(kind: str, words: list[str]) -> None:
    """Be `subsalt WORDS`, with or without protection."""
    if kind == "bare":
        leave_out()
    from subsalt.cli import app, guard

    sys.exit(guard.run(app.app, words))


def measure(options: argparse.Namespace, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Return the figures; the two ways take turns."""
    from subsalt_lab.whole import MadeSurvey

    survey = MadeSurvey(
        tuple(options.grid), "vti", options.samples, options.shots, options.grid[0], aperture=False
    )
    folder = Path(tempfile.mkdtemp(prefix="subsalt-protection-", dir=options.directory))
    rows, images = [], set()
    try:
        survey.write(folder)
        job = survey.write_job(folder / "job.toml", options.threads, 1)
        job.write_text(job.read_text() + CHECKPOINT)
        migrate(job, folder / "run", bare=False)  # tiles are chosen, files are in the page cache
        shutil.rmtree(folder / "run")
        for k in range(options.rounds):
            walls = {}
            for bare in (False, True) if k % 2 == 0 else (True, False):
                facts = migrate(job, folder / "run", bare=bare)
                walls[bare] = facts["phases"]["wall"]
                images.add(hashlib.sha256((folder / "run" / "image.rsf@").read_bytes()).hexdigest())
                shutil.rmtree(folder / "run")
            rows.append({"whole": walls[False], "bare": walls[True], "cost": walls[False] / walls[True] - 1})
            say(f"{walls[False]:>10.2f}{walls[True]:>12.2f}{100 * rows[-1]['cost']:>9.2f} %")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"rounds": rows, "cost": median(r["cost"] for r in rows), "same_image": len(images) == 1}


def main() -> None:
    """Parse, measure, print."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, nargs="?", default=Path("."))
    parser.add_argument("--grid", type=int, nargs=3, default=[160, 120, 120], help="points of the model")
    parser.add_argument("--shots", type=int, default=6)
    parser.add_argument("--samples", type=int, default=251, help="of a trace, 4 ms each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--publish", action="store_true", help="write docs/performance/protection.json")
    options = parser.parse_args()
    from facts import machine

    from subsalt import __version__

    print(f"{'as it is s':>10}{'without s':>12}{'cost':>11}", flush=True)
    measured = measure(options)
    print(f"median cost {100 * measured['cost']:.2f} % of the wall time; bar {100 * BAR:g} %")
    print(f"the image has {'the same bytes' if measured['same_image'] else 'OTHER BYTES'}")
    result = {
        "question": "protection",
        "command": "python benchmarks/protection.py DIR",
        "version": __version__,
        "machine": machine(options.threads),
        "grid": options.grid,
        "shots": options.shots,
        "samples": options.samples,
    } | measured
    if options.publish:
        (HERE.parent / "docs" / "performance" / "protection.json").write_text(
            json.dumps(result, indent=1) + "\n"
        )
    print(json.dumps(result))
    raise SystemExit(not measured["same_image"] or measured["cost"] > BAR)


if __name__ == "__main__":
    main()
