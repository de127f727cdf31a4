"""The report of a time migration: blocks instead of shots, parameters under the names they have in the field."""

import json
import re

import numpy as np
import pytest

from subsalt import report, view
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.image_fold import fold_map
from subsalt.methods.kirchhoff.report import PARAMETERS
from subsalt.report.facts import gather

GRID = ImageGrid((1, 21, 1), (1, 200, 1), (5e5, 6e6), (0.0, 15.0), (15.0, 0.0), TimeAxis(625, 0.008))
FACTS = {
    "version": "0.5.0",
    "method": "kirchhoff",
    "run_id": "4f6a" * 16,
    "title": "Small case",
    "state": "finished",
    "job": {
        "method": "kirchhoff",
        "velocity": {"v": {"value": 2000.0}, "scale": 1.05},
        "kirchhoff": {"weighting": "bin", "trace_block": "auto", "memory": "auto", "save_every": 60.0},
    },
    "job_given": {
        "method": "kirchhoff",
        "kirchhoff": {"bands": 10, "inline": {"first": 1}},
        "velocity": {"v": 2000, "scale": 1.05},
    },
    "image_grid": GRID.to_dict(),
    "options": {
        "amplitude": "3d",
        "aperture": None,
        "aperture_taper": 0.1,
        "dip": 45.0,
        "dip_taper": 0.1,
        "antialias": "bands",
        "antialias_spacing": [15.0, 15.0],
        "bands": 10,
        "band_choice": "interpolate",
        "stretch_mute": 0.3,
        "stretch_taper": 0.2,
        "interpolation": "sinc",
        "traveltime": "straight",
    },
    "classes": {"kind": "offset", "offsets": [150.0, 250.0], "edges": [100.0, 200.0, 300.0], "sectors": 1},
    "velocity": {"kind": "constant", "v": 2000.0},
    "traces": {"usable": 70_808, "in_classes": 70_000},
    "traces_summed": 140_000,
    "contributions": 123_456_789_012,
    "contributions_per_second": 1.7e9,
    "parallel": {"ranks": 1, "trace_block": 1024},
    "memory_plan": {"program": 1e8, "sums": 2e8},
    "peak_memory_bytes": 310_000_000,
    "phases": {"sum": 60.0, "unexplained": 0.5, "wall": 60.5},
    "blocks": [{"id": n, "state": "done", "seconds": 30.0, "sha256": f"{n:02x}" * 32} for n in (1, 2)],
    "image": {"path": "image.sgy", "sha256": "ab" * 32},
}


def page(tmp_path, **more):
    """Return the report of a run as text without tags."""
    (tmp_path / "run.json").write_text(json.dumps({**FACTS, **more}))
    html = report.write(tmp_path).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", html)), html


def test_blocks_stand_where_shots_would(tmp_path):
    text, _ = page(tmp_path)
    assert "Blocks of the image" in text
    assert "2 of 2 blocks in the image" in text
    assert "01" * 32 in text
    assert "shot" not in text.replace("snapshot", "")


def test_the_numbers_of_a_time_migration(tmp_path):
    text, _ = page(tmp_path)
    for said in (
        "21 x 200 locations",
        "625 of 8 ms samples",
        "2 image traces at each location",
        "70 000 of 70 808 traces summed",
        "123 456 789 012 contributions",
        "1.7 G contributions/s",
        "2.00 times a trace was read",
        "103% of the plan",
    ):
        assert said in text


@pytest.mark.parametrize(
    ("name", "value", "mark"),
    [
        ("Output inlines: minimum, maximum, increment", "1 to 21 by 1", "given"),
        ("Corner points of the grid", "(1, 1) at 500000.00, 6000000.00 m; (1, 200) at 502985.00", "default"),
        ("Bin size", "15 x 15 m", "default"),
        ("Output times", "0 to 4.992 s by 8 ms", "default"),
        ("Image gather type", "offset classes", "default"),
        ("Offset classes", "2 from 100 to 300 m", "default"),
        ("Amplitude and phase correction", "3-D: weight W3, time derivative", "default"),
        ("Migration aperture by distance", "all", "default"),
        ("Migration aperture by dip", "45 degrees", "default"),
        ("Antialias inline, crossline spacing", "15 x 15 m", "default"),
        ("Number of alias bands", "10", "given"),
        ("Stretch mute: maximum stretch", "30 %", "default"),
        ("Scale of the velocity", "1.05", "given"),
        ("Anisotropy (eta)", "none", "default"),
        ("Restart point every", "60 s", "default"),
        ("Traveltime", "straight rays", "default"),
        ("Cache blocks (traces at a time)", "1 024 traces (auto)", "default"),
    ],
)
def test_parameters_have_their_names_in_the_field(name, value, mark, tmp_path):
    _, html = page(tmp_path)
    [row] = [r for r in re.findall(r"<tr[^>]*>.*?</tr>", html) if f"<td>{name}</td>" in r]
    cells = re.findall(r"<td>(.*?)</td>", row)
    assert cells[1].startswith(value)
    assert cells[-1] == mark, row


def test_every_parameter_names_a_key_that_there_is():
    from subsalt.methods.kirchhoff.sections import KirchhoffSection
    from subsalt.methods.kirchhoff.velocity.section import VelocitySection

    known = {
        "method",
        "data.files",
        *KirchhoffSection.model_fields,
        *(f"velocity.{k}" for k in VelocitySection.model_fields),
    }
    named = {k for _, key, _ in PARAMETERS for k in key.split(" or ")}
    assert named <= known
    # what only places the grid or bounds a taper stands with its neighbour
    assert {*KirchhoffSection.model_fields} - named <= {"origin", "azimuth", "spacing", "first_azimuth"}


def test_a_run_without_bands_or_mute_says_so(tmp_path):
    options = FACTS["options"] | {"antialias": "none", "stretch_mute": None, "antialias_spacing": None}
    text, _ = page(tmp_path, options=options)
    assert "Number of alias bands" not in text
    assert re.search(r"maximum stretch +off", text)
    assert re.search(r"crossline spacing +the bins", text)


def test_a_run_on_its_way_counts_blocks(tmp_path):
    blocks = [FACTS["blocks"][0], {"id": 2, "state": "running"}]
    text, _ = page(tmp_path, state="running", blocks=blocks)
    assert "not finished: 1 of 2 blocks done" in text


def test_pictures_of_a_time_migration_stand_in_reading_order(tmp_path, undrawn):
    folder = tmp_path / "pictures"
    folder.mkdir()
    small = ImageGrid((1, 3, 1), (1, 8, 1), (0.0, 0.0), (0.0, 15.0), (15.0, 0.0), TimeAxis(20, 0.008))
    image = np.random.default_rng(1).normal(size=(3, 8, 20))
    gathers = [view.ImageGather(1, 1, np.arange(5.0), image[0, :5], image[0, 0])]
    with undrawn():
        view.time_sections(image, small, folder / "image.png")
        fold_map(np.ones((3, 8)), small, folder / "fold.png")
        view.image_gathers(gathers, small.time, folder / "gathers.png")
    (tmp_path / "run.json").write_text(json.dumps(FACTS))
    names = [p.name for p in gather(tmp_path).pictures]
    assert names == ["image", "image_inline", "image_crossline", "image_slice", "gathers", "fold"]
