"""The depth axis that follows the velocity: never too coarse, smooth, constant at its ends, the same bits anywhere."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from subsalt.numerics import depth_axis as module
from subsalt.numerics.depth_axis import (
    LARGEST,
    Demand,
    depth_axis,
    fastest_rate,
    is_stable,
    potential,
    stretched,
)
from subsalt.numerics.stencil import Stencil

#: points per wavelength times the highest frequency, 1/s
RESOLUTION = 2.8 * 25.0


def gradient(bottom=4000.0, step=10.0):
    """Return depths and velocities that rise from 1500 to 4500 m/s."""
    depth = np.arange(0.0, bottom + step / 2, step)
    return depth, 1500.0 + 3000.0 * depth / bottom


def layers(bottom=6000.0, step=12.5):
    """Return depths and velocities of layers, among them a slow one under a fast one, and salt."""
    depth = np.arange(0.0, bottom + step / 2, step)
    return depth, np.select([depth < 700, depth < 2000, depth < 2300], [1500.0, 2700.0, 1800.0], 4480.0)


def rough(bottom=5000.0, step=8.0):
    """Return depths and velocities that jump at every sample."""
    depth = np.arange(0.0, bottom + step / 2, step)
    noise = np.random.default_rng(7).uniform(0.8, 1.2, len(depth))
    return depth, np.maximum(1500.0, (1500.0 + 0.6 * depth) * noise)


def demand_of(depth, velocity, **changed):
    """Return what covers a model at its slowest velocity."""
    given = {"top": 0.0, "bottom": float(depth[-1]), "spacing": float(velocity.min() / RESOLUTION)}
    return Demand(**(given | {"resolution": RESOLUTION, "radius": 6} | changed))


MODELS = {"gradient": gradient, "layers": layers, "rough": rough}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """Return depths, velocities, what is demanded and the axis made of it."""
    depth, velocity = MODELS[request.param]()
    demand = demand_of(depth, velocity)
    axis = depth_axis(depth, velocity, demand)
    assert axis is not None
    return depth, velocity, demand, axis


def test_no_depth_has_fewer_points_per_wavelength_than_its_slowest_rock_needs(case):
    depth, velocity, demand, axis = case
    fine = np.linspace(0, demand.bottom, 300_001)
    # between two samples the model is anywhere between the two
    below = np.clip(np.searchsorted(depth, fine, side="right") - 1, 0, len(depth) - 2)
    allowed = np.minimum(velocity[below], velocity[below + 1]) / RESOLUTION
    spacing = axis.spacing / axis.scale_at(fine)
    assert (spacing <= np.maximum(allowed, demand.spacing) * (1 + 1e-12)).all()
    assert axis.scale.max() <= 1.0
    assert axis.coarsest <= 4 * axis.spacing * (1 + 1e-12)


def test_the_axis_begins_at_the_top_covers_the_bottom_and_no_cell_more(case):
    *_, demand, axis = case
    assert axis.depths[0] == demand.top
    assert axis.depths[-2] < demand.bottom <= axis.depths[-1] + 1e-5 * axis.coarsest
    assert axis.count <= 0.9 * demand.uniform


def test_spacings_change_by_little_and_smoothly(case):
    *_, demand, axis = case
    cells = np.diff(axis.depths)
    # a B-spline of coefficients that change by the slope; where they end in a constant, by up to twice as much
    assert np.abs(np.diff(cells)).max() <= 2 * demand.slope * cells.max()
    assert (np.diff(axis.depths) > 0).all()


def test_both_ends_are_uniform_to_the_last_bit(case):
    *_, demand, axis = case
    ends = 2 * demand.radius + 1
    assert len(set(axis.scale[:ends].tolist())) == 1
    assert len(set(axis.scale[-ends:].tolist())) == 1


def test_scale_is_the_derivative_of_the_number_of_the_node(case):
    *_, axis = case
    z, step = np.linspace(axis.depths[0], axis.depths[-1], 2001)[1:-1], 1e-3 * axis.spacing
    slope = (axis.to_zeta(z + step) - axis.to_zeta(z - step)) / (2 * step)
    # the third derivative of zeta times step^2, and 1e-13 zeta / step
    assert slope * axis.spacing == pytest.approx(axis.scale_at(z), abs=1e-8)


def test_depth_to_number_and_back(case):
    *_, axis = case
    k = np.linspace(-30.0, axis.count + 30.0, 7_001)
    assert axis.to_zeta(axis.to_depth(k)) == pytest.approx(k, rel=0, abs=1e-12)
    assert (axis.to_zeta(axis.depths) == np.arange(axis.count)).all()
    assert (axis.to_depth(np.arange(axis.count)) == axis.depths).all()


def test_outside_the_nodes_the_spacing_goes_on(case):
    *_, axis = case
    depths, scale = axis.continued(9, 12)
    assert len(depths) == len(scale) == axis.count + 21
    assert (depths[9:-12] == axis.depths).all()
    assert (scale[9:-12] == axis.scale).all()
    assert np.diff(depths[:10]) == pytest.approx(axis.spacing / axis.scale[0], rel=1e-10)
    assert np.diff(depths[-13:]) == pytest.approx(axis.spacing / axis.scale[-1], rel=1e-10)
    assert (scale[:9] == axis.scale[0]).all()
    assert (scale[-12:] == axis.scale[-1]).all()


def test_where_the_axis_is_uniform_its_scale_is_one_exactly():
    depth, velocity = layers()
    axis = depth_axis(depth, velocity, demand_of(depth, velocity))
    top = axis.depths < 600
    assert (axis.scale[top] == 1.0).all()
    assert axis.depths[top] == pytest.approx(axis.spacing * np.arange(top.sum()), abs=1e-9)


def test_a_model_that_gains_little_stays_uniform():
    depth, velocity = gradient()
    assert depth_axis(depth, np.full_like(velocity, 1500.0), demand_of(depth, velocity)) is None
    thin = np.where((depth > 2000) & (depth < 2100), 4500.0, 1500.0)
    assert depth_axis(depth, thin, demand_of(depth, velocity)) is None
    # too few cells for the constant ends and a change between them
    assert depth_axis(*gradient(bottom=400.0), demand_of(*gradient(bottom=400.0))) is None


def test_depths_of_the_model_beyond_what_is_covered_do_not_matter_and_missing_ones_are_as_the_nearest():
    depth, velocity = gradient()
    demand = demand_of(depth, velocity, top=500.0, bottom=3000.0)
    axis = depth_axis(depth, velocity, demand)
    part = (depth >= 480) & (depth <= 3020)
    assert (depth_axis(depth[part], velocity[part], demand).depths == axis.depths).all()
    short = depth_axis(depth[:250], velocity[:250], demand_of(depth, velocity))
    assert short.coarsest <= velocity[249] / RESOLUTION * (1 + 1e-12)


def test_a_gentler_slope_takes_more_nodes():
    depth, velocity = layers()
    counts = [
        depth_axis(depth, velocity, demand_of(depth, velocity, slope=s)).count for s in (0.1, 0.05, 0.02)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_an_axis_has_the_same_bits_on_every_processor():
    depth, velocity = layers()
    axis = depth_axis(depth, velocity, demand_of(depth, velocity))
    digest = hashlib.sha256(axis.depths.tobytes() + axis.scale.tobytes()).hexdigest()
    assert digest[:16] == "e9b9dcdc5eff79a3"


def test_a_spline_of_equal_coefficients_is_that_number():
    knots = np.cumsum(np.random.default_rng(3).uniform(0.5, 2.0, 40))
    at = np.linspace(knots[0], knots[-1], 1001)
    for degree in (1, 3, 4):
        assert (module._spline(knots, np.full(39 - degree, 0.7), degree, at) == 0.7).all()


def derivatives(count, stencil, tilted):
    """Return the matrices of D2 and D1 for unit spacing, cut off at both ends."""
    second, first = stencil.second(tilted), stencil.first(tilted)
    d2, d1 = second[0] * np.eye(count), np.zeros((count, count))
    for k in range(1, len(second)):
        ahead = np.eye(count, k=k)
        d2 += second[k] * (ahead + ahead.T)
        d1 += first[k - 1] * (ahead - ahead.T)
    return d2, d1


def operator(scale, stencil, tilted):
    """Return the matrix of which `is_stable` speaks, made of whole matrices: e - a D2 a, or with the part of D1."""
    radius = stencil.order // 2
    pad = 3 * radius
    a = np.pad(scale, pad, mode="edge")
    d2, d1 = derivatives(len(a), stencil, tilted)
    root = np.sqrt(a)
    e = np.zeros(len(a))
    e[pad:-pad] = potential(scale, stencil.second(tilted))
    out = np.diag(e) - a[:, None] * d2 * a
    if tilted:
        along = root[:, None] * d1 * root
        out += along @ along
    # cut where both products are whole
    return out[radius:-radius, radius:-radius]


def wavy(count, depth_of_waves, cells):
    """Return a scale that swings with a period of so many cells in the middle of an axis."""
    k = np.arange(count)
    window = np.where((k > 30) & (k < count - 31), 1.0, 0.0)
    return 1.0 - depth_of_waves * window * (0.5 - 0.5 * np.cos(2 * np.pi * (k - 30) / cells))


@pytest.mark.parametrize("order", [4, 6, 8, 10, 12, 14, 16])
@pytest.mark.parametrize("kind", ["taylor", "fitted"])
@pytest.mark.parametrize("tilted", [False, True])
def test_stability_is_what_the_eigenvalues_say(order, kind, tilted):
    stencil = Stencil(order, kind)
    depth, velocity = layers(4000.0)
    axis = depth_axis(
        depth, velocity, demand_of(depth, velocity, resolution=70.0, slope=0.03, radius=order // 2)
    )
    scales = {
        "axis": axis.scale,
        "gentle": wavy(160, 0.3, 40),
        "rough": wavy(160, 0.6, 5),
        "jump": np.ones(120),
    }
    scales["jump"][60:] = 0.3
    answers = {}
    for name, scale in scales.items():
        least = np.linalg.eigvalsh(operator(scale, stencil, tilted))[0] / stencil.nyquist(tilted)
        # the factorization is right to rounding, which no case comes near
        assert abs(least + LARGEST) > 1e-12
        answers[name] = is_stable(scale, stencil, tilted)
        assert answers[name] == (least > -LARGEST), (name, least)
    assert tilted or answers["axis"]


@pytest.mark.parametrize("tilted", [False, True])
def test_profiles_that_let_waves_grow_are_caught(tilted):
    stencil = Stencil(16, "fitted")
    noise = np.random.default_rng(0).uniform(0.02, 1.0, 200)
    assert np.linalg.eigvalsh(operator(noise, stencil, tilted))[0] < -0.01
    assert not is_stable(noise, stencil, tilted)
    assert not is_stable(wavy(201, 0.99, 2), stencil, tilted)
    assert is_stable(np.full(200, 0.4), stencil, tilted)


def test_profiles_are_smoothed_until_no_wave_grows():
    depth, velocity = layers()
    stencil = Stencil(16, "fitted")
    demand = demand_of(depth, velocity, radius=8, resolution=16 * stencil.points(True))
    demand = replace(demand, spacing=float(velocity.min() / demand.resolution))
    first = depth_axis(depth, velocity, demand)
    assert not is_stable(first.scale, stencil, True)
    axis = stretched(depth, velocity, demand, stencil, True)
    assert is_stable(axis.scale, stencil, True)
    assert first.count < axis.count <= 0.9 * demand.uniform


def least_below_a_surface(scale, stencil, tilted):
    """Return the least eigenvalue of the odd half of a mirrored axis, over the largest magnitude."""
    whole = operator(np.concatenate([scale[:0:-1], scale]), stencil, tilted)
    middle = len(whole) // 2
    odd = whole[middle + 1 :, middle + 1 :] - whole[middle + 1 :, middle - 1 :: -1]
    return np.linalg.eigvalsh(odd)[0] / stencil.nyquist(tilted)


@pytest.mark.parametrize("tilted", [False, True])
def test_a_free_surface_is_the_odd_half_of_a_mirrored_axis(tilted):
    stencil = Stencil(8, "fitted")
    for scale in (wavy(120, 0.3, 40), wavy(120, 0.7, 5)):
        least = least_below_a_surface(scale, stencil, tilted)
        assert is_stable(scale, stencil, tilted, free_surface=True) == (least > -LARGEST)


@pytest.mark.parametrize("width", [3, 5, 9])
def test_the_odd_half_of_a_matrix_acts_on_odd_functions_as_the_whole_does(width):
    rng, before, count = np.random.default_rng(width), width - 1, 30
    upper = rng.standard_normal((width, count))
    for k in range(width):  # what couples nodes on both sides is the same seen from either
        across = slice(before - k + 1, before)
        upper[k, across] += upper[k, across][::-1].copy()
    matrix, odd = np.zeros((count, count)), np.zeros((count - before - 1,) * 2)
    for k in range(width):
        matrix += np.diag(upper[k, : count - k], k) + (np.diag(upper[k, : count - k], -k) if k else 0)
    half = module._odd(upper, before)
    for k in range(width):
        part = half[k, : len(odd) - k]
        odd += np.diag(part, k) + (np.diag(part, -k) if k else 0)
    values = rng.standard_normal(len(odd))
    whole = np.concatenate([-values[:before][::-1], [0.0], values])
    # products of at most 2 width numbers of size 1
    assert odd @ values == pytest.approx((matrix @ whole)[before + 1 :], rel=0, abs=1e-13)


def test_below_a_free_surface_the_axis_is_smoother_where_waves_would_grow_there_alone():
    """Layers of a tilted medium: without a surface no wave grows, below one some would by e in some 200 steps."""
    depth = np.arange(0.0, 2000.0, 10.0)
    velocity = np.array([1500.0, 3400.0, 2010.0, 2390.0])[np.searchsorted([59.0, 681.0, 1146.0], depth)]
    stencil = Stencil(12, "fitted")
    demand = demand_of(depth, velocity, radius=6, bottom=2000.0, resolution=50 * stencil.points(True))
    demand = replace(demand, spacing=float(velocity.min() / demand.resolution))
    first = stretched(depth, velocity, demand, stencil, True)
    assert np.linalg.eigvalsh(operator(first.scale, stencil, True))[0] / stencil.nyquist(True) > -LARGEST
    assert least_below_a_surface(first.scale, stencil, True) < -1e-6
    below = stretched(depth, velocity, demand, stencil, True, free_surface=True)
    assert least_below_a_surface(below.scale, stencil, True) > -LARGEST
    assert first.count < below.count <= 0.9 * demand.uniform


def test_potential_cancels_what_the_operator_makes_of_a_constant(case):
    *_, axis = case
    stencil, pad = Stencil(12, "fitted"), 8
    a = np.pad(axis.scale, pad, mode="edge")
    d2, _ = derivatives(len(a), stencil, False)
    e = potential(axis.scale, stencil.second())
    constant = 1 / np.sqrt(a)
    left = (a * (d2 @ (a * constant)))[pad:-pad] - e * constant[pad:-pad]
    assert np.abs(left).max() < 1e-14
    assert (e[:7] == 0).all()
    assert (e[-7:] == 0).all()


@pytest.mark.parametrize("order", [4, 8, 16])
def test_the_fastest_rate_bounds_the_operator_and_is_near_it(case, order):
    depth, velocity, demand, axis = case
    stencil = Stencil(order, "fitted")
    second, v = stencil.second(), np.interp(axis.depths, depth, velocity)
    d2, _ = derivatives(axis.count, stencil, False)
    a, h = axis.scale, axis.spacing
    along = 2 * stencil.nyquist() / demand.spacing**2
    # along x and y every wave oscillates from node to node
    matrix = (np.diag(potential(a, second)) - a[:, None] * d2 * a) / h**2 + along * np.eye(axis.count)
    wave = np.random.default_rng(1).standard_normal(axis.count)
    for _ in range(3000):
        wave = v * (matrix @ (v * wave))
        wave /= np.linalg.norm(wave)
    largest = wave @ (v * (matrix @ (v * wave)))
    bound = fastest_rate(a, v, second, along, h)
    assert largest <= bound * (1 + 1e-12)
    # a wave that oscillates from node to node along z too needs room of constant v a
    assert largest >= 0.9 * bound
    assert bound < 0.95 * v.max() ** 2 * (along + stencil.nyquist() / h**2)


@pytest.mark.parametrize("scale", [wavy(100, 0.8, 2), np.random.default_rng(0).uniform(0.05, 1.0, 100)])
def test_the_fastest_rate_counts_the_potential_where_the_axis_is_rough(scale):
    stencil = Stencil(8, "fitted")
    second, v = stencil.second(), 1.0 / scale
    d2, _ = derivatives(len(scale), stencil, False)
    matrix = np.diag(potential(scale, second)) - scale[:, None] * d2 * scale
    largest = np.linalg.eigvalsh(v[:, None] * matrix * v)[-1]
    # v a is 1: without the potential no wave would oscillate faster than on a uniform axis
    assert largest > 1.3 * stencil.nyquist()
    assert largest <= fastest_rate(scale, v, second, 0.0, 1.0)


def test_without_a_stretch_the_rate_is_that_of_a_uniform_axis():
    stencil = Stencil(8, "fitted")
    rate = fastest_rate(np.ones(50), np.full(50, 3000.0), stencil.second(), 0.1, 10.0)
    assert rate == pytest.approx(3000.0**2 * (0.1 + stencil.nyquist() / 100.0), rel=1e-14)
