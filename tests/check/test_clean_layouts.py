"""Layouts of the field in order: nothing is said of their coordinates, depths, offsets and bins."""

import numpy as np
import pytest
from line_files import FFID, GX, RECEIVERS, SHOTS, SX, findings_by_code, survey

CHANNEL = np.tile(np.arange(RECEIVERS), SHOTS)
PROFILE = "{z = [0, 700, 710], value = [1500, 1500, 2200]}"
GRID = "[grid]\nspacing = {0}\ndepth = {1}\nmargin = {2}"
#: said of the waves: all layouts have those of one line, of a second, so that far traces are silent
OF_WAVES = {"W233", "W288", "W341", "W344", "W393", "E246", "W256"}


def line(src, rcv, unit=100.0, bins=12.5, sign=True, **more):
    """Return words of a line: places (x, y) of sources and receivers, m; a metre is `unit` in the words."""
    (sx, sy), (gx, gy) = src, rcv
    d = np.hypot(gx - sx, gy - sy)
    x, y = (0.5 * (a + b) for a, b in ((sx, gx), (sy, gy)))
    at = {"source_x": sx, "source_y": sy, "receiver_x": gx, "receiver_y": gy}
    at |= {"cdp_x": bins * np.round(x / bins), "cdp_y": y}
    return (
        {k: np.round(unit * v) for k, v in at.items()}
        | {"offset": np.round(np.where(sign & (gx < sx), -d, d))}
        | more
    )


def east(x, y=0.0):
    return x, y + 0.0 * x


SLALOM = 1000.0 * np.sin(GX / 5000.0) + 15.0 * np.sin(GX / 150.0)
ORDER = np.argsort(GX, kind="stable")
#: words, and keys of the survey: vp, tables, more, top, f0, dt
LAYOUTS = {
    "rolling split spread": (line(east(SX + 1000), east(SX + 1000 + 25.0 * (CHANNEL - 48))), {}),
    "offsets without sign": (line(east(SX), east(GX), sign=False), {}),
    "12 km of offsets": (line(east(5 * SX), east(5 * SX + 125.0 * CHANNEL + 150.0)), {}),
    "scalar -10": (line(east(SX), east(GX), 10.0, coordinate_scalar=-10), {}),
    "scalar 1, whole metres": (line(east(SX), east(GX), 1.0, coordinate_scalar=1), {}),
    "far on the map": (line(east(SX + 431_200, 6.5e6), east(GX + 431_200, 6.5e6)), {}),
    "feet": (
        line(east(SX), east(GX), 100 / 0.3048)
        | {"offset": np.round((GX - SX) / 0.3048), "source_depth": 3281, "receiver_elevation": -3281},
        {"more": 'fix = {unit = "ft"}'},
    ),
    "receivers in a well": (
        line(east(SX), east(0 * GX + 1203.0), receiver_elevation=-1000 * (CHANNEL + 3)),
        {},
    ),
    "two wells": (
        line(
            east(0 * SX + 300.0),
            east(0 * GX + 1500.0),
            source_depth=10_000 * FFID,
            receiver_elevation=-1000 * CHANNEL,
        ),
        {"more": 'shot_key = "ffid"'},
    ),
    "sparse nodes": (
        line(
            east(GX[ORDER]),
            east(SX[ORDER]),
            receiver_elevation=-23_000,
            source_depth=600,
            ffid=1 + GX[ORDER] // 25,
            channel=FFID[ORDER],
        ),
        {},
    ),
    "hills": (
        line(
            east(SX),
            east(GX),
            source_elevation=np.round(30_000 + 2000 * np.sin(SX / 300)),
            receiver_elevation=np.round(30_000 + 2000 * np.sin(GX / 300)),
            source_depth=500,
        ),
        {"vp": "1500", "tables": "[grid]\nspacing = 10\ndepth = 1200\nmargin = 100\norigin = [0, -330]"},
    ),
    "a slalom": (line((SX, np.interp(SX, GX[:97], SLALOM[:97])), (GX, SLALOM)), {"more": 'line = "2d"'}),
    "cells of 0.25 m": (
        line(
            east(SX / 40), east(GX / 40), 1000.0, bins=0.3125, coordinate_scalar=-1000, elevation_scalar=-1000
        )
        | {"offset": 0, "source_depth": 250, "receiver_elevation": -250},
        {"tables": GRID.format(0.25, 30, 5), "vp": "1500", "f0": 500, "dt": 100},
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_is_said_of_a_layout_in_order(tmp_path, name):
    words, keys = LAYOUTS[name]
    given = {"vp": PROFILE, "tables": GRID.format(10, 1200, 100)} | keys
    by = findings_by_code(survey(tmp_path, **given, **words))
    assert not set(by) - OF_WAVES, {c: f.message for c, f in by.items()}
