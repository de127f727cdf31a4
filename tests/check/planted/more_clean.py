"""More clean surveys: of the twelve kinds in which false alarms were found, several variants each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from planted import more_worlds as more
from planted import worlds
from planted.surveys import Case, case, time_case
from planted.trace_files import Layout
from subsalt.earth.grid import Grid

#: bins over the bent line: a time migration of it is one in 3-D
BINS = {
    "inline": {"first": 1, "last": 63},
    "crossline": {"first": 1, "last": 9},
    "origin": [700.0, 0.0],
    "azimuth": 0.0,
    "spacing": [25.0, 25.0],
    "aperture": 400.0,
}
#: elevation of the highest point of the model of the hills, m
TOP = 460.0


def _on_hills(folder: Path, layout: Layout = Layout(), **tables) -> Case:
    """A land line with the elevation of every station."""
    base = more.topography()
    up = np.array([0.0, 0.0, TOP])
    g = base.grid
    world = replace(
        base,
        grid=Grid(g.shape, g.spacing, (0.0, -TOP)),
        shots=tuple(replace(s, src=s.src - up, rcv=s.rcv - up) for s in base.shots),
    )
    c = case(folder, world, layout, **tables)
    scale = -layout.depth_scalar

    def heights(f, shot):
        ground = -shot.src[2] + 10.0
        f.put(source_elevation=round(ground * scale), source_depth=round(10.0 * scale))

    for i, shot in enumerate(world.shots):
        c.edit(lambda f, shot=shot: heights(f, shot), [i])
    return c


def _numbered(folder: Path, per: int, first, keep: int) -> Case:
    """Four cables, the first `keep` of `per` channels of each, numbered from `first` of each."""

    def change(f):
        number = np.arange(len(f))
        f.put(channel=np.array(first)[number % 4] + number // 4)
        f.rows = f.rows[number // 4 < keep]

    return case(folder, worlds.cables(), Layout()).edit(change)


def _in_profile(folder: Path, world, **tables) -> Case:
    """Level layers as a function of depth, the grid from the job."""
    z = [0, 115, 125, 335, 345, 555, 565, 850]
    vp = world.model["vp"][0]
    c = case(
        folder,
        world,
        model={"vp": {"z": z, "value": [round(float(vp[round(a / 10)]), 1) for a in z]}},
        grid={"spacing": 10.0, "depth": 850.0, "margin": 150.0},
        **tables,
    )
    for p in folder.glob("vp.rsf*"):
        p.unlink()
    return c


def _by_tables_with_marks(folder: Path) -> Case:
    """Tables of positions that a spreadsheet wrote: a byte order mark before the first column."""
    from planted.clean import SURVEYS

    c = SURVEYS["tables"](folder)
    for name in ("src.csv", "rcv.csv"):
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\xef\xbb\xbf" + raw)
    return c


MORE: dict[str, Callable[[Path], Case]] = {
    # bases of mistakes
    "swell": lambda f: case(f, more.swelled(worlds.streamer())),
    "small": lambda f: case(f, more.cropped(worlds.streamer(), slice(12, 234))),
    "square": lambda f: case(f, more.cropped(more.vsp(), slice(30, 131))),
    "whole-metres": lambda f: case(f, worlds.nodes(), Layout(scalar=1, depth_scalar=1, files="one")),
    # marine with ghosts
    "ghosts, IBM, one file": lambda f: case(f, worlds.sea_surface(), Layout(code=1, files="one")),
    "ghosts, towed deep": lambda f: case(f, more.deep_towed()),
    "ghosts, in swell": lambda f: case(f, more.swelled(worlds.sea_surface(), 0.1)),
    "swell, IBM": lambda f: case(f, more.swelled(worlds.streamer(), 0.1, 3.0), Layout(code=1)),
    # land with topography
    "hills": _on_hills,
    "hills, centimetres": lambda f: _on_hills(f, Layout(scalar=-100, depth_scalar=-100)),
    "hills, IBM": lambda f: _on_hills(f, Layout(code=1)),
    # four cables
    "cables numbered from 1, 101, 201, 301": lambda f: _numbered(f, 24, (1, 101, 201, 301), 24),
    "cables of 22 channels numbered from 1, 101, 201, 301": lambda f: _numbered(
        f, 24, (1, 101, 201, 301), 22
    ),
    "cables numbered from 1, 25, 49, 73": lambda f: _numbered(f, 24, (1, 25, 49, 73), 24),
    "cables, one file": lambda f: case(
        f, worlds.cables(), Layout(files="one", scalar=-100, depth_scalar=-100)
    ),
    # nodes
    "deep nodes": lambda f: case(f, more.deep_nodes(), Layout(files="one")),
    "deep nodes, receiver gathers": lambda f: case(
        f, more.deep_nodes(), Layout(preset="obn", files="one", order="receiver")
    ),
    "deep nodes, gathers declared": lambda f: case(
        f,
        more.deep_nodes(),
        Layout(preset="obn", files="one", order="receiver"),
        data={"gathers": "receiver"},
    ),
    "sparse nodes": lambda f: case(f, more.sparse_nodes(), Layout(files="one")),
    "sparse nodes, receiver gathers": lambda f: case(
        f, more.sparse_nodes(), Layout(preset="obn", files="one", order="receiver")
    ),
    # wells
    "VSP": lambda f: case(f, more.vsp()),
    "VSP, one file": lambda f: case(f, more.vsp(), Layout(files="one", code=1)),
    # feet
    "feet, declared, rolling": lambda f: case(
        f,
        more.rolling(),
        Layout(unit="ft", scalar=-100, depth_scalar=-100, code=1),
        data={"fix": {"unit": "ft"}},
    ),
    "feet, declared, time": lambda f: time_case(
        f,
        worlds.streamer(),
        Layout(unit="ft", scalar=-100, depth_scalar=-100, cdp=True),
        data={"fix": {"unit": "ft"}},
    ),
    # scalar -10, elsewhere on the map
    "patch on the map, scalar -10": lambda f: case(
        f, worlds.patch(), Layout(origin=(500.0, 800.0)), data={"frame": {"x0": 500.0, "y0": 800.0}}
    ),
    # bent lines
    "level layers": lambda f: _in_profile(f, more.level()),
    "crooked": lambda f: _in_profile(f, more.bent(more.level())),
    "crooked, sharper": lambda f: _in_profile(f, more.bent(more.level(), 2000.0)),
    "crooked, time": lambda f: time_case(f, more.bent(more.level()), Layout(cdp=True), kirchhoff=BINS),
    # rolling split spreads
    "rolling": lambda f: case(f, more.rolling()),
    "rolling, one file": lambda f: case(f, more.rolling(), Layout(files="one", code=1)),
    "rolling, time": lambda f: time_case(f, more.rolling(), Layout(cdp=True)),
    # fine and wide
    "500 Hz in cells of 0.25 m": lambda f: case(f, more.fine(), Layout(scalar=-1000, depth_scalar=-1000)),
    "500 Hz, centimetres": lambda f: case(
        f, more.fine(), Layout(scalar=-100, depth_scalar=-100, files="one")
    ),
    "offsets to 12 km": lambda f: case(f, more.wide()),
    "offsets to 12 km, IBM": lambda f: case(f, more.wide(), Layout(code=1, files="one")),
    # files
    "tables with a byte order mark": _by_tables_with_marks,
}
