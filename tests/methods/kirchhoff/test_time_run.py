"""A run directory of time migration, made by hand: finished, half done, and damaged."""

import json

import numpy as np
import pytest
from PIL import Image
from segy_maker import make_segy

from subsalt import view
from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, CorruptionError, DataError
from subsalt.io.volumes import volume
from subsalt.io.volumes.time_image import TimeImageFile
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.partial_image import Sums, write_sums
from subsalt.methods.kirchhoff.time_run import read_time_run
from subsalt.methods.kirchhoff.view import time_pictures
from subsalt.view.gather_pages import locations_of

GRID = ImageGrid((5, 5, 1), (601, 612, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TimeAxis(150, 0.008))
OFFSETS = [200.0, 600.0, 1000.0, 1400.0, 1800.0]


class Speed:
    """A velocity that is the same everywhere."""

    def at(self, points, time):
        return np.full((len(points), time.nt), 2000.0, np.float32), None


def values():
    """Return image traces (1, nj, classes, nt): a flat pulse and the number of the location."""
    t = GRID.time.values()
    flat = np.exp(-(((t - 0.5) / 0.03) ** 2))
    at = np.arange(12)[:, None, None] * 1e-3 + np.arange(5)[:, None] * 1e-2
    return (flat + at).astype(np.float32)[None]


def write_facts(folder, **more):
    folder.mkdir(exist_ok=True)
    facts = {
        "method": "kirchhoff",
        "title": "a line",
        "run_id": "cd" * 32,
        "image_grid": GRID.to_dict(),
        "classes": {"kind": "offset", "offsets": OFFSETS, "sectors": 1},
        "blocks": [{"id": n} for n in (1, 2, 3)],
        **more,
    }
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


def write_finished(folder, gathers=True):
    """Leave what a finished run leaves."""
    a = values()
    n = len(OFFSETS)
    cdp = np.arange(601, 613)
    more = {"image": {"path": "image.sgy"}, "fold": {"path": "fold.rsf"}, "hits": {"path": "hits.sgy"}}
    folder.mkdir()
    make_segy(folder / "image.sgy", a[0].mean(axis=1), headers={"inline": 5, "crossline": cdp}, dt=8000)
    make_segy(folder / "hits.sgy", np.full((12, 150), 5.0), headers={"inline": 5, "crossline": cdp}, dt=8000)
    volume.write(folder / "fold.rsf", Grid((1, 12, n), (1.0, 1.0, 1.0)), np.ones((1, 12, n), np.float32))
    if gathers:
        headers = {"inline": 5, "crossline": np.repeat(cdp, n), "offset": np.tile(OFFSETS, 12).astype(int)}
        make_segy(folder / "gathers.sgy", a.reshape(12 * n, -1), headers=headers, dt=8000)
        more["gathers"] = {"path": "gathers.sgy"}
    return write_facts(folder, **more)


def test_a_finished_run_has_all_its_pictures(tmp_path, undrawn):
    folder = write_finished(tmp_path / "a.run")
    run = read_time_run(folder)
    # one trace of float32 means of five
    np.testing.assert_allclose(run.image.read(0, 1)[0], values()[0].mean(axis=1), rtol=1e-6)
    offset, traces = run.gathers(0, 3)
    np.testing.assert_array_equal(offset, OFFSETS)
    np.testing.assert_array_equal(traces, values()[0, 3])
    made = time_pictures(run, tmp_path / "p.png", velocity=Speed(), overlay=True)
    assert [p.name for p in made] == ["p.png", "p_gathers.png", "p_fold.png", "p_hits.png"]
    for path in made:
        assert Image.open(path).text["Run"] == "cd" * 32
    assert "a line" in Image.open(made[0]).text["Title"]
    # in the pictures of a run itself the names are short
    with undrawn():
        made = time_pictures(run, tmp_path / "image.png")
    assert [p.name for p in made] == ["image.png", "gathers.png", "fold.png", "hits.png"]


def test_python_and_the_command_draw_a_run(tmp_path, subsalt_command, undrawn):
    folder = write_finished(tmp_path / "a.run")
    with undrawn():
        made = view.picture(folder, tmp_path / "p.png")
    assert len(made) == 4
    with undrawn():
        code, out, _ = subsalt_command(
            "view", folder, "-o", tmp_path / "q.png", "--at", "603", "--at", "608", "--json"
        )
    assert code == 0
    said = json.loads(out.splitlines()[-1])
    assert [p.split("/")[-1] for p in said["pictures"]] == [
        "q.png",
        "q_gathers.png",
        "q_fold.png",
        "q_hits.png",
    ]
    with undrawn():
        code, out, _ = subsalt_command(
            "view", folder / "gathers.sgy", "-o", tmp_path / "g.png", "--gathers-every", "1"
        )
    assert code == 0
    # eight on a page
    assert "g_1.png" in out
    assert "g_2.png" in out


def test_an_image_file_is_drawn_in_time_and_a_hit_count_in_colour(tmp_path, subsalt_command):
    for name, values in (("image", values_of_line()), ("hits", np.abs(values_of_line()) + 1)):
        volume = TimeImageFile(
            GRID.time, GRID.positions(), GRID.numbers(), np.arange(12), np.zeros(1), name.upper(), []
        )
        rows = volume.rows(0, values[:, None], np.ones((12, 1), np.int64))
        (tmp_path / f"{name}.sgy").write_bytes(volume.head + rows.tobytes())
    code, _, err = subsalt_command("view", tmp_path / "image.sgy", "-o", tmp_path / "i.png", "--gain", "1")
    assert code == 0, err
    assert "gain t^1" in Image.open(tmp_path / "i.png").text["Description"]
    [made] = view.picture(tmp_path / "hits.sgy", tmp_path / "h.png")
    assert "traces in a sample" in Image.open(made).text["Description"]
    rgb = np.asarray(Image.open(made).convert("RGB")).astype(int)
    # the colours of fold are not grey
    assert np.abs(rgb[200:400, 100:200, 0] - rgb[200:400, 100:200, 2]).max() > 20


def values_of_line():
    """Return an image (12, nt) of the line."""
    return (values()[0].mean(axis=1) - 0.05).astype(np.float32)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--at", "700"), "E833", "601 to 612"),
        (("--at", "here"), "E833", "is not a place"),
        (("--gathers-every", "0"), "E833", "every 0"),
    ],
)
def test_places_that_are_not_there_are_refused(words, code, said, tmp_path, subsalt_command):
    folder = write_finished(tmp_path / "a.run")
    status, _, err = subsalt_command("view", folder, "-o", tmp_path / "q.png", *words)
    assert status != 0
    assert code in err
    assert said in err
    assert not list(tmp_path.glob("*.png"))


def test_options_of_time_images_do_not_go_with_volumes(tmp_path, subsalt_command):
    volume.write(tmp_path / "vp.rsf", Grid((4, 5), (1.0, 1.0)), np.ones((4, 5), np.float32))
    for words in (("--gathers-every", "2"), ("--velocity",)):
        status, _, err = subsalt_command("view", tmp_path / "vp.rsf", *words)
        assert status != 0
        assert "E836" in err
        assert words[0] in err


def write_block(folder, number, c0, c1, j1, part=1.0):
    """Leave a block of classes c0 to c1 at the first j1 locations."""
    block = Block(number, LocationBox(0, 1, 0, j1), c0, c1)
    sums = Sums.zeros(block, GRID.time.nt, c1 - c0)
    sums.image[:] = part * values()[0, :j1, c0:c1]
    sums.fold[:] = 2
    sums.hits[:, 10], sums.hits[:, 100] = 3, -3
    folder.mkdir(exist_ok=True)
    name = f"block_{number:06d}"
    if folder.name == "restart":
        (folder / f"{name}.json").write_text(json.dumps({"file": f"{name}.ab12.sums"}))
        name += ".ab12"
    write_sums(folder / f"{name}.sums", sums)


def test_a_run_on_its_way_shows_its_blocks_and_restart_points(tmp_path, undrawn):
    folder = write_facts(tmp_path / "a.run")
    with pytest.raises(DataError, match="neither an image nor a block"):
        read_time_run(folder)
    write_block(folder / "images", 1, 0, 2, 12)
    write_block(folder / "restart", 2, 2, 5, 6, part=0.5)
    run = read_time_run(folder)
    assert run.title == "a line: 1 of 3 blocks and parts of 1 so far"
    a = values()[0]
    # an older file that no note names, and the point of a block that is finished, count no more
    (folder / "restart" / "block_000002.ab11.sums").write_bytes(b"old")
    write_block(folder / "restart", 1, 0, 2, 12)
    run = read_time_run(folder)
    # of float32 sums of five
    near = {"rtol": 1e-5}
    np.testing.assert_allclose(run.image[0, 8], a[8, :2].sum(axis=0) / 2, **near)
    np.testing.assert_allclose(
        run.image[0, 2], (a[2, :2].sum(axis=0) + 0.5 * a[2, 2:].sum(axis=0)) / 5, **near
    )
    offset, traces = run.gathers(0, 2)
    np.testing.assert_array_equal(offset, OFFSETS)
    np.testing.assert_array_equal(traces[:2], a[2, :2])
    np.testing.assert_allclose(traces[2:], 0.5 * a[2, 2:], **near)
    np.testing.assert_array_equal(run.fold[0, 2], [2, 2, 2, 2, 2])
    np.testing.assert_array_equal(run.fold[0, 8], [2, 2, 0, 0, 0])
    # two blocks reach the samples 10 to 99 of the first locations
    np.testing.assert_array_equal(run.hits[0, 2, [9, 10, 99, 100]], [0, 6, 6, 0])
    with undrawn():
        assert len(time_pictures(run, tmp_path / "p.png")) == 4


def test_sectors_share_their_offset_in_the_fold(tmp_path):
    classes = {"kind": "offset", "offsets": [200.0, 200.0, 600.0, 600.0], "sectors": 2}
    folder = write_facts(tmp_path / "a.run", classes=classes)
    write_block(folder / "images", 1, 0, 4, 12)
    run = read_time_run(folder)
    np.testing.assert_array_equal(run.offsets, [200, 600])
    np.testing.assert_array_equal(run.fold, np.full((1, 12, 2), 4))
    offset, traces = run.gathers(0, 1)
    np.testing.assert_array_equal(offset, [200, 200, 600, 600])
    assert traces.shape == (4, 150)


def test_one_image_is_the_mean_over_the_classes_that_have_traces(tmp_path):
    classes = {"kind": "image", "offsets": [0.0], "sectors": 1, "edges": [100.0, 300.0, 500.0, 700.0]}
    folder = write_facts(tmp_path / "a.run", classes=classes)
    block = Block(1, LocationBox(0, 1, 0, 12), 0, 1)
    sums = Sums.zeros(block, GRID.time.nt, 3)
    sums.image[:] = 6.0
    sums.fold[:, :2] = 1
    (folder / "images").mkdir()
    write_sums(folder / "images" / "block_000001.sums", sums)
    run = read_time_run(folder)
    assert run.gathers is None
    np.testing.assert_array_equal(run.offsets, [200, 400, 600])
    # two of three classes have traces
    np.testing.assert_array_equal(run.image, np.full((1, 12, 150), 3.0))


def test_a_damaged_block_is_named_and_a_damaged_restart_point_left_out(tmp_path):
    folder = write_facts(tmp_path / "a.run")
    write_block(folder / "images", 1, 0, 2, 12)
    write_block(folder / "restart", 2, 2, 5, 6)
    bad = folder / "restart" / "block_000002.ab12.sums"
    bad.write_bytes(bad.read_bytes()[:200])
    assert "1 of 3 blocks" in read_time_run(folder).title
    bad = folder / "images" / "block_000001.sums"
    bad.write_bytes(bad.read_bytes()[:200])
    with pytest.raises(CorruptionError, match="block_000001"):
        read_time_run(folder)


def test_run_json_may_neither_miss_the_grid_nor_lead_out(tmp_path):
    folder = write_facts(tmp_path / "a.run", image_grid=None)
    with pytest.raises(DataError, match="does not say the grid"):
        read_time_run(folder)
    write_facts(folder, image={"path": "../x.sgy"})
    with pytest.raises(CorruptionError, match="outside the run"):
        read_time_run(folder)


def test_gathers_are_chosen_where_there_are_traces():
    fold = np.zeros((1, 12, 5), int)
    fold[0, 4:] = 1
    chosen = locations_of(GRID, fold, (), None)
    assert chosen == [(0, 5), (0, 7), (0, 9), (0, 11)]
    assert locations_of(GRID, fold, [(5, 603)], None) == [(0, 2)]
    assert locations_of(GRID, fold, (), 3) == [(0, 5), (0, 8), (0, 11)]
    assert locations_of(GRID, 0 * fold, (), None) == []
    with pytest.raises(ConfigError, match="every 0"):
        locations_of(GRID, fold, (), 0)


def test_a_run_without_gathers_says_how_to_get_them(tmp_path):
    run = read_time_run(write_finished(tmp_path / "a.run", gathers=False))
    with pytest.raises(ConfigError, match="no image gathers") as caught:
        time_pictures(run, tmp_path / "p.png", every=3)
    assert "full-offset" in caught.value.fix
