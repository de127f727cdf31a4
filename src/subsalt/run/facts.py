"""What a run says of itself: run.json, and the log of events."""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__, physics
from subsalt.errors import Finding
from subsalt.io.publish import append_line, publish_text
from subsalt.io.traffic import COUNTED, Traffic
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.physics.storage import storage_error
from subsalt.propagation.halo import Traffic as Exchanged
from subsalt.run.gpu_work import over_gpus
from subsalt.run.provenance import code_facts, machine_facts

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.job.job import Job
    from subsalt.run.outputs import Written


def run_facts(
    job: Job,
    setup: MigrationSetup,
    run_id: str,
    inputs: Sequence[Mapping[str, object]],
    findings: Sequence[Finding],
    plan: dict[str, int],
    numerics: dict[str, object],
    survey: Survey,
) -> dict[str, Any]:
    """Return what is known of a run before its first shot."""
    grid, frame = setup.model.grid, setup.model.frame
    line = survey.notes.get("line")
    return {
        "version": __version__,
        "run_id": run_id,
        "title": job.title or job.name,
        "job": job.resolved(),
        "job_given": job.model_dump(mode="json", exclude_unset=True),
        "grid": {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin},
        "frame": {**asdict(frame), "azimuth_deg": math.degrees(frame.azimuth)},
        **({"line": line} if line else {}),
        "dt": setup.axis.dt,
        "t0": setup.axis.t0,
        "nt": setup.axis.nt,
        "image_step": setup.image_step,
        "stable_dt": setup.model.stable_dt(setup.propagation.order),
        "repaired_nodes": setup.repaired,
        "memory_plan": plan,
        "findings": [vars(f) for f in findings],
        "inputs": inputs,
        "model_error": vars(
            storage_error(setup.model, physics.medium_of(setup.model, setup.propagation.medium))
        )
        if setup.propagation.model_storage == "u16"
        else None,
        "numerics": numerics,
        "code": code_facts(),
        "machine": machine_facts(),
    }


def write_facts(folder: Path, facts: dict[str, Any]) -> None:
    """Publish run.json: what a report, a picture or another program may want to know of the run."""
    publish_text(folder / "run.json", json.dumps(facts, indent=1, sort_keys=True, default=str) + "\n")


def log_event(folder: Path, **what: object) -> None:
    """Append one line to the log of events; the time is a label for people, nothing depends on it."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    append_line(folder / "events.jsonl", json.dumps({"time": now, **what}))


def done_events(folder: Path, done: Sequence[int], unit: str = "shot") -> dict[int, dict[str, Any]]:
    """Return what the log says of finished shots, or blocks, when they were done the last time, by id."""
    found: dict[int, dict[str, Any]] = {}
    try:
        lines = (folder / "events.jsonl").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a stop may leave half a line; it is a log
        if isinstance(event, dict) and event.get("event") == "done" and unit in event:
            found[event[unit]] = event
    return {shot: found[shot] for shot in done if shot in found}


def computed_by(folder: Path, done: Sequence[int], unit: str = "shot") -> dict[str, list[int]]:
    """Return the finished shots by what has computed them, in words; shots of before, and sums reused, are left out."""
    out: dict[str, list[int]] = {}
    for shot, event in done_events(folder, done, unit).items():
        if "by" in event:
            out.setdefault(str(event["by"]), []).append(shot)
    return out


def peak_memory() -> int:
    """Return the largest resident size of this process so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def over_ranks(
    world: Comm,
    phases: Mapping[str, float],
    traces: Traffic,
    halo: Exchanged | None = None,
    gpu: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return what the ranks spent and moved, on every rank; collective.

    Parameters
    ----------
    phases : mapping
        Seconds by phase of this rank.
    traces : Traffic
        Bytes of the traces that its shots took.
    halo : halo.Traffic, optional
        What its exchanges of ghost planes took.
    gpu : mapping, optional
        What it did on its GPU (`gpu_work.since`).

    Returns
    -------
    dict
        ``phases``: mean and largest seconds by phase. ``peak_memory_bytes``: the largest and the sum. ``input``: bytes
        wanted, read and received of all input, and of traces, summed over the ranks. ``halo``: bytes of ghost planes
        sent, summed, exchanges of the rank with the most, mean and largest seconds of waiting for them. ``gpu``: what
        GPUs did, by `gpu_work.over_gpus`, where one did something.
    """
    everything = COUNTED.now()
    exchanged = halo or Exchanged()
    told = world.allgather(
        {
            "phases": dict(phases),
            "peak": peak_memory(),
            "all": [everything.wanted, everything.read, everything.received],
            "traces": [traces.wanted, traces.read, traces.received],
            "gpu": dict(gpu or {}),
            "halo": [exchanged.bytes, exchanged.exchanges, exchanged.waited],
        }
    )
    names = list(dict.fromkeys(name for t in told for name in t["phases"]))
    seconds = {name: [t["phases"].get(name, 0.0) for t in told] for name in names}
    gpus = over_gpus([t["gpu"] for t in told])
    return {
        **({"gpu": gpus} if gpus else {}),
        "phases": {n: {"mean": sum(s) / len(s), "max": max(s)} for n, s in seconds.items()},
        "peak_memory_bytes": {"max": max(t["peak"] for t in told), "sum": sum(t["peak"] for t in told)},
        "input": {
            kind: dict(
                zip(
                    ("wanted", "read", "received"),
                    map(sum, zip(*(t[kind] for t in told), strict=True)),
                    strict=True,
                )
            )
            for kind in ("all", "traces")
        },
        "halo": {
            "bytes": sum(t["halo"][0] for t in told),
            "exchanges": max(t["halo"][1] for t in told),
            "waited": {
                "mean": sum(t["halo"][2] for t in told) / len(told),
                "max": max(t["halo"][2] for t in told),
            },
        },
    }


def ending_facts(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    written: Written,
    spent: Mapping[str, Any],
    phases: Mapping[str, float],
) -> dict[str, Any]:
    """Return what is known of a run behind its last file, whatever it did for it.

    Parameters
    ----------
    folder : Path
        The run directory.
    rows : sequence of mapping
        What the ledger says of the shots.
    written : Written
        The image and the files beside it.
    spent : mapping
        By `over_ranks`.
    phases : mapping
        Seconds by phase.
    """
    holes = any(row["state"] == "quarantined" for row in rows)
    return {
        "shots": rows,
        "image": {"path": written.image.name, "sha256": written.sha256},
        "files": [str(f.relative_to(folder)) for f in written.files],
        "peak_memory_bytes": spent["peak_memory_bytes"]["max"],
        "over_ranks": spent,
        "phases": phases,
        "state": "finished with holes" if holes else "finished",
    }
