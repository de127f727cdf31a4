#include "signal/axis_weights.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#define SUBSALT_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace subsalt::signal {
namespace {

// Four numbers side by side; a compiler without such registers takes two of two.
using Quad = double __attribute__((vector_size(32)));
using QuadOfFloats = float __attribute__((vector_size(16)));

constexpr int64_t kQuad = 4;
// quads whose sums are held in registers: eight chains of additions hide their latency
constexpr int kQuads = 8;
constexpr int64_t kHeld = kQuads * kQuad;
// numbers k of a block: its rows of x stay in the first-level cache while those of y go on, 40 of 512 bytes
constexpr int64_t kBlock = 64;
// rows that are written together where the axis is the last one: a cache line of each array
constexpr int64_t kLine = 8;

// The terms of some rows: weights, and where their numbers are in x from its first.
struct Terms {
    const double* weights;
    const int64_t* starts; // of row lo, lo + 1, ...
    std::vector<int64_t> at;

    Terms(const SparseRows& w, const Extent& extent, int64_t stride)
        : weights(w.weights + w.starts[extent.lo]), starts(w.starts + extent.lo),
          at(w.starts[extent.hi] - w.starts[extent.lo]) {
        const int32_t* columns = w.columns + starts[0];
        for (size_t e = 0; e < at.size(); ++e)
            at[e] = extent.at(columns[e]) * stride;
    }
    int64_t begin(int64_t row) const { return starts[row] - starts[0]; }
};

SUBSALT_ALWAYS_INLINE void load(const double* p, Quad& out) {
    std::memcpy(&out, p, sizeof out);
}
SUBSALT_ALWAYS_INLINE void load(const float* p, Quad& out) {
    QuadOfFloats some;
    std::memcpy(&some, p, sizeof some);
    out = __builtin_convertvector(some, Quad);
}

// Sums of one row for `quads` times four numbers side by side.
template <int quads, class T>
SUBSALT_ALWAYS_INLINE void sum_row(const Terms& terms, int64_t row, const T* x, double* y) {
    Quad sums[quads] = {};
    const double* const weights = terms.weights;
    const int64_t* const at = terms.at.data();
    const int64_t end = terms.begin(row + 1);
    for (int64_t e = terms.begin(row); e < end; ++e) {
        const double weight = weights[e];
        const T* from = x + at[e];
#pragma GCC unroll 8
        for (int q = 0; q < quads; ++q) {
            Quad some;
            load(from + q * kQuad, some);
            sums[q] += weight * some;
        }
    }
    std::memcpy(y, sums, sizeof sums);
}

template <class T>
SUBSALT_ALWAYS_INLINE double sum_one(const Terms& terms, int64_t row, const T* x) {
    double sum = 0.0;
    for (int64_t e = terms.begin(row); e < terms.begin(row + 1); ++e)
        sum += terms.weights[e] * static_cast<double>(x[terms.at[e]]);
    return sum;
}

// Numbers k0 to k1 of one array (along, inner).
template <class T>
SUBSALT_ALWAYS_INLINE void sum_block(const Terms& terms, const T* x, double* y, int64_t y_stride, int64_t rows,
                                     int64_t k0, int64_t k1) {
    for (int64_t row = 0; row < rows; ++row) {
        double* to = y + row * y_stride;
        int64_t k = k0;
        for (; k + kHeld <= k1; k += kHeld)
            sum_row<kQuads>(terms, row, x + k, to + k);
        for (; k + kQuad <= k1; k += kQuad)
            sum_row<1>(terms, row, x + k, to + k);
        for (; k < k1; ++k)
            to[k] = sum_one(terms, row, x + k);
    }
}

// At most kHeld arrays of which every one is a row along the axis: side by side in `panel` (columns, kHeld), where
// lanes beyond the last are summed too, and dropped. kLine sums of each are written at a time.
template <class T>
SUBSALT_ALWAYS_INLINE void sum_side_by_side(const Terms& terms, const T* x, int64_t x_stride, double* y,
                                            int64_t y_stride, const Extent& extent, int64_t lanes, double* panel) {
    for (int64_t j0 = 0; j0 < extent.columns; j0 += kLine) {
        const int64_t j1 = std::min(j0 + kLine, extent.columns);
        for (int64_t l = 0; l < lanes; ++l)
            for (int64_t j = j0; j < j1; ++j)
                panel[j * kHeld + l] = static_cast<double>(x[l * x_stride + j]);
    }
    double sums[kLine][kHeld];
    for (int64_t i0 = 0; i0 < extent.hi - extent.lo; i0 += kLine) {
        const int64_t rows = std::min(kLine, extent.hi - extent.lo - i0);
        for (int64_t i = 0; i < rows; ++i)
            sum_row<kQuads>(terms, i0 + i, panel, sums[i]);
        for (int64_t l = 0; l < lanes; ++l)
            for (int64_t i = 0; i < rows; ++i)
                y[l * y_stride + i0 + i] = sums[i][l];
    }
}

// Where the axis is the last one, and there are several arrays.
bool side_by_side(const Extent& extent) {
    return extent.inner == 1 && extent.outer > 1;
}

template <class T>
SUBSALT_ALWAYS_INLINE void apply(const Terms& terms, const Strided<const T>& x, const Strided<double>& y,
                                 const Extent& extent, double* panel) {
    if (side_by_side(extent)) {
        for (int64_t o = 0; o < extent.outer; o += kHeld)
            sum_side_by_side(terms, x.data + o * x.outer_stride, x.outer_stride, y.data + o * y.outer_stride,
                             y.outer_stride, extent, std::min(kHeld, extent.outer - o), panel);
        return;
    }
    for (int64_t o = 0; o < extent.outer; ++o)
        for (int64_t k = 0; k < extent.inner; k += kBlock)
            sum_block(terms, x.data + o * x.outer_stride, y.data + o * y.outer_stride, y.stride, extent.hi - extent.lo,
                      k, std::min(k + kBlock, extent.inner));
}

template <class T>
void apply_baseline(const Terms& terms, const Strided<const T>& x, const Strided<double>& y, const Extent& extent,
                    double* panel) {
    apply(terms, x, y, extent, panel);
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) void apply_avx2(const Terms& terms, const Strided<const T>& x, const Strided<double>& y,
                                                const Extent& extent, double* panel) {
    apply(terms, x, y, extent, panel);
}
#endif

} // namespace

template <class T>
void apply_weights(const SparseRows& w, const Strided<const T>& x, const Strided<double>& y, const Extent& extent) {
    const Terms terms(w, extent, side_by_side(extent) ? kHeld : x.stride);
    std::vector<double> panel(side_by_side(extent) ? extent.columns * kHeld : 0);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return apply_avx2<T>(terms, x, y, extent, panel.data());
#endif
    apply_baseline<T>(terms, x, y, extent, panel.data());
}

template void apply_weights<float>(const SparseRows&, const Strided<const float>&, const Strided<double>&,
                                   const Extent&);
template void apply_weights<double>(const SparseRows&, const Strided<const double>&, const Strided<double>&,
                                    const Extent&);

} // namespace subsalt::signal
