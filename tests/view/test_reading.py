import json

import numpy as np
import pytest
from PIL import Image

from subsalt import view
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid
from subsalt.errors import CorruptionError, DataError, MissingInputError, ModelError
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.view.run_image import filtered, partial_sum, read_run
from thorough import some


def write_run(folder, grid, image=None):
    """Leave a run directory with run.json and, when given, an image."""
    folder.mkdir()
    facts = {"title": "a run", "run_id": "ab" * 32, "shots": [{"id": i} for i in range(5)]}
    facts["grid"] = {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin}
    if image is not None:
        volume.write(folder / "image.rsf", grid, image)
        facts["image"] = {"path": "image.rsf"}
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


def write_parts(folder, grid):
    """Leave two overlapping partial images; return what their sum must be."""
    (folder / "images").mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    c, i = np.zeros(grid.shape3), np.zeros(grid.shape3)
    for n, (lo, hi) in enumerate([((0, 0, 0), (60, 1, 61)), ((30, 0, 0), (101, 1, 61))], 1):
        shape = tuple(h - l for l, h in zip(lo, hi, strict=True))
        part = {"correlation": rng.normal(size=shape), "illumination": rng.random(shape)}
        part = {k: v.astype(np.float32) for k, v in part.items()}
        np.savez(folder / "images" / f"shot_{n:06d}.npz", lo=lo, hi=hi, **part)
        cut = tuple(slice(l, h) for l, h in zip(lo, hi, strict=True))
        c[cut] += part["correlation"]
        i[cut] += part["illumination"]
    return (c / (i + 0.01 * i.mean())).reshape(grid.shape)


def test_a_finished_run_shows_its_image(line, tmp_path):
    grid, image, model, survey = line
    run = write_run(tmp_path / "a.run", grid, image)
    shown = read_run(run)
    np.testing.assert_array_equal(shown.values, image)
    [path] = view.picture(run, tmp_path / "a.png", model=model, survey=survey)
    text = Image.open(path).text
    assert text["Title"] == "a run"
    assert text["Run"] == "ab" * 32


def test_a_run_on_its_way_shows_the_sum_so_far(line, tmp_path):
    grid = line[0]
    run = write_run(tmp_path / "a.run", grid)
    expected = write_parts(run, grid)
    shown = read_run(run)
    np.testing.assert_allclose(shown.values, expected, rtol=1e-12)
    assert shown.title == "a run: 2 of 5 shots so far"
    view.picture(run, tmp_path / "a.png")
    # without run.json the grid of the job is enough
    (run / "run.json").unlink()
    with pytest.raises(DataError, match="does not say the grid"):
        read_run(run)
    (run / "job.resolved.toml").write_text("[grid]\nspacing = [10.0, 10.0]\nshape = [101, 61]\n")
    np.testing.assert_allclose(read_run(run).values, expected, rtol=1e-12)


def test_a_partial_image_is_filtered_and_muted_as_the_job_says():
    grid = Grid((9, 7, 21), (10.0, 20.0, 5.0))
    x, y, z = np.meshgrid(*[grid.axis(i) for i in range(3)], indexing="ij")
    quadratic = 3 * x**2 + 2 * y**2 - z**2
    assert filtered(quadratic, grid, None) is quadratic
    out = filtered(quadratic, grid, {"filter": "laplacian", "top_mute": 30.0})
    # second differences of a quadratic are exact up to rounding: 6 + 4 - 2 = 8
    np.testing.assert_allclose(out[1:-1, 1:-1, 6:-1], -8.0, atol=1e-8)
    assert not out[..., :6].any()


def test_what_is_no_image_is_refused(line, tmp_path):
    grid, image, _, _ = line
    run = write_run(tmp_path / "a.run", grid)
    with pytest.raises(DataError, match="neither an image nor partial images"):
        view.picture(run, tmp_path / "a.png")
    with pytest.raises(MissingInputError, match="does not exist"):
        view.picture(tmp_path / "absent", tmp_path / "a.png")
    volume.write(tmp_path / "secret.rsf", grid, image)
    (run / "run.json").write_text(json.dumps({"image": {"path": "../secret.rsf"}}))
    with pytest.raises(CorruptionError, match="outside the run"):
        view.picture(run, tmp_path / "a.png")
    (run / "run.json").write_text("{")
    with pytest.raises(CorruptionError, match="cannot be read"):
        view.picture(run, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_a_damaged_partial_image_is_named(line, tmp_path):
    grid = line[0]
    run = write_run(tmp_path / "a.run", grid)
    write_parts(run, grid)
    bad = run / "images" / "shot_000002.npz"
    bad.write_bytes(bad.read_bytes()[:100])
    with pytest.raises(CorruptionError, match="shot_000002"):
        read_run(run)
    np.savez(bad, lo=(0, 0, 0), hi=(500, 1, 61), correlation=np.zeros((500, 1, 61)))
    with pytest.raises(CorruptionError, match="shot_000002"):
        partial_sum([bad], grid)


@pytest.mark.parametrize("suffix", some([".sgy", ".rsf", ".npz"], 1))
def test_volumes_of_any_format_are_drawn(area, suffix, tmp_path, monkeypatch):
    grid, image, model, _ = area
    monkeypatch.chdir(tmp_path)
    volume.write(tmp_path / f"im{suffix}", grid, image)
    assert [p.name for p in view.picture(tmp_path / f"im{suffix}")] == [
        "im.png", "im_inline.png", "im_crossline.png", "im_depth.png",
    ]  # fmt: skip
    # a quantity without a sign is drawn in colour
    volume.write(tmp_path / f"vp{suffix}", grid, model.vp)
    [path] = view.picture(tmp_path / f"vp{suffix}", tmp_path)
    rgb = np.asarray(Image.open(path)).astype(int)
    assert (np.abs(rgb[..., 0] - rgb[..., 2]) > 40).mean() > 0.2


def test_of_several_arrays_vp_is_drawn_unless_one_is_named(tmp_path):
    grid = Grid((20, 15), (10.0, 10.0))
    a = np.ones(grid.shape, dtype=np.float32)
    np.savez(tmp_path / "m.npz", vp=2000 * a, rho=a, spacing_m=[10.0, 10.0])
    assert view.picture(tmp_path / "m.npz", tmp_path / "a.png")
    assert view.picture(tmp_path / "m.npz", tmp_path / "b.png", key="rho")
    np.savez(tmp_path / "n.npz", one=a, two=a, spacing_m=[10.0, 10.0])
    with pytest.raises(ModelError, match="several arrays"):
        view.picture(tmp_path / "n.npz", tmp_path / "c.png")


def test_traces_without_geometry_are_drawn_in_file_order(tmp_path):
    import segyio

    # a file as other programs leave it: no sources, no receivers, no coordinates, no interval
    spec = segyio.spec()
    spec.format, spec.sorting, spec.samples, spec.tracecount = 5, 1, range(50), 7
    with segyio.create(tmp_path / "t.sgy", spec) as file:
        for i in range(7):
            file.trace[i] = np.random.default_rng(i).normal(size=50).astype(np.float32)
    [path] = view.picture(tmp_path / "t.sgy", tmp_path / "t.png")
    assert Image.open(path).text["Title"].startswith("t.sgy: 7 of 7 traces")


def test_shots_in_segy_are_drawn_as_gathers(tmp_path):
    src = [(100.0, 50.0, 5.0), (200.0, 50.0, 5.0)]
    rcv = [(x, 50.0, 0.0) for x in np.arange(0.0, 400.0, 25.0)]
    data = np.random.default_rng(1).normal(size=(2, 16, 100))
    survey = Survey.from_arrays(src, rcv, nt=100, dt=0.004, data=data)
    write_survey(tmp_path / "s.sgy", survey)
    [path] = view.picture(tmp_path / "s.sgy", tmp_path / "s.png")
    assert Image.open(path).text["Title"] == "shots of s.sgy"
    [only] = view.picture(tmp_path / "s.sgy", tmp_path / "t.png", shots=[2], draw="grey")
    assert Image.open(only).width < Image.open(path).width
