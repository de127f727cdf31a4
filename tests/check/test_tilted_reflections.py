"""What check says of reflections on a chosen grid: of velocity they are right, of tilted anisotropy not checked."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from subsalt.check import Context
from subsalt.check.spectrum import dispersion


def said(theta, modelling):
    grid = ss.Grid((61, 61), (5.0, 5.0))
    tilt = None if theta is None else np.full(grid.shape, theta, np.float32)
    model = ss.EarthModel(grid, np.full(grid.shape, 2000.0, np.float32), 0.2, 0.1, tilt)
    context = Context(
        model=model, computed=model, accuracy=0.01, wavelet=ss.ricker(15, 0.002), modelling=modelling
    )
    return list(dispersion(context))


@pytest.mark.parametrize(("theta", "modelling"), [(0.5, True), (0.5, False), (None, True)])
def test_reflections_of_a_tilted_anisotropy_are_not_called_right(theta, modelling):
    findings = [f for f in said(theta, modelling) if f.level == "unchecked"]
    assert len(findings) == (theta is not None and modelling)
    assert all("epsilon, delta or the axis" in f.message for f in findings)
