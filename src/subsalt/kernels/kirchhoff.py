"""The sum of Kirchhoff time migration: traces added to the image traces of a block of locations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels import kirchhoff_reference
from subsalt.kernels.kirchhoff_arguments import PAD, Medium, PreparedTraces, TraceGeometry, check_arguments

if TYPE_CHECKING:
    from subsalt.options_kirchhoff import KirchhoffOptions
    from subsalt.survey import TimeAxis

__all__ = ["PAD", "Medium", "PreparedTraces", "TraceGeometry", "sum_traces"]


def sum_traces(
    image: NDArray[np.float32],
    hits: NDArray[np.int32],
    fold: NDArray[np.int32],
    points: NDArray[np.float64],
    axes: NDArray[np.float64],
    medium: Medium,
    time: TimeAxis,
    prepared: PreparedTraces,
    geometry: TraceGeometry,
    options: KirchhoffOptions,
    spacing: Sequence[float],
    threads: int = 1,
) -> int:
    """Add a block of traces to the image traces of a block of locations.

    Every output sample adds its traces in their order, so that neither the cut into calls nor threads change a bit.

    Parameters
    ----------
    image : ndarray, (nloc, nclass, nt), float32
        Added to.
    hits : ndarray, (nloc, nt + 1), int32
        Added to: +1 at the first sample that a trace reaches at a location, -1 behind the last one; cumulated along
        time it is the number of traces per sample.
    fold : ndarray, (nloc, ngroup), int32
        Added to: traces that reach any sample, by offset class.
    points : ndarray, (nloc, 2), float64
        Map positions of the locations, m.
    axes : ndarray, (2, 2), float64
        Unit vectors along which slopes are limited: of inline and crossline numbers.
    medium : Medium
        Velocities at the locations.
    time : TimeAxis
        Two-way time of the image traces, s; starts at 0 or later.
    prepared : Prepared
        The traces, filtered and with interpolation coefficients.
    geometry : TraceGeometry
        Positions, weights and image traces of the same traces.
    options : KirchhoffOptions
        What is summed: weights, aperture, mutes, antialias.
    spacing : sequence of 2 floats
        Antialias spacing along the axes, m, where the options give none.
    threads : int
        Threads to compute with.

    Returns
    -------
    int
        Contributions: samples between the first and the last that each trace reaches, over all locations.

    Raises
    ------
    ConfigError
        When arrays do not fit together.
    """
    check_arguments(image, hits, fold, points, axes, medium, time, prepared, geometry, options, spacing)
    return kirchhoff_reference.sum_traces(
        image, hits, fold, points, axes, medium, time, prepared, geometry, options, spacing
    )
