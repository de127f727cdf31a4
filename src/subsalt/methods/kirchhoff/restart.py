"""Restart points of blocks: the sums so far, published now and then, so that a stop loses little.

A point is a file of sums, and a note that names it with its hash. The note is replaced when the file is complete, then
the file before it is removed. Another number of ranks may go on with parts of a block: its point serves them all.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import CorruptionError
from subsalt.io.publish import make_folder, publish_text, remove
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.partial import read_sums, write_sums
from subsalt.methods.kirchhoff.sums import Sums

FOLDER = "restart"


@dataclass(frozen=True)
class Point:
    """A restart point.

    Parameters
    ----------
    block : Block
        Whose sums.
    file : str
        In the folder of restart points.
    sha256 : str
        Of that file.
    next : int
        First trace that is not in it.
    """

    block: Block
    file: str
    sha256: str
    next: int


class RestartPoints:
    """The restart points in a run directory.

    Parameters
    ----------
    folder : Path
        The run directory.
    run_id : str
        Points of another job or other inputs count for nothing.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self.folder, self.run_id = Path(folder) / FOLDER, run_id
        #: what was wrong with points that were dropped, for the log of events
        self.dropped: list[str] = []

    def save(self, sums: Sums) -> None:
        """Publish the sums of a block as its restart point."""
        make_folder(self.folder)
        old = self._read(self._note(sums.block))
        # a name of its own: the note must never describe a file that is being replaced
        name = f"block_{sums.block.id:06d}.{secrets.token_hex(4)}.sums"
        sha = write_sums(self.folder / name, sums)
        content: dict[str, Any] = {
            "run": self.run_id,
            "block": sums.block.to_list(),
            "file": name,
            "sha256": sha,
            "next": sums.next,
        }
        content["check"] = _check_of(content)
        publish_text(self._note(sums.block), json.dumps(content) + "\n")
        if old is not None and old.file != name:
            remove(self.folder / old.file)

    def load(self, block: Block) -> Sums | None:
        """Return the sums of a block from the point that is farthest, None when there is none.

        A damaged point is passed over, and said in `dropped`.
        """
        fitting = [p for p in self.points() if p.block.contains(block) and p.block.classes == block.classes]
        for point in sorted(fitting, key=lambda p: p.next, reverse=True):
            try:
                return read_sums(self.folder / point.file, point.sha256, block)
            except CorruptionError as error:
                self.dropped.append(f"block {block.id}: {error.message}")
        return None

    def points(self) -> list[Point]:
        """Return all points whose notes are sound."""
        found = [self._read(path) for path in sorted(self.folder.glob("block_*.json"))]
        return [p for p in found if p is not None]

    def remove(self, block: Block) -> None:
        """Remove the point of a block that is finished."""
        note = self._note(block)
        point = self._read(note)
        if note.exists():
            remove(note)
        if point is not None:
            remove(self.folder / point.file)

    def clear(self) -> None:
        """Remove all points: the image is written."""
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if path.name.startswith("block_"):
                    remove(path)

    def tidy(self, left: list[Block]) -> None:
        """Remove points that serve none of the blocks that are left, and files without a note; for the owner alone."""
        if not self.folder.is_dir():
            return
        keep = set()
        for point in self.points():
            if any(point.block.contains(b) for b in left):
                keep |= {point.file, self._note(point.block).name}
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith("block_") and path.name not in keep:
                remove(path)

    def _note(self, block: Block) -> Path:
        return self.folder / f"block_{block.id:06d}.json"

    def _read(self, path: Path) -> Point | None:
        try:
            found = json.loads(path.read_text())
            if found.pop("check") != _check_of(found) or found["run"] != self.run_id:
                return None
            # the name alone: a note must not lead elsewhere
            name = Path(str(found["file"])).name
            return Point(Block.from_list(found["block"]), name, str(found["sha256"]), int(found["next"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def _check_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
