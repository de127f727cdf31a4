"""What the report says of source wavefields: the strategy and its reason, what was planned and what was counted."""

from __future__ import annotations

from typing import Any

from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section
from subsalt.report.html import Markup, join, number, table, tag

#: counters that are shown where one of them is not 0, and what they are called
ROWS = {
    "source_steps": "time steps of source wavefields",
    "receiver_steps": "time steps of receiver wavefields",
    "states_stored_memory": "states stored in memory",
    "states_loaded_memory": "states loaded from memory",
    "states_stored_disk": "states stored on disk",
    "states_loaded_disk": "states loaded from disk",
    "snapshots_written": "snapshots written",
    "snapshots_read": "snapshots read",
    "restart_points": "restart points",
}


def strategies(facts: RunFacts) -> Markup | None:
    """The strategy of the shots, planned against counted; None for runs that say nothing of it."""
    told = section(facts.run, "checkpoint")
    name, shots = told.get("strategy"), section(told, "shots")
    if not isinstance(name, str) or not shots:
        return None
    differing = listed(told, "differing")
    agreed = "as planned" if not differing else f"not as planned in {len(differing)} of {len(shots)} shots"
    text = f"{name}: {told.get('why', '')}. What the shots did is {agreed}."
    return join([tag("p", text), table(("", "planned", "counted"), _rows(list(shots.values())))])


def _rows(shots: list[Any]) -> list[tuple[Any, ...]]:
    """Return sums over the shots, planned and counted."""
    out: list[tuple[Any, ...]] = []
    for key, text in ROWS.items():
        both = [sum(_count(section(s, side).get(key)) for s in shots) for side in ("planned", "counted")]
        if any(both):
            out.append((text, *(number(words.count(n)) for n in both)))
    for key, text in (("bytes_written", "written to scratch"), ("bytes_read", "read from scratch")):
        pairs = [p for s in shots if len(p := listed(s, key)) == 2]
        both = [sum(_count(p[i]) for p in pairs) for i in (0, 1)]
        if any(both):
            out.append((text, *(number(words.size(n)) for n in both)))
    for key, text in (("damaged", "damaged records"), ("recomputed", "time steps done again for them")):
        count = sum(_count(s.get(key)) for s in shots)
        if count:
            out.append((text, "", number(words.count(count))))
    return out


def _count(value: Any) -> int:
    return int(value) if words.is_number(value) else 0
