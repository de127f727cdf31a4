"""Linearised modelling is the derivative of modelling with respect to 1 / v^2 in every medium: Taylor's remainder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import subsalt as ss
from subsalt.api import WaveGrid
from subsalt.methods.rtm.born import scattered
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.linear_setup import linear_setup, record_map
from subsalt.methods.rtm.traces import source_samples
from subsalt.propagation.options import PropagationOptions

WAVELET = ss.ricker(15.0, 0.001)
THOMSEN = {"epsilon": 0.2, "delta": 0.1}
#: parts of the perturbation, each half of the one before
STEPS = (0.08, 0.04, 0.02)


def of_grid(grid, medium, options, **stretched):
    """Return setup and shot over a velocity that grows with depth; epsilon and delta are held."""
    vp = np.broadcast_to(1500.0 + 4.0 * grid.axis(1), grid.shape)
    values = {} if medium == "isotropic" else dict(THOMSEN)
    model = ss.EarthModel(grid, vp, **values, **({"theta": 0.4} if medium == "tti" else {}))
    used = stretched["waves"].carry(model, options, WAVELET, imaging=True) if stretched else model
    last = grid.last[0]
    survey = ss.Survey.from_arrays(
        [[0.3 * last, 20.0]], [[0.2 * last, 20.0], [0.8 * last, 20.0]], nt=80, dt=0.004
    )
    # one time step for all perturbed models
    dt = 0.8 * used.choose_dt(options.weights, None, options.dt_reserve)
    return linear_setup(used, WAVELET, survey.time, replace(options, dt=dt)), survey.shots[0]


def modelled(setup, vp, shot):
    """Return the traces of another velocity, by the scheme, the layer and the map to records of the setup."""
    prop = propagator_of(replace(setup, model=replace(setup.model, vp=vp)), shot)
    recorder = prop.recorder(shot.rcv, setup.axis.nt)
    signature = source_samples(WAVELET, setup.axis, setup.propagation.time_dispersion)
    source = prop.source(shot.src[None], signature[None])
    prop.advance(prop.new_state(), setup.axis.nt - 1, sources=[source], recorders=[recorder])
    return record_map(setup).apply(prop.recorded(recorder)[1].astype(np.float64))


def size(traces):
    """Return the norm of the second difference in time: rounding that nothing carries away drifts as a line."""
    return np.linalg.norm(np.diff(traces, 2, axis=-1))


def remainders(setup, shot):
    """Return |F(m + h dm) - F(m) - h J dm| over |h J dm| for every h."""
    grid, vp = setup.model.grid, np.asarray(setup.model.vp, dtype=np.float64)
    x, z = grid.axis(0)[:, None], grid.axis(1)[None]
    # a smooth body that ends inside the model: nothing changes in the layer, where the derivative has no dm
    body = np.exp(-((x - 0.5 * x.max()) ** 2 + (z - 150.0) ** 2) / 30.0**2)
    dm = np.where(body > 1e-3, body, 0.0) / vp**2
    before, born = modelled(setup, setup.model.vp, shot), scattered(setup, shot, dm)
    out = []
    for h in STEPS:
        # velocities are of single precision: what they are is what has changed
        changed = ((1.0 / vp**2 + h * dm) ** -0.5).astype(np.float32)
        out.append(size(modelled(setup, changed, shot) - before - h * born) / size(h * born))
    return np.array(out)


@pytest.mark.parametrize(
    ("medium", "options"),
    [
        ("isotropic", {}),
        ("isotropic", {"free_surface": True}),
        ("vti", {}),
        ("vti", {"free_surface": True}),
        ("tti", {}),
    ],
    ids=str,
)
def test_the_remainder_is_of_second_order(medium, options):
    """|remainder| = a h^2 + b h^3 with b / a near 1 for a part h of 1 / v^2: the slope is 2 within b h / a of 0.05."""
    setup, shot = of_grid(ss.Grid((31, 27), (10.0, 10.0)), medium, PropagationOptions(**options))
    miss = remainders(setup, shot)
    slopes = 1.0 + np.log2(miss[:-1] / miss[1:])
    assert np.all(np.abs(slopes - 2.0) < 0.05), (miss, slopes)


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_so_it_is_on_a_chosen_grid_whose_depth_axis_is_stretched(medium):
    waves = WaveGrid("auto")
    options = waves.options(PropagationOptions())
    grid = ss.Grid((31, 61), (10.0, 10.0))
    setup, shot = of_grid(grid, medium, options, waves=waves)
    assert setup.model.grid.depth_axis is not None
    miss = remainders(setup, shot)
    slopes = 1.0 + np.log2(miss[:-1] / miss[1:])
    assert np.all(np.abs(slopes - 2.0) < 0.05), (miss, slopes)
