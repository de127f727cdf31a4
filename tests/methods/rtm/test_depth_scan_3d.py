"""A depth scan of a volume: the planted error of one layer comes out of the gathers that rays give, and is taken back.

`make prove-gathers` has the same with waves; here every migration writes the gathers that exact rays give it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.io.volumes import volume
from subsalt.io.volumes.depth_gathers import GatherColumns, write_gathers
from subsalt.io.volumes.planes import OwnPlanes
from subsalt.methods.rtm.depth_scan import ScaleMap, over_neighbours, spread
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.scaled_part import part_of
from subsalt.methods.rtm.vscan import DepthScanner
from subsalt.parallel.comm import single
from subsalt.run.velocity_scan import ScanRequest

GRID = Grid((13, 9, 141), (50.0, 50.0, 10.0))
#: base of the upper layers, m; velocities, m/s; the given one of the second over the true one
TOP, BASE, ABOVE, TRUE, BELOW, ERROR, F0 = 800.0, 1100.0, 2000.0, 2500.0, 3000.0, 1.04, 15.0
ANGLES, COLUMNS = np.arange(-40.0, 40.5, 2.0), ((0, 4, 8, 12), (0, 4, 8))
JOB = """
[data]
files = "line.sgy"
[model]
vp = "vp.rsf"
[source]
f0 = 15
[propagation]
grid = "model"
[imaging]
gathers = { max = 400, every = 4 }
"""


def layered(error: float) -> np.ndarray:
    """Return the velocity of the model, that of the second layer times `error`."""
    z = GRID.axis(2)
    column = np.where(z < TOP, ABOVE, np.where(z < BASE, TRUE * error, BELOW)).astype(np.float32)
    return np.broadcast_to(column, GRID.shape).copy()


def event_of_base(migrated: float) -> np.ndarray:
    """Return the depth of the base at every angle where a velocity goes on below the top of the layer.

    A ray of slowness p along x takes T to the base and goes X aside, in the true layers. With that time it ends in the
    migrated ones at z, h before X, where its event has the slope tan(gamma): it is at z - h tan(gamma) at h = 0.
    """
    gamma = np.radians(ANGLES)
    p = np.sin(gamma) / migrated
    cosines = [np.sqrt(1 - (p * v) ** 2) for v in (ABOVE, TRUE)]
    aside = [d * p * v / c for d, v, c in zip((TOP, BASE - TOP), (ABOVE, TRUE), cosines, strict=True)]
    left = (BASE - TOP) / (TRUE * cosines[1]) * migrated  # of the way, in the layer
    h = aside[1] - left * np.sin(gamma)
    return TOP + left * np.cos(gamma) - h * np.tan(gamma)


def migrate(job: Any, run: Path, word: str) -> None:
    """Write what a migration writes: image, gathers, and the facts that are read."""
    vp = volume.read(job.resolve(job.model.vp.file)).values
    inside = float(vp[0, 0, round(BASE / 10.0)])  # the layer goes on below its base
    run.mkdir(parents=True)
    apart = GRID.axis(2)[None] - event_of_base(inside)[:, None]
    a = (np.pi * F0 * 2 * np.cos(np.radians(ANGLES))[:, None] * apart / inside) ** 2
    gather = (np.cos(np.radians(ANGLES)) ** 2)[:, None] * (1 - 2 * a) * np.exp(-a)
    rng = np.random.default_rng(round(1000 * inside))
    shape = (len(COLUMNS[0]), len(COLUMNS[1]), *gather.shape)
    values = (gather + 0.05 * rng.standard_normal(shape)).astype(np.float32)
    image = np.broadcast_to(gather.sum(axis=0), GRID.shape).astype(np.float32)
    volume.write(run / "image.sgy", GRID, image)
    places = GatherColumns(*COLUMNS, ANGLES.tolist(), "half opening angle, degrees")
    write_gathers(run / "gathers.sgy", OwnPlanes(0, values, single()), GRID, places)
    said = {
        "kind": "angle",
        "columns": COLUMNS,
        "half_offsets_m": {"x": [0.0]},
        "angles_deg": ANGLES.tolist(),
    }
    grid = {"shape": GRID.shape, "spacing": GRID.spacing, "origin": GRID.origin}
    (run / "run.json").write_text(json.dumps({"dt": 0.002, "gathers": said, "image_grid": grid}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with model, mask and job."""
    made = tmp_path_factory.mktemp("box")
    volume.write(made / "vp.rsf", GRID, layered(ERROR))
    z = GRID.axis(2)
    inside = np.broadcast_to((z >= TOP) & (z < BASE), GRID.shape).astype(np.float32)
    volume.write(made / "layer.rsf", GRID, inside)
    (made / "box.toml").write_text(JOB)
    return made


def scanner(folder: Path, **more: Any) -> DepthScanner:
    """Return a scan of the job."""
    return DepthScanner(Job.from_toml(folder / "box.toml"), ScanRequest("0.92:1:0.02", **more))


def test_rays_of_the_right_velocity_are_flat() -> None:
    assert np.allclose(event_of_base(TRUE), BASE)
    # too fast bends down
    assert (np.diff(event_of_base(TRUE * ERROR)[len(ANGLES) // 2 :]) > 0).all()


def test_the_error_of_a_layer_is_found_in_a_volume_and_taken_back(folder: Path) -> None:
    """To 0.5 % by the median of the places, with white noise in the gathers; the update, whose map is a median over
    neighbours, is right to as much.
    """
    scan = scanner(folder, places=[(400.0, 200.0)], mask=folder / "layer.rsf", update=True)
    scan.check_places()
    scan.migrate(folder / "box.run", migrate)
    made, lines, pictures, said = scan.measure()
    assert made == folder / "box_layer.vscan"
    assert [r.name for r in scan.runs] == [f"scale_{s}.run" for s in ("0.92", "0.94", "0.96", "0.98", "1")]
    assert (said["x_m"][:4], said["y_m"][:4]) == ([0.0, 0.0, 0.0, 200.0], [0.0, 200.0, 400.0, 0.0])
    scales = np.array(said["best_scale"], np.float64)
    assert scales.shape == (12, 1)
    assert abs(np.median(scales) * ERROR - 1) <= 0.005
    updated = volume.read(said["updated_file"])
    assert updated.grid == GRID
    layer = volume.read(folder / "layer.rsf").values != 0
    assert np.abs(updated.values[layer] / TRUE - 1).max() <= 0.005
    assert np.array_equal(updated.values[~layer], layered(ERROR)[~layer])
    assert [p.name for p in pictures] == ["vscan.png", "vscan_x400_y200.png"]
    assert "y (m)" in lines[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"places": [(400.0,)]},
            "is no x,y of the model, which goes from 0 to 600 m along x and from 0 to 400 m along y",
        ),
        ({"places": [(400.0, 500.0)]}, "is no x,y of the model"),
        ({"below": "1500"}, "at x = 0 m, y = 0 m the horizon lies at 1500 m"),
        ({"below": "torn.txt"}, "3 points do not fill a rectangle of 2 x by 2 y"),
    ],
)
def test_what_does_not_lie_in_the_volume_is_refused(folder: Path, monkeypatch, more, said: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "torn.txt").write_text("0 0 900\n600 0 900\n0 400 900\n")
    with pytest.raises(ConfigError, match="--") as caught:
        scanner(folder, **more).check_places()
    assert said in str(caught.value)


def test_a_horizon_of_points_is_linear_between_them(tmp_path: Path) -> None:
    points = [(0, 0, 500), (600, 0, 500), (0, 400, 700), (600, 400, 900)]
    (tmp_path / "h.txt").write_text("".join(f"{x} {y} {z}\n" for x, y, z in points))
    part = part_of(ScanRequest("0.9:1.1:0.1", below=str(tmp_path / "h.txt")), GRID)
    first = np.argmax(part.inside, axis=2) * 10.0
    assert part.inside.shape == GRID.shape
    # in the middle of the rectangle their mean
    assert (first[0, 0], first[12, 8], first[6, 4]) == (500.0, 900.0, 650.0)


def test_a_map_of_lines_is_the_median_of_both_directions_and_linear_between_lines() -> None:
    x, y = (a.ravel() for a in np.meshgrid(np.arange(5) * 100.0, np.arange(4) * 50.0, indexing="ij"))
    scale = np.full((20, 1), 1.02)
    scale[9] = 1.5
    none = np.zeros((20, 1), bool)
    one = ScaleMap(x, np.full((20, 1), 700.0), scale, scale, none, none, np.ones((1, 20, 1)), y, 4)
    assert np.allclose(over_neighbours(scale, 4), 1.02)
    at = np.arange(9) * 50.0, np.arange(3) * 400.0, np.array([0.0, 25.0, 75.0, 150.0, 200.0])
    assert np.allclose(spread(one, *at), 1.02)
    # the first line says 1, the last one 1.04, the second and third nothing
    values = np.full((20, 1), np.nan)
    values[0::4], values[3::4] = 1.0, 1.04
    sloped = ScaleMap(x, one.depth, values, scale, none, none, one.semblance, y, 4)
    smooth = over_neighbours(values, 4).reshape(5, 4)
    assert np.allclose(smooth, [1.0, 1.02, 1.02, 1.04])
    made = spread(sloped, *at)
    assert made.shape == (9, 5, 3)
    assert np.allclose(made[4, :, 1], [1.0, 1.01, 1.02, 1.04, 1.04])
