"""The image traces of a location that a job asks for: one, or one per offset class and azimuth sector."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from subsalt.imaging.kirchhoff.classes import Classes

if TYPE_CHECKING:
    from subsalt.io.prestack import TraceTable
    from subsalt.job.kirchhoff_sections import KirchhoffSection


def classes(section: KirchhoffSection, table: TraceTable) -> Classes:
    """Return the classes of `[kirchhoff]` gathers, offset, sectors and first_azimuth.

    Raises
    ------
    ConfigError
        When full-offset gathers are asked of data whose offsets have no nominal values.
    """
    sectors = section.sectors, section.first_azimuth
    if section.gathers == "full-offset":
        return Classes.full(table.offset, *sectors)
    if section.offset is None:
        return Classes.image(table.offset)
    asked = section.offset
    made = Classes.offset(asked.first, asked.last, asked.step, *sectors)
    # one image of a range of offsets: the classes say which, and how they are balanced
    return made if section.gathers == "offset" else replace(made, kind="image")
