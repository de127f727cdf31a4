"""Tiny shots for the tests of schemes: every medium, 2-D and 3-D, and what changes the way a sample is made."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.rtm.engine import ShotImage, migrate_shot
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.propagation.options import GatherOptions, ImagingOptions, PropagationOptions

H = 10.0
RECORD = TimeAxis(50, 0.002, 0.0)
MEDIA = {
    "isotropic": ("vp",),
    "vti": ("vp", "epsilon", "delta"),
    "tti": ("vp", "epsilon", "delta", "theta", "phi"),
}
FLAT, VOLUME = (44, 31), (26, 13, 15)
#: medium, shape, propagation options, imaging options
CASES: dict[str, tuple[str, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "iso 2-D": ("isotropic", FLAT, {}, {"condition": "source-normalised"}),
    "vti 2-D": ("vti", FLAT, {}, {"condition": "source-normalised", "image_step": 4}),
    "tti 2-D": ("tti", FLAT, {}, {"condition": "source-normalised", "aperture": 120.0}),
    "iso 3-D": ("isotropic", VOLUME, {"model_storage": "u16"}, {"condition": "cross-correlation"}),
    "vti 3-D": ("vti", VOLUME, {"free_surface": True, "order": 4}, {"condition": "source-normalised"}),
    "tti 3-D": ("tti", VOLUME, {"order": 4}, {"condition": "source-normalised"}),
    "free surface": ("isotropic", FLAT, {"free_surface": True, "model_storage": "u16"}, {"image_step": 1}),
    "damping": ("vti", FLAT, {"boundary": "damping"}, {"condition": "source-normalised"}),
    "reference": (
        "vti",
        (20, 16),
        {"device": "reference", "dtype": "float64"},
        {"condition": "source-normalised", "image_step": 5},
    ),
}

#: the same with gathers; not for devices that have none
GATHERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "gathers, iso 2-D": ("isotropic", FLAT, {}, {"gathers": GatherOptions(max=70.0, every=5)}),
    "gathers, vti 2-D": (
        "vti",
        FLAT,
        {},
        {"aperture": 120.0, "filter": "laplacian", "gathers": GatherOptions(max=50.0, every=9)},
    ),
    "gathers, tti 3-D": (
        "tti",
        VOLUME,
        {"order": 4},
        {"condition": "cross-correlation", "gathers": GatherOptions(max=40.0, every=3, along="xy")},
    ),
    "gathers, reference": (
        "vti",
        (20, 16),
        {"device": "reference", "dtype": "float64"},
        {"image_step": 5, "gathers": GatherOptions(max=40.0, every=1)},
    ),
}

#: the same with a second wavefield of the receivers; not for GPUs
SECOND: dict[str, tuple[str, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "up-down, iso 2-D": ("isotropic", FLAT, {}, {"condition": "up-down"}),
    "up-down, tti 3-D": ("tti", VOLUME, {"order": 4}, {"condition": "up-down"}),
    "offset, vti 2-D": (
        "vti",
        FLAT,
        {},
        {"aperture": 120.0, "gathers": GatherOptions(kind="offset", max=300.0, step=50.0, every=9)},
    ),
    "offset, iso 3-D": (
        "isotropic",
        VOLUME,
        {"order": 4},
        {
            "condition": "cross-correlation",
            "gathers": GatherOptions(kind="offset", max=200.0, step=50.0, every=3),
        },
    ),
}

#: the same in fewer points, for the emulated device
SMALL: dict[str, tuple[str, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "small tti 3-D": ("tti", (18, 9, 11), {"order": 4, "layer": 4}, {"condition": "source-normalised"}),
}
EVERY = CASES | GATHERS | SECOND | SMALL


@cache
def setup_of(name: str, device: str = "auto") -> MigrationSetup:
    """Return what the shots of a case share; 5 does not divide the steps."""
    medium, shape, propagation, imaging = EVERY[name]
    rng = np.random.default_rng(3)
    given = {
        "vp": rng.uniform(1500, 2500, shape),
        "epsilon": rng.uniform(0.1, 0.2, shape),
        "delta": rng.uniform(0, 0.1, shape),
        "theta": rng.uniform(0, 1, shape),
        "phi": rng.uniform(0, 3, shape) if len(shape) == 3 else np.zeros(shape),
    }
    volumes = {k: given[k].astype(np.float32) for k in MEDIA[medium]}
    model = EarthModel(Grid(shape, (H,) * len(shape)), **volumes)
    options = PropagationOptions(**({"layer": 6, "device": device} | propagation))
    return with_gathers(
        MigrationSetup.build(
            model, ricker(25.0, 0.002), RECORD, options, ImagingOptions(**({"image_step": 3} | imaging))
        )
    )


def shot_of(name: str) -> Shot:
    """Return the shot of a case, without its traces."""
    shape = EVERY[name][1]
    x = np.arange(3.0, shape[0] - 4, 2.5)
    y = 6.0 if len(shape) == 3 else 0.0
    rcv = np.stack([x, np.full(len(x), y), np.full(len(x), 3.25)], axis=1) * H
    return Shot(7, np.array([0.4 * shape[0], y, 4.6]) * H, rcv)


def migrated(
    name: str,
    scheme: Scheme | None = None,
    scratch: Scratch | None = None,
    group: Comm | None = None,
    device: str = "auto",
    halved: bool = False,
) -> ShotImage:
    """Return the image of the shot of a case."""
    shot = shot_of(name)
    traces = np.random.default_rng(2).uniform(-1, 1, (len(shot.rcv), RECORD.nt)).astype(np.float32)
    return migrate_shot(
        setup_of(name, device), shot, traces, scheme=scheme, scratch=scratch, group=group, halved=halved
    )


def scheme_of(name: str, strategy: str, **more: Any) -> Scheme:
    """Return a scheme for the shot of a case."""
    setup = setup_of(name)
    return Scheme(strategy, setup.axis.nt - 1, setup.image_step, **more)  # type: ignore[arg-type]


def scratch_in(folder: Path, **more: Any) -> Scratch:
    """Return scratch in two folders."""
    return Scratch("run", [folder / "a", folder / "b"], **more)


def bits(image: ShotImage) -> dict[str, bytes]:
    """Return the sums of a shot as they are in memory."""
    lags = {} if image.lags is None else {"lags": image.lags.tobytes()}
    return {name: a.tobytes() for name, a in image.sums.items()} | lags
