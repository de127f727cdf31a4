"""Deepwave's side in 3-D on the CPU or a GPU: `deepwave.scalar` and `deepwave.acoustic_vti`, order 8, its PML of 20.

``deepwave_volume_worker.py CASE DEVICE``. Its axis of symmetry is the first one: arrays go (z, x, y). A round continues
from the wavefields of the round before; its time is the wall clock of the call, until the device is done.
"""

from __future__ import annotations

import time
from typing import Any

import deepwave
import earth
import numpy as np
import torch
from cases import parse
from protocol import save_fields, serve

PML_CELLS = 20


def turned(a: np.ndarray) -> np.ndarray:
    """Return (x, y, z) as (z, x, y)."""
    return np.ascontiguousarray(np.moveaxis(a, 2, 0))


class DeepwaveVolumeSolver:
    """Model and wavefields of one case, as tensors on the device."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        self.device = torch.device(variant)
        self.vti = case.medium == "vti"
        vp = turned(earth.velocity(case, 0))
        if self.vti:
            eps, delta = (turned(a) for a in earth.thomsen(case, 0))
            c33 = vp.astype(np.float64) ** 2
            models = [c33 * (1 + 2 * eps), c33 * np.sqrt(1 + 2 * delta), c33, np.ones_like(c33)]
            self.models = [self._here(m) for m in models]
        else:
            self.models = [self._here(vp)]
        self.state: Any = None
        self.about = {
            "peer": "Deepwave",
            "version": deepwave.__version__,
            "torch": torch.__version__,
            "variant": variant,
            "threads": torch.get_num_threads(),
            "points": int(np.prod([n + 2 * PML_CELLS for n in case.interior])),
        }
        if self.device.type == "cuda":
            self.about["name"] = torch.cuda.get_device_name(self.device)

    def _here(self, a: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32)).to(self.device)

    def _advance(self, **more: Any) -> None:
        """Advance and keep the wavefields, until the device is done."""
        solve = deepwave.acoustic_vti if self.vti else deepwave.scalar
        with torch.no_grad():
            self.state = solve(
                *self.models,
                self.case.spacing,
                earth.time_step(self.case),
                accuracy=self.case.order,
                pml_width=PML_CELLS,
                pml_freq=earth.peak_frequency(self.case),
                check_output_finite=False,
                initial_state=self.state,
                **({} if self.vti else {"courant_number": 0.75}),
                **({"origin": [0, 0, 0]} if isinstance(self.state, dict) else {}),
                **more,
            )
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def fill(self) -> None:
        """Load the start field into the wavefields; the memory of the layer is zero, and so are particle velocities."""
        self._load(earth.start_field(self.case, PML_CELLS))

    def _load(self, field: np.ndarray) -> None:
        start = self._here(turned(field))[None]
        names = ("sigma_v_0", "sigma_h_0") if self.vti else ("wavefield_0", "wavefield_m1")
        self.state = {name: start.clone() for name in names}

    def check(self, steps: int, out: str) -> float:
        """Run a smooth ball from rest and save the fields: p and q are the stresses across and along the axis."""
        self._load(earth.ball(self.case, PML_CELLS))
        self._advance(nt=steps)
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps."""
        start = time.perf_counter()
        self._advance(nt=steps)
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the present level of every field, layer included; return the largest absolute value."""
        state = self.state
        fields = [state.sigma_h_0, state.sigma_v_0] if self.vti else [state.wavefield_0]
        return save_fields(out, [np.moveaxis(f[0].cpu().numpy(), 0, 2) for f in fields])


if __name__ == "__main__":
    serve(DeepwaveVolumeSolver)
