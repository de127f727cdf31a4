"""Born data of small shots and their adjoint on a group of ranks, compared with one process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from shot_cases import CASES, RECORD, model_of, shot_of, traces_of

from subsalt.acquisition.wavelet import ricker
from subsalt.methods.rtm.born import back, scattered, scattered_traces
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.methods.rtm.normal import normal_product
from subsalt.parallel.comm import Comm
from subsalt.propagation.blocks import Decomp
from subsalt.propagation.options import PropagationOptions


def born_answer(name: str, group: Comm | None, decomp: Decomp = "slabs") -> dict[str, NDArray]:
    """Return what a rank has: planes of J^T d and J^T J dm, all traces of J dm, and those that a rank writes."""
    aperture, layer = CASES[name][2:4]
    model, shot = model_of(name), shot_of(name)
    options, wavelet = PropagationOptions(layer=layer, decomp=decomp), ricker(25.0, 0.002)
    setup = linear_setup(model, wavelet, RECORD, options, aperture)
    dm = 1e-9 * np.random.default_rng(5).uniform(-1, 1, model.grid.shape)
    with propagator_of(setup, shot, group) as prop:
        modelled = scattered(setup, shot, dm, prop=prop)
        both = normal_product(setup, shot, dm, lambda d: d, prop=prop)
        again = back(setup, shot, modelled, prop=prop)
        part = back(setup, shot, traces_of(name).astype(np.float64), prop=prop)
    assert part.box == both.box
    # whether its source wavefield is kept between both products or not
    assert np.array_equal(again.sums["correlation"], both.sums["correlation"])
    out = {f"J dm {row}": trace for row, trace in enumerate(modelled)}
    first = part.box.lo[0]
    for what, sums in (("J^T d", part.sums), ("J^T J dm", both.sums)):
        out |= {f"{what} plane {first + i}": plane for i, plane in enumerate(sums["correlation"])}
    made = scattered_traces(setup, shot, dm, group=group)
    assert np.array_equal(made.traces, modelled[made.rows].astype(np.float32))
    return out | {f"model {row}": trace for row, trace in zip(made.rows, made.traces, strict=True)}
