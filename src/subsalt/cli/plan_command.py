"""What `subsalt plan` does: read the job, plan it, print the table, and leave with the code of what does not fit."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from subsalt.cli.output import Out
from subsalt.errors import ConfigError


def plan(
    job_file: Path,
    ranks: int,
    memory: str | None,
    threads: int | None,
    machine: Path | None,
    run: Path | None,
    shots: str | None,
    as_json: bool,
    measure: bool,
) -> None:
    """Plan a job."""
    from subsalt.job.job import Job
    from subsalt.plan import plan_job

    out = Out(as_json)
    size = None if memory is None else memory_bytes(memory)
    job = Job.from_toml(job_file)
    if shots is not None:
        job = job.with_shots(shots)
    result = plan_job(job, ranks, size, threads, machine, run, measure, out.say)
    for line in result.lines():
        out.say(line)
    out.findings(result.findings)
    out.json(result)
    if result.error is not None:
        raise typer.Exit(result.error.exit_code)


def memory_bytes(text: str, option: str = "--memory-per-rank") -> int:
    """Return bytes of a text such as ``16GB``, ``1.5 GiB`` or, as Slurm writes it, ``900M`` (powers of two).

    Raises
    ------
    ConfigError
        When it is none.
    """
    from subsalt.job.units import UNITS

    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z]+)\s*", text)
    known = {name.lower(): factor for name, factor in UNITS["memory"].items()}
    unit = known.get(found[2].lower()) if found else None
    if found is None or unit is None or float(found[1]) * unit < 1:
        raise ConfigError(f"{option} {text!r} is no amount of memory", "write 16GB or 900 MB", code="E662")
    return int(float(found[1]) * unit)
