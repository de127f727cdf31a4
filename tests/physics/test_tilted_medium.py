"""What a tilted medium becomes when it has no tilt, no anisotropy, or only a turned frame; and its energy (6.4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from physics_tools import DEVICE, DOUBLE, misfit, random_tti

from subsalt import EarthModel, Grid, Survey, analytic, forward, ricker
from thorough import some

VP, E, D = 2000.0, 0.25, 0.1


@pytest.mark.parametrize("order", [2, 4, 6])
def test_without_tilt_it_is_vti_to_the_order_of_the_scheme(order):
    # V differs from D2 along the axis by 0.8 (D1 D1 - D2), a term of the order of the scheme: halving the spacing
    # divides the difference by 2^order. One time step for all, so that errors in time cancel. epsilon = delta, because
    # no grid resolves the slow wave of a point source. Compiled kernels round by 1e-5 of the traces, 6e-8 times the
    # root of 250 steps of 100 operations: 1 % of the smallest difference of order 4, and too much for order 6
    kind = DOUBLE if order == 6 else {"device": DEVICE}
    f0, r, nt, dt = 10.0, 500.0, 130, 0.004
    coarse = 20.0 if order == 2 else 25.0
    steps = 0.9 * EarthModel(Grid((4, 4), (coarse / 2, coarse / 2)), VP, 0.2, 0.2).as_medium("tti").stable_dt(
        order
    )
    away = r * np.array([[0.0, 1.0], [0.7, 0.7], [1.0, 0.0]])
    differences = []
    for h in (coarse, coarse / 2):
        n = int(1800 / h) + 1
        model = EarthModel(Grid((n, n), (h, h)), VP, 0.2, 0.2)
        survey = Survey.from_arrays([[600.0, 600.0]], 600.0 + away, nt=nt, dt=dt)
        vti, tti = (
            forward(
                model,
                survey,
                ricker(f0, 0.001),
                order=order,
                medium=m,
                dt=steps,
                boundary="none",
                source_taper=None,
                stencil="taylor",
                **kind,
            ).data[0]
            for m in ("vti", "tti")
        )
        differences.append([misfit(a, b) for a, b in zip(tti, vti, strict=True)])
    rate = np.log2(np.array(differences[0]) / differences[1])
    # 8 to 10 points per wavelength on the coarse grid: higher terms take part, most across the axis, where the
    # wavelength is longest and the first term least
    np.testing.assert_allclose(rate, order, rtol=0.12)
    assert np.max(differences[1]) < (0.12 if order == 2 else 0.02)


@pytest.mark.parametrize(("ndim", "precision"), some(product([3, 2], ["float32", "float64"]), 2))
def test_without_anisotropy_it_is_isotropic(ndim, precision):
    # p and q stay equal whatever the axes do, and the sum of both operators is the Laplacian, in the PML, too
    shape = (56, 52) if ndim == 2 else (36, 35, 37)
    model = replace(random_tti(shape, (10.0,) * ndim, 7, (1500.0, 3000.0)), epsilon=0.0, delta=0.0)
    middle = np.array(model.grid.last) / 2
    options = {"order": 8 if ndim == 2 else 4, "layer": 8} | (
        DOUBLE if precision == "float64" else {"device": DEVICE}
    )
    survey = Survey.from_arrays(
        [middle * 0.7], [middle * 1.3, middle * 0.5], nt=100 if ndim == 2 else 70, dt=0.002
    )
    wavelet = ricker(15.0, 0.002)
    rounding = 1e-6 if precision == "float64" else 5e-5
    # with Taylor's weights rounding of up to 200 steps of 200 operations is left, since data come back as float32. The
    # fitted ones are others where there is a tilt: each has at most 1 % after 40 wavelengths, and these are 10, beside
    # which the rounding of compiled kernels is nothing
    for stencil, tolerance in (("taylor", rounding), ("fitted", 2 * 0.01 * 10 / 40)):
        kind = {"device": DEVICE, "dtype": "float32"} if stencil == "fitted" else {}
        tilted, plain = (
            forward(m, survey, wavelet, stencil=stencil, **(options | kind)).data
            for m in (model, model.as_medium("isotropic"))
        )
        assert misfit(tilted, plain) < tolerance


@pytest.mark.parametrize("theta", [0.5, -1.1])
def test_a_tilted_uniform_medium_is_the_turned_one(theta):
    # upright medium, and the same with axis, source and receivers turned by theta: the grid is all that differs.
    # 20 points per wavelength at f0, 4 wavelengths; in the window of the P wave, since no grid resolves the slow one;
    # so large that the echo of the taper comes later
    f0, h, r, nt, dt = 20.0, 5.0, 400.0, 200, 0.002
    angle = np.deg2rad([0.0, 30.0, 60.0, 90.0])
    grid = Grid((321, 321), (h, h))
    middle = np.array(grid.last) / 2
    traces = []
    for tilt in (0.0, theta):
        way = np.stack([np.sin(angle + tilt), np.cos(angle + tilt)], axis=1)
        survey = Survey.from_arrays([middle - 0.5], middle - 0.5 + r * way, nt=nt, dt=dt)
        model = EarthModel(grid, VP, E, D, theta=tilt)
        traces.append(forward(model, survey, ricker(f0, dt / 4), source_taper=None, device=DEVICE).data[0])
    arrival = analytic.traveltime(r * np.stack([np.sin(angle), np.cos(angle)], axis=1), VP, E, D) + 1.5 / f0
    time = np.arange(nt) * dt
    for turned, upright, t in zip(traces[1], traces[0], arrival, strict=True):
        window = np.abs(time - t) < 1.2 / f0
        assert misfit(turned[window], upright[window]) < 0.005


@pytest.mark.parametrize("boundary", some(["pml", "none"], 1))
def test_the_axes_of_the_grid_are_alike(boundary):
    # x and y swapped with everything on them; what differs is the order of sums, and pi/2 - phi in float32
    model = random_tti((25, 23, 26), (10.0, 12.0, 9.0), 3)
    grid = Grid((23, 25, 26), (12.0, 10.0, 9.0))
    theta, phi = (a.swapaxes(0, 1) for a in (model.theta, model.phi))
    others = (a.swapaxes(0, 1) for a in (model.vp, model.epsilon, model.delta))
    swapped = EarthModel(grid, *others, theta=theta, phi=np.float32(np.pi / 2) - phi)
    src, rcv = [[110.0, 130.0, 115.0]], np.array([[160.0, 120.0, 95.0], [70.0, 180.0, 145.0]])
    options = {"order": 4, "layer": 4, "boundary": boundary, "source_taper": None} | DOUBLE
    # the peak leaves the source after 25 ms, and passes the nearer receiver
    wavelet, nt = ricker(60.0, 0.001), 40
    here = forward(model, Survey.from_arrays(src, rcv, nt=nt, dt=0.001), wavelet, **options).data
    src, rcv = [[130.0, 110.0, 115.0]], rcv[:, [1, 0, 2]]
    there = forward(swapped, Survey.from_arrays(src, rcv, nt=nt, dt=0.001), wavelet, **options).data
    assert misfit(there, here) < 1e-5
