"""What a reverse time migration says of itself in run.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__, physics
from subsalt.errors import Finding
from subsalt.host import machine_facts
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.physics.storage import storage_error
from subsalt.run.provenance import code_facts

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.job.job import Job
    from subsalt.methods.rtm.outputs import Written


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
