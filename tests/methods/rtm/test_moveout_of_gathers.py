"""Gathers of a flat reflector: focused at zero and flat for the right velocity; the exact moveout for wrong ones.

rho is the true slowness over that of the migration, gamma half the opening angle in the migrated gather: an event of a
reflector at z0 lies at ``z = z0 sqrt(rho^2 - sin^2 gamma) / cos gamma`` (Biondi and Symes 2004 linearise it).
"""

from __future__ import annotations

import numpy as np
import pytest

import subsalt
from thorough import some

H, DEPTH, V, F0 = 10.0, 500.0, 2000.0, 15.0
GRID = subsalt.Grid((161, 81), (H, H))
DEGREES = np.arange(0, 41, 5)


def model(v: float, below: float | None = None) -> subsalt.EarthModel:
    """Return a constant velocity, with another one from `DEPTH` on."""
    vp = np.full(GRID.shape, v, np.float32)
    if below is not None:
        vp[:, int(DEPTH / H) :] = below
    return subsalt.EarthModel(GRID, vp=vp)


@pytest.fixture(scope="module")
def survey() -> subsalt.Survey:
    """Reflections of a flat reflector: shots every 80 m over receivers every 20 m, without direct waves.

    Reflections to 40 degrees at the middle come from sources up to 420 m beside it.
    """
    src = [[x, 20.0] for x in np.arange(240.0, 1361.0, 80.0)]
    rcv = np.stack([np.arange(20.0, 1581.0, 20.0), np.full(79, 20.0)], axis=1)
    empty = subsalt.Survey.from_arrays(src, rcv, nt=551, dt=0.002)
    wavelet = subsalt.ricker(F0, 0.002)
    of = [subsalt.forward(m, empty, wavelet, grid="model") for m in (model(V, 2300.0), model(V))]
    data = np.stack([a - b for a, b in zip(of[0].data, of[1].data, strict=True)])
    return subsalt.Survey.from_arrays(src, rcv, nt=551, dt=0.002, data=data)


def gathers(survey: subsalt.Survey, v: float, **options) -> np.ndarray:
    """Return the gather at the middle, (traces, nz), and what its traces are."""
    chosen = subsalt.GatherOptions(max=300.0, every=80, **options)
    made = subsalt.migrate(
        model(v),
        survey,
        subsalt.ricker(F0, 0.002),
        gathers=chosen,
        condition="cross-correlation",
        filter="laplacian",
    )
    (one,) = made.gathers
    assert one.columns[0] == (0, 80, 160)
    return one.values[1, 0]


def depths(angle_gather: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the depth of the peak nearest to where each angle should have it, by a parabola through three samples."""
    out = []
    for trace, z in zip(angle_gather, near, strict=True):
        lo = max(1, int(z / H) - 8)
        k = lo + int(np.abs(trace[lo : int(z / H) + 9]).argmax())
        a, b, c = np.abs(trace[k - 1 : k + 2]).astype(float)
        out.append(H * (k + 0.5 * (a - c) / (a - 2 * b + c)))
    return np.array(out)


def test_the_right_velocity_focuses_at_zero(survey) -> None:
    """80 % within the first zero, lambda / (4 sin gamma), of the widest angle with amplitude; the middle at zero."""
    gather = gathers(survey, V)
    lags = H * np.arange(-30, 31)
    near = gather[:, int(DEPTH / H) - 6 : int(DEPTH / H) + 7].astype(float)
    energy = (near**2).sum(axis=1)
    zero = V / F0 / (4 * np.sin(np.radians(40.0)))
    assert energy[np.abs(lags) <= zero].sum() >= 0.8 * energy.sum()
    assert abs((energy * lags).sum() / energy.sum()) <= 0.1 * H


@pytest.mark.parametrize("rho", some([1.0, 0.95, 1.05], 2))
def test_events_have_the_exact_moveout(survey, rho: float) -> None:
    """Flat to half a sample to 40 degrees where the velocity is right; else within 10 % or one sample to 35 degrees."""
    gamma = np.radians(DEGREES[(40 if rho == 1 else 35) >= DEGREES])
    angles = subsalt.GatherOptions(kind="angle").angles
    rows = [int(np.argmin(np.abs(np.array(angles) - g))) for g in gamma]
    gather = gathers(survey, rho * V, kind="angle")[rows]
    wanted = DEPTH * np.sqrt(rho**2 - np.sin(gamma) ** 2) / np.cos(gamma)
    picked = depths(gather, wanted)
    moved, exact = picked - picked[0], wanted - wanted[0]
    if rho == 1:
        assert np.abs(moved).max() <= 0.5 * H
        assert abs(picked[0] - DEPTH) <= H
    else:
        assert (np.abs(moved - exact) <= np.maximum(0.1 * np.abs(exact), H)).all(), (moved, exact)
        assert np.sign(moved[-1]) == np.sign(rho - 1)
