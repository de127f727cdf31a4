"""The exact solutions, proved against each other and against identities before anything is measured by
them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from physics_tools import best_shift, misfit, ricker, source_wavelet
from scipy.special import hankel1

from subsalt import analytic
from subsalt.analytic.uniform import trace_from_response
from subsalt.errors import ConfigError

F0, DT, NT, VP = 20.0, 0.002, 450, 2000.0
WAVELET = source_wavelet(F0, DT, NT)
#: samples in which waves have passed 500 m, for identities: those of half as many frequencies
SHORT = 256
OFFSETS_3D = np.array([[400.0, 150.0, 300.0], [0.0, 0.0, 600.0], [600.0, 0.0, 0.0], [30.0, 20.0, 40.0]])
OFFSETS_2D = OFFSETS_3D[:, [0, 2]]
E, D = 0.25, 0.1

# spectrum.py: the transform wraps around with 1e-7 and loses frequencies below 1e-9 of the wavelet's maximum
TRANSFORM = 1e-6


def test_isotropic_3d_is_the_delayed_wavelet():
    traces = analytic.isotropic_waveform(OFFSETS_3D, VP, WAVELET, DT, NT)
    for x, trace in zip(OFFSETS_3D, traces, strict=True):
        r = np.sqrt((x**2).sum())
        t = np.arange(NT) * DT - 1.5 / F0 - r / VP
        # the samples begin where the Ricker wavelet is 1e-8 of its peak: cut off in one, continued in the
        # other
        assert misfit(trace, ricker(t, F0) / (4 * np.pi * r)) < TRANSFORM


def test_isotropic_2d_is_the_convolution_with_the_step_response():
    # int_{r/v} s(t - tau) / (2 pi sqrt(tau^2 - r^2/v^2)) dtau with tau = (r/v) cosh x has no singularity
    r = 500.0
    trace = analytic.isotropic_waveform([[300.0, 400.0]], VP, WAVELET, DT, NT)[0]
    x = np.linspace(0, 3, 6001)
    for it in (150, 175, 190, 300):
        s = ricker(it * DT - r / VP * np.cosh(x) - 1.5 / F0, F0) / (2 * np.pi)
        assert trace[it] == pytest.approx(np.trapezoid(s, x), abs=TRANSFORM * np.abs(trace).max())


@pytest.mark.parametrize("offsets", [OFFSETS_2D, OFFSETS_3D], ids=["2d", "3d"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, -0.1])
def test_vti_with_equal_parameters_is_the_elliptical_medium(offsets, epsilon):
    general = analytic.vti_waveform(offsets, VP, epsilon, epsilon, WAVELET[:SHORT], DT, SHORT)
    closed = analytic.elliptical_waveform(offsets, VP, epsilon, WAVELET[:SHORT], DT, SHORT)
    for a, b in zip(general, closed, strict=True):
        assert misfit(a, b) < TRANSFORM


@pytest.mark.parametrize("offsets", [OFFSETS_2D, OFFSETS_3D], ids=["2d", "3d"])
def test_elliptical_without_anisotropy_is_isotropic(offsets):
    closed = analytic.elliptical_waveform(offsets, VP, 0.0, WAVELET, DT, NT, theta=0.7)
    np.testing.assert_allclose(
        closed,
        analytic.isotropic_waveform(offsets, VP, WAVELET, DT, NT),
        rtol=0,
        atol=1e-12 * np.abs(closed).max(),
    )


def test_vti_2d_is_the_line_source_of_3d():
    # a line source along y: integrate the 3-D waveform over y. Equal steps sum a band-limited integrand exactly
    # once they are below its shortest wavelength, 2000 / 24 Hz; what is left of the spectrum beyond 2000 / step = 33 Hz
    # is 1e-6 of its peak, and of the near field, which varies over the distance, exp(-2 pi 250 / step)
    f0, dt, nt = 8.0, 0.008, 80
    w = source_wavelet(f0, dt, nt)
    x, z, step = 150.0, 200.0, 60.0
    y = np.arange(54) * step  # the near field of the P mode alone falls off so slowly that 1.6 km leave 2e-4
    line = np.stack([np.full_like(y, x), y, np.full_like(y, z)], axis=1)
    # part by part, as near ones take fewer nodes
    traces = np.concatenate(
        [analytic.vti_waveform(part, VP, E, D, w, dt, nt) for part in np.array_split(line, 6)]
    )
    summed = step * (traces[0] + 2 * traces[1:].sum(axis=0))
    assert misfit(summed, analytic.vti_waveform([[x, z]], VP, E, D, w, dt, nt)[0]) < 1e-4


def _plane_wave_sums(points, times):
    """Sum the exact motion of every wavenumber of a periodic box of 6.4 km, the slow mode and P apart, (2, points,
    times); eigenvectors from LAPACK, not our formulas.

    The motion is even in both wavenumbers: those of one quarter stand for all."""
    n, h = 512, 12.5
    k = 2 * np.pi * np.fft.rfftfreq(n, h)
    alike = np.where((np.arange(k.size) == 0) | (np.arange(k.size) == n // 2), 1.0, 2.0)
    kx, kz = (a.ravel() for a in np.meshgrid(k, k, indexing="ij"))
    many = np.outer(alike, alike).ravel()
    s = np.sqrt(1 + 2 * D)
    c = VP**2 * np.array([[1 + 2 * E, s], [s, 1.0]])
    root = np.linalg.cholesky(c)  # u = root v turns C K into the symmetric root^T K root
    stiff = np.einsum("ji,kj,jl->kil", root, np.stack([kx**2, kz**2], axis=1), root)
    w2, vec = np.linalg.eigh(stiff)
    part = np.einsum("i,ij,kjm->km", [0.5, 0.5], root, vec) ** 2
    w = np.sqrt(np.maximum(w2, 1e-12))
    wp = 2 * np.pi * F0
    spectrum = 4 * np.sqrt(np.pi) * w**2 / wp**3 * np.exp(-((w / wp) ** 2))  # of the Ricker wavelet
    factor = part * spectrum / w * many[:, None]
    out = np.empty((2, len(points), len(times)))
    for mode in (0, 1):
        keep = np.abs(factor[:, mode]) > 1e-12 * np.abs(factor[:, mode]).max()
        waves = [factor[keep, mode] * np.cos(kx[keep] * x) * np.cos(kz[keep] * z) for x, z in points]
        for j, t in enumerate(times):
            out[mode, :, j] = np.stack(waves) @ np.sin(w[keep, mode] * (t - 1.5 / F0))
    return out / (n * h) ** 2


def test_vti_2d_against_a_sum_of_plane_waves():
    points = OFFSETS_2D[:3]
    exact = analytic.vti_waveform(points, VP, E, D, WAVELET, DT, NT)
    arrival = analytic.traveltime(points, VP, E, D) + 1.5 / F0
    window = np.abs(np.arange(NT) * DT - arrival[:, None]) < 1.2 / F0
    use = np.arange(NT)[window.any(axis=0)][::4]
    slow_only, p_only = _plane_wave_sums(points, use * DT)
    both = slow_only + p_only
    for i in range(len(points)):
        inside = window[i, use]
        a, b, c = exact[i, use][inside], p_only[i, inside], both[i, inside]
        # exact but for the transform of one and the neighbours of the periodic box of the other, 6.4 km away
        assert misfit(b, a) < 5e-6
        # what the slow mode leaves in the window of the P wave, at 2.5 to 3 wavelengths from the source
        assert misfit(c, a) < 3e-3


def test_velocities_of_the_vti_medium():
    assert analytic.phase_velocity(0.0, VP, E, D) == pytest.approx(VP, rel=1e-14)
    assert analytic.phase_velocity(np.pi / 2, VP, E, D) == pytest.approx(VP * np.sqrt(1 + 2 * E), rel=1e-14)
    angle = np.linspace(0, np.pi / 2, 200)
    v, step = analytic.phase_velocity(angle, VP, E, D), 1e-5
    slope = (
        analytic.phase_velocity(angle + step, VP, E, D) - analytic.phase_velocity(angle - step, VP, E, D)
    ) / (2 * step)
    ray, speed = analytic.group_velocity(angle, VP, E, D)
    # v_g^2 = V^2 + V'^2, ray - phase angle = atan(V' / V); the difference quotient is good to step^2 and
    # rounding / step
    np.testing.assert_allclose(speed, np.hypot(v, slope), rtol=1e-8)
    np.testing.assert_allclose(ray, angle + np.arctan(slope / v), atol=1e-8)


def test_traveltimes():
    x = np.array([[0.0, 1000.0], [1000.0, 0.0], [700.0, -300.0]])
    np.testing.assert_allclose(
        analytic.traveltime(x, VP, 0.2, 0.2), np.sqrt(x[:, 0] ** 2 / 1.4 + x[:, 1] ** 2) / VP, rtol=1e-12
    )
    np.testing.assert_allclose(analytic.traveltime(x[:2], VP, E, D), [0.5, 0.5 / np.sqrt(1.5)], rtol=1e-12)
    # near the vertical the moveout velocity is vp sqrt(1 + 2 delta)
    near = analytic.traveltime([[30.0, 1000.0]], VP, E, D)[0]
    assert (near**2 - 0.25) * VP**2 * (1 + 2 * D) == pytest.approx(30.0**2, rel=2e-3)
    # times and waveforms are independent of each other: the wavelet of the far field is the same but for its
    # delay
    points = 1200.0 * np.stack([np.sin([0.2, 0.8, 1.4]), np.cos([0.2, 0.8, 1.4])], axis=1)
    times = analytic.traveltime(points, VP, E, D)
    traces = analytic.vti_waveform(points, VP, E, D, WAVELET, DT, NT)
    same = analytic.isotropic_waveform(np.stack([VP * times, 0 * times], axis=1), VP, WAVELET, DT, NT)
    for a, b in zip(traces, same, strict=True):
        assert (
            abs(best_shift(a, b, DT)) < 2e-4
        )  # near-field terms of relative size 1/(k r) = 1/75 turn the phase


@pytest.mark.parametrize("ndim", [2, 3])
def test_reflection_from_a_rigid_contrast_is_the_mirror_image(ndim):
    # v2 -> 0 gives R -> -1 for every angle; 1 + R = 2 v2 / v1 = 1e-6
    offset = np.array([0.0, 500.0])
    g = analytic.reflection_waveform(offset, 100.0, 150.0, 400.0, VP, 1e-3, WAVELET, DT, NT, ndim)
    mirror = np.zeros((2, ndim))
    mirror[:, 0], mirror[:, -1] = offset, 550.0
    exact = -analytic.isotropic_waveform(mirror, VP, WAVELET, DT, NT)
    for a, b in zip(g, exact, strict=True):
        assert misfit(a, b) < (
            2e-6 if ndim == 2 else 1e-4
        )  # 3-D: next Euler-Maclaurin term of the wavenumber sum


@cache
def _upright(solution, ndim):
    """Return offsets of 500 m at four angles from the axis z, and one of the exact solutions there."""
    r, angle = 500.0, np.array([0.0, 0.5, 1.1, np.pi / 2])
    upright = np.zeros((4, ndim))
    upright[:, 0], upright[:, -1] = r * np.sin(angle), r * np.cos(angle)
    parameters = (0.2,) if solution is analytic.elliptical_waveform else (E, D)
    plain = solution(upright, VP, *parameters, WAVELET[:SHORT], DT, SHORT)
    return r, angle, upright, parameters, plain


@pytest.mark.parametrize(
    ("ndim", "theta", "phi"),
    # a 2-D axis has no azimuth
    [(2, 0.6, 0.0), (2, -1.3, 0.0), (3, 0.6, 0.0), (3, -1.3, 0.0), (3, 0.9, 2.4), (3, np.pi / 2, -np.pi / 2)],
)
def test_a_tilted_axis_turns_the_solutions(ndim, theta, phi):
    axis = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    side = np.cross(axis, [0.2, 0.9, -0.1])
    side /= np.sqrt((side**2).sum())
    if ndim == 2:
        axis, side = axis[[0, 2]], np.array([axis[2], -axis[0]])
    for solution in (analytic.elliptical_waveform, analytic.vti_waveform):
        # distance r at an angle from the axis: the upright medium at the same angle from z
        r, angle, upright, parameters, plain = _upright(solution, ndim)
        tilted = r * (np.cos(angle)[:, None] * axis + np.sin(angle)[:, None] * side)
        times = analytic.traveltime(tilted, VP, E, D, theta, phi)
        np.testing.assert_allclose(times, analytic.traveltime(upright, VP, E, D), rtol=1e-12)
        turned = solution(tilted, VP, *parameters, WAVELET[:SHORT], DT, SHORT, theta=theta, phi=phi)
        # sampling and rounding turned offsets take no part; 1e-9 is what the transform leaves out (spectrum.py)
        np.testing.assert_allclose(turned, plain, rtol=0, atol=1e-8 * np.abs(plain).max())


def test_reflection_amplitude_near_normal_incidence():
    offset, height = np.array([0.0]), 2 * 700.0 - 100.0
    for ndim in (2, 3):
        g = analytic.reflection_waveform(offset, 50.0, 50.0, 700.0, VP, 3000.0, WAVELET, DT, 600, ndim)[0]
        x = np.zeros((1, ndim))
        x[0, -1] = height
        direct = analytic.isotropic_waveform(x, VP, source_wavelet(F0, DT, 600), DT, 600)[0]
        ratio = (g * direct).sum() / (direct**2).sum()
        # curvature of R(angle) times the spreading wave: a relative correction of order 1 / (k h) = 1/80
        assert ratio == pytest.approx(analytic.reflection_coefficient(VP, 3000.0).real, rel=0.02)


def test_reflection_coefficient():
    assert analytic.reflection_coefficient(2000.0, 3000.0) == pytest.approx(0.2)
    beyond = analytic.reflection_coefficient(2000.0, 3000.0, np.deg2rad([50.0, 70.0]))
    np.testing.assert_allclose(np.abs(beyond), 1.0, rtol=1e-12)


def test_dipping_reflector():
    src, point, dip = np.array([100.0, 0.0]), np.array([0.0, 500.0]), np.deg2rad(20)
    rcv = np.array([[100.0, 0.0], [900.0, 20.0]])
    hit = analytic.dipping_reflection_point(src, rcv, point, dip)
    np.testing.assert_allclose(hit[:, 1], 500 + np.tan(dip) * hit[:, 0], rtol=1e-12)
    path = np.sqrt(((hit - src) ** 2).sum(axis=1)) + np.sqrt(((hit - rcv) ** 2).sum(axis=1))
    np.testing.assert_allclose(path / VP, analytic.reflection_time(src, rcv, point, dip, VP), rtol=1e-12)
    # Fermat: any other point of the plane is a longer way
    for move in (-30.0, 30.0):
        other = hit + move * np.array([np.cos(dip), np.sin(dip)])
        assert np.all(
            np.sqrt(((other - src) ** 2).sum(axis=1)) + np.sqrt(((other - rcv) ** 2).sum(axis=1)) > path
        )


def test_points_where_no_solution_exists_are_refused():
    with pytest.raises(ConfigError, match="distance 0"):
        analytic.isotropic_waveform([[0.0, 0.0]], VP, WAVELET, DT, NT)
    with pytest.raises(ConfigError, match="above epsilon"):
        analytic.vti_waveform([[1.0, 0.0]], VP, 0.1, 0.2, WAVELET, DT, NT)
    with pytest.raises(ConfigError, match="not above the reflector"):
        analytic.reflection_waveform([0.0], 500.0, 0.0, 400.0, VP, 3000.0, WAVELET, DT, NT)


def test_trace_from_response_delays_exactly():
    delayed = trace_from_response(WAVELET, DT, NT, lambda w: np.exp(1j * w * 100 * DT))
    np.testing.assert_allclose(delayed[100:], WAVELET[:-100], atol=1e-8)
    assert np.abs(delayed[:100]).max() < 1e-7
    # response of a Hankel function at a real frequency: amplitude 1/sqrt of distance
    assert abs(hankel1(0, 40.0) / hankel1(0, 10.0)) == pytest.approx(0.5, rel=0.01)
