"""The meaning of every error and warning code and how to fix it (`subsalt explain CODE`).

The texts are data, in ``messages.toml`` beside this module, and in the files that other installed packages name by
the entry point ``subsalt.messages``. They are read when the first code is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from subsalt.extensions import MESSAGES, extensions

TEXTS = Path(__file__).with_name("messages.toml")


@dataclass(frozen=True)
class Entry:
    """One code with its texts.

    Parameters
    ----------
    code : str
        ``E...`` for errors, ``W...`` for warnings.
    title, meaning, cure : str
        Title, meaning and cure of the error.
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
    import tomllib

    files = [TEXTS, *extensions(MESSAGES).values()]
    tables = {
        code: t for file in files for code, t in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }
    # a text is one paragraph: its line breaks are spaces
    return {
        code: Entry(code, **{k: " ".join(v.split()) for k, v in tables[code].items()})
        for code in sorted(tables, key=lambda c: (c[1:], c[0]))
    }


def lookup(code: str) -> Entry | None:
    """Return the entry of a code, None when there is none; case does not matter."""
    return entries().get(code.strip().upper())


def suggest(text: str) -> str:
    """Return a cure for a code that does not exist."""
    import difflib

    close = difflib.get_close_matches(text.upper(), list(entries()), n=3)
    if close:
        return f"did you mean {', '.join(close)}?"
    return "codes look like E412; keys like imaging.aperture"
