"""The misfit of one shot and its gradient with respect to velocity, by subsalt: `deepwave_gradient.py`, ported."""

import torch

import subsalt
import subsalt.torch

NX, NZ, DX, NT, DT, F0 = 70, 50, 10.0, 420, 0.001, 8.0

true = torch.full((NX, NZ), 2000.0)
true[:, 30:] = 2400.0
start = torch.full((NX, NZ), 2000.0)
signature, grid = subsalt.ricker(F0, DT), subsalt.Grid((NX, NZ), (DX, DX))
receivers = [(x * DX, 5 * DX) for x in range(10, 60, 10)]
survey = subsalt.Survey.from_arrays([(20 * DX, 5 * DX)], receivers, nt=NT, dt=DT)


def shot(vp):
    """Return the traces (1, receivers, samples)."""
    # Deepwave injects samples, not a density; the sign cancels in the misfit
    return DX * DX * subsalt.torch.forward(vp, grid, survey, signature, dt=DT, time_dispersion=False)


observed = shot(true)
vp = start.clone().requires_grad_()
loss = (shot(vp) - observed).square().sum()
loss.backward()
