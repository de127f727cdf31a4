"""Notes on the current work and phase of this rank, which other ranks report if it stops responding.

A note costs about a microsecond, and nothing where no rank is watched (`parallel.watchdog`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Board(Protocol):
    """A board on which other ranks read notes."""

    def note(self, text: str, column: str = "note") -> None:
        """Show the current work of this rank, or in column ``"phase"`` its phase."""


_board: Board | None = None


@contextmanager
def shown_on(board: Board) -> Iterator[None]:
    """Show the notes of this rank on `board` while the block runs."""
    global _board
    _board = board
    try:
        yield
    finally:
        _board = None


def note(text: str) -> None:
    """Show the current work of this rank.

    Parameters
    ----------
    text : str
        Such as ``"shot 7, 55%"``; empty when it is over.
    """
    if _board is not None:
        _board.note(text)


def note_phase(name: str) -> None:
    """Show in which phase this rank is; `timing.Phases` does it.

    Parameters
    ----------
    name : str
        Such as ``"receivers"``; empty when it is over.
    """
    if _board is not None:
        _board.note(name, "phase")
