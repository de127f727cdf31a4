"""Wavefields that a run keeps after its shots: what was kept, where it lies, and opening it again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from subsalt.checkpoint.storage.wavefield import StoredWavefield, is_complete, open_stored
from subsalt.errors import CorruptionError, MissingInputError
from subsalt.io import own
from subsalt.run.ledger_file import Wavefield

Name = Literal["source", "receiver"]
NAMES: tuple[Name, ...] = get_args(Name)

#: kept wavefields by shot and name
Kept = Mapping[int, Mapping[str, Wavefield]]


def records_of(shot: int, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what a shot has kept in the scratch folders of its run, for the ledger; an empty list when nothing."""
    out = []
    for name in NAMES:
        if is_complete(folders, shot, name):
            with open_stored(folders, shot, name) as stored:
                sha, size = _digest(stored.files), stored.bytes
            out.append({"name": name, "sha256": sha, "bytes": size})
    return out


def by_shot(wavefields: Iterable[Wavefield]) -> dict[int, dict[str, Wavefield]]:
    """Return kept wavefields by shot and name."""
    out: dict[int, dict[str, Wavefield]] = {}
    for w in wavefields:
        out.setdefault(w.shot, {})[w.name] = w
    return out


def open_wavefield(run: Path, wavefield: Wavefield) -> StoredWavefield:
    """Open a kept wavefield.

    Raises
    ------
    CorruptionError
        When its files are missing, or are not those the ledger knows.
    """
    folders, what = (
        [run / f for f in wavefield.folders],
        f"kept {wavefield.name} wavefield of shot {wavefield.shot}",
    )
    try:
        stored = open_stored(folders, wavefield.shot, cast("Name", wavefield.name))
    except MissingInputError as error:
        raise CorruptionError(f"the {what} is gone: {error.message}", CURE, code="E863") from error
    if _digest(stored.files) != wavefield.sha256:
        stored.close()
        raise CorruptionError(
            f"the {what} in {folders[0]} is not the one the ledger knows", CURE, code="E863"
        )
    return stored


#: the cure for a wavefield that is damaged or missing
CURE = 'make it again: run the job with [checkpoint] keep = "both" in a new directory (subsalt migrate JOB --run NEW)'


def facts_of(wavefields: Sequence[Wavefield]) -> dict[str, Any]:
    """Return what run.json says of kept wavefields: shots, bytes, folders; empty when nothing is kept."""
    if not wavefields:
        return {}
    shots = by_shot(wavefields)
    return {
        "shots": sorted(shots),
        "both": sorted(shot for shot, names in shots.items() if len(names) == len(NAMES)),
        "bytes": sum(w.bytes for w in wavefields),
        "folders": sorted({f for w in wavefields for f in w.folders}),
    }


def places(folders: Sequence[Path], run: Path) -> list[str]:
    """Return scratch folders as the ledger keeps them: relative to the run those inside it, so that it can be moved."""
    run = run.resolve()
    inside = [Path(f).resolve() for f in folders]
    return [str(f.relative_to(run)) if run in f.parents else str(f) for f in inside]


def _digest(descriptions: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in descriptions:
        digest.update(path.name.encode() + b"\n" + own.read_bytes(path))
    return digest.hexdigest()
