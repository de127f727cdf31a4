"""Is the image of a field line the same when its run is killed twice and resumed on other numbers of ranks?

    python benchmarks/killed_line.py FOLDER [--shots 1-12]

FOLDER holds the job with all its steps on traces that `make bench-line FOLDER=... LINE="--no-rtm"` wrote. The shots are
migrated twice. The first run is one process, left alone. The second begins on 2 ranks; when a third of the shots are
done, one rank is killed (SIGKILL). One process resumes it, and is killed after two thirds; 3 ranks bring it to its
end. Image and partial image of every shot must have the same bytes as those of the first run.

Prints one JSON object: for each part of the second run its ranks, exit code, and shots done when it ended; how many
shots were begun again; and `same_bytes`. The exit code is 1 where bytes differ or a part was not killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from facts import machine

from subsalt.run.ledger_file import peek

MPIEXEC = Path(sys.executable).parent / "mpiexec"


def done(run: Path) -> int:
    """Return the number of shots that the ledger of a run lists as done."""
    return sum(row["state"] == "done" for row in peek(run))


def workers(pid: int) -> list[int]:
    """Return the processes of subsalt among a process and its descendants."""
    pids, family = [], [pid]
    while family:
        one = family.pop()
        try:
            words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
            family += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
        if b"subsalt" in words and not words[0].endswith(b"mpiexec"):
            # the launcher of a rank repeats its command: a rank is Python itself
            pids += [one] if b"python" in words[0] else []
    return pids


def migrate(job: Path, run: Path, shots: str, ranks: int, kill_at: int | None) -> dict[str, object]:
    """Migrate shots on some ranks, kill one rank once `kill_at` shots are done, and return how the run ended."""
    words = [sys.executable, "-m", "subsalt", "migrate", str(job), "--run", str(run), "--shots", shots]
    launch = [str(MPIEXEC), "-n", str(ranks)] if ranks > 1 else []
    with open(run.with_suffix(".log"), "a") as log:
        process = subprocess.Popen([*launch, *words], stdout=log, stderr=log)
        while kill_at is not None and process.poll() is None:
            if done(run) >= kill_at:
                os.kill(workers(process.pid)[-1], signal.SIGKILL)
                break
            time.sleep(0.05)
        code = process.wait()
    return {"ranks": ranks, "exit_code": code, "done": done(run)}


def hashes(run: Path) -> dict[str, str]:
    """Return the hashes of the image, and of the partial images that the ledger has."""
    files = {
        name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in ("image.sgy", "image.rsf")
    }
    return files | {f"shot {row['id']}": row["sha256"] for row in peek(run)}


def main() -> int:
    """Migrate twice, kill twice, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", default="1-12", help="as in subsalt migrate --shots")
    options = parser.parse_args()
    job = options.folder / "line.toml"
    if not job.is_file():
        raise SystemExit(
            f'{job} is not there; make it: make bench-line FOLDER={options.folder} LINE="--no-rtm"'
        )
    alone, killed = options.folder / "alone.run", options.folder / "killed.run"
    for run in (alone, killed):
        shutil.rmtree(run, ignore_errors=True)
    if migrate(job, alone, options.shots, 1, None)["exit_code"]:
        raise SystemExit(f"the run that is left alone failed: {alone.with_suffix('.log')}")
    n = done(alone)
    parts = [
        migrate(job, killed, options.shots, ranks, kill_at)
        for ranks, kill_at in ((2, n // 3), (1, 2 * n // 3), (3, None))
    ]
    rows = peek(killed)
    same = hashes(alone) == hashes(killed)
    struck = all(part["exit_code"] for part in parts[:2]) and parts[2]["exit_code"] == 0
    print(
        json.dumps(
            {
                "shots": n,
                "parts": parts,
                "begun_again": sum(row["attempt"] for row in rows) - len(rows),
                "same_bytes": same,
                "image_sha256": hashes(killed)["image.sgy"],
                "machine": machine(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))),
            }
        )
    )
    return 0 if same and struck else 1


if __name__ == "__main__":
    sys.exit(main())
