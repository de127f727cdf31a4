"""What does it save that every rank reads its own part, rather than one reading everything and sending it to all?

The case of the founding code: three model volumes, then a plane of source and of receiver samples per time step. Both
ways run interleaved under one launcher start per number of ranks, on the same files, through the reader of the product;
the image must be the same bytes, whichever way and however many ranks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.host import usable_cores
from subsalt.io.publish import human, publish_text
from subsalt.machine.launcher import Launcher, run
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt.parallel.decomp import largest_group
from subsalt_lab.asked import wrong
from subsalt_lab.io_case import GHOSTS, Case
from subsalt_lab.io_files import files, refuse_too_large
from subsalt_lab.io_rows import UNITS, notes, rows_of
from subsalt_lab.result import Result

#: states of the page cache
CACHES = ("cold", "warm")


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    case : Case
        Grid, steps, format.
    ranks : sequence of int
        Numbers of ranks, ascending.
    caches : sequence of str
        States of the page cache before each run, of `CACHES`.
    repeats : int
        Samples of each way.
    directory : Path
        Where the files are made.
    keep : bool
        Leave them there.
    launcher : str, optional
        Command that starts ranks.
    timeout : float
        Seconds that one start may take.
    """

    case: Case
    ranks: Sequence[int]
    caches: Sequence[str]
    repeats: int
    directory: Path
    keep: bool = False
    launcher: str | None = None
    timeout: float = 3600.0


def measure(settings: Settings, *, say: Callable[[str], None] = lambda text: None) -> Result:
    """Make the files, run every number of ranks, and return the rows of the three tables.

    Raises
    ------
    ConfigError
        When a slab would be thinner than its halo.
    DiskError, MemoryPlanError
        When disk or memory has no room.
    SubsaltError
        When a run fails, or the image is not the same for all.
    """
    case = settings.case
    # one rank needs no MPI
    alone = settings.launcher is None and max(settings.ranks) == 1
    launcher = None if alone else Launcher.find(settings.launcher)
    _refuse_thin_slabs(case.grid[0], max(settings.ranks))
    refuse_too_large(settings.directory, case, max(settings.ranks))
    cores = usable_cores()
    rows: list[dict[str, Any]] = []
    images: dict[int, str] = {}
    dropped = True
    say(f"io: making {human(case.disk_bytes)} in {settings.directory}")
    with files(settings.directory, case, keep=settings.keep) as folder, Watch(cores, cores) as watch:
        for ranks in settings.ranks:
            say(f"io: {ranks} rank{'s' * (ranks != 1)}")
            launched = _launch(settings, launcher, folder, ranks, max(1, cores // ranks))
            rows += rows_of(case, launched, cores * launched["nodes"])
            images[ranks] = launched["samples"][0]["image"]
            dropped &= all(s["dropped"] for s in launched["samples"])
    if case.compute and len(set(images.values())) != 1:
        raise wrong_answer(
            f"lab io: the image depends on the number of ranks ({', '.join(map(str, images))})"
        )
    facts = watch.facts()
    # ranks that take turns on a core disturb each other as another program would
    facts["noisy"] = bool(facts["noisy"]) or any(r["oversubscribed"] for r in rows)
    return Result(
        "io",
        case.to_dict()
        | {
            "ranks": list(settings.ranks),
            "caches": list(settings.caches),
            "repeats": settings.repeats,
            "launcher": launcher.name if launcher is not None else None,
            "disk_bytes": case.disk_bytes,
        },
        rows,
        UNITS,
        facts,
        [*notes(rows, dropped), *filter(None, [watch.text()])],
    )


def _launch(
    settings: Settings, launcher: Launcher | None, folder: Path, ranks: int, threads: int
) -> dict[str, Any]:
    """Run all samples of one number of ranks under one start of the launcher."""
    request = {
        "case": settings.case.to_dict(),
        "folder": str(folder),
        "cold": [c == "cold" for c in settings.caches],
        "repeats": settings.repeats,
        "threads": threads,
    }
    path = folder / "request.json"
    publish_text(path, json.dumps(request))
    program = [sys.executable, "-m", "subsalt_lab.io_worker", str(path)]
    ran = run(
        program if launcher is None else launcher.start(ranks, program),
        what=f"lab io on {ranks} ranks",
        extra={"OMP_NUM_THREADS": str(threads)},
        timeout=settings.timeout,
    )
    found: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    if launcher is not None and found["ranks"] != ranks:
        raise _alone(launcher, ranks, found["ranks"])
    return found


def _refuse_thin_slabs(nx: int, ranks: int) -> None:
    most = largest_group(nx, "vti", GHOSTS)
    if ranks > most:
        raise wrong(
            f"--ranks {ranks}: slabs of the {nx} planes of --grid would be thinner than their halo",
            f"use at most --ranks {most}, or a grid of {GHOSTS * ranks} planes along x or more",
        )


def _alone(launcher: Launcher, ranks: int, found: int) -> SubsaltError:
    return SubsaltError(
        f"{launcher.name} was to start {ranks} ranks that know each other, and started runs of {found}",
        "use the launcher of the MPI that mpi4py loads (`subsalt doctor` names both), or name one with --launcher",
        code="E775",
    )
