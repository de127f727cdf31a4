"""Born modelling by compiled segments: a pair in every medium and grid, the derivative of the data, an inversion."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import subsalt as ss
from subsalt.checkpoint.choice.footprint import footprint
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.earth.regrid import Regridder
from subsalt.errors import ConfigError
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.born import back, scattered
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.methods.rtm.memory import scattering_bytes, sizes_of
from subsalt.methods.rtm.normal import ReturnedScattering, normal_product
from subsalt.propagation.grid_choice import with_spacing
from subsalt.propagation.options import PropagationOptions

GRID = ss.Grid((46, 31), (10.0, 10.0))
X, Z = np.arange(46)[:, None], np.arange(31)[None]
VP = 2000.0 + 12.0 * Z + 60.0 * np.sin(X / 9)
WAVELET = ss.ricker(15.0, 0.001)
SOURCES = [[120.0, 20.0], [330.0, 20.0]]
RECEIVERS = np.stack([np.arange(30.0, 430.0, 30.0), np.full(14, 30.0)], axis=1)
SURVEY = ss.Survey.from_arrays(SOURCES, RECEIVERS, nt=110, dt=0.004)

#: tolerance of the physics specification: rounding of products of single precision
PAIR = 1e-6


def model(medium="isotropic"):
    values = {} if medium == "isotropic" else {"epsilon": 0.2, "delta": 0.1}
    if medium == "nearly elliptical":
        values["delta"] = 0.19996
    return ss.EarthModel(GRID, VP, **values, **({"theta": 0.4} if medium == "tti" else {}))


class Smooth:
    """An operator of models without checkerboards, by a Gaussian of one cell, which is its own adjoint.

    A checkerboard that scatters leaves a static load in the second field of an anisotropic medium, which nothing
    carries away: its rounding grows with the square of the number of steps, to 2e-6 of the products here.
    """

    def __init__(self, operator):
        self.operator = operator
        self.domain_shape, self.range_shape = operator.domain_shape, operator.range_shape

    def forward(self, x):
        return self.operator.forward(gaussian_filter(x, 1.0, mode="constant"))

    def adjoint(self, y):
        return gaussian_filter(self.operator.adjoint(y), 1.0, mode="constant")


@pytest.mark.parametrize(
    ("medium", "options"),
    [
        ("isotropic", {}),
        ("isotropic", {"free_surface": True}),
        ("isotropic", {"boundary": "damping", "time_dispersion": False}),
        ("isotropic", {"aperture": 60.0}),
        ("isotropic", {"model_storage": "u16"}),
        ("vti", {}),
        ("vti", {"free_surface": True}),
        ("tti", {}),
    ],
    ids=str,
)
def test_it_is_a_pair(medium, options):
    operator = ss.born_operator(model(medium), SURVEY, WAVELET, **options)
    assert ss.dot_test(operator if medium == "isotropic" else Smooth(operator)).error < PAIR


@pytest.mark.parametrize("strategy", ["store", "revolve"])
def test_it_is_a_pair_on_a_stretched_depth_axis_with_any_checkpoints(strategy):
    from subsalt.api import WaveGrid
    from subsalt.methods.lsrtm.operator import BornOperator

    deep = ss.EarthModel(
        ss.Grid((31, 61), (10.0, 10.0)), np.broadcast_to(1500.0 + 50.0 * np.arange(61.0), (31, 61))
    )
    waves = WaveGrid("auto")
    options = waves.options(PropagationOptions())
    used = waves.carry(deep, options, WAVELET, imaging=True)
    assert used.grid.depth_axis is not None
    survey = ss.Survey.from_arrays([[150.0, 20.0]], [[60.0, 20.0], [240.0, 20.0]], nt=110, dt=0.004)
    setup = linear_setup(used, WAVELET, survey.time, options, image_grid=deep.grid)
    operator = BornOperator(setup, survey, ss.CheckpointOptions(strategy=strategy))
    assert ss.dot_test(operator).error < PAIR


@pytest.mark.parametrize("strategy", ["store", "revolve"])
def test_both_fields_come_back_by_any_checkpoints(strategy, tmp_path):
    """Pairs of fields in memory, on disk and recomputed give the same bits."""
    images = []
    for options in (
        ss.CheckpointOptions(),
        ss.CheckpointOptions(strategy=strategy, place="disk", directories=(str(tmp_path),)),
    ):
        operator = ss.born_operator(model("vti"), SURVEY, WAVELET, checkpoint=options)
        images.append(operator.adjoint(np.ones(operator.range_shape)))
    assert np.array_equal(*images)


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti", "nearly elliptical"])
def test_it_scatters_as_the_operator_of_every_step(medium):
    """The misfit to the operator that scatters at every time step is what its low-pass leaves out above the band."""
    dm = np.zeros(GRID.shape)
    dm[:, 15], dm[18:24, 22] = 3e-9, -4e-9
    fast = ss.born_operator(model(medium), SURVEY, WAVELET).forward(dm)
    every = ss.rtm_operator(model(medium), SURVEY, WAVELET).forward(dm)
    # a Ricker wavelet has 3 % of its amplitude where its band ends, and scattering multiplies by the frequency squared
    assert np.linalg.norm(fast - every) < 0.03 * np.linalg.norm(every)


@pytest.fixture(scope="module")
def perturbed():
    """Return an operator, a perturbation, and the survey with its data."""
    operator = ss.born_operator(model(), SURVEY, WAVELET)
    dm = np.zeros(GRID.shape)
    dm[:, 15], dm[18:24, 22] = 3e-9, -4e-9
    data = operator.forward(dm)
    shots = [replace(s, data=data[i].astype(np.float32)) for i, s in enumerate(SURVEY.shots)]
    return operator, dm, replace(SURVEY, shots=shots)


def test_born_data_are_explained_and_the_misfit_never_rises(perturbed):
    operator, _, survey = perturbed
    images = []
    result = ss.lsrtm(
        model(), survey, WAVELET, iterations=20, on_iteration=lambda numbers, dm: images.append(dm.copy())
    )
    misfit = result.misfit
    assert misfit[-1] <= 0.05
    assert all(b < a for a, b in pairwise(misfit))
    assert result.reason == "20 iterations are done"
    assert len(images) == 21
    assert not images[0].any()
    # what the iteration says of the misfit is what it is: to the rounding of data in single precision
    data = np.stack([s.data for s in survey.shots]).astype(np.float64)
    left = data - operator.forward(result.dm)
    assert np.sum(left**2) / np.sum(data**2) == pytest.approx(misfit[-1], rel=1e-3)
    assert np.array_equal(result.image, result.dm.astype(np.float32))
    # an image to start from is gone on from
    more = ss.lsrtm(model(), survey, WAVELET, iterations=1, start=result.dm)
    assert more.history[0].misfit == pytest.approx(result.history[-1].misfit, rel=1e-3)
    assert more.history[1].misfit < more.history[0].misfit


@pytest.mark.parametrize("noise", ["known", "above-band"])
def test_white_noise_ends_it_before_it_is_fitted(perturbed, noise):
    """Noise of 20 %, known or estimated: the residual ends above it, by what is left of the signal."""
    survey = perturbed[2]
    data = np.stack([s.data for s in survey.shots]).astype(np.float64)
    added = np.random.default_rng(0).standard_normal(data.shape)
    added *= 0.2 * np.linalg.norm(data) / np.linalg.norm(added)
    noisy = (data + added).astype(np.float32)
    level = float(np.linalg.norm(added) / np.linalg.norm(noisy))
    given = level if noise == "known" else noise
    shots = [replace(s, data=noisy[i]) for i, s in enumerate(survey.shots)]
    how = {"iterations": 20, "noise": given}
    out = ss.lsrtm(model(), replace(survey, shots=shots), WAVELET, **how)
    last = out.history[-1]
    assert 0 < last.iteration < 20
    assert "1.1 times the noise" in out.reason
    assert last.misfit > level**2 * last.data
    # 28 traces of 110 samples, of which the filter leaves a third: 3 % in the mean
    if noise != "known":
        assert last.noise == pytest.approx(level, rel=0.1)
    # what the image explains is the signal: its clean data are nearer to the clean ones than noise is to them
    miss = np.linalg.norm(out.operator.forward(out.dm) - data)
    assert miss < np.linalg.norm(added)


@pytest.fixture(scope="module")
def one_shot():
    """Return setup, shot and perturbation of one shot, whose data have some tens of imaged samples."""
    setup = linear_setup(model("vti"), WAVELET, SURVEY.time, PropagationOptions())
    dm = np.zeros(GRID.shape)
    dm[:, 15] = 3e-9
    return setup, SURVEY.shots[0], dm


@pytest.mark.parametrize(
    "scheme",
    [
        {"strategy": "store"},
        {"strategy": "store", "snapshots_on": "disk", "chunk": 4},
        {"strategy": "revolve", "block": 3, "memory_slots": 2},
        {"strategy": "revolve", "memory_slots": 1, "disk_slots": 2},
    ],
    ids=str,
)
def test_both_products_at_once_take_the_source_wavefield_of_one(one_shot, scheme, tmp_path):
    setup, shot, dm = one_shot
    steps = setup.axis.nt - 1
    scheme = Scheme(steps=steps, image_step=setup.image_step, **scheme)
    scratch = Scratch("id", [tmp_path], 1)
    apart = back(setup, shot, 2.0 * scattered(setup, shot, dm), scheme=scheme, scratch=scratch)
    scratch.remove(shot.id)
    prop = propagator_of(setup, shot)
    once = normal_product(setup, shot, dm, lambda q: 2.0 * q, prop=prop, scheme=scheme, scratch=scratch)
    scratch.close()
    assert np.array_equal(once.sums["correlation"], apart.sums["correlation"])
    assert once.counts == apart.counts
    # beside what a migration steps there is the scattered wavefield, once
    assert once.grid_point_steps - apart.grid_point_steps == steps * prop.point_count


def test_the_memory_of_what_is_scattered_is_counted(one_shot):
    setup, shot, dm = one_shot
    arrays, prop = RankArrays.of(setup, shot), propagator_of(setup, shot)
    made = ReturnedScattering(setup, shot, dm, prop, lambda q: q)
    product = made.pair.scatter(made.room, made._amount, 0)
    held = [made._amount, product, made.room, made._recorder.data]
    # on its way to injection a sample is there twice in double and twice in single precision, and a migration holds 12
    on_the_way = (2 * 8 + 2 * 4 - 12) * len(shot.rcv) * setup.axis.nt
    assert scattering_bytes(setup, arrays) == sum(a.nbytes for a in held) + on_the_way
    # a state of its own, where samples leave for a file while the source wavefield goes on
    sizes = sizes_of(setup, [arrays], on_device=False)
    for place, second in (("memory", 0), ("disk", sizes.state_memory)):
        scheme = Scheme("store", setup.axis.nt - 1, setup.image_step, snapshots_on=place)
        assert footprint(scheme, sizes).arrays.get("second wavefield", 0) == second


def test_a_mask_keeps_what_it_covers_and_another_grid_carries_the_image(perturbed):
    survey = perturbed[2]
    coarse = with_spacing(GRID, 15.0)
    mask = np.ones(coarse.shape)
    mask[:, :6] = 0
    result = ss.lsrtm(model(), survey, WAVELET, iterations=1, mask=mask, grid=15.0, precondition="none")
    assert result.dm.shape == coarse.shape
    assert not result.dm[:, :6].any()
    assert result.dm.any()
    carried = Regridder(coarse, GRID, "mirror").carried(result.dm, 0, 0, GRID.shape[0])
    assert np.array_equal(result.image, carried.astype(np.float32))


def test_what_has_no_exact_adjoint_is_refused(perturbed):
    survey = perturbed[2]
    for options, code in (
        ({"checkpoint": ss.CheckpointOptions(strategy="boundary")}, "E897"),
        ({"checkpoint": ss.CheckpointOptions(compression="f16", exact=False)}, "E897"),
        ({"checkpoint": ss.CheckpointOptions(keep="source")}, "E897"),
        ({"mask": np.ones((3, 3))}, "E896"),
        ({"mask": np.zeros(GRID.shape)}, "E894"),
        ({"start": np.zeros((3, 3))}, "E896"),
    ):
        with pytest.raises(ConfigError) as refused:
            ss.lsrtm(
                model(), survey, WAVELET, iterations=1, progress=lambda *work: pytest.fail("began"), **options
            )
        assert refused.value.code == code
    two = replace(
        survey,
        shots=[
            survey.shots[0],
            survey.shots[1].__class__(
                2, survey.shots[1].src, survey.shots[1].rcv[:3], data=survey.shots[1].data[:3]
            ),
        ],
    )
    with pytest.raises(ConfigError, match="between 3 and 14 receivers"):
        ss.born_operator(model(), two, WAVELET)
