"""Our side of a least-squares migration: `subsalt.lsrtm`, setup included.

``subsalt_lsrtm.py CASE VARIANT``. ``steps-of-the-peer`` takes the peer's time step, ``own`` chooses it. G gradients are
the first migration and G - 1 iterations, each of which models and migrates.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import born_reference
import lsrtm_case
import numpy as np
from cases import parse
from protocol import serve

import subsalt


class SubsaltInversion:
    """Model, survey and data of a case."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        h = case.spacing
        sources, receivers = lsrtm_case.survey(case)
        self.model = subsalt.EarthModel(subsalt.Grid(case.interior, (h, h)), lsrtm_case.V)
        self.empty = subsalt.Survey.from_arrays(
            sources * h, receivers * h, nt=lsrtm_case.samples(case), dt=lsrtm_case.DT
        )
        self.survey: subsalt.Survey | None = None
        self.wavelet = subsalt.ricker(lsrtm_case.F0, lsrtm_case.DT, delay=lsrtm_case.DELAY)
        self.options: dict[str, Any] = {"dt": lsrtm_case.DT} if variant == "steps-of-the-peer" else {}
        self.result: subsalt.LeastSquaresResult | None = None
        self.about = {
            "peer": "subsalt",
            "version": subsalt.__version__,
            "variant": variant,
            "points": lsrtm_case.shots(case) * 3 * int(np.prod(case.interior)) * lsrtm_case.samples(case),
        }

    def data(self, path: str) -> None:
        """Load the data (shots, receivers, samples)."""
        traces = np.load(path)
        shots = [replace(s, data=d) for s, d in zip(self.empty.shots, traces, strict=True)]
        self.survey = replace(self.empty, shots=shots)

    def traces(self, out: str) -> float:
        """Save the reference; return its largest absolute value."""
        made = born_reference.scattered(self.case)
        np.save(out, made)
        return float(np.abs(made).max())

    def check(self, out: str) -> float:
        """Save what the operator makes of the perturbation; return its largest absolute value."""
        made = self._operator().forward(lsrtm_case.perturbation(self.case))
        np.save(out, made)
        return float(np.abs(made).max())

    def _operator(self) -> subsalt.BornOperator:
        return subsalt.born_operator(self.model, self.empty, self.wavelet, **self.options)

    def round(self) -> float:
        """Invert from zero; return the seconds of the whole call."""
        assert self.survey is not None
        begin = time.perf_counter()
        self.result = subsalt.lsrtm(
            self.model,
            self.survey,
            self.wavelet,
            mask=lsrtm_case.mask(self.case),
            iterations=self.case.steps - 1,
            **self.options,
        )
        return time.perf_counter() - begin

    def misfit(self) -> dict[str, Any]:
        """Return the misfit of the last round's image by one more modelling, and how often what was done in it."""
        assert self.result is not None
        assert self.survey is not None
        forwards, gradients = self.result.operator.applied
        data = np.stack([s.data for s in self.survey.shots])
        left = data - self.result.operator.forward(self.result.dm)
        return {"misfit": lsrtm_case.relative(left, data), "modelled": forwards, "gradients": gradients}


if __name__ == "__main__":
    serve(SubsaltInversion)
