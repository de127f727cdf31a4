"""Which finite-difference weights need the fewest grid points for a right waveform, and how many points are those?

    python benchmarks/fit_stencils.py [--orders 4 6 8] [--accuracy 0.01] [--wavelengths 40] [--json FILE]

Taylor weights are exact where waves are longest. The weights derived here make the waveform right: after `wavelengths`
shortest wavelengths the relative L2 error of a Ricker wavelet, its shortest wavelength taken at fmax = 2.5 f0, is at
most `accuracy` in the worst direction, on the coarsest grid for which such weights are found, and on every finer one
that is tried (`FINER`). Printed are points per shortest wavelength for Taylor and for fitted weights, and the ratio of
the work in 3-D: (points)^4 and the time step, by the largest value of the symbol.

Two families per order:

upright
    For isotropic and VTI media. The second derivative is fitted to waves in both. The first derivative, which acts in
    the absorbing layer, comes as close to it as the bound below allows.
tilted
    For TTI media: both derivatives are fitted together, to waves in all directions about axes in all directions, with
    the operator of the scheme, ``V = (n.D1)^2 + share sum_i (D2_i - D1_i D1_i)``. The share is 0.7 here, and not the
    0.2 that goes with Taylor weights: it needs the fewest points, and any constant share from 0 to 1 is stable.

What all weights keep:

- constants have no derivative: ``c_0 = -2 sum c_k``, and the first derivative is antisymmetric;
- the longest waves are exact: ``sum k^2 c_k = 1`` and ``sum 2 k d_k = 1``, as exact decimals;
- ``K2(k) >= K1(k)^2`` for every wavenumber k, K2 and K1 being the symbols: the operators of TTI and of the absorbing
  layer are then negative for any tilt, which makes the scheme stable;
- the symbol grows up to the Nyquist wavenumber: its largest value, which rules the time step, is the one there.

`--json src/subsalt/numerics/fitted_stencils.json` writes what `[propagation] stencil = "fitted"` uses.

Method
------
The error of a waveform of spectrum S(w) is that of the phase k D e, D the distance and e the relative error of the
phase velocity, weighted by S. Gauss-Newton on the phase errors; directions and media are reweighted towards the worst;
each iteration is a quadratic programme with the bound on the symbols, linearised (SciPy, SLSQP).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import factorial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
Medium = tuple[float, float]

#: epsilon and delta of the media
MEDIA: tuple[Medium, ...] = ((0.0, 0.0), (0.25, 0.1), (0.2, 0.2), (0.3, 0.0), (0.1, -0.1))
#: share of D2 - D1 D1 in the operator along the axis
SHARE = {"upright": 0.0, "tilted": 0.7}
#: the same of tilted media with Taylor weights
TAYLOR_SHARE = 0.2
#: grids on which the error may not be larger either, in points of the coarsest
FINER = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0)
#: decimal places of the weights
PLACES = 8
#: wavenumbers at which a fit holds the bound, rad per spacing
BOUNDED = math.pi * np.linspace(0, 1, 641)[1:]
#: least (K2 - K1^2) / k^2 that a fit asks for there at first; smaller for long waves, where accurate weights have less
RESERVE = 5e-7 * np.minimum(1, (BOUNDED / 0.1) ** 2)


@dataclass(frozen=True)
class Weights:
    """Weights of the second and the first derivative on a unit grid, c_1 .. c_M and d_1 .. d_M."""

    second: Array
    first: Array

    def k2(self, k: Array) -> Array:
        """Return the symbol of minus the second derivative."""
        # not 1 - cos, whose digits cancel where waves are long
        return np.asarray(sum(4 * c * np.sin(j * k / 2) ** 2 for j, c in enumerate(self.second, start=1)))

    def k1(self, k: Array) -> Array:
        """Return the symbol of the first derivative over i."""
        return np.asarray(sum(2 * d * np.sin(j * k) for j, d in enumerate(self.first, start=1)))

    def bound(self) -> Array:
        """Return (K2 - K1^2) / k^2 at `BOUNDED`, which a fit may not make negative."""
        return np.asarray((self.k2(BOUNDED) - self.k1(BOUNDED) ** 2) / BOUNDED**2)

    def stable(self) -> bool:
        """Return whether K2 >= K1^2 for all wavenumbers, and K2 grows up to that of Nyquist, on a fine net of them."""
        k = math.pi * np.linspace(0, 1, 4001)[1:]
        second = self.k2(k)
        return bool((second >= self.k1(k) ** 2).all() and (np.diff(second) > 0).all())

    def rounded(self) -> Weights:
        """Return the weights as decimals; those of the nearest neighbour keep long waves exact."""
        second, first = decimals(self)
        return Weights(*(np.array([float(x) for x in part]) for part in (second, first)))


def decimals(weights: Weights) -> tuple[list[Decimal], list[Decimal]]:
    """Return c_1 .. c_M and d_1 .. d_M as exact decimals with ``sum k^2 c_k = 1`` and ``sum 2 k d_k = 1``."""
    step = Decimal(1).scaleb(-PLACES)
    c, d = ([Decimal(float(x)).quantize(step) for x in part] for part in (weights.second, weights.first))
    c[0] = 1 - sum((k * k * x for k, x in enumerate(c[1:], start=2)), Decimal(0))
    d[0] = Decimal("0.5") - sum((k * x for k, x in enumerate(d[1:], start=2)), Decimal(0))
    return c, d


def taylor(order: int) -> Weights:
    """Return the weights of Taylor's expansion."""
    m = order // 2
    k = range(1, m + 1)
    d = [(-1) ** (j + 1) * factorial(m) ** 2 / (j * factorial(m - j) * factorial(m + j)) for j in k]
    return Weights(np.array([2 * x / j for j, x in zip(k, d, strict=True)]), np.array(d))


def long_waves_exact(free: Array) -> Weights:
    """Return the weights with c_2 .. c_M and d_2 .. d_M, those of the nearest neighbour from the longest waves."""
    c, d = np.split(free, 2)
    k = np.arange(2, len(c) + 2)
    return Weights(np.r_[1 - (k * k * c).sum(), c], np.r_[0.5 - (k * d).sum(), d])


def wedge(n: int) -> Array:
    """Return directions (m, 3) with x >= y >= z >= 0, which stand for all by the symmetry of the grid."""
    some = np.array([(n, j, i) for j in range(n + 1) for i in range(j + 1)], dtype=float)
    return np.asarray(some / np.linalg.norm(some, axis=1, keepdims=True))


def half_sphere(n: int) -> Array:
    """Return n directions spread evenly over half a sphere, and those along axes and diagonals."""
    i = np.arange(n) + 0.5
    polar, around = np.arccos(1 - i / n), math.pi * (1 + math.sqrt(5)) * i
    even = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=1)
    corners = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (z, y, x) > (0, 0, 0)]
    special = np.array(corners, dtype=float)
    return np.concatenate([even, special / np.linalg.norm(special, axis=1, keepdims=True)])


def largest(a: Array, b: Array, medium: Medium) -> Array:
    """Return the squared P frequency over squared velocity; `a`, `b` are the symbols across and along the axis."""
    epsilon, delta = medium
    t = (1 + 2 * epsilon) * a + b
    return np.asarray((t + np.sqrt(np.maximum(t * t - 8 * (epsilon - delta) * a * b, 0))) / 2)


def slowest(medium: Medium) -> float:
    """Return the smallest phase velocity relative to that along the axis."""
    across = np.sin(np.linspace(0, math.pi / 2, 181)) ** 2
    return math.sqrt(float(largest(across, 1 - across, medium).min()))


class Waves:
    """Plane waves in `media`, whose waveforms weights are measured by.

    Parameters
    ----------
    family : {"upright", "tilted"}
        Of the weights.
    wavelengths : float
        Distance in shortest wavelengths.
    fine : bool
        With more directions and wavenumbers: to judge weights, not to fit them.
    """

    def __init__(self, family: str, wavelengths: float = 40.0, *, fine: bool = False) -> None:
        self.share, self.distance = SHARE[family], 2 * math.pi * wavelengths
        axes = np.array([[0.0, 0.0, 1.0]]) if family == "upright" else wedge(5 if fine else 3)
        waves = half_sphere(150 if fine else 60)
        pairs = np.indices((len(axes), len(waves))).reshape(2, -1)
        self.axes, self.waves = axes[pairs[0]], waves[pairs[1]]
        part = np.linspace(0.02, 1.25, 120 if fine else 40)  # of the largest wavenumber that counts
        x = (2.5 * part) ** 2
        self.part, self.spectrum = part, x * np.exp(-x)

    def phase_errors(self, weights: Weights, points: float) -> Array:
        """Return the error of the phase at the end of the way, rad: (media and directions, wavenumbers)."""
        out = []
        cosine2 = (self.axes * self.waves).sum(axis=1) ** 2
        for medium in MEDIA:
            speed = np.sqrt(largest(1 - cosine2, cosine2, medium))
            k = 2 * math.pi / points * self.part[None] * (slowest(medium) / speed)[:, None]
            parts = [k * self.waves[:, i : i + 1] for i in range(3)]
            first, second = [weights.k1(p) for p in parts], [weights.k2(p) for p in parts]
            if self.share == 0:
                along = second[2]
            else:
                slope = sum(self.axes[:, i : i + 1] * first[i] for i in range(3))
                rest = sum(second[i] - first[i] ** 2 for i in range(3))
                along = np.asarray(slope**2 + self.share * rest)
            total = np.asarray(sum(second))
            frequency = np.sqrt(np.maximum(largest(total - along, along, medium), 0))
            error = frequency / (speed[:, None] * k) - 1
            out.append(self.distance * self.part[None] * (slowest(medium) / speed)[:, None] * error)
        return np.concatenate(out)

    def errors(self, weights: Weights, points: float) -> Array:
        """Return the relative L2 error of the waveform by medium and direction."""
        phase = np.clip(self.phase_errors(weights, points), -math.pi, math.pi)
        off = (self.spectrum * 2 * np.sin(phase / 2)) ** 2
        return np.asarray(np.sqrt(off.sum(axis=1) / (self.spectrum**2).sum()))

    def worst(self, weights: Weights, points: float) -> float:
        """Return the largest error of a waveform on this grid and on finer ones."""
        return max(float(self.errors(weights, points * f).max()) for f in FINER)


def bounded_least_squares(jacobian: Array, residual: Array, bound: Array, change: Array) -> Array:
    """Return the step that makes ``residual + jacobian step`` least while ``bound + change step`` is not negative."""
    h, g = jacobian.T @ jacobian, jacobian.T @ residual
    scale = 1 / np.sqrt(np.diag(h) + 1e-12 * np.diag(h).max())
    h, g, change = h * scale[:, None] * scale, g * scale, change * scale
    h += 1e-9 * np.eye(len(h))
    solution = minimize(
        lambda y: 0.5 * y @ h @ y + g @ y,
        np.zeros(len(g)),
        jac=lambda y: h @ y + g,
        constraints={
            "type": "ineq",
            "fun": lambda y: 1e3 * (bound + change @ y),
            "jac": lambda y: 1e3 * change,
        },
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-14},
    )
    return np.asarray(scale * solution.x)


def fitted(family: str, order: int, points: float, waves: Waves, iterations: int = 20) -> Weights | None:
    """Return the weights of `order` with the least worst waveform at `points`; None where none keeps the bound."""
    start = taylor(order)
    free = np.r_[start.second[1:], start.first[1:]]
    n, weight, best, reserve = len(free), None, None, 1.0
    nudges = 1e-6 * np.eye(n)
    # wavenumbers of waves along one axis: what the first derivative of the layer is fitted to
    part = np.minimum(2 * math.pi / points * waves.part, math.pi)

    def residuals(x: Array, weighting: Array) -> Array:
        weights = long_waves_exact(x)
        phases = (waves.phase_errors(weights, points) * waves.spectrum * weighting).ravel()
        if family == "tilted":
            return np.asarray(phases)
        layer = waves.distance * waves.part * (weights.k1(part) / part - 1) * waves.spectrum
        return np.r_[phases, 0.1 * layer]

    for _ in range(iterations):
        weights = long_waves_exact(free)
        errors, bound = waves.errors(weights, points), weights.bound()
        decimal = weights.rounded()
        stable = decimal.stable()
        if stable and (best is None or errors.max() < best[0]):
            best = (float(errors.max()), decimal)
        # what lies between the wavenumbers, rounding and the curvature of the bound need more or less of it
        reserve *= 0.7 if stable else 2.0
        weight = np.ones(len(errors)) if weight is None else weight * (errors / errors.mean()) ** 0.5
        weight /= weight.mean()
        here = residuals(free, weight[:, None])
        jacobian = np.stack([(residuals(free + e, weight[:, None]) - here) / 1e-6 for e in nudges], axis=1)
        change = np.stack([(long_waves_exact(free + e).bound() - bound) / 1e-6 for e in nudges], axis=1)
        free = free + bounded_least_squares(jacobian, here, bound - reserve * RESERVE, change)
    return None if best is None else best[1]


def needed(waves: Waves, weights: Weights, accuracy: float) -> float:
    """Return the fewest points per shortest wavelength at which the waveform of all waves is right."""
    low, high = 2.0, 64.0
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if waves.worst(weights, middle) <= accuracy else (middle, high)
    return high


def best_weights(family: str, order: int, accuracy: float, wavelengths: float) -> Weights:
    """Return the weights that need the fewest points, by bisection of the grid that they are fitted for."""
    waves = Waves(family, wavelengths)
    best = taylor(order)
    low, high = 2.0, needed(waves, best, accuracy)
    while high - low > 2e-3 * low:
        middle = (low + high) / 2
        weights = fitted(family, order, middle, waves)
        if weights is not None and waves.worst(weights, middle) <= accuracy:
            best, high = weights, middle
        else:
            low = middle
    return best


def row(family: str, order: int, accuracy: float, wavelengths: float) -> dict[str, object]:
    """Return weights, points and work of one order of a family."""
    judge = Waves(family, wavelengths, fine=True)
    before, after = taylor(order), best_weights(family, order, accuracy, wavelengths)
    now = needed(judge, after, accuracy)
    judge.share *= TAYLOR_SHARE / SHARE["tilted"]
    then = needed(judge, before, accuracy)
    nyquist = [float(w.k2(np.array(math.pi))) for w in (before, after)]
    second, first = decimals(after)
    return {
        "family": family,
        "order": order,
        "share": SHARE[family],
        "taylor_points": round(then, 3),
        "points": round(now, 3),
        "taylor_nyquist": round(nyquist[0], 4),
        "nyquist": round(nyquist[1], 4),
        "work": round((then / now) ** 4 * math.sqrt(nyquist[0] / nyquist[1]), 2),
        "least_bound": float(after.bound().min()),
        "second": [str(c) for c in second],
        "first": [str(d) for d in first],
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Derive the weights and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--orders", type=int, nargs="+", default=[4, 6, 8, 10, 12, 14, 16], choices=range(4, 17, 2)
    )
    parser.add_argument("--families", nargs="+", default=list(SHARE), choices=list(SHARE))
    parser.add_argument("--accuracy", type=float, default=0.01, help="relative L2 error of the waveform")
    parser.add_argument("--wavelengths", type=float, default=40.0, help="distance in shortest wavelengths")
    parser.add_argument("--json", type=Path, help="file for all rows with their weights")
    given = parser.parse_args(argv)
    rows = []
    print(
        f"{given.accuracy:.2%} after {given.wavelengths:g} shortest wavelengths, worst direction and medium"
    )
    print("family   order  points: Taylor  fitted   work ratio  symbol: Taylor  fitted")
    for family in given.families:
        for order in given.orders:
            rows.append(made := row(family, order, given.accuracy, given.wavelengths))
            print(
                f"{family:8s} {order:5d}  {made['taylor_points']:14.2f}  {made['points']:6.2f}  {made['work']:11.2f}"
                f"  {made['taylor_nyquist']:14.3f}  {made['nyquist']:6.3f}",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
