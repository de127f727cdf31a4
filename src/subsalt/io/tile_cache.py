"""The user's file of tile sizes that were found fastest: ``$XDG_CACHE_HOME/subsalt/tiles.json``, or ``~/.cache``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from subsalt.errors import SubsaltError
from subsalt.io.publish import make_folder, publish_text


def cache_file() -> Path:
    """Return where the cuts of this user are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "subsalt" / "tiles.json"


class TileCache:
    """A `kernels.tuning.Memory` on disk.

    Damaged, absent or not writable it is no error: a cut is soon found anew.
    """

    def read(self) -> dict[str, tuple[int, int]]:
        """Return rows per tile and steps per pass by name; empty when there is nothing to be read."""
        try:
            cuts = json.loads(cache_file().read_text())["cuts"]
            return {str(k): (int(rows), int(depth)) for k, (rows, depth) in cuts.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
            return {}

    def write(self, name: str, value: tuple[int, int]) -> None:
        """Add an entry; the file appears complete or not at all."""
        cuts = {**self.read(), name: value}
        text = json.dumps({"cuts": {k: list(cuts[k]) for k in sorted(cuts)}}, indent=1)
        with suppress(OSError, RuntimeError, SubsaltError):
            path = cache_file()
            make_folder(path.parent)
            publish_text(path, text)
