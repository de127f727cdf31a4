"""Regions of an image: which nodes lie in one, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError
from subsalt.methods.rtm.region import parse_region, region_text

LINE = Grid((61, 41), (10.0, 10.0), (-100.0, 0.0))
VOLUME = Grid((11, 21, 31), (12.5, 25.0, 5.0))


@pytest.mark.parametrize(
    ("text", "grid", "box"),
    [
        ("-100:500,0:400", LINE, Box((0, 0, 0), (61, 1, 41))),
        ("0:100,50:200", LINE, Box((10, 0, 5), (21, 1, 21))),
        # limits between nodes: the nodes inside; limits outside: those of the image
        ("1:109,55:1e4", LINE, Box((11, 0, 6), (21, 1, 41))),
        (":0, 300:", LINE, Box((0, 0, 30), (11, 1, 41))),
        ("12.5:12.5,0:500,0:150", VOLUME, Box((1, 0, 0), (2, 21, 31))),
    ],
)
def test_the_nodes_of_a_region(text, grid, box):
    assert parse_region(text, grid) == box


def test_a_region_as_text_is_the_region():
    box = Box((2, 3, 4), (7, 9, 20))
    crop = VOLUME.window(box)
    assert parse_region(region_text(list(zip(crop.origin, crop.last, strict=True))), VOLUME) == box


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0:100", "has not the form x0:x1,z0:z1"),
        ("0:100,0:100,0:100", "the image has 2 axes"),
        ("0-100,0:100", "has not the form"),
        ("0:100,a:b", "'a' is not a number"),
        ("0:100,0:inf", "'inf' is not a number"),
        ("0:100,500:600", "no point of the image lies in z = 500:600"),
        ("1:9,0:100", "every 10 m"),
        ("100:0,0:100", "no point of the image lies in x = 100:0"),
    ],
)
def test_a_wrong_region_is_refused(text, said):
    with pytest.raises(ConfigError, match=said) as caught:
        parse_region(text, LINE)
    assert caught.value.code == "E862"
