"""Steps, states and bytes of finished shots beside those of the plan, for run.json; a warning where they differ.

A plan says beforehand how many steps a shot takes and what it moves to and from disk; here both are put side by side.
Damage on disk costs more: it is counted apart, and the image stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.errors import Finding
from subsalt.io.event_log import done_events
from subsalt.methods.rtm.grouping import Grouping

#: counts that plan and run must agree on, in the order in which events keep them
NAMES = tuple(f.name for f in fields(Counts))

#: seconds of a store, each of the rank with most
SECONDS = ("stall_seconds", "put_seconds", "get_seconds")


def records_of_shots(folder: Path, done: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the records of finished shots on their strategy, by id, from the events of the run."""
    events = done_events(folder, done)
    return {
        shot: event["checkpoint"] for shot, event in events.items() if _is_record(event.get("checkpoint"))
    }


def _is_record(record: Any) -> bool:
    """Return whether this is what a shot says of its strategy: what stands in a log may be damaged."""
    if not isinstance(record, dict):
        return False
    numbers = [record.get(name) for name in ("puts", "gets", "damaged", "recomputed", "resumed", *SECONDS)]
    for name, count in (
        ("bytes_written", 2),
        ("bytes_read", 2),
        ("planned", len(NAMES)),
        ("counted", len(NAMES)),
    ):
        part = record.get(name)
        if not isinstance(part, list) or len(part) != count:
            return False
        numbers += part
    return all(isinstance(n, int | float) for n in numbers)


def facts_of(decision: Grouping, records: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return what run.json says of checkpoints: the choice, every shot, sums, and whether plan and run agree."""
    choice = decision.choice
    sums = {
        name: sum(t[name] for t in records.values())
        for name in ("puts", "gets", "damaged", "recomputed", "resumed", *SECONDS)
    }
    sums |= {name: sum(t[name][1] for t in records.values()) for name in ("bytes_written", "bytes_read")}
    counted = {n: sum(t["counted"][i] for t in records.values()) for i, n in enumerate(NAMES)}
    return {
        **({} if choice is None else choice.to_dict()),
        "budget_bytes": decision.budget,
        "shots": {
            str(shot): {
                **{k: v for k, v in t.items() if k not in ("planned", "counted")},
                "planned": dict(zip(NAMES, t["planned"], strict=True)),
                "counted": dict(zip(NAMES, t["counted"], strict=True)),
            }
            for shot, t in records.items()
        },
        "sums": sums | counted,
        "differing": differing(records),
    }


def differing(records: dict[int, dict[str, Any]]) -> list[int]:
    """Return the shots whose counters are not those of the plan; damage and restarts have counters of their own."""
    return [
        shot
        for shot, t in records.items()
        if not t["damaged"]
        and (
            t["planned"] != t["counted"]
            or (not t["resumed"] and any(p != c for p, c in (t["bytes_written"], t["bytes_read"])))
        )
    ]


def findings_of(records: dict[int, dict[str, Any]]) -> list[Finding]:
    """Return a warning when a shot did not do what was planned."""
    wrong = differing(records)
    if not wrong:
        return []
    some = ", ".join(map(str, wrong[:5])) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
    return [
        Finding(
            "W664",
            "warning",
            f"shots {some}: steps, states or bytes are not those of the plan; the image is not concerned",
            "report it with run.json",
            {"shots": wrong},
        )
    ]
