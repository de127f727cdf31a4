"""Conjugate gradients for least squares: against the dense solution, from written states, with penalty and mask."""

from dataclasses import replace

import numpy as np
import pytest

from subsalt.errors import ConfigError, NumericalFailure
from subsalt.inversion.cgls import Cgls, CglsState, Scalars
from subsalt.inversion.least_squares import solve, squared
from subsalt.inversion.options import LeastSquaresOptions
from subsalt.inversion.penalty import Penalty
from subsalt.inversion.preconditioner import by_depth, by_illumination, masked
from subsalt.inversion.stopping import StoppingRules

SHAPE, DATA = (4, 3), (2, 5, 4)


class Dense:
    """A matrix as an operator on arrays."""

    domain_shape, range_shape = SHAPE, DATA

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.matrix = rng.standard_normal((40, 12))

    def forward(self, x):
        return (self.matrix @ np.asarray(x).ravel()).reshape(DATA)

    def adjoint(self, y):
        return (self.matrix.T @ np.asarray(y).ravel()).reshape(SHAPE)


OPERATOR = Dense()
D = np.random.default_rng(2).standard_normal(DATA)
ONES = np.ones(SHAPE)


def solved(rules=12, precondition=ONES, penalty="size", damping=0.0, **more):
    cgls = Cgls(precondition, Penalty(penalty), damping)
    rules = rules if isinstance(rules, StoppingRules) else StoppingRules(rules)
    return solve(OPERATOR, D, lambda: cgls, rules, **more)


def dense(damping=0.0, r=None):
    """Return the solution of the normal equations; `r` is R^T R."""
    a = OPERATOR.matrix
    r = np.eye(12) if r is None else r
    return np.linalg.solve(a.T @ a + damping * r, a.T @ D.ravel()).reshape(SHAPE)


@pytest.mark.parametrize("precondition", [ONES, 1.0 + np.arange(12.0).reshape(SHAPE)])
def test_as_many_steps_as_unknowns_give_the_least_squares_solution(precondition):
    out = solved(12, precondition)
    # errors of conjugate gradients grow by the condition number, below 10 here
    assert np.abs(out.state.x - dense()).max() < 1e-12
    assert all(b.misfit < a.misfit for a, b in zip(out.history, out.history[1:], strict=False))
    assert out.history[-1].misfit == pytest.approx(squared(D - OPERATOR.forward(out.state.x)), rel=1e-12)
    assert max(s.pair for s in out.history) < 1e-13


@pytest.mark.parametrize("penalty", ["size", "roughness"])
def test_a_penalty_is_that_of_the_normal_equations(penalty):
    out = solved(12, penalty=penalty, damping=0.3)
    units = [Penalty(penalty).normal(e.reshape(SHAPE)).ravel() for e in np.eye(12)]
    damping = out.state.scalars.damping
    assert damping > 0
    assert np.abs(out.state.x - dense(damping, np.stack(units))).max() < 1e-12
    # R^T R is symmetric, and |R m|^2 = <m, R^T R m>
    m = np.random.default_rng(3).standard_normal(SHAPE)
    for lateral in (True, False):
        p = Penalty(penalty, lateral)
        assert p.squared(m) == pytest.approx(float(np.sum(m * p.normal(m))), rel=1e-13)
    assert out.state.scalars.penalty == pytest.approx(damping * Penalty(penalty).squared(out.state.x))


def test_a_state_that_was_written_down_goes_on_to_the_same_bytes(tmp_path):
    cgls = Cgls(1.0 + ONES, Penalty("roughness"), 0.1)
    whole = solve(OPERATOR, D, lambda: cgls, StoppingRules(5)).state
    state = solve(OPERATOR, D, lambda: cgls, StoppingRules(2)).state
    for _ in range(3):
        np.save(tmp_path / "state.npy", np.stack(state.arrays))
        x, s, p = np.load(tmp_path / "state.npy")
        state = CglsState(x, s, p, Scalars.from_dict(state.scalars.to_dict()))
        q = OPERATOR.forward(state.p)
        state = cgls.step(state, OPERATOR.adjoint(q), squared(q))
    assert state.scalars == whole.scalars
    assert all(np.array_equal(a, b) for a, b in zip(state.arrays, whole.arrays, strict=True))


def test_a_start_a_mask_and_weights():
    m0 = np.random.default_rng(4).standard_normal(SHAPE)
    out = solved(12, start=m0)
    assert np.abs(m0 + out.state.x - dense()).max() < 1e-12
    mask = np.ones(SHAPE)
    mask[0] = 0
    change = solved(9, precondition=masked(ONES, mask)).state.x
    assert not change[0].any()
    free = OPERATOR.matrix[:, 3:]
    assert np.abs(change.ravel()[3:] - np.linalg.lstsq(free, D.ravel(), rcond=None)[0]).max() < 1e-12
    weights = np.ones((2, 1, 1))
    weights[1] = 0
    half = solved(12, weights=weights).state.x
    assert (
        np.abs(half.ravel() - np.linalg.lstsq(OPERATOR.matrix[:20], D[0].ravel(), rcond=None)[0]).max()
        < 1e-10
    )


def test_rules_end_it_with_their_reason():
    now = Scalars(3, 1.0, 0.04, 1.0, 1.0)
    assert StoppingRules(5).reason(now) == ""
    assert "3 iterations" in StoppingRules(3).reason(now)
    assert "0.04 of the start" in StoppingRules(5, misfit=0.05).reason(now)
    assert "noise, 0.2 of the data" in StoppingRules(5, noise=0.2).reason(now)
    assert "gradient is zero" in StoppingRules(5).reason(replace(now, gamma=0.0))
    assert LeastSquaresOptions(iterations=7, noise=0.1).rules == StoppingRules(7, 0.0, 0.1)
    # white noise of 20 % of the data, which 40 samples of 12 unknowns do not explain: it ends before it is fitted
    rng = np.random.default_rng(5)
    clean = OPERATOR.forward(rng.standard_normal(SHAPE))
    noise = rng.standard_normal(DATA)
    noise *= 0.2 * np.linalg.norm(clean) / np.linalg.norm(noise)
    cgls = Cgls(ONES, Penalty())
    out = solve(OPERATOR, clean + noise, lambda: cgls, StoppingRules(12, noise=0.2))
    assert "down to the noise" in out.reason
    assert out.history[-1].iteration < 12


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (lambda: Cgls(np.zeros(SHAPE), Penalty()), "E894"),
        (lambda: Cgls(-ONES, Penalty()), "E894"),
        (lambda: by_illumination(np.zeros(SHAPE)), "E894"),
        (lambda: masked(ONES, np.ones((3, 3))), "E896"),
        (lambda: masked(ONES, -ONES), "E896"),
        (lambda: solved(3, start=np.zeros(3)), "E896"),
        (lambda: solved(3, weights=np.ones(7)), "E896"),
        (lambda: solve(OPERATOR, D[0], lambda: Cgls(ONES, Penalty()), StoppingRules(3)), "E896"),
        (lambda: StoppingRules(0), "E104"),
        (lambda: StoppingRules(1, misfit=1.0), "E104"),
        (lambda: LeastSquaresOptions(noise=-0.1), "E104"),
        (lambda: LeastSquaresOptions(floor=0.0), "E104"),
        (lambda: Penalty("small"), "E104"),
    ],
)
def test_what_cannot_be_is_refused(broken, code):
    with pytest.raises(ConfigError) as refused:
        broken()
    assert refused.value.code == code
    assert refused.value.fix


def test_numbers_that_are_none_and_operators_that_are_no_pair_end_it():
    cgls = Cgls(ONES, Penalty())
    state = cgls.begin(OPERATOR.adjoint(D), squared(D), squared(D))
    q = OPERATOR.forward(state.p)
    for h, energy, said in (
        (OPERATOR.adjoint(q) * np.nan, squared(q), "nan"),
        (OPERATOR.adjoint(q), np.inf, "inf"),
        (1.1 * OPERATOR.adjoint(q), squared(q), "no pair"),
        (np.zeros(SHAPE), 0.0, "leaves no trace"),
    ):
        with pytest.raises(NumericalFailure, match=said) as failure:
            cgls.step(state, h, energy)
        assert failure.value.code == "E895"
    with pytest.raises(NumericalFailure):
        cgls.begin(np.full(SHAPE, np.nan), 1.0, 1.0)


def test_preconditioners_are_of_mean_one_and_finite():
    light = np.array([[4.0, 1.0, 0.0], [4.0, 1.0, 0.0]])
    weights = by_illumination(light, 0.01)
    assert not weights[:, 2].any()
    assert weights[:, :2].mean() == pytest.approx(1.0)
    mean = light.mean()
    assert weights[0, 1] / weights[0, 0] == pytest.approx((4 + 0.01 * mean) / (1 + 0.01 * mean))
    depth = by_depth((2, 4), np.array([-10.0, 0.0, 10.0, 20.0]), 2.0)
    assert depth.mean() == pytest.approx(1.0)
    assert np.allclose(depth[0] / depth[0, 2], [1, 1, 1, 4])
