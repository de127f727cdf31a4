"""Does least-squares migration explain Born data, with amplitudes that one can defend?

    python benchmarks/prove_lsrtm.py [--small] [--json FILE]

Marmousi, VP alone, every 25 m: the perturbation of 1 / v^2 is the model less a smooth background, its data are Born
data without noise. After 20 iterations the misfit must be at most 5 % of the start and have fallen in each, and the
image correlate to 0.85 or more with the perturbation in the band of the wavelet; the migration of the same data, over
its illumination and in the same band, stands beside it. A second inversion gets white noise of 20 % and must
end by its stopping rule before the last iteration. --small takes two shots and three iterations, and is judged by
nothing.
Ends with an error if one of these does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from facts import machine
from numpy.typing import NDArray

import subsalt
from subsalt.inversion.preconditioner import by_illumination
from subsalt.least_squares import LeastSquaresResult

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "../shared/data/models/marmousi_vti_12p5m.npz"
#: every how manieth point, spacing (m), peak frequency (Hz), half width of the mean that smooths (points, three times)
EVERY, SPACING, F0, HALF = 2, 25.0, 6.0, 6
#: limits: misfit after all iterations, correlation, noise over data
MISFIT, CORRELATION, NOISE = 0.05, 0.85, 0.2


@dataclass(frozen=True)
class Case:
    """The survey over the model."""

    model: subsalt.EarthModel
    dm: NDArray[np.float64]
    survey: subsalt.Survey
    mask: NDArray[np.float64]


def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values averaged three times over 2 HALF + 1 points along both axes, edges continued."""
    out = values
    for axis in (0, 1) * 3:
        padded = np.pad(out, [(HALF + 1, HALF) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
        total = np.cumsum(padded, axis=axis)
        width = 2 * HALF + 1
        take = [slice(None), slice(None)]
        late, early = list(take), list(take)
        late[axis], early[axis] = slice(width, None), slice(None, -width)
        out = (total[tuple(late)] - total[tuple(early)]) / width
    return out


def case(shots: int) -> Case:
    """Return model, perturbation and survey."""
    vp = np.load(MODEL)["vp"].astype(np.float64)[::EVERY, ::EVERY]
    slowness = 1.0 / vp
    water = vp <= 1510.0
    background = np.where(water, slowness, smoothed(slowness))
    grid = subsalt.Grid(vp.shape, (SPACING, SPACING))
    mask = np.where(water, 0.0, 1.0)
    dm = mask * (slowness**2 - background**2)
    xs = np.linspace(500.0, grid.last[0] - 500.0, shots)
    receivers = [(x, 50.0) for x in np.arange(100.0, grid.last[0] - 50.0, 50.0)]
    survey = subsalt.Survey.from_arrays([(x, 50.0) for x in xs], receivers, nt=700, dt=0.004)
    return Case(subsalt.EarthModel(grid, (1.0 / background).astype(np.float32)), dm, survey, mask)


def in_band(values: NDArray[np.float64], vp: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values convolved along z with the Ricker wavelet of the vertical two-way time, at the mean velocity."""
    n, h = values.shape[1], SPACING
    padded = np.concatenate([values, np.zeros_like(values)], axis=1)
    k = np.fft.rfftfreq(2 * n, h) * 0.5 * float(vp.mean()) / F0
    return np.fft.irfft(np.fft.rfft(padded, axis=1) * k**2 * np.exp(1.0 - k**2), axis=1)[:, :n]


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the correlation of two arrays."""
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def main() -> None:
    """Invert, write the result, judge it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="two shots, three iterations; not judged")
    parser.add_argument("--json", type=Path, help="file for the result")
    options = parser.parse_args()
    shots, iterations = (2, 3) if options.small else (24, 20)
    made, wavelet = case(shots), subsalt.ricker(F0, 0.001)
    operator = subsalt.born_operator(made.model, made.survey, wavelet)
    data = operator.forward(made.dm)
    migration = operator.adjoint(data)
    assert operator.illumination is not None
    balanced = made.mask * migration * by_illumination(operator.illumination)

    def inverted(traces: NDArray[np.float64], **rules: float) -> LeastSquaresResult:
        shots = [
            replace(s, data=d.astype(np.float32)) for s, d in zip(made.survey.shots, traces, strict=True)
        ]
        survey = replace(made.survey, shots=shots)
        return subsalt.lsrtm(made.model, survey, wavelet, mask=made.mask, iterations=iterations, **rules)

    begin = time.perf_counter()
    clean = inverted(data)
    seconds = time.perf_counter() - begin
    noise = np.random.default_rng(0).standard_normal(data.shape)
    noise *= NOISE * np.sqrt(np.sum(data**2) / np.sum(noise**2))
    noisy = inverted(data + noise, noise=NOISE / np.sqrt(1.0 + NOISE**2))
    vp = np.asarray(made.model.vp, dtype=np.float64)
    truth = in_band(made.dm, vp)
    measured = {
        "misfit": clean.misfit,
        "correlation": correlation(in_band(clean.dm, vp), truth),
        "migration_correlation": correlation(in_band(balanced, vp), truth),
        "noisy_iterations": noisy.history[-1].iteration,
        "noisy_reason": noisy.reason,
        "noisy_correlation": correlation(in_band(noisy.dm, vp), truth),
    }
    holds = {
        "misfit": clean.misfit[-1] <= MISFIT,
        "never_rising": all(b < a for a, b in pairwise(clean.misfit)),
        "correlation": measured["correlation"] >= CORRELATION,
        "stops_before_noise": noisy.history[-1].iteration < iterations,
    }
    out = {
        "question": "does least-squares migration explain Born data of Marmousi",
        "command": "make prove-lsrtm",
        "machine": machine(1),
        "limits": {"misfit": MISFIT, "correlation": CORRELATION, "noise": NOISE},
        "shots": shots,
        "iterations": iterations,
        "seconds": round(seconds, 1),
        "holds": holds,
        **measured,
    }
    text = json.dumps(out, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        options.json.write_text(text)
    if not all(holds.values()) and not options.small:
        sys.exit(f"does not hold: {', '.join(name for name, so in holds.items() if not so)}")


if __name__ == "__main__":
    main()
