"""Header bytes, fixes, positions and steps on traces, as `[data]` and `[[signal]]` of any method ask for them.

Geometry may come from separate files (SPS, P1/90, P1/11, CSV), for traces whose headers do not hold it: they are
joined by the numbers of shots and channels.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import ConfigError
from subsalt.job.csv_tables import read_table, table_names
from subsalt.job.data_sections import header_words
from subsalt.job.errors import line_of
from subsalt.job.inputs import existing, expand_files
from subsalt.job.signal.first_break_edge import BreakEdge, asks, measured
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.mute import Mute

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.io.geometry.join import SurveyGeometry
    from subsalt.job.base import BaseJob
    from subsalt.job.data_sections import TracesSection
    from subsalt.job.signal.step import Step


def open_geometry(job: BaseJob) -> SurveyGeometry | None:
    """Return the positions of `[data.geometry]`; None without it."""
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
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.headers import HeaderBytes
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


def flow_of_job(job: BaseJob, time: TimeAxis, edge: Callable[[], BreakEdge] | None = None) -> Flow | None:
    """Return the steps of `[[signal]]`, or that of `[data.mute]`, on records of a time axis; None without any.

    Parameters
    ----------
    edge : callable, optional
        Measures the edge behind the first breaks, for a mute that asks for it.

    Raises
    ------
    FindingsError
        With all mismatches between steps and records.
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
