"""A model against the echoes at small offsets: turned around, exchanged, in feet, or in time."""

from __future__ import annotations

import numpy as np
import pytest
from planted.run import Bench
from planted.surveys import write_volume
from rules_alone import rules_on
from scipy.ndimage import gaussian_filter

from subsalt.check.echo_fits import likeness
from subsalt.earth.grid import Grid
from subsalt.methods.rtm.job import Job


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("echoes"))


def findings_by_code(bench, change, base="line", grid=lambda g: g, **tables):
    """Return the findings on a survey whose velocities are changed, by code."""
    with bench.folders() as folder_of:
        case = bench.case(base).moved(folder_of())
        write_volume(
            case.folder / "vp.rsf", grid(case.world.grid), change(case.world.model["vp"].astype(float))
        )
        case.job |= tables
        return {f.code: f for f in rules_on(Job.from_toml(case.write_job())).findings if f.is_fault}


def rock(factor):
    return lambda v: np.where(v < 1501, v, factor * v)


def smoothed(cells):
    return lambda v: 1 / gaussian_filter(1 / v, cells, mode="nearest")


def deeper(rows):
    return lambda v: np.concatenate([np.repeat(v[:, :1], rows, 1), v[:, :-rows]], axis=1)


def test_a_model_turned_around_is_told_and_how_to_turn_it(bench):
    said = findings_by_code(bench, lambda v: v[::-1])["W371"]
    assert "x axis runs backward" in said.message
    assert '[model] vp = {file = "vp.rsf", flip = "x"}' in said.fix


def test_a_model_that_the_job_turns_wrongly_is_turned_back(bench):
    turned = {"model": {"vp": {"file": "vp.rsf", "flip": "x"}}}
    assert '[model] vp = {file = "vp.rsf"}' in findings_by_code(bench, np.array, **turned)["W371"].fix


def test_lengths_in_feet_are_told_by_echoes(bench):
    feet = findings_by_code(
        bench, np.array, grid=lambda g: Grid(g.shape, tuple(h / 0.3048 for h in g.spacing), g.origin)
    )
    assert "spacing = [10.0, 10.0]" in feet["W371"].fix


@pytest.mark.parametrize(
    "change",
    [np.array, rock(0.85), rock(0.9), rock(1.15), smoothed(2), smoothed(10), deeper(4)],
    ids=["right", "15 % slow", "10 % slow", "15 % fast", "smooth", "very smooth", "40 m deeper"],
)
def test_wrong_velocities_and_smooth_models_are_read_no_other_way(bench, change):
    assert not {"W371"} & findings_by_code(bench, change).keys()


def test_nothing_is_said_where_first_breaks_are_to_be_ignored(bench):
    data = bench.case("line").job["data"] | {"first_breaks": "ignore"}
    assert "W371" not in findings_by_code(bench, lambda v: v[::-1], data=data)


def test_the_same_traces_are_alike_and_noise_is_not():
    noise = np.random.default_rng(3).standard_normal((2, 30, 400))
    assert likeness(noise[0], np.roll(-noise[0], 3, axis=1), 5) > 0.95
    assert likeness(*noise, 5) < 0.05


def levels(bench, change=np.array, base="line", grid=lambda g: g):
    """Return level and text of what is said of echoes."""
    with bench.folders() as folder_of:
        case = bench.case(base).moved(folder_of())
        write_volume(
            case.folder / "vp.rsf", grid(case.world.grid), change(case.world.model["vp"].astype(float))
        )
        said = rules_on(Job.from_toml(case.write_job())).findings
        return [
            (f.level, f.message) for f in said if f.code in ("W371", "W372") or f.message.startswith("echoes")
        ]


@pytest.mark.parametrize("base", ["line", "spread", "foothills"])
def test_the_correlation_of_a_right_model_is_said(bench, base):
    ((level, text),) = levels(bench, base=base)
    assert level == "ok"
    assert "correlation 0." in text


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_model_of_other_depths_is_no_ok(bench, factor):
    grid = lambda g: Grid(g.shape, (*g.spacing[:-1], factor * g.spacing[-1]), g.origin)  # noqa: E731
    ((level, text),) = levels(bench, grid=grid)
    assert level == "warning"
    assert "not those of the data" in text
    assert "would be if its spacing along z is 10 m" in text


def test_a_model_without_echoes_is_not_checked(bench):
    ((level, text),) = levels(bench, lambda v: np.where(v < 1501, v, smoothed(20)(np.maximum(v, 1750))))
    assert level == "unchecked"
    assert "the model has none" in text
