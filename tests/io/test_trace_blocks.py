"""Traces in blocks, read ahead: the same traces whatever the block, going on, and errors where they are asked for."""

import errno
import os
import threading

import numpy as np
import pytest

from kirchhoff_data import line_positions, make_survey
from subsalt.errors import DataError, ResourceError, SegyError
from subsalt.io.input_traffic import TRACES
from subsalt.io.prestack.table import TraceBlocks, open_traces, stream_bytes
from subsalt.io.segy import trace_files

NT = 50


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Return (table, traces in table order) of 120 traces in two files."""
    folder = tmp_path_factory.mktemp("blocks")
    src, rcv = line_positions(40, 10.0, (50.0, 100.0, 150.0))
    traces = np.random.default_rng(8).normal(size=(120, NT)).astype(np.float32)
    cut, paths, rows = 70, [], []
    for part in (slice(0, cut), slice(cut, None)):
        path, order = make_survey(
            folder / f"{part.start}.sgy", src[part], rcv[part], traces[part], 0.004, order="random"
        )
        paths.append(path)
        rows.append(order + part.start)
    return open_traces(paths), traces[np.concatenate(rows)]


def streamed(table, index, size, start=0):
    with TraceBlocks(table, index, size, start=start) as blocks:
        return [(rows.copy(), traces.copy()) for rows, traces in blocks]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_of_any_size_give_the_same_traces(survey, size):
    table, traces = survey
    index = np.flatnonzero(np.random.default_rng(1).random(120) < 0.4)
    read_in_blocks = streamed(table, index, size)
    assert len(read_in_blocks) == -(-len(index) // size)
    assert (np.concatenate([rows for rows, _ in read_in_blocks]) == index).all()
    assert (np.concatenate([t for _, t in read_in_blocks]) == traces[index]).all()


def test_going_on_with_a_later_block(survey):
    table, _ = survey
    whole = streamed(table, np.arange(120), 32)
    rest = streamed(table, np.arange(120), 32, start=2)
    assert len(rest) == 2
    for a, b in zip(whole[2:], rest, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert streamed(table, np.arange(120), 32, start=4) == []
    assert streamed(table, np.empty(0, np.int64), 32) == []


@pytest.mark.parametrize(("piece", "gap"), [(1, 0), (3000, 0), (3000, 500), (1 << 20, 1 << 20)])
def test_pieces_and_gaps_change_nothing_but_the_bytes(survey, monkeypatch, piece, gap):
    table, traces = survey
    monkeypatch.setattr(trace_files, "PIECE", piece)
    monkeypatch.setattr(trace_files, "GAP", gap)
    index = np.array([0, 1, 2, 4, 9, 10, 69, 70, 75, 119])
    before = TRACES.now()
    with TraceBlocks(table, index, 100) as blocks:
        ((rows, blocks_read),) = [(r, t.copy()) for r, t in blocks]
    assert (rows == index).all()
    assert (blocks_read == traces[index]).all()
    moved = TRACES.now() - before
    assert blocks.bytes_read == moved.read
    assert moved.wanted == len(index) * NT * 4
    one = 240 + 4 * NT
    # without gaps only what is wanted; with all of them each file from its first wanted trace to its last
    if gap == 0:
        assert moved.read == len(index) * one
    elif gap > 1000:
        assert moved.read == (70 + 50) * one
    else:
        # the one trace between 2 and 4 is less than a gap, unless a piece ends there
        assert moved.read in (len(index) * one, (len(index) + 1) * one)


def test_memory_is_two_blocks_and_a_piece():
    block = 512 * 1000 * 4
    assert stream_bytes(512, 1000, 4240) == 2 * block + trace_files.PIECE + trace_files.GAP + 4240
    # a piece is not longer than what a block can need, gaps included
    assert stream_bytes(2, 1000, 4240) == 2 * 2 * 4000 + 2 * (4240 + trace_files.GAP)


def test_what_reading_meets_is_raised_where_the_block_is_asked_for(tmp_path):
    src, rcv = line_positions(10, 10.0, (50.0,))
    traces = np.ones((10, NT), np.float32)
    traces[7, 3] = np.inf
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, 0.004, order="given")[0]
    table = open_traces(path)
    with TraceBlocks(table, np.arange(10), 3) as blocks:
        block_iterator = iter(blocks)
        assert [next(block_iterator)[0].tolist() for _ in range(2)] == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(
            DataError, match=r"a\.sgy: 1 samples are not finite, the first in trace 8, sample 4"
        ):
            next(block_iterator)
    os.truncate(path, path.stat().st_size - 10)
    with (
        pytest.raises(SegyError, match="when its headers were read"),
        TraceBlocks(table, np.arange(10), 3) as blocks,
    ):
        next(iter(blocks))
    assert not [t for t in threading.enumerate() if t.name == "traces"]


def test_a_failing_disk_is_told_with_path_and_traces(survey, monkeypatch):
    table, _ = survey

    def fails(fd, buffers, offset):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("subsalt.io.input_file.os.preadv", fails)
    with TraceBlocks(table, np.array([5, 6, 7]), 10) as blocks, pytest.raises(ResourceError) as caught:
        next(iter(blocks))
    assert caught.value.code == "E601"
    assert f"cannot read {table.files.paths[0]} at byte" in caught.value.message
    assert caught.value.message.endswith("(traces 6 to 8)")


def test_leaving_early_stops_the_thread(survey):
    table, traces = survey
    with TraceBlocks(table, np.arange(120), 5) as blocks:
        rows, first = next(iter(blocks))
        assert (first == traces[rows]).all()
        assert len(blocks) == 24
    assert not [t for t in threading.enumerate() if t.name == "traces"]
    assert blocks.bytes_read <= 3 * 5 * (240 + 4 * NT)
    blocks.close()
    with pytest.raises(RuntimeError, match="once"):
        next(iter(blocks))
    with pytest.raises(ValueError, match="0 traces"):
        TraceBlocks(table, np.arange(120), 0)


def test_dead_traces_are_zeros_in_blocks(tmp_path):
    from segy_maker import line_headers, make_segy

    from subsalt.io.segy.fix import Fix

    kind = np.ones(12, int)
    kind[[2, 9]] = 2
    path = make_segy(
        tmp_path / "a.sgy", np.ones((12, 20), np.float32), headers=line_headers(3, 4) | {"trace_id": kind}
    )
    table = open_traces(path, fix=Fix(dead="zero"))
    for rows, traces in streamed(table, np.arange(12), 5):
        assert (traces.any(axis=1) == ~np.isin(rows, [2, 9])).all()
