"""Does least-squares migration explain Born data, scattered data, and no noise, with amplitudes one can defend?

    python benchmarks/prove_lsrtm.py [--small] [--parts born,scattered,noise] [--json FILE]

born : Marmousi, VP alone, every 25 m: the perturbation of 1 / v^2 is the model less a smooth background, its data are
Born data without noise. After 20 iterations the misfit must be at most 5 % of the start and have fallen in each, and
the image correlate to 0.85 or more with the perturbation in the band of the wavelet; the migration of the same data,
over its illumination and in the same band, stands beside it. noise : the same with white noise of 20 %; the stopping
rule must end it before the last iteration. scattered : `benchmarks/lsrtm_scattered.py`, records of Marmousi-II less
those of its background; the misfit must fall in each iteration, and by 12 % in 20.

--small takes two shots and three iterations, and is judged by nothing. With --json the results are written into a file;
parts that are not run stay in it as they are. Ends with an error if something does not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from facts import machine
from lsrtm_scattered import smoothed
from numpy.typing import NDArray

import subsalt
from subsalt.inversion.preconditioner import by_illumination
from subsalt.least_squares import LeastSquaresResult

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "../shared/data/models/marmousi_vti_12p5m.npz"
#: one point in how many, spacing (m), peak frequency (Hz), half width of the mean that smooths (points, three times)
EVERY, SPACING, F0, HALF = 2, 25.0, 6.0, 6
#: limits: misfit after all iterations, correlation, noise over data
MISFIT, CORRELATION, NOISE = 0.05, 0.85, 0.2
#: what of the scattered data is done, should the program be stopped
KEEP = ROOT / "build" / "prove-lsrtm" / "scattered.json"
PARTS = ("born", "scattered", "noise")


@dataclass(frozen=True)
class Case:
    """Born data of Marmousi.

    Parameters
    ----------
    shots, iterations : int
        How many.
    """

    shots: int
    iterations: int

    @cached_property
    def true(self) -> NDArray[np.float64]:
        """VP, m/s."""
        vp: NDArray[np.float64] = np.load(MODEL)["vp"].astype(np.float64)[::EVERY, ::EVERY]
        return vp

    @cached_property
    def mask(self) -> NDArray[np.float64]:
        """0 in the water."""
        return np.where(self.true <= 1510.0, 0.0, 1.0)

    @cached_property
    def background(self) -> NDArray[np.float64]:
        """VP without what is short, m/s."""
        slowness = 1.0 / self.true
        return 1.0 / np.where(self.mask > 0, smoothed(slowness, HALF), slowness)

    @cached_property
    def dm(self) -> NDArray[np.float64]:
        """The perturbation of 1 / v^2, s^2/m^2."""
        return self.mask * (self.true**-2.0 - self.background**-2.0)

    @cached_property
    def model(self) -> subsalt.EarthModel:
        """The background."""
        grid = subsalt.Grid(self.true.shape, (SPACING, SPACING))
        return subsalt.EarthModel(grid, self.background.astype(np.float32))

    @cached_property
    def survey(self) -> subsalt.Survey:
        """Shots that all receivers record."""
        last = self.model.grid.last[0]
        sources = [(x, 50.0) for x in np.linspace(500.0, last - 500.0, self.shots)]
        receivers = [(x, 50.0) for x in np.arange(100.0, last - 50.0, 50.0)]
        return subsalt.Survey.from_arrays(sources, receivers, nt=700, dt=0.004)

    @cached_property
    def operator(self) -> subsalt.BornOperator:
        """Linearised modelling."""
        return subsalt.born_operator(self.model, self.survey, subsalt.ricker(F0, 0.001))

    @cached_property
    def data(self) -> NDArray[np.float64]:
        """Born data of the perturbation."""
        return self.operator.forward(self.dm)

    def inverted(self, traces: NDArray[np.float64], **rules: float) -> LeastSquaresResult:
        """Return the result of an inversion."""
        shots = [
            replace(s, data=d.astype(np.float32)) for s, d in zip(self.survey.shots, traces, strict=True)
        ]
        return subsalt.lsrtm(
            self.model,
            replace(self.survey, shots=shots),
            subsalt.ricker(F0, 0.001),
            mask=self.mask,
            iterations=self.iterations,
            **rules,
        )

    def correlation(self, image: NDArray[np.float64]) -> float:
        """Return the correlation of an image with the perturbation, both in the band of the wavelet."""
        vp = np.asarray(self.model.vp, dtype=np.float64)
        a, b = in_band(image, vp), in_band(self.dm, vp)
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def in_band(values: NDArray[np.float64], vp: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values convolved along z with the Ricker wavelet of the vertical two-way time, at the mean velocity."""
    n, h = values.shape[1], SPACING
    padded = np.concatenate([values, np.zeros_like(values)], axis=1)
    k = np.fft.rfftfreq(2 * n, h) * 0.5 * float(vp.mean()) / F0
    return np.fft.irfft(np.fft.rfft(padded, axis=1) * k**2 * np.exp(1.0 - k**2), axis=1)[:, :n]


def born(case: Case) -> dict[str, Any]:
    """Return what the inversion of data without noise reaches."""
    migration = case.operator.adjoint(case.data)
    assert case.operator.illumination is not None
    balanced = case.mask * migration * by_illumination(case.operator.illumination)
    begin = time.perf_counter(), time.process_time()
    clean = case.inverted(case.data)
    seconds, processor = time.perf_counter() - begin[0], time.process_time() - begin[1]
    correlation = case.correlation(clean.dm)
    return {
        "holds": {
            "misfit": clean.misfit[-1] <= MISFIT,
            "never_rising": all(b < a for a, b in pairwise(clean.misfit)),
            "correlation": correlation >= CORRELATION,
        },
        "shots": case.shots,
        "iterations": case.iterations,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(processor, 1),
        "misfit": clean.misfit,
        "correlation": correlation,
        "migration_correlation": case.correlation(balanced),
    }


def noise(case: Case) -> dict[str, Any]:
    """Return where the rule ends the inversion of data with noise."""
    white = np.random.default_rng(0).standard_normal(case.data.shape)
    white *= NOISE * np.sqrt(np.sum(case.data**2) / np.sum(white**2))
    noisy = case.inverted(case.data + white, noise=NOISE / np.sqrt(1.0 + NOISE**2))
    ended = noisy.history[-1].iteration
    return {
        "holds": {"stops_before_noise": ended < case.iterations},
        "shots": case.shots,
        "iterations": ended,
        "most_iterations": case.iterations,
        "reason": noisy.reason,
        "misfit": noisy.misfit,
        "correlation": case.correlation(noisy.dm),
    }


def scattered(small: bool) -> dict[str, Any]:
    """Return what the program of scattered data says."""
    words = [sys.executable, str(ROOT / "benchmarks" / "lsrtm_scattered.py")]
    words += ["--small"] if small else ["--keep", str(KEEP)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Run parts, write their results, judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="two shots, three iterations; not judged")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := [p for p in parts if p not in PARTS]:
        parser.error(f"--parts {','.join(unknown)}: they are {', '.join(PARTS)}")
    out: dict[str, Any] = {}
    if options.json is not None and options.json.is_file():
        out = json.loads(options.json.read_text())
    out |= {
        "question": "does least-squares migration explain Born data, scattered data and no noise",
        "command": "make prove-lsrtm",
        "limits": {"misfit": MISFIT, "correlation": CORRELATION, "noise": NOISE},
    }
    case = Case(*((2, 3) if options.small else (24, 20)))
    fails: list[str] = []
    for part in parts:
        on = machine(1)
        if part == "scattered":
            made = scattered(options.small)
        else:
            made = born(case) if part == "born" else noise(case)
        out[part] = {"machine": on, **made}
        print(json.dumps({part: out[part]}, indent=1), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(out, indent=1) + "\n")
        fails += [f"{part}: {name}" for name, so in made["holds"].items() if not so]
    if fails and not options.small:
        sys.exit(f"does not hold: {', '.join(fails)}")


if __name__ == "__main__":
    main()
