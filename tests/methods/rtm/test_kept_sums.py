"""Sums from kept snapshots of both wavefields: the bits of the time loop, in every medium, on windows."""

from __future__ import annotations

import numpy as np
import pytest
from shot_cases import CASES, RECORD, model_of, shot_of, traces_of

from subsalt.acquisition.wavelet import ricker
from subsalt.errors import MemoryPlanError
from subsalt.kernels import cpu, reference
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm import reuse as kept
from subsalt.methods.rtm.engine import migrate_shot, propagator_of, receiver_samples
from subsalt.methods.rtm.reuse import StoredFields, sums_of_wavefields
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions


class InMemory:
    """Snapshots of one wavefield, by number of the sample."""

    def __init__(self, fields):
        self.fields = fields

    def expect(self, samples):
        self.order = list(samples)

    def read(self, sample):
        assert self.order.pop(0) == sample
        return self.fields[sample]


def setup_of(name, condition="source-normalised", image_step=None, layer=6):
    imaging = ImagingOptions(aperture=CASES[name][2], condition=condition, image_step=image_step)
    options = PropagationOptions(layer=layer)
    return MigrationSetup.build(model_of(name), ricker(25.0, 0.002), RECORD, options, imaging)


def wavefields(setup, name):
    """Return both wavefields of a shot at the imaged samples: the source's, and the receivers' as it meets them."""
    shot = shot_of(name)
    prop = propagator_of(setup, shot)
    steps, k = setup.axis.nt - 1, setup.image_step
    out = []
    for position, samples, times in (
        (shot.src[None], setup.signature[None], {i: i * k for i in range(1, steps // k + 1)}),
        (
            shot.rcv,
            receiver_samples(setup, shot, traces_of(name)),
            {i: steps - i * k for i in range(1, steps // k + 1)},
        ),
    ):
        fields = {i: np.zeros(prop.interior.shape, np.float32) for i in times}
        copies = {n: fields[i] for i, n in times.items() if n > 0}
        source = prop.source(position, samples)
        prop.advance(prop.new_state(), steps, sources=[source], snapshots=Snapshots(prop.interior, copies))
        out.append(InMemory(fields))
    return prop.window, *out


@pytest.mark.parametrize(
    "name", ["2-D iso, aperture", "2-D vti, one receiver", "2-D tti, wide layer", "3-D iso, aperture"]
)
@pytest.mark.parametrize("condition", ["source-normalised", "inverse-scattering"])
def test_kept_wavefields_give_the_sums_of_the_time_loop(name, condition):
    setup = setup_of(name, condition)
    window, u, w = wavefields(setup, name)
    progress = []
    samples = range(1, len(setup.imaged_samples) + 1)
    whole = migrate_shot(setup, shot_of(name), traces_of(name))
    sums = sums_of_wavefields(setup, window, tuple(whole.sums), StoredFields(samples, u, w), progress.append)
    assert {n: a.tobytes() for n, a in sums.items()} == {n: a.tobytes() for n, a in whole.sums.items()}
    assert np.abs(sums["correlation"]).max() > 0
    assert progress[-1] == 1.0
    assert progress == sorted(progress)


def test_every_third_sample_gives_the_sums_of_a_coarser_image_step():
    name = "2-D iso, aperture"
    fine = setup_of(name, image_step=2)
    window, u, w = wavefields(fine, name)
    coarse = setup_of(name, image_step=6)
    samples = range(3, len(fine.imaged_samples) + 1, 3)
    assert [2 * i for i in samples] == coarse.imaged_samples
    sums = sums_of_wavefields(coarse, window, ("correlation", "illumination"), StoredFields(samples, u, w))
    whole = migrate_shot(coarse, shot_of(name), traces_of(name))
    assert all(sums[n].tobytes() == a.tobytes() for n, a in whole.sums.items())


def test_too_little_memory_is_said_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(kept, "available_memory", lambda: 1000)
    setup = setup_of("2-D iso, aperture")
    with pytest.raises(MemoryPlanError, match="two samples") as caught:
        sums_of_wavefields(
            setup,
            setup.window(shot_of("2-D iso, aperture")),
            ("correlation",),
            StoredFields([1], InMemory({}), None),
        )
    assert caught.value.code == "E612"


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 4, 33)])
def test_products_of_the_compiled_kernels_are_those_of_numpy(shape):
    """Equal to rounding: NumPy has no fused multiply-add."""
    rng = np.random.default_rng(4)
    image, u, w = (rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(3))
    fused, plain = image.copy(), image.copy()
    cpu.product(fused, u, w, 0.3)
    reference.product(plain, u, w, 0.3)
    # two roundings against one, of numbers up to 1.3
    assert np.abs(fused - plain).max() <= 2 * 1.3 * np.finfo(np.float32).eps
    assert not np.array_equal(fused, image)
    with pytest.raises(ValueError, match="differ in size"):
        cpu.product(fused, u, w.ravel()[:-1] if w.size > 1 else np.zeros(2, np.float32), 0.3)
