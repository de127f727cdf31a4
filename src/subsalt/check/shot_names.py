"""Shots in messages: their numbers with the files they are in, and the selection that leaves them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.acquisition.survey import Shot
from subsalt.check.context import Context, SampledShot

#: numbers and files that are listed
LISTED, FILES = 6, 2


def file_of(context: Context, shot: Shot, row: int = 0) -> tuple[str, int] | None:
    """Return the file of a trace of a shot and its number there, from 1; None for shots that are in no file."""
    assert context.survey is not None
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    layouts, first = getattr(reader, "layouts", None), getattr(reader, "first", None)
    if layouts is None or first is None or shot.trace_index is None or not len(shot.trace_index):
        return None
    number = int(shot.trace_index[row])
    f = int(np.searchsorted(first, number, side="right")) - 1
    return str(layouts[f].path), number - int(first[f]) + 1


def named(context: Context, found: Sequence[ShotBreaks | SampledShot]) -> str:
    """Return shot numbers and the names of their files."""
    ids = [str(b.shot.id) for b in found]
    text = f"shot{'s' * (len(ids) > 1)} {', '.join(ids[:LISTED])}{', ...' * (len(ids) > LISTED)}"
    places = [file_of(context, b.shot) for b in found]
    files = list(dict.fromkeys(Path(p[0]).name for p in places if p is not None))
    if files:
        text += f" in {', '.join(files[:FILES])}{f' and {len(files) - FILES} more' * (len(files) > FILES)}"
    return text


def leave_out(context: Context, found: Sequence[ShotBreaks | SampledShot]) -> str:
    """Return the selection of all shots but these, as the key to set."""
    assert context.survey is not None
    wrong = {b.shot.id for b in found}
    ids = sorted(s.id for s in context.survey.shots)
    runs: list[list[int]] = []
    for before, i in zip([None, *ids], ids, strict=False):
        if i in wrong:
            continue
        if runs and before not in wrong:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    if not runs:
        return "correct these shots in the files"
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f'correct these shots, or leave them out: [data] shots = "{text}"'
