"""Point-spread functions: a known blur is undone to its bound, adjoint and overlap are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

import subsalt as ss
from subsalt.errors import ConfigError
from subsalt.inversion.point_spread import OUTER, TOO_NEAR, Lattice, PointSpread, lattice_every

SHAPE, STEP = (46, 33), (9, 11)
LATTICE = Lattice(SHAPE, STEP)
RNG = np.random.default_rng(7)
#: a blur that reaches one point, of every axis
KERNEL = np.array([0.1, 1.0, 0.1])


def blurred(model: np.ndarray, loud: np.ndarray, kernels: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return what each point of a model is spread to: its kernel along both axes, times how loud it is there."""
    out = loud * model
    for axis, kernel in enumerate(kernels):
        reach = len(kernel) // 2
        source, out = out, np.zeros_like(out)
        for o, weight in zip(range(-reach, reach + 1), kernel, strict=True):
            n = source.shape[axis]
            here, there = [slice(None)] * 2, [slice(None)] * 2
            here[axis], there[axis] = slice(max(0, -o), n - max(0, o)), slice(max(0, o), n - max(0, -o))
            out[tuple(there)] += weight * source[tuple(here)]
    return out


def bilinear() -> np.ndarray:
    """Return an amplitude that a lattice interpolates exactly: linear between its nodes, constant beyond."""
    return LATTICE.between(RNG.uniform(1.0, 2.0, LATTICE.counts))


def gaussian(sigma: float, reach: int) -> np.ndarray:
    """Return a Gaussian kernel."""
    return np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)


def test_a_lattice_lies_in_the_middle_and_its_windows_inside():
    assert LATTICE.counts == (5, 3)
    assert LATTICE.reach == (4, 5)
    for n, at, reach in zip(SHAPE, LATTICE.nodes, LATTICE.reach, strict=True):
        assert at[0] >= reach
        assert at[-1] + reach < n
        assert abs(at[0] - (n - 1 - at[-1])) <= 1
    assert LATTICE.points().sum() == 15
    assert lattice_every((100, 60), (10.0, 5.0), (205.0, 1.0)) == Lattice((100, 60), (20, 3))


def test_values_at_nodes_are_linear_between_them_and_constant_beyond():
    x, z = (at.astype(float) for at in LATTICE.nodes)
    between = LATTICE.between(2.0 + 0.25 * x[:, None] - 0.5 * z[None])
    i, k = np.arange(SHAPE[0]).clip(x[0], x[-1]), np.arange(SHAPE[1]).clip(z[0], z[-1])
    # sums and products of a dozen numbers below 20: a few units in their last place
    assert np.abs(between - (2.0 + 0.25 * i[:, None] - 0.5 * k[None])).max() < 1e-13
    single = Lattice((5, 7), (5, 7)).between(np.array([[3.0]]))
    assert np.array_equal(single, np.full((5, 7), 3.0))


def test_a_varying_blur_is_known_from_its_lattice_and_undone_to_the_bound_of_the_iteration():
    loud = bilinear()
    kernels = (KERNEL, KERNEL)
    spread = PointSpread.of_response(LATTICE, blurred(LATTICE.points(), loud, kernels))
    model = RNG.standard_normal(SHAPE)
    image = blurred(model, loud, kernels)
    # nine products of numbers below 10 each
    assert np.abs(spread.forward(model) - image).max() < 1e-13
    assert spread.overlap.max() == 0.0
    assert np.abs(spread.diagonal() - loud).max() < 1e-14
    # of the balanced Hessian, whose diagonal is 1, rows and columns have 0.44 sqrt(ratio of neighbours) beside it
    ratio = max(float((loud[1:] / loud[:-1]).max()), float((loud[:, 1:] / loud[:, :-1]).max()))
    ratio = max(ratio, float((loud[:-1] / loud[1:]).max()), float((loud[:, :-1] / loud[:, 1:]).max()))
    beside = 0.44 * ratio  # two steps of neighbours at most, under the root
    condition = (1 + beside) / (1 - beside)
    # the residual of conjugate gradients on the normal equations shrinks at least so fast (Hestenes and Stiefel)
    rate, n = (condition - 1) / (condition + 1), 30
    solved = spread.deconvolve(image, iterations=n, damping=0.0)
    assert (
        np.linalg.norm(solved.image - model) <= 2 * condition**2 * rate**n * np.linalg.norm(model) * ratio**2
    )
    assert len(solved.misfits) == n + 1
    assert list(solved.misfits) == sorted(solved.misfits, reverse=True)
    assert "30 iterations" in solved.reason


def test_the_adjoint_is_exact_and_a_lattice_of_any_dimension_has_one():
    for shape, step in ((SHAPE, STEP), ((13, 11, 12), (5, 4, 6)), ((40,), (7,))):
        lattice = Lattice(shape, step)
        spread = PointSpread(
            lattice, RNG.standard_normal((*lattice.counts, *(2 * r + 1 for r in lattice.reach)))
        )
        x, y = RNG.standard_normal(shape), RNG.standard_normal(shape)
        left, right = float(np.sum(spread.forward(x) * y)), float(np.sum(x * spread.adjoint(y)))
        # sums of some thousand products of both signs in double precision
        size = np.linalg.norm(spread.forward(x)) * np.linalg.norm(y)
        assert abs(left - right) <= 1e-13 * size


def test_overlap_is_the_energy_of_the_outer_quarter():
    lattice = Lattice((44, 44), (11, 11))
    reach = 5
    inner = sum(abs(o) <= OUTER * reach for o in range(-reach, reach + 1))
    everywhere = PointSpread.of_response(lattice, np.ones((44, 44)))
    assert everywhere.overlap == pytest.approx(1.0 - (inner / 11) ** 2, abs=1e-14)
    previous = 0.0
    for sigma in (1.0, 1.5, 2.5, 4.0):
        kernel = gaussian(sigma, 21)
        response = blurred(lattice.points(), np.ones((44, 44)), (kernel, kernel))
        spread = PointSpread.of_response(lattice, response)
        # of one row of nodes with all its neighbours
        row = sum(np.roll(np.pad(kernel, (0, 1)), 11 * k) for k in (-1, 0, 1))[21 - reach : 22 + reach]
        part = float((row[reach - 3 : reach + 4] ** 2).sum() / (row**2).sum())
        # nodes at the edges have neighbours on one side only: fewer
        assert spread.overlap[1:-1, 1:-1] == pytest.approx(1.0 - part**2, rel=0.15)
        assert spread.typical_overlap > previous
        previous = spread.typical_overlap
        # functions are wrong by the nearest point of a neighbour's, and its tail beyond the window is missing
        tail = math.exp(-0.5 * ((11 - reach) / sigma) ** 2)
        wrong = np.abs(
            spread.functions[1, 1] - np.outer(gaussian(sigma, reach), gaussian(sigma, reach))
        ).max()
        assert 0.9 * tail <= wrong <= 3.0 * tail
        assert (spread.typical_overlap > TOO_NEAR) == (tail > 0.05)


def test_a_mask_keeps_points_at_zero_and_their_image_out():
    loud = bilinear()
    spread = PointSpread.of_response(LATTICE, blurred(LATTICE.points(), loud, (KERNEL, KERNEL)))
    model = RNG.standard_normal(SHAPE)
    mask = np.ones(SHAPE)
    mask[:, :6] = 0.0
    model[:, :6] = 0.0
    image = blurred(model, loud, (KERNEL, KERNEL))
    image[:, :5] += 100.0
    solved = spread.deconvolve(image, iterations=30, damping=0.0, mask=mask)
    assert not solved.image[:, :6].any()
    assert np.abs(solved.image - model).max() < 1e-6


def test_wrong_lattices_and_images_are_refused():
    for step in ((2, 5), (5, 50), (5,)):
        with pytest.raises(ConfigError, match="a lattice every") as refused:
            Lattice(SHAPE, step)
        assert refused.value.code == "E898"
    for response, said in (
        (np.zeros(SHAPE), "no light"),
        (-LATTICE.points(), "no light"),
        (np.full(SHAPE, np.nan), "not finite at 1518 of 1518"),
        (np.zeros((33, 46)), r"has shape \(33, 46\)"),
    ):
        with pytest.raises(ConfigError, match=said) as refused:
            PointSpread.of_response(LATTICE, response)
        assert refused.value.code == "E898"
    spread = PointSpread.of_response(LATTICE, LATTICE.points())
    for given in ({"image": np.zeros((33, 46))}, {"image": np.zeros(SHAPE), "mask": np.ones((3, 3))}):
        with pytest.raises(ConfigError) as refused:
            spread.deconvolve(**given)
        assert refused.value.code == "E896"


def test_the_functions_of_a_survey_make_its_image_sharper_and_even():
    grid = ss.Grid((61, 41), (12.5, 12.5))
    model = ss.EarthModel(grid, 2000.0)
    receivers = [(x, 12.5) for x in np.arange(25.0, 730.0, 50.0)]
    shots = [(x, 12.5) for x in (125.0, 375.0, 625.0)]
    survey = ss.Survey.from_arrays(shots, receivers, nt=150, dt=0.004)
    operator = ss.born_operator(model, survey, ss.ricker(14.0, 0.001), layer=8, threads=1)
    truth = np.zeros(grid.shape)
    truth[:, [20, 30]] = 1e-9
    image = operator.adjoint(operator.forward(truth))
    # a wavelength of 143 m is longer than half the distance, which is said
    with pytest.warns(
        UserWarning, match=r"reach out of their windows, whose outer quarter holds 12 % of the energy"
    ):
        spread = ss.point_spread(operator, 187.5)
    assert spread.lattice.step == (15, 15)
    assert operator.applied == (2, 2)
    mask = np.zeros(grid.shape)
    mask[:, 14:] = 1.0
    solved = spread.deconvolve(image, iterations=8, mask=mask)
    # where both reflectors are lit; what each image has of their two depths, as a ratio: 1 in the truth
    middle = slice(20, 41)

    def even(of: np.ndarray) -> float:
        return float(of[middle, 20].sum() / of[middle, 30].sum())

    assert abs(math.log(even(solved.image))) < 0.5 * abs(math.log(even(image)))

    def likeness(of: np.ndarray) -> float:
        a, b = (of * mask)[middle], (truth * mask)[middle]
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))

    assert likeness(solved.image) > likeness(image)
    for distance in (0.0, math.inf, (1.0, 2.0, 3.0)):
        with pytest.raises(ConfigError, match="distance"):
            ss.point_spread(operator, distance)
