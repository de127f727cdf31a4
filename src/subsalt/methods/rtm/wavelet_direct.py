"""The source wavelet of a job from the direct waves of its traces, one for all shots, with the quality of each shot.

First a sample of the shots is looked at: dominant period, when first breaks come after the traveltime of the direct
wave, and for how long that is the only wave. From these follow start and length of the wavelet, and whether the
velocity is that of the first breaks. Then all shots are read, one after the other; of each three sums remain
(`subsalt.acquisition.source_shape`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition import wavelet as wavelets
from subsalt.acquisition.first_breaks import dominant_period, spread
from subsalt.acquisition.source_shape import DirectWaves, ShotFit, ShotSums, common_shape
from subsalt.acquisition.survey import Shot
from subsalt.analytic import direct_wave
from subsalt.analytic.direct_wave import FEWEST_TRACES, Aligned, DirectWave
from subsalt.errors import ConfigError, DataError, SubsaltError
from subsalt.methods.rtm.wavelet_band import MEAN, explained, faded, mean_ratio, noisy_to, without_noise_below
from subsalt.methods.rtm.wavelet_ghosts import Both, compared
from subsalt.methods.rtm.wavelet_job import (
    PERIODS,
    SAMPLE,
    TRACES,
    Progress,
    SourceWavelet,
    WaveletOptions,
    conditioned,
    dimension,
    through_steps,
)

if TYPE_CHECKING:
    from subsalt.earth.model_like import ModelLike
    from subsalt.methods.rtm.job import Job

#: dominant periods that a wavelet has at least
FEWEST_PERIODS = 2.0
#: misfit of the model's moveout to that of first breaks over the offsets used, in dominant periods
MISFIT = 0.5
#: samples of the spectra of direct waves over those of the wavelet
SPECTRUM = 8
#: share of the shots that has to fit one wavelet
MOST = 0.5


class _Survey:
    """The shots of a job with what is known of their direct waves.

    Parameters
    ----------
    job : Job
        With `[data]`.
    options : WaveletOptions
        Options of the estimate.
    """

    def __init__(self, job: Job, options: WaveletOptions) -> None:
        self.options = options
        self.survey, self.facts = conditioned(job, job.signal_source())
        if self.survey.surface is not None:
            raise ConfigError(
                "the direct wave below topography is not modelled: its ghosts come from a surface that is no plane",
                "take the wavelet from a file, or by its spectrum; or leave [propagation.topography] out",
                code="E754",
            )
        self.model: ModelLike = job.open_model()
        free = job.propagation.free_surface if options.free_surface is None else options.free_surface
        self.surface = self.model.grid.origin3[2] if free else None
        self.ndim = dimension(job, self.survey, options)
        self.wave = DirectWave(self.ndim, self.surface, 0.0, 0)
        #: the other reading of the ghosts, tried beside; None where sources or receivers lie on the surface itself
        self.other: DirectWave | None = None

    def try_the_other(self) -> None:
        """Take the other reading of the ghosts for a second estimate."""
        top = self.model.grid.origin3[2]
        depth = min(min(float(s.src[2]), float(s.rcv[:, 2].min(initial=math.inf))) for s in self.survey.shots)
        if depth > top:
            self.other = replace(self.wave, surface=top if self.surface is None else None)

    def depths(self) -> tuple[float, float]:
        """Return the depths of sources and receivers below the top of the model, m, medians."""
        top = self.model.grid.origin3[2]
        rcv = [float(np.median(s.rcv[:, 2])) for s in self.survey.shots if len(s.rcv)]
        return float(np.median([s.src[2] for s in self.survey.shots])) - top, float(np.median(rcv)) - top

    def velocity(self, shot: Shot) -> float:
        """Return the velocity of the direct wave of a shot, m/s."""
        if self.options.velocity is not None:
            return self.options.velocity
        around = np.concatenate([shot.src[None], shot.rcv])
        return float(np.median(self.model.at(around)))

    def rows(self, shot: Shot) -> NDArray[np.int64]:
        """Return the traces of a shot within the offsets that are asked for, off the source."""
        x = shot.offset
        near, far = self.options.offsets or (0.0, math.inf)
        apart = np.sqrt(((shot.rcv - shot.src) ** 2).sum(axis=1)) > 0
        return np.flatnonzero((x >= near) & (x <= far) & apart)

    def alone(self, shot: Shot, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for how long after its traveltime the direct wave is the only one, s, (n,)."""
        v = self.velocity(shot)
        direct, mirrored = self.wave.distances(shot, rows)
        last = direct if mirrored is None else mirrored
        end = self.survey.time.duration - last / v
        if self.options.offsets is not None:
            return end
        return np.minimum(end, direct_wave.other_arrivals(self.model, shot, rows, v) - last / v)

    def chosen(self, shot: Shot) -> NDArray[np.int64]:
        """Return the traces of a shot that are used: those in which the direct wave is alone for its length."""
        rows = self.rows(shot)
        w, dt = self.wave, self.survey.time.dt
        end = self.survey.time.duration
        # what arrives later is as long as the direct wave, and begins as early
        long = (w.n - 1) * dt + (w.start if self.options.offsets is not None else 0.0)
        rows = rows[self.alone(shot, rows) >= long]
        direct, _ = w.distances(shot, rows)
        rows = rows[direct / self.velocity(shot) + w.start + (w.n - 1) * dt <= end]
        return rows[spread(len(rows), TRACES)] if len(rows) else rows


def from_direct_waves(job: Job, options: WaveletOptions, progress: Progress | None = None) -> SourceWavelet:
    """Return the wavelet whose direct waves are those of the traces of a job, read shot by shot.

    Raises
    ------
    DataError
        E855: longer than the records; E856: no shot with enough traces that show their direct wave alone; E857: the
        velocity is not that of the first breaks; E858: the shots do not have one wavelet.
    """
    its = _Survey(job, options)
    its.facts |= {
        "spreading": f"{its.ndim}-D",
        "free_surface": its.surface is not None,
        "depths_m": its.depths(),
    }
    _settle(its)
    its.try_the_other()
    sums, others, early, example = _gathered(its, progress)
    if not sums:
        raise _no_traces(its, early)
    shape, fits = common_shape(sums)
    ghosts = compared(fits, others, its.surface is not None)
    its.facts["ghosts"] = vars(ghosts) if ghosts else None
    _require_one(fits, ghosts)
    its.facts["traces_left_out"] = {k: n for k, n in sum((e[1] for e in early), Counter()).items() if n}
    left = [ShotFit(shot, 0, 0.0, 0.0, 1.0, reason) for shot, _, reason in early if reason]
    order = {s.id: i for i, s in enumerate(its.survey.shots)}
    shots = sorted([*fits, *left], key=lambda s: order[s.shot])
    values, its.facts["low_cut_hz"] = _low_cut(its, job, shape, sums, fits)
    w = wavelets.from_samples(values, its.survey.time.dt, its.wave.start, name="direct waves")
    shown = _example(example, values, fits, its)
    return SourceWavelet(through_steps(w, job), "direct waves", its.facts, shots, shown)


def _settle(its: _Survey) -> None:
    """Find start and length of the wavelet and hold the velocity against the first breaks, on a sample of the shots."""
    time, options = its.survey.time, its.options
    if options.length is not None and options.length >= time.duration - time.t0:
        raise DataError(
            f"a wavelet of {options.length:g} s is longer than the records, {time.duration - time.t0:.4g} s",
            f'give its own length: --length 0.2, or --length "{options.length:g} ms" if that was meant',
            code="E855",
        )
    looked = [its.survey.shots[i] for i in spread(len(its.survey.shots), SAMPLE)]
    looks = [one for shot in looked if (one := _look(its, shot)) is not None]
    if not looks:
        raise _no_traces(its, [])
    period = float(np.median([one.period for one in looks]))
    onset = np.concatenate([one.onset for one in looks])
    onset = onset[np.isfinite(onset)]
    early = float(np.median(onset)) if len(onset) else 0.0
    start = options.start if options.start is not None else early - 0.5 * period
    room = float(np.median([one.room for one in looks]))
    length = options.length or min(PERIODS * period, room)
    its.facts |= {
        "period_s": period,
        "onset_s": early if len(onset) else None,
        "velocity_m_per_s": float(np.median([one.velocity for one in looks])),
    }
    if length < FEWEST_PERIODS * period and options.length is None:
        raise DataError(
            f"the direct wave is alone for {1e3 * room:.0f} ms in the median shot, {room / period:.1f} periods of "
            f"{1e3 * period:.0f} ms: too short for a wavelet",
            "name traces and length: --offsets 0:500 --length 0.1; or give a model with the right water depth; or use "
            "--signature or --phase",
            code="E856",
        )
    n = max(2, round(length / time.dt) + 1)
    its.wave = replace(its.wave, start=time.dt * math.floor(start / time.dt + 1e-6), n=n)
    _require_velocity(its, looks, period)


@dataclass(frozen=True)
class _Look:
    """Look at a shot of the sample: dominant period, onsets after traveltimes, how long direct waves are alone."""

    period: float
    onset: NDArray[np.float64]
    distance: NDArray[np.float64]
    travel: NDArray[np.float64]
    room: float
    velocity: float


def _look(its: _Survey, shot: Shot) -> _Look | None:
    """Return what a shot says; None when it has too few traces, or cannot be read."""
    rows = its.rows(shot)
    if len(rows) < FEWEST_TRACES:
        return None
    room = its.alone(shot, rows)
    best = np.sort(room)[-min(2 * FEWEST_TRACES, len(room))]
    rows = rows[room >= min(best, 0.5 * room.max())]
    rows = rows[spread(len(rows), TRACES)]
    try:
        data = its.survey.traces(shot, rows)
    except SubsaltError:
        return None
    live = np.isfinite(data).all(axis=1) & data.any(axis=1)
    if live.sum() < FEWEST_TRACES or best <= 0:
        return None
    rows, data = rows[live], data[live]
    v = its.velocity(shot)
    period = dominant_period(data, its.survey.time.dt)
    distance, _ = its.wave.distances(shot, rows)
    end = distance / v + its.alone(shot, rows)
    onset = direct_wave.onsets(data, its.survey.time, distance / v, end, period)
    return _Look(period, onset, distance, distance / v, float(best), v)


def _require_velocity(its: _Survey, looks: list[_Look], period: float) -> None:
    """Raise when first breaks move out with another velocity than the direct wave is modelled with."""
    slopes, spans = [], []
    for one in looks:
        use = np.isfinite(one.onset)
        slowness = direct_wave.moveout(one.distance[use], (one.onset + one.travel)[use])
        if slowness is not None and use.mean() >= 0.6:
            slopes.append(slowness - 1.0 / one.velocity)
            spans.append(float(np.ptp(one.distance[use])))
    if not slopes:
        its.facts["first_break_velocity_m_per_s"] = None
        return
    v = its.facts["velocity_m_per_s"]
    slope, span = float(np.median(slopes)), float(np.median(spans))
    measured = 1.0 / v + slope
    seen = 1.0 / measured if measured > 0 else math.inf
    its.facts["first_break_velocity_m_per_s"] = seen if math.isfinite(seen) else None
    if abs(slope) * span <= MISFIT * period:
        return
    where = "--velocity" if its.options.velocity is not None else "[model] vp at sources and receivers"
    raise DataError(
        f"first breaks of {len(slopes)} shots move out with {seen:.0f} m/s, {where} is {v:.0f} m/s: over "
        f"{span:.0f} m of offset that is {1e3 * abs(slope) * span:.0f} ms, and the dominant period is "
        f"{1e3 * period:.0f} ms",
        f"--velocity {seen:.0f} if these are direct waves; else name the offsets where direct waves come first "
        "(--offsets 0:500), or correct the model",
        code="E857",
    )


Early = tuple[int, Counter[str], str]


def _gathered(
    its: _Survey, progress: Progress | None
) -> tuple[list[ShotSums], list[ShotSums], list[Early], tuple[Shot, Aligned] | None]:
    """Return the sums of all shots with enough traces, and those of the other reading of the ghosts; traces left out
    of every shot, and why it is not there.
    """
    sums: list[ShotSums] = []
    others: list[ShotSums] = []
    early: list[Early] = []
    example: tuple[int, Aligned] | None = None
    shots = its.survey.shots
    for i, shot in enumerate(shots):
        counts: Counter[str] = Counter()
        rows, reason = its.chosen(shot), ""
        if len(rows) < FEWEST_TRACES:
            reason = f"{len(rows)} traces show their direct wave alone"
        else:
            try:
                data = its.survey.traces(shot, rows)
            except SubsaltError as error:
                reason = f"cannot be read: {error.message}"
        if not reason:
            made, out = _of_shot(its, its.wave, shot, rows, data)
            counts.update(out)
            if its.other is not None:
                second, _ = _of_shot(its, its.other, shot, rows, data)
                if len(second.rows) >= FEWEST_TRACES:
                    others.append(second.sums(shot.id, its.wave.n))
            if len(made.rows) < FEWEST_TRACES:
                reason = f"{len(made.rows)} of {len(rows)} traces look alike"
            else:
                spectrum = (np.abs(np.fft.rfft(made.traces, SPECTRUM * its.wave.n, axis=1)) ** 2).sum(axis=0)
                sums.append(replace(made.sums(shot.id, its.wave.n), spectrum=spectrum))
                if example is None or abs(i - len(shots) // 2) < abs(example[0] - len(shots) // 2):
                    example = (i, made)
        early.append((shot.id, counts, reason))
        if progress is not None:
            progress(i + 1, len(shots), f"shot {shot.id}")
    return sums, others, early, None if example is None else (shots[example[0]], example[1])


def _of_shot(
    its: _Survey, wave: DirectWave, shot: Shot, rows: NDArray[np.int64], data: NDArray[np.float32]
) -> tuple[Aligned, dict[str, int]]:
    """Return the direct waves of a shot that look alike, and how many traces were left out, by reason."""
    made = direct_wave.aligned(wave, shot, rows, np.nan_to_num(data), its.survey.time, its.velocity(shot))
    return direct_wave.chosen(made, shot.id, wave.n)


def _no_traces(its: _Survey, early: list[Early]) -> DataError:
    """Return the error of a survey without a shot that has enough traces, with the reasons of a few shots."""
    shots = its.survey.shots
    nearest = min((float(s.offset.min()) for s in shots if len(s.rcv)), default=0.0)
    farthest = max((float(s.offset.max()) for s in shots if len(s.rcv)), default=0.0)
    why = Counter(reason for _, _, reason in early if reason)
    most_often = f"; most often: {why.most_common(1)[0][0]}" if why else ""
    limits = ""
    if its.options.offsets is not None:
        limits = f" and --offsets asks for {its.options.offsets[0]:g} to {its.options.offsets[1]:g} m"
    length = (
        f" for the {1e3 * (its.wave.n - 1) * its.survey.time.dt:.0f} ms of the wavelet" if its.wave.n else ""
    )
    return DataError(
        f"none of {len(shots)} shots has {FEWEST_TRACES} traces that show their direct wave alone{length}: offsets are "
        f"{nearest:.0f} to {farthest:.0f} m{limits}{most_often}",
        "choose offsets (--offsets 0:500) and a shorter --length; without direct waves use --signature or --phase",
        code="E856",
    )


def _low_cut(
    its: _Survey, job: Job, shape: NDArray[np.float64], sums: list[ShotSums], fits: list[ShotFit]
) -> tuple[NDArray[np.float64], float | None]:
    """Return the wavelet, faded and without the noise of its low end, and the frequency of the low cut, Hz."""
    size, dt = SPECTRUM * its.wave.n, its.survey.time.dt
    traces = sum(s.traces for s in fits if not s.reason)
    noisy = noisy_to(*explained(shape, sums, fits, size), max(1, traces), size, dt, its.wave.n * dt)
    values = faded(shape)
    filtered = through_steps(wavelets.from_samples(values, dt, its.wave.start), job)
    if noisy is None and mean_ratio(filtered.samples) <= MEAN:
        # filters among the steps take a mean out
        return values, None
    return without_noise_below(values, dt, noisy)


def _require_one(fits: list[ShotFit], ghosts: Both | None) -> None:
    """Raise when too few shots have the common wavelet."""
    good = [s for s in fits if not s.reason]
    if len(good) >= MOST * len(fits) and good:
        return
    middle = float(np.median([abs(s.correlation) for s in fits]))
    reason = next(s for s in fits if s.reason)
    other = ""
    if ghosts is not None and ghosts.wanted is not None and ghosts.wanted != ghosts.used:
        option = "--free-surface" if ghosts.wanted else "--no-free-surface"
        other = f"{option}: {ghosts.said()}; else "
    raise DataError(
        f"{len(good)} of {len(fits)} shots have one wavelet; the median correlation with it is {middle:.3f}; shot "
        f"{reason.shot}: {reason.reason}",
        f"{other}look at the direct waves (subsalt view FILE); name offsets where they are clear (--offsets), say "
        "whether the records contain the ghost (--free-surface), or take shots of one source (--shots)",
        code="E858",
    )


def _example(
    made: tuple[Shot, Aligned] | None, shape: NDArray[np.float64], fits: list[ShotFit], of: _Survey
) -> DirectWaves | None:
    """Return a shot for the picture, modelled with its scale."""
    if made is None:
        return None
    shot, its = made
    scale = next(s.scale for s in fits if s.shot == shot.id)
    begin, dt = of.wave.start, of.survey.time.dt
    return DirectWaves(shot.id, shot.offset[its.rows], begin, dt, its.traces, scale * its.modelled(shape))
