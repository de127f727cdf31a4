"""Our side: the kernels of a device, driven step by step from Python as the reference propagator does.

``subsalt_worker.py CASE VARIANT``; the variant is the absorbing layer, ``damping`` (what the peer has) or
``pml`` (our default, 12 cells), with ``@reference`` appended to run the NumPy kernels instead.
"""

from __future__ import annotations

import time

import cases
import numpy as np
from protocol import serve

import subsalt
from subsalt import kernels
from subsalt.fields import Layout
from subsalt.kernels.problem import FIELD_NAMES, Problem, State

PML_CELLS, PML_REFLECTION = 12, 1e-5


class SubsaltSolver:
    """Problem, state and kernels of one case."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = cases.parse(name)
        boundary, _, device = variant.partition("@")
        self.kernels = kernels.get(device or "cpu")
        self.problem = self._problem(boundary)
        self.state = self._state()
        self._advance(2)  # whatever a device derives, chooses or touches on its first steps
        facts = self.kernels.describe() if hasattr(self.kernels, "describe") else {}
        self.about = {"peer": "subsalt", "version": subsalt.__version__, "variant": variant, **facts}

    def _problem(self, boundary: str) -> Problem:
        """Discretise the case: pad the model arrays, lay the profile on all six sides."""
        case, dt = self.case, cases.time_step(self.case)
        layout = Layout(case.shape, case.order // 2, 3)
        width = case.width if boundary == "damping" else PML_CELLS
        sigma = cases.layer_profile(case, width, case.reflection if boundary == "damping" else PML_REFLECTION)
        params = {}
        for key, values in cases.model_arrays(case).items():
            params[key] = self.kernels.allocate(layout, np.float32)
            layout.view(params[key])[...] = values
        decay = np.exp(-sigma * dt)
        return Problem(
            layout=layout,
            medium=case.medium,
            order=case.order,
            dt=dt,
            spacing3=(case.spacing,) * 3,
            params=params,
            boundary=boundary,
            widths=(width,) * 6,
            sigma=(sigma,) * 3,
            decay=(decay,) * 3,
        )

    def _state(self) -> State:
        """Return a state at rest, its arrays allocated by the device."""
        n = len(FIELD_NAMES[self.case.medium])
        level = [[self.kernels.allocate(self.problem.layout, np.float32) for _ in range(n)] for _ in range(2)]
        return State(level[0], level[1], self.kernels.new_memory(self.problem))

    def _advance(self, steps: int) -> None:
        for _ in range(steps):
            self.kernels.time_step(self.problem, self.state)
            self.state.rotate()

    def fill(self) -> None:
        """Load the start field into all time levels; the memory of the layer is zero."""
        self.state.clear()
        start = cases.start_field(self.case)
        for a in (*self.state.prev, *self.state.curr):
            self.problem.layout.view(a)[...] = start

    def check(self, steps: int, out: str) -> float:
        """Run a point source from rest, one step at a time, and save the fields."""
        self.state.clear()
        at, view = self.case.source, self.problem.layout.view
        k = {name: float(view(a)[at]) for name, a in self.problem.params.items()}
        one_field = len(self.state.curr) == 1
        gains = [k["m"]] if one_field else [k["m"] * (k["e"] + k["s"]) / 2, k["m"] * (k["s"] + 1) / 2]
        for f_n in cases.wavelet(self.case, steps):
            self._advance(1)
            for a, gain in zip(self.state.curr, gains, strict=True):
                view(a)[at] += np.float32(gain * f_n)
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps: wall clock of the whole loop, its Python included."""
        start = time.perf_counter()
        self._advance(steps)
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the present time level of every field; return the largest absolute value."""
        now = np.stack([self.problem.layout.view(a) for a in self.state.curr])
        np.save(out, now)
        return float(np.abs(now).max())


if __name__ == "__main__":
    serve(SubsaltSolver)
