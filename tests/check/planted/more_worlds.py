"""Small surveys of the kinds that `worlds` has not: hills, wells, bent lines, rolling spreads, fine and wide ones."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from planted.worlds import World, _line_tops, _modelled, layers, streamer, streamer_geometry
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Grid


def flat(n, x, z):
    """Return positions (n, 3) on the line at x and z, broadcast."""
    return np.stack([np.broadcast_to(x, n), np.zeros(n), np.broadcast_to(z, n)], axis=-1).astype(float)


@lru_cache
def deep_towed() -> World:
    """Return five shots under a free surface, the gun at 10 m and the cable at 20 m: ghosts within the band."""
    base = streamer()
    src, rcv = streamer_geometry(5)
    src[:, 2], rcv[..., 2] = 10.0, 20.0
    return _modelled("deep-towed", base.grid, base.model, src, rcv, base.time, base.f0, free_surface=True)


def hills(x):
    """Return the depth of the ground below the highest point that the model holds, m."""
    return 60.0 + 30.0 * np.sin(x / 350.0) - 0.01 * x


@lru_cache
def topography() -> World:
    """Return a land line over hills: stations 10 m below the ground, rock above it as far as the model goes."""
    grid = Grid((251, 91), (10.0, 10.0))
    tops = (lambda x: hills(x) + 70.0, lambda x: 340.0 + 0.08 * x)
    vp = layers(grid, tops, (1400.0, 1900.0, 2800.0))
    sx, gx = 250.0 + 250.0 * np.arange(9), 40.0 + 25.0 * np.arange(96)
    src = flat(9, sx, hills(sx) + 10.0)
    rcv = np.broadcast_to(flat(96, gx, hills(gx)), (9, 96, 3))
    return _modelled("topography", grid, {"vp": vp}, src, rcv, TimeAxis(401, 0.004), 11.0)


@lru_cache
def deep_nodes() -> World:
    """Return five nodes 240 m deep under 21 shots: distances are not horizontal."""
    grid = Grid((221, 91), (10.0, 10.0))
    vp = layers(
        grid,
        (lambda x: 400.0 + 0.06 * x, lambda x: 590.0 + 0.05 * x),
        (1750.0, 2150.0, 2700.0),
        lambda x: 240.0 + 0 * x,
    )
    sx = 200.0 + 90.0 * np.arange(21)
    rcv = np.broadcast_to(flat(5, 400.0 + 350.0 * np.arange(5), 240.0), (21, 5, 3))
    return _modelled("deep-nodes", grid, {"vp": vp}, flat(21, sx, 6.0), rcv, TimeAxis(351, 0.004), 12.0)


@lru_cache
def sparse_nodes() -> World:
    """Return three nodes 900 m apart under 21 shots."""
    grid = streamer().grid
    vp = layers(grid, _line_tops(), (1750.0, 2150.0, 2700.0), lambda x: 150.0 + 0 * x)
    rcv = np.broadcast_to(flat(3, 400.0 + 900.0 * np.arange(3), 150.0), (21, 3, 3))
    return _modelled(
        "sparse-nodes",
        grid,
        {"vp": vp},
        flat(21, 300.0 + 100.0 * np.arange(21), 6.0),
        rcv,
        TimeAxis(351, 0.004),
        12.0,
    )


@lru_cache
def vsp() -> World:
    """Return four shots into 61 levels of a vertical well."""
    grid = Grid((161, 101), (10.0, 10.0))
    vp = layers(grid, (lambda x: 300.0 + 0.08 * x, lambda x: 620.0 - 0.05 * x), (1800.0, 2300.0, 2900.0))
    rcv = np.broadcast_to(flat(61, 800.0, 100.0 + 10.0 * np.arange(61)), (4, 61, 3))
    return _modelled(
        "vsp",
        grid,
        {"vp": vp},
        flat(4, [350.0, 600.0, 1000.0, 1250.0], 10.0),
        rcv,
        TimeAxis(301, 0.004),
        12.0,
    )


@lru_cache
def rolling() -> World:
    """Return a land line whose split spread of 61 receivers moves along with the shots."""
    grid = Grid((281, 81), (10.0, 10.0))
    vp = layers(grid, (lambda x: 60.0 + 0.02 * x, lambda x: 300.0 + 0.08 * x), (1300.0, 1900.0, 2800.0))
    sx = 800.0 + 150.0 * np.arange(8)
    rcv = np.stack([flat(61, x + 25.0 * (np.arange(61) - 30.0) + 12.5, 10.0) for x in sx])
    return _modelled("rolling", grid, {"vp": vp}, flat(8, sx, 10.0), rcv, TimeAxis(351, 0.004), 11.0)


@lru_cache
def fine() -> World:
    """Return a survey of shallow water at 500 Hz in cells of 0.25 m: five shots, 48 channels 1 m apart."""
    grid = Grid((321, 101), (0.25, 0.25))
    vp = layers(
        grid,
        (lambda x: 12.0 + 0.03 * x, lambda x: 17.0 + 0.05 * x),
        (1600.0, 1750.0, 2000.0),
        lambda x: 6.0 + 0 * x,
    )
    sx = 54.0 + 5.0 * np.arange(5)
    rcv = np.stack([flat(48, x - 3.0 - 1.0 * np.arange(48), 0.5) for x in sx])
    return _modelled("fine", grid, {"vp": vp}, flat(5, sx, 0.5), rcv, TimeAxis(501, 0.0001), 500.0)


@lru_cache
def wide() -> World:
    """Return four shots with offsets to 12 km, at 3 Hz."""
    grid = Grid((311, 81), (50.0, 50.0))
    tops = (lambda x: 1500.0 + 0.02 * x, lambda x: 2600.0 + 0.03 * x)
    vp = layers(grid, tops, (1900.0, 2400.0, 3200.0), lambda x: 400.0 + 0 * x)
    sx = 13_000.0 + 500.0 * np.arange(4)
    rcv = np.stack([flat(120, x - 150.0 - 100.0 * np.arange(120), 10.0) for x in sx])
    return _modelled("wide", grid, {"vp": vp}, flat(4, sx, 10.0), rcv, TimeAxis(1001, 0.009), 3.0)


@lru_cache
def level() -> World:
    """Return the marine line over level layers, whose traces depend on the offset alone."""
    base = streamer()
    vp = layers(
        base.grid,
        (lambda x: 340.0 + 0 * x, lambda x: 560.0 + 0 * x),
        (1750.0, 2150.0, 2700.0),
        lambda x: 120.0 + 0 * x,
    )
    return _modelled("level", base.grid, {"vp": vp}, *streamer_geometry(9), base.time, base.f0)


def bent(world: World, radius: float = 4000.0) -> World:
    """Return a line over level layers on an arc of a circle: chords of 1.1 km are 0.3 per cent shorter than arcs."""
    middle = np.mean([s.src[0] for s in world.shots])

    def curved(p):
        angle = (p[..., 0] - middle) / radius
        return np.stack([middle + radius * np.sin(angle), radius * (1 - np.cos(angle)), p[..., 2]], axis=-1)

    shots = tuple(replace(s, src=curved(s.src), rcv=curved(s.rcv)) for s in world.shots)
    return replace(world, shots=shots)


def cropped(world: World, x: slice, z: slice = slice(None)) -> World:
    """Return a 2-D world on a part of its model."""
    model = {n: np.ascontiguousarray(v[x, z]) for n, v in world.model.items()}
    first = float(world.grid.axis(0)[x][0]), float(world.grid.axis(1)[z][0])
    shape = next(iter(model.values())).shape
    return replace(world, model=model, grid=Grid(shape, world.grid.spacing, first))


def swelled(world: World, part: float = 0.2, corner: float = 4.0) -> World:
    """Return a world in swell: noise below `corner` Hz, of `part` of the rms of each record."""
    rng = np.random.default_rng(11)
    f = np.fft.rfftfreq(world.time.nt, world.time.dt)
    low = (f > 0) * np.exp(-((f / corner) ** 4))
    shots = []
    for s in world.shots:
        noise = np.fft.irfft(
            np.fft.rfft(rng.standard_normal(s.data.shape), axis=1) * low, world.time.nt, axis=1
        )
        noise *= part * np.sqrt(np.mean(s.data.astype(float) ** 2)) / np.sqrt(np.mean(noise**2))
        shots.append(replace(s, data=(s.data + noise).astype(np.float32)))
    return replace(world, shots=tuple(shots))
