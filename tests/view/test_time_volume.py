import json

import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import SegyError
from subsalt.io.volumes.image_traces import open_image_traces
from subsalt.view.time_volume import TraceVolume, grid_of_traces

GRID = ImageGrid(
    (30, 10, -10), (7, 13, 2), (500.0, -200.0), (-3.0, 4.0), (20.0, 15.0), TimeAxis(6, 0.002, 0.1)
)


def file_of(path, grid, gathers=1):
    """Write image traces of a grid: value 100 i + j + its offset in the last place; return them (ni, nj, n, nt)."""
    numbers, at = (np.repeat(a, gathers, axis=0) for a in (grid.numbers(), grid.positions()))
    offset = np.tile(100 * np.arange(1, gathers + 1), grid.size)
    values = (
        (100.0 * numbers[:, 0] + numbers[:, 1])[:, None] + np.arange(grid.time.nt) + (offset / 1000)[:, None]
    )
    headers = {
        "inline": numbers[:, 0],
        "crossline": numbers[:, 1],
        "offset": offset if gathers > 1 else 0 * offset,
        "cdp_x": np.round(100 * at[:, 0]).astype(int),
        "cdp_y": np.round(100 * at[:, 1]).astype(int),
        "coordinate_scalar": -100,
        "delay": round(1e3 * grid.time.t0),
    }
    make_segy(path, values, headers=headers, dt=round(1e6 * grid.time.dt))
    return values.reshape(*grid.shape, gathers, -1).astype(np.float32)


def test_a_grid_comes_back_from_what_a_run_says_and_from_headers(tmp_path):
    assert ImageGrid.from_dict(json.loads(json.dumps(GRID.to_dict()))) == GRID
    file_of(tmp_path / "a.sgy", GRID)
    opened = grid_of_traces(open_image_traces(tmp_path / "a.sgy"))
    # numbers ascend there; the places of the same numbers are the same, to the centimetre of the headers
    assert opened.inlines == (10, 30, 10)
    assert opened.crosslines == (7, 13, 2)
    assert opened.time == GRID.time
    mine = {tuple(n): p for n, p in zip(GRID.numbers(), GRID.positions(), strict=True)}
    for n, p in zip(opened.numbers(), opened.positions(), strict=True):
        np.testing.assert_allclose(p, mine[tuple(n)], atol=0.02)


@pytest.mark.parametrize("gathers", [1, 3])
def test_sections_of_a_file_are_those_of_the_array(gathers, tmp_path):
    values = file_of(tmp_path / "a.sgy", GRID, gathers).mean(axis=2)
    volume = TraceVolume(open_image_traces(tmp_path / "a.sgy"), GRID)
    assert volume.shape == (3, 4, 6)
    # values near 3000 in float32, mean of three
    near = {"rtol": 3 * np.finfo(np.float32).eps}
    np.testing.assert_allclose(volume.read(0, 3), values, **near)
    for axis in range(3):
        np.testing.assert_allclose(volume.section(axis, 1), np.take(values, 1, axis), **near)


def test_what_the_file_lacks_is_zero(tmp_path):
    file_of(tmp_path / "a.sgy", GRID)
    wider = ImageGrid((40, 10, -10), (7, 13, 1), GRID.corner, GRID.per_inline, GRID.per_crossline, GRID.time)
    volume = TraceVolume(open_image_traces(tmp_path / "a.sgy"), wider).read(0, 4)
    assert not volume[0].any()
    assert not volume[:, 1::2].any()
    assert volume[1:, ::2].all()


def test_numbers_that_are_no_lines_are_refused(tmp_path):
    values = np.ones((3, 5))
    headers = {"inline": 1, "crossline": np.array([1, 2, 2_000_000])}
    make_segy(tmp_path / "a.sgy", values, headers=headers)
    with pytest.raises(SegyError, match="no range of lines") as caught:
        grid_of_traces(open_image_traces(tmp_path / "a.sgy"))
    assert caught.value.code == "E832"
