"""Rules on the velocity of a time migration: unit, kind, how far it reaches, what rays it makes.

What a velocity is like over an image: its range and where, from locations spread over the grid.

Rules on where a velocity is known: to the end of the image in time, over its map, and within its aperture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox, TimeVelocity, numbers_of, positions_of
from subsalt.acquisition.survey import TimeAxis
from subsalt.check.context import error, ok, warning
from subsalt.errors import Finding, SubsaltError
from subsalt.methods.kirchhoff.velocity.fields import (
    ConstantField,
    Functions,
    Profile,
    TimeField,
    VolumeField,
)
from subsalt.methods.kirchhoff.velocity.rms import dix
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

#: time over which a change of rms velocity is judged, s
JUDGED = 0.1
#: functions that are looked at
MOST_FUNCTIONS = 2000


def given(field: TimeField) -> TimeField:
    """Return the field that a velocity is made of, without factor and average."""
    inner = getattr(field, "field", None)
    return field if inner is None else given(inner)


def places(base: TimeField, grid: ImageGrid) -> tuple[NDArray[np.float64], Callable[[int], str]]:
    """Return map positions at which a velocity is judged, and a function that names them."""
    if isinstance(base, ConstantField | Profile):
        return np.array([grid.corner]), lambda i: "everywhere"
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


def things(base: TimeField) -> str:
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
        "the last velocity is continued",
        first_end=float(ends.min()),
        image_end=last,
    )


def _ends(base: TimeField) -> NDArray[np.float64] | None:
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
        yield ok(
            f"{base.source}: the image goes beyond the velocities, the nearest ones are continued: {text}"
        )


def _ranges(base: TimeField, grid: ImageGrid) -> str:
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


#: locations along an axis of a large grid, and samples of time, that are looked at
LOCATIONS, SAMPLES = 20, 400
#: samples of all locations up to which a grid is looked at as a whole
WHOLE = 2_000_000


def spread(grid: ImageGrid) -> NDArray[np.int64]:
    """Return indices (n, 2) of at most `LOCATIONS` by `LOCATIONS` locations, the corners of the grid among them."""
    i, j = (np.unique(np.linspace(0, n - 1, min(n, LOCATIONS)).round().astype(np.int64)) for n in grid.shape)
    return np.stack(np.meshgrid(i, j, indexing="ij"), axis=-1).reshape(-1, 2)


def spread_positions(grid: ImageGrid) -> NDArray[np.float64]:
    """Return the map positions (n, 2) of `spread`, m."""
    return np.concatenate([grid.positions(LocationBox(i, i + 1, j, j + 1)) for i, j in spread(grid)])


def coarse(time: TimeAxis, least: float = 0.0) -> TimeAxis:
    """Return an axis over the same times with at most about `SAMPLES` samples, at least `least` seconds apart."""
    every = max(1, -(-time.nt // SAMPLES), int(np.ceil(least / time.dt - 1e-9)))
    return TimeAxis(-(-(time.nt - 1) // every) + 1, time.dt * every, time.t0)


def velocity_facts(velocity: TimeVelocity, grid: ImageGrid) -> dict[str, Any]:
    """Return where a velocity comes from and its range, as plain values for reports.

    Returns
    -------
    dict
        `describe()` of the velocity, and for `v_rms` (m/s) and `eta`, when there is one, ``min``, ``max`` and where
        they are: inline, crossline, two-way time (s); from `locations` traces: all, or some of a large grid.
    """
    time = coarse(grid.time)
    if grid.size * time.nt <= WHOLE:
        ni, nj = grid.shape
        index = np.stack(np.divmod(np.arange(ni * nj), nj), axis=-1)
        points = grid.positions()
    else:
        index, points = spread(grid), spread_positions(grid)
    v, eta = velocity.at(points, time)
    out: dict[str, Any] = {**velocity.describe(), "locations": len(index)}
    for name, values in (("v_rms", v), ("eta", eta)):
        if values is not None:
            limits: dict[str, Any] = {}
            for which, k in (("min", int(np.argmin(values))), ("max", int(np.argmax(values)))):
                place, sample = divmod(k, time.nt)
                i, j = (int(n) for n in index[place])
                limits[which] = float(values[place, sample])
                limits[f"{which}_at"] = {
                    "inline": grid.inlines[0] + grid.inlines[2] * i,
                    "crossline": grid.crosslines[0] + grid.crosslines[2] * j,
                    "t": round(time.t0 + sample * time.dt, 6),
                }
            out[name] = limits
    return out


#: velocities of rocks and water lie inside, m/s
SLOWEST, FASTEST = 300.0, 10_000.0
#: no survey has rms velocities that begin above the first everywhere and pass the second: ft/s do, m/s
FEET = 4700.0, 7500.0
#: interval velocities beyond are rare even in salt, carbonates and basalt, m/s
FASTEST_LAYER = 7500.0


def velocity_findings(
    velocity: FieldVelocity,
    grid: ImageGrid,
    options: KirchhoffOptions | None = None,
    *,
    unit_said: bool = False,
    feet: bool = False,
    facts: dict[str, Any] | None = None,
) -> Iterator[Finding]:
    """Yield what the rules on the velocity find.

    Parameters
    ----------
    velocity : FieldVelocity
        As opened.
    grid : ImageGrid
        Grid of the image.
    options : KirchhoffOptions, optional
        Aperture and stretch mute, for the rule on folded operators.
    unit_said : bool
        The job gives the unit of the velocities; then an odd range is a warning.
    feet : bool
        The data count in feet.
    facts : dict, optional
        Gets the range of the velocity under ``velocity``.
    """
    try:
        velocities = velocity_facts(velocity, grid)
    except SubsaltError as e:
        yield Finding(e.code, "error", e.message, e.fix)
        return
    if facts is not None:
        facts["velocity"] = velocities
    low, high = velocities["v_rms"]["min"], velocities["v_rms"]["max"]
    wrong = None if unit_said else _wrong_unit(velocity, low, high, feet)
    if wrong is not None:
        # the others would only repeat it
        yield wrong
        return
    yield _summary(velocity, velocities)
    yield from _unusual(velocity, velocities, low, high)
    yield from _depth_in_name(velocity)
    impossible = list(_kind(velocity, grid))
    yield from impossible
    yield from _clamped(velocity, grid)
    yield from reach_in_time(velocity, grid)
    yield from reach_on_map(velocity, grid)
    # what no layer can have folds diffractions, too: said once
    if options is not None and not any(f.code == "W740" for f in impossible):
        yield from folded(velocity, grid, options)


def _summary(velocity: FieldVelocity, velocities: dict[str, Any]) -> Finding:
    """Return what the velocity is, in one line."""
    facts = velocities["v"]
    form = facts["form"]
    if form == "functions at places":
        form = f"{facts['functions']} functions, {facts['between']} between them"
    elif form == "volume":
        form = f"volume of {' x '.join(map(str, facts['shape']))}, placed by {facts['placed_by']}"
    low, high = velocities["v_rms"]["min"], velocities["v_rms"]["max"]
    parts = [f"rms velocity {low:.4g} to {high:.4g} m/s from {velocity.v.source} ({form})"]
    if velocity.eta is not None:
        parts.append(f"eta from {velocity.eta.source}")
    if facts.get("scale"):
        parts.append(f"scaled by {facts['scale']:g}")
    if facts.get("smooth"):
        parts.append("smoothed over " + ", ".join(f"{v:g} {k[-1]}" for k, v in facts["smooth"].items()))
    return ok(", ".join([*parts, f"{velocities['rays']} rays"]))


def _cure(velocity: FieldVelocity, unit: str) -> str:
    """Return how to say the unit."""
    if isinstance(given(velocity.v), ConstantField | Profile) and velocity.v.source == "the job":
        return f'write v with its unit, or in m/s: [velocity] unit = "{unit}"'
    return f'[velocity] unit = "{unit}"'


def _wrong_unit(velocity: FieldVelocity, low: float, high: float, feet: bool) -> Finding | None:
    text = f"{velocity.v.source}: velocities from {low:.4g} to {high:.4g}"
    if high < 0.02:
        return error("E744", f"{text} look like slowness in s/m", _cure(velocity, "s/m"), min=low, max=high)
    if high < 1.0:
        return error("E744", f"{text} look like slowness in s/km", _cure(velocity, "s/km"), min=low, max=high)
    if high < 20.0:
        return error("E744", f"{text} look like km/s", _cure(velocity, "km/s"), min=low, max=high)
    if low > 100_000:
        cure = f"remove the unit if they are m/s; else {_cure(velocity, 'mm/s')}"
        return error("E744", f"{text} look like mm/s, or like m/s taken for km/s", cure, min=low, max=high)
    if low >= FEET[0] and (high > FEET[1] or feet):
        more = ", and the data count in feet" if feet else ""
        return error("E745", f"{text} look like ft/s{more}", _cure(velocity, "ft/s"), min=low, max=high)
    return None


def _unusual(
    velocity: FieldVelocity, velocities: dict[str, Any], low: float, high: float
) -> Iterator[Finding]:
    if low < SLOWEST or high > FASTEST:
        at = velocities["v_rms"]["min_at" if low < SLOWEST else "max_at"]
        yield warning(
            "W742",
            f"{velocity.v.source}: rms velocities from {low:.4g} to {high:.4g} m/s, beyond what rocks and water have "
            f"({SLOWEST:g} to {FASTEST:g}), at inline {at['inline']}, crossline {at['crossline']}, {at['t']:g} s",
            "check the unit, and null values in the file",
            min=low,
            max=high,
        )
    eta = velocities.get("eta")
    if eta is not None and max(abs(eta["min"]), abs(eta["max"])) > 0.5:
        yield warning(
            "W743",
            f"eta from {eta['min']:.3g} to {eta['max']:.3g}; above 0.5 is rare",
            'check the file; per cent are written eta = "5 %"',
            min=eta["min"],
            max=eta["max"],
        )


def _depth_in_name(velocity: FieldVelocity) -> Iterator[Finding]:
    base = given(velocity.v)
    if isinstance(base, VolumeField) and re.search(
        r"(?<![a-z])(depth|psdm)(?![a-z])", Path(base.source).stem.lower()
    ):
        yield warning(
            "W741",
            f"{base.source}: its name says depth; it is read as steps of {base.times[1] - base.times[0]:g} s to "
            f"{base.times[-1]:g} s"
            if base.times.size > 1
            else f"{base.source}: its name says depth",
            "a velocity in depth must be converted to time first; nothing to do if it is in time",
        )


def _kind(velocity: FieldVelocity, grid: ImageGrid) -> Iterator[Finding]:
    """Say what other kinds became; judge rms velocities by the interval velocities that they need."""
    base = given(velocity.v)
    kind = getattr(base, "kind", "rms")
    axis = coarse(grid.time, JUDGED)
    # layers begin at time zero
    axis = TimeAxis(axis.nt + int(axis.t0 / axis.dt), axis.dt, axis.t0 - int(axis.t0 / axis.dt) * axis.dt)
    points, names = places(base, grid)
    v = velocity.v.sample(points, axis)
    if kind != "rms":
        yield ok(
            f"{base.source}: {kind} velocities became rms velocities of {v.min():.4g} to {v.max():.4g} m/s",
            min=float(v.min()),
            max=float(v.max()),
        )
        return
    times = axis.values()
    squared, beyond = dix(times, v)
    beyond |= (squared > FASTEST_LAYER * FASTEST_LAYER) & (1.5 * v < FASTEST_LAYER)
    if not beyond.any():
        return
    i, k = (int(n) for n in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    needed = (
        f"an interval velocity of {np.sqrt(squared[i, k]):,.0f} m/s"
        if squared[i, k] >= 0
        else "no real velocity"
    )
    count = int(np.count_nonzero(beyond.any(axis=1)))
    before = f"{v[i, k - 1]:,.0f} m/s at {times[k - 1]:.4g} s to " if k else ""
    yield warning(
        "W740",
        f"{base.source}: rms velocity {before}{v[i, k]:,.0f} m/s at {times[k]:.4g} s needs {needed} between them "
        f"({names(i)}; {count} of {len(points)} {things(base)}): do these come from interval velocities?",
        '[velocity] kind = "interval" (or "layers") if they are; else smooth them: smooth = {time = "0.2 s"}',
        functions=count,
        looked_at=len(points),
    )


def _clamped(velocity: FieldVelocity, grid: ImageGrid) -> Iterator[Finding]:
    """Say how many interval velocities curved rays could not use as they are."""
    points, _ = places(given(velocity.v), grid)
    clamped = velocity.clamped(points, coarse(grid.time))
    if clamped:
        yield warning(
            "W746",
            f"curved rays: {clamped} interval velocities of {len(points)} {things(given(velocity.v))} were kept "
            "within a third and three times the rms velocity",
            "smooth the rms velocity in time, or check it",
            clamped=clamped,
        )
