"""Errors of files that are not there: where they were looked for, and the nearest name that is."""

from __future__ import annotations

import difflib
import glob
import os
from itertools import islice

from subsalt.errors import MissingInputError

#: entries of a folder that are compared with a name
MOST_ENTRIES = 10_000
#: a name is printed whole up to so many letters
MOST_LETTERS = 500
#: entries that a message lists
LISTED = 3


def missing_file(path: str | os.PathLike[str], cure: str, key: str = "") -> MissingInputError:
    """Return the error of a file that does not exist (E110).

    Parameters
    ----------
    path : path
        As it was given.
    cure : str
        Cure where no name is near.
    key : str
        Key of the job file that names it.
    """
    whole = os.path.abspath(path)
    folder, name = os.path.split(whole)
    near = _near(name, _entries(folder))
    if near:
        cure = f"did you mean {os.path.join(os.path.dirname(os.fspath(path)), near[0])}?"
    elif not os.path.isdir(folder):
        cure = f"the folder does not exist either; {cure}"
    said = whole if len(whole) < MOST_LETTERS else f"{whole[:MOST_LETTERS]}..."
    return MissingInputError(f"{f'{key}: ' if key else ''}{said} does not exist", cure, code="E110")


def no_match(pattern: str | os.PathLike[str], cure: str) -> MissingInputError:
    """Return the error of a pattern that no file matches (E112): the folder that was searched, and what it holds."""
    whole = os.path.abspath(pattern)
    folder = whole
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    name = os.path.relpath(whole, folder)
    if not os.path.isdir(folder):
        return MissingInputError(
            f"no file matches {name}: the folder {folder} does not exist", cure, code="E112"
        )
    entries = sorted(_entries(folder))
    held = ", ".join(entries[:LISTED]) + (", ..." if len(entries) > LISTED else "")
    return MissingInputError(
        f"no file matches {name} in {folder}, which holds {held or 'nothing'}", cure, code="E112"
    )


def _near(name: str, entries: list[str]) -> list[str]:
    """Return the entry nearest to a name, in a list; none where they have little but the ending in common."""
    if len(name) >= 256:
        return []
    stem = os.path.splitext(name)[0]
    near = difflib.get_close_matches(name, entries, n=3, cutoff=0.7)
    return [e for e in near if difflib.SequenceMatcher(None, stem, os.path.splitext(e)[0]).ratio() >= 0.6][:1]


def _entries(folder: str) -> list[str]:
    """Return the names in a folder, at most `MOST_ENTRIES`; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, MOST_ENTRIES)]
    except (OSError, ValueError):
        return []
