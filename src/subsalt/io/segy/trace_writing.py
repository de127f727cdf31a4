"""Writing traces without shots: an array with header numbers of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError
from subsalt.io.segy.rev1 import (
    Expectation,
    binary_header,
    choose_scalar,
    delay,
    microseconds,
    publish_traces,
    scaled,
    trace_rows,
)
from subsalt.io.segy.samples import encode_text

#: traces formed and written at a time
BLOCK = 4096
#: header numbers that a caller may give
NUMBERS = ("ffid", "channel", "cdp", "inline", "crossline")


def write_traces(
    path: str | os.PathLike[str],
    src: ArrayLike,
    rcv: ArrayLike,
    time: TimeAxis,
    samples: Callable[[slice], NDArray],
    **numbers: ArrayLike,
) -> Path:
    """Write traces with a source and a receiver each, in the order given.

    Parameters
    ----------
    path : path-like
        The file; its folder exists.
    src, rcv : array_like, (n, 2)
        Map positions, m; depth and elevation are 0.
    time : TimeAxis
        Samples of the traces.
    samples : callable
        ``samples(block)`` returns the traces of a slice, (n, nt); asked for once each, in order.
    **numbers : array_like, (n,)
        Header numbers `ffid`, `channel`, `cdp`, `inline`, `crossline`; what is not given is the number of the trace
        (ffid, channel) or 0.

    Raises
    ------
    DataError, GeometryError
        When arrays do not fit together, or SEG-Y cannot hold what they say.
    DiskError, CannotCreateError
        When the file cannot be written; no half-written file remains.
    """
    target, s, r = Path(path), np.asarray(src, np.float64), np.asarray(rcv, np.float64)
    given = {name: np.asarray(values) for name, values in numbers.items()}
    n = len(s)
    shapes = {"src": s.shape, "rcv": r.shape} | {name: (*v.shape, 2) for name, v in given.items()}
    wrong = [f"{name} {shape[:-1]}" for name, shape in shapes.items() if shape != (n, 2)]
    if wrong or not n or set(given) - set(NUMBERS):
        raise DataError(
            f"{n} traces, but {', '.join(wrong) or sorted(set(given) - set(NUMBERS))}",
            f"give src and rcv as (n, 2), and numbers {', '.join(NUMBERS)} as (n,)",
            code="E272",
        )
    middle = 0.5 * (s + r)
    scalar = choose_scalar(np.unique(np.concatenate([s, r, middle])), "coordinates")
    interval = microseconds(time.dt)

    def blocks() -> Iterator[NDArray[np.uint8]]:
        for a in range(0, n, BLOCK):
            block = slice(a, min(n, a + BLOCK))
            raw, t = trace_rows(block.stop - a, time.nt)
            order = np.arange(a, block.stop) + 1
            t["line_sequence"] = t["file_sequence"] = t["ffid"] = order
            t["channel"] = t["trace_id"] = t["use"] = t["coordinate_units"] = 1
            for name, values in given.items():
                t[name] = values[block]
            t["offset"] = np.round(np.sqrt(((r - s)[block] ** 2).sum(axis=1)))
            t["coordinate_scalar"] = scalar
            for name, points in (("source", s), ("receiver", r), ("cdp", middle)):
                for i, axis in enumerate("xy"):
                    t[f"{name}_{axis}"] = scaled(points[block, i], scalar)
            t["delay"], t["time_scalar"] = delay(time.t0)
            t["ns"], t["dt"] = time.nt, interval
            t["samples"] = _checked_numbers(samples(block), block, time)
            yield raw

    head = encode_text(_text(n, time, scalar)) + binary_header(time.nt, interval, 1, sorting=-1)
    publish_traces(target, head, blocks(), Expectation(False, n, time.nt, interval))
    return target


def _checked_numbers(traces: NDArray, block: slice, time: TimeAxis) -> NDArray:
    """Return the traces of a block, or say what is wrong with them."""
    if traces.shape != (block.stop - block.start, time.nt):
        raise DataError(
            f"traces {block.start} to {block.stop - 1} have shape {traces.shape}",
            f"give them as ({block.stop - block.start}, {time.nt})",
            code="E272",
        )
    if not np.isfinite(traces).all():
        raise DataError(
            f"traces {block.start} to {block.stop - 1}: samples are not finite",
            "look for what made them",
            code="E250",
        )
    return traces


def _text(n: int, time: TimeAxis, scalar: int) -> list[str]:
    """Return the lines of the textual header."""
    return [
        "PRESTACK TRACES WRITTEN BY SUBSALT. SEG-Y REV 1, IEEE FLOAT (5), METRES",
        f"TRACES {n}  SAMPLES {time.nt}  INTERVAL {time.dt * 1e3:g} MS  FIRST AT {time.t0 * 1e3:g} MS",
        "BYTES: FFID 9, CHANNEL 13, CDP 21, OFFSET 37 (M), SOURCE X 73, Y 77,",
        "RECEIVER X 81, Y 85, MIDPOINT X 181, Y 185, INLINE 189, CROSSLINE 193",
        f"COORDINATE SCALAR (71) {scalar}",
    ]
