"""Rules on where a velocity is known: to the end of the image in time, over its map, and within its aperture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.line_numbers import numbers_of, positions_of
from subsalt.check.context import ok, warning
from subsalt.errors import Finding
from subsalt.methods.kirchhoff.velocity.facts import coarse, spread_positions
from subsalt.methods.kirchhoff.velocity.fields import Constant, Field, Profile
from subsalt.methods.kirchhoff.velocity.functions import Functions
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
from subsalt.methods.kirchhoff.velocity.volume import VolumeField

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

#: time over which a change of rms velocity is judged, s
JUDGED = 0.1
#: functions that are looked at
MOST_FUNCTIONS = 2000


def given(field: Field) -> Field:
    """Return the field that a velocity is made of, without factor and average."""
    inner = getattr(field, "field", None)
    return field if inner is None else given(inner)


def places(base: Field, grid: ImageGrid) -> tuple[NDArray[np.float64], Callable[[int], str]]:
    """Return map positions at which a velocity is judged, and a function that names them."""
    if isinstance(base, Constant | Profile):
        return grid.positions()[:1], lambda i: "everywhere"
    if isinstance(base, Functions):
        points = positions_of(grid, base.places[:: -(-len(base.places) // MOST_FUNCTIONS)])
    else:
        points = spread_positions(grid)

    def name(i: int) -> str:
        inline, crossline = numbers_of(grid, points[i : i + 1])[0]
        return (
            f"crossline {crossline:.6g}"
            if grid.is_line
            else f"inline {inline:.6g}, crossline {crossline:.6g}"
        )

    return points, name


def things(base: Field) -> str:
    """Return what a velocity is made of, in words."""
    return "traces" if isinstance(base, VolumeField) else "functions"


def reach_in_time(velocity: FieldVelocity, grid: ImageGrid) -> Iterator[Finding]:
    """Say that functions end before the image does."""
    base, last = given(velocity.v), grid.time.duration
    ends = _ends(base)
    if ends is None or ends.min() >= last - 0.5 * grid.time.dt:
        return
    short = int(np.count_nonzero(ends < last - 0.5 * grid.time.dt))
    who = f"{short} of {ends.size} functions end" if ends.size > 1 else "the function ends"
    yield ok(
        f"velocity of {base.source}: {who} before the image does, at {ends.min():.4g} s of {last:.4g} s; "
        "the last velocity goes on",
        first_end=float(ends.min()),
        image_end=last,
    )


def _ends(base: Field) -> NDArray[np.float64] | None:
    """Return where functions end, s."""
    if isinstance(base, Functions):
        return np.array([t[-1] for t in base.times])
    if isinstance(base, Profile | VolumeField):
        return base.times[-1:]
    return None


def reach_on_map(velocity: FieldVelocity, grid: ImageGrid) -> Iterator[Finding]:
    """Say how far the image goes beyond the places of the velocity."""
    base = given(velocity.v)
    corners = grid.corners()
    if isinstance(base, Functions):
        at, low, high = numbers_of(grid, corners), base.places.min(axis=0), base.places.max(axis=0)
        several = [len(np.unique(base.places[:, k])) > 1 for k in (0, 1)]
    elif isinstance(base, VolumeField):
        at, low = base.index_of(corners), np.zeros(2)
        high = np.array(base.volume.shape[:2]) - 1.0
        several = [n > 1 for n in base.volume.shape[:2]]
    else:
        return
    text = _ranges(base, grid)
    axes = [k for k in (0, 1) if several[k]]
    if any(at[:, k].max() < low[k] - 0.5 or at[:, k].min() > high[k] + 0.5 for k in axes):
        yield warning(
            "W744",
            f"{base.source}: its velocities lie outside the image: {text}",
            "check the line numbers or coordinates"
            + (
                ', or place it by the other: locate = "numbers" or "map"'
                if isinstance(base, VolumeField)
                else " of the functions"
            ),
        )
    elif any(at[:, k].min() < low[k] - 0.5 or at[:, k].max() > high[k] + 0.5 for k in axes):
        yield ok(f"{base.source}: the image goes beyond the velocities, whose nearest ones go on: {text}")


def _ranges(base: Field, grid: ImageGrid) -> str:
    """Return in numbers of lines where velocities and image are."""
    image = "crosslines {} to {}".format(*grid.crosslines[:2])
    if not grid.is_line:
        image = "inlines {} to {}, ".format(*grid.inlines[:2]) + image
    if isinstance(base, VolumeField) and base.by_map:
        ni, nj, _ = base.volume.shape
        at = base.index_of(grid.corners())
        i, j = at[:, 0], at[:, 1]
        return (
            f"on its lattice of {ni} x {nj} traces the image reaches from ({i.min():.1f}, {j.min():.1f}) to "
            f"({i.max():.1f}, {j.max():.1f})"
        )
    facts = base.describe()
    if isinstance(base, VolumeField):
        lines = base.volume.lines
        assert lines is not None
        ni, nj, _ = base.volume.shape
        inlines = [lines[0], lines[0] + lines[1] * (ni - 1)]
        crosslines = [lines[2], lines[2] + lines[3] * (nj - 1)]
    else:
        inlines, crosslines = facts["inline_range"], facts["crossline_range"]
    theirs = "crosslines {:.6g} to {:.6g}".format(*crosslines)
    if not grid.is_line:
        theirs = "inlines {:.6g} to {:.6g}, ".format(*inlines) + theirs
    return f"{theirs}; image {image}"


def folded(velocity: FieldVelocity, grid: ImageGrid, options: KirchhoffOptions) -> Iterator[Finding]:
    """Warn where a later image sample is reached by an earlier time.

    With ``t^2 = 4 ((t0/2)^2 + x^2 / v^2)`` time grows with t0 as long as ``x^2 < t0 v^3 / (4 v')``; the stretch mute
    ends x at ``((1 + s)^2 - 1) (v t0 / 2)^2``.
    """
    if options.aperture is None and options.stretch_mute is None:
        return
    axis = coarse(grid.time, JUDGED)
    points, name = places(given(velocity.v), grid)
    v = velocity.v.sample(points, axis)
    times = axis.values()
    rate = (v[:, 1:] - v[:, :-1]) / axis.dt
    middle, t = 0.5 * (v[:, 1:] + v[:, :-1]), 0.5 * (times[1:] + times[:-1])
    reach = np.full(v[:, 1:].shape, np.inf if options.aperture is None else options.aperture**2)
    if options.stretch_mute is not None:
        reach = np.minimum(reach, ((1 + options.stretch_mute) ** 2 - 1) * (middle * t / 2) ** 2)
    # half a step of v is what a coarse axis cannot tell
    fold = 4 * rate * reach > t * middle**3 * (1 + 1e-6)
    if not fold.any():
        return
    i, k = (int(n) for n in np.unravel_index(int(np.argmax(fold)), fold.shape))
    far = float(np.sqrt(reach[i, k]))
    yield warning(
        "W745",
        f"{velocity.v.source}: the velocity grows so fast, {v[i, k]:,.0f} m/s at {times[k]:.4g} s to "
        f"{v[i, k + 1]:,.0f} m/s at {times[k + 1]:.4g} s ({name(i)}), that diffraction times at {far:,.0f} m, within "
        "aperture and stretch mute, fall while t0 grows",
        'smooth the velocity in time: smooth = {time = "0.2 s"}; or use a smaller aperture or stretch mute',
    )
