"""The prestack traces of `[data]`: their table, as time migration takes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.job.data import header_options
from subsalt.parallel.comm import Comm

if TYPE_CHECKING:
    from subsalt.io.cdp_line import LineGeometry
    from subsalt.io.prestack import TraceTable
    from subsalt.job.data_sections import PrestackDataSection


def line_geometry(section: PrestackDataSection) -> LineGeometry | None:
    """Return the line of `[data] cdp_line`, None without one."""
    from subsalt.io.cdp_line import LineGeometry

    line = section.cdp_line
    if line is None:
        return None
    return LineGeometry(line.spacing, line.first_cdp, (line.x0, line.y0), line.azimuth, line.offset)


def open_prestack(
    section: PrestackDataSection, files: Sequence[Path], comm: Comm | None = None
) -> TraceTable:
    """Return the table of the traces of `[data]`; their samples stay in the files.

    Parameters
    ----------
    section : PrestackDataSection
        How the files are read.
    files : sequence of Path
        Those of the section, found.
    comm : Comm, optional
        Ranks that all want the table: each reads a part of the headers. Then this is collective.
    """
    from subsalt.io.cdp_line import BinGeometry
    from subsalt.io.prestack import open_traces
    from subsalt.io.repeats import first_of_repeats

    header, fix = header_options(section)
    bins = None if section.bins is None else BinGeometry(section.bins.azimuth)
    table = open_traces(files, header, fix, line=line_geometry(section), bins=bins, comm=comm)
    table.notes["duplicates"] = section.duplicates
    if section.duplicates == "first":
        keep = first_of_repeats(table)
        table.notes["duplicates_left_out"] = len(table) - len(keep)
        table = table.take(keep)
    return table
