"""One time axis for the traces of many files: equal samples, and whole samples of delay."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import GeometryError
from subsalt.io.file_layout import FileLayout


def refuse_mixed_samples(layouts: list[FileLayout]) -> None:
    """Raise `GeometryError` when files differ in the number or the interval of samples."""
    held = Counter((lay.ns, round(lay.dt * 1e9)) for lay in layouts)
    (ns, dt), most = held.most_common(1)[0]
    for lay in layouts:
        if (lay.ns, round(lay.dt * 1e9)) == (ns, dt):
            continue
        same = f"if it is that in all: [data.fix] dt = {dt * 1e-9:.10g}; else " if lay.ns == ns else ""
        more = len(layouts) - most - 1
        others = f"{layouts[0].path} has" if len(layouts) == 2 else "most files have"
        raise GeometryError(
            f"{lay.path} has {lay.ns} samples x {lay.dt * 1e3:g} ms (sample interval){f' and {more} more' * (more > 0)}"
            f", {others} {ns} x {dt * 1e-6:g} ms",
            f"{same}migrate them apart, or bring them to one time axis first",
            code="E260" if lay.ns != ns else "E261",
        )


def common_time_axis(
    layouts: list[FileLayout], delay: NDArray[np.float64], use: NDArray[np.bool_]
) -> tuple[TimeAxis, NDArray[np.int32] | None]:
    """Return the common time axis and the samples by which each trace starts late (None when none does).

    Parameters
    ----------
    layouts : list of FileLayout
        Files of equal samples.
    delay : ndarray, (n,)
        Time of the first sample of each trace, s.
    use : ndarray, (n,), bool
        Traces that count.
    """
    ns, dt = layouts[0].ns, layouts[0].dt
    t0, last = float(delay[use].min()), float(delay[use].max())
    if t0 == last:
        return TimeAxis(ns, dt, t0), None
    steps = (delay - t0) / dt
    shift = np.round(steps)
    off = np.abs(steps - shift)[use].max()
    # a thousandth of a sample is below what the interpolation in time resolves
    if off > 1e-3 or (last - t0) / dt > 10 * ns + 10000:
        raise GeometryError(
            f"delays (byte 109) differ by up to {(last - t0) * 1e3:g} ms between traces, which is not a "
            "usable number of "
            f"samples of {dt * 1e3:g} ms",
            "shift the traces to one start first, or set [data.fix] delay = 0",
            code="E262",
        )
    shift[~use] = 0
    return TimeAxis(ns + int(shift.max()), dt, t0), shift.astype(np.int32)
