"""Small shots to migrate and to model on a group of ranks, compared with one process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.rtm.engine import migrate_shot
from subsalt.methods.rtm.migrate import share_of
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.propagation.blocks import Decomp
from subsalt.propagation.options import ImagingOptions, PropagationOptions

H = 10.0
RECORD = TimeAxis(60, 0.002, 0.0)
MEDIA = {
    "isotropic": ("vp",),
    "vti": ("vp", "epsilon", "delta"),
    "tti": ("vp", "epsilon", "delta", "theta", "phi"),
}
#: medium, shape, aperture (m), layer, receivers along x (cells), source (cells)
CASES = {
    # a window smaller than the model, tapered at both ends; receivers away from most slabs
    "2-D iso, aperture": ("isotropic", (90, 41), 150.0, 8, np.arange(30, 46, 1.5), 38.3),
    "2-D vti, one receiver": ("vti", (60, 41), None, 8, np.array([31.4]), 30.0),
    # the layer is so wide that the first and the last rank own nothing of the window
    "2-D tti, wide layer": ("tti", (24, 41), None, 30, np.arange(6, 18, 0.7), 11.9),
    "3-D vti, receivers at one end": ("vti", (44, 14, 17), None, 5, np.arange(4, 12, 1.0), 20.2),
    "3-D iso, aperture": ("isotropic", (60, 13, 15), 120.0, 5, np.arange(20, 40, 2.3), 30.5),
}


def model_of(name: str) -> EarthModel:
    medium, shape, *_ = CASES[name]
    rng = np.random.default_rng(11)
    given = {
        "vp": rng.uniform(1500, 2500, shape),
        "epsilon": rng.uniform(0.1, 0.2, shape),
        "delta": rng.uniform(0, 0.1, shape),
        "theta": rng.uniform(0, 1, shape),
        "phi": np.zeros(shape),
    }
    volumes = {k: given[k].astype(np.float32) for k in MEDIA[medium]}
    return EarthModel(Grid(shape, (H,) * len(shape)), **volumes)


def shot_of(name: str) -> Shot:
    _, shape, _, _, x, src = CASES[name]
    y = 6.0 if len(shape) == 3 else 0.0
    rcv = np.stack([x, np.full(len(x), y) + (0.3 * np.sin(x) if y else 0), np.full(len(x), 5.25)], axis=1) * H
    return Shot(7, np.array([src, y, 6.6]) * H, rcv)


def traces_of(name: str) -> NDArray[np.float32]:
    n = len(CASES[name][4])
    return np.random.default_rng(2).uniform(-1, 1, (n, RECORD.nt)).astype(np.float32)


def answer(name: str, group: Comm | None, decomp: Decomp = "slabs") -> dict[str, NDArray]:
    """Return what a rank has of both: planes of the sums over the image, and traces."""
    aperture, layer = CASES[name][2:4]
    model, shot, traces = model_of(name), shot_of(name), traces_of(name)
    options = PropagationOptions(layer=layer, decomp=decomp)
    wavelet = ricker(25.0, 0.002)
    imaging = ImagingOptions(aperture=aperture, condition="source-normalised")
    setup = MigrationSetup.build(model, wavelet, RECORD, options, imaging)
    share = share_of(setup, shot, group)
    part = migrate_shot(setup, shot, traces[share.rows], rows=share.rows, group=group)
    assert part.box == (share.domain.image_planes if len(share.domain.rows) > 1 else share.image_box)
    first = part.box.lo[0]
    out = {f"{n} plane {first + i}": plane for n, a in part.sums.items() for i, plane in enumerate(a)}
    # all the traces instead of those of the share give the same
    again = migrate_shot(setup, shot, traces, group=group)
    assert all(np.array_equal(a, again.sums[n]) for n, a in part.sums.items())
    modelled = model_shot(ModellingSetup.build(model, wavelet, RECORD, options, aperture), shot, group=group)
    out |= {f"trace {row}": t for row, t in zip(modelled.rows, modelled.traces, strict=True)}
    assert set(modelled.rows) <= set(share.rows)
    # what all ranks together computed is said by one
    for what, steps in (("migrated", part.grid_point_steps), ("modelled", modelled.grid_point_steps)):
        total = steps if group is None else group.sum(steps)
        if group is None or group.is_root:
            out[f"point steps {what}"] = np.array([total])
    return out
