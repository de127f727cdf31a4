"""A depth scan finds the error of one layer by one command, goes on, and refuses what cannot be scanned."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from checks_once import checks_once  # noqa: F401  the same jobs again and again
from subsalt.earth.grid import Grid
from subsalt.examples.layer import ERROR, LayerLine
from subsalt.io.volumes import volume
from subsalt.methods.rtm import vscan_view
from subsalt.methods.rtm.depth_scan import (
    LIT,
    SHARP,
    Reference,
    ScaleMap,
    at_equal_time,
    over_neighbours,
    spread,
    unclear_of,
    vertical_time,
)
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.scaled_part import ScaledPart
from subsalt.methods.rtm.vscan import DepthScanner
from subsalt.run.settings import NAME
from subsalt.run.velocity_scan import ScanRequest
from subsalt.view.depth_gathers import PlacedGather, TraceAxis, draw_depth_gathers
from subsalt.view.pages import Sheet

#: the line of `subsalt example layer` with wavelengths and spacings about twice as long, and gathers at five places
SMALL = LayerLine(20.0, 10.0, 3200.0, 1360.0, 5, 250.0, 40.0, every=40, nt=751, widest=240.0)


@pytest.fixture(scope="module")
def line(tmp_path_factory) -> Path:
    """A folder with the line."""
    folder = tmp_path_factory.mktemp("layer")
    SMALL.write(folder)
    return folder


def test_the_error_of_a_layer_is_found_and_taken_back(
    line: Path, tmp_path, subsalt_command, monkeypatch
) -> None:
    """Within two of the standard deviations that the scan says, which are less than half of the planted error.

    Waves of 10 Hz in a layer that is little thicker than one of them: `make prove-gathers` has those of 15 Hz.
    """
    words = ("vscan", line / "line.toml", "0.92:1:0.04", "--mask", line / "layer.rsf", "--json")
    drawn: list[PlacedGather] = []

    def draw(
        sheet: Sheet, section: np.ndarray, grid: Grid, panels: list[PlacedGather], axis: TraceAxis
    ) -> Path:
        drawn.extend(panels)
        return draw_depth_gathers(sheet, section, grid, panels, axis)

    monkeypatch.setattr(vscan_view, "draw_depth_gathers", draw)
    code, out, err = subsalt_command(*words, "--update", "--at", "1600")
    assert code == 0, err
    assert "3 migrations of 3 scales" in err
    said = json.loads(out.splitlines()[-1])
    place = said["x_m"].index(1600.0)
    (best,), (sigma,) = said["best_scale"][place], said["sigma"][place]
    assert sigma < 0.5 * (ERROR - 1)
    assert abs(best - 1 / ERROR) <= 2 * sigma
    updated, inside = volume.read(said["updated_file"]).values, SMALL.mask() != 0
    assert np.array_equal(updated[~inside], SMALL.vp(ERROR)[~inside])
    ratio = updated[80][inside[80]] / 2500
    assert (np.abs(ratio - 1) <= 2 * sigma * ERROR).all()
    assert [Path(p).name for p in said["pictures"]] == ["vscan.png", "vscan_x1600.png"]
    assert all(Image.open(p).width > 300 for p in said["pictures"])
    # beside the gather of each scale stands the image of that scale
    images = [volume.read(Path(run) / "image.sgy").values for run in said["runs"]]
    assert all(np.array_equal(p.stack, image[80]) for p, image in zip(drawn, images, strict=True))
    assert not np.array_equal(images[0][80], images[-1][80])
    assert "for the next migration" in err
    # nobody looks at the pictures of what follows
    for name in ("draw_depth_gathers", "draw_scale_map"):
        monkeypatch.setattr(vscan_view, name, lambda sheet, *rest, **more: sheet.path)
    # again: nothing is migrated, the same is said
    before = {p: p.stat().st_mtime_ns for p in line.glob("line_layer.vscan/*/images/*.planes")}
    assert len(before) == 3 * SMALL.shots
    code, out, err = subsalt_command(*words)
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["best_scale"] == said["best_scale"]
    assert {p: p.stat().st_mtime_ns for p in line.glob("line_layer.vscan/*/images/*.planes")} == before
    # the moveout of the image at scale 1 alone: too fast on the whole, by less than the layer
    words = ("vscan", line / "line.toml", "0.92:1.08:0.04", "--by", "curvature", "--json")
    # it has a folder of its own, beside that of the layer
    code, out, err = subsalt_command(*words)
    assert code == 0, err
    one = json.loads(out.splitlines()[-1])
    assert one["runs"] == [str(line / "line.vscan" / "scale_1.run")]
    below = [
        s for s, z in zip(one["best_scale"][place], one["depth_m"][place], strict=True) if s and z > 1000
    ]
    assert below
    assert all(1 / ERROR < s < 1.005 for s in below)
    assert "whole overburden" in err
    # job and scan are moved together: nothing is migrated again
    moved = shutil.copytree(line, tmp_path / "moved")
    code, out, err = subsalt_command("vscan", moved / "line.toml", *words[2:])
    assert code == 0, err
    there = json.loads(out.splitlines()[-1])
    assert there["runs"] == [str(moved / "line.vscan" / "scale_1.run")]
    assert there["best_scale"] == one["best_scale"]
    for old in line.glob("line.vscan/*/images/*.planes"):
        assert (moved / old.relative_to(line)).stat().st_mtime_ns == old.stat().st_mtime_ns


def test_names_of_velocities_count_from_the_job_and_those_of_older_scans_stay(line: Path, tmp_path) -> None:
    def named() -> list[str]:
        names: list[str] = []
        scanner = DepthScanner(Job.from_toml(line / "line.toml"), ScanRequest("0.96:1.04:0.04"))
        scanner.migrate(line / "names.run", lambda job, run, word: names.append(job.model.vp.file))
        return names

    assert named() == [f"names.vscan/vp_{scale}.rsf" for scale in ("0.96", "1", "1.04")]
    # runs begun by versions that wrote absolute names: here, and in a folder that was moved since
    for scale, folder in (("0.96", line), ("1", tmp_path)):
        run = line / "names.vscan" / f"scale_{scale}.run"
        run.mkdir()
        key = {"job": {"model": {"vp": {"file": str(folder / "names.vscan" / f"vp_{scale}.rsf")}}}}
        with contextlib.closing(sqlite3.connect(run / NAME)) as db:
            db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
            db.execute("INSERT INTO meta VALUES ('key', ?)", (json.dumps(key),))
            db.commit()
    assert named() == [
        str(line / "names.vscan" / "vp_0.96.rsf"),
        "names.vscan/vp_1.rsf",
        "names.vscan/vp_1.04.rsf",
    ]


def test_a_plan_starts_nothing(line: Path, subsalt_command) -> None:
    code, out, err = subsalt_command(
        "vscan", line / "line.toml", "0.9:1.1:0.05", "--plan", "--json", "--run", line / "other.run"
    )
    assert code == 0, err
    said = json.loads(out.splitlines()[-1])
    assert said["migrations"] == 5
    assert said["disk"]["total_bytes"] > 5 * 4 * SMALL.grid.size
    assert not (line / "other.vscan").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("0.9:1.1:0.1", "--below", "5000"), "E834", "goes from 0 to 1360 m"),
        (("0.9:1.1:0.1", "--below", "nothing.txt"), "E834", "neither a depth"),
        (("0.9:1.1:0.1", "--mask", "coarse.rsf"), "E834", "on the grid of the model"),
        (("0.9:1.1:0.1", "--mask", "empty.rsf"), "E834", "zero throughout"),
        (("0.9:1.1:0.1", "--mask", "line.sgy"), "E834", "--mask line.sgy is no volume"),
        (("0.9:1.1:0.1", "--mask", "layer.rsf", "--below", "800"), "E834", "leave one of them out"),
        (("0.9:1.1:0.1", "--mask", "layer.rsf", "--by", "curvature"), "E834", "whole overburden"),
        (("0.1:1.1:0.1",), "E834", "from 0.2 to 5"),
        (("0.9:1.1:0.1", "--at", "9000"), "E833", "3200"),
    ],
)
def test_what_cannot_be_scanned_is_refused_before_anything_is_migrated(
    words, code, said, line: Path, subsalt_command, monkeypatch
) -> None:
    monkeypatch.chdir(line)
    coarse = Grid((91, 35), (40.0, 40.0))
    volume.write(line / "coarse.rsf", coarse, np.ones(coarse.shape, np.float32))
    volume.write(line / "empty.rsf", SMALL.grid, np.zeros(SMALL.grid.shape, np.float32))
    status, _, err = subsalt_command("vscan", "line.toml", *words, "--run", "refused.run")
    assert status != 0
    assert code in err
    assert said in err
    assert not (line / "refused.vscan").exists()


def test_events_stay_at_their_vertical_time() -> None:
    """A layer 4 % slower lifts what is below it; at equal time an event lies where it lay."""
    dz, z = 5.0, 5.0 * np.arange(201)
    given = np.where((z >= 400) & (z < 700), 2500.0, 2000.0)
    slow = np.where((z >= 400) & (z < 700), 2400.0, 2000.0)
    time = np.interp(800.0, z, vertical_time(given, dz))
    lifted = float(np.interp(time, vertical_time(slow, dz), z))
    # the layer takes 300 / 2400 - 300 / 2500 = 5 ms more, 10 m at 2000 m/s
    assert lifted == pytest.approx(790.0, abs=1e-6)
    gather = np.exp(-(((z - lifted) / 30) ** 2))[None]
    back = at_equal_time(gather, slow, Reference(given, dz, np.zeros(1)))
    assert abs(z[back[0].argmax()] - 800.0) <= dz


def test_a_map_is_the_median_of_neighbours_and_linear_between() -> None:
    x, z = np.arange(7) * 100.0, np.arange(11) * 100.0
    scale = np.full((7, 2), 1.02)
    scale[3] = 1.5
    scale[5, 1] = np.nan
    depth = np.tile([300.0, 700.0], (7, 1))
    assert np.allclose(over_neighbours(scale), 1.02)
    flat = ScaleMap(x, depth, scale, np.ones((7, 2)), *[np.zeros((7, 2), bool)] * 2, np.ones((1, 7, 2)))
    assert np.allclose(spread(flat, x, z), 1.02)
    scale = np.tile([1.0, 1.04], (7, 1))
    sloped = ScaleMap(x, depth, scale, np.ones((7, 2)), *[np.zeros((7, 2), bool)] * 2, np.ones((1, 7, 2)))
    assert np.allclose(spread(sloped, x, z)[:, 5], 1.02)
    assert flat.median()[0] == pytest.approx(1.02)


def test_a_layer_goes_on_below_its_base_while_its_scales_are_judged() -> None:
    vp = np.tile([2000.0, 2500.0, 2600.0, 3000.0, 3500.0], (3, 1))
    inside = np.zeros((3, 5), bool)
    inside[:2, 1:3] = True
    part = ScaledPart(inside, "the layer", layer=True)
    flooded = part.flooded(vp, 1.1)
    assert np.allclose(flooded[:2], [2000.0, 2750.0, 2860.0, 2860.0, 2860.0])
    assert np.array_equal(flooded[2], vp[2].astype(np.float32))
    # neither in the new velocity nor of a part that is no layer
    assert np.allclose(part.scaled(vp, 1.1)[0], [2000.0, 2750.0, 2860.0, 3000.0, 3500.0])
    other = ScaledPart(inside, "below")
    assert np.array_equal(other.flooded(vp, 1.1), other.scaled(vp, 1.1))


def test_dark_places_and_flat_curves_say_no_scale() -> None:
    energy = np.array([[1.0, 1.0], [1.01 * LIT, 0.99 * LIT]])
    sharp = np.full((2, 2), 0.01)
    assert unclear_of(energy, sharp, (0.9, 1.0, 1.1)).tolist() == [[False, False], [False, True]]
    sigma = np.array([[1.01 * SHARP * 0.2, 0.99 * SHARP * 0.2], [np.inf, 0.01]])
    assert unclear_of(np.ones((2, 2)), sigma, (0.9, 1.0, 1.1)).tolist() == [[True, False], [False, False]]
