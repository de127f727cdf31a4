"""Bytes that a migration, or a modelling, writes: image, partial images, pictures and report, or modelled shots."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.earth.grid import Box
from subsalt.io.volumes.plane_file import PlaneLayout
from subsalt.methods.rtm.arrays import FLOAT
from subsalt.methods.rtm.companion import accumulators_of
from subsalt.methods.rtm.conditions import condition_of
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.partial_image import lags_layout
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan.disk import SEGY_HEADERS, TRACE_HEADER, Disk, beside, existing

if TYPE_CHECKING:
    pass


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
    grid = setup.image_grid
    accumulators = condition_of(setup.imaging.condition).accumulators
    partial = partial_bytes(needs, len(needs.shots))
    segy = SEGY_HEADERS + grid.size // grid.shape[-1] * (TRACE_HEADER + FLOAT * grid.shape[-1])
    others = len([f for f in dict.fromkeys(formats) if f != "segy"])
    volumes = others + ("illumination" in accumulators and setup.imaging.illumination == "survey")
    return {
        "partial images": partial,
        "image": segy + volumes * FLOAT * grid.size,
        **_gathers(setup, formats),
    }


def partial_bytes(needs: Needs, shots: int) -> int:
    """Return the bytes of the partial images of so many shots, the largest."""
    setup = needs.setup
    assert isinstance(setup, MigrationSetup)
    sizes = sorted(
        (_partial(setup, needs.window(s), accumulators_of(setup)) for s in needs.shots), reverse=True
    )
    return sum(sizes[:shots])


def _partial(setup: MigrationSetup, window: Box, accumulators: tuple[str, ...]) -> int:
    """Return the bytes of the partial image of a window, and of the sums of its gathers."""
    size = PlaneLayout(window, accumulators).size
    return size if setup.lags is None else size + lags_layout(setup.lags.inside(window)).size


def _gathers(setup: MigrationSetup, formats: Sequence[str]) -> dict[str, int]:
    """Return the bytes of the files of gathers; empty without any."""
    gathers = setup.gathers
    if gathers is None:
        return {}
    nz = setup.image_grid.shape3[2]
    places = math.prod(map(len, gathers.columns))
    options = setup.imaging.gathers
    angles = len(options.angles) if options is not None and options.kind == "angle" else 0
    traces = [places * (angles or len(axis.lags)) for axis in gathers.axes]
    segy = sum(SEGY_HEADERS + n * (TRACE_HEADER + FLOAT * nz) for n in traces)
    return {"gathers": segy + ("rsf" in formats) * FLOAT * nz * sum(traces)}
