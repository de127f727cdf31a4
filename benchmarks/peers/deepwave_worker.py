"""Deepwave's side in 2-D: `deepwave.scalar`, order 8, its own PML of 20 cells around the interior.

``deepwave_worker.py CASE VARIANT``; ``as-is`` leaves denormal numbers to the processor, ``flushed`` asks PyTorch to
flush them. A round continues from the wavefield of the round before, so that no round runs on zeros; its time is the
wall clock of the call. Nothing is recorded and no gradient is kept.
"""

from __future__ import annotations

import time
from typing import Any

import deepwave
import earth
import numpy as np
import torch
from cases import parse
from protocol import serve

PML_CELLS = 20


class DeepwaveSolver:
    """Model and wavefields of one case, as tensors."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = parse(name)
        if variant == "flushed":
            torch.set_flush_denormal(True)
        self.v = torch.from_numpy(earth.velocity(self.case, 0))
        self.state: Any = None
        self.about = {
            "peer": "Deepwave",
            "version": deepwave.__version__,
            "torch": torch.__version__,
            "variant": variant,
            "threads": torch.get_num_threads(),
            "points": int(np.prod([n + 2 * PML_CELLS for n in self.case.interior])),
        }

    def _scalar(self, **more: object) -> None:
        """Advance and keep the wavefields; the courant number only keeps Deepwave from halving our time step."""
        with torch.no_grad():
            self.state = deepwave.scalar(
                self.v,
                self.case.spacing,
                earth.time_step(self.case),
                accuracy=self.case.order,
                pml_width=PML_CELLS,
                pml_freq=earth.peak_frequency(self.case),
                courant_number=0.75,
                check_output_finite=False,
                initial_state=self.state,
                **({"origin": [0, 0]} if isinstance(self.state, dict) else {}),
                **more,
            )

    def fill(self) -> None:
        """Load the start field into both time levels; the memory of the layer is zero."""
        start = torch.from_numpy(earth.start_field(self.case, PML_CELLS))[None]
        self.state = {"wavefield_0": start, "wavefield_m1": start.clone()}

    def check(self, steps: int, out: str) -> float:
        """Run a point source from rest and save the interior.

        Deepwave subtracts v^2 dt^2 times the amplitude where the equation of `docs/theory/rtm.md` adds it.
        """
        self.state = None
        amplitudes = torch.from_numpy(-earth.wavelet(self.case, steps).astype(np.float32))[None, None]
        at = [i - self.case.layer for i in self.case.source]
        self._scalar(
            source_amplitudes=amplitudes,
            source_locations=torch.tensor([[at]], dtype=torch.long),
        )
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps."""
        start = time.perf_counter()
        self._scalar(nt=steps)
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the present time level, layer included; return the largest absolute value."""
        now = self.state.wavefield_0.numpy()
        np.save(out, now)
        return float(np.abs(now).max())


if __name__ == "__main__":
    serve(DeepwaveSolver)
