"""What `[data]` holds, opened with its header bytes and fixes: the recorded survey, selected, its traces taken through
the steps of `[[signal]]`; for time migration the table of the prestack traces.

Geometry may come from CSV tables, for files whose trace headers do not hold it. Traces are told apart by field record
and channel number; the tables say where these stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import GIVEN, JOB, RUN, fit_stations, line_facts, settled, to_local
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, GeometryError
from subsalt.job.base import BEFORE_FRAMES
from subsalt.job.data_sections import parse_ranges
from subsalt.job.errors import line_of
from subsalt.job.inputs import data_files, existing
from subsalt.job.positions import read_table
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.mute import Mute
from subsalt.job.signal.traces import OF_POSITIONS, OF_TABLES, treated, treated_table
from subsalt.parallel.comm import Comm, single

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Shot, Survey, TimeAxis
    from subsalt.io.prestack.positions import LineGeometry
    from subsalt.io.prestack.table import TraceTable
    from subsalt.job.base import BaseJob
    from subsalt.job.data_sections import DataSection, PrestackDataSection, TracesSection
    from subsalt.job.sections import RtmTables


def numbered_headers(header: Any, fix: Any) -> tuple[Any, Any]:
    """Return header bytes and fixes under which the field record reads as source x and the channel as
    receiver x.
    """
    moved = replace(header, source_x=header.ffid, source_y=0, receiver_x=header.channel, receiver_y=0)
    plain = replace(fix, scalar=1, unit="m", swap_xy=False)
    return replace(moved, coordinate_units=0), plain


class PositionTables:
    """Where sources and receivers stand, read from CSV tables.

    Parameters
    ----------
    sources, receivers : Path
        ``shot,sx,sy,sz`` and ``shot,chan,gx,gy,gz``, map coordinates in metres, z positive down.
    """

    def __init__(self, sources: Path, receivers: Path) -> None:
        self.sources, self.receivers = sources, receivers
        self._src = {int(r[0]): r[1:] for r in read_table(sources, ("shot", "sx", "sy", "sz"))}
        rows = read_table(receivers, ("shot", "chan", "gx", "gy", "gz"))
        self._rcv = {(int(r[0]), int(r[1])): r[2:] for r in rows}

    def placed(self, shot: Shot) -> Shot:
        """Return the shot with the positions of its field record and channels."""
        record = round(shot.src[0])
        if record not in self._src:
            raise GeometryError(
                f"{self.sources} has no shot {record}", "add its line, or leave the shot out", code="E307"
            )
        channels = [round(c) for c in shot.rcv[:, 0]]
        missing = [c for c in channels if (record, c) not in self._rcv]
        if missing:
            there = [c for r, c in self._rcv if r == record]
            ranges = f"channels {min(there)} to {max(there)}" if there else "none"
            cure = "add their lines, or leave the shot out"
            shift = min(there) - min(channels) if there else 0
            if shift and all((record, c + shift) in self._rcv for c in channels):
                cure = (
                    f"channels are counted from {min(channels)} in the headers (byte 13) and from {min(there)} in the "
                    f"table: number one as the other; else {cure}"
                )
            raise GeometryError(
                f"{self.receivers} has no position for {len(missing)} channels of shot {record}, first {missing[0]}: "
                f"the headers (byte 13) have channels {min(channels)} to {max(channels)}, the table {ranges}",
                cure,
                code="E308",
            )
        return replace(shot, src=self._src[record], rcv=np.stack([self._rcv[record, c] for c in channels]))


def place(
    survey: Survey,
    tables: PositionTables,
    ndim: int | None = None,
    frame: Frame | None = None,
    *,
    line: str = "project",
    exact: bool = False,
) -> Survey:
    """Return a survey read with `numbered_headers`, its numbers replaced by the positions of the tables.

    Parameters
    ----------
    survey : Survey
        Source x holds field records, receiver x channels.
    tables : PositionTables
        With all its field records and channels.
    ndim : {2, 3}, optional
        2-D when the positions lie near a line, unless told.
    frame : Frame, optional
        Local coordinates to use.
    line : {"project", "x", "y"}
        2-D without a frame: local x runs along the best line, or is map x or map y.
    exact : bool
        Only a line that lies on map x to the last digit keeps map x as local x.

    Raises
    ------
    GeometryError
        When a trace has no position in the tables.
    """
    shots = [tables.placed(shot) for shot in survey.shots]
    src, rcv = np.stack([s.src for s in shots]), np.concatenate([s.rcv for s in shots])
    fit = fit_stations(src, rcv, exact)
    dims, frame, says = settled(src, fit, ndim, line, frame)
    notes = {**survey.notes, "positions": "tables"}
    if dims == 2:
        notes["line"] = line_facts(src, rcv, fit, frame, says)
    local = [
        replace(s, src=_local(s.src[None], frame, dims)[0], rcv=_local(s.rcv, frame, dims)) for s in shots
    ]
    return replace(survey, shots=local, ndim=dims, frame=frame, notes=notes)


def _local(points: NDArray[np.float64], frame: Frame, ndim: int) -> NDArray[np.float64]:
    out = np.array(to_local(points, frame))
    if ndim == 2:
        out[:, 1] = 0.0
    return out


def header_options(section: TracesSection) -> tuple[Any, Any]:
    """Return the header bytes and the fixes of `[data]` in the form of `subsalt.io.segy`."""
    from subsalt.io.segy.headers import Fix, HeaderBytes

    header = HeaderBytes.preset(section.preset)
    fixes = section.fix.model_dump(exclude_none=True)
    fixes["trace_ids"] = tuple(section.fix.trace_ids) if section.fix.trace_ids else None
    # whole files are left out before any is opened, see `data_files`
    exclude = tuple(e for e in section.excluded() if not e.whole_file)
    fix = Fix(
        **fixes,
        dead=section.dead_traces,
        nan=section.bad_traces,
        exclude=exclude,
        duplicates=getattr(section, "duplicates", None) or "error",
        noisy=section.noisy_traces or "error",
    )
    return replace(header, **section.bytes), fix


def survey_frame(job: RtmTables) -> Frame | None:
    """Return the local frame the job gives; None leaves it to the reader."""
    section = job.data.frame if job.data else None
    if section is None:
        return None
    return Frame(section.x0, section.y0, math.radians(section.azimuth))


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
        return with_treatment(select_shots(dense, section.shots), job)
    survey = read_once(lambda: _read_survey(job, section, frame), comm or single())
    return with_treatment(survey, job)


def _read_survey(job: RtmTables, section: DataSection, frame: Frame | None) -> Survey:
    """Return the selected shots of SEG-Y or SU files, untreated."""
    from subsalt.io.segy.reading import read_survey

    header, fix = header_options(section)
    files = data_files(job)
    ndim: Any = {"3d": 3, "auto": None}.get(section.line, 2)
    frame, says = frame_given(job, frame)
    before = job.run_place == BEFORE_FRAMES
    along: Any = section.line if section.line in ("x", "y") else "project"
    columns = tuple(name for name in header_names(job) if name not in OF_POSITIONS)
    if section.geometry is not None:
        numbers = read_survey(files, *numbered_headers(header, fix), ndim=3, shot_key="ffid", columns=columns)
        tables = PositionTables(*map(job.resolve, (section.geometry.shots, section.geometry.receivers)))
        along = "project" if before else along
        survey = place(numbers, tables, ndim, frame, line=along, exact=before)
    else:
        survey = read_survey(
            files,
            header,
            fix,
            ndim=ndim,
            line=along,
            frame=frame,
            shot_key=section.shot_key,
            receivers=section.receivers,
            exact_line=before,
            columns=columns,
        )
    if isinstance(line := survey.notes.get("line"), dict) and (frame is not None or before):
        line["says"] = RUN if before else says
    return select_shots(survey, section.shots)


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


def flow_of_job(job: BaseJob, time: TimeAxis) -> Flow | None:
    """Return the steps of `[[signal]]`, or that of `[data.mute]`, on records of a time axis; None without any.

    Raises
    ------
    FindingsError
        With everything in the steps that does not fit the records.
    """
    mute = getattr(job.data, "mute", None)
    steps = job.signal or []
    if mute is not None:
        steps = [Mute(step="mute", velocity=mute.velocity, delay=mute.delay, taper=mute.taper)]
    if not steps:
        return None
    text = job.path.read_text("utf-8", "replace") if job.path is not None and job.path.is_file() else ""
    lines = [line_of(text, ["signal", place]) for place in range(len(steps))]

    def resolve(name: str, key: str) -> Path:
        return existing(job.resolve(name), f"[[signal]] {key}")

    return Flow(steps, time, resolve, short=mute is not None, lines=lines)


def header_names(job: BaseJob) -> tuple[str, ...]:
    """Return the header values that the steps of `[[signal]]` need."""
    return tuple(dict.fromkeys(name for step in job.signal or [] for name in step.needs()))


def with_treatment(survey: Survey, job: RtmTables) -> Survey:
    """Return the survey with a reader that takes its traces through the steps of the job."""
    flow = None if survey.reader is None else flow_of_job(job, survey.time)
    return survey if flow is None else treated(survey, flow)


def line_geometry(section: PrestackDataSection) -> LineGeometry | None:
    """Return the line of `[data] cdp_line`, None without one."""
    from subsalt.io.prestack.positions import LineGeometry

    line = section.cdp_line
    if line is None:
        return None
    return LineGeometry(line.spacing, line.first_cdp, (line.x0, line.y0), line.azimuth, line.offset)


def open_prestack(job: BaseJob, files: Sequence[Path], comm: Comm | None = None) -> TraceTable:
    """Return the table of the traces of `[data]`, to be taken through `[[signal]]`; their samples stay in the files.

    Parameters
    ----------
    job : BaseJob
        Its `[data]` says how the files are read.
    files : sequence of Path
        Those of the section, found.
    comm : Comm, optional
        Ranks that all want the table: each reads a part of the headers. Then this is collective.
    """
    from subsalt.io.prestack.positions import BinGeometry
    from subsalt.io.prestack.table import open_traces
    from subsalt.io.segy.geometry import first_of_repeats

    section: PrestackDataSection = job.data
    header, fix = header_options(section)
    extra = tuple(name for name in header_names(job) if name not in OF_TABLES)
    bins = None if section.bins is None else BinGeometry(section.bins.azimuth)
    table = open_traces(files, header, fix, line=line_geometry(section), bins=bins, comm=comm, extra=extra)
    table.notes["duplicates"] = section.duplicates
    if section.duplicates == "first":
        keep = first_of_repeats(table)
        table.notes["duplicates_left_out"] = len(table) - len(keep)
        table = table.take(keep)
    flow = flow_of_job(job, table.time)
    return table if flow is None else treated_table(table, flow)
