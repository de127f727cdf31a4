"""Wavefields that a run keeps after its shots: what was kept, where it lies, and opening it again.

A run that another one is made from: what its directory says of it, read without locking it.

A source wavefield backwards in time: from its last two levels and the shell that it left on its way forward.

Without damping the leapfrog scheme is symmetric in time::

    u[n+1] = 2 u[n] - u[n-1] + m L u[n] + s[n]      =>      u[n-1] = 2 u[n] - u[n+1] + m L u[n] + s[n]

so the same kernels run it backwards, with the source samples of the same sign. In the absorbing layer it is not, and
there the field is gone for good. What stands between is the shell: the cells within reach of the layer, in the part of
the grid that does not absorb. They are kept at every step and put back at every step; inside them the field comes back
to rounding. The reach is M cells, the radius of the stencil: the terms of a PML act in the M cells inside its edge, and
the first cell beyond them reads all M. In tilted media, whose derivatives are composed, it is 2 M.

References
----------
Clapp, R. G. (2008), Reverse time migration: saving the boundaries, Stanford Exploration Project 136, 137-144.
Dussaud, E., et al. (2008), Computational strategies for reverse-time migration, SEG Expanded Abstracts, 2267-2271.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from subsalt import kernels
from subsalt.checkpoint.storage.wavefield import StoredWavefield, is_complete, open_stored
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, DeviceError, MissingInputError
from subsalt.io import own
from subsalt.kernels.problem import State
from subsalt.kernels.work import Shell, Source
from subsalt.propagation.domain import Domain
from subsalt.run.identity import job_of_run
from subsalt.run.ledger import Wavefield, read_rows, read_wavefields
from subsalt.run.settings import NAME, is_sound, read_only

if TYPE_CHECKING:
    from subsalt.job.job import Job

Name = Literal["source", "receiver"]
NAMES: tuple[Name, ...] = get_args(Name)

#: kept wavefields by shot and name
Kept = Mapping[int, Mapping[str, Wavefield]]


def records_of(shot: int, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what a shot has kept in the scratch folders of its run, for the ledger; an empty list when nothing."""
    out = []
    for name in NAMES:
        if is_complete(folders, shot, name):
            with open_stored(folders, shot, name) as kept:
                sha, size = _digest(kept.files), kept.bytes
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
        kept = open_stored(folders, wavefield.shot, cast("Name", wavefield.name))
    except MissingInputError as error:
        raise CorruptionError(f"the {what} is gone: {error.message}", CURE, code="E863") from error
    if _digest(kept.files) != wavefield.sha256:
        kept.close()
        raise CorruptionError(
            f"the {what} in {folders[0]} is not the one the ledger knows", CURE, code="E863"
        )
    return kept


#: what to do about a wavefield that is damaged or gone
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


@dataclass(frozen=True)
class SourceRun:
    """What a run directory holds.

    Parameters
    ----------
    folder : Path
        The run directory.
    job : Job
        As it was resolved.
    run_id : str
        Hash of job and inputs.
    numerics : str
        Class of what computed it.
    inputs : list of dict
        ``key``, ``path`` and ``sha256`` of the files it was made from.
    rows : list of dict
        State of every shot.
    wavefields : list of Wavefield
        What is kept.
    """

    folder: Path
    job: Job
    run_id: str
    numerics: str
    inputs: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    wavefields: list[Wavefield]

    @classmethod
    def open(cls, folder: Path) -> SourceRun:
        """Read the job and the ledger of a run directory.

        Raises
        ------
        MissingInputError
            When it is no directory of a run.
        CorruptionError
            When its job or its ledger cannot be read.
        """
        folder = Path(folder)
        job = job_of_run(folder)
        try:
            kernels.chosen(job.parallel.device)
        except DeviceError:
            # the run wanted a GPU where it was; what is made from it is made where there is none, too
            job = job.changed("parallel", device=kernels.AUTO)
        try:
            with read_only(folder) as db:
                meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
                rows, wavefields = read_rows(db), read_wavefields(db)
            if not is_sound(meta):
                raise ValueError("its settings do not have their checksum")
            numerics = json.loads(meta["key"])["numerics"]
            inputs = json.loads(meta["inputs"])
            return cls(folder, job, meta["run_id"], str(numerics), inputs, rows, wavefields)
        except (FileNotFoundError, KeyError):
            raise MissingInputError(
                f"{folder} holds no run: {NAME} is not in it, or says nothing of one",
                "give the directory that `migrate` made",
                code="E110",
            ) from None
        except (OSError, sqlite3.Error, ValueError, TypeError) as error:
            raise CorruptionError(
                f"{folder / NAME} cannot be read: {error}",
                "the same `subsalt migrate` command again mends it",
                code="E641",
            ) from error

    @property
    def partials(self) -> dict[int, str]:
        """Checksum of every partial image."""
        return {int(r["id"]): str(r["sha256"]) for r in self.rows if r["sha256"]}

    def without(self, shot: int) -> str:
        """Return why a shot has neither a partial image nor wavefields."""
        row = next((r for r in self.rows if r["id"] == shot), None)
        if row is None:
            return f"it is no shot of {self.folder}"
        reason = f": {row['reason']}" if row["reason"] else ""
        return f"it is {row['state']} in {self.folder}{reason}"


def shell_of(domain: Domain, medium: str) -> Shell:
    """Return the shell of the un-damped points that a rank owns, in local indices.

    Sides without a layer need none: a free surface, or sides that reflect. Along x and y only the ends of the whole
    grid have one; what other ranks own is exchanged as on the way forward.
    """
    reach = shell_reach(domain, medium)
    widths = [reach if w else 0 for w in domain.widths]
    shape = domain.grid.shape3
    lo, hi = list(domain.widths[0::2]), [n - w for n, w in zip(shape, domain.widths[1::2], strict=True)]
    for axis, side in enumerate((domain.slab, domain.across)):
        first = min(max(lo[axis], side.lo), side.hi)
        last = max(min(hi[axis], side.hi), first)
        # what of the shells of the axis, counted on the whole grid, lies here
        widths[2 * axis] = max(0, lo[axis] + widths[2 * axis] - first)
        widths[2 * axis + 1] = max(0, last - (hi[axis] - widths[2 * axis + 1]))
        lo[axis], hi[axis] = first - side.first, last - side.first
    box = Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))
    return Shell.of(box, (widths[0], widths[1], widths[2], widths[3], widths[4], widths[5]))


def shell_reach(domain: Domain, medium: str) -> int:
    """Return the cells of a shell from its face inwards."""
    return domain.layout.radius * (2 if medium == "tti" else 1)


@dataclass
class Backwards:
    """Turn a state and a source round in time.

    Parameters
    ----------
    last : int
        Time index at which the wavefield on its way forward stands. Time index n of it is ``last - n`` of the one that
        runs backwards.
    """

    last: int

    def state(self, state: State) -> State:
        """Return the same two levels in reverse order, sharing their arrays: n = last - 1 is the newest."""
        return State(state.curr, state.prev, {}, 1)

    def source(self, source: Source) -> Source:
        """Return a source that acts in the step from n to n - 1 with the sample that acted from n to n + 1."""
        samples = np.asarray(source.samples)
        used = np.zeros((samples.shape[0], self.last + 1), dtype=samples.dtype)
        n = min(samples.shape[1], self.last + 1)
        used[:, :n] = samples[:, :n]
        return Source(source.points, np.asfortranarray(used[:, ::-1]))
