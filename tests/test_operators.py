"""The linear operators refuse arrays that are not theirs; threads and devices are set as in the other functions."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from subsalt import kernels
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.methods.rtm.operators import ModellingOperator
from subsalt.propagation.options import PropagationOptions

MODEL = ss.EarthModel(ss.Grid((24, 20), (10.0, 10.0)), 2000.0)
WAVELET = ss.ricker(20.0, 0.001)
SURVEY = ss.Survey.from_arrays([[50.0, 20.0]], [[100.0, 20.0], [120.0, 20.0]], nt=40, dt=0.002)


@pytest.fixture(autouse=True)
def keep_threads():
    before = cpu.describe()["threads"]
    yield
    cpu.set_threads(before)


def test_a_transposed_perturbation_is_not_taken_for_a_model() -> None:
    with pytest.raises(ConfigError, match=r"dm has shape \(20, 24\)"):
        ss.born(MODEL, np.zeros((20, 24)), SURVEY, WAVELET)
    with pytest.raises(ConfigError, match=r"data has shape \(1, 40, 2\)"):
        ss.born_adjoint(MODEL, np.zeros((1, 40, 2)), SURVEY, WAVELET)


def test_samples_of_another_length_are_refused() -> None:
    operator = ModellingOperator(MODEL, [[50.0, 20.0]], [[100.0, 20.0]], 30)
    with pytest.raises(ConfigError, match="source samples"):
        operator.forward(np.zeros((1, 29)))
    with pytest.raises(ConfigError, match="data"):
        operator.adjoint(np.zeros((2, 30)))


def test_operators_use_the_threads_they_are_given(monkeypatch) -> None:
    ss.rtm_operator(MODEL, SURVEY, WAVELET, PropagationOptions(threads=3))
    assert cpu.describe()["threads"] == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
    kernels.prepare("cpu", None)
    assert cpu.describe()["threads"] == 2
