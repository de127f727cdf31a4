"""F12: the clock on the wall may be wrong, jump or differ between machines: it labels, and decides nothing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import subsalt

ROOT = Path(subsalt.__file__).parent
#: where the time of day is read, and what for
LABELS = {
    "plan/program.py": "date of a measurement",
    "plan/rates.py": "age of a measurement, which a plan makes again",
    "io/event_log.py": "time of an event",
    "run/live.py": "when a run spoke last",
    "run/quarantine.py": "time of a failure",
    "run/progress.py": "how long a run on another machine has been silent, for people",
}
#: measurements are dated
LAB = ("machine/",)
CALLS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime"}
#: what a module that makes such a call has in its text: few have, and only these are parsed
CALL = re.compile(rf"\.\s*(?:{'|'.join(CALLS)})\s*\(")


def reads_of_the_day(path: Path) -> list[int]:
    """Return the lines in which a module asks for the time of day."""
    text, places = path.read_text("utf-8"), []
    if not CALL.search(text):
        return places
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        if node.func.attr in CALLS and name in ("time", "datetime", "date"):
            places.append(node.lineno)
    return places


def test_the_time_of_day_is_read_for_labels_alone() -> None:
    readers = {p.relative_to(ROOT).as_posix(): reads_of_the_day(p) for p in ROOT.rglob("*.py")}
    asking = {name for name, at in readers.items() if at and not name.startswith(LAB)}
    assert asking >= set(LABELS), "a label has gone: take it from the list"
    assert asking == set(LABELS), {name: readers[name] for name in asking - set(LABELS)}
