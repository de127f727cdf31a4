"""What `subsalt lab storage --advise JOB` says: where the checkpoints of a job should go, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.machine import machine_file as machine
from subsalt.report.table import Column, render
from subsalt_lab import asked

if TYPE_CHECKING:
    from subsalt.job.job import Job
    from subsalt.methods.rtm.advice import Advice

COLUMNS = (
    Column("number", "#", "d"),
    Column("directory", "directory"),
    Column("file_system", "file system"),
    Column("strategy", "strategy"),
    Column("puts", "puts", "d"),
    Column("gets", "gets", "d"),
    Column("put_bytes", "put GB", ".3g", 1e-9),
    Column("get_bytes", "get GB", ".3g", 1e-9),
    Column("access", "access"),
    Column("threads", "threads", "d"),
    Column("put_seconds", "put s", ".3g"),
    Column("get_seconds", "get s", ".3g"),
    Column("kernel_seconds", "steps s", ".3g"),
    Column("again", "again s", ".3g"),
    Column("waits", "waits s", ".3g"),
    Column("needed", "needs GB", ".3g", 1e-9),
    Column("free", "room GB", ".3g", 1e-9),
)


def job_of(path: Path) -> Job:
    """Return the job that is advised, read before anything is measured.

    Raises
    ------
    ConfigError
        When it is of a method without checkpoints, or only models (E128).
    """
    from subsalt.job.job import Job
    from subsalt.job.read import read_job

    found = read_job(path)
    if not isinstance(found, Job):
        raise asked.wrong(
            f"--advise {path}: its method is {found.method}, which keeps no checkpoints",
            'give a job with method = "rtm"',
        )
    if found.data is None:
        raise asked.wrong(
            f"--advise {path}: it has no [data], and modelling keeps no checkpoints",
            "give a job that migrates",
        )
    return found


def advice_of(job: Job, directories: Sequence[Path], ranks: int, known: Path) -> Advice:
    """Return the directories in their order, from the rates in machine.json."""
    from subsalt.errors import MissingInputError
    from subsalt.methods.rtm.advice import advise
    from subsalt.plan.world import World

    try:
        rates = machine.read(known)
    except MissingInputError:
        rates = machine.Machine.here()
    world = World.planned(ranks, None, job.propagation_options.threads)
    return advise(job, directories, world, rates)


def lines(advice: Advice, how: str) -> Iterator[str]:
    """Yield the table, why each directory stands where it does, and what belongs into the job file."""
    rows: list[dict[str, Any]] = [
        vars(p) | {"number": i, "access": "direct" if p.direct else "buffered"}
        for i, p in enumerate(advice.places, 1)
    ]
    for row in rows:
        if row["problem"] and not row["strategy"]:
            # nothing was predicted
            for key in ("puts", "gets", "put_bytes", "get_bytes", "put_seconds", "get_seconds", "threads"):
                row[key] = None
            row |= {"kernel_seconds": None, "again": None, "waits": None, "needed": None, "access": ""}
    if how == "csv":
        yield render(rows, [*COLUMNS, Column("problem", "problem")], how)
        return
    head = f"Checkpoints of {advice.job}, largest shot, all ranks of this node; a model from measured rates"
    yield f"{head}\n{'' if how == 'text' else chr(10)}" + render(rows, COLUMNS, how)
    told = [f"{i}. {p.directory}: {p.reason}" for i, p in enumerate(advice.places, 1)]
    if advice.needs_none:
        told.append(
            f"as it stands the job keeps nothing on disk ({advice.as_it_stands}): this is what it would do there"
        )
    if advice.kernels == "assumed":
        told.append("time steps are assumed, and slow: measure them with subsalt lab kernels")
    yield "\n".join(told)
    wanted = advice.lines()
    if wanted:
        yield "for the job file:\n" + "\n".join(f"  {line}" for line in wanted)
