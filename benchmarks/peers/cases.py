"""The question put to every peer: medium, grid, layer, time step and start fields, made from NumPy alone.

Both workers import this file, so both solve the same numbers. All arrays are float32, (nx, ny, nz), every
point of the absorbing layer included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Nyquist symbol of the order-8 second difference (Taylor weights), in units of 1/h^2
NYQUIST_ORDER_8 = 6.501587301587302


@dataclass(frozen=True)
class Case:
    """One benchmark case, named ``iso-256`` or ``vti-64``."""

    name: str
    medium: str  # "isotropic" or "vti"
    n: int
    order: int = 8
    spacing: float = 10.0
    layer: int = 40  # cells of damping on every side
    reflection: float = 3e-3

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.n, self.n, self.n)

    @property
    def points(self) -> int:
        return self.n**3

    @property
    def width(self) -> int:
        """Cells of damping per side: 40, but never more than a quarter of the grid (small trial runs)."""
        return min(self.layer, self.n // 4)

    @property
    def source(self) -> tuple[int, int, int]:
        """Grid indices of the source of the first verification."""
        return (self.n // 2, self.n // 2 - 3, self.n // 2 + 5)


def parse(name: str) -> Case:
    """Return the case called ``iso-N`` or ``vti-N``."""
    media = {"iso": "isotropic", "vti": "vti"}
    head, _, tail = name.partition("-")
    if head not in media or not tail.isdigit() or int(tail) < 32:
        raise SystemExit(f"unknown case {name!r}; use iso-N or vti-N with N >= 32, for example iso-256")
    return Case(name, media[head], int(tail))


def velocity(case: Case) -> np.ndarray:
    """Return vp, m/s: 1500 at the top to 4500 at the bottom, with a lateral swell of five per cent."""
    x, y, z = (np.linspace(0.0, 1.0, case.n) for _ in range(3))
    swell = 0.05 * np.sin(2 * np.pi * x)[:, None, None] * np.cos(2 * np.pi * y)[None, :, None]
    return ((1500 + 2850 * z)[None, None, :] * (1 + swell)).astype(np.float32)


def thomsen(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return epsilon and delta: smooth, delta <= epsilon everywhere."""
    x = np.linspace(0.0, 1.0, case.n)
    eps = 0.12 + 0.12 * np.sin(np.pi * x)[:, None, None] * np.sin(2 * np.pi * x)[None, None, :] ** 2
    eps = np.broadcast_to(eps, case.shape).astype(np.float32)
    return eps, (0.4 * eps).astype(np.float32)


def time_step(case: Case) -> float:
    """Return 0.9 of a safe stability bound, s: lambda <= v^2 S (2 (1 + 2 epsilon) + 1) / h^2."""
    v = float(velocity(case).max())
    horizontal = 1.0 + 2.0 * (float(thomsen(case)[0].max()) if case.medium == "vti" else 0.0)
    return 0.9 * 2.0 * case.spacing / (v * math.sqrt(NYQUIST_ORDER_8 * (2 * horizontal + 1)))


def layer_profile(case: Case, width: int, reflection: float) -> np.ndarray:
    """Return sigma(x_i) along one axis, 1/s, (n,) float64; the same on all three axes.

    Notes
    -----
    ``sigma = (m + 1) vmax ln(1/R) / (2 L) (d/L)^m`` with m = 2, d/L = 1/N at the inner edge to 1 outside.
    """
    v = float(velocity(case).max())
    if case.medium == "vti":
        v *= math.sqrt(1 + 2 * float(thomsen(case)[0].max()))
    depth = np.arange(1, width + 1) / width
    ramp = 3 * v * math.log(1 / reflection) / (2 * width * case.spacing) * depth**2
    sigma = np.zeros(case.n)
    sigma[:width] = ramp[::-1]
    sigma[-width:] = ramp
    return sigma


def damping_profile(case: Case) -> np.ndarray:
    """Return the profile of the damping layer, the boundary both sides share."""
    return layer_profile(case, case.width, case.reflection)


def model_arrays(case: Case) -> dict[str, np.ndarray]:
    """Return m = (vp dt)^2 and, for VTI, e = 1 + 2 epsilon and s = sqrt(1 + 2 delta)."""
    dt = time_step(case)
    arrays = {"m": ((velocity(case).astype(np.float64) * dt) ** 2).astype(np.float32)}
    if case.medium == "vti":
        eps, delta = thomsen(case)
        arrays["e"] = (1 + 2 * eps.astype(np.float64)).astype(np.float32)
        arrays["s"] = np.sqrt(1 + 2 * delta.astype(np.float64)).astype(np.float32)
    return arrays


def start_field(case: Case) -> np.ndarray:
    """Return a band-limited field that fills the whole grid, so that no timed step runs on zeros or
    denormals.

    Used as the current and the previous time level of every field: a wave that starts at rest.
    """
    t = np.arange(case.n) * case.spacing
    waves = [(150.0, 0.3), (230.0, 1.1), (410.0, 2.0)]  # wavelengths in m (at least 15 points) and phases
    profile = sum(np.cos(2 * np.pi * t / length + phase) for length, phase in waves)
    return (profile[:, None, None] * profile[None, :, None] * profile[None, None, :]).astype(np.float32)


def wavelet(case: Case, steps: int) -> np.ndarray:
    """Return a Ricker wavelet of 10 points per wavelength at the slowest velocity, (steps,) float64."""
    f0 = 1500.0 / (10 * case.spacing)
    a = (np.pi * f0 * (np.arange(steps) * time_step(case) - 1.2 / f0)) ** 2
    return (1 - 2 * a) * np.exp(-a)
