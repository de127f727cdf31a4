"""The image grid of a job and the traces of a location: what `[kirchhoff]` says, or the data where it is silent."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, Lines
from subsalt.acquisition.line import LINE_WIDTH, LineFit, bent, fit_line
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.memory import require
from subsalt.errors import ConfigError, GeometryError
from subsalt.methods.kirchhoff import placing
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.placing import Placement
from subsalt.methods.kirchhoff.sections import KirchhoffSection

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.sections import LinesSection, TimesSection


#: part of a sample by which the last time may miss the time axis: texts in ms are not exact in s
ON_AXIS = 1e-3


#: CDPs of a line without numbers: finer ones are noise of the positions
LEAST_SPACING = 1.0


def is_line(table: TraceTable) -> bool:
    """Return whether the traces are those of a 2-D line: midpoints in a strip that is long and narrow."""
    if table.line is not None:
        return True
    fit = fit_line(table.midpoint)
    return fit.width <= LINE_WIDTH * fit.length


#: samples of the image to one of the records, at most
FINEST = 100


#: bytes that a location of the image takes before anything is imaged
PLACE_BYTES = 100


def image_grid(section: KirchhoffSection, table: TraceTable) -> ImageGrid:
    """Return the image grid of a job.

    Raises
    ------
    ConfigError
        When corner points, ranges or times are wrong (E760, E761, E765).
    GeometryError
        When the job does not say the grid and the traces do not either (E766).
    """
    placed, inlines, crosslines = place(section, table)
    grid = ImageGrid(
        inlines,
        crosslines,
        placed.position(inlines[0], crosslines[0]),
        placed.per_inline,
        placed.per_crossline,
        time_axis(section.time, table.time),
    )
    # positions and numbers of locations, and what rules and plan make of them
    ni, nj = grid.shape
    cure = "image fewer lines, or correct their numbers"
    require(PLACE_BYTES * grid.size, f"the image grid of {ni} x {nj} locations", cure)
    return grid


def place(section: KirchhoffSection, table: TraceTable) -> tuple[Placement, Lines, Lines]:
    """Return where line numbers lie on the map, and the ranges of the output."""
    inline, crossline = _lines(section.inline), _lines(section.crossline)
    if section.corners is not None:
        placed = placing.from_corners(section.corners)
        numbers = np.array([p[:2] for p in section.corners])
        return placed, inline or _span(numbers[:, 0]), crossline or _span(numbers[:, 1])
    if section.origin is not None:
        assert inline is not None
        assert crossline is not None
        assert section.azimuth is not None
        assert section.spacing is not None
        first = inline[0], crossline[0]
        return (
            placing.from_azimuth(first, section.origin, section.azimuth, section.spacing),
            inline,
            crossline,
        )
    return _of_traces(section, table, inline, crossline)


def _of_traces(
    section: KirchhoffSection, table: TraceTable, inline: Lines | None, crossline: Lines | None
) -> tuple[Placement, Lines, Lines]:
    """Return the grid that the traces have themselves."""
    if is_line(table):
        placed, cdps = _line_of(table)
        # a line has one inline, whatever it is called
        only = inline or (1, 1, 1)
        placed = replace(placed, at=(only[0], placed.at[1]))
        return placed, only, crossline or cdps
    il, xl = getattr(table, "inline", None), getattr(table, "crossline", None)
    if il is None or xl is None or il.min() == il.max() or xl.min() == xl.max():
        raise _unknown(table, "their headers have no inline and crossline numbers (bytes 189, 193)")
    x, y = getattr(table, "bin_x", None), getattr(table, "bin_y", None)
    if x is None or y is None:
        points, what = table.midpoint, "midpoints"
    else:
        points, what = np.stack([x, y], axis=-1), "bins (bytes 181, 185)"
    placed = placing.from_numbers(il, xl, points, what)
    return placed, inline or _steps(il), crossline or _steps(xl)


def _line_of(table: TraceTable) -> tuple[Placement, Lines]:
    """Return the CDPs of a 2-D line."""
    cdp, line = table.cdp, table.line
    if line is not None:
        cdps = _steps(cdp)
        (corner,) = line.position(np.array([cdps[0]]))
        per = (float(line.per_cdp[0]), float(line.per_cdp[1]))
        corner_ = (float(corner[0]), float(corner[1]))
        return Placement((1, cdps[0]), corner_, placing.beside(per), per, 0.0, "[data] cdp_line"), cdps
    if cdp.min() != cdp.max():
        try:
            placed = placing.from_numbers(np.ones_like(cdp), cdp, table.midpoint, "midpoints of CDPs")
            return replace(placed, at=(1, placed.at[1])), _steps(cdp)
        except GeometryError:
            # numbers of another kind: the positions alone decide
            pass
    return _numbered_line(table)


def _numbered_line(table: TraceTable) -> tuple[Placement, Lines]:
    """Return CDPs 1, 2, ... along the best line through the midpoints, as far apart as these are."""
    fit = fit_line(table.midpoint)
    m = table.midpoint
    x = np.unique(np.round(fit.frame.to_local(np.column_stack([m, np.zeros(len(m))]))[:, 0], 2))
    gaps = np.diff(x)
    gaps = gaps[gaps > 0.1]
    spacing = round(float(np.median(gaps)), 2) if len(gaps) else 0.0
    if spacing < LEAST_SPACING:
        raise _unknown(table, "a line whose CDP numbers (byte 21) do not go with its midpoints")
    start = fit.frame.to_world(np.array([[x[0], 0.0, 0.0], [x[0] + spacing, 0.0, 0.0]]))
    corner = (round(float(start[0, 0]), placing.DECIMALS), round(float(start[0, 1]), placing.DECIMALS))
    per = tuple(round(float(v), placing.DECIMALS) for v in start[1, :2] - start[0, :2])
    count = 1 + round(float(x[-1] - x[0]) / spacing)
    across = (per[0], per[1])
    how = f"midpoints {spacing:g} m apart, numbered from 1"
    return Placement((1, 1), corner, placing.beside(across), across, fit.misfit_rms, how), (1, count, 1)


def bent_line(table: TraceTable) -> LineFit | None:
    """Return the best line of the midpoints of a 2-D line with bends; None of straight ones and of areas."""
    return None if bent(np.concatenate([table.src, table.rcv])) is None else fit_line(table.midpoint)


def along_line(fit: LineFit, size: float) -> list[list[float]]:
    """Return corner points of a line with bins so long, m: CDPs from 1 on, and map positions."""
    n = 1 + math.ceil(fit.length / size)
    ends = fit.frame.to_world(np.array([[fit.low, 0.0, 0.0], [fit.low + (n - 1) * size, 0.0, 0.0]]))[:, :2]
    return [[1, cdp, *(round(float(v), 2) for v in p)] for cdp, p in zip((1, n), ends, strict=True)]


def _unknown(table: TraceTable, why: str) -> GeometryError:
    """Return the error for traces that do not say their grid, with one that would hold them."""
    low, high = table.midpoint.min(axis=0), table.midpoint.max(axis=0)
    size = 25.0
    if (fit := bent_line(table)) is not None:
        return GeometryError(
            f"nothing says the output line: {why}; stations stand along a crooked line, with midpoints up to "
            f"{fit.misfit_max:.4g} m beside the straight one of {fit.length:.5g} m",
            f"to image it on that one: [kirchhoff] corners = {along_line(fit, size)}; or give corners of a straight "
            "part",
            code="E766",
        )
    x, y = (size * math.floor(v / size) for v in low)
    nx, ny = (1 + math.ceil((v - o) / size) for v, o in zip(high, (x, y), strict=True))
    return GeometryError(
        f"nothing says the output grid: {why}; midpoints lie in x {low[0]:.0f} to {high[0]:.0f}, "
        f"y {low[1]:.0f} to {high[1]:.0f} m",
        f"add [kirchhoff] inline = {{first = 1, last = {nx}}}, crossline = {{first = 1, last = {ny}}}, "
        f"origin = [{x:.0f}, {y:.0f}], azimuth = 0, spacing = [{size:g}, {size:g}], or the corners of your grid",
        code="E766",
    )


def _seconds(section: TimesSection, record: TimeAxis) -> str:
    """Return the cure of times that were written in milliseconds; empty where that does not correct them."""
    given = {k: getattr(section, k) for k in ("first", "last", "step") if getattr(section, k) is not None}
    if not 0 < 1e-3 * section.first < record.duration:
        return ""
    times = ", ".join(f"{k} = {1e-3 * v:g}" for k, v in given.items())
    return f"if these are milliseconds: [kirchhoff] time = {{{times}}}; else "


def time_axis(section: TimesSection, record: TimeAxis) -> TimeAxis:
    """Return the time axis of the image.

    Parameters
    ----------
    section : TimesSection
        First and last time and step, as far as they are given.
    record : TimeAxis
        Time axis of the traces.
    """
    step = record.dt if section.step is None else section.step
    if step * FINEST < record.dt:
        raise ConfigError(
            f"time step = {step:g} s is shorter than 1/{FINEST} of that of the records, {record.dt:g} s",
            f"leave it out, or use at least {record.dt / FINEST:g}",
            code="E761",
        )
    first, last = section.first, record.duration if section.last is None else section.last
    if step <= 0:
        raise ConfigError(f"time step = {step:g} s leads nowhere", "give seconds above 0", code="E761")
    if first < 0 or first > record.duration:
        raise ConfigError(
            f"the image begins at {first:g} s, the records end at {record.duration:g} s"
            if first > 0
            else f"the image begins at {first:g} s, before time zero",
            _seconds(section, record)
            + f"[kirchhoff] time = {{first = 0, last = {record.duration:g}}}; times are in seconds, or texts such as "
            '"4000 ms"',
            code="E765",
        )
    steps = (last - first) / step
    whole = round(steps)
    if steps < 0 or (section.last is not None and abs(steps - whole) > ON_AXIS):
        raise ConfigError(
            f"times {first:g} to {last:g} s in steps of {step:g} s: the last one is never reached",
            f"use last = {first + math.floor(max(steps, 0)) * step:.6g}, or a step that divides {last - first:g} s",
            code="E761",
        )
    n = whole if abs(steps - whole) <= ON_AXIS else math.floor(steps)
    return TimeAxis(n + 1, step, first)


def _lines(section: LinesSection | None) -> Lines | None:
    return None if section is None else (section.first, section.last, section.step)


def _span(numbers: NDArray[np.int64]) -> Lines:
    return int(numbers.min()), int(numbers.max()), 1


def _steps(numbers: NDArray[np.int32]) -> Lines:
    """Return first, last and the largest step that reaches every number that occurs."""
    present = np.unique(numbers).astype(np.int64)
    step = math.gcd(*(int(d) for d in np.diff(present))) if len(present) > 1 else 1
    return int(present[0]), int(present[-1]), max(1, step)


def classes(section: KirchhoffSection, table: TraceTable) -> Classes:
    """Return the image traces of a location: one, or one per offset class and azimuth sector.

    They are those of `[kirchhoff]` gathers, offset, sectors and first_azimuth.

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
    nominal = section.offset
    made = Classes.offset(nominal.first, nominal.last, nominal.step, *sectors)
    # one image of a range of offsets: the classes say which, and how they are balanced
    return made if section.gathers == "offset" else replace(made, kind="image")
