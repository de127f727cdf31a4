"""The recorded survey of a job: what `[data]` names, selected, its traces taken through the steps of `[[signal]]`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.line import GIVEN, JOB, RUN
from subsalt.acquisition.reciprocity import of_pressure, receiver_gathers
from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, GeometryError
from subsalt.io.objects import is_url
from subsalt.job.base import BEFORE_FRAMES
from subsalt.job.data import flow_of_job, header_names, header_options, open_geometry
from subsalt.job.data_sections import parse_ranges
from subsalt.job.inputs import data_files, geometry_files
from subsalt.job.signal.first_break_edge import BreakEdge, edge_of
from subsalt.job.signal.traces import OF_POSITIONS, treated
from subsalt.methods.rtm.topography import on_topography
from subsalt.parallel.comm import Comm, single

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.io.segy.kept_headers import KeptHeaders
    from subsalt.methods.rtm.data_sections import DataSection
    from subsalt.methods.rtm.sections import RtmTables


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


def kept_headers(job: RtmTables, section: DataSection) -> KeptHeaders:
    """Return what keeps the headers of the survey of a job while its files are scanned."""
    from subsalt.io.segy.geometry import needed_for
    from subsalt.io.segy.kept_headers import KeptHeaders

    return KeptHeaders(*header_options(section, job.base), needed_for(_columns(job)))


def _columns(job: RtmTables) -> tuple[str, ...]:
    """Return the header values that the steps of a job ask for, of every trace."""
    return tuple(name for name in header_names(job) if name not in OF_POSITIONS)


def open_survey(
    job: RtmTables, frame: Frame | None = None, comm: Comm | None = None, headers: KeptHeaders | None = None
) -> Survey:
    """Return the survey of `[data]`; traces stay in the files until they are asked for.

    Parameters
    ----------
    job : RtmTables
        With a `[data]` table.
    frame : Frame, optional
        Local frame of the model file; the job's own goes before, and that of a run directory that goes on.
    comm : Comm, optional
        Ranks that all want it: the first one reads the headers of all traces. Then this is collective.
    headers : KeptHeaders, optional
        Headers that are read already (`kept_headers`).
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
    survey = read_once(lambda: _kept_or_read(job, section, frame, headers), comm or single())
    return with_treatment(on_topography(job, survey), job, comm or single())


def _kept_or_read(
    job: RtmTables, section: DataSection, frame: Frame | None, headers: KeptHeaders | None
) -> Survey:
    """Return the survey that a check has read, so that the run after it need not; read it where a file has changed."""
    files = [*data_files(job), *(path for paths in geometry_files(job).values() for path in paths)]
    if any(is_url(path) for path in files):
        return _read_survey(job, section, frame, headers)
    there = [(path, path.stat()) for path in files]
    state = hash(tuple((str(path), s.st_ino, s.st_size, s.st_mtime_ns) for path, s in there))
    survey: Survey = job.remember(
        f"survey in {frame} of {state}", lambda: _read_survey(job, section, frame, headers)
    )
    return survey


def _read_survey(
    job: RtmTables, section: DataSection, frame: Frame | None, headers: KeptHeaders | None
) -> Survey:
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
        columns=_columns(job),
        headers=headers,
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
        existing = {i for i in ids if first <= i <= last and (i - first) % step == 0}
        if not existing:
            raise GeometryError(
                f"no shot has an id in {first}-{last}:{step}; ids run from {min(ids)} to {max(ids)}",
                f'select from those, for example "{min(ids)}-{max(ids)}"',
                code="E304",
            )
        want |= existing
    return survey.select(sorted(want))


def with_treatment(survey: Survey, job: RtmTables, comm: Comm) -> Survey:
    """Return the survey with a reader that takes its traces through the steps of the job; collective over `comm`."""

    def edge() -> BreakEdge:
        with comm.together():
            break_edge = vars(edge_of(survey)) if comm.is_root else None
        return BreakEdge(**comm.bcast(break_edge))

    flow = None if survey.reader is None else flow_of_job(job, survey.time, edge)
    return survey if flow is None else treated(survey, flow)
