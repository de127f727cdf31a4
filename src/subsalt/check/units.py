"""Units that look wrong: km/s, feet, slowness, per cent, milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

from subsalt.check.context import Context, Parameter, error, rule, warning
from subsalt.errors import Finding

#: P velocities of rocks and water lie inside, m/s
SLOWEST, FASTEST = 150.0, 9500.0
#: s; reflection data are sampled at 0.125 to 16 ms, with room on both sides
FINEST, COARSEST = 5e-5, 0.05
#: the velocity of water in ft/s
WATER_FEET = 4650.0, 5150.0


def _cure(parameter: Parameter, unit: str) -> str:
    """Return how to declare the unit of a parameter."""
    if parameter.grid is not None:
        return f'[model] {parameter.name} = {{file = "{parameter.source}", unit = "{unit}"}}'
    return f"write the values of [model] {parameter.name} with their unit, or in SI"


@rule("units", "parameters")
def velocity_unit(context: Context) -> Iterator[Finding]:
    """Velocity in km/s, ft/s, mm/s, or slowness; then velocities that no medium has."""
    vp = context.parameters.get("vp")
    if vp is None or vp.summary.bad == vp.summary.size:
        return
    wrong = _wrong_velocity_unit(vp)
    if wrong is not None:
        context.facts["_vp_wrong"] = True
        yield wrong
    else:
        yield from _unusual_velocity(vp)


def _wrong_velocity_unit(vp: Parameter) -> Finding | None:
    """Return the finding when vp is in another unit than m/s.

    Between 150 and 9500 m/s the ranges of velocity, slowness and squared slowness in SI do not meet, and km/s
    lie far below, so the median tells the unit. Feet per second need more: their range overlaps that of fast
    rocks, so all of the model must lie above 4500 and its fastest above 10000.
    """
    mid, low, high = vp.summary.median, vp.summary.low, vp.summary.high
    text = f"vp median {mid:.3g}: looks like"
    found: tuple[str, str, str] | None = None
    if mid <= 0:
        found = None
    elif mid < 7e-5:
        found = "E414", f"{text} squared slowness in s2/m2", _cure(vp, "s2/m2")
    elif mid < 1e-2:
        found = "E413", f"{text} slowness in s/m", _cure(vp, "s/m")
    elif mid < 0.9 and high <= 1.05:
        cure = _cure(vp, "s/km") + ' (or unit = "s2/km2")'
        found = "E413", f"{text} slowness in s/km, or squared slowness in s2/km2", cure
    elif mid < 15:
        found = "E412", f"{text} km/s", _cure(vp, "km/s")
    elif mid > 100_000:
        found = "E415", f"{text} mm/s, or not like a velocity", _cure(vp, "mm/s")
    elif low >= 4500 and high > 10_000:
        found = "E416", f"vp from {low:.4g} to {high:.4g}: looks like ft/s", _cure(vp, "ft/s")
    return None if found is None else error(*found, median=mid, min=low, max=high)


def _unusual_velocity(vp: Parameter) -> Iterator[Finding]:
    low, high = vp.summary.low, vp.summary.high
    if WATER_FEET[0] <= low <= WATER_FEET[1]:
        yield warning(
            "W420",
            f"vp from {low:.4g} to {high:.4g} m/s: the slowest is what water has in ft/s",
            f"if it is: {_cure(vp, 'ft/s')}",
            min=low,
            max=high,
        )
    elif high > FASTEST or (0 < low < SLOWEST):
        yield warning(
            "W417",
            f"vp from {low:.4g} to {high:.4g} m/s: outside what rocks and water have ({SLOWEST:g} to "
            f"{FASTEST:g})",
            "check the unit, and null values in the file",
            min=low,
            max=high,
        )


@rule("units", "parameters")
def thomsen_unit(context: Context) -> Iterator[Finding]:
    """Thomsen parameters in per cent, or larger than rocks have."""
    for name in ("epsilon", "delta"):
        p = context.parameters.get(name)
        if p is None or p.summary.bad == p.summary.size:
            continue
        size = max(abs(p.summary.low), abs(p.summary.high))
        if size > 1.0:
            yield error(
                "E418",
                f"{name} reaches {size:.3g}: looks like per cent",
                _cure(p, "%"),
                max_abs=size,
            )
        elif size > 0.5:
            yield warning(
                "W419", f"|{name}| reaches {size:.3g}; above 0.5 is rare", "check the file", max_abs=size
            )


@rule("units", "model")
def grid_unit(context: Context) -> Iterator[Finding]:
    """Grid spacing in km or feet."""
    assert context.model is not None
    grid = context.model.grid
    smallest, largest = min(grid.spacing), max(grid.spacing)
    deepest = (grid.shape[-1] - 1) * grid.spacing[-1]
    # small grids are right for small waves: only far too many points per wavelength betray kilometres
    wavelength = context.model.slowest / context.wavelet.fmax if context.wavelet is not None else 10.0
    if largest < 0.2 and deepest < 40 and wavelength > 200 * largest:
        yield error(
            "E440",
            f"grid spacing {grid.spacing}: looks like km (depth {deepest:.3g}, shortest wavelength "
            f"{wavelength:.3g} m)",
            "give spacing and origin in metres, or with a unit",
            spacing=grid.spacing,
        )
    elif deepest > 60_000:
        yield warning(
            "W441",
            f"the model is {deepest / 1000:.4g} km deep",
            "check the unit of the spacing along z",
            spacing=grid.spacing,
        )
    elif largest > 20 * smallest:
        yield warning(
            "W442",
            f"grid spacings {grid.spacing} differ by more than a factor of 20",
            "check the unit and order of the axes",
            spacing=grid.spacing,
        )


def interval_findings(nt: int, dt: float, source: str) -> Iterator[Finding]:
    """Yield an error for a sample interval that is a thousand times too long or too short.

    Parameters
    ----------
    source : str
        Where the interval is from; ``"fix"`` when the user gave it.
    """
    length = f"{nt} samples of {dt * 1e3:g} ms are a record of {nt * dt:g} s"
    if dt > COARSEST:
        yield error(
            "E727",
            f"{length}: no reflection survey is sampled so coarsely",
            f'if milliseconds were given as seconds: [data.fix] dt = "{dt:g} ms"',
            dt=dt,
        )
    elif dt < FINEST and source != "fix":
        yield error(
            "E727",
            f"{length}: no reflection survey is sampled so finely (from the {source})",
            f'if milliseconds stand where microseconds should: [data.fix] dt = "{dt * 1e6:g} ms"; '
            f'if it is right: dt = "{dt * 1e6:g} us" says so',
            dt=dt,
        )


@rule("units", "survey")
def sampling_unit(context: Context) -> Iterator[Finding]:
    """Sampling interval in the wrong power of ten: seismic records have 0.1 to 20 ms."""
    assert context.survey is not None
    dt, nt = context.survey.time.dt, context.survey.time.nt
    source = next((f.dt_source for f in getattr(context.scan, "files", ()) if hasattr(f, "dt_source")), "")
    odd = list(interval_findings(nt, dt, source)) if source and dt <= 0.1 else []
    if odd:
        yield from odd
    elif dt > 0.1:
        yield error(
            "E280",
            f"the sampling interval is {dt:g} s: looks like milliseconds",
            f"[data.fix] dt = {dt / 1000:g}",
            dt=dt,
        )
    elif dt < 5e-5 and dt * nt < 0.05:
        yield warning(
            "W281",
            f"the sampling interval is {dt * 1e6:g} us, the record {dt * nt * 1e3:.3g} ms long",
            f"if the header meant milliseconds: [data.fix] dt = {dt * 1000:g}",
            dt=dt,
        )


@rule("units", "wavelet")
def frequency_unit(context: Context) -> Iterator[Finding]:
    """A peak frequency no seismic source has (kHz for Hz, or the reverse)."""
    assert context.wavelet is not None
    f0 = context.wavelet.f0
    if not 0.5 <= f0 <= 2000:
        yield warning("W532", f"the wavelet peaks at {f0:g} Hz", "check the unit of [source] f0", f0=f0)
