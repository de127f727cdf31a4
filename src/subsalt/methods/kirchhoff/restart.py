"""Restart points of blocks: sums published at intervals, so that a stop loses little.

A restart point is a file of sums, and a note that names the file with its hash. The note is replaced when the file is
complete; then the previous file is removed. Another number of ranks can resume parts of a block from the same point.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import CorruptionError
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text, remove
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.partial_image import Sums, read_sums, write_sums

#: the folder of the points in a run directory
FOLDER = "restart"


@dataclass(frozen=True)
class BlockRestartPoint:
    """A restart point.

    Parameters
    ----------
    block : Block
        Whose sums.
    file : str
        In the folder of restart points.
    sha256 : str
        Checksum of that file.
    next : int
        First trace that is not in it.
    """

    block: Block
    file: str
    sha256: str
    next: int


class BlockRestartPoints:
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
        #: messages on damaged points that were dropped, for the log of events
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

        A damaged point is skipped, and named in `dropped`.
        """
        fitting = [p for p in self.points() if p.block.contains(block) and p.block.classes == block.classes]
        for point in sorted(fitting, key=lambda p: p.next, reverse=True):
            try:
                return read_sums(self.folder / point.file, point.sha256, block)
            except CorruptionError as error:
                self.dropped.append(f"block {block.id}: {error.message}")
        return None

    def points(self) -> list[BlockRestartPoint]:
        """Return all points whose notes are sound."""
        notes = [n for n in own.names_in(self.folder) if n.startswith("block_") and n.endswith(".json")]
        points = [self._read(self.folder / name) for name in notes]
        return [p for p in points if p is not None]

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
        for name in own.names_in(self.folder):
            if name.startswith("block_"):
                remove(self.folder / name)

    def tidy(self, left: list[Block]) -> None:
        """Remove points that serve none of the blocks that are left, and files without a note; for the owner alone."""
        keep = set()
        for point in self.points():
            if any(point.block.contains(b) for b in left):
                keep |= {point.file, self._note(point.block).name}
        for name in own.names_in(self.folder):
            if name.startswith("block_") and name not in keep:
                remove(self.folder / name)

    def _note(self, block: Block) -> Path:
        return self.folder / f"block_{block.id:06d}.json"

    def _read(self, path: Path) -> BlockRestartPoint | None:
        try:
            note = json.loads(own.read_text(path))
            if note.pop("check") != _check_of(note) or note["run"] != self.run_id:
                return None
            # the name alone: a note must not lead elsewhere
            name = Path(str(note["file"])).name
            return BlockRestartPoint(
                Block.from_list(note["block"]), name, str(note["sha256"]), int(note["next"])
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def _check_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
