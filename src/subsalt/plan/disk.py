"""What a run writes, against the space there is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.io.volumes.plane_file import PlaneLayout
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.memory import FLOAT
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan.need import Needs

#: bytes of a SEG-Y file before its traces, and before the samples of each
SEGY_HEADERS, TRACE_HEADER = 3600, 240

#: ledger, logs and report of a run beside what it draws, and the same of every shot or block
BESIDE, BESIDE_UNIT = 150_000, 1_000
#: pictures of a section, or of a volume with its planes, once as files and once in the report
PICTURES_2D, PICTURES_3D = 1_100_000, 2_000_000

#: what is written when the snapshots of all shots have gone
LATE = ("image", "pictures, report, ledger")


@dataclass(frozen=True)
class Disk:
    """Bytes a run writes.

    Parameters
    ----------
    parts : dict of str to int
        Partial images that are not there yet, outputs, or shots.
    free : int
        Bytes free where they go.
    where : Path
        The folder, or the nearest one above it that is there.
    passing : int
        Bytes of the parts that have gone before the last ones come.
    late : int
        Bytes of those last ones.
    """

    parts: dict[str, int]
    free: int
    where: Path
    passing: int = 0
    late: int = 0

    @property
    def total(self) -> int:
        """Bytes at most at a time."""
        return sum(self.parts.values()) - min(self.passing, self.late)

    @property
    def fits(self) -> bool:
        """Whether there is room."""
        return self.total <= self.free

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"parts": self.parts, "total_bytes": self.total, "free_bytes": self.free, "fits": self.fits}


def disk_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> Disk:
    """Return what the survey writes into `folder`, which need not exist.

    Parameters
    ----------
    needs : Needs
        Setup and survey; its pictures count when it draws them.
    folder : Path
        Run directory, or folder of the modelled shots.
    formats : sequence of str
        Formats of the image beside SEG-Y.
    """
    where = existing(folder)
    parts = parts_of(needs, folder, formats)
    return Disk(parts, shutil.disk_usage(where).free, where)


def existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    where = folder.absolute()
    while not where.exists():
        where = where.parent
    return where


def outputs_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> int:
    """Return the bytes that a run still writes into `folder`, snapshots not counted."""
    return sum(parts_of(needs, folder, formats).values())


def parts_of(needs: Needs, folder: Path, formats: Sequence[str] = ()) -> dict[str, int]:
    """Return what the survey still writes into `folder`, by what it is."""
    setup = needs.setup
    if isinstance(setup, MigrationSetup):
        parts = _image(needs, setup, formats)
        parts["pictures, report, ledger"] = beside(
            len(needs.shots), setup.model.grid.ndim if needs.pictures else 0
        )
        # a run that goes on has some of its partial images there
        there = sum(f.stat().st_size for f in (folder / "images").glob("shot_*"))
        parts["partial images"] = max(0, parts["partial images"] - there)
        return parts
    trace = TRACE_HEADER + FLOAT * setup.record.nt
    return {"shots": sum(SEGY_HEADERS + len(s.rcv) * trace for s in needs.shots)}


def _image(needs: Needs, setup: MigrationSetup, formats: Sequence[str]) -> dict[str, int]:
    grid = setup.model.grid
    accumulators = condition_of(setup.imaging.condition).accumulators
    partial = partial_bytes(needs, len(needs.shots))
    segy = SEGY_HEADERS + grid.size // grid.shape[-1] * (TRACE_HEADER + FLOAT * grid.shape[-1])
    others = len([f for f in dict.fromkeys(formats) if f != "segy"])
    volumes = others + ("illumination" in accumulators and setup.imaging.illumination == "survey")
    return {
        "partial images": partial,
        "image": segy + volumes * FLOAT * grid.size,
    }


def partial_bytes(needs: Needs, shots: int) -> int:
    """Return the bytes of the partial images of so many shots, the largest."""
    setup = needs.setup
    assert isinstance(setup, MigrationSetup)
    accumulators = condition_of(setup.imaging.condition).accumulators
    sizes = sorted((PlaneLayout(needs.window(s), accumulators).size for s in needs.shots), reverse=True)
    return sum(sizes[:shots])


def beside(units: int, drawn: int) -> int:
    """Return the bytes of ledger, logs, report and pictures of so many shots or blocks.

    Parameters
    ----------
    drawn : int
        Dimensions of what is drawn; 0: no pictures.
    """
    return BESIDE + BESIDE_UNIT * units + {0: 0, 2: PICTURES_2D, 3: PICTURES_3D}[drawn]
