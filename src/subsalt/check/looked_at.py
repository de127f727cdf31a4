"""The traces that rules on arrivals look at: as recorded, after the steps that move times or change the band.

What the engine will see decides: a delay that a step takes out is none, and one that is taken out twice is a fault. The
other steps stay out of it. Mutes and edits take arrivals away, gains level them, and traces on another time axis could
not be compared with the headers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import low_cut
from subsalt.acquisition.first_breaks import MOST_TRACES, spread
from subsalt.acquisition.survey import Shot
from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.context import Context, SampledShot

#: periods of the wavelet before and after it in which a filter rings
RINGS = 8


def traces_of(context: Context, shot: Shot, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return some traces (len(rows), nt) of a shot, on the time axis of the records.

    Raises
    ------
    SubsaltError
        When they cannot be read.
    """
    survey = context.survey
    assert survey is not None
    plain = getattr(survey.reader, "inner", survey.traces)
    read = survey.traces if shot.data is not None else getattr(survey.reader, "looked_at", plain)
    return np.asarray(read(shot, rows), dtype=np.float32)


def samples(context: Context) -> list[SampledShot]:
    """Return the shots that were read to be looked at, their traces after these steps, made once for all rules."""
    assert context.survey is not None
    treat = getattr(context.survey.reader, "treat", None)
    if treat is None:
        return context.samples
    sampled: list[SampledShot] = context.facts.setdefault("_looked_at", [])
    if not sampled:
        sampled += [
            replace(i, data=treat(i.shot, None, i.data)) if len(i.data) == len(i.shot.rcv) else i
            for i in context.samples
        ]
    return sampled


def wavelet_of(context: Context) -> Wavelet:
    """Return the wavelet of the job in the band that the steps leave of the traces, by the filters of their picks."""
    assert context.wavelet is not None
    assert context.survey is not None
    flow = getattr(context.survey.reader, "flow", None)
    if flow is None or flow.moving is None:
        return context.wavelet
    if "_wavelet" not in context.facts:
        given = context.wavelet
        n = round(RINGS / (given.f0 * given.dt))
        made = flow.moving.banded(np.pad(given.samples, n), given.dt)
        context.facts["_wavelet"] = replace(
            given, samples=made, t0=given.t0 - n * given.dt, peak_time=math.nan
        )
    wavelet: Wavelet = context.facts["_wavelet"]
    return wavelet


def moved_by(context: Context, shot: Shot) -> NDArray[np.float64]:
    """Return by how much steps of the job move the traces of a shot, (nr,), s; positive to later times."""
    assert context.survey is not None
    of_reader = getattr(context.survey.reader, "moved_by", None)
    return np.zeros(len(shot.rcv)) if of_reader is None else np.asarray(of_reader(shot), dtype=np.float64)


def cut_of(context: Context) -> float:
    """Return the frequency below which the traces of the sampled shots hold noise, Hz; 0 for none."""
    assert context.survey is not None
    if "_cut" not in context.facts:
        parts = [i.data[spread(len(i.data), MOST_TRACES)] for i in samples(context)]
        context.facts["_cut"] = low_cut(parts, context.survey.time.dt)
    cut: float = context.facts["_cut"]
    return cut
