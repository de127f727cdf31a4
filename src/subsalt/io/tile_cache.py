"""The user's file of tile sizes that were found fastest: ``$XDG_CACHE_HOME/subsalt/tiles.json``, or ``~/.cache``."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from subsalt.errors import SubsaltError
from subsalt.io.publish import make_folder, publish_text
from subsalt.kernels import tuning


def remember_tiles() -> None:
    """Let tiles that are found fastest from now on serve the next process of this user, and take those found before."""
    tuning.remember_in(TileCache())


def cache_file() -> Path:
    """Return where the cuts of this user are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "subsalt" / "tiles.json"


class TileCache:
    """A `kernels.tuning.Memory` on disk.

    Damaged, absent or not writable it is no error: a cut is soon found again.
    """

    def read(self) -> dict[str, tuning.Cut]:
        """Return the cuts by name; empty when there is nothing to be read."""
        try:
            cuts = json.loads(cache_file().read_text())["cuts"]
            return {str(k): tuple(int(number) for number in cut) for k, cut in cuts.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
            return {}

    def write(self, name: str, value: tuning.Cut) -> None:
        """Add an entry; the file appears complete or not at all."""
        cuts = {**self.read(), name: value}
        text = json.dumps({"cuts": {k: list(cuts[k]) for k in sorted(cuts)}}, indent=1)
        with suppress(OSError, RuntimeError, SubsaltError):
            path = cache_file()
            make_folder(path.parent)
            publish_text(path, text)
