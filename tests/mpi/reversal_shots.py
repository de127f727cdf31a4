"""Shots of `shot_cases` migrated by reversal: planes of the sums by name, on one process or on a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from shot_cases import CASES as SHOTS
from shot_cases import RECORD, model_of, shot_of, traces_of

from subsalt.acquisition.wavelet import ricker
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.methods.rtm.conditions import SourceNormalised
from subsalt.methods.rtm.engine import receiver_samples
from subsalt.methods.rtm.reversal import image_by_reversal
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.sweeps import Shooting, ShotTask
from subsalt.parallel.comm import Comm
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator

#: one of every medium and dimension; in one the first and the last rank have nothing of the window
CASES = (
    "2-D iso, aperture",
    "2-D tti, wide layer",
    "3-D vti, receivers at one end",
)


def by_reversal(name: str, group: Comm | None, scratch: Scratch | None = None) -> dict[str, NDArray]:
    """Return the planes of the sums that this rank has, by name and plane of the model."""
    aperture, layer = SHOTS[name][2:4]
    shot = shot_of(name)
    setup = MigrationSetup.build(
        model_of(name),
        ricker(25.0, 0.002),
        RECORD,
        PropagationOptions(layer=layer),
        ImagingOptions(aperture=aperture, image_step=3),
    )
    points = np.concatenate([shot.src[None], shot.rcv])
    window, steps = setup.window(shot), setup.axis.nt - 1
    with Propagator(
        setup.model,
        setup.propagation,
        setup.axis.dt,
        window=window,
        points=points,
        taper_at=points,
        group=group,
    ) as prop:
        condition = SourceNormalised(prop.kernels, prop.problem, prop.interior)
        source = prop.source(shot.src[None], setup.signature[None])
        receivers = prop.source(shot.rcv, receiver_samples(setup, shot, traces_of(name)))
        scheme = Scheme("boundary", steps, 3, chunk=4, snapshots_on="disk" if scratch else "memory")
        shooting = Shooting(prop, source, receivers, condition, 3 * setup.axis.dt, group)
        image_by_reversal(shooting, ShotTask(scheme, shot.id, scratch))
        first = prop.image_box.lo[0]
    return {f"{n} plane {first + i}": p for n, a in condition.sums.items() for i, p in enumerate(a)}


def differences(planes: dict[str, NDArray], wanted: dict[str, NDArray]) -> list[str]:
    """Return the names of the planes that are not those wanted, bit for bit."""
    return [k for k, a in planes.items() if a.tobytes() != wanted[k].tobytes()]
