"""The numbers of a case: model, time step, layer, wavelet and start field, made from NumPy alone.

Both sides import this file, so both solve the same numbers. All arrays are float32, depth last. A field is
a smooth function of the position in the interior and is continued from the interior's edge through the layer, as
`subsalt.Propagator` continues a model. `pad` counts the cells around the interior that an array holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from cases import Case

#: Nyquist symbol of the order-8 second difference (Taylor weights), in units of 1/h^2
NYQUIST_ORDER_8 = 6.501587301587302

Formula = Callable[..., np.ndarray]


def volume(case: Case, pad: int, formula: Formula) -> np.ndarray:
    """Return ``formula(x, y, z)`` (2-D: y = 0) on interior and `pad`, plane by plane; coordinates run 0 to 1."""
    axes = [np.clip((np.arange(n + 2 * pad) - pad) / (n - 1), 0.0, 1.0) for n in case.interior]
    out = np.empty([len(a) for a in axes], np.float32)
    y = axes[1][:, None] if case.ndim == 3 else np.zeros(1)
    z = axes[-1][None, :] if case.ndim == 3 else axes[-1]
    for plane, x in zip(out, axes[0], strict=True):
        plane[...] = formula(x, y, z)
    return out


def _vp(x: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return (1500 + 2850 * z) * (1 + 0.05 * np.sin(2 * np.pi * x) * np.cos(2 * np.pi * y))


def _layered(x: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return a velocity with three reflectors, one of them dipping."""
    dipping = np.where(z > 0.5 + 0.15 * (x - 0.5), 600.0, 0.0)
    return 1500 + 400 * (z > 0.25) + dipping + 800 * (z > 0.75) + 0 * y


def _epsilon(x: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return 0.12 + 0.12 * np.sin(np.pi * x) * np.sin(2 * np.pi * z) ** 2 + 0 * y


def velocity(case: Case, pad: int) -> np.ndarray:
    """Return vp, m/s: 1500 at the top to 4350 at the bottom, with a lateral swell of five per cent."""
    return volume(case, pad, _vp)


def layered_velocity(case: Case, pad: int) -> np.ndarray:
    """Return the model of a migration's data, m/s, with reflectors."""
    return volume(case, pad, _layered)


def migration_velocity(case: Case, pad: int) -> np.ndarray:
    """Return the model of a migration, m/s: a gradient, no reflectors."""
    return volume(case, pad, lambda x, y, z: 1500 + 1800 * z + 0 * y)


def thomsen(case: Case, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Return epsilon and delta: smooth, delta <= epsilon everywhere."""
    eps = volume(case, pad, _epsilon)
    return eps, np.float32(0.4) * eps


def tilt(case: Case, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Return theta and phi, radians: up to 50 degrees of tilt, all azimuths in front of x = 1/2.

    With equal layers the tilt is zero in the layer and returns to its value over 24 cells: our propagator tapers it so
    before a layer, and does nothing where it finds it tapered. With equal interiors it has its value everywhere, and
    each side does in its layer what it needs.
    """
    flat, ramp = 10.0, 14.0

    def inwards(t: np.ndarray, n: int) -> np.ndarray:
        cells = np.minimum(t, 1 - t) * (n - 1)
        r = np.clip((cells - flat) / ramp, 0.0, 1.0)
        return r * r * (3 - 2 * r)

    def theta(x: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        nx, ny, nz = case.interior
        weight = 1.0
        if case.kind == "steps":
            weight = inwards(np.float64(x), nx) * inwards(y, ny) * inwards(z, nz)
        return weight * np.radians(35 + 15 * np.sin(2 * np.pi * y) * np.cos(2 * np.pi * z))

    def phi(x: float, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.pi * (0.9 * np.cos(np.pi * x) + 0 * y + 0 * z)

    return volume(case, pad, theta), volume(case, pad, phi)


def fastest(case: Case) -> float:
    """Return the largest vp sqrt(1 + 2 epsilon), m/s, which rules the layer."""
    v, fast = velocity(case, 0), 0.0
    if case.medium == "isotropic":
        return float(v.max())
    for plane, eps in zip(v, thomsen(case, 0)[0], strict=True):
        fast = max(fast, float((plane * np.sqrt(1 + 2 * eps.astype(np.float64))).max()))
    return fast


def time_step(case: Case) -> float:
    """Return 0.9 of a safe stability bound, s: lambda <= v^2 S sum_i w_i / h^2.

    w_i is 1 + 2 epsilon for the axes across the axis of symmetry (tilted: for all three), 1 for the others.
    """
    across = 1.0 + 2.0 * (0.24 if case.medium != "isotropic" else 0.0)
    weight = case.ndim * across if case.medium == "tti" else (case.ndim - 1) * across + 1
    vmax = 1500 + 2850 * 1.05 + 75  # of `velocity`
    if case.kind == "rtm":
        vmax = 3300.0  # of both models of a migration
    return 0.9 * 2.0 * case.spacing / (vmax * math.sqrt(NYQUIST_ORDER_8 * weight))


def damping_profile(case: Case, vmax: float) -> np.ndarray:
    """Return sigma of one axis of damping, 1/s, from the inner edge outwards, (layer,) float64.

    ``sigma = (m + 1) vmax ln(1/R) / (2 L) (d/L)^m`` with m = 2, d/L = 1/N at the inner edge to 1 outside.
    """
    depth = np.arange(1, case.layer + 1) / case.layer
    return 3 * vmax * math.log(1 / case.reflection) / (2 * case.layer * case.spacing) * depth**2


def damping_axes(case: Case, vmax: float) -> list[np.ndarray]:
    """Return sigma along every axis of the peer's grid, 1/s."""
    out = []
    for n in case.shape:
        sigma = np.zeros(n)
        sigma[: case.layer] = damping_profile(case, vmax)[::-1]
        sigma[n - case.layer :] = damping_profile(case, vmax)
        out.append(sigma)
    return out


def start_field(case: Case, pad: int) -> np.ndarray:
    """Return a band-limited field that fills interior and `pad`: no timed step runs on zeros or denormals.

    Used as the current and the previous time level of every field: a wave that starts at rest.
    """
    waves = [(150.0, 0.3), (230.0, 1.1), (410.0, 2.0)]  # wavelengths in m (at least 15 points) and phases
    profiles = []
    for n in case.interior:
        t = (np.arange(n + 2 * pad) - pad) * case.spacing
        profiles.append(sum(np.cos(2 * np.pi * t / length + phase) for length, phase in waves))
    out = np.empty([len(p) for p in profiles], np.float32)
    rest = profiles[-1] if case.ndim == 2 else profiles[1][:, None] * profiles[2]
    for plane, x in zip(out, profiles[0], strict=True):
        plane[...] = x * rest
    return out


def ball(case: Case, pad: int) -> np.ndarray:
    """Return a smooth ball in the middle of interior and `pad`, standard deviation 4 cells: what two discretisations
    agree on, as they do not on a point source in a VTI medium, which emits the shortest waves there are.
    """
    parts = []
    for n in case.interior:
        r = (np.arange(n + 2 * pad) - pad - n // 2) / 4.0
        parts.append(np.exp(-0.5 * r * r).astype(np.float32))
    return parts[0][:, None, None] * parts[1][:, None] * parts[2]


def peak_frequency(case: Case) -> float:
    """Return f0 of the wavelet, Hz: 10 points per wavelength at 1500 m/s."""
    return 1500.0 / (10 * case.spacing)


def wavelet(case: Case, steps: int) -> np.ndarray:
    """Return a Ricker wavelet, (steps,) float64."""
    f0 = peak_frequency(case)
    a = (np.pi * f0 * (np.arange(steps) * time_step(case) - 1.5 / f0)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def points_of_shot(case: Case) -> tuple[tuple[int, ...], np.ndarray]:
    """Return indices in the interior of the source and of the receivers, (n, ndim), of a migration.

    Two cells below the top: receivers at every node along x (3-D: and at every fifth row along y).
    """
    source = (*tuple(n // 2 for n in case.interior[:-1]), 2)
    x = np.arange(10, case.interior[0] - 10)
    if case.ndim == 2:
        return source, np.stack([x, np.full_like(x, 2)], axis=1)
    xx, yy = np.meshgrid(x, np.arange(10, case.interior[1] - 10, 5), indexing="ij")
    return source, np.stack([xx.ravel(), yy.ravel(), np.full(xx.size, 2)], axis=1)
