"""For notebooks: a progress bar, and the player of a shot as a widget.

Surveys, models, plans, results and runs show themselves as tables when they are the last line of a cell. This module
needs the extra ``notebook``::

    from subsalt import notebook
    with notebook.progress("migrate") as bar:
        result = subsalt.migrate(model, survey, wavelet, progress=bar)
    notebook.player("line.run", shot=118)
"""

from __future__ import annotations

import time
from html import escape
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError
from subsalt.libraries import package
from subsalt.option_arguments import of_kind

__all__ = ["NotebookProgress", "player", "progress"]

#: seconds between two updates of a bar: each is a message to the browser
INTERVAL = 0.2


class NotebookProgress:
    """A progress bar in the output of a cell, for every function and run of subsalt that takes `progress`.

    Parameters
    ----------
    label : str
        Text before the bar.
    """

    def __init__(self, label: str = "") -> None:
        of_kind("label", label, str)
        self._display = package("IPython.display", "notebook", "a progress bar in a notebook")
        self.label, self._handle, self._last = label, None, -INTERVAL
        self._begin = time.monotonic()

    def __call__(self, *said: Any) -> None:
        """Show progress: ``(shot, shots, fraction)``, ``(done, total, message)`` or ``(fraction)``."""
        done, total, message = _understood(said)
        now = time.monotonic()
        if self._handle is not None and now - self._last < INTERVAL and done < total:
            return
        self._last = now
        shown = self._display.HTML(_bar(self.label, done, total, now - self._begin, message))
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def __enter__(self) -> NotebookProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Show that everything is done, unless an error ended it."""
        if kind is None:
            self(1.0)


def _understood(said: tuple[Any, ...]) -> tuple[float, float, str]:
    """Return what is done, the total, and a message.

    Raises
    ------
    ConfigError
        For anything else than the forms of `NotebookProgress` (E777).
    """
    try:
        if len(said) == 1:
            return float(said[0]), 1.0, ""
        if len(said) == 3 and not isinstance(said[2], str):
            return said[0] + float(said[2]), float(said[1]), f"shot {said[0] + 1} of {said[1]}"
        return float(said[0]), float(said[1]), str(said[2]) if len(said) == 3 else ""
    except (IndexError, TypeError, ValueError):
        raise ConfigError(
            f"a progress bar was called with {said!r:.80}",
            "call it with (fraction), (done, total, message) or (shot, shots, fraction)",
            code="E777",
        ) from None


def _bar(label: str, done: float, total: float, seconds: float, message: str) -> str:
    part = min(1.0, done / total) if total > 0 else 1.0
    text = f"{100 * part:.0f} %, {seconds:.0f} s  {message}".rstrip()
    return f'{escape(label)} <progress max="1" value="{part:.4f}"></progress> {escape(text)}'


def progress(label: str = "") -> NotebookProgress:
    """Return a progress bar for the argument `progress` of `forward`, `migrate`, `migrate_time` and `migrate_job`.

    Parameters
    ----------
    label : str
        Text before the bar.

    Raises
    ------
    ConfigError
        When the label is no text (E777).
    MissingInputError
        When IPython is not installed (E118).
    """
    return NotebookProgress(label)


def player(
    run: str | Path, shot: int | None = None, *, height: int = 700, max_bytes: int = 20_000_000
) -> Any:
    """Return a widget that plays the wavefields of a shot: the player of `subsalt play`, in a cell.

    Parameters
    ----------
    run : path
        Run directory of a job with ``[checkpoint] keep``.
    shot : int, optional
        Id of the shot; the first with stored data when left out.
    height : int
        Height of the widget, pixels.
    max_bytes : int
        Largest size of all frames before compression; frames are thinned until they fit.

    Returns
    -------
    anywidget.AnyWidget
        With the traits ``page`` (HTML) and ``height``.

    Raises
    ------
    MissingInputError
        When anywidget is not installed (E118), or nothing of the shot was kept.
    """
    from subsalt.libraries.player_widget import player_of

    return player_of(Path(run), shot, height, max_bytes)
