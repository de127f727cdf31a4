"""Our side of a propagation: `subsalt.Propagator`, as every modelling and migration uses it.

``subsalt_worker.py CASE VARIANT``. The variant begins with the absorbing layer: ``damping`` (what the peer has),
``pml`` (our default of 12 cells, with as many points in all as the peer's grid) or ``pml-interior`` (12 cells around
the peer's interior; in tilted media also the cells in which the tilt is tapered). ``+u16`` or ``+f32`` chooses how the
model is stored, ``@reference`` runs the NumPy kernels.
"""

from __future__ import annotations

import time
from typing import Any

import earth
import numpy as np
from cases import PML_CELLS, TILT_TAPER, Case, parse
from protocol import save_fields, serve

import subsalt
from subsalt import kernels
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels import cpu
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator


def earth_model(case: Case, pad: int) -> subsalt.EarthModel:
    """Return the case's model on its interior and `pad` cells around."""
    parts: dict[str, Any] = {}
    if case.medium != "isotropic":
        parts["epsilon"], parts["delta"] = earth.thomsen(case, pad)
    if case.medium == "tti":
        parts["theta"], parts["phi"] = earth.tilt(case, pad)
    shape = tuple(n + 2 * pad for n in case.interior)
    grid = subsalt.Grid(shape, (case.spacing,) * case.ndim, (-pad * case.spacing,) * case.ndim)
    return subsalt.EarthModel(grid, earth.velocity(case, pad), **parts)


class SubsaltSolver:
    """Propagator and state of one case."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        rest, _, device = variant.partition("@")
        layer, _, storage = rest.partition("+")
        boundary, _, interior = layer.partition("-")
        width = case.layer if boundary == "damping" else PML_CELLS
        pad = 0 if boundary == "damping" else case.layer - width
        if interior:
            pad = TILT_TAPER if case.medium == "tti" else 0
        chosen: dict[str, Any] = {"model_storage": storage} if storage else {}
        options = PropagationOptions(
            stencil="taylor",
            boundary=boundary,  # type: ignore[arg-type]
            layer=width,
            source_taper=None,
            device=device or "cpu",
            **chosen,
        )
        kernels.prepare(options.device, options.threads)
        remember_tiles()
        self.prop = Propagator(earth_model(case, pad), options, earth.time_step(case))
        self.pad = pad + width
        self.state = self.prop.new_state()
        self.prop.advance(self.state, 2)  # whatever a device derives, chooses or touches on its first steps
        facts = self.prop.kernels.describe() if hasattr(self.prop.kernels, "describe") else {}
        self.about = {"peer": "subsalt", "version": subsalt.__version__, "variant": variant, **facts}
        self.about["points"] = self.prop.point_count
        self.about["model_storage"] = getattr(self.prop.problem, "model_storage", "f32")

    def fill(self) -> None:
        """Load the start field into all time levels; the memory of the layer is zero."""
        self._load(earth.start_field(self.case, self.pad))

    def _load(self, start: np.ndarray) -> None:
        self.state.clear()
        layout = self.prop.layout
        padded = layout.pad(start.reshape(layout.shape3), np.float32)
        for a in (*self.state.prev, *self.state.curr):
            self.prop.kernels.copy(a, padded)

    def threads(self, count: int) -> int:
        """Compute with so many threads from here on, and choose the cut of their passes."""
        cpu.set_threads(count)
        cpu.settle(self.prop.problem, self.state)
        return count

    def check(self, steps: int, out: str) -> float:
        """Run a point source, or against a GPU peer a smooth ball, from rest and save the fields."""
        case = self.case
        if case.kind == "gpu":
            self._load(earth.ball(case, self.pad))
            self.prop.advance(self.state, steps)
            return self.save(out)
        self.state.clear()
        at = [(i - case.layer) * case.spacing for i in case.source]
        position = np.array([at if case.ndim == 3 else [at[0], 0.0, at[1]]])
        samples = earth.wavelet(case, steps) * case.spacing**case.ndim
        self.prop.advance(self.state, steps, sources=[self.prop.source(position, samples[None])])
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps: wall clock of the call a user makes."""
        start = time.perf_counter()
        self.prop.advance(self.state, steps)
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the present time level of every field; return the largest absolute value."""
        layout = self.prop.layout
        shape = self.prop.comp_grid.shape
        return save_fields(out, [layout.view(np.asarray(a)).reshape(shape) for a in self.state.curr])


if __name__ == "__main__":
    serve(SubsaltSolver)
