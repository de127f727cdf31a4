"""The clean surveys by name: makers, and the codes that `check` rightly says of them.

A code stands beside a survey only where what it says is true of that survey and worth a line: traces marked as dead
are named, delays that are applied, feet that are converted. Anything else is a false alarm.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from planted import worlds
from planted.more_clean import MORE
from planted.surveys import Case, case, time_case
from planted.trace_files import Layout
from planted.worlds import World
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Frame, Grid


def _with_data(world: World, change, time: TimeAxis | None = None) -> World:
    """Return the world with other traces: ``change(shot, data)``."""
    shots = tuple(replace(s, data=np.asarray(change(s, s.data), np.float32)) for s in world.shots)
    return replace(world, shots=shots, time=time or world.time)


def _fewer(world: World, n: int) -> World:
    return replace(world, shots=world.shots[:n])


def _deeper(world: World, down: float) -> World:
    """Return the world with everything moved down by `down` m."""
    g = world.grid
    origin, lower = (*g.origin[:-1], g.origin[-1] + down), np.array([0.0, 0.0, down])
    shots = tuple(replace(s, src=s.src + lower, rcv=s.rcv + lower) for s in world.shots)
    return replace(world, grid=Grid(g.shape, g.spacing, origin), shots=shots)


def _mute(world: World) -> World:
    """Zero what arrives before and with the direct wave, as processing does."""
    t = world.time.values()

    def change(shot, data):
        line = shot.offset / 1500.0 + 0.18
        return data * np.clip((t[None] - line[:, None]) / 0.04, 0.0, 1.0)

    return _with_data(world, change)


def _noisy(world: World) -> World:
    rng = np.random.default_rng(3)
    return _with_data(world, lambda s, d: d + 0.02 * np.abs(d).max() * rng.standard_normal(d.shape))


def _gained(world: World) -> World:
    t = world.time.values()
    return _with_data(world, lambda s, d: d * (t[None] + 0.02) ** 1.5)


def _marked_dead(c: Case) -> Case:
    return c.edit(lambda f: f.put(trace_id=np.where(np.arange(len(f)) == 30, 2, 1)), [4])


def _late(world: World, samples: int) -> World:
    """Return the world recorded from `samples` on: for surveys whose delay is declared."""
    time = TimeAxis(world.time.nt - samples, world.time.dt)
    return _with_data(world, lambda s, d: d[:, samples:], time)


def _frame(x0: float, y0: float, degrees: float) -> dict:
    return {"x0": x0, "y0": y0, "azimuth": degrees}


#: where the oblique line and the patch lie on the map
EAST, NORTH, TURNED = 431_200.0, 6_520_400.0, 37.0


def _tables(folder: Path) -> Case:
    """Geometry in CSV tables, none in the headers."""
    c = case(
        folder, worlds.streamer(), Layout(), data={"geometry": {"shots": "src.csv", "receivers": "rcv.csv"}}
    )
    with (folder / "src.csv").open("w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["shot", "sx", "sy", "sz"])
        w.writerows([s.id, *s.src] for s in c.world.shots)
    with (folder / "rcv.csv").open("w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["shot", "chan", "gx", "gy", "gz"])
        w.writerows([s.id, i + 1, *r] for s in c.world.shots for i, r in enumerate(s.rcv))
    return c.edit(lambda f: f.put(source_x=0, receiver_x=0, source_depth=0, receiver_elevation=0, offset=0))


def _profile(folder: Path) -> Case:
    """A velocity of depth alone, and the grid from the job."""
    z = [0, 115, 125, 400, 700, 850]
    v = [1500, 1500, 1750, 1850, 2300, 2750]
    c = case(
        folder,
        worlds.streamer(),
        model={"vp": {"z": z, "value": v}},
        grid={"spacing": 10.0, "depth": 850.0, "margin": 150.0},
    )
    (folder / "vp.rsf").unlink()
    (folder / "vp.rsf@").unlink(missing_ok=True)
    return c


def _subset(folder: Path) -> Case:
    return case(folder, worlds.streamer(), Layout(files="one"), data={"shots": "102-108:2"})


def _to_model(folder: Path) -> Case:
    """A job of modelling."""
    c = case(folder, _fewer(worlds.streamer(), 2))
    del c.job["data"]
    c.job["acquisition"] = {
        "shots": {"first": [400.0, 6.0], "last": [2200.0, 6.0], "n": 7},
        "receivers": {"first": [50.0, 8.0], "last": [2550.0, 8.0], "n": 101},
        "record_length": 1.4,
        "dt": 0.004,
    }
    c.write_job()
    return c


def _corners(world: World) -> dict:
    """Return the corner points of a time image over a patch."""
    x0, y0, dx, dy = 150.0, 120.0, 25.0, 25.0
    return {"corners": [[1, 1, x0, y0], [1, 33, x0, y0 + 32 * dy], [41, 1, x0 + 40 * dx, y0]]}


def _to_time(folder: Path, layout: Layout = Layout()) -> Case:
    world = worlds.streamer()
    return time_case(folder, world, replace(layout, cdp=True), kirchhoff={"aperture": 400.0})


def _cdp_line(folder: Path) -> Case:
    """A line with CDP numbers and offsets, but no coordinates."""
    c = time_case(
        folder,
        worlds.streamer(),
        Layout(cdp=True, kind="su", endian="little", files="one"),
        data={"cdp_line": {"spacing": 6.25, "first_cdp": 1}},
    )
    return c.edit(lambda f: f.put(source_x=0, source_y=0, receiver_x=0, receiver_y=0))


def _far_to_near(c: Case) -> Case:
    """Channel 1 is the farthest."""
    return c.edit(lambda f: f.put(channel=len(f) - np.arange(len(f))))


def _backwards(world: World) -> World:
    """Return the line sailed towards -x: everything mirrored."""
    length = float(world.grid.last[0])
    shots = tuple(
        replace(
            s,
            src=np.array([length, 0, 0]) + s.src * [-1, 1, 1],
            rcv=np.array([length, 0, 0]) + s.rcv * [-1, 1, 1],
        )
        for s in world.shots
    )
    return replace(world, shots=shots, model={n: v[::-1] for n, v in world.model.items()})


S: dict[str, Callable[[Path], Case]] = {
    # the surveys that mistakes are planted in
    "line": lambda f: case(f, worlds.streamer()),
    "patch": lambda f: case(f, worlds.patch()),
    "time": _to_time,
    "time-patch": lambda f: time_case(
        f, worlds.patch(), kirchhoff=_corners(worlds.patch()) | {"aperture": 400.0}
    ),
    "tti": lambda f: case(f, worlds.streamer_tti()),
    "vti": lambda f: case(f, worlds.streamer_vti()),
    "ghosts": lambda f: case(f, worlds.sea_surface()),
    "spread": lambda f: case(f, worlds.split_spread()),
    "nodes": lambda f: case(f, worlds.nodes(), Layout(files="one")),
    "tables": _tables,
    "profile": _profile,
    "far-line": lambda f: case(
        f,
        worlds.streamer(),
        Layout(origin=(EAST, NORTH), azimuth=TURNED),
        data={"frame": _frame(EAST, NORTH, TURNED)},
    ),
    "far-patch": lambda f: case(
        f,
        worlds.patch(),
        Layout(origin=(EAST, NORTH), azimuth=TURNED),
        suffix=".npz",
        frame=Frame(EAST, NORTH, np.radians(TURNED)),
    ),
    "land": lambda f: case(f, _deeper(worlds.split_spread(), -312.0), Layout(surface=312.0)),
    "ibm": lambda f: case(f, worlds.streamer(), Layout(code=1)),
    "short": lambda f: case(f, worlds.streamer(), Layout(code=3, sample_scale=3e5)),
    "integers": lambda f: case(f, worlds.streamer(), Layout(code=2, sample_scale=1e8)),
    "su": lambda f: case(f, worlds.streamer(), Layout(kind="su", endian="little")),
    "foothills": lambda f: case(f, worlds.foothills()),
    "offsets": lambda f: case(f, worlds.streamer(), data={"receivers": "offset"}),
    "cables": lambda f: case(f, worlds.cables()),
    "modelling": _to_model,
    # layouts of files
    "rev 0, IBM, one file": lambda f: case(f, worlds.streamer(), Layout(revision=0, code=1, files="one")),
    "rev 1, IBM, three files": lambda f: case(f, worlds.streamer(), Layout(code=1, files="lines")),
    "rev 1, little endian": lambda f: case(f, worlds.streamer(), Layout(endian="little")),
    "rev 2, little endian": lambda f: case(f, worlds.streamer(), Layout(revision=0x0200, endian="little")),
    "rev 2, two more texts": lambda f: case(f, worlds.streamer(), Layout(revision=0x0200, texts=2)),
    "16 bit": lambda f: case(f, worlds.streamer(), Layout(code=3, sample_scale=3e5, files="one")),
    "32 bit": lambda f: case(f, worlds.streamer(), Layout(code=2, sample_scale=1e8, files="one")),
    "8 bit, noisy": lambda f: case(f, _noisy(worlds.streamer()), Layout(code=8, sample_scale=1400.0)),
    "64 bit": lambda f: case(f, worlds.split_spread(), Layout(code=6)),
    "SU, little endian": lambda f: case(
        f, worlds.streamer(), Layout(kind="su", endian="little", files="one")
    ),
    "SU, big endian": lambda f: case(f, worlds.streamer(), Layout(kind="su", files="lines")),
    "centimetres": lambda f: case(f, worlds.streamer(), Layout(scalar=-100, depth_scalar=-100, files="one")),
    "millimetres": lambda f: case(f, worlds.split_spread(), Layout(scalar=-1000, depth_scalar=-1000)),
    "tens of metres": lambda f: case(f, worlds.nodes(), Layout(scalar=10, depth_scalar=1, files="one")),
    "whole metres, scalar 0": lambda f: case(
        f, worlds.nodes(), Layout(scalar=0, depth_scalar=0, files="one")
    ),
    "feet": lambda f: case(f, worlds.split_spread(), Layout(unit="ft", scalar=-100, depth_scalar=-100)),
    "feet, declared": lambda f: case(
        f,
        worlds.split_spread(),
        Layout(unit="ft", scalar=-100, depth_scalar=-100),
        data={"fix": {"unit": "ft"}},
    ),
    "marine2d": lambda f: case(f, worlds.streamer(), Layout(preset="marine2d")),
    "receiver gathers": lambda f: case(
        f, worlds.nodes(), Layout(preset="obn", files="one", order="receiver")
    ),
    "delays": lambda f: case(f, _late(worlds.nodes(), 12), Layout(delay=48, files="one")),
    "elevations as depths, declared": lambda f: case(
        f, worlds.streamer(), Layout(depths_down=True), data={"fix": {"z_sign": -1}}
    ),
    "marked dead": lambda f: _marked_dead(case(f, worlds.streamer())),
    "hydrophones, 11": lambda f: case(f, worlds.streamer(), Layout(ids=11)),
    "hydrophones, 11, in one file": lambda f: case(f, worlds.streamer()).edit(
        lambda t: t.put(trace_id=11), [5]
    ),
    "vertical components, 12": lambda f: _to_time(f, Layout(ids=12)),
    "channels from far to near": lambda f: _far_to_near(case(f, worlds.streamer())),
    "no numbers of records": lambda f: case(f, worlds.streamer()).edit(lambda t: t.put(ffid=0)),
    "no numbers of records or shots": lambda f: case(f, worlds.patch()).edit(
        lambda t: t.put(ffid=0, source_point=0)
    ),
    "sailed backwards": lambda f: case(f, _backwards(worlds.streamer())),
    "some shots": _subset,
    # treatment of the data
    "muted data": lambda f: case(f, _mute(worlds.streamer())),
    "muted-by-job": lambda f: case(
        f, worlds.streamer(), data={"mute": {"velocity": 1500.0, "delay": 0.18, "taper": 0.04}}
    ),
    "noisy": lambda f: case(f, _noisy(worlds.streamer())),
    "noisy land": lambda f: case(f, _noisy(worlds.split_spread())),
    "gained": lambda f: case(f, _gained(worlds.streamer())),
    # models and options
    "npz": lambda f: case(f, _fewer(worlds.streamer(), 4), suffix=".npz"),
    "SEG-Y model": lambda f: case(f, _fewer(worlds.streamer(), 4), suffix=".sgy"),
    "VTK model": lambda f: case(f, _fewer(worlds.patch(), 4), suffix=".vti"),
    "netCDF model": lambda f: case(f, _fewer(worlds.patch(), 4), suffix=".nc"),
    "u16": lambda f: case(f, _fewer(worlds.streamer(), 4), propagation={"model_storage": "u16"}),
    "damping, order 12": lambda f: case(
        f, _fewer(worlds.streamer(), 4), propagation={"boundary": "damping", "order": 12}
    ),
    # time migration
    "time, SU line without coordinates": _cdp_line,
    "time, IBM": lambda f: _to_time(f, Layout(code=1, files="one")),
}

SURVEYS = S | MORE

#: what is rightly said of a clean survey
EXPECTED: dict[str, set[str]] = {
    "feet": {"W241"},  # feet that the job does not confirm
    "marked dead": {"W230"},  # a trace is left out
    "delays": {"W232"},  # a time that is applied
    "whole metres, scalar 0": {"W222"},  # the standard has no scalar 0
}
