"""The misfit of one shot and its gradient with respect to velocity, by Deepwave."""

import deepwave
import torch

NX, NZ, DX, NT, DT, F0 = 70, 50, 10.0, 420, 0.001, 8.0

true = torch.full((NX, NZ), 2000.0)
true[:, 30:] = 2400.0
start = torch.full((NX, NZ), 2000.0)
signature = deepwave.wavelets.ricker(F0, NT, DT, 1.5 / F0).reshape(1, 1, NT)
source = torch.tensor([[[20, 5]]])
receivers = torch.tensor([[[x, 5] for x in range(10, 60, 10)]])


def shot(vp):
    """Return the traces (1, receivers, samples)."""
    return deepwave.scalar(
        vp,
        DX,
        DT,
        source_amplitudes=signature,
        source_locations=source,
        receiver_locations=receivers,
        accuracy=8,
        pml_freq=F0,
    ).receiver_amplitudes


observed = shot(true)
vp = start.clone().requires_grad_()
loss = (shot(vp) - observed).square().sum()
loss.backward()
