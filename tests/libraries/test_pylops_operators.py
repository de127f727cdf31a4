"""Operators in PyLops pass its dot test, are adjoint in float64 to rounding, and are solved by its solvers."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from subsalt.errors import ConfigError
from subsalt.methods.rtm.operators import ModellingOperator

pylops = pytest.importorskip("pylops", reason="PyLops is not installed (make test-libraries)")
pytestmark = pytest.mark.library

GRID = ss.Grid((20, 14), (10.0, 10.0))
SURVEY = ss.Survey.from_arrays([[100.0, 20.0], [120.0, 20.0]], [[60.0, 20.0], [160.0, 20.0]], nt=24, dt=0.004)
WAVELET = ss.ricker(20.0, 0.001)


def born(epsilon=None, **options):
    """Return the Born operator of a small model."""
    model = ss.EarthModel(GRID, 2000.0, epsilon, None if epsilon is None else 0.5 * epsilon)
    return ss.rtm_operator(model, SURVEY, WAVELET, **options)


@pytest.mark.parametrize("epsilon", [None, 0.1], ids=["isotropic", "vti"])
@pytest.mark.parametrize(
    ("options", "rtol"), [({}, 1e-4), ({"device": "reference", "dtype": "float64", "layer": 6}, 1e-10)]
)
def test_the_born_operator_passes_the_dot_test_of_pylops(epsilon, options, rtol):
    own = born(epsilon, **options)
    operator = own.to_pylops()
    assert operator.dims == GRID.shape
    assert operator.dimsd == (2, 2, 24)
    assert operator.shape == (2 * 2 * 24, 20 * 14)
    np.random.seed(0)  # noqa: NPY002
    assert pylops.utils.dottest(operator, rtol=rtol, complexflag=0)
    x = np.random.default_rng(1).standard_normal(GRID.shape) * 1e-9
    data = own.forward(x)
    np.testing.assert_array_equal(operator @ x, data)
    np.testing.assert_array_equal(operator.H @ data.ravel(), own.adjoint(data).ravel())


def test_modelling_passes_it_too():
    model = ss.EarthModel(GRID, 2000.0)
    own = ModellingOperator(model, [[100.0, 20.0]], [[60.0, 20.0], [160.0, 20.0]], 50)
    np.random.seed(0)  # noqa: NPY002
    assert pylops.utils.dottest(own.to_pylops(), rtol=1e-4, complexflag=0)


def test_a_solver_of_pylops_lowers_the_misfit_with_every_step():
    """LSQR minimises it over spaces that grow: its norm falls with each step."""
    operator = born().to_pylops()
    dm = np.zeros(GRID.shape)
    dm[8:12, 8] = -2e-8
    data = operator @ dm.ravel()
    left = [np.linalg.norm(data)]
    for steps in (1, 3):
        image = pylops.optimization.basic.lsqr(operator, data, x0=np.zeros(dm.size), niter=steps)[0]
        left.append(np.linalg.norm(operator @ image - data))
    assert left[2] < left[1] < left[0]


def test_a_complex_vector_is_refused_with_the_cure():
    operator = born().to_pylops()
    with pytest.raises(ConfigError, match=r"complex128.*x\.real") as refused:
        operator.matvec(np.zeros(20 * 14, complex))
    assert refused.value.code == "E777"
