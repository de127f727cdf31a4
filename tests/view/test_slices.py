import gc

import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError, ModelError
from subsalt.view import palettes
from subsalt.view.cuts import cuts_at
from subsalt.view.gate import Flag, worst
from subsalt.view.pages import LEFT, TOP, fit
from subsalt.view.style import DPI


def axes_pixels(path, grid):
    """Return the grey values inside the axes of a 2-D section."""
    grey = np.asarray(Image.open(path).convert("L")).astype(float)
    wide, tall, _ = fit(grid.shape[0] * grid.spacing[0], grid.shape[1] * grid.spacing[1], None, (8.6, 6.2))
    top, left = round(TOP * DPI) + 3, round(LEFT * DPI) + 3
    return grey[top : top + round(tall * DPI) - 6, left : left + round(wide * DPI) - 6]


def test_a_reflector_lies_at_its_depth_dark_and_depth_points_down(line, tmp_path):
    grid, image, _, _ = line
    image = image.copy()
    image[:, :15] = 0
    image[:, 45:] *= 0
    path = view.sections(image, grid, tmp_path / "a.png")["section"]
    rows = axes_pixels(path, grid).mean(axis=1)
    # 61 cells of 10 m from -5 to 605 m; the darkest row stands for 300 m, to two pixels
    depth = -5 + 610 * np.argmin(rows) / len(rows)
    assert depth == pytest.approx(300, abs=2 * 610 / len(rows) + 5)


def test_aspect_is_true_in_metres(tmp_path):
    wide, tall, ratio = fit(3000.0, 1000.0, None, (9.0, 6.0))
    assert wide / tall == pytest.approx(3.0)
    assert ratio == 1
    wide, tall, ratio = fit(30_000.0, 1000.0, None, (9.0, 6.0))
    assert wide / tall <= 8
    assert ratio == pytest.approx(4.0)
    assert fit(30_000.0, 1000.0, 2.0, (9.0, 6.0))[2] == 2.0


def test_3d_gives_overview_and_three_planes(area, tmp_path):
    grid, image, model, survey = area
    out = view.sections(
        image,
        grid,
        tmp_path / "image.png",
        model=model,
        survey=survey,
        reflectors=[{"name": "flat", "depth": np.full(grid.shape[:2], 250.0)}],
        run_id="0123abcd",
    )
    assert set(out) == {"overview", "inline", "crossline", "depth"}
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "image.png",
        "image_crossline.png",
        "image_depth.png",
        "image_inline.png",
    ]
    for path in out.values():
        picture = Image.open(path)
        assert picture.text["Run"] == "0123abcd"
        assert picture.mode == "RGB"
    for name in ("inline", "crossline"):
        # coloured: the velocity is over it
        rgb = np.asarray(Image.open(out[name])).astype(int)
        assert (np.abs(rgb[..., 0] - rgb[..., 2]) > 20).mean() > 0.2


def test_tint_keeps_black_and_white_and_leaves_grey_without_it():
    values, vp = np.array([[-1.0, 0.0, 1.0]]), np.array([[2000.0, 3000.0, 4000.0]])
    plain, _ = palettes.tinted(values, (-1.0, 1.0), "grey", vp, (2000.0, 4000.0), 0.0)
    np.testing.assert_allclose(plain[0, :, 0] / 255, [1.0, 0.5, 0.0], atol=0.01)
    full, key = palettes.tinted(values, (-1.0, 1.0), "grey", vp, (2000.0, 4000.0), 1.0)
    np.testing.assert_allclose(full[0, [0, 2], :3] / 255, [[1.0] * 3, [0.0] * 3], atol=0.01)
    # the colour bar shows the colour that zero amplitude takes there, to the two steps of a palette of 256
    np.testing.assert_allclose(full[0, 1, :3] / 255, key.to_rgba(3000.0)[:3], atol=0.01)
    assert (full[..., 3] == 255).all()


def test_a_large_section_is_drawn_by_means_and_some_rows_at_a_time():
    values = np.arange(7.0 * 10, dtype=np.float32).reshape(7, 10)
    np.testing.assert_array_equal(palettes.reduced(values, (100, 100)), values)
    small = palettes.reduced(values, (1.5, 2.5))
    assert small.shape == (3, 5)
    # bins that differ by a point at most, of which every point has a place
    np.testing.assert_allclose(small[0, 0], values[:2, :2].mean())
    np.testing.assert_allclose(small[2, 4], values[4:, 8:].mean())
    large = np.linspace(-1, 1, palettes.COLOURED + 300, dtype=np.float32).reshape(-1, 4)
    whole = palettes.in_bytes(large.shape, lambda rows: np.abs(large[rows, :, None].repeat(3, 2)))
    np.testing.assert_array_equal(whole[..., 0], np.rint(255 * np.abs(large)))


def test_same_input_same_bytes_and_the_memory_of_pictures_goes_with_them(tmp_path, line):
    gc.collect()
    grid, image, model, survey = line
    figures = []
    for name in ("a", "b"):
        view.sections(image, grid, tmp_path / f"{name}.png", model=model, survey=survey, run_id="1")
        figures.append(sum(type(o).__name__ == "Figure" for o in gc.get_objects()))
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert figures[0] == figures[1]


def test_planes_are_cut_at_the_nearest_point():
    grid = Grid((11, 21, 31), (10.0, 10.0, 10.0), (100.0, 0.0, 0.0))
    planes = cuts_at(grid, (146.0, 33.0, 1e9))
    assert (planes["crossline"].index, planes["inline"].index, planes["depth"].index) == (5, 3, 30)
    assert planes["crossline"].at == 150.0
    volume = np.arange(grid.size).reshape(grid.shape)
    np.testing.assert_array_equal(planes["inline"].values(volume), volume[:, 3, :].T)
    np.testing.assert_array_equal(planes["depth"].values(volume), volume[:, :, 30].T)


def test_partial_and_odd_images_are_drawn(tmp_path):
    grid = Grid((20, 15), (5000.0, 10.0))
    image = np.zeros(grid.shape)
    image[3, 4] = np.nan
    view.sections(image, grid, tmp_path / "a.png", title="$\\frac{ \u202e <b>")
    view.sections(np.ones((1, 1, 1)), Grid((1, 1, 1), (1.0, 1.0, 1.0)), tmp_path / "b.png")


def test_wrong_input_is_named(line, tmp_path):
    grid, image, _, _ = line
    with pytest.raises(ModelError, match=r"image has shape \(61, 101\), the grid has \(101, 61\)"):
        view.sections(image.T, grid, tmp_path / "a.png")
    with pytest.raises(ModelError, match="vp has shape"):
        view.sections(image, grid, tmp_path / "a.png", model=image.T)
    with pytest.raises(ConfigError, match=r"\.png"):
        view.sections(image, grid, tmp_path / "a.jpg")
    with pytest.raises(ConfigError, match="palette"):
        view.sections(image, grid, tmp_path / "a.png", palette="rainbow")
    with pytest.raises(ConfigError, match="exaggeration"):
        view.sections(image, grid, tmp_path / "a.png", exaggeration=-1.0)
    assert list(tmp_path.iterdir()) == []


def test_model_has_one_picture_per_parameter(area, line, tmp_path):
    assert set(view.model(area[2], tmp_path / "m.png", survey=area[3])) == {"vp", "epsilon", "delta"}
    assert set(view.model(line[2], tmp_path)) == {"vp"}
    assert (tmp_path / "model.png").exists()


def test_compare_writes_one_picture(line, area, tmp_path):
    grid, image, _, _ = line
    flat = view.compare(image, 2 * image, grid, tmp_path / "a.png", difference=True, names=("ours", "theirs"))
    plain = view.compare(image, image, grid, tmp_path / "b.png")
    assert Image.open(flat).height > Image.open(plain).height
    view.compare(area[1], area[1], area[0], tmp_path / "c.png", plane="depth")


def test_a_tilt_is_white_at_zero_and_of_two_colours(tmp_path):
    grid = Grid((60, 40), (10.0, 10.0))
    theta = np.zeros(grid.shape, np.float32)
    theta[:20], theta[40:] = -30.0, 20.0
    np.savez(
        tmp_path / "m.npz", theta_deg=theta, vp=theta + 2000, spacing_m=grid.spacing, origin_m=grid.origin
    )
    (path,) = view.picture(tmp_path / "m.npz", tmp_path / "a.png", key="theta_deg")
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(int)
    wide, tall, _ = fit(600.0, 400.0, None, (8.6, 6.2))
    row = rgb[round((TOP + tall / 2) * DPI), round(LEFT * DPI) :][: round(wide * DPI)]
    left, middle, right = (row[int(len(row) * f)] for f in (1 / 6, 1 / 2, 5 / 6))
    assert left[2] > left[0] + 50
    assert right[0] > right[2] + 50
    assert middle.min() > 240


def test_a_model_shows_its_tilt_in_degrees(tmp_path):
    grid = Grid((30, 20), (10.0, 10.0))
    model = EarthModel(grid, 2000.0, 0.2, 0.1, theta=np.deg2rad(np.linspace(-40, 40, 600).reshape(30, 20)))
    made = view.model(model, tmp_path / "m.png")
    assert set(made) == {"vp", "epsilon", "delta", "theta"}
    about = Image.open(made["theta"]).text["Description"]
    assert "theta (degrees): -40 to 40" in about


def gate_pixels(path, colour):
    """Return how many pixels of a picture have a colour."""
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(int)
    want = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return int((np.abs(rgb - want).max(axis=-1) < 8).sum())


@pytest.mark.parametrize("shape", [(300, 120), (40, 30, 20)])
def test_the_gate_map_shows_a_single_bad_node(tmp_path, shape):
    grid = Grid(shape, (10.0,) * len(shape))
    model = EarthModel(grid, 2000.0, 0.2, 0.1, theta=np.full(shape, 0.5))
    nodes = np.zeros(shape, bool)
    empty = view.gate_map(model, tmp_path / "a.png", [])
    before = gate_pixels(empty, palettes.FLAGS[0])
    nodes[(3,) * len(shape)] = True
    marked = view.gate_map(
        model, tmp_path / "b.png", [view.Flag(nodes, "delta > epsilon at 1 node: delta is lowered")]
    )
    # a square of two points is three pixels wide, in the map and in the legend
    assert gate_pixels(marked, palettes.FLAGS[0]) >= before + 2 * 3


def test_the_planes_of_a_gate_map_go_through_the_worst_node(tmp_path):
    grid = Grid((40, 30, 20), (10.0,) * 3, (1000.0, 0.0, 0.0))
    strength = np.zeros(grid.shape)
    strength[7, 11, 13], strength[8, 2, 3] = 2.0, 1.0
    at = worst(EarthModel(grid, 2000.0), [Flag(strength > 5, "none"), Flag(strength > 0, "some", strength)])
    assert at == (1070.0, 110.0, 130.0)
