"""Iterations over drawn shots: draws without replacement, exact steps, threshold, refusals."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from subsalt.errors import ConfigError, NumericalFailure
from subsalt.inversion.bregman import Bregman, DrawnSums, soft
from subsalt.inversion.drawn import solve_drawn
from subsalt.inversion.draws import Draws
from subsalt.inversion.options import LeastSquaresOptions
from subsalt.inversion.stopping import StoppingRules
from subsalt.methods.lsrtm.course import misfit_is_of, pass_misfits

SHAPE, DATA = (4, 3), (7, 2, 3)
SHOTS = (11, 3, 5, 8, 20, 21, 2)


class Rows:
    """A matrix of which each shot has six rows."""

    domain_shape, range_shape = SHAPE, DATA

    def __init__(self) -> None:
        self.matrix = np.random.default_rng(1).standard_normal((42, 12))

    def forward(self, x, places=None):
        data = (self.matrix @ np.asarray(x).ravel()).reshape(DATA)
        return data if places is None else data[list(places)]

    def adjoint(self, y):
        return (self.matrix.T @ np.asarray(y).ravel()).reshape(SHAPE)

    def normal(self, x, between, places=None):
        modelled, out = self.forward(x), np.zeros(SHAPE)
        for i in range(DATA[0]) if places is None else places:
            some = np.zeros(DATA)
            some[i] = between(i, modelled[i])
            out += self.adjoint(some)
        return out


OPERATOR = Rows()
TRUE = np.random.default_rng(2).standard_normal(SHAPE)
D = OPERATOR.forward(TRUE)
P = 1.0 + np.arange(12.0).reshape(SHAPE) / 12


def solved(iterations, subset, share=0.0, **more):
    states = []
    rules, draws = StoppingRules(iterations), Draws(SHOTS, subset, 1)
    out = solve_drawn(
        OPERATOR, more.pop("data", D), lambda: Bregman(P, share), rules, draws, on_state=states.append, **more
    )
    return out, states


@pytest.mark.parametrize("subset", [1, 3, 7])
def test_a_pass_takes_every_shot_once_and_passes_differ(subset):
    draws = Draws(SHOTS, subset, 1)
    drawn = [draws.drawn(k) for k in range(1, 2 * draws.per_pass + 1)]
    for passed in (drawn[: draws.per_pass], drawn[draws.per_pass :]):
        assert sorted(s for some in passed for s in some) == sorted(SHOTS)
    assert all(len(some) <= subset for some in drawn)
    assert [draws.units(0, k) for k in range(len(drawn) + 1)] == np.cumsum([0, *map(len, drawn)]).tolist()
    assert draws.order(0) != draws.order(1) != Draws(SHOTS, subset, 2).order(1)


def test_draws_follow_from_seed_pass_and_shot_alone():
    """The order is that of the hashes, whatever other shots there are."""
    order = Draws(SHOTS, 2, 7).order(3)
    assert order == sorted(SHOTS, key=lambda s: hashlib.sha256(f"7 3 {s}".encode()).hexdigest())
    assert [s for s in order if s != 5] == Draws(tuple(s for s in SHOTS if s != 5), 2, 7).order(3)


@pytest.mark.parametrize("subset", [1, 3])
@pytest.mark.parametrize("start", [None, np.ones(SHAPE)])
def test_every_step_is_exact_along_its_direction_and_comes_nearer_to_the_solution(subset, start):
    """Of the shots drawn the misfit falls by t <g, P g>, and of x the squared error by 2 t |r|^2 - t^2 <g, P g>."""
    out, states = solved(40, subset, start=start)
    m0 = 0.0 if start is None else start
    errors = [float(np.sum(np.square(m0 + s.x - TRUE) / P)) for s in states]
    draws = Draws(SHOTS, subset, 1)
    # a dozen sums of 12 or 18 terms each, of the size of the first one
    room = 500 * np.finfo(float).eps
    for k, state in enumerate(states[1:], 1):
        now = state.scalars
        places = [SHOTS.index(shot) for shot in draws.drawn(k)]
        residual = (D - OPERATOR.forward(m0 + state.x))[places]
        left = now.misfit - now.alpha * now.gamma
        assert np.sum(np.square(residual)) == pytest.approx(left, abs=room * states[0].scalars.misfit)
        lost = 2 * now.alpha * now.misfit - now.alpha**2 * now.gamma
        assert errors[k] == pytest.approx(errors[k - 1] - lost, abs=room * errors[0])
        # no longer than the step of Kaczmarz, by Cauchy and Schwarz
        assert now.alpha * now.gamma <= now.misfit * (1 + room)
        assert lost >= now.alpha * now.misfit * (1 - room)
        assert now.shots == len(places)
    assert out.reason == "40 iterations are done"


def test_all_shots_at_once_are_steepest_descent_with_its_rate():
    """A step lowers the misfit by ((k - 1) / (k + 1))^2 or more: Kantorovich, k the condition of P^1/2 A^T A P^1/2."""
    out, _ = solved(40, 7)
    root = np.sqrt(P.ravel())
    values = np.linalg.eigvalsh(root[:, None] * (OPERATOR.matrix.T @ OPERATOR.matrix) * root)
    rate = ((values[-1] - values[0]) / (values[-1] + values[0])) ** 2
    misfits = [s.misfit for s in out.history[1:]]
    room = 500 * np.finfo(float).eps * misfits[0]
    for before, after in pairwise(misfits):
        assert after <= rate * before + room


def test_a_gradient_that_is_none_of_the_shots_is_refused():
    """<g, P g> = <r, J P g> can't be more than |r| |J P g|."""
    bregman = Bregman(P)
    state = bregman.begin(np.ones(SHAPE), DrawnSums(7, 9.0, 9.0, 9.0))
    half = bregman.direction(state, np.ones(SHAPE), DrawnSums(3, 4.0, 4.0, 4.0))
    least = half.scalars.gamma**2 / 4.0
    assert bregman.step(half, least).scalars.alpha == half.scalars.gamma / least
    for energy in (0.9 * least, 0.0):
        with pytest.raises(NumericalFailure, match="J and J\\^T are no pair") as failure:
            bregman.step(half, energy)
        assert failure.value.code == "E895"


def test_the_misfit_of_a_pass_counts_every_shot_once():
    out, _ = solved(7, 3)
    numbers = out.history
    assert [s.shots for s in numbers] == [7, 3, 3, 1, 3, 3, 1, 3]
    assert pass_misfits(numbers) == [
        sum(s.misfit for s in some) / sum(s.start for s in some) for some in (numbers[1:4], numbers[4:7])
    ]
    assert misfit_is_of(numbers) == "the 3 of 7 shots drawn, before the step"
    assert misfit_is_of(numbers[:1]) == ""


def test_a_threshold_keeps_points_at_zero_and_is_that_of_the_first_step():
    sparse = np.zeros(SHAPE)
    sparse[1, 2] = 2.0
    _, states = solved(400, 3, 0.5, data=OPERATOR.forward(sparse))
    tau = states[1].scalars.threshold
    assert tau == 0.5 * np.abs(states[1].z).max()
    assert all(s.scalars.threshold == tau for s in states[1:])
    x = states[-1].x
    assert (x == soft(states[-1].z, tau)).all()
    assert np.abs(x - sparse).max() < 1e-3
    assert np.count_nonzero(x) < 12


def test_weights_and_dead_shots():
    """A shot without data changes nothing at first; weights act on data and on what is modelled."""
    data = D.copy()
    first = SHOTS.index(Draws(SHOTS, 1, 1).drawn(1)[0])
    data[first] = 0.0
    _, states = solved(2, 1, data=data)
    assert not states[1].z.any()
    assert states[2].z.any()
    weights = np.ones(DATA)
    weights[first] = 0.0
    out, _ = solved(200, 3, data=data, weights=weights)
    assert np.abs(out.state.x - TRUE).max() < 1e-6


def test_numbers_that_are_none_and_more_shots_than_there_are():
    with pytest.raises(NumericalFailure) as failure:
        solved(3, 1, data=np.where(np.arange(42).reshape(DATA) == 5, np.inf, D))
    assert failure.value.code == "E895"
    with pytest.raises(ConfigError, match="subset = 8: the survey has 7 shots") as refused:
        solved(3, 8)
    assert refused.value.code == "E104"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"subset": 2, "misfit": 0.1}, "E897"),
        ({"subset": 2, "noise": 0.1}, "E897"),
        ({"subset": 2, "noise_factor": 1.3}, "E897"),
        ({"subset": 2, "damping": 0.1}, "E897"),
        ({"subset": 2, "penalty": "roughness"}, "E897"),
        ({"seed": 2}, "E897"),
        ({"threshold": 0.1}, "E897"),
        ({"subset": 0}, "E104"),
        ({"subset": True}, "E104"),
        ({"subset": 2, "seed": -1}, "E104"),
        ({"subset": 2, "threshold": 1.0}, "E104"),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(given, code):
    with pytest.raises(ConfigError) as refused:
        LeastSquaresOptions(**given)
    assert refused.value.code == code
    assert list(given)[-1] in refused.value.message
