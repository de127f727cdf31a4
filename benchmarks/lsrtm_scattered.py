"""How far does least-squares migration explain data that a perturbation really scatters, and what limits it?

    python benchmarks/lsrtm_scattered.py [--small] [--keep FILE]

Nine kilometres of Marmousi-II, VP alone, every 25 m. The data are those of the model less those of its smooth
background, without a free surface: all orders of scattering, and reflections whose times the background has wrong by
what it lost of the model. 28 shots, 20 iterations: the misfit must fall in each, and by 12 % in all.

What limits it is told by the same inversion with 7 shots and 10 iterations of other data or backgrounds: first-order
scattering alone (no multiples, no error of the times), a background that is smoothed half and twice as far, and data
with the direct wave left in. `early` is the part of data and residual that arrives before a wave in the water would:
what dives and is refracted. The last line is a JSON with all of it; progress goes to stderr. With --keep every
inversion that ends is written down, and a later start does the others; the file goes when all are done.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import subsalt
from subsalt.inversion.cgls import Scalars

MODEL = Path(__file__).resolve().parents[1] / "../shared/data/models/marmousi2_5m.npz"
#: one point in how many, spacing (m), the columns that are taken, peak frequency (Hz)
EVERY, SPACING, COLUMNS, F0 = 5, 25.0, slice(160, 521), 5.0
#: half width of the mean that smooths, points, three times along each axis
HALF = 6
#: depth of sources and receivers, m; samples and sampling interval of a record, s; velocity of water, m/s
DEPTH, NT, DT, WATER = 50.0, 900, 0.004, 1500.0
#: part of the misfit that must go
FALL = 0.12


def smoothed(values: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return values averaged three times over ``2 half + 1`` points along both axes, edges continued."""
    out, width = values, 2 * half + 1
    for axis in (0, 1) * 3:
        padded = np.pad(out, [(half + 1, half) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
        total = np.moveaxis(np.cumsum(padded, axis=axis), axis, 0)
        out = np.moveaxis((total[width:] - total[:-width]) / width, 0, axis)
    return out


@dataclass(frozen=True)
class Line:
    """Survey over the model, with a background of some smoothness.

    Parameters
    ----------
    shots : int
        Number of shots, evenly over the line.
    half : int
        Half width of the mean that smooths the background, points.
    """

    shots: int
    half: int = HALF

    @property
    def true(self) -> NDArray[np.float64]:
        """VP, m/s."""
        vp: NDArray[np.float64] = np.load(MODEL)["vp"].astype(np.float64)[::EVERY, ::EVERY][COLUMNS]
        return vp

    @property
    def mask(self) -> NDArray[np.float64]:
        """0 in the water, which is known."""
        return np.where(np.cumprod(self.true <= 1510.0, axis=1) > 0, 0.0, 1.0)

    @property
    def background(self) -> NDArray[np.float64]:
        """VP without what is short, m/s; the water stays."""
        slowness = 1.0 / self.true
        return 1.0 / np.where(self.mask > 0, smoothed(slowness, self.half), slowness)

    def model(self, vp: NDArray[np.float64]) -> subsalt.EarthModel:
        """Return a model of the line."""
        return subsalt.EarthModel(subsalt.Grid(vp.shape, (SPACING, SPACING)), vp.astype(np.float32))

    @property
    def survey(self) -> subsalt.Survey:
        """Shots that all receivers record."""
        end = (self.true.shape[0] - 1) * SPACING
        receivers = [(x, DEPTH) for x in np.arange(100.0, end - 50.0, 50.0)]
        sources = [(x, DEPTH) for x in np.linspace(500.0, end - 500.0, self.shots)]
        return subsalt.Survey.from_arrays(sources, receivers, nt=NT, dt=DT)

    @property
    def early(self) -> NDArray[np.bool_]:
        """Samples before the peak of a wave in the water arrives, (shots, receivers, samples)."""
        survey = self.survey
        offsets = np.stack([np.abs(shot.rcv[:, 0] - shot.src[0]) for shot in survey.shots])
        return np.arange(NT) * DT < (offsets / WATER)[:, :, None] + 0.5 / F0


def squared(values: NDArray[np.float64]) -> float:
    """Return the sum of squares."""
    return float(np.sum(np.asarray(values, dtype=np.float64) ** 2))


def recorded(line: Line, vp: NDArray[np.float64], wavelet: subsalt.Wavelet) -> NDArray[np.float64]:
    """Return the records of a model."""
    return np.asarray(subsalt.forward(line.model(vp), line.survey, wavelet).data, dtype=np.float64)


def inverted(
    line: Line, data: NDArray[np.float64], wavelet: subsalt.Wavelet, iterations: int, name: str
) -> Any:
    """Return the result of an inversion; tells its progress."""
    begin = time.process_time()

    def tell(numbers: Scalars, dm: NDArray[np.float64]) -> None:
        seconds = time.process_time() - begin
        print(
            f"{name}: {numbers.iteration} {numbers.relative:.5f} {seconds:.0f} s", file=sys.stderr, flush=True
        )

    survey = line.survey
    shots = [replace(s, data=d.astype(np.float32)) for s, d in zip(survey.shots, data, strict=True)]
    return subsalt.lsrtm(
        line.model(line.background),
        replace(survey, shots=shots),
        wavelet,
        mask=line.mask,
        iterations=iterations,
        on_iteration=tell,
    )


def whole(line: Line, iterations: int, wavelet: subsalt.Wavelet) -> dict[str, Any]:
    """Return what the inversion of the scattered data reaches."""
    begin = time.process_time()
    data = recorded(line, line.true, wavelet) - recorded(line, line.background, wavelet)
    result = inverted(line, data, wavelet, iterations, "whole")
    dm = line.mask * (line.true**-2.0 - line.background**-2.0)
    residual = data - result.operator.forward(result.dm)
    early = line.early
    return {
        "shots": line.shots,
        "iterations": result.history[-1].iteration,
        "misfit": result.misfit,
        "misfit_of_the_true_perturbation": squared(data - result.operator.forward(dm)) / squared(data),
        "early": {
            "data": squared(data[early]) / squared(data),
            "residual": squared(residual[early]) / squared(residual),
        },
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


#: what is inverted to tell what limits the first: name, and half width of the mean that smooths the background
VARIANTS = {
    "as it is": HALF,
    "first order alone": HALF,
    "direct wave left in": HALF,
    "half the smoothing": HALF // 2,
    "twice the smoothing": 2 * HALF,
}


def variant(name: str, shots: int, iterations: int, wavelet: subsalt.Wavelet) -> float:
    """Return the misfit, relative to its start, that an inversion with other data or another background reaches."""
    line = Line(shots, VARIANTS[name])
    if name == "first order alone":
        dm = line.mask * (line.true**-2.0 - line.background**-2.0)
        data = subsalt.born_operator(line.model(line.background), line.survey, wavelet).forward(dm)
    else:
        data = recorded(line, line.true, wavelet)
        if name != "direct wave left in":
            data -= recorded(line, line.background, wavelet)
    reached: float = inverted(line, data, wavelet, iterations, name).misfit[-1]
    return reached


class ResultFile:
    """Results that are written down as they come.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.values: dict[str, Any] = {}
        if path is not None and path.is_file():
            self.values = json.loads(path.read_text())

    def of(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a result, made where it is not there."""
        if name not in self.values:
            self.values[name] = make()
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.write_text(json.dumps(self.values, indent=1) + "\n")
        return self.values[name]

    def over(self) -> None:
        """Forget them."""
        if self.path is not None:
            self.path.unlink()


def main() -> None:
    """Invert, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="two shots, three iterations")
    parser.add_argument("--keep", type=Path, help="file for what is done already")
    options = parser.parse_args()
    wavelet, results = subsalt.ricker(F0, 0.001), ResultFile(options.keep)
    line, iterations = (Line(2), 3) if options.small else (Line(28), 20)
    few = (2, 2) if options.small else (7, 10)
    result = results.of("whole", lambda: whole(line, iterations, wavelet))
    misfit = result["misfit"]
    holds = {
        "never_rising": all(b < a for a, b in pairwise(misfit)),
        "fall": misfit[-1] <= 1.0 - FALL,
    }
    reached = {name: results.of(name, partial(variant, name, *few, wavelet)) for name in VARIANTS}
    variants = {"shots": few[0], "iterations": few[1], "misfit": reached}
    print(json.dumps({"limits": {"fall": FALL}, "holds": holds, **result, "variants": variants}))
    results.over()


if __name__ == "__main__":
    main()
