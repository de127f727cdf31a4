"""The picks of a survey and what its model allows, made once for all rules on first breaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import low_cut
from subsalt.acquisition.first_breaks import (
    MOST_TRACES,
    ShotBreaks,
    breaks_of,
    first_breaks,
    fit_line,
    spread,
)
from subsalt.check.break_fits import Measured, measure
from subsalt.check.context import Context, SurveyExtent
from subsalt.check.looked_at import cut_of, moved_by, samples, wavelet_of

#: s/m; times that grow by less, at 20 km/s, have no moveout
NO_MOVEOUT = 5e-5


def breaks(context: Context) -> list[ShotBreaks]:
    """Return the first breaks of the context's survey, picked once for all rules; none where they are not judged.

    Dense records of time slices are not read again: the shots that were sampled before are used.
    """
    if not context.judge_breaks:
        return []
    if "_breaks" not in context.facts:
        survey = context.survey
        assert survey is not None
        reader = getattr(survey.reader, "inner", survey.reader)
        if hasattr(reader, "layouts") or any(s.data is not None for s in survey.shots):
            picks = first_breaks(survey)
        else:
            parts = [
                (i.shot, rows := spread(len(i.data), MOST_TRACES), i.data[rows]) for i in samples(context)
            ]
            regular = [p for p in parts if np.isfinite(p[2]).all() and p[2].shape[1] == survey.time.nt]
            whole = len(regular) == len(parts)
            cut = cut_of(context) if whole else low_cut([p[2] for p in regular], survey.time.dt)
            picks = [breaks_of(*p, survey.time.dt, survey.time.t0, cut) for p in regular]
        context.facts["_breaks"] = picks
    picked: list[ShotBreaks] = context.facts["_breaks"]
    return picked


def placed(context: Context) -> bool:
    """Return whether most stations lie on the model; else another rule has said what is wrong."""
    assert context.survey is not None
    assert context.model is not None
    if context.model.grid.ndim != context.survey.ndim or context.facts.get("_line_unplaced"):
        return False
    lay = SurveyExtent.of(context.survey, context.model.grid)
    both = np.concatenate([lay.src, lay.rcv])
    deep = (both[:, 2] < lay.low[2] - lay.slack[2]) | (both[:, 2] > lay.high[2] + lay.slack[2])
    return bool((lay.outside(both) | deep).mean() < 0.5)


def measured(context: Context, picks: ShotBreaks) -> Measured:
    """Return the picks of a shot with what the model allows, computed once for all rules."""
    assert context.model is not None
    measurements: dict[int, Measured] = context.facts.setdefault("_measured", {})
    if picks.shot.id not in measurements:
        measurements[picks.shot.id] = measure(
            picks, context.model, wavelet_of(context), starts(context, picks)
        )
    return measurements[picks.shot.id]


def starts(context: Context, picks: ShotBreaks) -> NDArray[np.float64]:
    """Return the time of the first sample of each trace that was looked at, as its header says it, s."""
    assert context.survey is not None
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    shift, index = getattr(reader, "shift", None), picks.shot.trace_index
    late = np.zeros(len(picks.rows)) if shift is None or index is None else shift[index[picks.rows]]
    time = context.survey.time
    return np.asarray(time.t0 + time.dt * late + moved_by(context, picks.shot)[picks.rows], dtype=np.float64)


def seen(shots: Sequence[ShotBreaks]) -> str:
    """Return velocity and intercept of the lines of shots, as medians, for a message."""
    lines = [b.line for b in shots if b.line is not None]
    slowness = float(np.median([line.slowness for line in lines]))
    intercept = float(np.median([line.intercept for line in lines]))
    if abs(slowness) < NO_MOVEOUT:
        speed = "no moveout"
    else:
        speed = f"{1 / slowness:.0f} m/s" if slowness > 0 else "times that fall with offset"
    return f"{speed}, intercept {1e3 * intercept:.0f} ms"


def expected(context: Context, shots: Sequence[ShotBreaks]) -> str:
    """Return what the model and the wavelet let the lines be, for a message."""
    lines = []
    for b in shots[:5]:
        m = measured(context, b)
        lines += [line for t in (m.early, m.late) if (line := fit_line(m.distance, t + m.pulse)) is not None]
    if not lines:
        return "unknown"
    speeds = sorted(line.velocity for line in lines)
    middle = float(np.median([line.intercept for line in lines]))
    low, high = f"{speeds[0]:.0f}", f"{speeds[-1]:.0f}"
    return f"{low if low == high else f'{low} to {high}'} m/s, intercept {1e3 * middle:.0f} ms"
