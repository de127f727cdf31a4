"""Images of the small surveys, and whether that of a cured job is that of the clean survey treated alike.

A cure may leave traces out, set them to zero, or narrow the band: that is no fault, for it is said. So the clean survey
is migrated with the same traces left out, with the same keys of treatment and over the same times, and only then are
images compared.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from planted.surveys import Case
from planted.truth import ALIKE, CLOSE, rows_of, truth
from subsalt.job.cures import Key, put
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.traces import end_taper

#: correlation from which on two images are the same
SAME = 0.98
#: tables of the job whose keys treat all surveys alike, and do not say what a survey is
TREATMENT = ("imaging", "propagation", "kirchhoff", "signal", "data.bandpass", "data.mute", "data.amplitudes")
#: of these tables, what says where things are or what a medium is
FACTS = ("topography", "medium", "inline", "crossline", "corners", "origin", "azimuth", "spacing", "velocity")
#: rows of an image weaker than this part of the strongest are not raised further when rows are made even
FLOOR = 0.05


def treatment_of(cure: list[Key]) -> list[Key]:
    """Return the keys of a cure that treat any survey alike."""
    return [
        k
        for k in cure
        if any(f"{k.section}.{k.key}.".startswith(f"{name}.") for name in TREATMENT)
        and k.key.split(".")[0] not in FACTS
        and k.section.rpartition(".")[2] not in FACTS
    ]


def treated(case: Case, cure: list[Key]) -> Case:
    """Return the case with the keys of a cure that treat any survey alike."""
    job = copy.deepcopy(case.job)
    put(job, treatment_of(cure))
    return replace(case, job=job, name="treated.toml")


def image_of(
    job, held, rows: np.ndarray, live: np.ndarray, grid=None
) -> tuple[np.ndarray, tuple[float, ...], int]:
    """Migrate a job.

    Parameters
    ----------
    job : Job or KirchhoffJob
        What to migrate.
    held : dict
        Its `truth`.
    rows : ndarray of int
        The traces that are used.
    live : ndarray of bool, (len(rows),)
        Those that are not to be set to zero.
    grid : ImageGrid, optional
        Where a time image stands; that of the job when None.

    Returns
    -------
    image : ndarray
        The last axis is depth or time.
    spacing : tuple of float
        Of its axes, m or s.
    top : int
        First sample below all sources and receivers, or within the records.
    """
    data = np.where(live[:, None], held["data"][rows], 0.0).astype(np.float32)
    if isinstance(job, Job):
        return _in_depth(job, held, rows, data)
    return _in_time(job, held, rows, data, grid)


def _in_depth(job, held, rows, data):
    from subsalt.checkpoint.options import CheckpointOptions
    from subsalt.methods.rtm.array_schemes import ArraySchemes
    from subsalt.methods.rtm.engine import migrate_shot
    from subsalt.methods.rtm.image_sum import ImageSum
    from subsalt.methods.rtm.job_setup import migration_setup, survey_of
    from subsalt.methods.rtm.samples import SnapshotPool

    model = job.open_propagation_model()
    survey = survey_of(job, model)
    starts = np.cumsum([0, *(len(s.rcv) for s in survey.shots)])
    shots = []
    for a, b, shot in zip(starts[:-1], starts[1:], survey.shots, strict=True):
        mine = (rows >= a) & (rows < b)
        if mine.any():
            shots.append(replace(shot, rcv=shot.rcv[rows[mine] - a], data=data[mine], trace_index=None))
    setup = migration_setup(job, model, survey)
    schemes = ArraySchemes.of(setup, shots, CheckpointOptions())
    total, pool = ImageSum(setup), SnapshotPool()
    for shot in shots:
        total.add(migrate_shot(setup, shot, shot.data, pool=pool, **schemes.of_shot(shot)))
        schemes.over(shot)
    image, spacing = total.finish(), job.open_model().grid.spacing
    deepest = max(held[n][rows][:, 2].max() for n in ("src", "rcv"))
    # the stencil of a station reaches four nodes
    return image, tuple(spacing), min(image.shape[-1] - 3, 4 + int(np.ceil(deepest / spacing[-1])))


def _in_time(job, held, rows, data, grid):
    from subsalt.methods.kirchhoff.migrate_arrays import migrate_time

    grid = grid or job.image_grid(job.open_table())
    axis = held["time"]
    out = migrate_time(
        data,
        held["src"][rows, :2],
        held["rcv"][rows, :2],
        dt=axis.dt,
        t0=axis.t0,
        vrms=job.open_velocity(grid),
        grid=grid,
        options=job.options,
        weighting=job.kirchhoff.weighting,
        threads=1,
    )
    # above the first sample stands what a filter makes of it
    first = max(0, int(np.ceil((axis.t0 - grid.time.t0) / grid.time.dt - 1e-6)))
    return out.image, (*grid.numbered_spacing, grid.time.dt), first


def correlation(one, other) -> float:
    """Return the correlation of two results of `image_of`, sampled where the first has its samples.

    Rows of equal depth are weighted by the strength of the first image there: deep echoes count as shallow ones do.
    """
    (a, spacing, top), (b, others, under) = one, other
    if a.shape != b.shape or spacing != others:
        b = _resampled(b, others, a.shape, spacing)
    top = max(top, under)
    a, b = np.asarray(a, float)[..., top:], np.asarray(b, float)[..., top:]
    seen = np.isfinite(b)
    if seen.mean() < 0.3:
        return 0.0
    b = np.where(seen, b, 0.0)
    a = np.where(seen, a, 0.0)
    rms = np.sqrt((a**2).mean(axis=tuple(range(a.ndim - 1))))
    weight = 1.0 / np.maximum(rms, FLOOR * rms.max()) if rms.any() else np.ones_like(rms)
    a, b = a * weight, b * weight
    size = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / size) if size > 0 else float(a.any() == b.any())


def _resampled(image, spacing, shape, wanted):
    """Return an image at other nodes, counted from the first one; NaN beyond its last."""
    from scipy.interpolate import RegularGridInterpolator

    if image.ndim != len(shape):
        return np.full(shape, np.nan)
    axes = [h * np.arange(n) for h, n in zip(spacing, image.shape, strict=True)]
    nodes = np.meshgrid(*(h * np.arange(n) for h, n in zip(wanted, shape, strict=True)), indexing="ij")
    return RegularGridInterpolator(axes, image, bounds_error=False)(np.stack(nodes, axis=-1))


def counterparts(now, then) -> np.ndarray:
    """Return for each trace that a job holds that of the clean survey, -1 where there is none.

    By its place, and where that is another one by the number of its shot and its own number in it.
    """
    rows = rows_of(now, then)
    if (rows < 0).any():
        numbered = {
            pair: i for i, pair in enumerate(zip(then["shot"].tolist(), then["row"].tolist(), strict=True))
        }
        own = zip(now["shot"].tolist(), now["row"].tolist(), strict=True)
        rows = np.array([numbered.get(pair, -1) for pair in own])
    return rows


def differing(now, then, rows: np.ndarray) -> np.ndarray:
    """Return which traces are of shots that do not hold what they hold in the clean survey."""
    if now["time"] != then["time"]:
        return np.ones(len(rows), bool)
    at = np.maximum(rows, 0)
    off = rows < 0
    for name in ("src", "rcv"):
        off |= np.abs(now[name] - then[name][at]).max(axis=1) > CLOSE
    off |= np.sqrt(((now["data"] - then["data"][at]) ** 2).sum(axis=1)) > ALIKE * np.sqrt(
        (then["data"][at] ** 2).sum(axis=1)
    )
    off &= now["data"].any(axis=1)
    return np.isin(now["shot"], np.unique(now["shot"][off]))


def span_of(held) -> tuple[float, float]:
    """Return the times of the first and the last sample, s, counted from the peak of the wavelet."""
    axis, source = held["time"], held.get("source")
    peak = source[1] if source is not None else 0.0
    return round(axis.t0 - peak, 6), round(axis.t0 + (axis.nt - 1) * axis.dt - peak, 6)


def recorded(then, now) -> dict[str, object]:
    """Return what a clean survey holds with zeros at the times that a cured job has no samples of.

    Of data that were moved the samples beyond the end of the records are gone, and no cure brings them back.
    """
    (first, last), (begin, end) = span_of(now), span_of(then)
    axis = then["time"]
    if first <= begin + 0.5 * axis.dt and last >= end - 0.5 * axis.dt:
        return then
    time = begin + axis.dt * np.arange(axis.nt)
    there = (time >= first - 0.5 * axis.dt) & (time <= last + 0.5 * axis.dt)
    data = np.where(there, then["data"], 0.0).astype(np.float32)
    if then.get("source") is not None:
        # where records end, a depth migration tapers them
        data[:, there] = end_taper(
            data[:, there], replace(axis, nt=int(there.sum())), 1.0 / then["source"][0]
        )
    return {**then, "data": data}


class Images:
    """Compares images of cured jobs with those of clean surveys, which are made once."""

    def __init__(self) -> None:
        self._made: dict[tuple, tuple] = {}

    def likeness(self, job, now, clean: Case, then, cure: list[Key], job_is_wrong: bool = False) -> float:
        """Return the correlation of the image of a cured job with that of the clean survey.

        Parameters
        ----------
        job, now : Job or KirchhoffJob, dict
            What is cured, and its `truth`.
        clean, then : Case, dict
            The clean survey, and its `truth`.
        cure : list of Key
            What was pasted.
        job_is_wrong : bool
            The mistake is a key of the job: then the clean survey is treated as the cure says only where that removes
            a key, for a wrong treatment treats it wrongly, too.
        """
        rows = counterparts(now, then)
        every = self._alike(job, now, clean, then, rows, cure, job_is_wrong)
        other = differing(now, then, rows)
        # one shot of many hardly changes the image of all: those that differ are compared alone, too
        if not 0 < other.sum() < len(other):
            return every
        return min(every, self._alike(job, now, clean, then, rows, cure, job_is_wrong, other))

    def _alike(self, job, now, clean, then, rows, cure, job_is_wrong, only=None) -> float:
        use = np.ones(len(rows), bool) if only is None else only
        live = now["data"].any(axis=1)
        there = (rows >= 0) & use
        first = np.unique(rows[there], return_index=True)[1]
        used, alive = rows[there][first], live[there][first]
        if not len(used):
            used, alive = np.arange(len(then["src"])), np.ones(len(then["src"]), bool)
        keys = [k for k in treatment_of(cure) if k.value is None or not job_is_wrong]
        known = (
            str(clean.folder),
            used.tobytes(),
            alive.tobytes(),
            span_of(now),
            repr([(k.section, k.key, k.value) for k in keys]),
        )
        if known not in self._made:
            case = treated(clean, keys)
            case.write_job()
            right = Job.from_toml(case.path)
            grid = None if isinstance(right, Job) else right.image_grid(right.open_table())
            held = recorded(truth(right) if keys else then, now)
            self._made[known] = image_of(right, held, used, alive, grid), grid
        image, grid = self._made[known]
        mine = np.flatnonzero(use)
        return correlation(image, image_of(job, now, mine, np.ones(len(mine), bool), grid))
