"""Models that are wrong in kind against inexact ones, by their echoes: what is said of each, over several surveys."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from planted import worlds
from planted.mistakes_models import in_time
from scipy.ndimage import gaussian_filter

from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import ricker
from subsalt.check.context import Context
from subsalt.check.echo_columns import interval
from subsalt.check.echoes import echoes_agree
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.topography import Topography
from subsalt.propagation.options import PropagationOptions
from thorough import ALL

FOOT = 0.3048


def said(world, vp=None, grid=None, shots=None, **options):
    """Return what the rule says of a survey over a model."""
    model = EarthModel(grid or world.grid, vp=np.asarray(world.model["vp"] if vp is None else vp, np.float32))
    survey = Survey(list(shots or world.shots), world.time, ndim=world.ndim)
    wave, propagation = ricker(world.f0, 0.05 / world.f0), PropagationOptions(**options)
    context = Context(model=model, survey=survey, wavelet=wave, propagation=propagation)
    (finding,) = echoes_agree(context)
    assert {"given", "least", "best"} <= context.facts["echoes"].keys()
    return finding


def smooth(v, grid, sigma, water=None):
    """Return velocities smoothed as slowness by a Gaussian, m, in rock alone where there is water."""
    out = 1 / gaussian_filter(1 / v, [sigma / h for h in grid.spacing], mode="nearest")
    return out if water is None else np.where(v < water, v, out)


def rock(v, factor):
    return np.where(v < 1501, v, factor * v)


def drawn(v, grid, size):
    """Return velocities that are wrong by up to a share `size`, differently over some 400 m."""
    off = gaussian_filter(np.random.default_rng(1).standard_normal(v.shape), [200 / h for h in grid.spacing])
    return v * np.where(v < 1501, 1.0, 1 + size * off / np.abs(off).max())


#: models that are known as well as a model before migration is: changes of ``(vp, grid)``
ORDINARY = {
    "right": lambda v, g: v,
    "smoothed over 50 m": lambda v, g: smooth(v, g, 50.0),
    "smoothed over 100 m": lambda v, g: smooth(v, g, 100.0),
    "smoothed over 200 m": lambda v, g: smooth(v, g, 200.0),
    "smoothed over 100 m, not the water": lambda v, g: smooth(v, g, 100.0, 1501.0),
    "10 % slow": lambda v, g: rock(v, 0.9),
    "10 % fast": lambda v, g: rock(v, 1.1),
    "10 % wrong here and there": lambda v, g: drawn(v, g, 0.1),
    "a gradient": lambda v, g: np.broadcast_to(
        np.polyval(np.polyfit(g.axis(-1), v.reshape(-1, v.shape[-1]).mean(axis=0), 1), g.axis(-1)), v.shape
    ),
    "a function of depth": lambda v, g: np.broadcast_to(v[tuple(n // 2 for n in v.shape[:-1])], v.shape),
    "the mean over depth": lambda v, g: np.broadcast_to(
        v.mean(axis=tuple(range(v.ndim - 1)), keepdims=True), v.shape
    ),
}


#: those of most danger to steep layers and to nodes, over which a comparison costs more
SOME = ("right", "smoothed over 50 m", "10 % slow", "a function of depth")


@pytest.mark.parametrize(
    ("world", "name"),
    [(worlds.streamer, n) for n in ORDINARY]
    + [
        (w, n)
        for w in (worlds.split_spread, worlds.nodes, worlds.foothills)
        for n in (ORDINARY if ALL else SOME)
    ],
)
def test_an_inexact_model_is_no_fault(world, name):
    of = world()
    assert said(of, ORDINARY[name](of.model["vp"].astype(float), of.grid)).level in ("ok", "unchecked")


@pytest.mark.parametrize(
    "world", [worlds.streamer, worlds.split_spread, worlds.nodes, partial(worlds.patch, 2)]
)
def test_a_right_model_is_checked(world):
    finding = said(world())
    assert finding.level == "ok"
    # what a trace, a layer and its column leave out costs less than half of the energy
    assert finding.evidence["given"] > 0.6


def scaled(grid, across, down):
    return Grid(grid.shape, (*(across * h for h in grid.spacing[:-1]), down * grid.spacing[-1]), grid.origin)


def deeper(v, rows):
    """Return layers that lie deeper by some rows of the model."""
    return np.concatenate([np.repeat(v[:, :1], rows, axis=1), v[:, :-rows]], axis=1)


def down_to(v, h, held):
    """Return the average or rms velocities from the top down to each node, of nodes in the middle of cells."""
    t = 2 * h / v
    if held == "average":
        return 2 * h * np.arange(1, v.shape[-1] + 1) / np.cumsum(t, axis=-1)
    return np.sqrt(np.cumsum(v * v * t, axis=-1) / np.cumsum(t, axis=-1))


#: changes of ``(vp, grid)`` to ``(vp, grid)``, and words that the finding must say
WRONG = {
    "half as deep": (lambda v, g: (v, scaled(g, 1, 0.5)), "its spacing along z is 10 m"),
    "twice as deep": (lambda v, g: (v, scaled(g, 1, 2.0)), "its spacing along z is 10 m"),
    "spacing 12.5 for 10": (lambda v, g: (v, scaled(g, 1.25, 1.25)), "its spacing is 10 x 10 m"),
    "depths in feet": (lambda v, g: (v, scaled(g, 1, FOOT)), "its spacing along z is 10 m"),
    "rms velocities": (
        lambda v, g: (down_to(v, g.spacing[-1], "rms"), g),
        "rms velocities|average velocities",
    ),
    "average velocities": (
        lambda v, g: (down_to(v, g.spacing[-1], "average"), g),
        "rms velocities|average velocities",
    ),
    "100 m too deep": (lambda v, g: (deeper(v, 10), g), "m higher"),
    "x backward": (lambda v, g: (v[::-1], g), "x axis runs backward"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_of_another_kind_is_told_from_an_inexact_one(name):
    change, words = WRONG[name]
    of = worlds.streamer()
    finding = said(of, *change(of.model["vp"].astype(float), of.grid))
    assert finding.code == "W371", finding
    assert any(w in finding.message for w in words.split("|")), finding.message
    assert finding.evidence["best"] > 0.6 > finding.evidence["given"]


def test_shots_in_the_reverse_order_are_told():
    of = worlds.streamer()
    shots = [replace(s, data=o.data) for s, o in zip(of.shots, of.shots[::-1], strict=True)]
    finding = said(of, shots=shots)
    assert finding.level == "warning"
    assert "shots stand in the reverse order" in finding.message


def test_receivers_on_the_other_side_are_told():
    of = worlds.nodes()
    shots = [replace(s, rcv=s.rcv * [-1, 1, 1] + [2 * s.src[0], 0, 0]) for s in of.shots]
    finding = said(of, shots=shots)
    assert finding.code == "W371"
    assert "on the other side of their sources" in finding.message


def test_a_model_in_time_is_told():
    of = worlds.nodes()
    grid = Grid(of.grid.shape, (of.grid.spacing[0], 12.0), of.grid.origin)
    finding = said(of, in_time(of.model["vp"].astype(float), of.grid, 0.012), grid)
    assert finding.code == "W371"
    assert "two-way time" in finding.message


def test_a_model_of_another_line_fits_in_no_way():
    of = worlds.streamer()
    tops = (lambda x: 300.0 + 60.0 * np.sin(x / 210.0), lambda x: 560.0 - 70.0 * np.cos(x / 260.0))
    finding = said(of, worlds.layers(of.grid, tops, (1750.0, 2300.0, 2900.0), worlds.sea_bed))
    assert finding.code == "W372"
    assert "nothing else that was tried fits" in finding.message


def test_swell_noise_does_not_hide_echoes():
    """What lies below the band of the wavelet is no reason to be silent."""
    of = worlds.streamer()
    t, rng = of.time.values(), np.random.default_rng(5)
    size = max(float(np.abs(s.data).max()) for s in of.shots)

    def noisy(s):
        swell = sum(
            np.cos(2 * np.pi * f * t + rng.uniform(0, 6, (len(s.data), 1))) for f in (0.7, 1.1, 1.6, 2.2)
        )
        return replace(s, data=(s.data + 0.05 * size * swell).astype(np.float32))

    assert said(of, shots=[noisy(s) for s in of.shots]).level == "ok"


def test_echoes_of_receivers_below_count_from_their_depth():
    """Nodes 150 m deep hear echoes earlier by the way down: given at the surface, they do not fit."""
    of = worlds.nodes()
    shots = [replace(s, rcv=s.rcv * [1, 1, 0] + [0, 0, 8.0]) for s in of.shots]
    assert said(of, shots=shots).evidence["given"] < 0.3 < 0.6 < said(of).evidence["given"]


def well():
    """Return shots over the 2-D line into 33 receivers of a well, 200 to 600 m deep."""
    of, n = worlds.streamer(), 9
    sx, rz = 1100.0 + 100.0 * np.arange(n), 200.0 + 12.5 * np.arange(33)
    src = np.stack([sx, 0 * sx, np.full(n, 6.0)], axis=1)
    rcv = np.broadcast_to(np.stack([np.full(33, 1500.0), 0 * rz, rz], axis=1), (n, 33, 3))
    return worlds._modelled("well", of.grid, of.model, src, rcv, of.time, of.f0)


def test_a_well_is_compared_at_the_depths_of_its_receivers():
    of = well()
    right = said(of)
    assert right.level == "ok"
    assert "at distances to" in right.message
    deep = said(of, grid=scaled(of.grid, 1, 0.5))
    assert "its spacing along z is 10 m" in deep.message


def test_below_topography_agreement_is_said_and_disagreement_is_no_fault():
    of = worlds.split_spread()
    ground = Topography(lambda points: np.zeros(len(points)))
    assert said(of, topography=ground).level == "ok"
    v = of.model["vp"].astype(float)
    other = np.where(v < 1400, v, 1900.0 + 900.0 * (np.sin(of.grid.axis(0) / 150.0)[:, None] > 0))
    assert said(of, other, topography=ground).level == "unchecked"


def test_dix_and_its_inverse():
    v = np.repeat([1500.0, 1900.0, 2600.0, 2300.0], 20)[None, :]
    for held in ("rms", "average"):
        # cells begin at the top here, nodes stand in their middle there: an error of half a node
        again = interval(down_to(np.repeat(v, 10, axis=1), 1.0, held), 1.0, held)
        assert np.median(np.abs(again / np.repeat(v, 10, axis=1) - 1)) < 0.01
    # of blocks that are no average of anything what comes out is no velocity
    assert interval(np.where(np.arange(80) % 20 < 10, 1500.0, 4000.0)[None, :], 10.0, "rms") is None


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1500.0])
def test_values_that_are_no_velocities_are_not_checked(value):
    of = worlds.streamer()
    v = of.model["vp"].astype(float).copy()
    v[100:, 40:] = value
    with np.errstate(all="raise"):
        try:
            finding = said(of, v)
        except Exception as e:  # the model refuses such values by itself
            assert "vp" in str(e)  # noqa: PT017
            return
    assert finding.level == "unchecked"


@pytest.mark.parametrize("shape", [(1, 86), (261, 1), (261, 2), (2, 86), (261, 3)])
def test_thin_models_are_looked_at_without_a_word_of_numpy(shape):
    of = worlds.streamer()
    grid = Grid(shape, (2600.0 if shape[0] < 3 else 10.0, 10.0))
    with np.errstate(all="raise"):
        model = EarthModel(grid, vp=np.full(shape, 2000.0, np.float32))
        survey = Survey(list(of.shots), of.time, ndim=2)
        for finding in echoes_agree(Context(model=model, survey=survey, wavelet=ricker(12.0, 0.004))):
            assert finding.level == "unchecked"
