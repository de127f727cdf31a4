"""Frequencies against the grid and against the data."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, SampledShot, SurveyExtent, error, ok, rule, unchecked, warning
from subsalt.check.stability import gated
from subsalt.check.units import FOOT, in_feet
from subsalt.errors import Finding
from subsalt.numerics.stencil import FITTED_ORDERS, LEAST_POINTS, Stencil
from subsalt.propagation.grid_choice import Needed, points_needed


@rule("spectrum", "velocity", "wavelet")
def dispersion(context: Context) -> Iterator[Finding]:
    """Too few grid points per shortest wavelength."""
    assert context.wavelet is not None
    model, stencil = gated(context), context.propagation.weights
    if stencil.order not in FITTED_ORDERS:
        yield ok(
            f"order {stencil.order} has no fitted weights: Taylor weights, on the model's grid by default"
        )
    fmax, h = context.wavelet.fmax, max(model.grid.spacing)
    if context.model is not None and model.grid != context.model.grid:
        ratio = context.model.grid.size / model.grid.size
        change = f"{ratio:.3g} times fewer" if ratio >= 1 else f"{1 / ratio:.3g} times more"
        context.facts["computed_grid"] = {"shape": model.grid.shape, "spacing": model.grid.spacing}
        shape, own = (" x ".join(map(str, g.shape)) for g in (model.grid, context.model.grid))
        depths = model.grid.depth_axis
        spacing = f"{h:g} m" + (f" (to {depths.coarsest:.3g} m along z)" if depths is not None else "")
        yield ok(f"waves are computed on {shape} @ {spacing}, {change} points than the model's {own}")
    # a contrast carried to another grid swings beyond the model's velocities for a point or two: no wave sees it
    slowest = gated(context, context.model).slowest
    wavelength = slowest / fmax
    points, needed = wavelength / h, _needed(context, stencil, tilted=model.medium == "tti")
    need = needed.points if needed else stencil.points(model.medium == "tti")
    clean = slowest / (need * h)
    context.facts |= {"points_per_wavelength": points, "fmax": fmax, "fmax_without_dispersion": clean}
    where = f"({slowest:.4g} m/s / {fmax:.4g} Hz, spacing {h:g} m)"
    text = f"{points:.3g} points per shortest wavelength {where}"
    # with Taylor weights the figure is a phase error of 0.1 %: within a tenth of it nothing is lost
    enough = need if stencil.kind == "fitted" else 0.9 * need
    if needed:
        context.facts["points_decided_by"] = needed.decided_by
        text += f"; the {needed.decided_by} takes {need:.3g}"
        # the wavelet is sampled as the time steps are, and was not when the grid was chosen
        enough = 0.99 * need
        if context.modelling and model.medium == "tti":
            yield unchecked(
                "reflections in tilted media",
                f"those of velocity keep accuracy = {context.accuracy:g} on the chosen grid; those of epsilon, delta "
                "or the axis may be off by 3 %, and by more where the axis turns: compare with a finer grid, "
                f"[propagation] grid = {h / 1.5:.3g}",
            )
    if points >= enough:
        yield ok(f"dispersion  {text}")
        return
    # a wavelet far from the data is the mistake, if the grid carries that of the data
    by_data = _peak_by_data(context)
    fits = by_data is not None and by_data[1] * context.wavelet.fmax / context.wavelet.f0 <= clean
    cure = frequency_by_data(context).removesuffix("; else ") if fits else ""
    cure = cure or "; or ".join(_cures_of_dispersion(context, stencil, need))
    if points < LEAST_POINTS:
        # a grid in feet taken for metres has 3.28 times too few: offered where it then has enough
        if points / FOOT >= enough and (feet := _in_feet(context)):
            cure += f"; or, if the lengths of the model are in feet: {feet}"
        yield error("E531", f"{text}: the grid cannot carry the wavelet", cure, points=points, needed=need)
    else:
        yield warning(
            "W530",
            f"{text}; {stencil} needs {need:.3g} for clean waveforms",
            cure,
            points=points,
            needed=need,
        )


#: part of its peak frequency to which a wavelet may be lowered: with less it is another survey
LOWERED = 0.25
#: Hz; a band-pass below it leaves no image
LOWEST_BAND = 10
#: power that a filter passes where it stops
STOPPED = 0.01
#: part of the width of a model that a survey spans at least
MOST_OF_MODEL = 0.5


def _cures_of_dispersion(context: Context, stencil: Stencil, need: float) -> list[str]:
    """Return what takes waves onto a grid that is too coarse for them, the cheapest first, with what it costs."""
    model = gated(context)
    wavelet = context.wavelet
    assert wavelet is not None
    slowest, h, ndim = gated(context, context.model).slowest, max(model.grid.spacing), model.grid.ndim
    clean = _down(slowest / (need * h))
    lower = _down(wavelet.f0 * clean / wavelet.fmax)
    out = [(0.0, f"limit the band of wavelet and traces to {clean:g} Hz, with no more computing")]
    by_data = _peak_by_data(context)
    meant = wavelet.f0 if by_data is None else min(wavelet.f0, by_data[1])
    if wavelet.name.startswith("ricker") and lower >= LOWERED * meant:
        words = f"limit the band to the {clean:g} Hz that the grid carries, with no more computing: "
        out = [(0.0, f"{words}{_bandpass(context, clean) or f'[source] f0 = {lower:g}'}")]
    tilted = model.medium == "tti"
    higher = [
        o for o in FITTED_ORDERS if o > stencil.order and Stencil(o, stencil.kind).points(tilted) < need
    ]
    fits = [o for o in higher if slowest / (Stencil(o, stencil.kind).points(tilted) * h) >= wavelet.fmax]
    if fits and context.accuracy is None:
        cost = (ndim * fits[0] + 1) / (ndim * stencil.order + 1)
        out.append(
            (cost, f"a higher order, with {cost:.2g} times the arithmetic: [propagation] order = {fits[0]}")
        )
    spacing = _down(slowest / (need * wavelet.fmax))
    # points in every direction, and time steps
    cost = (h / spacing) ** (ndim + 1)
    out.append((cost, f"a finer grid, with {cost:.2g} times the computing: [propagation] grid = {spacing:g}"))
    return [text for _, text in sorted(out)]


def _bandpass(context: Context, clean: float) -> str:
    """Return the keys that limit traces and a Ricker wavelet to a frequency, Hz; empty where traces hold no more.

    With the wavelet alone, the traces would hold frequencies that it lacks. A filter of zero phase leaves the peak of a
    pulse at its time, and so does t0, which follows f0 where it is not given.
    """
    assert context.wavelet is not None
    band = math.floor(clean)
    if context.survey is None or context.survey.reader is None or band < LOWEST_BAND or _in_feet(context):
        return ""
    if passed(context, np.array([1.2 * clean]))[0] < STOPPED:
        return ""
    f0 = _down(context.wavelet.f0 * band / context.wavelet.fmax)
    corners = f"[2, 4, {round(0.7 * band)}, {band}]"
    t0 = f"t0 = {context.wavelet.peak_time:.3g}"
    return f'[[signal]] step = "bandpass", corners = {corners}, [source] f0 = {f0:g}, {t0}'


def _in_feet(context: Context) -> str:
    """Return the model's tables with its lengths in feet; empty unless the survey then spans most of the model."""
    feet = in_feet(context)
    if not feet:
        return ""
    assert context.model is not None
    assert context.survey is not None
    lay = SurveyExtent.of(context.survey, context.model.grid)
    span, whole = np.ptp(np.concatenate([lay.src, lay.rcv]), axis=0), FOOT * (lay.high - lay.low)
    return feet if all(span[i] >= MOST_OF_MODEL * whole[i] for i in lay.axes) else ""


def _down(value: float) -> float:
    """Return a positive number rounded down to three digits."""
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return math.floor(value * scale) / scale


def _needed(context: Context, stencil: Stencil, tilted: bool) -> Needed | None:
    """Return the points per shortest wavelength by what takes them, where a grid was chosen by an accuracy."""
    if context.accuracy is None or context.computed is None:
        return None
    assert context.wavelet is not None
    imaging = not context.modelling
    return points_needed(stencil, tilted, context.accuracy, context.wavelet, imaging=imaging)


@rule("spectrum", "wavelet")
def zero_mean(context: Context) -> Iterator[Finding]:
    """A wavelet with a mean: its zero frequency stays in the model as a static load."""
    assert context.wavelet is not None
    ratio = context.wavelet.mean_ratio
    if ratio > 0.05:
        yield warning(
            "W535",
            f"the wavelet has a mean ({ratio:.1%} of its absolute sum), which does not travel but stays at "
            "the source",
            "estimate it with subsalt wavelet, which leaves noise below the signal out; or subtract the mean from the "
            "file",
            ratio=ratio,
        )


def passed(context: Context, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the power at frequencies, Hz, that the filters among the steps on the traces let pass."""
    out = np.ones_like(f)
    for made in (
        getattr(getattr(context.survey.reader, "flow", None), "operators", ()) if context.survey else ()
    ):
        if (taps := getattr(getattr(made, "filter", None), "taps", None)) is not None:
            at = np.fft.rfftfreq(len(taps), made.time.dt)
            out *= np.interp(f, at, np.abs(np.fft.rfft(taps)), right=0.0) ** 2
    return out


#: swell lies below this frequency, Hz; its power is measured where so many of its periods come before any arrival
SWELL, PERIODS = 5.0, 2.0


def _swell(
    context: Context, item: SampledShot, rows: NDArray[np.int64], data: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean power (nf,) of the swell in traces, as they hold it before any wave can arrive."""
    nt = data.shape[1]
    assert context.survey is not None
    none = np.zeros(nt // 2 + 1)
    time, model = context.survey.time, context.velocity
    if model is None or nt != time.nt:
        return none
    apart = np.sqrt(((item.shot.rcv[rows] - item.shot.src) ** 2).sum(axis=1))
    quiet = ((apart / model.fastest - time.t0) / time.dt).astype(int)
    use = quiet * time.dt >= PERIODS / SWELL
    if not use.any():
        return none
    spectra = []
    for trace, n in zip(data[use], np.minimum(quiet[use], nt), strict=True):
        window = np.hanning(n + 2)[1:-1]
        spectra.append(np.abs(np.fft.rfft(trace[:n] * window, nt)) ** 2 * nt / (window**2).sum())
    return np.where(np.fft.rfftfreq(nt, time.dt) <= SWELL, np.mean(spectra, axis=0), 0.0)


def power_of_data(context: Context) -> tuple[NDArray[np.float64], NDArray[np.float64], float] | None:
    """Return frequencies (Hz), the mean power there of traces of equal level, and where it peaks; None without data.

    It is the power without swell, as far as traces tell it, after the filters among the steps on the traces, since
    the wavelet is that of filtered traces.
    """
    if context.survey is None:
        return None
    total = None
    for item in context.samples:
        rows = np.arange(len(item.data))[:: max(1, len(item.data) // 64)]
        data = item.data[rows].astype(np.float64)
        level = np.sqrt((data**2).mean(axis=1, keepdims=True))
        data = np.divide(data, level, out=np.zeros_like(data), where=level > 0)
        power = (np.abs(np.fft.rfft(data, axis=1)) ** 2).sum(axis=0)
        power = np.maximum(power - len(rows) * _swell(context, item, rows, data), 0.0)
        total = power if total is None or len(total) != len(power) else total + power
    if total is None or not np.isfinite(total).all() or total.sum() <= 0:
        return None
    f = np.fft.rfftfreq(context.survey.time.nt, context.survey.time.dt).astype(np.float64)
    if len(f) != len(total):
        return None
    total = total * passed(context, f)
    if total.sum() <= 0:
        return None
    return f, total, float(f[int(np.argmax(np.convolve(total, np.ones(5), "same")))])


def ricker_of(f: NDArray[np.float64], power: NDArray[np.float64], peak: float) -> float:
    """Return the peak frequency of the Ricker wavelet whose mean frequency a spectrum has around its peak, Hz."""
    band = (f >= 0.3 * peak) & (f <= 2.5 * peak)
    mean = float((f[band] * power[band]).sum() / power[band].sum())
    # power (w/w0)^4 exp(-2 (w/w0)^2): the mean is gamma(3) / gamma(5/2) / sqrt(2) of the peak
    return max(1.0, mean / 1.064)


def frequency_by_data(context: Context) -> str:
    """Return the peak frequency that the data have as the beginning of a cure; empty where the wavelet has it."""
    by_data = _peak_by_data(context)
    if by_data is None:
        return ""
    return f"by the data, which peak at {by_data[0]:.3g} Hz: [source] f0 = {by_data[1]:.2g}; else "


def _peak_by_data(context: Context) -> tuple[float, float] | None:
    """Return where data peak that lie below the band of the wavelet, and the f0 that they take, Hz; else None."""
    power = power_of_data(context)
    # the pulse of a line source, or one absorbed on its way, peaks lower than its wavelet by a quarter or a third
    if power is None or context.wavelet is None or not 1.0 <= power[2] < context.wavelet.f0 / 1.6:
        return None
    return power[2], ricker_of(*power)


@rule("spectrum", "samples", "wavelet", "survey")
def data_band(context: Context) -> Iterator[Finding]:
    """Data whose energy lies above the wavelet's band, where the wavelet has none."""
    assert context.wavelet is not None
    power = power_of_data(context)
    if power is None:
        return
    f, total, peak = power
    meant = f"[source] f0 = {ricker_of(*power):.2g}" if peak > 0 else "check the sampling interval"
    above = float(total[f > context.wavelet.fmax].sum() / total.sum())
    context.facts |= {"data_peak_frequency": peak, "data_energy_above_fmax": above}
    if above > 0.6 or (above > 0.4 and peak > context.wavelet.fmax):
        yield warning(
            "W536",
            f"{above:.0%} of the data's energy lies above {context.wavelet.fmax:g} Hz, where the wavelet "
            "has none "
            f"(the data peak at {peak:.3g} Hz)",
            f"{meant}; or check the sampling interval",
            share=above,
            peak=peak,
        )
    f0 = context.wavelet.f0
    inside = float(total[(f >= 0.5 * f0) & (f <= context.wavelet.fmax)].sum() / total.sum())
    # the recorded pulse of a wavelet peaks between half its frequency (a line source, absorption) and twice (ghosts):
    # three times is beyond both; first breaks may have said that the interval is wrong
    wrong_interval = "interval" in context.facts.get("first_breaks", {}).get("verdicts", {})
    if 0 < peak < f0 / 3 and inside < 0.25 and not wrong_interval:
        yield warning(
            "W357",
            f"the data peak at {peak:.3g} Hz, the wavelet at {f0:.3g} Hz; {inside:.0%} of the data's energy lies "
            f"between {0.5 * f0:.3g} and {context.wavelet.fmax:.3g} Hz",
            meant + ("; a frequency in mHz or kHz needs its unit" if f0 > 100 * peak else ""),
            share=inside,
            peak=peak,
        )
