"""16-bit model arrays from the options to the image: the same numbers in every window, and what they change."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import subsalt as ss
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, StabilityError
from subsalt.kernels import cpu
from subsalt.methods.rtm.operators import ModellingOperator
from subsalt.physics.storage import scales_of, storage_error
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt.run.identity import numerics_of

U16 = PropagationOptions(model_storage="u16")


def layered(shape=(121, 71), h=10.0, vti=True):
    """Return a model of dipping layers, 1500 to 3600 m/s."""
    x, z = np.meshgrid(np.arange(shape[0]), np.arange(shape[-1]), indexing="ij")
    layer = np.clip((z + 0.1 * x - 15) // 12, 0, 4)
    vp = 1500.0 + 420.0 * layer + 3.0 * z
    epsilon, delta = (0.05 * layer, 0.02 * layer) if vti else (None, None)
    return ss.EarthModel(ss.Grid(shape, (h,) * 2), vp, epsilon, delta)


@pytest.mark.parametrize("vti", [False, True])
def test_every_window_of_a_model_holds_the_same_numbers(vti) -> None:
    model = layered(vti=vti)
    dt = model.choose_dt(8)
    whole, part = (
        Propagator(model, U16, dt, window=window) for window in (None, Box((40, 0, 0), (90, 1, 71)))
    )
    for name in part.problem.params:
        a = whole.layout.view(whole.problem.param(name))[whole.interior.slices][40:90]
        b = part.layout.view(part.problem.param(name))[part.interior.slices]
        assert part.problem.params[name].dtype == np.uint16
        assert a.tobytes() == b.tobytes()


def test_the_packed_model_is_within_the_error_that_is_reported() -> None:
    model = layered()
    dt = model.choose_dt(8)
    prop = Propagator(model, U16, dt)
    bound = storage_error(model, "vti")
    cut = prop.interior.slices
    m, e, s = (prop.layout.view(prop.problem.param(n))[cut][:, 0].astype(np.float64) for n in ("m", "e", "s"))
    vp, epsilon, delta = (a.astype(np.float64) for a in (model.vp, model.epsilon, model.delta))
    off = {
        "vp": np.abs(np.sqrt(m) / dt / vp - 1).max(),
        "epsilon": ((e - 1) / 2 - epsilon).max(),
        "delta": (delta - (s**2 - 1) / 2).max(),
    }
    # beside the bound: float32 holds m to 2^-24, and its scale too
    assert off["vp"] <= bound.vp + 2.0**-23
    assert off["epsilon"] <= bound.epsilon
    assert off["delta"] <= bound.delta
    assert ((e - 1) / 2 >= epsilon).all()
    assert ((s**2 - 1) / 2 <= delta + 2.0**-52).all()
    # the bounds are no looser than they must be
    assert all(off[k] > 0.2 * getattr(bound, k) for k in off)


def test_fields_are_those_of_float32_on_what_the_arrays_stand_for() -> None:
    model = layered()
    dt = model.choose_dt(8)
    packed = Propagator(model, U16, dt)
    plain = Propagator(model, PropagationOptions(), dt)
    plain.problem.params = {n: packed.problem.param(n) for n in packed.problem.params}
    src, rcv = np.array([[600.0, 0.0, 30.0]]), np.array([[200.0, 0.0, 20.0], [900.0, 0.0, 20.0]])
    states, traces = [], []
    for prop in (packed, plain):
        state, rec = prop.new_state(), prop.recorder(rcv, 121)
        prop.advance(state, 120, sources=[prop.source(src, np.ones((1, 20)))], recorders=[rec])
        states.append(b"".join(a.tobytes() for a in state.arrays()))
        traces.append(rec.data.tobytes())
    assert states[0] == states[1]
    assert traces[0] == traces[1]


def test_the_image_hardly_changes() -> None:
    model = layered()
    smooth = ss.EarthModel(
        model.grid, *(gaussian_filter(a, 6.0) for a in (model.vp, model.epsilon, model.delta))
    )
    rcv = [[x, 20.0] for x in np.arange(100.0, 1101.0, 20.0)]
    survey = ss.Survey.from_arrays([[400.0, 20.0], [800.0, 20.0]], rcv, nt=201, dt=0.004)
    wavelet = ss.ricker(12.0, 0.002)
    data = ss.forward(model, survey, wavelet).survey
    images = {}
    for kind in ("f32", "u16"):
        result = ss.migrate(smooth, data, wavelet, model_storage=kind)
        images[kind] = result.image.astype(np.float64)
    difference = np.linalg.norm(images["u16"] - images["f32"]) / np.linalg.norm(images["f32"])
    assert 0 < difference < 1e-3


def test_modelling_with_packed_models_is_its_own_adjoint() -> None:
    operator = ModellingOperator(
        layered((61, 51)), [[300.0, 40.0]], [[100.0, 30.0], [500.0, 200.0]], 120, U16
    )
    assert ss.dot_test(operator).error < 1e-6


def test_a_time_step_at_the_bound_leaves_no_room_for_rounding() -> None:
    model = layered()
    bound = model.stable_dt(8)
    assert model.choose_dt(8, bound) == bound
    with pytest.raises(StabilityError, match="above the stability bound"):
        model.choose_dt(8, bound, U16.dt_reserve)
    dt = (1 - U16.dt_reserve) * bound
    assert model.choose_dt(8, dt, U16.dt_reserve) == dt
    # the largest eigenvalue of the packed model stays below the bound that the reserve leaves
    prop = Propagator(model, U16, dt)
    m, e, s = (prop.layout.view(prop.problem.param(n))[prop.interior.slices] for n in ("m", "e", "s"))
    packed = ss.EarthModel(
        model.grid,
        np.sqrt(m.astype(np.float64)).reshape(model.grid.shape) / dt,
        ((e.astype(np.float64) - 1) / 2).reshape(model.grid.shape),
        ((s.astype(np.float64) ** 2 - 1) / 2).reshape(model.grid.shape),
    )
    assert dt <= packed.stable_dt(8)


def test_what_cannot_be_packed_is_refused() -> None:
    tilted = ss.EarthModel(ss.Grid((41, 41), (10.0, 10.0)), 2000.0, 0.2, 0.1, 0.5)
    with pytest.raises(ConfigError, match="16-bit models are for isotropic and VTI"):
        Propagator(tilted, U16, 1e-3)
    Propagator(tilted, PropagationOptions(model_storage="u16", medium="vti"), 1e-3)
    with pytest.raises(ConfigError, match="use one of f32, u16"):
        PropagationOptions(model_storage="u8")  # type: ignore[arg-type]


def test_storage_is_part_of_the_numerics_class() -> None:
    device = cpu.describe()
    assert numerics_of(device, PropagationOptions()) == device
    assert numerics_of(device, U16)["class"] == f"{device['class']}, u16 models"
    json.dumps(vars(storage_error(layered(), "vti")))  # goes into run.json
    assert set(scales_of(layered(vti=False), "isotropic", 1e-3)) == {"m"}
