"""PyLops' conjugate gradients on the operator of least-squares migration give the image of `lsrtm`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import subsalt as ss

pylops = pytest.importorskip("pylops", reason="PyLops is not installed (make test-libraries)")
pytestmark = pytest.mark.library

GRID = ss.Grid((30, 24), (10.0, 10.0))
MODEL = ss.EarthModel(GRID, 2000.0)
SURVEY = ss.Survey.from_arrays(
    [[80.0, 20.0], [220.0, 20.0]], [[x, 20.0] for x in range(20, 290, 30)], nt=80, dt=0.004
)
WAVELET = ss.ricker(15.0, 0.001)


def test_cgls_of_pylops_gives_the_same_image():
    dm = np.zeros(GRID.shape)
    dm[:, 12], dm[14:18, 18] = 3e-9, -2e-9
    operator = ss.born_operator(MODEL, SURVEY, WAVELET)
    data = operator.forward(dm).astype(np.float32)
    survey = replace(SURVEY, shots=[replace(s, data=data[i]) for i, s in enumerate(SURVEY.shots)])
    ours = ss.lsrtm(MODEL, survey, WAVELET, iterations=5, precondition="none").dm
    theirs = pylops.optimization.basic.cgls(
        operator.to_pylops(), data.astype(np.float64).ravel(), x0=np.zeros(dm.size), niter=5, tol=0.0
    )[0].reshape(GRID.shape)
    assert np.linalg.norm(ours - theirs) < 1e-5 * np.linalg.norm(theirs)
