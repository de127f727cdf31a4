"""The facts of a run that run.json records.

They identify the program that computed a result by the hash of its code, and the processor and memory; they name no
person, host or path. GPUs add their steps, launches, bytes over their links, snapshots and memory.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__
from subsalt.errors import Finding
from subsalt.host import machine_facts, peak_resident
from subsalt.io.event_log import done_events
from subsalt.io.input_traffic import COUNTED, InputTraffic
from subsalt.io.publish import publish_text
from subsalt.kernels.device import Device
from subsalt.parallel.comm import Comm
from subsalt.propagation.halo import HaloTraffic

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


def since(device: Device, before: Mapping[str, int]) -> dict[str, int]:
    """Return the work of a device since `before` (`Device.work_done`); memory is its largest so far."""
    return {name: n - (before[name] if name != "memory" else 0) for name, n in device.work_done().items()}


def over_gpus(ranks: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return sums over ranks, and the largest memory of a rank; empty on CPUs."""
    work = [one for one in ranks if one]
    if not work:
        return {}
    sums = {name: sum(one[name] for one in work) for name in work[0]}
    return {**sums, "memory": max(one["memory"] for one in work)}


__all__ = ["code_facts", "machine_facts"]


def code_facts() -> dict[str, Any]:
    """Return the version and one hash over every source file and the compiled module of the package."""
    return dict(_code_facts())


@functools.cache  # a process computes with the code that it loaded
def _code_facts() -> dict[str, Any]:
    import subsalt

    digest = hashlib.sha256()
    root = Path(subsalt.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return {
        "version": subsalt.__version__,
        "python_sha256": digest.hexdigest(),
        "native_sha256": _native_hash(),
    }


def _native_hash() -> str | None:
    try:
        from subsalt import _native
    except ImportError:
        return None
    with Path(_native.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_facts(folder: Path, facts: dict[str, Any]) -> None:
    """Publish run.json: the facts of the run for reports, pictures and other programs."""
    publish_text(folder / "run.json", json.dumps(facts, indent=1, sort_keys=True, default=str) + "\n")


def facts_of_job(
    job: BaseJob,
    run_id: str,
    inputs: Sequence[Mapping[str, object]],
    numerics: Mapping[str, object],
    findings: Sequence[Finding] = (),
) -> dict[str, Any]:
    """Return the facts that run.json records of every run: program, job, inputs, machine."""
    return {
        "version": __version__,
        "run_id": run_id,
        "title": job.title or job.name,
        "job": job.resolved(),
        "job_given": job.model_dump(mode="json", exclude_unset=True),
        "findings": [vars(f) for f in findings],
        "inputs": inputs,
        "numerics": numerics,
        "code": code_facts(),
        "machine": machine_facts(),
    }


def facts_of_ending(
    folder: Path,
    unit: str,
    rows: Sequence[Mapping[str, Any]],
    files: Sequence[Path],
    spent: Mapping[str, Any],
    phases: Mapping[str, float],
) -> dict[str, Any]:
    """Return the facts that run.json records of every finished run.

    Parameters
    ----------
    folder : Path
        The run directory.
    unit : {"shot", "block"}
        Kind of the units in `rows`, as the ledger names it.
    files : sequence of Path
        Files that were written.
    spent : mapping
        Result of `over_ranks`.
    phases : mapping
        Seconds by phase.
    """
    holes = any(row["state"] == "quarantined" for row in rows)
    return {
        f"{unit}s": rows,
        "files": [str(f.relative_to(folder)) for f in files],
        "peak_memory_bytes": spent["peak_memory_bytes"]["max"],
        "over_ranks": spent,
        "phases": phases,
        "state": "finished with holes" if holes else "finished",
    }


def computed_by(folder: Path, rows: Sequence[Mapping[str, Any]], unit: str = "shot") -> dict[str, list[int]]:
    """Return the finished units by what has computed them, in words; units of before, and sums reused, are left out."""
    out: dict[str, list[int]] = {}
    for number in dict.fromkeys(row.get("round", 0) for row in rows):
        done = [r["id"] for r in rows if r["state"] == "done" and r.get("round", 0) == number]
        for done_unit, event in done_events(folder, done, unit, number).items():
            if "by" in event and done_unit not in out.setdefault(str(event["by"]), []):
                out[str(event["by"])].append(done_unit)
    return out


def over_ranks(
    world: Comm,
    phases: Mapping[str, float],
    traces: InputTraffic,
    halo: HaloTraffic | None = None,
    gpu: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return times, memory and traffic over all ranks; collective, with the result on every rank.

    Parameters
    ----------
    phases : mapping
        Seconds by phase of this rank.
    traces : InputTraffic
        Bytes of the traces that the shots of this rank read.
    halo : HaloTraffic, optional
        Cost of the exchanges of ghost planes of this rank.
    gpu : mapping, optional
        Work of this rank on its GPU (`gpu_work.since`).

    Returns
    -------
    dict
        ``phases``: mean and largest seconds by phase. ``peak_memory_bytes``: the largest and the sum. ``input``: bytes
        wanted, read and received of all input, and of traces, summed over the ranks. ``halo``: bytes of ghost planes
        sent, summed, exchanges of the rank with the most, mean and largest seconds of waiting for them. ``gpu``: work
        of the GPUs (`gpu_work.over_gpus`), where there was any.
    """
    everything = COUNTED.now()
    exchanged = halo or HaloTraffic()
    ranks = world.allgather(
        {
            "phases": dict(phases),
            "peak": peak_resident(),
            "all": [everything.wanted, everything.read, everything.received],
            "traces": [traces.wanted, traces.read, traces.received],
            "gpu": dict(gpu or {}),
            "halo": [exchanged.bytes, exchanged.exchanges, exchanged.waited],
        }
    )
    names = list(dict.fromkeys(name for t in ranks for name in t["phases"]))
    seconds = {name: [t["phases"].get(name, 0.0) for t in ranks] for name in names}
    gpus = over_gpus([t["gpu"] for t in ranks])
    return {
        **({"gpu": gpus} if gpus else {}),
        "phases": {n: {"mean": sum(s) / len(s), "max": max(s)} for n, s in seconds.items()},
        "peak_memory_bytes": {"max": max(t["peak"] for t in ranks), "sum": sum(t["peak"] for t in ranks)},
        "input": {
            kind: dict(
                zip(
                    ("wanted", "read", "received"),
                    map(sum, zip(*(t[kind] for t in ranks), strict=True)),
                    strict=True,
                )
            )
            for kind in ("all", "traces")
        },
        "halo": {
            "bytes": sum(t["halo"][0] for t in ranks),
            "exchanges": max(t["halo"][1] for t in ranks),
            "waited": {
                "mean": sum(t["halo"][2] for t in ranks) / len(ranks),
                "max": max(t["halo"][2] for t in ranks),
            },
        },
    }
