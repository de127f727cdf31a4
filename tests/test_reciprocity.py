"""Common-receiver gathers: the same traces and the same image."""

from __future__ import annotations

import numpy as np

import subsalt
from job_files import nodes
from subsalt.acquisition.reciprocity import fewer_gathers, receiver_gathers
from subsalt.acquisition.wavelet import ricker
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel

RNG = np.random.default_rng(11)


def test_few_receivers_are_counted():
    assert fewer_gathers(nodes()) == 2
    assert fewer_gathers(nodes(3)) is None


def test_every_trace_keeps_its_ends_and_samples():
    survey = nodes()
    gathers = receiver_gathers(survey)
    assert [s.id for s in gathers.shots] == [1, 2]
    for r, gather in enumerate(gathers.shots):
        np.testing.assert_array_equal(gather.src, survey.shots[0].rcv[r])
        np.testing.assert_array_equal(gather.rcv, [s.src for s in survey.shots])
        np.testing.assert_array_equal(gathers.traces(gather), [s.data[r] for s in survey.shots])
    # and once more there are shots
    for a, b in zip(receiver_gathers(gathers).shots, survey.shots, strict=True):
        np.testing.assert_array_equal(a.src, b.src)
        np.testing.assert_array_equal(a.rcv, b.rcv)
        np.testing.assert_array_equal(a.data, b.data)


def test_both_ways_give_one_image():
    """A trace d of source s and receiver r adds d correlated with g_s * w * g_r, where s and r may change places."""
    grid = Grid((66, 36), (10.0, 10.0))
    vp = np.clip(1600.0 + 6.0 * np.arange(36) + RNG.uniform(-150, 150, grid.shape), 1500, None)
    model, survey = EarthModel(grid, vp.astype(np.float32)), nodes(nt=101)
    how = {
        "mode": "adjoint",
        "condition": "cross-correlation",
        "image_step": 1,
        "source_taper": None,
        "device": "cpu",
    }
    images = [
        subsalt.migrate(model, s, ricker(10.0, 0.001), **how).image
        for s in (survey, receiver_gathers(survey))
    ]
    # some 600 steps of 60 operations in single precision, each rounding by 6e-8, as a random walk
    assert np.abs(images[0] - images[1]).max() < (600 * 60) ** 0.5 * 2**-24 * np.abs(images[0]).max()
    assert np.abs(images[0]).max() > 0
