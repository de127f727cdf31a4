"""What `subsalt plan` does: read the job, plan it, print the table, and leave with the code of what does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from subsalt.cli.output import Out
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.plan import Device


@dataclass(frozen=True)
class Cluster:
    """The nodes that ``--nodes`` asks about, as they were typed."""

    nodes: str
    ranks_per_node: int
    memory_per_rank: str | None
    threads: int | None
    network: str | None
    files: str | None


@dataclass(frozen=True)
class Asked:
    """What ``--device``, ``--gpu`` and ``--gpu-memory`` say."""

    name: str | None
    gpu: str | None
    memory: str | None

    def device(self, job: BaseJob) -> Device:
        """Return the device to plan for: a GPU that is named means cuda."""
        from subsalt.plan import Device

        memory = None if self.memory is None else memory_bytes(self.memory, "--gpu-memory")
        known = ("auto", "cpu", "cuda", "reference")
        if self.name is not None and self.name not in known:
            raise ConfigError(f"--device {self.name}", f"use one of {', '.join(known)}", code="E104")
        given = "cuda" if self.gpu is not None or memory is not None else job.parallel.device  # type: ignore[attr-defined]
        return Device(self.name or given, self.gpu, memory)


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
    asked: Asked,
) -> None:
    """Plan a job."""
    from subsalt.job.job import Job
    from subsalt.plan import plan_job

    out = Out(as_json)
    size = None if memory is None else memory_bytes(memory)
    job = Job.from_toml(job_file)
    if shots is not None:
        job = job.with_shots(shots)
    result = plan_job(job, ranks, size, threads, machine, run, measure, out.say, asked.device(job))
    for line in result.lines():
        out.say(line)
    out.findings(result.findings)
    out.json(result)
    if result.error is not None:
        raise typer.Exit(result.error.exit_code)


def nodes(
    job_file: Path,
    cluster: Cluster,
    machine: Path | None,
    run: Path | None,
    shots: str | None,
    seen: Sequence[Path],
    as_json: bool,
    measure: bool,
) -> None:
    """Extrapolate a job to many nodes: a model, labelled so."""
    from subsalt.job.job import Job
    from subsalt.plan import plan_job_on_nodes
    from subsalt.plan.model import network as links

    out = Out(as_json)
    counts = counts_of(cluster.nodes)
    given = cluster.memory_per_rank
    asked: dict[str, Any] = {
        "ranks_per_node": cluster.ranks_per_node,
        "threads": cluster.threads,
        "memory_per_rank": None if given is None else memory_bytes(given),
        "link": None if cluster.network is None else links.given(cluster.network),
    }
    if cluster.files is not None:
        asked["files"] = links.given(cluster.files, "--files").rate
    job = Job.from_toml(job_file)
    if shots is not None:
        job = job.with_shots(shots)
    result = plan_job_on_nodes(
        job, counts, machine=machine, run_dir=run, measure=measure, seen=seen, say=out.say, **asked
    )
    for line in result.lines():
        out.say(line)
    out.json(result)


def counts_of(text: str, option: str = "--nodes") -> list[int]:
    """Return numbers of nodes, ascending, each once.

    Raises
    ------
    ConfigError
        When one is not a whole positive number, or absurdly large (E971).
    """
    found = list(dict.fromkeys(text.replace(",", " ").split()))
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= 1_000_000]
    if bad or not found:
        raise ConfigError(
            f"{option} {' '.join(bad) or 'is empty'}: not numbers of nodes from 1 to 1000000"
            if bad
            else f"{option} is empty",
            f"write such as {option} 24,100,1000",
            code="E971",
        )
    return sorted({int(w) for w in found})


def no_ranks(ranks: int) -> None:
    """Refuse ``--ranks`` beside ``--nodes``."""
    if ranks != 1:
        raise ConfigError(
            f"--ranks {ranks} beside --nodes", "give --ranks-per-node, or leave --nodes out", code="E971"
        )


def no_gpu(**given: object) -> None:
    """Refuse what names a device beside ``--nodes``."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if names:
        raise ConfigError(
            f"{' and '.join(names)} beside --nodes",
            "the model of many nodes is of processors: plan one node, or leave it out",
            code="E971",
        )


def alone(**given: object) -> None:
    """Refuse options that belong to ``--nodes`` without it."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if names:
        raise ConfigError(
            f"{' and '.join(names)} without --nodes",
            "add such as --nodes 24,100,1000, or leave it out",
            code="E971",
        )


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
