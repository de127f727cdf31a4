"""A run that another one is made from: what its directory says of it, read without locking it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from subsalt import kernels
from subsalt.errors import CorruptionError, DeviceError, MissingInputError
from subsalt.methods.rtm.running_sum import KEY, Summed
from subsalt.run.job_of_run import job_of_run
from subsalt.run.ledger_file import Wavefield, read_rows, read_wavefields
from subsalt.run.settings import NAME, is_sound, read_only

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


@dataclass(frozen=True)
class SourceRun:
    """Contents of a run directory.

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
        Kept wavefields.
    summed : int
        Shots of which it keeps the sum alone.
    """

    folder: Path
    job: Job
    run_id: str
    numerics: str
    inputs: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    wavefields: list[Wavefield]
    summed: int = 0

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
        job = cast("Job", job_of_run(folder))
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
            summed = len(Summed.of(meta.get(KEY)).shots)
            return cls(folder, job, meta["run_id"], str(numerics), inputs, rows, wavefields, summed)
        except (FileNotFoundError, KeyError):
            raise MissingInputError(
                f"{folder} holds no run: {NAME} is not in it, or says nothing of one",
                "give the directory that `migrate` made",
                code="E110",
            ) from None
        except (OSError, sqlite3.Error, ValueError, TypeError) as error:
            raise CorruptionError(
                f"{folder / NAME} cannot be read: {error}",
                "the same `subsalt migrate` command again repairs it",
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
