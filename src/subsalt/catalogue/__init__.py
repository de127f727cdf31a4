"""The catalogue of codes: what every error and warning means and how to fix it (`subsalt explain CODE`)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib import import_module

#: modules of this package, by the hundreds of their codes
PARTS = (
    "job",
    "files",
    "traces",
    "survey",
    "first_breaks",
    "prestack",
    "models",
    "physics",
    "resources",
    "parallel",
    "lab_barriers",
    "lab_collectives",
    "lab_network",
    "lab_model",
    "runs",
    "time_images",
    "playback",
    "reimaging",
    "time_migration",
    "time_runs",
    "velocity",
    "lab_storage",
    "lab_profile",
    "lab_phases",
    "lab_collective_files",
    "gpu",
)


@dataclass(frozen=True)
class Entry:
    """One code of the catalogue.

    Parameters
    ----------
    code : str
        ``E...`` for errors, ``W...`` for warnings.
    title, meaning, cure : str
        What it is called, what it means, how to fix it.
    """

    code: str
    title: str
    meaning: str
    cure: str

    @property
    def level(self) -> str:
        """``"error"`` or ``"warning"``."""
        return "error" if self.code.startswith("E") else "warning"


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by code, sorted by number."""
    found: dict[str, Entry] = {}
    for part in PARTS:
        for code, texts in import_module(f"subsalt.catalogue.{part}").ENTRIES.items():
            found[code] = Entry(code, *texts)
    return dict(sorted(found.items(), key=lambda item: (item[0][1:], item[0][0])))


def lookup(code: str) -> Entry | None:
    """Return the entry of a code, None when there is none; case does not matter."""
    return entries().get(code.strip().upper())


def suggest(text: str) -> str:
    """Return a cure for a code that does not exist."""
    close = difflib.get_close_matches(text.upper(), list(entries()), n=3)
    if close:
        return f"did you mean {', '.join(close)}?"
    return "codes look like E412; keys like imaging.aperture"
