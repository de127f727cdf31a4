"""What a time migration says of itself in run.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__
from subsalt.errors import Finding
from subsalt.host import machine_facts
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.outputs import TimeOutputs
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.run.provenance import code_facts

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.kirchhoff.memory import Layout


def beginning_facts(
    job: KirchhoffJob,
    setup: KirchhoffSetup,
    run_id: str,
    inputs: Sequence[Mapping[str, object]],
    findings: Sequence[Finding],
    layout: Layout,
    numerics: Mapping[str, object],
) -> dict[str, Any]:
    """Return what is known of a time migration before its first block."""
    grid, table, classes = setup.grid, setup.table, setup.classes
    single = classes.sectors == 1
    return {
        "version": __version__,
        "method": "kirchhoff",
        "run_id": run_id,
        "title": job.title or job.name,
        "job": job.resolved(),
        "job_given": job.model_dump(mode="json", exclude_unset=True),
        "image_grid": grid.to_dict(),
        "options": asdict(setup.options),
        "classes": {
            "kind": classes.kind,
            "offsets": [0.0] if classes.kind == "image" else [float(x) for x in classes.centres],
            "azimuths": [None] if single else [float(x) for x in classes.sector_centres],
            "edges": [float(x) for x in classes.edges],
            "sectors": classes.sectors,
            "groups": classes.groups,
        },
        "velocity": setup.velocity.describe(),
        "locations": grid.size,
        "traces": {
            "in_files": int(table.notes.get("traces_in_files", len(table))),
            "usable": len(table),
            "in_classes": int((setup.group >= 0).sum()),
            "time": vars(table.time),
            "offsets": [float(table.offset.min()), float(table.offset.max())],
        },
        "notes": table.notes,
        "memory_plan": layout.peak,
        "memory_limit": layout.limit,
        "findings": [vars(f) for f in findings],
        "inputs": inputs,
        "numerics": numerics,
        "code": code_facts(),
        "machine": machine_facts(),
    }


def ending_facts(
    folder: Path,
    blocks: Sequence[Block],
    rows: Sequence[Mapping[str, Any]],
    written: TimeOutputs,
    spent: Mapping[str, Any],
    counted: Sequence[Mapping[str, Any]],
    totals: Mapping[str, int],
    phases: Mapping[str, float],
) -> dict[str, Any]:
    """Return what is known of a time migration behind its last file.

    Parameters
    ----------
    counted : sequence of mapping
        What the blocks of each rank took in this start.
    totals : mapping
        ``contributions`` and ``traces_summed``, of all starts.
    """
    by_id = {b.id: b for b in blocks}
    here = {name: sum(c[name] for c in counted) for name in ("contributions", "traces", "bytes", "saves")}
    seconds = spent["phases"].get("sum", {}).get("max", 0.0)
    return {
        "blocks": [
            {
                **row,
                "box": list(vars(by_id[row["id"]].box).values()),
                "classes": [by_id[row["id"]].c0, by_id[row["id"]].c1],
            }
            for row in rows
        ],
        **{name: written.named.get(name) for name in ("image", "gathers", "hits", "fold")},
        "files": [str(f.relative_to(folder)) for f in written.files],
        **totals,
        "this_start": here | {"by_rank": list(counted)},
        "contributions_per_second": here["contributions"] / seconds if seconds > 0 else None,
        "peak_memory_bytes": spent["peak_memory_bytes"]["max"],
        "over_ranks": spent,
        "phases": phases,
        "state": "finished",
    }
