"""What `[data]` holds, opened with its header bytes and fixes: the recorded survey, selected, its traces taken through
the steps of `[[signal]]`; for time migration the table of the prestack traces.

Geometry may come from files of its own (SPS, P1/90, P1/11, CSV), for traces whose headers do not hold it: they are
joined by the numbers of shots and channels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.line import GIVEN, JOB, RUN
from subsalt.acquisition.reciprocity import of_pressure, receiver_gathers
from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, GeometryError
from subsalt.job.base import BEFORE_FRAMES
from subsalt.job.csv_tables import read_table, table_names
from subsalt.job.data_sections import header_words, parse_ranges
from subsalt.job.errors import line_of
from subsalt.job.inputs import data_files, existing, expand_files
from subsalt.job.signal.first_break_edge import BreakEdge, asks, edge_of, measured
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.mute import Mute
from subsalt.job.signal.traces import OF_POSITIONS, OF_TABLES, treated, treated_table
from subsalt.methods.rtm.topography import on_topography
from subsalt.parallel.comm import Comm, single

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey, TimeAxis
    from subsalt.io.geometry.join import SurveyGeometry
    from subsalt.io.prestack.positions import LineGeometry
    from subsalt.io.prestack.table import TraceTable
    from subsalt.job.base import BaseJob
    from subsalt.job.data_sections import DataSection, PrestackDataSection, TracesSection
    from subsalt.job.signal.step import Step
    from subsalt.methods.rtm.sections import RtmTables


def open_geometry(job: BaseJob) -> SurveyGeometry | None:
    """Return what `[data.geometry]` says of positions; None without it."""
    from subsalt.io.geometry.survey import listed_geometry, read_geometry

    section = job.data.geometry
    if section is None:
        return None
    if section.files is not None:
        return read_geometry(
            expand_files(job, section.files, "data.geometry.files"),
            join=section.join or "auto",
            lines=section.lines,
            unit=section.unit,
        )
    shots, receivers = job.resolve(section.shots), job.resolve(section.receivers)
    by_point = "point" in table_names(shots)
    number = ("line", "point" if by_point else "shot")
    src = read_table(shots, (*number, "sx", "sy", "sz"))
    rcv = read_table(receivers, (*number, "chan", "gx", "gy", "gz"))
    return listed_geometry(
        src, rcv, (str(shots), str(receivers)), "point" if by_point else "record", section.lines
    )


def header_options(section: TracesSection, base: Path = Path()) -> tuple[Any, Any]:
    """Return the header bytes and the fixes of `[data]` in the form of `subsalt.io.segy`; names count from `base`."""
    from subsalt.io.segy.headers import Fix, HeaderBytes
    from subsalt.io.segy.index import BESIDE

    header = HeaderBytes.preset(section.preset)
    fixes = section.fix.model_dump(exclude_none=True)
    fixes["trace_ids"] = tuple(section.fix.trace_ids) if section.fix.trace_ids else None
    # whole files are left out before any is opened, see `data_files`
    exclude = tuple(e for e in section.excluded() if not e.whole_file)
    fix = Fix(
        **fixes,
        fields=tuple((k, v) for k, v in section.bytes.items() if isinstance(v, str)),
        dead=section.dead_traces,
        nan=section.bad_traces,
        exclude=exclude,
        duplicates=getattr(section, "duplicates", None) or "error",
        noisy=section.noisy_traces or "error",
        index=section.index
        if section.index in (None, BESIDE)
        else str(base / Path(section.index).expanduser()),
    )
    return header.placed(header_words(section.bytes)), fix


def survey_frame(job: RtmTables) -> Frame | None:
    """Return the local frame the job gives; None leaves it to the reader."""
    section = job.data.frame if job.data else None
    if section is None:
        return None
    return Frame(section.x0, section.y0, math.radians(section.azimuth), bool(section.flip))


def frame_given(job: RtmTables, model: Frame | None) -> tuple[Frame | None, str]:
    """Return the frame that somebody gives for the local coordinates of a job, and who: `[data] frame`, the run
    directory in which the job goes on, or the model; None leaves it to the line itself.
    """
    own = survey_frame(job)
    if own is not None:
        return own, JOB
    if isinstance(job.run_place, Frame):
        return job.run_place, RUN
    return model, GIVEN


def open_survey(job: RtmTables, frame: Frame | None = None, comm: Comm | None = None) -> Survey:
    """Return the survey of `[data]`; traces stay in the files until they are asked for.

    Parameters
    ----------
    job : RtmTables
        With a `[data]` table.
    frame : Frame, optional
        Local frame of the model file; the job's own goes before, and that of a run directory that goes on.
    comm : Comm, optional
        Ranks that all want it: the first one reads the headers of all traces. Then this is collective.
    """
    from subsalt.io.segy.reading import read_once

    section = job.data
    if section is None:
        raise ConfigError("the job has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
    if section.slices is not None:
        from subsalt.io.prestack.time_slices import slice_survey

        files = data_files(job)
        place, _ = frame_given(job, frame)
        dense = slice_survey(files, section.slices.sources, section.slices.depth, place)
        return with_treatment(select_shots(dense, section.shots), job, comm or single())
    survey = read_once(lambda: _read_survey(job, section, frame), comm or single())
    return with_treatment(on_topography(job, survey), job, comm or single())


def _read_survey(job: RtmTables, section: DataSection, frame: Frame | None) -> Survey:
    """Return the selected shots of SEG-Y or SU files, untreated."""
    from subsalt.io.segy.reading import read_survey

    header, fix = header_options(section, job.base)
    files = data_files(job)
    ndim: Any = {"3d": 3, "auto": None}.get(section.line, 2)
    frame, says = frame_given(job, frame)
    before = job.run_place == BEFORE_FRAMES
    along: Any = section.line if section.line in ("x", "y") else "project"
    geometry = open_geometry(job)
    survey = read_survey(
        files,
        header,
        fix,
        ndim=ndim,
        line="project" if before and geometry is not None else along,
        frame=frame,
        shot_key=section.shot_key,
        receivers=section.receivers,
        geometry=geometry,
        exact_line=before,
        columns=tuple(name for name in header_names(job) if name not in OF_POSITIONS),
    )
    if isinstance(line := survey.notes.get("line"), dict) and (frame is not None or before):
        line["says"] = RUN if before else says
    if section.gathers == "receiver":
        survey = _by_receivers(survey)
    return select_shots(survey, section.shots)


def _by_receivers(survey: Survey) -> Survey:
    """Return common-receiver gathers, or refuse those of sensors of motion."""
    if not of_pressure(survey):
        ids: Any = survey.notes["trace_ids"]
        raise GeometryError(
            '[data] gathers = "receiver" exchanges sources and hydrophones; the traces are of other sensors (byte 29: '
            f"{', '.join(map(str, ids))})",
            "[data.fix] trace_ids = [11] takes the hydrophones; or leave gathers out",
            code="E370",
        )
    return receiver_gathers(survey)


def select_shots(survey: Survey, selection: str | list[int]) -> Survey:
    """Return the survey of the selected ids; ranges take those that exist, single ids must exist."""
    if selection == "all":
        return survey
    if isinstance(selection, list):
        return survey.select(selection)
    ids = {s.id for s in survey.shots}
    want: set[int] = set()
    for first, last, step in parse_ranges(str(selection)):
        found = {i for i in ids if first <= i <= last and (i - first) % step == 0}
        if not found:
            raise GeometryError(
                f"no shot has an id in {first}-{last}:{step}; ids run from {min(ids)} to {max(ids)}",
                f'select from those, for example "{min(ids)}-{max(ids)}"',
                code="E304",
            )
        want |= found
    return survey.select(sorted(want))


def flow_of_job(job: BaseJob, time: TimeAxis, edge: Callable[[], BreakEdge] | None = None) -> Flow | None:
    """Return the steps of `[[signal]]`, or that of `[data.mute]`, on records of a time axis; None without any.

    Parameters
    ----------
    edge : callable, optional
        Measures the edge behind the first breaks, for a mute that asks for it.

    Raises
    ------
    FindingsError
        With everything in the steps that does not fit the records.
    """
    from subsalt.io.segy.geometry import GEOMETRY_STATIC

    mute = getattr(job.data, "mute", None)
    steps: list[Step] = list(job.signal or [])
    if edge is not None and asks(steps):
        steps = measured(steps, edge())
    if mute is not None:
        steps = [Mute(step="mute", velocity=mute.velocity, delay=mute.delay, taper=mute.taper)]
    if not steps:
        return None
    if GEOMETRY_STATIC in header_names(job) and job.data.geometry is None:
        raise ConfigError(
            '[[signal]] shifts by statics = "geometry", and the job has no [data.geometry]',
            "name the files of positions there, or shift by headers or a table",
            code="E797",
        )
    text = job.path.read_text("utf-8", "replace") if job.path is not None and job.path.is_file() else ""
    lines = [line_of(text, ["signal", place]) for place in range(len(steps))]

    def resolve(name: str, key: str) -> Path:
        return existing(job.resolve(name), f"[[signal]] {key}")

    return Flow(steps, time, resolve, short=mute is not None, lines=lines)


def header_names(job: BaseJob) -> tuple[str, ...]:
    """Return the header values that the steps of `[[signal]]` need."""
    return tuple(dict.fromkeys(name for step in job.signal or [] for name in step.needs()))


def with_treatment(survey: Survey, job: RtmTables, comm: Comm) -> Survey:
    """Return the survey with a reader that takes its traces through the steps of the job; collective over `comm`."""

    def edge() -> BreakEdge:
        with comm.together():
            found = vars(edge_of(survey)) if comm.is_root else None
        return BreakEdge(**comm.bcast(found))

    flow = None if survey.reader is None else flow_of_job(job, survey.time, edge)
    return survey if flow is None else treated(survey, flow)


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
    from subsalt.io.segy.geometry import first_of_repeats

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
