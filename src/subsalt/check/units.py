"""Units that look wrong: km/s, feet, slowness, per cent, milliseconds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from subsalt.acquisition.survey import TimeAxis
from subsalt.check.context import Context, SurveyExtent, error, rule, warning
from subsalt.earth.grid import Grid
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding

#: values of a function of depth that a message repeats
MOST_VALUES = 20
#: P velocities of rocks and water lie inside, m/s
SLOWEST, FASTEST = 150.0, 9500.0
#: s after the shot at which no reflection record begins any more, deep water included
LATEST = 30.0
#: s; longest record that is modelled, of any survey
LONGEST = 100.0
#: s; reflection data are sampled at 0.125 to 16 ms, with room on both sides
FINEST, COARSEST = 5e-5, 0.05
#: m
FOOT = 0.3048
#: the velocity of water in ft/s
WATER_FEET = 4650.0, 5150.0


def unit_cure(parameter: Parameter, unit: str) -> str:
    """Return how to declare the unit of a parameter."""
    if parameter.grid is not None:
        return f"[model] {parameter.table(unit=unit)}"
    factor = {"km/s": 1e3, "ft/s": FOOT}.get(unit, 0.0)
    values = [float(f"{factor * v:.10g}") for v in np.atleast_1d(parameter.values).ravel()[: MOST_VALUES + 1]]
    if factor and len(values) == 1:
        return f"[model] {parameter.name} = {values[0]:g}"
    if factor and parameter.depths is not None and len(values) <= MOST_VALUES:
        return f"[model] {parameter.name} = {{z = {[float(z) for z in parameter.depths]}, value = {values}}}"
    return f"write the values of [model] {parameter.name} with their unit, or in SI"


@rule("units", "parameters")
def velocity_unit(context: Context) -> Iterator[Finding]:
    """Velocity in km/s, ft/s, mm/s, or slowness."""
    vp = context.parameters.get("vp")
    if vp is None or vp.summary.bad == vp.summary.size:
        return
    wrong = wrong_velocity_unit(vp)
    if wrong is not None:
        context.facts["_vp_wrong"] = True
        if wrong.code == "E412" and (lengths := _kilometres_too(context, vp)):
            what = f"{wrong.message}, and its grid of {_sizes(vp)} like km"
            wrong = replace(wrong, message=what, fix=lengths)
        elif wrong.code == "E416" and (lengths := in_feet(context, "ft/s")):
            wrong = replace(wrong, fix=f"{wrong.fix}; or, if its lengths are in feet, too: {lengths}")
        yield wrong


def _sizes(vp: Parameter) -> str:
    """Return the spacing of a volume for a message."""
    assert vp.grid is not None
    return "spacing " + " x ".join(f"{h:g}" for h in vp.grid.spacing)


def _kilometres_too(context: Context, vp: Parameter) -> str:
    """Return the cure of a model in km/s whose lengths are in km, too; empty where they are in metres."""
    if vp.grid is None or context.wavelet is None or context.resampling:
        return ""
    largest, deepest = max(vp.grid.spacing), (vp.grid.shape[-1] - 1) * vp.grid.spacing[-1]
    if not _kilometres(largest, deepest, 1e3 * vp.summary.low / context.wavelet.fmax):
        return ""
    return _in_metres(context, [1000.0] * vp.grid.ndim, "km/s")


def _kilometres(largest: float, deepest: float, wavelength: float) -> bool:
    """Return whether the spacing of a grid looks like kilometres.

    Small grids are right for small waves: only far too many points per wavelength betray kilometres.
    """
    return largest < 0.2 and deepest < 40 and wavelength > 200 * largest


def in_feet(context: Context, unit: str | None = None) -> str:
    """Return the model's tables with its lengths in feet; empty where the survey does not lie on it then.

    Parameters
    ----------
    unit : str, optional
        That of vp, where this is no velocity in SI either.
    """
    model, survey = context.model, context.survey
    if model is None or survey is None or not survey.shots or model.grid.ndim != survey.ndim:
        return ""
    g = model.grid
    grid = Grid(g.shape, tuple(FOOT * h for h in g.spacing), tuple(FOOT * o for o in g.origin))
    lay = SurveyExtent.of(survey, grid)
    both = np.concatenate([lay.src, lay.rcv])
    if lay.outside(both).any() or float(both[:, 2].max()) > lay.high[2] + lay.slack[2]:
        return ""
    tables = _in_metres(context, [FOOT] * g.ndim, unit)
    return tables if tables.startswith("[model]") else ""


#: code, unit, factor and power that make m/s, and in what the values look like, by what they would be
READINGS: tuple[tuple[str, str, float, float, str], ...] = (
    ("E412", "km/s", 1e3, 1.0, "km/s"),
    ("E413", "s/m", 1.0, -1.0, "slowness in s/m"),
    ("E413", "s/km", 1e3, -1.0, "slowness in s/km"),
    ("E413", "us/m", 1e6, -1.0, "slowness in us/m"),
    ("E413", "us/ft", 0.3048e6, -1.0, "slowness in us/ft"),
    ("E414", "s2/m2", 1.0, -0.5, "squared slowness in s2/m2"),
    ("E413", "s2/km2", 1e3, -0.5, "squared slowness in s2/km2"),
    ("E415", "mm/s", 1e-3, 1.0, "mm/s"),
)
#: velocities of most models begin and end within these, m/s
USUAL = (1400.0, 2700.0), (2000.0, 7000.0)
#: m; a model that is as deep holds rocks faster than 720 m/s, the largest that slowness in us/m is
DEEP = 200.0


def readings(vp: Parameter) -> list[tuple[float, str, str, str, tuple[float, float]]]:
    """Return how vp could be read, the likeliest first: distance from the usual, code, unit, words, range in m/s."""
    out = []
    mid, low, high = vp.summary.median, vp.summary.low, vp.summary.high
    if mid <= 0:
        return []
    for code, unit, factor, power, words in READINGS:
        # a null value must not decide: where the lowest cannot be read the median stands for it
        ends = sorted(factor * (v if v > 0 else mid) ** power for v in (low, high))
        centre = factor * mid**power
        if not (ends[0] >= SLOWEST and ends[1] <= 1.05 * FASTEST and 1000 <= centre <= 8000):
            continue
        away = sum(max(0.0, math.log(a / v), math.log(v / b)) for v, (a, b) in zip(ends, USUAL, strict=True))
        out.append((away, code, unit, words, (ends[0], ends[1])))
    return sorted(out)


def wrong_velocity_unit(vp: Parameter) -> Finding | None:
    """Return the finding when vp is in another unit than m/s.

    Between 150 and 9500 m/s the ranges of velocity, slowness and squared slowness in SI do not meet, and km/s
    lie far below, so the median tells the unit; of several that are possible the one is named whose velocities are
    usual. Feet per second need more: their range overlaps that of fast rocks, so all of the model must lie above 4500
    and its fastest above what rocks have, or its median above 6500 and its fastest above 10000. So does slowness in
    microseconds, which only soils have as velocities: the model must be deeper than soils.
    """
    mid, low, high = vp.summary.median, vp.summary.low, vp.summary.high
    evidence = {"median": mid, "min": low, "max": high}
    deep = vp.grid is not None and (vp.grid.shape[-1] - 1) * vp.grid.spacing[-1] >= DEEP
    if (low >= 4500 and FASTEST < high < 40_000) or (mid > 6500 and 10_000 < high < 40_000):
        return error(
            "E416", f"vp from {low:.4g} to {high:.4g}: looks like ft/s", unit_cure(vp, "ft/s"), **evidence
        )
    if mid <= 0 or (15 <= mid <= 100_000 and not (deep and mid < 720)):
        return None
    candidates = readings(vp)
    if not candidates:
        return _no_velocity(vp, evidence) if not 15 <= mid <= 100_000 else None
    _, code, unit, words, ends = candidates[0]
    cure = f"{unit_cure(vp, unit)}, which gives {ends[0]:.0f} to {ends[1]:.0f} m/s"
    if len(candidates) > 1 and candidates[1][0] < candidates[0][0] + 0.5:
        _, _, other, _, ends = candidates[1]
        cure += f"; or {unit_cure(vp, other)}: {ends[0]:.0f} to {ends[1]:.0f} m/s"
    return error(code, f"vp median {mid:.3g}: looks like {words}", cure, **evidence)


def _no_velocity(vp: Parameter, evidence: dict[str, float]) -> Finding | None:
    """Return the finding on values that no unit makes velocities, by the unit that is nearest."""
    mid = evidence["median"]
    limits = ((7e-5, "E414", "s2/m2"), (1e-2, "E413", "s/m"), (0.9, "E413", "s/km"), (15.0, "E412", "km/s"))
    code, unit = next(((c, u) for most, c, u in limits if mid < most), ("E415", "mm/s"))
    if code == "E412" and evidence["max"] > 1e3:
        return None  # a null value: said by another rule
    return error(
        code,
        f"vp median {mid:.3g}: looks like {unit}, but values from {evidence['min']:.3g} to {evidence['max']:.3g} "
        "are velocities in no unit",
        f"look for null values in {vp.source or 'vp'}; if there are none: {unit_cure(vp, unit)}",
        **evidence,
    )


@rule("units", "parameters")
def water_in_feet(context: Context) -> Iterator[Finding]:
    """A slowest velocity that is that of water in ft/s."""
    vp = context.parameters.get("vp")
    if vp is None or vp.summary.bad == vp.summary.size or context.facts.get("_vp_wrong"):
        return
    low, high = vp.summary.low, vp.summary.high
    if WATER_FEET[0] <= low <= WATER_FEET[1]:
        context.facts["_perhaps_feet"] = True
        feet = in_feet(context, "ft/s")
        yield warning(
            "W420",
            f"vp from {low:.4g} to {high:.4g} m/s: the slowest is what water has in ft/s",
            f"if it is: {unit_cure(vp, 'ft/s')}" + f"; if its lengths are in feet, too: {feet}" * bool(feet),
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
        if size > 100.0 or p.summary.low < -100:
            continue  # null values, said by another rule
        if size > 1.0:
            yield error(
                "E418",
                f"{name} reaches {size:.3g}: looks like per cent",
                unit_cure(p, "%"),
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
    wavelength = context.model.slowest / context.wavelet.fmax if context.wavelet is not None else 10.0
    depth = grid.spacing[-1]
    if _kilometres(largest, deepest, wavelength):
        context.facts["_grid_wrong"] = True
        yield error(
            "E440",
            f"grid spacing {grid.spacing}: looks like km (depth {deepest:.3g}, shortest wavelength "
            f"{wavelength:.3g} m)",
            _in_metres(context, [1000.0] * grid.ndim),
            spacing=grid.spacing,
        )
    elif depth <= 0.05 and largest >= 100 * depth:
        context.facts["_grid_wrong"] = True
        factors = [1.0] * (grid.ndim - 1) + [1000.0]
        yield error(
            "E430",
            f"the last axis of the model has steps of {depth:g} to {deepest:.4g}, the others of {largest:g}: "
            "seconds or kilometres, not metres of depth",
            f"a velocity in time must be converted to depth first; if these are km: {_in_metres(context, factors)}",
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
            f"[{'acquisition' if context.modelling else 'data.fix'}] dt = {dt / 1000:g}",
            dt=dt,
        )
    elif dt < 5e-5 and dt * nt < 0.05:
        yield warning(
            "W281",
            f"the sampling interval is {dt * 1e6:g} us, the record {dt * nt * 1e3:.3g} ms long",
            f"if the header meant milliseconds: [data.fix] dt = {dt * 1000:g}",
            dt=dt,
        )


@rule("units", "survey")
def record_unit(context: Context) -> Iterator[Finding]:
    """Records to be modelled that are longer than any survey's: milliseconds taken for seconds."""
    assert context.survey is not None
    time = context.survey.time
    if context.modelling and time.duration > LONGEST and time.dt < 0.1:
        yield error(
            "E317",
            f"the record of {time.duration:g} s is longer than that of any survey: looks like milliseconds",
            f'[acquisition] record_length = "{time.duration:g} ms"',
            duration=time.duration,
        )


@rule("units", "wavelet")
def frequency_unit(context: Context) -> Iterator[Finding]:
    """A peak frequency no seismic source has (kHz for Hz, or the reverse)."""
    assert context.wavelet is not None
    f0 = context.wavelet.f0
    if not 0.5 <= f0 <= 2000:
        yield warning("W532", f"the wavelet peaks at {f0:g} Hz", f"{frequency_cure(f0)}", f0=f0)


def frequency_cure(f0: float) -> str:
    """Return the frequency that was meant where it was written in kilohertz or in millihertz."""
    meant = 1e3 * f0 if f0 < 0.5 else 1e-3 * f0
    if 0.5 <= meant <= 500:
        return f'if it was in {"kHz" if f0 < 0.5 else "mHz"}: [source] f0 = "{meant:g} Hz"'
    return "check the unit of [source] f0"


@rule("units", "survey")
def delay_unit(context: Context) -> Iterator[Finding]:
    """Records that begin minutes before or after their shots: milliseconds taken for seconds."""
    assert context.survey is not None
    if abs(context.survey.time.t0) > LATEST:
        yield late_records(context.survey.time)


def late_records(time: TimeAxis) -> Finding:
    """Return the finding on records whose first sample lies further from the shot than any does."""
    return error(
        "E316",
        f"the records begin {time.t0:g} s after their shots and are {time.duration - time.t0:.4g} s long: looks like "
        "milliseconds",
        f'[data.fix] delay = "{time.t0:g} ms"',
        delay=time.t0,
    )


def _in_metres(context: Context, factors: list[float], unit: str | None = None) -> str:
    """Return the tables of the model's volumes with spacing and origin multiplied, and the unit of vp; else words."""
    volumes = [p for p in context.parameters.values() if p.grid is not None]
    if not volumes or context.resampling:
        return "give spacing and origin in metres, or with a unit"
    tables = []
    for p in volumes:
        assert p.grid is not None
        given = {
            name: [float(f"{f * v:.10g}") for f, v in zip(factors, getattr(p.grid, name), strict=True)]
            for name in ("spacing", "origin")
        }
        tables.append(p.table(**({"unit": unit} if unit and p.name == "vp" else {}), **given))
    return f"[model] {'; '.join(tables)}"
