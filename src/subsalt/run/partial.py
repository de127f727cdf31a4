"""Partial images of a run: one checksummed file per shot, summed later in survey order."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from subsalt.errors import CorruptionError
from subsalt.grid import Box
from subsalt.imaging.rtm import ShotImage
from subsalt.io.publish import publish_bytes, sha256_file


def partial_path(folder: Path, shot: int) -> Path:
    """Return the file of one shot's partial image."""
    return folder / f"shot_{shot:06d}.npz"


def write_partial(folder: Path, part: ShotImage) -> str:
    """Publish one shot's accumulated fields; return the SHA-256 of the file.

    The file depends on the fields and the window alone: no time, no host, no counters.
    """
    buffer = io.BytesIO()
    np.savez(buffer, lo=np.array(part.box.lo), hi=np.array(part.box.hi), **part.sums)  # type: ignore[arg-type]
    return publish_bytes(partial_path(folder, part.shot), buffer.getvalue())


def read_partial(folder: Path, shot: int, sha256: str | None = None) -> ShotImage:
    """Read one shot's accumulated fields.

    Raises
    ------
    CorruptionError
        When the file is missing, damaged, or not the one the ledger knows.
    """
    path = partial_path(folder, shot)
    try:
        if sha256 is not None and sha256_file(path) != sha256:
            raise CorruptionError(
                f"{path} does not have the checksum of the ledger", "run the same command again", "E641"
            )
        with np.load(path, allow_pickle=False) as stored:
            box = Box(tuple(int(v) for v in stored["lo"]), tuple(int(v) for v in stored["hi"]))  # type: ignore[arg-type]
            sums = {k: stored[k] for k in stored.files if k not in ("lo", "hi")}
    except CorruptionError:
        raise
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CorruptionError(
            f"{path} cannot be read: {error}", "run the same command again", code="E641"
        ) from error
    return ShotImage(shot, box, sums, 0, 0.0)
