"""Coordinates of an upright plane: y of sources and receivers that holds a depth, or a height above a model's bottom.

Programs that compute in two dimensions, x and z, write z where headers have y, and offsets that are distances along x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.cures import DEEPEST, DEEPEST_SEA
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column

#: m and share of a distance that whole metres and feathers leave between offsets and distances
ROUNDED, NOMINAL = 1.5, 0.01
#: share of the traces whose offsets are not their distances where y is a depth: of stations off a line, few are
MOSTLY_BESIDE = 0.2
#: places along x at which receivers in wells stand
WELLS = 3


@dataclass(frozen=True)
class Upright:
    """Values of y at sources and receivers: lowest and highest of each, m."""

    sources: tuple[float, float]
    receivers: tuple[float, float]

    @property
    def constant(self) -> bool:
        """Whether all sources have one value, and all receivers have one."""
        return all(np.ptp(v) == 0 for v in (self.sources, self.receivers))

    @property
    def words(self) -> str:
        """Both in words."""
        one, other = (f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in (self.sources, self.receivers))
        return f"{one} m for sources and {other} m for receivers"


def upright(scanned: Sequence[ScannedFile]) -> Upright | None:
    """Return what y holds where it is no place on the map; None where it may be one.

    Offsets (byte 37) are the distances along x in all traces, though y differs; depths are missing (bytes 41, 45, 49);
    sources lie at one level, and receivers at one, at one for each x, or in wells.
    """
    live = [s for s in scanned if s.live.any()]
    if not live:
        return None
    words = ("source_depth", "source_elevation", "receiver_elevation")
    if any(column(s.values, name, s.layout.n_traces)[s.live].any() for s in live for name in words):
        return None
    said, src, rcv = (np.concatenate([getattr(s.positions, n)[s.live] for s in live]) for n in _NAMES)
    said, (dx, dy) = np.abs(said), np.abs(rcv - src)[:, :2].T
    distance = np.hypot(dx, dy)
    if np.ptp(said) == 0 or not src[:, :2].any() or not rcv[:, :2].any():
        return None
    # of offsets along a line whose stations stand off it, few are as far off as the depth of a sea floor
    if off_line(said, dx).any() or beside(said, distance).mean() < MOSTLY_BESIDE:
        return None
    # a depth or a height counts from 0, which is where lines of a local grid lie as well
    y = np.concatenate([src[:, 1], rcv[:, 1]])
    if not 0.0 < float(y.min()) <= float(y.max()) < DEEPEST_SEA or np.ptp(src[:, 1]) > DEEPEST:
        return None
    if not _on_a_plane(rcv):
        return None
    one, other = ((float(p[:, 1].min()), float(p[:, 1].max())) for p in (src, rcv))
    return Upright(one, other)


def off_line(said: NDArray[np.float64], dx: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which offsets are not the distances along x; all without sign, m."""
    return np.abs(dx - said) > 1.0 + 1e-3 * dx


def beside(said: NDArray[np.float64], distance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which offsets are not the distances, but for what rounding and feathers leave; both without sign, m."""
    return np.abs(distance - said) > ROUNDED + NOMINAL * distance


_NAMES = ("offset", "src", "rcv")


def _on_a_plane(rcv: NDArray[np.float64]) -> bool:
    """Return whether receivers have one y for each x, as on a surface, or stand in a few wells."""
    places = np.unique(np.round(rcv[:, :2], 1), axis=0)
    columns = len(np.unique(places[:, 0]))
    return columns == len(places) or columns <= WELLS


def flat() -> str:
    """Return the key that takes y away."""
    return "[data] bytes = {source_y = 0, receiver_y = 0}"


def levels(scanned: Sequence[ScannedFile], fix: Fix, z_sign: int) -> str:
    """Return the keys that read y of each trace as elevation (`z_sign` 1) or depth (-1)."""
    scalars = {
        int(v) for s in scanned for v in np.unique(column(s.values, "coordinate_scalar", s.layout.n_traces))
    }
    scalar = fix.scalar if fix.scalar is not None else (scalars.pop() if len(scalars) == 1 else 0) or 1
    return (
        "[data] bytes = {source_y = 0, receiver_y = 0, source_elevation = 77, receiver_elevation = 85}, "
        f"fix = {{elevation_scalar = {scalar}, z_sign = {z_sign}}}"
    )


def upright_findings(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield an error for a file whose y is no place on the map."""
    depths = upright([one])
    if depths is None:
        return
    down = (
        f"{flat()}, fix = {{source_depth = {depths.sources[0]:g}, receiver_depth = {depths.receivers[0]:g}}}"
        if depths.constant
        else levels([one], fix, -1)
    )
    yield Finding(
        "E381",
        "error",
        f"{one.layout.path}: {said(depths)}",
        f"if it is the depth: {down}; if it is the height above the bottom of a model: {levels([one], fix, 1)}, and "
        "the model's origin at minus its height",
        {"sources": depths.sources, "receivers": depths.receivers},
    )


def said(depths: Upright) -> str:
    """Return what is wrong, in words."""
    return (
        f"y (bytes 77, 85) is {depths.words}; offsets (byte 37) are the distances along x alone, in all traces, and "
        "the words of depths (bytes 41, 45, 49) are zero: y holds a depth or a height, no place on the map"
    )
