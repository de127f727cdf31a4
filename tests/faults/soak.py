"""Strike runs at every file operation, at random times, on two ranks, and with failing disks; print what held.

Run by `make soak`; takes about half an hour. Ends with 1 when a promise was broken, with 3 when nothing was struck.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "run"), str(HERE.parent / "mpi")]

import disks  # noqa: E402
from small_run import LEAST_SQUARES, MIGRATE, digest, make  # noqa: E402
from strikes import FOREVER, KILL, ONCE, ROOT, SHORT, TORN, Striker, build, matrix  # noqa: E402
from struck_survey import Case  # noqa: E402
from test_fault_loop import failed  # noqa: E402
from test_kill_scratch import JOBS  # noqa: E402

from subsalt.run.ledger_file import peek  # noqa: E402


class Soak:
    """Counts of trials by kind: struck, not struck, faults, and shots that were computed again."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int, int, str]] = []
        self.faults: list[str] = []
        self.struck: Counter[tuple[str, str]] = Counter()

    def trial(self, name: str, outcomes: Iterator[tuple[str, bool, int]]) -> None:
        """Go through trials of one kind: (what is wrong, whether it struck, shots computed again)."""
        begin, tried, struck, bad, redone = time.monotonic(), 0, 0, 0, Counter[int]()
        for fault, hit, again in outcomes:
            tried, struck, bad = tried + 1, struck + hit, bad + bool(fault)
            redone[again] += hit
            if fault:
                self.faults.append(f"{name}: {fault}")
                print(f"BAD {name}: {fault}", flush=True)
        most = max((k for k, n in redone.items() if n), default=0)
        self.rows.append((name, tried, struck, bad, str(most) if any(redone) else "-"))
        seconds = time.monotonic() - begin
        said = f"{tried} tried, {struck} struck, {bad} bad, at most {most} shots redone, {seconds:.0f} s"
        print(f"{name}: {said}", flush=True)

    def table(self) -> str:
        """Return the outcome as a table."""
        head = "| fault | tried | injected | different bytes or another failure | shots repeated, at most |"
        return f"{head}\n|---|---|---|---|---|\n" + "\n".join(
            f"| {' | '.join(map(str, row))} |" for row in self.rows
        )


def every_point(case: Case, mode: int, every: int) -> Iterator[tuple[str, bool, int]]:
    """Kill at all operations; every other run is gone on with by its directory alone."""
    for i, point in enumerate(case.points[::every]):
        fault, redone = case.kill(point, by_directory=i % 2 == 1, mode=mode)
        yield fault, True, redone


def twice(case: Case, every: int, dice: random.Random) -> Iterator[tuple[str, bool, int]]:
    """Kill what goes on as well."""
    for point in case.points[::every]:
        fault, redone = case.kill(point, again=dice.randrange(1, 200), by_directory=dice.random() < 0.5)
        yield fault, True, redone


def at_random(case: Case, count: int, dice: random.Random) -> Iterator[tuple[str, bool, int]]:
    """Kill at random times, again and again, until a run comes to its end."""
    case.fresh()
    begin = time.monotonic()
    case.start()
    seconds, kills = time.monotonic() - begin, 0
    case.fresh()
    while kills < count:
        after = dice.uniform(0, seconds)
        end = case.striker("migrate", case.job, "--run", case.run, after=after)
        kills += end.code == -9
        if end.code == -9:
            yield "", True, 0
            continue
        yield case.verdict(end), False, 0
        case.fresh()


def every_failure(case: Case, number: int, mode: int, every: int) -> Iterator[tuple[str, bool, int]]:
    """Fail operations."""
    for point in case.points[::every]:
        fault, code = failed(case, point, number, mode)
        yield fault, code >= 0, 0


def short(case: Case) -> Iterator[tuple[str, bool, int]]:
    """Transfer a few bytes at a time, with interruptions."""
    for most in (1, 7, 100, 1000, 4095, 10_000) if len(case.points) < 300 else (100, 1000, 4095, 10_000):
        case.fresh()
        yield case.verdict(case.start(0, SHORT, most)), True, 0


def on_ranks(case: Case, ranks: int, count: int, dice: random.Random) -> Iterator[tuple[str, bool, int]]:
    """Kill one rank of a run under mpiexec at an operation; go on with another number of ranks."""
    mpiexec = Path(sys.executable).parent / "mpiexec"
    command = [sys.executable, "-m", "subsalt", "migrate", str(case.job), "--run", str(case.run)]
    for _ in range(count):
        case.fresh()
        log = case.folder / "struck.log"
        log.unlink(missing_ok=True)
        rank = dice.randrange(ranks)
        faults = {
            "FAULT_AT": dice.randrange(1, len(case.points) if rank == 0 else 20),
            "FAULT_MODE": KILL,
            "FAULT_UNDER": case.under,
            "FAULT_RANK": rank,
            "FAULT_LOG": log,
        }
        launch = ["timeout", "-k", "5", "120", str(mpiexec), "-n", str(ranks)]
        variables = {k: str(v) for k, v in faults.items()}
        first = subprocess.run(
            [*launch, *command],
            env=case.striker.environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        hit = log.exists() and bool(log.read_text())
        fault = ""
        if hit and first.returncode == 0:
            fault = f"mpiexec ended with 0 though rank {rank} was killed"
        again = subprocess.run(
            [*launch[:-1], str(3 - ranks), *command],
            env=case.striker.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if again.returncode:
            fault = f"going on ended with {again.returncode}: {again.stderr[-500:]}"
        elif digest(case.run) != case.sha256:
            fault = "the image differs"
        elif extra := {re.sub(r"\.r\d+\.", ".r00.", name) for name in case.files()} - case.names:
            # wavefields that ranks keep together have a file of each
            fault = f"left behind: {sorted(extra)}"
        redone = sum(r["attempt"] for r in peek(case.run)) - case.shots
        yield fault, hit, redone


def of_disks(kind: str, folder: Path, count: int) -> Iterator[tuple[str, bool, int]]:
    """Cut the power, or fill disks up."""
    place = folder / kind
    place.mkdir()
    for one in disks.trials(place, **{kind: count})[kind]:
        yield one["fault"], bool(one.get("running", one.get("code"))), int(one.get("redone", 0))


def chosen_jobs(part: str) -> dict[str, str]:
    """Return the jobs that are struck, by name: all, or those with a part in it."""
    jobs = {"memory": MIGRATE, **{name: MIGRATE + lines for name, lines in JOBS.items()}}
    jobs["least squares"] = LEAST_SQUARES
    return {name: text for name, text in jobs.items() if part in name}


def main() -> int:
    """Strike, print the tables, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so many points")
    parser.add_argument("--random", type=int, default=200, help="kills at random times")
    parser.add_argument(
        "--only", default="", help="only the jobs with this in their name, such as least squares"
    )
    parser.add_argument("--cuts", type=int, default=100, help="power cuts (root)")
    parser.add_argument("--ranks", type=int, default=20, help="kills of a rank, on one and on two ranks")
    parser.add_argument(
        "--out", type=Path, help="write the tables as JSON and Markdown to OUT.json and OUT.md"
    )
    args = parser.parse_args()
    root, soak, dice = (
        Path(tempfile.mkdtemp(prefix="subsalt-soak-", dir=ROOT)).resolve(),
        Soak(),
        random.Random(1),
    )
    begin = time.monotonic()
    try:
        shim = build(root)
        if shim is None:
            print("no C compiler for the shim that strikes", file=sys.stderr)
            return 69
        make(root)
        for name, text in chosen_jobs(args.only).items():
            job = root / f"{name}.toml"
            job.write_text(text.replace("FOLDER", str(root)))
            with Striker(root, shim) as striker:
                case = Case(root, job, striker)
                _all_of(soak, name, case, args, dice)
                soak.struck += striker.struck
        folder = Path(tempfile.mkdtemp(prefix="subsalt-soak-"))
        if args.only:
            print(f"power cuts and full disks: left out with --only {args.only}")
        elif why := disks.able():
            print(f"power cuts and full disks: skipped, {why}")
        else:
            soak.trial("power cuts of an ext4", of_disks("power", folder, args.cuts))
            soak.trial("disks that fill up", of_disks("full", folder, 20))
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"\n{soak.table()}\n\n{matrix(soak.struck)}\n\n{time.monotonic() - begin:.0f} s")
    if args.out:
        _publish(args.out, soak)
    if soak.faults:
        return 1
    return 0 if soak.struck else 3


def _all_of(soak: Soak, name: str, case: Case, args: argparse.Namespace, dice: random.Random) -> None:
    """Strike one job in all ways."""
    every: Callable[[int], int] = lambda n: max(1, args.every * n)  # noqa: E731
    soak.trial(f"{name}: killed at every operation", every_point(case, KILL, every(1)))
    soak.trial(f"{name}: killed in the middle of every third write", every_point(case, TORN, every(3)))
    soak.trial(f"{name}: killed, and again while resuming", twice(case, every(7), dice))
    soak.trial(f"{name}: killed at random times", at_random(case, args.random // args.every, dice))
    soak.trial(f"{name}: no space, once", every_failure(case, errno.ENOSPC, ONCE, every(3)))
    soak.trial(f"{name}: no space, permanently", every_failure(case, errno.ENOSPC, FOREVER, every(7)))
    soak.trial(f"{name}: input/output error, once", every_failure(case, errno.EIO, ONCE, every(7)))
    soak.trial(f"{name}: short transfers and interruptions", short(case))
    for ranks in (1, 2):
        soak.trial(
            f"{name}: a rank of {ranks} killed", on_ranks(case, ranks, max(1, args.ranks // args.every), dice)
        )


def _publish(out: Path, soak: Soak) -> None:
    from subsalt.host import machine_facts
    from subsalt.io.publish import publish_text
    from subsalt.run.facts import code_facts

    date = datetime.now(UTC).date().isoformat()
    facts = {
        "date": date,
        "machine": machine_facts(),
        "code": code_facts(),
        "rows": soak.rows,
        "faults": soak.faults,
    }
    facts["struck"] = [[*k, n] for k, n in sorted(soak.struck.items())]
    publish_text(out.with_suffix(".json"), json.dumps(facts, indent=1) + "\n")
    text = f"`make soak`, {date}\n\n{soak.table()}\n\nOperations struck, by the part of the run:\n\n"
    text += matrix(soak.struck) + "\n"
    publish_text(out.with_suffix(".md"), text)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
