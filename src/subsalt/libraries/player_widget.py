"""The player of a shot as a widget: the page that `subsalt play` writes, in a frame of its own.

The page holds everything, and its policy forbids every connection. The frame may run scripts and nothing else.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from subsalt.libraries import package
from subsalt.methods.rtm.playback import movie_of
from subsalt.view.movie import FIELDS
from subsalt.view.movie_page import write_page

#: the module of the widget: a frame that shows the page, and follows the traits
FRAME = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.width = "100%";
  frame.style.border = "0";
  const show = () => { frame.srcdoc = model.get("page"); };
  const size = () => { frame.style.height = model.get("height") + "px"; };
  model.on("change:page", show);
  model.on("change:height", size);
  size();
  show();
  el.appendChild(frame);
}
export default { render };
"""


@cache
def _widget_class() -> Any:
    anywidget = package("anywidget", "notebook", "the player in a notebook")
    traitlets = package("traitlets", "notebook", "the player in a notebook")

    class Player(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """The player of a shot."""

        _esm = FRAME
        page = traitlets.Unicode("").tag(sync=True)
        height = traitlets.Int(700).tag(sync=True)

    return Player


def player_of(run: Path, shot: int | None, height: int, max_bytes: int) -> Any:
    """Return the widget of a shot; see `subsalt.notebook.player`."""
    kind = _widget_class()
    movie = movie_of(run, shot, fields=FIELDS, max_bytes=max_bytes)
    with tempfile.TemporaryDirectory(prefix="subsalt-player-") as folder:
        target = Path(folder, "player.html")
        write_page(movie, target)
        page = target.read_bytes().decode("utf-8")
    return kind(page=page, height=height)
