"""Long runs stay bounded, and what would not is refused or stopped (A9, A15)."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import DEVICE, random_tti, random_vti, source_wavelet

from subsalt import EarthModel, Grid, PropagationOptions, Survey, forward, migrate, ricker
from subsalt.errors import ModelError, NumericalFailure, StabilityError
from subsalt.kernels.work import FINITE_EVERY
from subsalt.propagation import tapers
from subsalt.propagation.propagator import Propagator
from thorough import ALL, pairs


@pytest.mark.parametrize(
    ("medium", "ndim", "boundary"), pairs(["tti", "vti", "isotropic"], [3, 2], ["pml", "damping", "none"])
)
def test_a9_ten_thousand_steps(boundary, medium, ndim):
    # every node has its own velocity, 1500 to 4500 m/s, its own epsilon and delta, and its own axis
    shape, order = (44, 40) if ndim == 2 else (16, 14, 15), 8
    if medium == "tti" and boundary == "pml":  # room for the taper, M + 10 cells on every side
        shape, order = ((54, 52), 8) if ndim == 2 else ((28, 27, 29), 4)
    layer = 40 if boundary == "damping" else 12
    # in 3-D all the way by `make test-all`
    steps = 10_000 if ALL or ndim == 2 else 2000
    if boundary == "damping" and ndim == 3:
        # a layer of 40 cells on every side makes 89^3 points of it; the 2-D run has it, and goes all the way
        shape, steps, layer = (9, 9, 9), 2000, 40 if ALL else 20
    if medium == "tti" and ndim == 3:
        layer = {"pml": 8, "damping": 20, "none": None}[boundary]
    model = random_tti(shape, (10.0,) * ndim, 21).as_medium(medium)
    options = PropagationOptions(boundary=boundary, device=DEVICE, order=order, layer=layer)
    prop = Propagator(model, options, model.choose_dt(order))
    if medium == "tti":
        assert np.abs(prop.problem.params["nx"]).max() > 0.99
    where = np.array(
        [[model.grid.last[0] / 2, 0.0 if ndim == 2 else model.grid.last[1] / 2, model.grid.last[-1] / 2]]
    )
    f0 = 0.06 / prop.dt
    source = prop.source(where, source_wavelet(f0, prop.dt, int(3 / f0 / prop.dt))[None])
    state, early, late = prop.new_state(), 0.0, 0.0
    for step in range(0, steps, 50):
        prop.advance(state, 50, sources=[source])
        top = max(float(np.abs(prop.layout.view(a)).max()) for a in state.curr)
        early, late = (max(early, top), late) if step < 1000 else (early, max(late, top))
    assert 0 < late <= 2 * early


def test_a_tilt_inside_the_layer_would_be_unstable(monkeypatch):
    # what the taper is there for: the run of A9 without it
    model = random_tti((44, 40), (10.0, 10.0), 21)
    monkeypatch.setattr(tapers, "upright_at_layers", lambda local, *_: local)
    prop = Propagator(model, PropagationOptions(device=DEVICE), model.choose_dt(8))
    samples = source_wavelet(0.06 / prop.dt, prop.dt, 50)[None]
    source = prop.source(np.array([[220.0, 0.0, 200.0]]), samples)
    with pytest.raises(NumericalFailure):
        prop.advance(prop.new_state(), 3000, sources=[source])


def small_survey(model, **axis):
    return Survey.from_arrays([[100.0, 60.0]], [[60.0, 50.0], [140.0, 50.0]], **axis)


def test_a15_delta_above_epsilon_is_mended_and_counted():
    grid = Grid((24, 22), (10.0, 10.0))
    delta = np.zeros(grid.shape)
    delta[5:8, 4:9] = 0.3
    model = EarthModel(grid, 2000.0, 0.1, delta)
    survey = small_survey(model, nt=80, dt=0.002, data=np.ones((1, 2, 80)))
    result = migrate(model, survey, ricker(15.0, 0.002), device=DEVICE)
    assert result.repaired == 15
    assert np.isfinite(result.image).all()
    mended = EarthModel(grid, 2000.0, 0.1, np.minimum(delta, np.float32(0.1)))
    again = migrate(mended, survey, ricker(15.0, 0.002), device=DEVICE)
    assert again.repaired == 0
    assert again.image.tobytes() == result.image.tobytes()
    raised = migrate(model, survey, ricker(15.0, 0.002), device=DEVICE, anisotropy="raise-epsilon")
    assert raised.repaired == 15
    with pytest.raises(ModelError, match="delta"):
        migrate(model, survey, ricker(15.0, 0.002), device=DEVICE, anisotropy="reject")
    with pytest.raises(ModelError, match="epsilon"):
        Propagator(model, PropagationOptions(device=DEVICE), 0.001)


@pytest.mark.parametrize("run", [forward, migrate])
def test_a15_dt_above_the_bound_is_refused(run):
    model = random_vti((24, 22), (10.0, 10.0), 3)
    survey = small_survey(model, nt=80, dt=0.002, data=np.ones((1, 2, 80)))
    bound = model.stable_dt(8)
    run(model, survey, ricker(15.0, 0.002), device=DEVICE, dt=0.9999 * bound)
    with pytest.raises(StabilityError, match=f"{bound * 1e3:.4g} ms"):
        run(model, survey, ricker(15.0, 0.002), device=DEVICE, dt=1.0001 * bound)


def test_the_bound_is_sharp():
    # uniform medium, closed: just below the bound nothing grows in 4000 steps, 2 % above it the run ends in
    # overflow
    model = EarthModel(Grid((40, 40), (10.0, 10.0)), 2000.0, 0.2, 0.05)
    noise = np.random.default_rng(5).standard_normal((40, 1, 40))
    for factor, stable in ((0.9999, True), (1.02, False)):
        prop = Propagator(
            model, PropagationOptions(device=DEVICE, boundary="none"), factor * model.stable_dt(8)
        )
        state = prop.new_state()
        for a in (*state.prev, *state.curr):
            prop.layout.view(a)[...] = noise
        if stable:
            prop.advance(state, 4000)
            assert max(np.abs(prop.layout.view(a)).max() for a in state.curr) < 1e4
        else:
            with pytest.raises(NumericalFailure):
                prop.advance(state, 4000)


def test_a15_a_field_that_is_not_finite_stops_the_run():
    model = EarthModel(Grid((40, 40), (10.0, 10.0)), 2000.0)
    prop = Propagator(model, PropagationOptions(device=DEVICE), model.choose_dt(8))
    samples = np.zeros((1, 400))
    samples[0, 123] = np.nan
    state = prop.new_state()
    with pytest.raises(NumericalFailure, match=r"not finite at step .* x = .* m") as caught:
        prop.advance(state, 400, sources=[prop.source(np.array([[200.0, 0.0, 200.0]]), samples)])
    assert 124 <= state.it <= 124 + FINITE_EVERY <= 224
    assert caught.value.fix
