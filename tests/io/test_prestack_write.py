"""Prestack traces written and read again."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError
from subsalt.io.prestack.table import open_traces
from subsalt.io.segy.trace_writing import BLOCK, write_traces


def test_traces_come_back_as_they_were_written(tmp_path):
    rng = np.random.default_rng(1)
    n, time = BLOCK + 7, TimeAxis(20, 0.004, 0.1)
    src, rcv = rng.integers(0, 30000, (n, 2)) / 4, rng.integers(0, 30000, (n, 2)) / 4
    data = rng.standard_normal((n, 20)).astype(np.float32)
    blocks = []

    def samples(block):
        blocks.append((block.start, block.stop))
        return data[block]

    path = tmp_path / "traces.sgy"
    inline = np.arange(n) % 50
    assert write_traces(path, src, rcv, time, samples, inline=inline, crossline=inline + 1) == path
    assert blocks == [(0, BLOCK), (BLOCK, n)]
    table = open_traces([path], None, None, line=None)
    assert table.time == time
    np.testing.assert_array_equal(table.src, src)
    np.testing.assert_array_equal(table.rcv, rcv)
    np.testing.assert_array_equal(table.inline, inline)
    np.testing.assert_array_equal(table.files.read(table.number), data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rcv": np.zeros((2, 2))}, r"3 traces, but rcv \(2,\)"),
        ({"cdp": np.zeros(2)}, r"cdp \(2,\)"),
        ({"fold": np.zeros(3)}, "fold"),
        ({"samples": lambda block: np.zeros((3, 9))}, r"traces 0 to 2 have shape \(3, 9\)"),
        ({"samples": lambda block: np.full((3, 10), np.nan)}, "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, words):
    arrays = {"src": np.zeros((3, 2)), "rcv": np.ones((3, 2)), "samples": lambda block: np.zeros((3, 10))}
    arrays |= {"time": TimeAxis(10, 0.004)} | change
    with pytest.raises(DataError, match=words):
        write_traces(tmp_path / "t.sgy", **arrays)
    assert not list(tmp_path.iterdir())
