"""Mistakes of traces: polarity, what is there twice, what is dead, noisy or not a number; 7, 9 to 11, 44 to 49."""

from __future__ import annotations

import shutil

import numpy as np

from planted.form import ONE, plants
from planted.mistakes_coordinates import SHOT_AND_TRACE

#: where one of 81 (or 120) traces is meant: the 41st of shot 106, or more of it
THREE = (
    r"(shot_0106|\bshots?\b[^|]*\b106\b)[^|]*\b(trace|channel|receiver)s?\b[^|]*\b(11|12|31)\b",
    r"\b(trace|channel)s?\b[^|]*\b(11|12|31)\b[^|]*(shot_0106|\b106\b)",
)


def flipped(f):
    """Turn the polarity."""
    f.samples = -f.samples


# of all shots in depth alone: a time migration has no wavelet that the sign of all traces could contradict
@plants(7, "all shots", bases="line patch spread", where="all", says="polarity|sign")
def polarity_all(case, which):
    case.edit(flipped, which)


@plants(7, "three shots", bases="line patch time spread", where="some", says="polarity|sign", place=ONE)
def polarity_some(case, which):
    case.edit(flipped, which)


@plants(7, "a shot", bases="line patch time", where="one", says="polarity|sign")
def polarity_one(case, which):
    case.edit(flipped, which)


# 9


@plants(
    9,
    "a file twice",
    bases="line patch time",
    where="one",
    says="twice|again|repeat|where (another|one) does",
)
def shot_twice(case, which):
    shutil.copy(case.files[which[0]], case.folder / "shot_0106_copy.sgy")


@plants(
    9,
    "a file twice, under a new number",
    bases="line patch time",
    where="one",
    says="twice|again|repeat|same|another",
)
def shot_twice_renumbered(case, which):
    one = case.trace_file(which[0])
    one.path = case.folder / "shot_0999.sgy"
    one.put(ffid=999, source_point=999).save()


@plants(
    9,
    "twice in one file",
    bases="line patch time",
    where="one",
    says="twice|again|repeat|where (another|one) does",
)
def shot_twice_in_file(case, which):
    def change(f):
        f.rows = np.concatenate([f.rows, f.rows])

    case.edit(change, which)


@plants(
    9, "all files twice", bases="line time", where="all", says="twice|again|repeat|where (another|one) does"
)
def all_twice(case, which):
    for p in case.files:
        shutil.copy(p, case.folder / f"{p.stem}_copy.sgy")


# 10


def on_traces(change, rows):
    """Return a change of some traces of a file."""

    def edit(f):
        x = f.samples
        x[rows] = change(x[rows], f)
        f.samples = x

    return edit


def noise(x, f):
    """Return noise thirty times as strong as the strongest sample."""
    return 30 * np.abs(f.samples).max() * np.random.default_rng(5).standard_normal(x.shape)


def spike(x, f):
    """Return the traces with one sample of 1e4."""
    out = x.copy()
    out[:, 170] = 1e4
    return out


def hum(x, f):
    """Return the traces with 50 Hz on them, twice their largest sample."""
    t = f.dt * np.arange(x.shape[1])
    return x + 2 * np.abs(f.samples).max() * np.sin(2 * np.pi * 50.0 * t)[None]


ROWS = [10, 11, 30]
BASES = "line patch time"


@plants(
    10,
    "three dead traces, not marked",
    bases=BASES,
    where="one",
    says="zero|dead",
    place=THREE,
)
def dead(case, which):
    case.edit(on_traces(lambda x, f: 0 * x, ROWS), which)


@plants(
    10,
    "channels dead in all shots",
    bases=BASES,
    where="all",
    says="zero|dead",
    place=r"\b(trace|channel)s?\b[^|(]*\b(11|12|31)\b",
    keeps=0.9,
)
def dead_channels(case, which):
    case.edit(on_traces(lambda x, f: 0 * x, ROWS), which)


@plants(10, "a dead shot", bases=BASES, where="one", says="zero|dead")
def dead_shot(case, which):
    case.edit(on_traces(lambda x, f: 0 * x, slice(None)), which)


@plants(
    10, "three noisy traces", bases=BASES, where="one", says="nois|amplitude|strong|energy|rms", place=THREE
)
def noisy(case, which):
    case.edit(on_traces(noise, ROWS), which)


@plants(
    10,
    "channels noisy in all shots",
    bases=BASES,
    where="all",
    says="nois|amplitude|strong|energy|rms",
    place=r"\b(trace|channel)s?\b[^|(]*\b(11|12|31)\b",
    keeps=0.9,
)
def noisy_channels(case, which):
    case.edit(on_traces(noise, ROWS), which)


@plants(10, "a spike of 1e4", bases=BASES, where="one", says="spike|amplitude|strong|sample", place=THREE)
def spiked(case, which):
    case.edit(on_traces(spike, [30]), which)


@plants(
    10,
    "spikes in all shots",
    bases="line",
    where="all",
    says="spike|amplitude|strong|sample",
    place=r"\b(trace|channel)s?\b[^|(]*\b(11|12|31)\b",
    keeps=0.9,
)
def spiked_channels(case, which):
    case.edit(on_traces(spike, [30]), which)


@plants(10, "three traces with 50 Hz", bases=BASES, where="one", says="Hz|hum|mono", place=THREE)
def humming(case, which):
    case.edit(on_traces(hum, ROWS), which)


@plants(
    10,
    "a shot a thousand times too strong",
    bases=BASES,
    where="one",
    says="amplitude|strong|energy|rms|times",
)
def strong_shot(case, which):
    case.edit(on_traces(lambda x, f: 1000 * x, slice(None)), which)


# 11


def one_nan(x, f):
    """Return the traces with one sample that is not a number."""
    out = x.copy()
    out[:, 200] = np.nan
    return out


NAN = r"not finite|NaN"


@plants(11, "a sample", bases=BASES, where="one", says=NAN, place=SHOT_AND_TRACE, allows=("W250",))
def nan_sample(case, which):
    case.edit(on_traces(one_nan, [40]), which)


@plants(11, "a trace", bases=BASES, where="one", says=NAN, place=SHOT_AND_TRACE, allows=("W250",))
def nan_trace(case, which):
    case.edit(on_traces(lambda x, f: x * np.nan, [40]), which)


@plants(11, "a sample in every shot", bases=BASES, where="all", says=NAN, allows=("W250",))
def nan_everywhere(case, which):
    case.edit(on_traces(one_nan, [40]), which)


@plants(
    11,
    "infinite samples",
    bases="line time",
    where="one",
    says=rf"{NAN}|Inf",
    place=SHOT_AND_TRACE,
    allows=("W250",),
)
def infinite(case, which):
    case.edit(on_traces(lambda x, f: np.where(x > 0.5 * x.max(), np.inf, x), [40]), which)


# 44


def clipped(f):
    """Cut off what exceeds a fiftieth of the largest sample."""
    x = f.samples
    limit = 0.02 * np.abs(x).max()
    f.samples = np.clip(x, -limit, limit)


BEFORE_CLIPPING = (r"before they were clipped|declip|not clipped", lambda case: case.restore())


@plants(
    44,
    "clipped at 2 % of the largest",
    bases="line patch",
    where="all one",
    says="clip",
    deed=BEFORE_CLIPPING,
)
def clipped_data(case, which):
    case.edit(clipped, which)


# 45

PRESTACK = (
    r"before (the )?(stack|moveout)|without (the )?(moveout|NMO)|prestack|not corrected|field records",
    lambda case: case.restore(),
)


@plants(45, "moveout removed", bases="line spread", where="all", says="moveout|NMO|flat", deed=PRESTACK)
def nmo(case, which):
    t = case.world.time.values()

    def change(f):
        x = f.samples
        offset = np.abs(f.get("offset")) * 1.0
        out = np.empty_like(x)
        for i, (trace, far) in enumerate(zip(x, offset, strict=True)):
            out[i] = np.interp(np.sqrt(t**2 + (far / 1700.0) ** 2), t, trace, right=0.0)
        f.samples = out

    case.edit(change, which)


@plants(
    45,
    "a stack with prestack headers",
    bases="line",
    where="all",
    says="stack|moveout|NMO|flat",
    deed=PRESTACK,
)
def stacked(case, which):
    def change(f):
        x = f.samples
        f.samples = np.broadcast_to(x[:8].mean(axis=0), x.shape)

    case.edit(change, which)


@plants(45, "a stacked section", bases="line", where="all", says="stack|section", deed=PRESTACK)
def section(case, which):
    def change(f):
        f.put(receiver_x=f.get("source_x"), offset=0)

    case.edit(change, which)


# 46


# ids 11 and 12 alone are data, read whole and in silence: clean surveys have them


@plants(
    46,
    "four components, 11 to 14, in one file each",
    bases="patch",
    where="all",
    says="trace id|identification|component",
    keeps=0.2,
)
def components(case, which):
    case.edit(lambda f: f.put(trace_id=11 + np.arange(len(f)) % 4), which)


# 49


@plants(
    49,
    "31 of the channels of a shot",
    bases="line patch",
    where="one",
    says="missing|fewer|channels|traces",
    deed=(r"again|copy|restore|complete", lambda case: case.restore()),
)
def missing_traces(case, which):
    def change(f):
        f.rows = f.rows[:-31]

    case.edit(change, which)


@plants(
    49,
    "31 channels from the middle of a shot",
    bases="line",
    where="one",
    says="missing|fewer|channels|traces",
    deed=(r"again|copy|restore|complete", lambda case: case.restore()),
)
def missing_from_the_middle(case, which):
    def change(f):
        f.rows = np.delete(f.rows, np.arange(20, 51), axis=0)

    case.edit(change, which)
