"""The page of a 3-D image as a file: what it holds, what it refuses, and the command that writes it."""

import numpy as np
import pytest
from segy_maker import make_segy
from test_movie_page import read, summed
from test_time_volume import GRID, file_of

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.io.volumes import volume
from subsalt.view import volume_page as page_module
from subsalt.view.volume_page import read_shown, thinned, volume_page

SHAPE = (12, 9, 15)


@pytest.fixture
def image(tmp_path):
    """Return a file with an image whose strongest reflector lies at index 11 of depth, and its values."""
    values = 0.1 * np.random.default_rng(5).standard_normal(SHAPE).astype(np.float32)
    values[:, :, 11] += 3.0
    path = tmp_path / "image.rsf"
    volume.write(path, Grid(SHAPE, (10.0, 20.0, 5.0), (100.0, 0.0, 0.0)), values)
    return path, values


def test_the_page_holds_the_image_in_eight_bits_and_needs_nothing_else(image, tmp_path):
    source, values = image
    assert volume_page(source, tmp_path / "image.html") == tmp_path / "image.html"
    text, meta, blocks = read(tmp_path / "image.html")
    assert "http:" not in text
    assert "https:" not in text
    assert "connect-src" not in text
    assert meta["still"] is True
    assert [(a["name"], a["label"], a["unit"], a["n"]) for a in meta["axes"]] == [
        ("x", "x", "m", 12),
        ("y", "y", "m", 9),
        ("z", "depth", "m", 15),
    ]
    # the sections begin in the middle, at the strongest reflector
    assert meta["point"] == [160.0, 80.0, 55.0]
    (block,) = meta["fields"][0]["blocks"]
    levels = summed(np.frombuffer(blocks[block["id"]], np.uint8), SHAPE).view(np.int8)
    scale = float(np.frombuffer(blocks["tables"][:4], "<f4")[0])
    q = levels / 127.0
    # levels are square roots: half a level of 127 is (|q| + 1 / 508) / 127 of the scale
    assert np.all(np.abs(np.sign(q) * q * q * scale - values) <= scale * (np.abs(q) + 1 / 508) / 127 * 1.001)


def test_the_same_image_gives_the_same_bytes(image, tmp_path):
    for name in ("a.html", "b.html"):
        volume_page(image[0], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_place_and_a_clip_are_those_of_the_command(image, tmp_path):
    volume_page(image[0], tmp_path / "a.html", at=(120.0, 400.0, 20.0), clip=50.0)
    _, meta, _ = read(tmp_path / "a.html")
    # a place outside is moved to the side
    assert meta["point"] == [120.0, 160.0, 20.0]
    assert meta["clip"] == 0, "the lowest percentile there is"
    with pytest.raises(ConfigError, match="place of 1 number"):
        volume_page(image[0], tmp_path / "a.html", at=(120.0,))


def test_a_large_image_is_thinned_and_the_page_says_so(image, tmp_path, monkeypatch):
    source, values = image
    np.testing.assert_array_equal(thinned(values, 2), values[::2, ::2, ::2])
    step = 2
    monkeypatch.setattr(page_module, "thinning", lambda *args: (step, 1))
    volume_page(source, tmp_path / "a.html")
    _, meta, _ = read(tmp_path / "a.html")
    assert [(a["n"], a["spacing"], a["long"]) for a in meta["axes"]] == [
        (6, 20.0, 120.0),
        (5, 40.0, 200.0),
        (8, 10.0, 80.0),
    ]
    assert meta["facts"] == [["grid", "every 2nd point of 12 x 9 x 15"]]


def test_what_is_no_image_in_three_dimensions_has_no_page(tmp_path):
    flat = tmp_path / "flat.rsf"
    volume.write(flat, Grid((8, 6), (5.0, 5.0)), np.eye(8, 6, dtype=np.float32) - 0.5)
    speed = tmp_path / "vp.rsf"
    volume.write(speed, Grid(SHAPE, (5.0, 5.0, 5.0)), np.full(SHAPE, 2000.0, np.float32))
    for source in (flat, speed):
        assert volume_page(source, tmp_path / "a.html") is None
    assert not (tmp_path / "a.html").exists()


def test_a_time_image_has_line_numbers_and_seconds(tmp_path, monkeypatch):
    path = tmp_path / "a.sgy"
    # files of this program say in their text header that time grows downwards
    monkeypatch.setattr(page_module, "is_time_volume", lambda path: True)
    file_of(path, GRID)
    assert read_shown(path) is None, "no sample below zero: a hit count"
    numbers, at = GRID.numbers(), GRID.positions()
    traces = np.random.default_rng(2).standard_normal((GRID.size, GRID.time.nt)).astype(np.float32)
    headers = {
        "inline": numbers[:, 0],
        "crossline": numbers[:, 1],
        "cdp_x": np.round(100 * at[:, 0]).astype(int),
        "cdp_y": np.round(100 * at[:, 1]).astype(int),
        "coordinate_scalar": -100,
        "delay": 100,
    }
    make_segy(path, traces, headers=headers, dt=2000)
    shown = read_shown(path)
    assert [(a.label, a.unit, a.origin, a.spacing, a.n) for a in shown.axes] == [
        ("inline", "", 10, 10, 3),
        ("crossline", "", 7, 2, 4),
        ("two-way time", "s", 0.1, 0.002, 6),
    ]
    # inlines 50 m apart, crosslines too; time is drawn three quarters as tall as the longer side is wide
    np.testing.assert_allclose([a.long for a in shown.axes], [150.0, 200.0, 150.0], rtol=1e-3)
    volume_page(path, tmp_path / "a.html")
    _, meta, _ = read(tmp_path / "a.html")
    assert meta["axes"][2]["unit"] == "s"


def test_the_command_writes_a_page_and_opens_it(image, tmp_path, subsalt_command, monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    source, _ = image
    code, out, _ = subsalt_command("view", source, "--open")
    assert code == 0
    made = source.with_suffix(".html")
    assert opened == [made.as_uri()]
    assert f"page      {made}" in out
    assert source.with_suffix(".png").exists()
    code, out, _ = subsalt_command("view", source, "-o", tmp_path / "only.html")
    assert code == 0
    assert (tmp_path / "only.html").read_bytes() == made.read_bytes()
    assert not (tmp_path / "only.png").exists()
    assert len(opened) == 1
    flat = tmp_path / "flat.rsf"
    volume.write(flat, Grid((8, 6), (5.0, 5.0)), np.eye(8, 6, dtype=np.float32) - 0.5)
    code, _, err = subsalt_command("view", flat, "-o", tmp_path / "flat.html")
    assert code == 78
    assert "E836" in err
    # a 2-D image is opened as a picture
    assert subsalt_command("view", flat, "--open")[0] == 0
    assert opened[1:] == [flat.with_suffix(".png").as_uri()]
