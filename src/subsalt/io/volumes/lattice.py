"""The regular lattice of a volume's traces: line numbers, spacing, rotation, from integer header values.

Sums are exact (integers), so that the same file gives the same grid on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame
from subsalt.errors import Finding, ModelError
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import column, lengths
from subsalt.io.segy.headers import FileLayout, apply_scalar, wide


@dataclass
class Lattice:
    """Where the traces of a volume lie.

    Parameters
    ----------
    shape : tuple of int
        Inlines, crosslines.
    order : ndarray, (n traces,), int64
        Trace numbers by inline, then crossline.
    spacing : tuple of float or None
        Distances between inlines and between crosslines, m; None where coordinates do not tell.
    origin : tuple of float
        Local coordinates of the first trace.
    lines : tuple of int
        First inline, step, first crossline, step.
    misfit : float, optional
        How far a trace lies beside the lattice, at most, m; None without coordinates.
    """

    shape: tuple[int, int]
    order: NDArray[np.int64]
    spacing: tuple[float | None, float | None]
    origin: tuple[float, float]
    frame: Frame
    lines: tuple[int, int, int, int]
    findings: list[Finding] = field(default_factory=list)
    misfit: float | None = None


def fit_lattice(
    values: dict[str, NDArray], lay: FileLayout, fix: Fix, length: float, spacing_known: bool = False
) -> Lattice:
    """Return the lattice of a file's traces.

    Parameters
    ----------
    values : dict of ndarray
        Header values of all traces.
    length : float
        Metres per unit of length of the file.
    spacing_known : bool
        The caller has the spacing: coordinates that are no regular grid are then left alone, with a warning.

    Raises
    ------
    ModelError
        When the traces do not fill a rectangle of lines, or coordinates are not a rotated rectangle.
    """
    n = lay.n_traces
    inline, crossline = _numbers(values, n)
    il, i = np.unique(inline, return_inverse=True)
    xl, j = np.unique(crossline, return_inverse=True)
    ni, nj = len(il), len(xl)
    if ni * nj != n:
        raise ModelError(
            f"{lay.path}: {ni} inlines x {nj} crosslines make {ni * nj} places for {n} traces",
            "write complete lines, or say where the numbers lie: [data.bytes] inline = ..., crossline = ...",
            code="E227",
        )
    order = np.argsort(i.reshape(-1) * np.int64(nj) + j.reshape(-1), kind="stable").astype(np.int64)
    if len(np.unique(i.reshape(-1) * np.int64(nj) + j.reshape(-1))) != n:
        raise ModelError(
            f"{lay.path}: several traces share one inline and crossline", "remove doubles", code="E227"
        )
    steps = [np.unique(np.diff(v)) for v in (il, xl)]
    for name, s in zip(("inline", "crossline"), steps, strict=True):
        if len(s) > 1:
            raise ModelError(
                f"{lay.path}: {name} numbers step by {', '.join(str(int(v)) for v in s[:5])}; lines are "
                "missing",
                "fill the gaps first",
                code="E227",
            )
    lines = (int(il[0]), int(steps[0][0]) if ni > 1 else 1, int(xl[0]), int(steps[1][0]) if nj > 1 else 1)
    lattice = Lattice((ni, nj), order, (None, None), (0.0, 0.0), Frame(), lines)
    try:
        _place(lattice, values, lay, fix, length)
    except ModelError as e:
        if not spacing_known:
            raise
        lattice.findings.append(Finding("W236", "warning", f"{e.message}; the given spacing is used", e.fix))
    return lattice


def _numbers(values: dict[str, NDArray], n: int) -> tuple[NDArray, NDArray]:
    """Return inline and crossline numbers; one line by CDP or trace number where there are none."""
    inline, crossline = column(values, "inline", n), column(values, "crossline", n)
    if len(np.unique(inline)) * len(np.unique(crossline)) >= n:
        return inline, crossline
    cdp = column(values, "cdp", n)
    zeros = np.zeros(n, np.int64)
    if len(np.unique(cdp)) == n:
        return zeros, cdp
    if np.ptp(inline) or np.ptp(crossline):
        return inline, crossline
    return zeros, np.arange(1, n + 1)


def _slope(x: NDArray[np.int64], axis: int) -> float:
    """Return the least-squares slope of integers x (ni, nj) along an axis: 6 S / (m n (n^2 - 1)), S exact."""
    n, m = x.shape[axis], x.shape[1 - axis]
    sums = x.sum(axis=1 - axis, dtype=np.int64)
    s = sum((2 * k - (n - 1)) * int(v) for k, v in enumerate(sums))
    return 6 * s / (m * n * (n * n - 1)) if n > 1 else 0.0


def _place(lattice: Lattice, values: dict[str, NDArray], lay: FileLayout, fix: Fix, length: float) -> None:
    """Set spacing, origin and frame from the coordinates, when there are any."""
    n = lay.n_traces
    pairs = ("cdp_x", "cdp_y"), ("source_x", "source_y")
    if any(wide(k) in values for names in pairs for k in names):
        # of 64 bits: as whole millimetres, like those of headers
        said = column(values, "coordinate_scalar", n) if fix.scalar is None else np.int32(fix.scalar)
        exact = {k: np.rint(1000.0 * lengths(values, k, said, n)) for names in pairs for k in names}
        values, fix = {**values, **exact}, replace(fix, scalar=-1000)
    for names in pairs:
        x, y = (column(values, k, n)[lattice.order].astype(np.int64).reshape(lattice.shape) for k in names)
        if n > 1 and (np.ptp(x) or np.ptp(y)):
            break
    else:
        return
    if fix.swap_xy:
        x, y = y, x
    scalars = (
        np.unique(column(values, "coordinate_scalar", n)) if fix.scalar is None else np.array([fix.scalar])
    )
    if len(scalars) > 1:
        raise ModelError(
            f"{lay.path}: coordinate scalars (byte 71) vary: {', '.join(map(str, scalars[:5]))}",
            "say which is right: [data.fix] scalar = ...",
            code="E228",
        )
    s = int(scalars[0])
    unit = length * (1.0 / -s if s < 0 else float(s or 1))
    dx, dy = x - x[0, 0], y - y[0, 0]
    x0, y0 = (float(apply_scalar(v[0, 0], s)) * length for v in (x, y))
    ni, nj = lattice.shape
    a, b = (_slope(dx, 0), _slope(dy, 0)), (_slope(dx, 1), _slope(dy, 1))
    i, j = np.arange(ni)[:, None], np.arange(nj)[None, :]
    misfit = max(float(np.abs(dx - a[0] * i - b[0] * j).max()), float(np.abs(dy - a[1] * i - b[1] * j).max()))
    ha, hb = math.hypot(*a), math.hypot(*b)
    least = min((h for h, k in ((ha, ni), (hb, nj)) if k > 1), default=0.0)
    if least == 0.0 or misfit > max(2.0, 0.02 * least):
        raise ModelError(
            f"{lay.path}: coordinates leave the regular grid of its lines by up to {misfit * unit:,.2f} m "
            f"(spacing {ha * unit:,.2f} and {hb * unit:,.2f} m)",
            "resample to a regular grid, or give the spacing: spacing = [...]",
            code="E228",
        )
    across = abs(a[0] * b[0] + a[1] * b[1])
    if ni > 1 and nj > 1 and across > 0.01 * ha * hb:
        raise ModelError(
            f"{lay.path}: inlines and crosslines are not perpendicular (cosine {across / (ha * hb):.3f})",
            "resample to a rectangular grid",
            code="E228",
        )
    flip = ni > 1 and nj > 1 and a[0] * b[1] - a[1] * b[0] < 0
    # x runs over inlines; a single inline is a line along its crosslines
    main = a if ni > 1 else b
    azimuth = round(math.atan2(main[1], main[0]), 9)
    extent = max(ha * (ni - 1), hb * (nj - 1))
    # an angle that moves no trace by more than the coordinates resolve is none
    if abs(azimuth) * extent <= 1.0:
        azimuth = 0.0
    if azimuth == 0.0 and not flip:
        lattice.origin = (x0, y0 if ni > 1 and nj > 1 else 0.0)
        lattice.frame = Frame() if ni > 1 and nj > 1 else Frame(0.0, y0)
    else:
        lattice.frame = Frame(x0, y0, azimuth, flip)
    lattice.misfit = misfit * unit
    lattice.spacing = (_round(ha, ni, unit), _round(hb, nj, unit))


def _round(step: float, n: int, unit: float) -> float | None:
    """Return a spacing in metres with the fewest decimals that the coordinates' resolution allows."""
    if n < 2:
        return None
    exact = step * unit
    for digits in range(7):
        value = round(exact, digits)
        if value > 0 and abs(value - exact) * (n - 1) <= unit:
            return value
    return exact
