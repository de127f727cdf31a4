"""What a time migration says of itself in run.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.outputs import TimeOutputs
from subsalt.methods.kirchhoff.setup import KirchhoffSetup

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.memory import Layout


def beginning_facts(setup: KirchhoffSetup, layout: Layout) -> dict[str, Any]:
    """Return what is known of grid, classes, velocity and traces before the first block."""
    grid, table, classes = setup.grid, setup.table, setup.classes
    single = classes.sectors == 1
    return {
        "method": "kirchhoff",
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
    }


def ending_facts(
    blocks: Sequence[Block],
    rows: Sequence[Mapping[str, Any]],
    written: TimeOutputs,
    spent: Mapping[str, Any],
    counted: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return where the blocks lie, and what was summed.

    Parameters
    ----------
    counted : sequence of mapping
        What the blocks of each rank took in this start.
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
        "this_start": here | {"by_rank": list(counted)},
        "contributions_per_second": here["contributions"] / seconds if seconds > 0 else None,
    }
