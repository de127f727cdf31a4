"""How much the default absorbing layer reflects, at its faces and angles (A10)."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import DEVICE, padded, source_wavelet

from subsalt import EarthModel, Grid, PropagationOptions, analytic
from subsalt.propagation.propagator import Propagator
from thorough import each

VP, F0, LAYER = 2000.0, 20.0, 12
E, D = 0.25, 0.1
#: physics page, section 9: by angle of incidence
TOLERANCE = {0.0: 3e-4, 60.0: 1e-3}


def reflection(points, angle, medium, axis, extra=200):
    """Return the peak of the echo of a point source over the peak of the wave that a perfect mirror would
    send back.

    The echo is the difference of two runs: one ends in the layer along `axis`, the other goes on for `extra`
    cells. The angle is that of the wave front, and the mirror is the outer edge of the layer, where the field
    is zero. The way is 12 wavelengths or more: the point source then acts as a plane wave on a zone a third
    of its way wide.
    """
    fast = VP * np.sqrt(1 + 2 * E) if medium == "vti" else VP
    h = VP / F0 / points
    dt = 0.4 * h / fast
    phase = np.deg2rad(angle)
    if medium == "vti":
        from_vertical = phase if axis == 2 else np.pi / 2 - phase
        ray = analytic.group_velocity(from_vertical, VP, E, D)[0]
        ray = float(ray if axis == 2 else np.pi / 2 - ray)
    else:
        ray = float(phase)
    away = round(max(45, 6 * points * np.cos(ray)))  # cells from source and receiver to the outer edge
    along = round(2 * away * np.tan(ray))
    margin = 20
    first = margin + away // 3 if angle == 0.0 else margin  # at 0 degrees the receiver is not at the source
    src, rcv = [margin, margin], [first, margin + along]
    normal = margin + away - LAYER
    way = np.array([2 * away - (first - margin), along]) * h
    offset = way[::-1] if axis == 2 else way
    if medium == "vti":
        arrival = analytic.traveltime([offset], VP, E, D)[0]
    else:
        arrival = np.sqrt((offset**2).sum()) / VP
    nt = int((arrival + 3.2 / F0) / dt)
    traces = [
        _trace(h, (normal + more, along + 2 * margin), src, rcv, axis, medium, dt, nt) for more in (0, extra)
    ]
    echo = traces[0] - traces[1]
    wavelet = padded(source_wavelet(F0, dt, min(nt, int(3.2 / F0 / dt))), nt)
    if medium == "vti":
        mirror = analytic.vti_waveform([offset], VP, E, D, wavelet, dt, nt)[0]
    else:
        mirror = analytic.isotropic_waveform([offset], VP, wavelet, dt, nt)[0]
    window = np.abs(np.arange(nt) * dt - arrival - 1.5 / F0) < 1.2 / F0
    return np.abs(echo[window]).max() / np.abs(mirror[window]).max()


def _trace(h, extent, src, rcv, axis, medium, dt, nt):
    """Return one trace of a uniform medium; `extent`, `src`, `rcv` are cells (normal to the layer, along
    it)."""

    def order(pair):
        return pair[::-1] if axis == 2 else pair

    grid = Grid(tuple(order(list(extent))), (h, h))
    thomsen = (E, D) if medium == "vti" else (None, None)
    prop = Propagator(EarthModel(grid, VP, *thomsen), PropagationOptions(device=DEVICE), dt)
    where = [np.array([[p[0] * h, 0.0, p[1] * h]]) for p in (order(src), order(rcv))]
    recorder = prop.recorder(where[1], nt)
    source = prop.source(where[0], source_wavelet(F0, dt, int(3.2 / F0 / dt))[None])
    prop.advance(prop.new_state(), nt - 1, sources=[source], recorders=[recorder])
    return recorder.data[0].astype(np.float64)


@pytest.mark.parametrize(
    ("points", "angle", "side"), each([10, 20, 40], [0.0, 60.0], [("isotropic", 2), ("vti", 2), ("vti", 0)])
)
def test_a10_reflection_of_the_default_layer(points, angle, side):
    medium, axis = side
    assert reflection(points, angle, medium, axis) < TOLERANCE[angle]


def test_the_measure_sees_a_reflection():
    # the same measure on a closed side must give a mirror: 1, less what the window and the grid take
    h, dt, nt = 10.0, 0.002, 300
    grid = Grid((121, 61), (h, h))
    prop = Propagator(EarthModel(grid, VP), PropagationOptions(device=DEVICE, boundary="none"), dt)
    src, rcv = np.array([[600.0, 0.0, 300.0]]), np.array([[600.0, 0.0, 400.0]])
    recorder = prop.recorder(rcv, nt)
    source = prop.source(src, source_wavelet(F0, dt, 80)[None])
    prop.advance(prop.new_state(), nt - 1, sources=[source], recorders=[recorder])
    exact = analytic.isotropic_waveform([[0.0, 100.0]], VP, padded(source_wavelet(F0, dt, 80), nt), dt, nt)[0]
    mirror = analytic.isotropic_waveform([[0.0, 520.0]], VP, padded(source_wavelet(F0, dt, 80), nt), dt, nt)[
        0
    ]
    echo = recorder.data[0] - exact
    window = np.abs(np.arange(nt) * dt - 520.0 / VP - 1.5 / F0) < 0.5 / F0
    assert np.abs(echo[window]).max() / np.abs(mirror[window]).max() == pytest.approx(1.0, abs=0.1)
