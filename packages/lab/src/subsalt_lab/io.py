"""Time saved when every rank reads its own part, rather than one rank reading everything and sending it to all.

The case of the founding code: three model volumes, then a plane of source and of receiver samples per time step. Both
ways run interleaved under one launcher start per number of ranks, on the same files, through the reader of the product;
the image must be the same bytes, whichever way and however many ranks.

From the samples of `lab io` to rows: time and bytes of each way, by phase, ranks and state of the cache.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.host import human, usable_cores
from subsalt.io.publish import publish_text
from subsalt.machine.launcher import Launcher
from subsalt.machine.load import Watch
from subsalt.machine.programs import run
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.parallel.decomp import largest_group
from subsalt_lab.io_case import GHOSTS, WAYS, ReadingCase, files, refuse_too_large
from subsalt_lab.option_values import wrong
from subsalt_lab.result import Result, Say

#: table -> (seconds, phase of the bytes): the founding document's three
TABLES = {"init": ("init", "init"), "trace": ("trace", "steps"), "total": ("total", None)}
#: share of the bytes read that may come from storage when a row counts as cached, and from which on it does not
CACHED, NOT_CACHED = 0.1, 0.9

UNITS = {
    "broadcast_s": "s, median over repeats of the slowest rank; trace: what the time steps waited for slices",
    "per_rank_s": "as broadcast_s",
    "ratio": "median over repeats of broadcast over per-rank of the same repeat",
    "ratio_spread": "half the interquartile range over the median",
    "wanted": "bytes of samples that all ranks together asked for",
    "broadcast_moved": "bytes read from files and received from other ranks, all ranks, counted",
    "per_rank_moved": "as broadcast_moved",
    "broadcast_redundancy": "bytes moved over bytes wanted",
    "per_rank_redundancy": "as broadcast_redundancy",
    "broadcast_gb_s": "bytes wanted over broadcast_s",
    "per_rank_gb_s": "bytes wanted over per_rank_s; trace: over per_rank_reading_s",
    "broadcast_formula": "bytes moved over those of the formula",
    "per_rank_formula": "as broadcast_formula",
    "broadcast_from_storage": "share of the bytes read from files that storage delivered; the page cache did the rest",
    "per_rank_from_storage": "as broadcast_from_storage",
    "per_rank_reading_s": "s that the thread that reads ahead was busy, slowest rank",
    "reading_ratio": "median over repeats of broadcast over per_rank_reading_s: the ratio if nothing were hidden",
}


def key_of(way: str) -> str:
    """Return the beginning of the columns of a way."""
    return way.replace("-", "_")


def rows_of(case: ReadingCase, launched: Mapping[str, Any], cores: int) -> list[dict[str, Any]]:
    """Return the rows of one number of ranks.

    Parameters
    ----------
    case : ReadingCase
        Case that was read.
    launched : mapping
        Output of `io_worker`: ranks, nodes, samples.
    cores : int
        Cores that the ranks could use.

    Raises
    ------
    SubsaltError
        When two samples made different images: no time is given then.
    """
    samples: Sequence[Mapping[str, Any]] = launched["samples"]
    if len({s["image"] for s in samples}) != 1:
        raise wrong_answer(f"lab io on {launched['ranks']} ranks: the image depends on how input was read")
    out = []
    for table in TABLES:
        for cold in sorted({s["cold"] for s in samples}, reverse=True):
            chosen = [s for s in samples if s["cold"] == cold]
            row = _row(case, table, launched["ranks"], chosen)
            row |= {"cache": "cold" if cold else "warm", "nodes": launched["nodes"]}
            row["oversubscribed"] = launched["ranks"] > cores
            out.append(row)
    return out


def _row(case: ReadingCase, table: str, ranks: int, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    seconds_key, phase = TABLES[table]
    row: dict[str, Any] = {"table": table, "ranks": ranks}
    taken: dict[str, list[float]] = {}
    for way in WAYS:
        mine = sorted((s for s in samples if s["way"] == way), key=lambda s: s["round"])
        name = key_of(way)
        taken[way] = [s["seconds"][seconds_key] for s in mine]
        row[f"{name}_seconds"] = taken[way]
        row[f"{name}_s"] = summary(taken[way]).median
        row[f"{name}_spread"] = summary(taken[way]).spread
        row |= _bytes(case, way, ranks, phase, mine[-1], row[f"{name}_s"])
    middle = ratio(taken[WAYS[0]], taken[WAYS[1]])
    row["ratio"], row["ratio_spread"] = middle.median, middle.spread
    if table == "trace":
        # what reading ahead hides is read anyway: the rate is that of the thread
        ahead = [s["seconds"]["reading"] for s in samples if s["way"] == WAYS[1]]
        row["per_rank_reading_s"] = reading = summary(ahead).median
        row["per_rank_gb_s"] = row["wanted"] / reading / 1e9 if reading > 0 else None
        row["reading_ratio"] = ratio(taken[WAYS[0]], ahead).median
    return row


def _bytes(
    case: ReadingCase, way: str, ranks: int, phase: str | None, sample: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """Return what one way moved in a phase, or in all of them."""
    name, phases = key_of(way), ("init", "steps") if phase is None else (phase,)
    counts = [sample["traffic"][p] for p in phases]
    wanted, read, received = (sum(c[k] for c in counts) for k in ("wanted", "read", "received"))
    formula = case.formula(way, ranks)
    expected = sum(formula.values()) if phase is None else formula["init" if phase == "init" else "trace"]
    fetched = [sample["storage"][p] for p in phases]
    out: dict[str, Any] = {
        "wanted": wanted,
        f"{name}_moved": read + received,
        f"{name}_read": read,
        f"{name}_redundancy": (read + received) / wanted,
        # of the total most is no input
        f"{name}_gb_s": wanted / seconds / 1e9 if phase is not None and seconds > 0 else None,
        # who opens SEG-Y reads the headers of all traces: no share of the samples
        f"{name}_formula": None
        if case.suffix == ".sgy" and phase != "steps"
        else (read + received) / expected,
    }
    if None not in fetched and read:
        out[f"{name}_from_storage"] = sum(fetched) / read
    return out


def notes(rows: Sequence[Mapping[str, Any]], dropped: bool) -> list[str]:
    """Return what a reader of the tables must know."""
    out = [
        "broadcast: rank 0 reads everything and sends it to all, all wait (the original); "
        "per-rank: each rank reads nx / n + 8 planes, slices ahead of the step",
        "seconds are those of the slowest rank, medians over repeats; trace input is what the steps waited for slices",
    ]
    ratios = [r[f"{key_of(w)}_formula"] for r in rows for w in WAYS if r["table"] != "total"]
    off = 100 * max(abs(f - 1) for f in ratios if f is not None)
    of_all = (
        ""
        if None not in ratios
        else " (traces; model volumes in SEG-Y: every reader reads all trace headers)"
    )
    out.append(
        f"bytes moved are counted where they move: within {off:.1f} % of nx / n + 8 planes per rank, or of everything "
        f"n times{of_all}; the first and the last rank need 4 planes less, headers are a little more"
    )
    cold = [r for r in rows if r["cache"] == "cold"]
    if cold:
        shares = [r.get(f"{key_of(w)}_from_storage") for r in cold for w in WAYS if r["table"] == "total"]
        known = [s for s in shares if s is not None]
        if not dropped:
            out.append(
                "the system would not drop the files from its page cache: cold rows are cached as well"
            )
        elif known and min(known) < NOT_CACHED:
            out.append(
                f"cold rows: at least {100 * min(known):.0f} % of what was read came from storage, the rest was cached"
            )
    many = sorted({r["ranks"] for r in rows if r["oversubscribed"]})
    if many:
        out.append(
            f"{', '.join(map(str, many))} ranks take turns on the cores (oversubscribed): "
            "their bytes count, their times do not compare"
        )
    return out


#: states of the page cache
CACHES = ("cold", "warm")


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    case : ReadingCase
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

    case: ReadingCase
    ranks: Sequence[int]
    caches: Sequence[str]
    repeats: int
    directory: Path
    keep: bool = False
    launcher: str | None = None
    timeout: float = 3600.0


def measure(settings: Settings, *, say: Say = lambda text: None) -> Result:
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
    answer: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    if launcher is not None and answer["ranks"] != ranks:
        raise _alone(launcher, ranks, answer["ranks"])
    return answer


def _refuse_thin_slabs(nx: int, ranks: int) -> None:
    most = largest_group(nx, "vti", GHOSTS)
    if ranks > most:
        raise wrong(
            f"--ranks {ranks}: slabs of the {nx} planes of --grid would be thinner than their halo",
            f"use at most --ranks {most}, or a grid of {GHOSTS * ranks} planes along x or more",
        )


def _alone(launcher: Launcher, ranks: int, started: int) -> SubsaltError:
    return SubsaltError(
        f"{launcher.name} was to start {ranks} ranks that know each other, and started runs of {started}",
        "use the launcher of the MPI that mpi4py loads (`subsalt doctor` names both), or name one with --launcher",
        code="E775",
    )
