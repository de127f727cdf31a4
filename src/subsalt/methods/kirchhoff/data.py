"""The table of prestack traces of a job: what `[data]` names, to be taken through the steps of `[[signal]]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt.job.data import flow_of_job, header_names, header_options, open_geometry
from subsalt.job.inputs import data_files
from subsalt.job.signal.traces import OF_TABLES, treated_table
from subsalt.parallel.comm import Comm

if TYPE_CHECKING:
    from subsalt.io.prestack.positions import LineGeometry
    from subsalt.io.prestack.table import TraceTable
    from subsalt.job.base import BaseJob
    from subsalt.methods.kirchhoff.data_sections import PrestackDataSection


def line_geometry(section: PrestackDataSection) -> LineGeometry | None:
    """Return the line of `[data] cdp_line`, None without one."""
    from subsalt.io.prestack.positions import LineGeometry

    line = section.cdp_line
    if line is None:
        return None
    return LineGeometry(line.spacing, line.first_cdp, (line.x0, line.y0), line.azimuth, line.offset)


def open_prestack(job: BaseJob, comm: Comm | None = None, more: tuple[str, ...] = ()) -> TraceTable:
    """Return the table of the traces of `[data]`, to be taken through `[[signal]]`; their samples stay in the files.

    Parameters
    ----------
    job : BaseJob
        Its `[data]`, a `PrestackDataSection`, says how the files are read, and where positions come from.
    comm : Comm, optional
        Ranks that all want the table: each reads a part of the headers. Then this is collective.
    more : tuple of str
        Header values that are kept beside those that the steps need.
    """
    from subsalt.io.prestack.positions import BinGeometry
    from subsalt.io.prestack.table import open_traces
    from subsalt.io.segy.shot_table import first_of_repeats

    section: PrestackDataSection = job.data
    files, geometry = data_files(job), open_geometry(job)
    header, fix = header_options(section, job.base)
    names = dict.fromkeys([*header_names(job), *more])
    extra = tuple(name for name in names if name not in OF_TABLES)
    bins = None if section.bins is None else BinGeometry(section.bins.azimuth)
    table = open_traces(
        files,
        header,
        fix,
        line=line_geometry(section),
        bins=bins,
        geometry=geometry,
        comm=comm,
        extra=extra,
    )
    table.notes["duplicates"] = section.duplicates
    if section.duplicates == "first":
        keep = first_of_repeats(table)
        table.notes["duplicates_left_out"] = len(table) - len(keep)
        table = table.take(keep)
    flow = flow_of_job(job, table.time)
    return table if flow is None else treated_table(table, flow)
