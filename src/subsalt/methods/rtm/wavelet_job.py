"""The source wavelet of a job: from direct waves, from a signature in a file, or from the spectrum of its traces.

What is estimated is the source function s of ``(1/v^2) p_tt - lap p = s(t) delta(x - x_s)``, as `[source]` takes it:
put there, it models the direct waves of the traces with their amplitudes. It is the same function for a point and for a
line source, so that traces which `to2d` will turn into those of line sources are compared with waves in 3-D.

Direct waves are looked at before the filters among the steps of `[[signal]]`, which would spread stronger waves over
them; filters act on the wavelet instead, which is the same. Steps that would spoil direct waves (`spoils`) are left
out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition import wavelet as wavelets
from subsalt.acquisition.first_breaks import dominant_period, spread
from subsalt.acquisition.source_shape import DirectWaves, ShotFit
from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.errors import DataError, MissingInputError
from subsalt.io.publish import publish_text
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.designature import Designature
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.gain import Gain
from subsalt.job.signal.mute import Mute
from subsalt.job.signal.resample import Resample
from subsalt.job.signal.shift import Shift
from subsalt.job.signal.step import Headers, Step
from subsalt.job.signal.to2d import To2d
from subsalt.job.signal.traces import TreatedReader, recorded, treated
from subsalt.methods.rtm.wavelet_band import faded, without_noise_below
from subsalt.numerics import filters

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: shots and traces of each that are looked at before all shots are read
SAMPLE, TRACES = 40, 64
#: length of a wavelet in dominant periods, unless it is given
PERIODS = 4.0
#: width over which spectra are smoothed, Hz
SMOOTH = 3.0

Progress = Callable[[int, int, str], None]
Phase = Literal["zero", "minimum"]


@dataclass(frozen=True)
class WaveletOptions:
    """Options for an estimate from direct waves; those that are None are estimated.

    Parameters
    ----------
    velocity : float, optional
        Velocity of the direct wave, m/s; that of the model at source and receivers when None.
    offsets : (float, float), optional
        Smallest and largest horizontal offset of traces, m; those whose direct wave comes alone when None.
    start, length : float, optional
        Time of the first sample of the wavelet, and its length, s.
    free_surface : bool, optional
        Whether the records contain the ghost of a free surface; as ``[propagation] free_surface`` when None.
    spreading : {"auto", "2d", "3d"}
        Dimension in which the waves of the records spread; auto: that of the survey, 3-D where the job has a step
        `to2d`.
    """

    velocity: float | None = None
    offsets: tuple[float, float] | None = None
    start: float | None = None
    length: float | None = None
    free_surface: bool | None = None
    spreading: Literal["auto", "2d", "3d"] = "auto"


@dataclass(frozen=True, eq=False)
class SourceWavelet:
    """A wavelet for `[source]`, and how good it is.

    Parameters
    ----------
    wavelet : Wavelet
        The source function.
    way : str
        ``"direct waves"``, ``"signature"`` or ``"spectrum"``.
    facts : dict
        Values that were estimated and used on the way.
    shots : list of ShotFit
        Quality per shot, of direct waves.
    example : DirectWaves, optional
        For the picture.
    """

    wavelet: Wavelet
    way: str
    facts: dict[str, Any]
    shots: list[ShotFit] = field(default_factory=list)
    example: DirectWaves | None = None

    @property
    def used(self) -> list[ShotFit]:
        """The shots that fit."""
        return [s for s in self.shots if not s.reason]

    def to_dict(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        w = self.wavelet
        out: dict[str, Any] = {
            "way": self.way,
            "samples": w.nt,
            "dt": w.dt,
            "t0": w.t0,
            "peak_time_s": w.peak_time,
            "peak": float(np.abs(w.samples).max()),
            "f0_hz": w.f0,
            "fmax_hz": w.fmax,
            "mean_ratio": w.mean_ratio,
            **self.facts,
        }
        if self.shots:
            used = self.used
            residual = float(np.sqrt(np.mean([s.residual**2 for s in used])))
            out |= {
                "shots_used": len(used),
                "residual": residual,
                "correlation": math.sqrt(max(0.0, 1.0 - residual**2)),
                "shots": [vars(s) for s in self.shots],
            }
        return out


def write(made: SourceWavelet, path: Path) -> Path:
    """Write the wavelet as times and values, as ``[source] file`` takes it."""
    return write_samples(made.wavelet, f"source function from {made.way}", path)


def write_samples(w: Wavelet, what: str, path: Path) -> Path:
    """Write a wavelet as times and values."""
    rows = [f"{t:.9g} {v:.9e}" for t, v in zip(w.times(), w.samples, strict=True)]
    head = f"# {what}: time (s), value; {w.nt} samples of {1e3 * w.dt:g} ms"
    publish_text(path, "\n".join([head, *rows, ""]))
    return path


# -- the traces


def spoils(step: Step) -> str:
    """Return why a step would spoil direct waves; an empty text when it would not."""
    if isinstance(step, Mute):
        return "it would take direct waves out"
    if isinstance(step, Gain):
        return "it changes amplitudes with time"
    if isinstance(step, To2d):
        return "waves are modelled in 3-D instead, of the same source"
    if isinstance(step, Shift) and step.datum is not None:
        return "it moves reflections to a datum, not direct waves"
    return ""


def is_filter(step: Step) -> bool:
    """Return whether a step does to a wavelet what it does to a trace, wherever the wavelet comes."""
    alike = (Bandpass, Designature, Resample)
    return isinstance(step, alike) or (isinstance(step, Shift) and step.time is not None)


def conditioned(job: Job, survey: Survey) -> tuple[Survey, dict[str, Any]]:
    """Return the survey with the steps that act on single traces, and what becomes of which step."""
    if not isinstance(survey.reader, TreatedReader):
        return survey, {"steps": [], "filters": [], "steps_left_out": []}
    flow = survey.reader.flow
    steps = [step for step in flow.steps if not spoils(step) and not is_filter(step)]
    said = {
        "steps": [step.label() for step in steps],
        "filters": [step.label() for step in flow.steps if is_filter(step)],
        "steps_left_out": [f"{step.label()}: {why}" for step in flow.steps if (why := spoils(step))],
    }
    plain = replace(recorded(survey), reader=survey.reader.inner)
    if not steps:
        return plain, said
    return treated(plain, Flow(steps, plain.time, lambda name, key: job.resolve(name))), said


def dimension(job: Job, survey: Survey, options: WaveletOptions) -> int:
    """Return the dimension in which the waves of the records spread."""
    if options.spreading != "auto":
        return 2 if options.spreading == "2d" else 3
    return 3 if survey.ndim == 3 or any(isinstance(s, To2d) for s in job.signal or []) else 2


# -- from a file, and from the spectrum


def from_signature(job: Job, file: Path, dt: float | None = None) -> SourceWavelet:
    """Return the wavelet of a far-field signature: amplitude times distance, as pressure at one metre.

    A point source sends out s(t - r / v) / (4 pi r), so that s is 4 pi times the signature. Filters among the steps of
    the job act on it as they act on the traces.
    """
    if not file.exists():
        raise MissingInputError(f"the signature {file} does not exist", "correct --signature", code="E116")
    made = wavelets.from_file(file, dt)
    survey = job.signal_source()
    time = recorded(survey).time
    if made.duration - made.t0 >= time.duration - time.t0:
        raise DataError(
            f"the signature of {file} is {made.duration - made.t0:.4g} s long, the records "
            f"{time.duration - time.t0:.4g} s",
            "give the signature alone, with its times in seconds",
            code="E855",
        )
    w = through_steps(made.scaled(4.0 * math.pi), job)
    facts = {"file": str(file), "filters": [s.label() for s in job.signal or [] if is_filter(s)]}
    return SourceWavelet(w, "signature", facts)


def through_steps(w: Wavelet, job: Job) -> Wavelet:
    """Return a wavelet after the filters among the steps of a job, at the interval of its records; as it is without."""
    steps = [step for step in job.signal or [] if is_filter(step)]
    if not steps:
        return w
    time = recorded(job.signal_source()).time
    return _through(w, Flow(steps, _room(w, time.dt), lambda name, key: job.resolve(name)))


def _room(w: Wavelet, dt: float) -> TimeAxis:
    """Return the samples of a wavelet at the interval of the records, with its own length free on both sides."""
    long = w.duration - w.t0
    first = dt * math.floor((w.t0 - long) / dt)
    return TimeAxis(math.ceil((w.duration + long - first) / dt) + 1, dt, first)


def _through(w: Wavelet, flow: Flow) -> Wavelet:
    """Return a wavelet after filters, cut where it has ended."""
    from subsalt.acquisition.timemap import TraceMap

    axis = flow.time
    samples = TraceMap(w.nt, w.dt, w.t0, axis.nt, axis.dt, axis.t0).apply(w.samples[None])
    out = flow.apply(samples, Headers(np.zeros(1, np.int64), np.zeros(1)))[0]
    live = np.flatnonzero(np.abs(out) > 1e-3 * np.abs(out).max())
    cut = slice(int(live[0]), int(live[-1]) + 1)
    first = flow.out.t0 + flow.out.dt * cut.start
    return wavelets.from_samples(out[cut], flow.out.dt, first, name=w.name)


def from_spectrum(job: Job, phase: Phase, options: WaveletOptions) -> SourceWavelet:
    """Return the wavelet with the mean amplitude spectrum of the traces and a chosen phase, its peak 1.

    The spectrum of the earth's response is taken as white, which reflections are on the whole; a wavelet of a 2-D job
    without `to2d` is the spectrum of a line source's wave, times the root of the frequency.
    """
    survey, facts = conditioned(job, job.signal_source())
    looked = [survey.shots[i] for i in spread(len(survey.shots), SAMPLE)]
    f = np.fft.rfftfreq(survey.time.nt, survey.time.dt)
    power, period, count = np.zeros(len(f)), [], 0
    for shot in looked:
        rows = spread(len(shot.rcv), TRACES)
        data = np.nan_to_num(survey.traces(shot, rows).astype(np.float64)) if len(rows) else np.zeros((0, 1))
        level = np.sqrt((data**2).mean(axis=1, keepdims=True))
        data = data[level[:, 0] > 0] / level[level[:, 0] > 0]
        if len(data):
            period.append(dominant_period(data.astype(np.float32), survey.time.dt))
            power = power + (np.abs(np.fft.rfft(data, axis=1)) ** 2).sum(axis=0)
            count += len(data)
    if not count:
        raise DataError(
            f"all traces of {len(looked)} shots are zero", "check files and steps of the job", code="E856"
        )
    width = max(1, round(SMOOTH / f[1]))
    amplitude = np.sqrt(np.convolve(power, np.hanning(2 * width + 3), "same"))
    ndim = dimension(job, survey, options)
    if ndim == 2:
        amplitude = amplitude * np.sqrt(f)
    length = options.length or PERIODS * float(np.median(period))
    n = max(4, round(length / survey.time.dt))
    half = n // 2 + 1 if phase == "zero" else n

    def wanted(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.interp(at, f, amplitude)

    made = (filters.zero_phase if phase == "zero" else filters.minimum_phase)(wanted, half, survey.time.dt)
    values, low = without_noise_below(faded(made.taps, both=phase == "zero"), survey.time.dt)
    w = wavelets.from_samples(values, survey.time.dt, made.first * survey.time.dt, name=f"{phase} phase")
    w = through_steps(w, job)
    w = w.scaled(1.0 / float(np.abs(w.samples).max()))
    facts |= {"phase": phase, "traces": count, "spreading": f"{ndim}-D", "low_cut_hz": low}
    return SourceWavelet(w, "spectrum", facts)


def lines_for_job(path: Path, job: Job, made: SourceWavelet) -> list[str]:
    """Return the lines of `[source]` that take a written wavelet, and the free surface it was estimated with."""
    name = Path(os.path.relpath(path, job.base)).as_posix()
    lines = ["[source]", 'wavelet = "file"', f'file = "{name}"']
    surface = made.facts.get("free_surface")
    if surface is not None and surface != job.propagation.free_surface:
        lines += ["[propagation]", f"free_surface = {str(surface).lower()}"]
    return lines
