"""Packed model arrays: what they stand for, and the fields of float32 storage on the unpacked model, bit for bit."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from kernel_problems import depth_axis as depth_axis
from kernel_problems import make_problem, random_state, step, to_cpu
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import cpu, reference
from subsalt.kernels.problem import TOP, Scale, pack

MEDIA = ("isotropic", "vti")


def packed_and_unpacked(*args, **kw):
    """Return a problem with packed parameters, and one with the float32 values these stand for."""
    packed = make_problem(*args, **kw)
    pack(packed)
    assert packed.model_storage == "u16"
    assert all(a.dtype == np.uint16 for a in packed.params.values())
    plain = replace(packed, params={name: packed.param(name) for name in packed.params}, scales={}, cache={})
    assert plain.model_storage == "f32"
    return packed, plain


def run(problem, start, **forced):
    """Return the bytes of a state after steps in boxes, in one pass, and with an injection and a record."""
    state = to_cpu(problem, start)
    points = Supports(problem)
    with cpu.forced(**forced):
        step(cpu, problem, state, list(Box((0, 0, 0), problem.layout.shape3).split(0, 5)))
        cpu.inject(problem, state.curr, points, np.array([3.0, -2.0], np.float32))
        for _ in range(2):
            if not forced.get("generic_radius"):
                cpu.time_step(problem, state)
                state.rotate()
        traces = cpu.record(problem, state.curr, points)
    return b"".join(a.tobytes() for a in [*state.arrays(), traces])


class Supports:
    """Two supports between nodes, of 8 nodes and cut by the edge of the grid."""

    def __init__(self, problem) -> None:
        nx, ny, nz = problem.layout.shape3
        self.base = np.array([[3, min(2, ny - 1), 7], [nx - 8, ny - 1, nz - 5]], np.int32)
        self.weights = np.random.default_rng(2).uniform(-1, 1, (2, 3, 8)).astype(np.float32)
        if ny == 1:
            self.weights[:, 1] = 0
            self.weights[:, 1, 0] = 1


@pytest.mark.parametrize("isa", cpu.available())
@pytest.mark.parametrize("boundary", ["none", "damping", "pml"])
@pytest.mark.parametrize("medium", MEDIA)
def test_fields_are_those_of_float32_on_the_unpacked_model(medium, boundary, isa) -> None:
    for order, ndim, surface in itertools.product((2, 4, 6, 8, 16), (2, 3), (False, True)):
        shape = (21, 18, 37) if ndim == 3 else (23, 1, 41)
        packed, plain = packed_and_unpacked(shape, medium, boundary, order, ndim=ndim, free_surface=surface)
        start = random_state(plain)
        assert run(packed, start, isa=isa) == run(plain, start, isa=isa), (order, ndim, surface)
        for threads in (2, 3):
            assert run(packed, start, isa=isa, threads=threads) == run(plain, start, isa=isa)
        generic = {"isa": isa, "generic_radius": True}
        assert run(packed, start, **generic) == run(plain, start, **generic)


@pytest.mark.parametrize("medium", MEDIA)
def test_the_reference_computes_with_the_unpacked_numbers(medium) -> None:
    packed, plain = packed_and_unpacked((15, 14, 33), medium, "pml", 8)
    states = [random_state(plain), random_state(plain)]
    for problem, state in zip((packed, plain), states, strict=True):
        for _ in range(2):
            step(reference, problem, state)
            reference.inject(problem, state.curr, Supports(problem), np.array([3.0, -2.0], np.float32))
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(states[0].arrays(), states[1].arrays(), strict=True)
    )


def test_halo_padding_and_the_surface_stay_zero() -> None:
    packed, _ = packed_and_unpacked((9, 9, 20), "vti", "none", 8, free_surface=True)
    m = packed.param("m")
    assert not packed.layout.view(m)[..., 0].any()
    assert packed.layout.view(m)[..., 1:].all()
    outside = np.ones(m.shape, dtype=bool)
    outside[packed.layout.interior] = False
    for name in "mes":
        assert not packed.param(name)[outside].any()


def test_velocity_is_within_half_a_number_and_its_maximum_is_not_exceeded() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        largest = float(rng.uniform(1, 40))
        m = rng.uniform(0, largest, 50)
        m[0] = largest
        scale = Scale.from_zero(largest)
        back = scale.unpack(scale.pack("m", m)).astype(np.float64)
        # half a number, and the rounding of scale, which moves all of them by 2^-24, and of the product
        assert (np.abs(back - m) <= scale.scale / 2 + 2.0**-23 * m + 2.0**-24 * m).all()
        assert back.max() <= largest * (1 + 2.0**-24)
    tiny = Scale.from_zero(1.0).pack("m", np.array([0.0, 1e-9]))
    assert tiny.tolist() == [0, 1]  # a point that moves is not frozen


def test_the_condition_of_stability_survives() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        spread = 10.0 ** rng.uniform(-9, -0.3)
        epsilon = (rng.uniform(-0.4, 0.4) * spread + rng.uniform(0, spread, 400)).astype(np.float32)
        delta = np.minimum(epsilon, rng.uniform(-0.4, 0.4, 400).astype(np.float32))
        delta[:200] = epsilon[:200]  # elliptical: no room between them
        e, s = 1 + 2 * epsilon.astype(np.float64), np.sqrt(1 + 2 * delta.astype(np.float64))
        back = {}
        for name, values in {"e": e, "s": s}.items():
            scale = Scale.between(float(values.min()), float(values.max()))
            u = scale.pack(name, values)
            assert u.max() <= TOP
            exact = scale.scale * u.astype(np.float64) + scale.offset
            back[name] = scale.unpack(u)
            assert (back[name] == exact).all(), "unpacking must not round"
        assert (back["s"].astype(np.float64) ** 2 <= back["e"]).all()


def test_isotropic_nodes_of_an_anisotropic_model_stay_isotropic() -> None:
    values = np.array([1.0, 1.0, 1.37, 0.91])
    for name in "es":
        scale = Scale.between(0.91, 1.37)
        assert scale.unpack(scale.pack(name, values))[:2].tolist() == [1.0, 1.0]


def test_values_outside_the_scales_are_refused() -> None:
    scale = Scale.between(1.0, 1.5)
    with pytest.raises(ConfigError, match=r"values of e lie outside 1 to 1\.99998"):
        scale.pack("e", np.array([1.2, 2.1]))
    with pytest.raises(ConfigError, match="TTI"):
        pack(make_problem((9, 9, 9), "tti", "none", 4))


def test_native_refuses_a_mixture_of_storages() -> None:
    packed, plain = packed_and_unpacked((9, 9, 20), "vti", "none", 8)
    packed.params["e"] = plain.params["e"]
    with pytest.raises(ConfigError, match="parameter e is float32"):
        cpu.new_memory(replace(packed, boundary="pml", decay=(np.ones(9), np.ones(9), np.ones(20))))
