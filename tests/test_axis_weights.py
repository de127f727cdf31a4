"""Sparse weights along an axis: bit for bit the product of SciPy, for any axis, type, threads and part of an array."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from subsalt.earth.grid import Grid
from subsalt.earth.regrid import weights_between
from subsalt.numerics import side_by_side
from subsalt.numerics.axis_weights import AxisWeights
from subsalt.numerics.depth_axis import Demand, depth_axis

RNG = np.random.default_rng(5)


def expected(matrix, values, axis):
    """Return the sparse product along an axis, on transposed copies."""
    moved = np.moveaxis(values.astype(np.float64), axis, 0)
    flat = np.ascontiguousarray(moved).reshape(len(moved), -1)
    return np.moveaxis((matrix @ flat).reshape(-1, *moved.shape[1:]), 0, axis)


def weights_of(matrix):
    """Return the weights of a sparse matrix."""
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return AxisWeights(
        [dict(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)) for a, b in ends],
        matrix.shape[1],
    )


def matrix_of(weights):
    """Return weights as a sparse matrix."""
    return csr_array((weights.weights, weights.columns, weights.starts), weights.shape)


def with_empty_rows(rows, columns):
    """Return random weights in no order of columns; the first, the last and some other rows have none."""
    full = random_array((rows, columns), density=0.4, rng=RNG).toarray()
    full[[0, rows // 2, rows - 1]] = 0.0
    matrix = csr_array(full)
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        order = RNG.permutation(end - begin)
        matrix.indices[begin:end] = matrix.indices[begin:end][order]
        matrix.data[begin:end] = matrix.data[begin:end][order]
    matrix.has_sorted_indices = False
    return matrix


# fewer numbers than a vector, and more than a block of every kernel with a rest
SHAPES = [(3, 2, 5), (1, 9, 71), (9, 1, 67), (7, 6, 40), (67, 13, 11), (1, 1, 1), (41, 33), (3, 150)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_bits_are_those_of_the_sparse_product(shape, dtype, threads, monkeypatch):
    monkeypatch.setattr(side_by_side._Settings, "threads", threads)
    monkeypatch.setattr(side_by_side, "PART", 64)  # so small that threads share every array
    values = RNG.standard_normal(shape).astype(dtype)
    values.flat[::3] = -0.0
    for axis, n in enumerate(shape):
        matrix = with_empty_rows(19, n)
        got = weights_of(matrix).applied(values, axis)
        assert got.dtype == np.float64
        assert got.tobytes() == expected(matrix, values, axis).tobytes()


def test_a_stretched_target_has_the_bits_of_the_sparse_product():
    source = Grid((5, 201), (10.0, 5.0))
    depth = np.arange(0.0, 1001.0, 5.0)
    axis = depth_axis(
        depth, np.clip(1500.0 + 3.0 * depth, 1500.0, 4500.0), Demand(0.0, 1000.0, 5.0, 150.0, 4)
    )
    target = Grid((5, axis.count), (10.0, 5.0), depth_axis=axis)
    assert target.depth_axis is not None
    weights = weights_between(source, target, 1, cells=True)
    values = (2000 + 500 * RNG.random((5, 201))).astype(np.float32)
    assert weights.applied(values, 1).tobytes() == expected(matrix_of(weights), values, 1).tobytes()


def test_parts_have_the_bits_of_the_whole():
    weights = weights_between(Grid((60, 2), (10.0, 10.0)), Grid((41, 2), (14.0, 10.0)), 0)
    values = RNG.standard_normal((60, 7))
    whole = weights.applied(values, 0)
    most = weights.most(5)
    for lo in range(37):
        first, end = weights.needed(lo, lo + 5)
        assert end - first <= most
        assert (
            weights.applied(values[first:end], 0, lo, lo + 5, first).tobytes() == whole[lo : lo + 5].tobytes()
        )
        # the same points in a ring that is as long as needed
        ring = np.full((1, most, 7), np.nan)
        ring[0, np.arange(first, end) % most] = values[first:end]
        out = np.empty((1, 5, 7))
        weights.into(out, ring, lo, first // most * most, ring=True)
        assert out[0].tobytes() == whole[lo : lo + 5].tobytes()
    assert weights.needed(3, 3) == (0, 0)


def test_what_would_be_read_or_written_out_of_bounds_is_refused():
    weights = AxisWeights([{2: 2.0, 0: 1.0}, {1: 3.0}], 3)
    values, out = np.ones((1, 3, 4)), np.empty((1, 2, 4))
    weights.into(out, values, 0, 0)
    for bad_out, bad_values, lo, first in (
        (out, values[:, :2], 0, 0),
        (out, values, 0, 1),
        (out, values, 1, 0),
        (out[:, :, :3], values, 0, 0),
        (np.empty((1, 2, 8))[:, :, ::2], values, 0, 0),
    ):
        with pytest.raises(ValueError, match="AxisWeights"):
            weights.into(bad_out, bad_values, lo, first)
    with pytest.raises(ValueError, match="outside the array"):
        # in a ring of two, columns 0 and 2 are one place
        weights.into(out, values[:, :2], 0, 0, ring=True)
