"""Small surveys with their earth models, modelled once in a process: first breaks and spectra are real."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from once import once
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.propagation.options import PropagationOptions

#: noise of the recorder, relative to the largest sample of a shot
NOISE = 1e-5


@dataclass(frozen=True)
class World:
    """Shots with traces over an earth model; positions x, y, z in m, z positive down, and tilts in degrees."""

    name: str
    grid: Grid
    model: dict[str, np.ndarray]
    shots: tuple[Shot, ...]
    time: TimeAxis
    f0: float
    propagation: dict[str, object] = field(default_factory=dict)

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return self.grid.ndim


def _modelled(name, grid, model, src, rcv, time, f0, **options):
    """Return the world of sources (ns, 3) and receivers (ns, nr, 3) with the traces that the model gives."""
    volumes = {n: np.asarray(v, np.float32) for n, v in model.items()}
    shots = once(f"world-{name}", lambda: _shots(grid, volumes, src, rcv, time, f0, options))
    return World(name, grid, volumes, tuple(shots), time, f0, options)


def _shots(grid, volumes, src, rcv, time, f0, options):
    """Return the shots with the traces that the model gives."""
    radians = volumes | {n: np.deg2rad(volumes[n]) for n in ("theta", "phi") if n in volumes}
    propagation = PropagationOptions(threads=1, device="cpu", **options)
    earth = EarthModel(grid, **radians)
    wave = ricker(f0, min(0.95 * earth.stable_dt(propagation.order), 0.05 / f0))
    setup = ModellingSetup.build(earth, wave, time, propagation)
    rng = np.random.default_rng(17)
    shots = []
    for i, (s, r) in enumerate(zip(src, rcv, strict=True)):
        shot = Shot(101 + i, np.asarray(s, float), np.asarray(r, float))
        out = model_shot(setup, shot)
        data = np.empty((len(r), time.nt), np.float32)
        data[out.rows] = out.traces
        data += (NOISE * np.abs(data).max() * rng.standard_normal(data.shape)).astype(np.float32)
        shot.data = data
        shots.append(shot)
    return shots


def layers(grid: Grid, tops, values, water=None, sea=1500.0):
    """Return velocities of layers that begin at `tops`, functions of the horizontal axes; water above `water`."""
    axes = np.meshgrid(*(grid.axis(i) for i in range(grid.ndim)), indexing="ij")
    z, flat = axes[-1], axes[:-1]
    v = np.full(grid.shape, float(values[0]))
    for top, value in zip(tops, values[1:], strict=True):
        v = np.where(z >= top(*flat), value + 0.25 * (z - top(*flat)), v)
    return v if water is None else np.where(z < water(*flat), sea, v)


def sea_bed(x):
    """Return the depth of the sea bed of the 2-D line, m."""
    return 120.0 + 25.0 * np.sin(x / 400.0)


def _line_tops():
    return (
        lambda x: 280.0 + 0.06 * x,
        lambda x: 470.0 + 0.10 * x - 40.0 * np.exp(-(((x - 1500) / 300) ** 2)),
    )


def streamer_geometry(n=9, channels=81):
    """Return sources (n, 3) at 6 m and their streamers (n, channels, 3) at 8 m, towed along x."""
    sx = 1250.0 + 130.0 * np.arange(n)
    src = np.stack([sx, 0 * sx, np.full(n, 6.0)], axis=1)
    offset = 100.0 + 12.5 * np.arange(channels)
    rcv = np.stack([sx[:, None] - offset, np.zeros((n, channels)), np.full((n, channels), 8.0)], axis=2)
    return src, rcv


@lru_cache
def streamer() -> World:
    """Return a 2-D marine line: 9 shots, 81 channels behind each, water over dipping layers."""
    grid = Grid((261, 86), (10.0, 10.0))
    vp = layers(grid, _line_tops(), (1750.0, 2150.0, 2700.0), sea_bed)
    return _modelled("streamer", grid, {"vp": vp}, *streamer_geometry(), TimeAxis(281, 0.005), 12.0)


@lru_cache
def streamer_tti() -> World:
    """Return the line over a fold in a tilted medium: anisotropic below the sea bed, the axis normal to the layers."""
    grid = Grid((261, 86), (10.0, 10.0))

    def fold(x):
        return 330.0 + 130.0 * np.sin(x / 320.0)

    vp = layers(grid, (fold, lambda x: fold(x) + 220.0), (1750.0, 2150.0, 2700.0), sea_bed)
    x, z = grid.axis(0)[:, None], grid.axis(1)[None, :]
    rock = z >= sea_bed(x)
    dip = np.degrees(np.arctan(130.0 / 320.0 * np.cos(x / 320.0)))
    # layers that go down along x have their normal, downward, tilted back
    model = {
        "vp": vp,
        "epsilon": np.where(rock, 0.16, 0.0),
        "delta": np.where(rock, 0.08, 0.0),
        "theta": np.where(rock, -dip, 0.0),
    }
    return _modelled("tti", grid, model, *streamer_geometry(5), TimeAxis(351, 0.004), 12.0)


@lru_cache
def streamer_vti() -> World:
    """Return the line in a medium with a vertical axis."""
    tilted = streamer_tti()
    model = {n: v for n, v in tilted.model.items() if n != "theta"}
    return _modelled("vti", tilted.grid, model, *streamer_geometry(5), TimeAxis(351, 0.004), 12.0)


@lru_cache
def split_spread() -> World:
    """Return a 2-D land line: 9 shots in a spread of 96 receivers that stays, weathered rock over layers."""
    grid = Grid((251, 81), (10.0, 10.0))
    tops = (lambda x: 60.0 + 0.02 * x, lambda x: 300.0 + 0.08 * x)
    vp = layers(grid, tops, (1300.0, 1900.0, 2800.0))
    sx = 250.0 + 250.0 * np.arange(9)
    src = np.stack([sx, 0 * sx, np.full(9, 10.0)], axis=1)
    gx = 40.0 + 25.0 * np.arange(96)
    rcv = np.broadcast_to(np.stack([gx, 0 * gx, np.full(96, 10.0)], axis=1), (9, 96, 3))
    return _modelled("spread", grid, {"vp": vp}, src, rcv, TimeAxis(401, 0.004), 11.0)


@lru_cache
def foothills() -> World:
    """Return a land line over folds and thrusts: fast rock at the top, no layer that is level."""
    grid = Grid((251, 101), (15.0, 10.0))
    x, z = grid.axis(0)[:, None], grid.axis(1)[None, :]
    fold = 120.0 * np.sin(x / 260.0) + 0.35 * np.abs(x - 1800.0) * (x > 1800.0)
    vp = np.full(grid.shape, 3600.0)
    for top, value in ((150.0, 4300.0), (330.0, 3900.0), (520.0, 5100.0), (760.0, 5700.0)):
        vp = np.where(z >= top + fold, value, vp)
    # a thrust brings fast rock over slow rock
    vp = np.where((z > 0.45 * (x - 300.0)) & (z < 0.45 * (x - 300.0) + 140.0) & (x < 1700.0), 5300.0, vp)
    sx = 300.0 + 350.0 * np.arange(9)
    src = np.stack([sx, 0 * sx, np.full(9, 10.0)], axis=1)
    gx = 60.0 + 37.5 * np.arange(97)
    rcv = np.broadcast_to(np.stack([gx, 0 * gx, np.full(97, 10.0)], axis=1), (9, 97, 3))
    return _modelled("foothills", grid, {"vp": vp}, src, rcv, TimeAxis(301, 0.004), 20.0)


@lru_cache
def cables() -> World:
    """Return a sail line in 3-D: 7 shots, four cables of 24 channels, 100 m apart."""
    grid = Grid((69, 33, 25), (25.0, 25.0, 25.0), (0.0, -400.0, 0.0))
    tops = (lambda x, y: 260.0 + 0.05 * x + 0.1 * y, lambda x, y: 420.0 + 0.04 * x)
    vp = layers(grid, tops, (1750.0, 2150.0, 2700.0), lambda x, y: 125.0 + 0 * x)
    sx = 1000.0 + 100.0 * np.arange(7)
    src = np.stack([sx, 0 * sx, np.full(7, 6.0)], axis=1)
    offset, side = (
        a.reshape(-1) for a in np.meshgrid(100.0 + 35.0 * np.arange(24), [-150.0, -50.0, 50.0, 150.0])
    )
    rcv = np.stack([sx[:, None] - offset, np.broadcast_to(side, (7, 96)), np.full((7, 96), 8.0)], axis=2)
    return _modelled("cables", grid, {"vp": vp}, src, rcv, TimeAxis(251, 0.004), 5.0)


@lru_cache
def patch(every: int = 1) -> World:
    """Return a 3-D land patch: 9 shots, or every so-many-th of them, in 10 lines of 12 receivers that stay."""
    grid = Grid((53, 47, 33), (25.0, 25.0, 25.0))
    tops = (lambda x, y: 250.0 + 0.05 * x + 0.08 * y, lambda x, y: 480.0 + 0.08 * x - 0.05 * y)
    vp = layers(grid, tops, (1700.0, 2200.0, 2900.0))
    sx, sy = (a.reshape(-1) for a in np.meshgrid([310.0, 640.0, 990.0], [280.0, 560.0, 850.0], indexing="ij"))
    src = np.stack([sx, sy, np.full(9, 25.0)], axis=1)[::every]
    gx, gy = (
        a.reshape(-1)
        for a in np.meshgrid(60.0 + 100.0 * np.arange(12), 50.0 + 110.0 * np.arange(10), indexing="ij")
    )
    rcv = np.broadcast_to(np.stack([gx, gy, np.full(120, 25.0)], axis=1), (len(src), 120, 3))
    return _modelled(
        "patch" if every == 1 else f"patch-{every}", grid, {"vp": vp}, src, rcv, TimeAxis(301, 0.004), 6.0
    )


@lru_cache
def nodes() -> World:
    """Return a line of 7 nodes on a flat sea bed under 61 shots each: receivers are few, shots many."""
    base = streamer()
    grid = base.grid
    vp = layers(grid, _line_tops(), (1750.0, 2150.0, 2700.0), lambda x: 150.0 + 0 * x)
    sx = 400.0 + 60.0 * np.arange(31)
    src = np.stack([sx, 0 * sx, np.full(31, 6.0)], axis=1)
    gx = 500.0 + 250.0 * np.arange(7)
    rcv = np.broadcast_to(np.stack([gx, 0 * gx, np.full(7, 150.0)], axis=1), (31, 7, 3))
    return _modelled("nodes", grid, {"vp": vp}, src, rcv, TimeAxis(351, 0.004), 12.0)


@lru_cache
def sea_surface() -> World:
    """Return five shots of the line under a free surface: ghosts and multiples."""
    base = streamer()
    return _modelled(
        "ghosts", base.grid, base.model, *streamer_geometry(5), base.time, base.f0, free_surface=True
    )
