"""The acoustic VTI medium: velocities, traveltimes, and exact waveforms of a uniform medium, also of a tilted one.

For a plane wave with horizontal and vertical wavenumber (kh, kz) the system of `subsalt.physics` has the
frequencies ::

    w^4 - w^2 v^2 (A kh^2 + kz^2) + v^4 D kh^2 kz^2 = 0
    A = 1 + 2 epsilon,   s = sqrt(1 + 2 delta),   D = A - s^2

(Alkhalifah 2000, Geophysics 65, 1239: an acoustic approximation for transversely isotropic media). The larger
root is the P wave; the smaller one is the slow artefact that every such system carries when epsilon > delta.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.analytic.uniform import along_axis, trace_from_response
from subsalt.errors import ConfigError

Mode = Literal["p", "s"]


def phase_velocity(
    angle: ArrayLike, vp: float, epsilon: float, delta: float, mode: Mode = "p"
) -> NDArray[np.float64]:
    """Return the phase velocity, m/s, of plane waves whose normal makes `angle` (radians) with the vertical.

    Parameters
    ----------
    angle : array_like
        Phase angle from the z axis, radians.
    vp, epsilon, delta : float
        Vertical P velocity, m/s, and Thomsen parameters with delta <= epsilon.
    mode : {"p", "s"}
        The P wave, or the slow artefact mode.
    """
    return np.sqrt(_modes(np.asarray(angle, dtype=np.float64), vp, epsilon, delta)[mode][0])


def group_velocity(
    angle: ArrayLike, vp: float, epsilon: float, delta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return direction and speed of the energy of P waves.

    Parameters
    ----------
    angle : array_like
        Phase angle from the z axis, radians.
    vp, epsilon, delta : float
        Vertical P velocity, m/s, and Thomsen parameters.

    Returns
    -------
    group_angle : ndarray
        Angle of the ray from the z axis, radians.
    speed : ndarray
        Group velocity, m/s.

    Notes
    -----
    ``v_g = dw/dk``, from the implicit derivative of the dispersion relation in the head of this file.
    """
    th = np.asarray(angle, dtype=np.float64)
    kh, kz = np.sin(th), np.cos(th)
    a, d = 1 + 2 * epsilon, 2 * (epsilon - delta)
    w = phase_velocity(th, vp, epsilon, delta)
    slope = 2 * w**3 - w * vp**2 * (a * kh**2 + kz**2)
    gh = (w**2 * vp**2 * a * kh - vp**4 * d * kh * kz**2) / slope
    gz = (w**2 * vp**2 * kz - vp**4 * d * kh**2 * kz) / slope
    return np.arctan2(gh, gz), np.hypot(gh, gz)


def traveltime(
    offset: ArrayLike,
    vp: float,
    epsilon: float = 0.0,
    delta: float = 0.0,
    theta: float = 0.0,
    phi: float = 0.0,
) -> NDArray[np.float64]:
    """Return the time of the P wave between two points of a uniform VTI or TTI medium.

    Parameters
    ----------
    offset : array_like, (nr, 2) or (nr, 3)
        Vectors from source to receiver, m.
    vp, epsilon, delta : float
        P velocity along the symmetry axis, m/s, and Thomsen parameters with delta <= epsilon.
    theta, phi : float
        Tilt of the symmetry axis from +z and, in 3-D, its azimuth from +x towards +y, radians.

    Returns
    -------
    ndarray, (nr,), float64
        Times, s: distance over the group velocity in the direction of the offset.

    Notes
    -----
    The phase angle whose ray has the wanted direction is found by bisection: along the convex slowness curve
    of P waves the ray angle grows with the phase angle.
    """
    d = along_axis(offset, theta, phi)
    r = np.sqrt((d**2).sum(axis=1))
    ray = np.arctan2(np.sqrt((d[:, :-1] ** 2).sum(axis=1)), np.abs(d[:, -1]))
    lo, hi = np.zeros_like(ray), np.full_like(ray, np.pi / 2)
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        beyond = group_velocity(mid, vp, epsilon, delta)[0] > ray
        lo, hi = np.where(beyond, lo, mid), np.where(beyond, mid, hi)
    return r / group_velocity(0.5 * (lo + hi), vp, epsilon, delta)[1]


def vti_waveform(
    offset: ArrayLike,
    vp: float,
    epsilon: float,
    delta: float,
    wavelet: ArrayLike,
    dt: float,
    nt: int,
    nodes: int | None = None,
    theta: float = 0.0,
    phi: float = 0.0,
) -> NDArray[np.float64]:
    """Return the exact P waveform of a point source in a uniform VTI or TTI medium.

    Parameters
    ----------
    offset : array_like, (nr, 2) or (nr, 3)
        Receiver minus source positions, m.
    vp, epsilon, delta : float
        P velocity along the symmetry axis, m/s, and Thomsen parameters with delta <= epsilon.
    wavelet : array_like, (n,)
        Source samples from time zero, `dt` apart.
    dt, nt : float, int
        Sampling interval (s) and number of samples.
    nodes : int, optional
        Points of the quadrature over directions; chosen from the number of wavelengths when left out.
    theta, phi : float
        Tilt of the symmetry axis from +z and, in 3-D, its azimuth from +x towards +y, radians.

    Returns
    -------
    ndarray, (nr, nt), float64
        ``(p + q) / 2`` of the P mode for a source that acts half on p and half on q.

    Notes
    -----
    Along a direction n the P mode has phase velocity V(n) and takes part in source and receiver with the
    weight a(n), both independent of the length of the wavenumber, which can therefore be integrated in closed
    form. With ``T = |n . x| / V`` the response at frequency w is ::

        2-D   1/(2 pi^2)  int_0^pi  a/V^2 [ i pi/2 e^(iwT) + g(wT) ] dphi
        3-D   1/(16 pi^2) { (2/r) ring a/V^2 + i w  int_sphere a/V^3 e^(iwT) }

    where g is the auxiliary function of the sine and cosine integrals and ``ring`` the integral over the
    great circle perpendicular to x. The slow mode of the system is left out: compare in a window around the P
    wave.
    """
    d = along_axis(offset, theta, phi)
    if delta > epsilon:
        raise ConfigError(
            f"delta = {delta:g} is above epsilon = {epsilon:g}", "the medium is unstable; lower delta"
        )
    r = np.sqrt((d**2).sum(axis=1))
    if np.any(r <= 0):
        raise ConfigError(
            "the field of a point source is infinite at distance 0", "ask for points away from the source"
        )
    if nodes is None:
        # the phase w T turns by at most w r / v over a quarter circle; measured: so many nodes per radian of
        # it (crowded towards the ends in 2-D, where it turns up and down again) integrate to 1e-12
        slow = vp * min(1.0, np.sqrt(1 + 2 * min(delta, 0.0)))
        turn = 2 * np.pi * _top_frequency(wavelet, dt) * r.max() / slow
        nodes = int(80 + (1.8 if d.shape[1] == 2 else 0.4) * turn)
    one = _response_2d if d.shape[1] == 2 else _response_3d
    return trace_from_response(
        wavelet,
        dt,
        nt,
        lambda w: np.stack([one(w, x, vp, epsilon, delta, nodes) for x in d]),
        negligible=1e-9,
    )


def _modes(
    angle: NDArray[np.float64], vp: float, epsilon: float, delta: float
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return (squared phase velocity, weight) of both modes by phase angle.

    The response of (p + q) / 2 to a source on (1/2, 1/2) is ``sum_m a_m / (w_m^2 - w^2)`` for a unit
    wavenumber; the weights add up to ``v^2 (A + 2 s + 1) / 4``.
    """
    h2, z2 = np.sin(angle) ** 2, np.cos(angle) ** 2
    a, s = 1 + 2 * epsilon, np.sqrt(1 + 2 * delta)
    d = a - s * s
    total = a * h2 + z2
    fast = 0.5 * vp**2 * (total + np.sqrt(np.maximum(total**2 - 4 * d * h2 * z2, 0.0)))
    slow = vp**4 * d * h2 * z2 / fast
    sum_of_weights = 0.25 * vp**2 * (a + 2 * s + 1)
    # fast > slow in every direction: equality would need 1 + 2 delta = 0
    weight = (fast * sum_of_weights - 0.25 * vp**4 * d) / (fast - slow)
    return {"p": (fast, weight), "s": (slow, sum_of_weights - weight)}


def _response_2d(
    omega: NDArray[np.complex128], x: NDArray[np.float64], vp: float, epsilon: float, delta: float, nodes: int
) -> NDArray[np.complex128]:
    """Integrate over the half circle that starts and ends perpendicular to x."""
    u, weight = np.polynomial.legendre.leggauss(nodes)
    u, weight = 0.5 * (u + 1), 0.5 * weight
    # g has a logarithm at both ends, where T = 0: crowd the nodes there, so that the integrand becomes smooth
    angle = np.arctan2(x[0], x[1]) + np.pi * (u**3 * (10 - 15 * u + 6 * u * u) - 0.5)
    weight = weight * np.pi * 30 * u * u * (1 - u) ** 2
    v2, a = _modes(angle, vp, epsilon, delta)["p"]
    t = np.abs(x[0] * np.sin(angle) + x[1] * np.cos(angle)) / np.sqrt(v2)
    z = omega[:, None] * np.maximum(t, 1e-12)[None, :]  # the weights vanish faster than the logarithm grows
    value = 0.5j * np.pi * np.exp(1j * z) + _auxiliary_g(z)
    return (value * (weight * a / v2)).sum(axis=1) / (2 * np.pi**2)


def _response_3d(
    omega: NDArray[np.complex128], x: NDArray[np.float64], vp: float, epsilon: float, delta: float, nodes: int
) -> NDArray[np.complex128]:
    """Integrate over the half sphere around x: Gauss points in the cosine to x, equal steps around x."""
    r = float(np.sqrt((x**2).sum()))
    u, weight = np.polynomial.legendre.leggauss(nodes)
    c, weight = 0.5 * (u + 1), 0.5 * weight
    turns = max(32, nodes // 2)
    beta = 2 * np.pi * (np.arange(turns) + 0.5) / turns
    axis = x / r
    e1 = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
    e1 /= np.sqrt((e1**2).sum())
    e2 = np.cross(axis, e1)
    across_z = np.cos(beta) * e1[2] + np.sin(beta) * e2[2]

    def weight_and_velocity(cosine: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        nz = cosine[:, None] * axis[2] + np.sqrt(1 - cosine[:, None] ** 2) * across_z[None, :]
        v2, a = _modes(np.arccos(np.clip(nz, -1, 1)), vp, epsilon, delta)["p"]
        return a / v2, np.sqrt(v2)

    ring = weight_and_velocity(np.zeros(1))[0].mean() * 2 * np.pi
    ratio, v = weight_and_velocity(c)
    slowness = (r * c[:, None] / v).ravel()
    factor = (2 * weight[:, None] * (2 * np.pi / turns) * ratio / v).ravel()
    sphere = np.array([(factor * np.exp(1j * w * slowness)).sum() for w in omega])
    return (2 * ring / r + 1j * omega * sphere) / (16 * np.pi**2)


def _auxiliary_g(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return ``int_0^inf y e^(-zy) / (y^2 + 1) dy`` for z in the first quadrant.

    The auxiliary function g of Abramowitz and Stegun, section 5.2.
    """
    from scipy.special import exp1

    far = np.abs(z) > 40
    near = np.where(far, 1.0, z)
    out = 0.5 * (np.exp(1j * near) * exp1(1j * near) + np.exp(-1j * near) * exp1(-1j * near))
    i2 = 1 / np.where(far, z, 1.0) ** 2
    return np.where(far, i2 * (1 - 6 * i2 * (1 - 20 * i2 * (1 - 42 * i2 * (1 - 72 * i2)))), out)


def _top_frequency(wavelet: ArrayLike, dt: float) -> float:
    """Return the frequency, Hz, above which a wavelet's spectrum is below 1e-3 of its peak."""
    s = np.asarray(wavelet, dtype=np.float64)
    spectrum = np.abs(np.fft.rfft(s, 4 * s.size))
    return float(np.fft.rfftfreq(4 * s.size, dt)[np.nonzero(spectrum > 1e-3 * spectrum.max())[0].max()])
