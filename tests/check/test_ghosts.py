"""Ghosts in the traces against the free surface of the job and the depths in the headers."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from subsalt.acquisition.survey import Survey
from subsalt.check import Context, SampledShot
from subsalt.check.ghost_direct import DECIDED, direct_waves
from subsalt.check.ghost_notches import OFF, fitted, spectrum
from subsalt.check.ghosts import sea_surface
from subsalt.check.spectrum import power_of_data
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.propagation.options import PropagationOptions

C, DT, NT = 1500.0, 0.002, 701


def pulse(t, f0):
    a = (np.pi * f0 * (t - 1.2 / f0)) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


def traces(x, zs, zr, ghosts, f0, seed, water):
    """Return exact traces over flat mirrors in water: direct wave and reflections, each with its images above."""
    t = DT * np.arange(NT)
    rng = np.random.default_rng(seed)
    depth = np.concatenate([[water], water + np.sort(rng.uniform(30.0, 700.0, 9))])
    strength = np.concatenate([[0.4], 0.15 * rng.standard_normal(9)])
    signs = (1, -1) if ghosts else (1,)
    out = np.zeros((len(x), NT))
    paths = [(x, s * zs - zr, s) for s in signs]
    paths += [
        (x, 2 * z - s * zs - r * zr, s * r * a)
        for z, a in zip(depth, strength, strict=True)
        for s in signs
        for r in signs
    ]
    for across, down, size in paths:
        d = np.hypot(across, down)[:, None]
        out += size * pulse(t - d / C, f0) / d
    return out


def marine(
    source,
    receiver,
    ghosts=True,
    *,
    free=True,
    f0=40.0,
    headers=None,
    water=300.0,
    swell=0.2,
    white=0.01,
    vp=None,
    near=50.0,
):
    """Return the context of three shots behind which a cable of 24 channels is towed."""
    grid = Grid((120, 90), (10.0, 10.0))
    z = grid.axis(1)[None, :]
    top = C if vp is None else vp
    model = EarthModel(grid, np.where(z >= water, top + 400.0, top) * np.ones((120, 1)))
    said = headers or (source, receiver)
    x = near + 12.5 * np.arange(24)
    at = [700.0, 850.0, 1000.0]
    src = [(s, said[0]) for s in at]
    rcv = [[(s - off, said[1]) for off in x] for s in at]
    survey = Survey.from_arrays(np.array(src), np.array(rcv), nt=NT, dt=DT)
    rng = np.random.default_rng(7)
    f = np.fft.rfftfreq(NT, DT)
    samples = []
    for k, shot in enumerate(survey.shots):
        data = traces(x, source, receiver, ghosts, f0, k, water)
        slow = np.fft.irfft(
            np.where((f > 0.3) & (f < 4), np.fft.rfft(rng.standard_normal(data.shape)), 0), NT
        )
        rms = np.sqrt((data**2).mean())
        data += swell * rms * slow / np.sqrt((slow**2).mean()) + white * rms * rng.standard_normal(data.shape)
        shot.data = data.astype(np.float32)
        samples.append(SampledShot(shot, shot.data))
    return Context(
        model=model, survey=survey, samples=samples, propagation=PropagationOptions(free_surface=free)
    )


def said(context):
    return list(sea_surface(context))


def warned(context):
    return {f.code: f for f in said(context) if f.is_fault}


@pytest.mark.parametrize("f0", [12.0, 40.0])
@pytest.mark.parametrize("ghosts", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_the_free_surface_of_the_job_is_that_of_the_traces(ghosts, free, f0):
    findings = warned(marine(7.5, 9.0, ghosts, free=free, f0=f0))
    if ghosts == free:
        assert findings == {}
        return
    assert set(findings) == {"W397"}
    assert findings["W397"].fix == f"[propagation] free_surface = {str(ghosts).lower()}"
    assert re.search(
        r"leave \d+ % .* with the ghost of a free surface, \d+ % without", findings["W397"].message
    )
    assert warned(marine(7.5, 9.0, ghosts, free=ghosts, f0=f0)) == {}


def test_noise_leaves_it_open():
    # as strong as the reflections, tens of times the direct wave with its ghost
    findings = said(marine(5.0, 5.0, True, free=False, white=1.0, f0=12.0, near=200.0))
    assert [f.level for f in findings] == ["unchecked"]
    two = direct_waves(marine(7.5, 9.0, True, f0=12.0), 0.0)
    assert two.ghost is True
    level = two.without_ghost
    assert dataclasses.replace(two, with_ghost=1.01 * np.sqrt(DECIDED) * level).ghost is None


@pytest.mark.parametrize("depths", [(7.5, 15.0), (15.0, 15.0), (20.0, 10.0), (14.0, 25.0)])
def test_depths_of_the_headers_have_the_notches(depths):
    context = marine(*depths)
    assert warned(context) == {}
    text = " ".join(f.message for f in said(context))
    assert "of a ghost of" in text or "of ghosts of" in text
    # towed a little deeper or shallower, as swell does
    assert warned(marine(*depths, headers=(depths[0] * 1.05, depths[1] * 0.96))) == {}


@pytest.mark.parametrize(
    ("depths", "headers", "cure"),
    [
        ((7.5, 20.0), (7.5, 8.0), "receiver_depth"),
        ((20.0, 7.5), (8.0, 7.5), "source_depth"),
        ((15.0, 15.0), (7.0, 7.0), "source_depth"),
        ((12.0, 22.0), (12.0, 7.0), "receiver_depth"),
    ],
)
def test_notches_of_other_depths_are_named(depths, headers, cure):
    findings = warned(marine(*depths, headers=headers))
    assert set(findings) == {"W395"}
    # a notch does not say whose it is: the right depth is among those that are offered
    values = [float(v) for v in re.findall(rf"\[data\.fix\] {cure} = ([\d.]+)", findings["W395"].fix)]
    wanted = depths[0] if cure == "source_depth" else depths[1]
    assert any(abs(v - wanted) <= OFF * wanted for v in values)
    assert f"sources lie at {headers[0]:g} m, receivers at {headers[1]:g} m" in findings["W395"].message
    # pasted, nothing is left to say
    best = min(values, key=lambda v: abs(v - wanted))
    cured = (best, headers[1]) if cure == "source_depth" else (headers[0], best)
    if depths != (15.0, 15.0):
        assert warned(marine(*depths, headers=cured)) == {}


def test_a_notch_that_is_not_there_is_missed():
    findings = warned(marine(6.0, 7.0, headers=(20.0, 20.0)))
    assert set(findings) == {"W395"}
    assert "has no notch at" in findings["W395"].message
    # a job without a free surface has no ghosts to be compared
    assert warned(marine(6.0, 7.0, False, free=False, headers=(20.0, 20.0))) == {}


@pytest.mark.parametrize("headers", [(7.5, 10.0), (15.0, 10.0)])
def test_a_band_below_the_notches_tells_no_depth(headers):
    findings = said(marine(7.5, 10.0, f0=10.0, headers=headers))
    assert [f.level for f in findings] == ["ok", "unchecked"]
    assert "does not lie clearly inside the band of the data" in findings[1].message


@pytest.mark.parametrize("seed", range(4))
def test_the_notches_are_those_of_the_depths(seed):
    x = 50.0 + 12.5 * np.arange(8)
    data = np.concatenate([traces(x, 12.0, 20.0, True, 45.0, 10 * seed + k, 300.0) for k in range(3)])
    x = np.tile(x, 3)
    made = spectrum(data, x, DT * np.arange(NT), x / C + 0.12)
    notches = fitted(made, 12.0, 20.0)
    assert notches.seen
    assert not notches.given_wrong
    # half a step, and what the mean of the angles leaves open: 4 % between the cosines of the first and last trace
    assert notches.best[1] == pytest.approx(20.0, abs=0.25 + 0.04 * 20.0)


def test_where_there_is_no_cable_in_water_nothing_is_said_or_why():
    assert said(marine(7.5, 10.0, vp=2400.0)) == []
    assert said(dataclasses.replace(marine(7.5, 10.0), modelling=True)) == []
    assert said(marine(7.5, 10.0, headers=(0.0, 10.0))) == []
    nodes = said(marine(7.5, 10.0, headers=(7.5, 310.0)))
    assert [f.message for f in nodes] == ["ghosts of the free surface: receivers do not lie in water"]
    shallow = said(marine(7.5, 10.0, water=50.0))
    assert any("multiples look like ghosts" in f.message for f in shallow)
    wrong = marine(7.5, 10.0, False)
    wrong.facts["first_breaks"] = {"verdicts": {"interval": 3}}
    assert [f.level for f in said(wrong)] == ["unchecked"]


def test_the_band_of_the_data_is_not_that_of_their_swell():
    quiet, rough = (marine(7.5, 9.0, True, swell=s, f0=12.0, near=500.0, water=1500.0) for s in (0.0, 1.0))
    # as much swell as signal, in a third of the band: left in, it is the peak
    peak = power_of_data(quiet)[2]
    assert power_of_data(dataclasses.replace(rough, model=None))[2] < 5.0
    assert power_of_data(rough)[2] == pytest.approx(peak, rel=0.1)
