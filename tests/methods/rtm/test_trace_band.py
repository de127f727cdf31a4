"""Traces keep the band of the wavelet between records and time steps on a chosen grid, and all of it on the model's."""

import numpy as np
import pytest

from job_files import write_files
from subsalt.acquisition import wavelet
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.rtm.engine import receiver_samples
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions

GRID = Grid((61, 41), (10.0, 10.0))
MODEL = EarthModel(GRID, np.full(GRID.shape, 2000.0, np.float32))
RECORD, WAVELET, ERROR = TimeAxis(400, 0.001, 0.0), wavelet.ricker(15.0, 0.001), 1e-4


def test_the_end_of_the_band_of_a_ricker_wavelet():
    """Of its energy, x^4 exp(-2 x^2) over x = f / f0, a part of the square of 1e-4 lies above the end."""
    x = np.linspace(0, 12, 200_001)
    energy = x**4 * np.exp(-2 * x**2)
    above = np.sqrt(np.cumsum(energy[::-1])[::-1] / energy.sum())
    exact = 15.0 * x[np.argmax(above <= ERROR)]
    # the first frequency of the transform behind it, each of which stands for half an interval on either side
    assert 0 <= WAVELET.band_end(ERROR) - exact <= 1.5 / (4 * WAVELET.nt * WAVELET.dt)
    # white to the Nyquist frequency
    assert wavelet.from_samples([0.0, 1.0, 0.0], 0.001, f0=15, fmax=400).band_end(ERROR) is None


def test_modelled_traces_lose_no_more_than_was_allowed():
    whole = ModellingSetup.build(MODEL, WAVELET, RECORD, PropagationOptions())
    band = ModellingSetup.build(MODEL, WAVELET, RECORD, PropagationOptions(trace_error=ERROR))
    # 52 Hz and the taper behind it of the 125 Hz that the time step carries
    assert band.trace_map.seconds(100, 2) < 0.55 * whole.trace_map.seconds(100, 2)
    shot = Shot(1, np.array([200.0, 0.0, 100.0]), np.array([[300.0, 0.0, 100.0], [400.0, 0.0, 150.0]]))
    a, b = model_shot(whole, shot).traces, model_shot(band, shot).traces
    # the direct wave has the spectrum of the wavelet, in 2-D divided by the root of the frequency
    assert 0 < np.linalg.norm(a - b) < ERROR * np.linalg.norm(a)


@pytest.mark.parametrize(("error", "left"), [(ERROR, 0.0), (None, 1.0)])
def test_noise_above_the_band_is_not_injected(error, left):
    """A wave of 100 Hz, above the band and below what the time steps carry, under a bell that has no corners."""
    t = RECORD.dt * np.arange(RECORD.nt)
    bell = np.exp(-(((t - 0.2) / 0.04) ** 2))
    noise = (np.sin(2 * np.pi * 100.0 * t) * bell)[None].astype(np.float32)
    options = PropagationOptions(trace_error=error, time_dispersion=False)
    setup = MigrationSetup.build(MODEL, WAVELET, RECORD, options, ImagingOptions(mode="adjoint"))
    shot = Shot(1, np.array([200.0, 0.0, 100.0]), np.array([[300.0, 0.0, 100.0]]))
    injected = receiver_samples(setup, shot, noise)
    energy = setup.axis.dt * np.sum(injected**2) / (RECORD.dt * np.sum(noise**2))
    assert energy == pytest.approx(left, abs=1e-3)


def test_a_job_loses_nothing_on_the_grid_of_its_model(tmp_path):
    write_files(tmp_path)
    text = '[model]\nvp = "vp.rsf"\n[data]\nfiles = "shots.sgy"\n[source]\nf0 = 20\n'
    (tmp_path / "job.toml").write_text(text)
    job = Job.from_toml(tmp_path / "job.toml")
    assert job.propagation_options.trace_error == pytest.approx(0.01 * job.propagation.accuracy)
    (tmp_path / "job.toml").write_text(text + '[propagation]\ngrid = "model"\n')
    same = Job.from_toml(tmp_path / "job.toml").propagation_options
    assert same.trace_error is None
