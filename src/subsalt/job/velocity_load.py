"""From the table `[velocity]` to the velocity that computes: files opened, units converted, smoothed, scaled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt.imaging.kirchhoff.fields import Constant, Field, Profile, Scaled
from subsalt.imaging.kirchhoff.velocity import FieldVelocity

if TYPE_CHECKING:
    from subsalt.job.velocity_section import EtaSection, FunctionSection, TimeFileSection, VelocitySection


def open_velocity(
    section: VelocitySection, resolve: Callable[[str], Path], grid: object, curved: bool = False
) -> FieldVelocity:
    """Return the velocity of a job.

    Parameters
    ----------
    section : VelocitySection
        Of the job.
    resolve : callable
        From the name of a file in the job to its path.
    grid : ImageGrid
        Of the image: inline and crossline numbers are placed on the map by it.
    curved : bool
        ``[kirchhoff] traveltime = "curved"``.
    """
    v = _field(section.v, section.kind, section)
    if section.scale != 1.0:
        v = Scaled(v, section.scale)
    eta: EtaSection | None = section.eta
    return FieldVelocity(v, None if eta is None else _field(eta.value, "rms", eta), curved)


def _field(function: FunctionSection | None, kind: str, file: TimeFileSection) -> Field:
    assert function is not None
    if function.t is None:
        assert isinstance(function.value, float)
        return Constant(function.value)
    return Profile(np.array(function.t), np.array(function.value), kind)


def velocity_files(section: VelocitySection, resolve: Callable[[str], Path]) -> dict[str, list[Path]]:
    """Return the files that the table names, by the key that names them.

    Raises
    ------
    MissingInputError
        When one is not there.
    """
    from subsalt.job.inputs import existing

    out = {}
    if section.file is not None:
        out["velocity.file"] = [existing(resolve(section.file), "velocity.file")]
    if section.eta is not None and section.eta.file is not None:
        out["velocity.eta.file"] = [existing(resolve(section.eta.file), "velocity.eta.file")]
    return out
