"""Rules on the velocity of a time migration: unit, kind, how far it reaches, what rays it makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.check.context import error, ok, warning
from subsalt.errors import Finding, SubsaltError
from subsalt.methods.kirchhoff.rules.velocity_reach import (
    JUDGED,
    folded,
    given,
    places,
    reach_in_time,
    reach_on_map,
    things,
)
from subsalt.methods.kirchhoff.velocity.facts import coarse, velocity_facts
from subsalt.methods.kirchhoff.velocity.fields import Constant, Profile
from subsalt.methods.kirchhoff.velocity.rms import dix
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
from subsalt.methods.kirchhoff.velocity.volume import VolumeField

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

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
        Of the image.
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
        found = velocity_facts(velocity, grid)
    except SubsaltError as e:
        yield Finding(e.code, "error", e.message, e.fix)
        return
    if facts is not None:
        facts["velocity"] = found
    low, high = found["v_rms"]["min"], found["v_rms"]["max"]
    wrong = None if unit_said else _wrong_unit(velocity, low, high, feet)
    if wrong is not None:
        # the others would only repeat it
        yield wrong
        return
    yield _summary(velocity, found)
    yield from _unusual(velocity, found, low, high)
    yield from _depth_in_name(velocity)
    impossible = list(_kind(velocity, grid))
    yield from impossible
    yield from _clamped(velocity, grid)
    yield from reach_in_time(velocity, grid)
    yield from reach_on_map(velocity, grid)
    # what no layer can have folds diffractions, too: said once
    if options is not None and not any(f.code == "W740" for f in impossible):
        yield from folded(velocity, grid, options)


def _summary(velocity: FieldVelocity, found: dict[str, Any]) -> Finding:
    """Return what the velocity is, in one line."""
    facts = found["v"]
    form = facts["form"]
    if form == "functions at places":
        form = f"{facts['functions']} functions, {facts['between']} between them"
    elif form == "volume":
        form = f"volume of {' x '.join(map(str, facts['shape']))}, placed by {facts['placed_by']}"
    low, high = found["v_rms"]["min"], found["v_rms"]["max"]
    parts = [f"rms velocity {low:.4g} to {high:.4g} m/s from {velocity.v.source} ({form})"]
    if velocity.eta is not None:
        parts.append(f"eta from {velocity.eta.source}")
    if facts.get("scale"):
        parts.append(f"scaled by {facts['scale']:g}")
    if facts.get("smooth"):
        parts.append("smoothed over " + ", ".join(f"{v:g} {k[-1]}" for k, v in facts["smooth"].items()))
    return ok(", ".join([*parts, f"{found['rays']} rays"]))


def _cure(velocity: FieldVelocity, unit: str) -> str:
    """Return how to say the unit."""
    if isinstance(given(velocity.v), Constant | Profile) and velocity.v.source == "the job":
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


def _unusual(velocity: FieldVelocity, found: dict[str, Any], low: float, high: float) -> Iterator[Finding]:
    if low < SLOWEST or high > FASTEST:
        at = found["v_rms"]["min_at" if low < SLOWEST else "max_at"]
        yield warning(
            "W742",
            f"{velocity.v.source}: rms velocities from {low:.4g} to {high:.4g} m/s, beyond what rocks and water have "
            f"({SLOWEST:g} to {FASTEST:g}), at inline {at['inline']}, crossline {at['crossline']}, {at['t']:g} s",
            "check the unit, and null values in the file",
            min=low,
            max=high,
        )
    eta = found.get("eta")
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
