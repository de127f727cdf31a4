"""Prestack traces on the output grid: who lies outside, and which single mistake would explain it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import error, ok, warning
from subsalt.errors import Finding
from subsalt.io.prestack.table import TraceTable
from subsalt.methods.kirchhoff.block_reach import reach
from subsalt.methods.kirchhoff.weights import EDGE, fractional_bins, many_on_edges, on_edges

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid

Points = NDArray[np.float64]

#: midpoints that a guess is tried on
_TRIED = 20_000
#: a guess explains the midpoints when this share of them lies on the grid with it, and so much more than without
_EXPLAINS, _BETTER = 0.9, 0.25
#: a grid with less than this share of the midpoints on it, and midpoints on less than this share of it, is misplaced
_MOST, _COVERED = 0.5, 0.75
#: share of the midpoints that lie on the grid of their own numbers: all but those beside its outermost bins
_OWN = 0.9
#: cells along each side of a grid by which its cover is measured: bins may be smaller than midpoints are apart
_CELLS = 16
#: half the width of a line: share of its length, and at least so many crosslines
_WIDE = (0.1, 20)
#: powers of ten by which a wrong scalar of coordinates is off
_POWERS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001)
_FOOT = 0.3048
_PIECE = 1 << 18
#: midpoints that are looked at for edges of bins, and m of noise that coordinates in whole metres have
_EDGES, _NOISE = 100_000, 0.5
#: characters across and lines of the map; a character is about twice as high as wide
MAP_WIDTH, MAP_HEIGHT = 56, 16


def midpoint_fold(table: TraceTable, grid: ImageGrid) -> NDArray[np.int64]:
    """Return the number of midpoints in the bin around each location, (inlines, crosslines).

    Notes
    -----
    A bin reaches half way to the next location; on a 2-D line it is as wide as a crooked line needs (`_WIDE`).
    """
    ni, nj = grid.shape
    fold = np.zeros(ni * nj, np.int64)
    for lo in range(0, len(table), _PIECE):
        part = slice(lo, lo + _PIECE)
        at = _bins(0.5 * (table.src[part] + table.rcv[part]), grid)
        fold += np.bincount(at[at >= 0], minlength=ni * nj)
    return fold.reshape(ni, nj)


def _bins(points: Points, grid: ImageGrid) -> NDArray[np.int64]:
    """Return the number of the bin of each point, -1 outside."""
    ni, nj = grid.shape
    index = grid.index_of(points)
    if grid.is_line:
        across, along = grid.spacing
        wide = max(_WIDE[0] * nj, _WIDE[1]) * along / across
        i = np.where(np.abs(index[:, 0]) <= wide, 0.0, -1.0)
    else:
        i = np.floor(index[:, 0] + 0.5)
    at = np.floor(index + 0.5)
    inside = (i >= 0) & (i < ni) & (at[:, 1] >= 0) & (at[:, 1] < nj)
    return np.where(inside, i * nj + at[:, 1], -1).astype(np.int64)


def fold_facts(table: TraceTable, grid: ImageGrid) -> dict[str, Any]:
    """Return the midpoint fold of the output bins in numbers."""
    fold = midpoint_fold(table, grid)
    live = fold[fold > 0]
    return {
        "bins": int(fold.size),
        "empty_bins": int(fold.size - live.size),
        "traces_on_grid": int(fold.sum()),
        "traces_off_grid": len(table) - int(fold.sum()),
        "max": int(fold.max(initial=0)),
        "median_of_live": float(np.median(live)) if live.size else 0.0,
    }


def on_the_grid(
    table: TraceTable, grid: ImageGrid, aperture: float | None, grid_is_given: bool = True
) -> Iterator[Finding]:
    """Yield how many midpoints lie on the output, and what is wrong when they do not.

    Parameters
    ----------
    grid_is_given : bool
        The job says where the output lies or which lines it has, so that it may be a part of the survey. Else it is the
        grid of the traces, on which they lie.
    """
    fold = midpoint_fold(table, grid)
    on, n = int(fold.sum()), len(table)
    within = n if aperture is None else len(reach(table, grid.corners(), aperture))
    used = on if aperture is None else within
    middle = table.midpoint[:: max(1, n // _TRIED)]
    guess = _guess(middle, grid, table.notes.get("scalars", []))
    in_order = not guess and (on >= _MOST * n or (grid_is_given and covered(fold) >= _COVERED))
    own = not grid_is_given and not guess and on < _OWN * n
    in_order &= not own
    drawn = "" if in_order else "\n" + "\n".join(text_map(middle, grid))
    if used == 0:
        beside = "; to image beside the traces, set [kirchhoff] aperture" if aperture is None else ""
        yield error(
            "E730",
            f"all {n} traces lie outside the output: {_boxes(middle, grid)}{drawn}",
            guess or f"{_generic(grid)}; {_apart(middle, grid)}{beside}",
            traces=n,
        )
        return
    if not in_order:
        reached = "" if aperture is None else f", {within - on} more within the aperture of {aperture:g} m"
        yield warning(
            "W730",
            f"{on} of {n} midpoints lie on the output{reached}"
            + ", though it is the grid of their own numbers" * own
            + f": {_boxes(middle, grid)}{drawn}",
            guess or (_to_cover(table, grid) if own else _generic(grid)),
            on=on,
            within=within,
        )
    elif on < _MOST * n:
        far = "" if aperture is None else f", {within - on} of these within the aperture"
        yield ok(
            f"the output is a part of the survey, as [kirchhoff] asks: {on} of {n} midpoints ({on / n:.0%}) lie on the "
            f"output grid and {n - on} outside it{far}",
            on=on,
            within=within,
        )
    elif aperture is None:
        yield ok(f"{on} of {n} midpoints lie on the output grid and {n - on} outside it")
    else:
        yield ok(
            f"{on} of {n} midpoints lie on the output grid, {within - on} outside it within the aperture, and "
            f"{n - within} beyond the aperture"
        )
    yield from edges_of_bins(table, grid)
    empty = int((fold == 0).sum())
    if on and empty == 0:
        yield ok(f"fold {int(fold.min())} to {int(fold.max())}, every bin has a midpoint")
    elif on:
        yield ok(f"fold up to {int(fold.max())}; {empty} of {fold.size} bins have no midpoint")


def text_map(points: Points, grid: ImageGrid) -> list[str]:
    """Return lines with north up: ``.`` midpoints, ``#`` outline of the output, ``A`` its first corner.

    Parameters
    ----------
    points : ndarray, (n, 2)
        Midpoints, m.
    grid : ImageGrid
        The output.
    """
    corners = grid.corners()
    both = np.concatenate([points, corners])
    low, high = both.min(axis=0), both.max(axis=0)
    # one scale for x and y, so that a turned grid looks turned
    metres = max((high[0] - low[0]) / (MAP_WIDTH - 1), (high[1] - low[1]) / (2 * (MAP_HEIGHT - 1)), 1e-3)
    columns = int((high[0] - low[0]) / metres + 0.5) + 1
    rows = int((high[1] - low[1]) / (2 * metres) + 0.5) + 1
    drawn = np.full((rows, columns), " ")

    def put(p: Points, sign: str) -> None:
        x = np.clip(((p[:, 0] - low[0]) / metres + 0.5).astype(int), 0, columns - 1)
        y = np.clip(((high[1] - p[:, 1]) / (2 * metres) + 0.5).astype(int), 0, rows - 1)
        drawn[y, x] = sign

    put(points, ".")
    share = np.linspace(0.0, 1.0, 4 * MAP_WIDTH)[:, None]
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        put(a + share * (b - a), "#")
    put(corners[:1], "A")
    frame = "+" + "-" * columns + "+"
    return [
        f"north up, {metres:.3g} m a character: . midpoints, # output, A its first inline and crossline",
        frame,
        *("|" + "".join(row) + "|" for row in drawn),
        frame,
        f"x {low[0]:.0f} to {high[0]:.0f} m, y {low[1]:.0f} to {high[1]:.0f} m",
    ]


def edges_of_bins(table: TraceTable, grid: ImageGrid) -> Iterator[Finding]:
    """Yield midpoints on the edges of bins that noise of their coordinates puts on either side by chance."""
    middle = table.midpoint[:: max(1, len(table.midpoint) // _EDGES)]
    axes = [("crossline", 1)] if grid.is_line else [("inline", 0), ("crossline", 1)]
    for name, axis in axes:
        at, spacing = fractional_bins(middle, grid)[axis], grid.numbered_spacing[axis]
        close, near = min(EDGE / spacing, 0.25), min(_NOISE / spacing, 0.25)
        below, above = on_edges(at, near)
        # what is as close as centimetres is taken to the edge it was meant for
        snapped = sum(on_edges(at, close)) > 0.9 * (below + above)
        if snapped or min(below, above) < 0.05 or not many_on_edges(below, above, near):
            continue
        yield warning(
            "W315",
            f"{below:.0%} of the midpoints lie up to {_NOISE:g} m below an edge between {name} bins and {above:.0%} "
            "as near above one: noise puts neighbours into one bin and leaves others empty; amplitudes are off by some "
            "per cent",
            '[kirchhoff] weighting = "uniform"; or move the bins by half of one: '
            f"{0.5 * spacing:.5g} m along the {name} numbers",
            below=below,
            above=above,
        )


def covered(fold: NDArray[np.int64]) -> float:
    """Return the share of a grid that has midpoints, by cells of at most a sixteenth of each side."""
    for axis in (0, 1):
        n = fold.shape[axis]
        starts = np.unique(np.linspace(0, n, min(_CELLS, n), endpoint=False).astype(int))
        fold = np.add.reduceat(fold, starts, axis=axis)
    return float(np.mean(fold > 0))


def numbers_agree(table: TraceTable, grid: ImageGrid) -> Iterator[Finding]:
    """Yield a warning when the headers number the bins otherwise than the output grid does."""
    if table.notes.get("reversed"):
        # whether these numbers belong to the traces or to the places, nobody knows
        return
    if grid.is_line:
        named = [("CDP", "byte 21", table.cdp if table.cdp.any() else None, 1)]
    else:
        named = [("inline", "byte 189", table.inline, 0), ("crossline", "byte 193", table.crossline, 1)]
    some = slice(None, None, max(1, len(table) // _TRIED))
    middle = 0.5 * (table.src[some] + table.rcv[some])
    middle = middle[on := _bins(middle, grid) >= 0]
    at = grid.index_of(middle)
    for name, byte, numbers, axis in named:
        if numbers is None or not on.any():
            continue
        first, _, step = (grid.inlines, grid.crosslines)[axis]
        there = first + step * at[:, axis]
        said = numbers[some][on]
        # half a bin for the midpoint, half for numbers that were rounded another way, and as much again
        wrong = np.abs(said - there) > 2.0 * abs(step)
        if wrong.mean() > 0.5:
            i = int(np.argmax(wrong))
            yield warning(
                "W731",
                f"headers have {name} {said[i]} ({byte}) at map {middle[i, 0]:.0f}, {middle[i, 1]:.0f}, where the "
                f"output grid has {there[i]:.0f}; so in {wrong.mean():.0%} of the traces on it",
                "if both should be the same: correct the corners, or azimuth and spacing, of [kirchhoff]",
                share=float(wrong.mean()),
            )
            return


def _boxes(points: Points, grid: ImageGrid) -> str:
    """Return where midpoints and grid lie, in words."""

    def box(p: Points) -> str:
        (x0, y0), (x1, y1) = p.min(axis=0), p.max(axis=0)
        return f"x {x0:.0f} to {x1:.0f}, y {y0:.0f} to {y1:.0f} m"

    return f"midpoints {box(points)}; output {box(grid.corners())}"


def _apart(points: Points, grid: ImageGrid) -> str:
    """Return how far the middle of the midpoints lies from that of the output, in words."""
    (px, py), (gx, gy) = ((p.min(axis=0) + p.max(axis=0)) / 2 for p in (points, grid.corners()))
    return f"the middle of the midpoints lies {px - gx:+.0f}, {py - gy:+.0f} m (x, y) from that of the output"


def _generic(grid: ImageGrid) -> str:
    if grid.is_line:
        return "give the crosslines (CDPs) of the line and where they lie, or leave the grid out: it is then found"
    return "give the corners of the grid in the coordinates of the traces, or leave them out to take the traces' own"


def _to_cover(table: TraceTable, grid: ImageGrid) -> str:
    """Return the cure of numbers that are not those of the midpoints: a grid of the same bins that holds them all."""
    at = grid.index_of(table.midpoint)
    low, high = np.floor(at.min(axis=0)).astype(int), np.ceil(at.max(axis=0)).astype(int)
    if grid.is_line:
        low[0] = high[0] = 0
    ranges, moved = [], np.asarray(grid.corner, float)
    for (first, _, step), a, b, per in zip(
        (grid.inlines, grid.crosslines), low, high, (grid.per_inline, grid.per_crossline), strict=True
    ):
        ranges.append((int(first + step * a), int(first + step * b), step))
        moved = moved + a * step * np.asarray(per)
    whole = replace(grid, inlines=ranges[0], crosslines=ranges[1], corner=(float(moved[0]), float(moved[1])))
    return (
        "see which of numbers, bins (bytes 181, 185) and coordinates is wrong; if the coordinates are right: "
        f"[kirchhoff] {_as_corners(whole)}"
    )


def _share(points: Points, grid: ImageGrid) -> float:
    return float(np.mean(_bins(points, grid) >= 0))


def _guess(points: Points, grid: ImageGrid, scalars: list[int]) -> str:
    """Return the cure of the single mistake that brings the midpoints onto the grid; else an empty text."""
    now = _share(points, grid)
    best, cure = max(_EXPLAINS, now + _BETTER), ""
    if best > 1.0:
        return ""
    for share, text in _mistakes(points, grid, scalars):
        if share > best + 1e-9 or (not cure and share >= best):
            best, cure = share, f"{text}: {share:.0%} of the midpoints would lie on the output"
    return cure


def _mistakes(points: Points, grid: ImageGrid, scalars: list[int]) -> Iterator[tuple[float, str]]:
    """Yield (share of midpoints on the grid, what to change), the likely mistakes first."""
    yield (
        _share(points[:, ::-1], grid),
        "x and y are exchanged in the corners of [kirchhoff], or in the headers: [data.fix] swap_xy = true",
    )
    moved = replace(grid, corner=grid.corner[::-1])
    yield _share(points, moved), f"x and y of the origin are exchanged, {_as_corners(moved)}"
    if not grid.is_line:
        other = _turned(grid, *grid.axes()[::-1])
        yield _share(points, other), f"inlines and crosslines are exchanged, {_as_corners(other)}"
    for azimuth, mirrored, text in _turns(grid):
        other = _turned(grid, *_axes_of(azimuth, mirrored))
        yield _share(points, other), f"{text}, {_as_corners(other)}"
    extent = np.ptp(grid.corners(), axis=0).max()
    cures = {factor: _scalar_cure(factor, scalars) for factor in _POWERS}
    cures[_FOOT] = 'coordinates are in feet: [data.fix] unit = "ft"'
    cures[1 / _FOOT] = 'coordinates are in metres already: [data.fix] unit = "m"'
    for factor, text in cures.items():
        scaled = points * factor
        # a factor small enough brings anything near an origin: with the right one the survey has the size of the grid
        if np.ptp(scaled, axis=0).max() > 0.2 * extent:
            yield _share(scaled, grid), text


def _scalar_cure(factor: float, scalars: list[int]) -> str:
    """Return the scalar with which coordinates are `factor` times what they are."""
    much = f"coordinates are {max(factor, 1 / factor):g} times too {'small' if factor > 1 else 'large'}"
    if len(scalars) != 1:
        return f"{much}: [data.fix] scalar = ... (byte 71)"
    now = scalars[0]
    right = factor * (1.0 / -now if now < 0 else float(now or 1))
    value = round(right) if right >= 1 else -round(1 / right)
    return f"{much}: [data.fix] scalar = {value} (byte 71 is {now})"


def _as_corners(grid: ImageGrid) -> str:
    """Return three corners of a grid as the key to set."""
    (i0, i1), (j0, j1) = grid.inlines[:2], grid.crosslines[:2]
    first, far_i, _, far_j = (f"{x:.10g}, {y:.10g}" for x, y in np.round(grid.corners(), 2) + 0.0)
    named = [f"[{i0}, {j0}, {first}]", f"[{i0}, {j1}, {far_j}]"] + [f"[{i1}, {j0}, {far_i}]"] * (i0 != i1)
    return f"corners = [{', '.join(named)}]"


def _axes_of(azimuth: float, mirrored: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return unit vectors of inlines and crosslines when crosslines grow along `azimuth`, degrees from map y."""
    a = math.radians(azimuth)
    side = -1.0 if mirrored else 1.0
    return (side * math.cos(a), -side * math.sin(a)), (math.sin(a), math.cos(a))


def _turned(grid: ImageGrid, u: tuple[float, float], v: tuple[float, float]) -> ImageGrid:
    """Return the grid about its first corner with other directions of inlines and crosslines."""
    (il, xl), (si, sj) = (
        grid.numbered_spacing,
        (math.copysign(1, grid.inlines[2]), math.copysign(1, grid.crosslines[2])),
    )
    return replace(
        grid,
        per_inline=(si * il * u[0], si * il * u[1]),
        per_crossline=(sj * xl * v[0], sj * xl * v[1]),
    )


def _turns(grid: ImageGrid) -> Iterator[tuple[float, bool, str]]:
    """Yield other azimuths of the grid, and whether its inlines grow to the other side."""
    u, v = grid.axes()
    azimuth = math.degrees(math.atan2(v[0], v[1])) % 360
    mirrored = u[0] * v[1] - u[1] * v[0] < 0
    others = [azimuth, 90 - azimuth, -azimuth, azimuth + 90, azimuth - 90, azimuth + 180]
    for side in (mirrored, not mirrored):
        for other in others:
            turned = other % 360
            if side == mirrored and abs(turned - azimuth) < 1e-6:
                continue
            words = []
            if abs(turned - azimuth) >= 1e-6:
                counted = ", counted from map y (north)" if abs(other - (90 - azimuth)) < 1e-9 else ""
                words.append(
                    f"the grid is turned: azimuth {turned:.4g} degrees instead of {azimuth:.4g}{counted}"
                )
            if side != mirrored:
                words.append(
                    "its inlines grow to the other side: the first number of spacing with the other sign"
                )
            yield other, side, "; ".join(words)
