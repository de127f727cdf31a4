"""Shots recorded on every node of a plane, from time slices: traces, geometry, image."""

import numpy as np
import pytest

import subsalt
from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.errors import GeometryError
from subsalt.io.input_traffic import COUNTED, InputTraffic
from subsalt.io.prestack import time_slices as module
from subsalt.io.prestack.time_slices import slice_survey, write_slices

NT, SHAPE = 41, (12, 10)
TIME = TimeAxis(NT, 0.004)


def records(shots=2, shape=SHAPE):
    """Return (shots, nodes, nt): a pulse on every trace."""
    t = TIME.values()
    late = 0.05 + 0.0005 * np.arange(np.prod(shape))
    a = (np.pi * 25.0 * (t[None, None] - late[None, :, None] - 0.01 * np.arange(shots)[:, None, None])) ** 2
    return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)


def written(folder, values, shape=SHAPE, time=TIME):
    paths = [folder / f"shot{k}.rsf" for k in range(len(values))]
    for path, shot in zip(paths, values, strict=True):
        slices = shot.T.reshape(-1, *shape)
        write_slices(path, slices, time, shape, (20.0,) * len(shape), (40.0, 30.0)[: len(shape)])
    return paths


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_traces_of_some_nodes_read_only_their_planes(tmp_path, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    values = records()
    survey = slice_survey(written(tmp_path, values), [[50.0, 50.0, 15.0], [90.0, 60.0, 15.0]], 10.0)
    assert (survey.ndim, survey.time, [s.id for s in survey.shots]) == (3, TIME, [1, 2])
    assert survey.shots[0].rcv[11].tolist() == [60.0, 50.0, 10.0]
    np.testing.assert_array_equal(survey.traces(survey.shots[1]), values[1])
    rows = np.array([23, 31, 47])  # x positions 2 to 4
    before = COUNTED.now()
    np.testing.assert_array_equal(survey.traces(survey.shots[0], rows), values[0][rows])
    moved = COUNTED.now() - before
    planes = NT * 3 * SHAPE[1] * 4
    assert moved.wanted == planes
    assert planes < moved.read < planes + 600  # and the header
    assert survey.traces(survey.shots[0], np.array([], np.int64)).shape == (0, NT)
    assert isinstance(moved, InputTraffic)


@pytest.mark.parametrize(
    ("sources", "time", "says"),
    [
        ([[50.0, 50.0, 15.0]], TIME, "2 files of time slices, 1 sources"),
        ([[50.0, 15.0], [90.0, 15.0]], TIME, "3-D slices"),
        ([[50.0, 50.0, 15.0]] * 2, TimeAxis(NT, 0.002), "one time axis"),
    ],
)
def test_files_that_are_no_survey_are_refused(tmp_path, sources, time, says):
    paths = written(tmp_path, records())
    paths[1] = written(tmp_path, records(1), time=time)[0] if time != TIME else paths[1]
    if time != TIME:
        paths[0] = tmp_path / "other.rsf"
        write_slices(paths[0], records(1)[0].T.reshape(-1, *SHAPE), TIME, SHAPE, (20.0, 20.0))
    with pytest.raises(GeometryError) as e:
        slice_survey(paths, sources, 10.0)
    assert e.value.code == "E776"
    assert says in str(e.value)


def test_the_image_is_that_of_the_same_traces_in_memory(tmp_path):
    grid = subsalt.Grid((36, 28, 30), (10.0,) * 3)
    model = subsalt.EarthModel(grid, np.full(grid.shape, 2000, np.float32))
    values = records()
    sources = [[150.0, 110.0, 20.0], [180.0, 150.0, 20.0]]
    dense = slice_survey(written(tmp_path, values), sources, 20.0)
    held = Survey.from_arrays(sources, dense.shots[0].rcv, nt=NT, dt=0.004, data=values)
    wavelet = subsalt.ricker(f0=20, dt=0.001)
    images = [subsalt.migrate(model, survey, wavelet).image for survey in (dense, held)]
    np.testing.assert_array_equal(*images)
    assert np.abs(images[0]).max() > 0
