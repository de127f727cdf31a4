"""The log of a run, events.jsonl: one line per event, each with a checksum of its own.

It is a log: nothing in it may stop a run. A damaged line is skipped and reported by its number. Lines of
versions before 0.9 have no checksum; they count as long as no line with one stands before them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt.io import own
from subsalt.io.publish import append_line

NAME = "events.jsonl"
_SUMMED = re.compile(rb'(\{.*), "sum": "([0-9a-f]{16})"\}')


@dataclass(frozen=True)
class Events:
    """The content of a log.

    Parameters
    ----------
    known : list of dict
        The events, in order.
    damaged : list of int
        Numbers of the lines, from 1, that were skipped.
    """

    known: list[dict[str, Any]] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)


def log_event(folder: Path, **what: object) -> None:
    """Append one line to the log of a run; the time is a label for people, nothing depends on it."""
    text = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **what})
    append_line(folder / NAME, f'{text[:-1]}, "sum": "{_sum_of(text.encode())}"}}')


def read_events(folder: Path) -> Events:
    """Return the events of a run; none when it has no log that can be read."""
    try:
        with open(own.open_file(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return events_of(file.read())
    except OSError:
        return Events()


def events_of(log: bytes) -> Events:
    """Return the events of the content of a log."""
    events, summed = Events(), False
    for number, line in enumerate(log.split(b"\n"), 1):
        if not line.strip():
            continue
        whole = _SUMMED.fullmatch(line)
        good = not summed if whole is None else _sum_of(whole[1] + b"}") == whole[2].decode()
        event = _parsed(line if whole is None else whole[1] + b"}") if good else None
        summed |= whole is not None and good
        if event is None:
            events.damaged.append(number)
        else:
            events.known.append(event)
    return events


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, None when it holds none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _sum_of(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def said_of(damaged: Sequence[int]) -> str:
    """Return in words which lines were skipped."""
    shown = ", ".join(map(str, damaged[:10])) + (", ..." if len(damaged) > 10 else "")
    return f"{NAME}: line{'s' * (len(damaged) != 1)} {shown} {'are' if len(damaged) != 1 else 'is'} damaged and skipped"


def done_events(
    folder: Path, done: Sequence[int], unit: str = "shot", number: int = 0
) -> dict[int, dict[str, Any]]:
    """Return what the log says of finished units of a round when they were done the last time, by id."""
    events = {
        event[unit]: event
        for event in read_events(folder).known
        if event.get("event") == "done" and type(event.get(unit)) is int and event.get("round", 0) == number
    }
    return {i: events[i] for i in done if i in events}
