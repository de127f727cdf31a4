"""Deepwave's side of a least-squares migration: `deepwave.scalar_born`, order 8, its PML of 20 cells, and torch.

``deepwave_lsrtm.py CASE VARIANT``: ``adam`` or ``lbfgs``, with ``-every-4`` appended where the gradient is summed at
every fourth time step. All shots go through one call, which shares them among the threads; wavelet and records are
corrected for time dispersion by Deepwave's own functions. Of what an optimiser has evaluated, or ends at, the best
counts.
"""

from __future__ import annotations

import time
from typing import Any

import deepwave
import lsrtm_case
import numpy as np
import torch
from cases import parse
from deepwave import time_dispersion
from protocol import serve

PML_CELLS = 20
#: length of a step of Adam, over the largest perturbation: 0.05 was the best of 0.05 and 0.1 on a larger box, 0.1 of
#: 0.0125, 0.025, 0.05 and 0.1 on a smaller one
LEARNING_RATE = 0.07


class EnoughGradientsError(Exception):
    """The gradients of a round are used up."""


class DeepwaveInversion:
    """Model, survey and data of a case, as tensors."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        self.optimiser, _, stride = variant.partition("-every-")
        self.stride = int(stride or 1)
        torch.set_flush_denormal(True)
        sources, receivers = (torch.from_numpy(at) for at in lsrtm_case.survey(case))
        self.sources = sources[:, None]
        self.receivers = receivers[None].repeat(len(sources), 1, 1)
        self.v = torch.full(case.interior, lsrtm_case.V)
        # it subtracts v^2 dt^2 times the amplitude at a node, where a point source has its strength per area
        source = torch.from_numpy(-lsrtm_case.wavelet(case) / case.spacing**2)
        source = time_dispersion.correct_source(source, lsrtm_case.DT).to(torch.float32)
        self.amplitudes = source[None, None].repeat(len(sources), 1, 1)
        self.mask = torch.from_numpy(lsrtm_case.mask(case).astype(np.float32))
        # the unknown is dv over the largest one, so that optimisers meet numbers about 1
        self.scale = float(np.abs(self._dv(lsrtm_case.perturbation(case))).max())
        self.observed = torch.empty(0)
        self.best = (float("inf"), torch.zeros(case.interior))
        self.done = (0, 0)
        self.about = {
            "peer": "Deepwave",
            "version": deepwave.__version__,
            "torch": torch.__version__,
            "variant": variant,
            "threads": torch.get_num_threads(),
            "points": lsrtm_case.shots(case) * 3 * int(np.prod(case.interior)) * lsrtm_case.samples(case),
        }

    @staticmethod
    def _dv(dm: np.ndarray) -> np.ndarray:
        """Return the perturbation of the velocity that is, in first order, one of 1 / v^2."""
        return -0.5 * lsrtm_case.V**3 * dm

    def data(self, path: str) -> None:
        """Load the data (shots, receivers, samples)."""
        self.observed = torch.from_numpy(np.load(path))

    def check(self, out: str) -> float:
        """Save what the operator makes of the perturbation; return its largest absolute value."""
        dv = torch.from_numpy(self._dv(lsrtm_case.perturbation(self.case)).astype(np.float32))
        with torch.no_grad():
            made = self._modelled(dv / self.scale).numpy()
        np.save(out, made)
        return float(np.abs(made).max())

    def _modelled(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scattered records of the unknown; the courant number only keeps Deepwave from halving the step."""
        made = deepwave.scalar_born(
            self.v,
            self.case.spacing,
            lsrtm_case.DT,
            dv=self.scale * self.mask * x,
            source_amplitudes=self.amplitudes,
            source_locations=self.sources,
            sc_receiver_locations=self.receivers,
            accuracy=self.case.order,
            pml_width=PML_CELLS,
            pml_freq=lsrtm_case.F0,
            courant_number=0.75,
            model_gradient_sampling_interval=self.stride,
            check_output_finite=False,
        )
        return time_dispersion.correct_receivers(made[-1], lsrtm_case.DT)

    def round(self) -> float:
        """Invert from zero with as many gradients as the case has; return the seconds of it."""
        begin = time.perf_counter()
        size = self.observed.double().square().sum().float()
        x = torch.zeros(self.case.interior, requires_grad=True)
        self.best, self.done = (float("inf"), x.detach().clone()), (0, 0)

        def closure() -> torch.Tensor:
            if self.done[1] == self.case.steps:
                raise EnoughGradientsError
            chosen.zero_grad()
            loss = (self._modelled(x) - self.observed).square().sum() / size
            loss.backward()
            self.done = (self.done[0] + 1, self.done[1] + 1)
            if loss.item() < self.best[0]:
                self.best = (loss.item(), x.detach().clone())
            return loss

        chosen: torch.optim.Optimizer
        if self.optimiser == "adam":
            chosen = torch.optim.Adam([x], lr=LEARNING_RATE)
            for _ in range(self.case.steps):
                chosen.step(closure)
        else:
            chosen = torch.optim.LBFGS(
                [x],
                max_iter=self.case.steps,
                tolerance_grad=0.0,
                tolerance_change=0.0,
                line_search_fn="strong_wolfe",
            )
            try:
                while True:
                    chosen.step(closure)
            except EnoughGradientsError:
                pass
        self.last = x.detach()
        return time.perf_counter() - begin

    def misfit(self) -> dict[str, Any]:
        """Return the misfit of the last round's best model by one more modelling, and how often what was done in it."""
        with torch.no_grad():
            ends = lsrtm_case.relative(
                (self._modelled(self.last) - self.observed).numpy(), self.observed.numpy()
            )
            best = lsrtm_case.relative(
                (self._modelled(self.best[1]) - self.observed).numpy(), self.observed.numpy()
            )
        return {"misfit": min(ends, best), "modelled": self.done[0], "gradients": self.done[1]}


if __name__ == "__main__":
    serve(DeepwaveInversion)
