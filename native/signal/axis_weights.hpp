// A sparse matrix of weights (rows, columns) applied along one axis of an array, by which volumes go to another grid:
//
//   y[o, i, k] = sum_j w[i, j] x[o, j, k]
//
// Every sum begins with zero and takes its terms in the order in which the row has them, product and sum rounded one by
// one in double precision: the bits of a point depend neither on vector width nor on what is computed with it, and are
// those of the sparse product of SciPy. Where the axis is the last one (one number k), many o go side by side. Blocks
// are so small that the points of x that neighbouring rows share stay in a core's cache.
#pragma once

#include <cstdint>

namespace subsalt::signal {

// Rows of a sparse matrix; row i has entries starts[i] to starts[i + 1].
struct SparseRows {
    const double* weights;
    const int32_t* columns;
    const int64_t* starts;
};

// An array (outer, along, inner) whose last axis is contiguous; strides in numbers.
template <class T>
struct Strided {
    T* data;
    int64_t outer_stride, stride;
};

// Rows `lo` to `hi` of the matrix; y begins with row `lo`. Column j is at j - first of x, which has `columns` of them,
// or that many before where this is beyond its end: an array that is filled over and over, like a ring, has column j at
// j modulo `columns` when `first` is a multiple of these. With inner = 1 and outer > 1 the axis is contiguous in both
// arrays. T is float or double.
struct Extent {
    int64_t lo, hi, first;
    int64_t columns;
    int64_t outer, inner;

    int64_t at(int64_t column) const {
        const int64_t i = column - first;
        return i < columns ? i : i - columns;
    }
};
template <class T>
void apply_weights(const SparseRows& w, const Strided<const T>& x, const Strided<double>& y, const Extent& extent);

} // namespace subsalt::signal
