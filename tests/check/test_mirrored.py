"""A section that runs backward along x, told by first breaks."""

from __future__ import annotations

import numpy as np
import pytest
from break_surveys import context, findings, split, wavelet

from subsalt.acquisition.first_breaks import ShotBreaks, fit
from subsalt.check import mirrored
from subsalt.check.break_fits import onset
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Parameter

GRID = Grid((201, 81), (10.0, 10.0))


def wedge():
    """Return a slow layer that thickens from 20 to 120 m along the line, over rock."""
    x, z = GRID.axis(0)[:, None], GRID.axis(1)
    return EarthModel(GRID, np.where(z < 20.0 + 0.05 * x, 1200.0, 2400.0).astype(np.float32))


def breaks_in(model, late=0.0):
    """Return first breaks of a split spread that are those of a model."""
    out = []
    for shot in split().shots:
        rows, n = np.arange(len(shot.rcv)), len(shot.rcv)
        offset = shot.rcv[:, 0] - shot.src[0]
        # one waveform everywhere: picks that are good
        out.append(ShotBreaks(shot, rows, offset, np.zeros(n), np.ones((n, 32)), np.ones(n), 0.0, 0.1))
    slow, step = mirrored._slowness(model, 1900.0)
    for b, t in zip(out, mirrored._times(slow, step, model, out), strict=True):
        b.time = t + onset(wavelet()) + late
        fit(b)
    return out


def said(model, breaks, **given):
    """Return the codes that are said of first breaks in a model."""
    facts = {"_breaks": breaks, "first_breaks": {"verdicts": {"fits": len(breaks)}}}
    vp = Parameter("vp", model.vp, model.grid, source="vp.rsf", given=given)
    return findings(
        context("land, split spread", model=model, parameters={"vp": vp}, facts=facts), ("mirrored",)
    )


def test_times_through_a_uniform_medium():
    model = EarthModel(GRID, 2000.0)
    for b in breaks_in(model):
        far = np.abs(b.offset) > 50.0
        straight = np.linalg.norm(b.shot.rcv - b.shot.src, axis=1) / 2000.0
        # along the surface the paths of the graph are straight
        np.testing.assert_allclose((b.time - onset(wavelet()))[far], straight[far], rtol=0.01)


@pytest.mark.parametrize("late", [0.0, 0.03])
def test_a_section_that_runs_backward(late):
    model = wedge()
    backward = EarthModel(GRID, model.vp[::-1].copy())
    (reported,) = said(backward, breaks_in(model, late))
    assert reported.code == "W375"
    assert '[model] vp = {file = "vp.rsf", flip = "x"}' in reported.fix
    (again,) = said(backward, breaks_in(model, late), flip="x")
    assert '[model] vp = {file = "vp.rsf"}' in again.fix
    assert not said(model, breaks_in(model, late))


@pytest.mark.parametrize("spacing", [12.5, 20.0])
def test_a_spacing_along_x_that_is_not_the_right_one(spacing):
    """Part of the model lies under the line, stretched: its x axis is not turned around."""
    model = wedge()
    long = EarthModel(Grid(GRID.shape, (spacing, 10.0)), model.vp)
    (reported,) = said(long, breaks_in(model))
    assert reported.code == "W376"
    assert '[model] vp = {file = "vp.rsf", spacing = [10.0, 10.0]}' in reported.fix
    assert "flip" not in reported.fix
    # the spacing is right where first breaks are those of the model, whatever it is along z
    assert not said(long, breaks_in(long))


def test_a_symmetric_section_says_nothing():
    x = GRID.axis(0)[:, None]
    model = EarthModel(
        GRID, np.where(GRID.axis(1) < 60.0 + 40.0 * np.cos(np.pi * (x - 1000.0) / 500.0), 1200.0, 2400.0)
    )
    assert not said(model, breaks_in(model))
