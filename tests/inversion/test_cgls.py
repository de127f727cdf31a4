"""Conjugate gradients for least squares: against the dense solution, from written states, with penalty and mask."""

from dataclasses import replace

import numpy as np
import pytest

from subsalt.errors import ConfigError, NumericalFailure
from subsalt.inversion.cgls import Cgls, CglsState, Scalars
from subsalt.inversion.least_squares import solve, squared
from subsalt.inversion.noise import AboveBand
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
    assert "1.1 times the noise, 0.2" in StoppingRules(5, noise=0.2).reason(now)
    # tau times the noise, not its energy: 0.04 is 0.2^2, and 1.1 * 0.18 = 0.198 is still below
    assert StoppingRules(5, noise=0.18).reason(now) == ""
    assert "1.12 times" in StoppingRules(5, noise=0.18, noise_factor=1.12).reason(now)
    assert "as estimated" in StoppingRules(5).reason(replace(now, noise=0.19))
    assert "gradient is zero" in StoppingRules(5).reason(replace(now, gamma=0.0))
    options = LeastSquaresOptions(iterations=7, noise=0.1, noise_factor=1.2)
    assert options.rules == StoppingRules(7, 0.0, 0.1, 1.2)
    assert LeastSquaresOptions(noise="above-band").rules == StoppingRules(10)


class Decaying:
    """A matrix of 24 unknowns and 400 samples whose singular values fall by three orders."""

    domain_shape, range_shape = (24, 1), (4, 10, 10)

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.left = np.linalg.qr(rng.standard_normal((400, 24)))[0]
        self.right = np.linalg.qr(rng.standard_normal((24, 24)))[0]
        self.values = np.logspace(0, -3, 24)

    def forward(self, x):
        return (self.left @ (self.values * (self.right.T @ np.ravel(x)))).reshape(self.range_shape)

    def adjoint(self, y):
        return (self.right @ (self.values * (self.left.T @ np.ravel(y)))).reshape(self.domain_shape)


def test_the_rule_stops_before_the_noise_is_fitted():
    """White noise of 20 %: the residual never reaches it, 1.1 times it is reached early, and there the model is best.

    24 unknowns explain 24 / 400 of the noise, so that a residual of the noise itself is the end of all iterations.
    """
    operator = Decaying()
    rng = np.random.default_rng(5)
    x = (operator.right @ rng.standard_normal(24)).reshape(operator.domain_shape)
    clean, noise = operator.forward(x), rng.standard_normal(operator.range_shape)
    noise *= 0.2 * np.linalg.norm(clean) / np.linalg.norm(noise)
    data = clean + noise
    cgls = Cgls(np.ones(operator.domain_shape), Penalty())
    level = np.linalg.norm(noise) / np.linalg.norm(data)

    def run(factor):
        miss: list[float] = []
        rules = StoppingRules(24, noise=level, noise_factor=factor)
        how = {"on_state": lambda state: miss.append(float(np.linalg.norm(state.x - x)))}
        return solve(operator, data, lambda: cgls, rules, **how), miss

    out, miss = run(1.1)
    whole, course = run(1.0)
    stopped = out.history[-1]
    assert "1.1 times the noise" in out.reason
    assert stopped.misfit > level**2 * stopped.data
    assert 0 < stopped.iteration < whole.history[-1].iteration
    # fitted on, noise comes into the model, up to 1 / 0.001 times its part of a direction
    on = solve(operator, data, lambda: cgls, StoppingRules(24)).state.x
    assert miss[-1] < np.linalg.norm(on - x)
    assert course[: len(miss)] == miss


def test_white_noise_is_estimated_from_what_lies_above_the_band():
    """Of 64 traces the estimate is that of some 64 * 200 independent numbers: 1 % in the mean, and 5 % is five times.

    The signal ends below the band that is looked at: a Ricker wavelet of 15 Hz has 3e-3 of its largest amplitude at
    45 Hz, 1e-5 of the energy.
    """
    dt, nt = 0.004, 400
    t = dt * np.arange(nt) - 0.7
    a = (np.pi * 15.0 * t) ** 2
    signal = np.broadcast_to((1 - 2 * a) * np.exp(-a), (64, nt))
    noise = 0.05 * np.random.default_rng(3).standard_normal((64, nt))
    band = AboveBand(nt, dt, 37.5)
    assert band.energy(signal + noise) == pytest.approx(np.sum(noise**2), rel=0.05)
    assert band.energy(signal) < 1e-4 * np.sum(signal**2)
    # a record that ends in the middle of the signal has a ramp there, of 3 / 37.5 s
    assert AboveBand(176, dt, 37.5).energy(signal[:, :176]) < 1e-4 * np.sum(signal[:, :176] ** 2)
    # muted samples have no noise, and dead traces none
    there = np.ones((64, nt))
    there[:, :150], there[::4] = 0, 0
    there[:, 150:160] *= np.linspace(0, 1, 10)
    assert band.energy(there * (signal + noise)) == pytest.approx(np.sum((there * noise) ** 2), rel=0.05)
    assert band.energy(np.zeros((3, nt))) == 0.0
    with pytest.raises(
        ConfigError, match="ends at 90 Hz, and traces every 4 ms have 125 Hz at most"
    ) as refused:
        AboveBand(nt, dt, 90.0)
    assert refused.value.code == "E899"


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
        (lambda: LeastSquaresOptions(noise="loud"), "E104"),
        (lambda: LeastSquaresOptions(noise=0.2, noise_factor=0.9), "E104"),
        (lambda: LeastSquaresOptions(noise=0.95), "E104"),
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
    # a direction that leads away from the data: the misfit would grow, and from a misfit too small go below zero
    for damaged in (
        replace(state, s=-state.s),
        replace(state, scalars=replace(state.scalars, misfit=0.1 * state.scalars.misfit)),
    ):
        with pytest.raises(NumericalFailure, match="every step of conjugate gradients lowers it") as failure:
            cgls.step(damaged, OPERATOR.adjoint(q), squared(q))
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
