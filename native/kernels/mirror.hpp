// A free surface inside the grid: values above it by odd reflection, and what makes the operator below it symmetric
// (subsalt/propagation/topography.py and closure.py make the weights).
//
//   after a step    s = G u,  u_next += P u + Q s    near the surface, u the level that the step has read
//                   u_next[above] = R u_next[below]
//
// A row is summed in four chains: entry k goes to chain k mod 4, and the sum is (0 + 1) + (2 + 3). Rows read what no
// other row writes, so threads change no bit. Per entry 8 bytes of the matrix, one gather, 2 operations.
#pragma once

#include "mirror.hpp"
#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

/// Sum of the entries of row r, each times `read(column)`.
template <class Read>
SUBSALT_INLINE float sum_of_row(const SparseRows& a, Index r, Read read) {
    float chain[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    Index k = a.start[r];
    const Index end = a.start[r + 1];
    for (; k + 4 <= end; k += 4)
        for (int j = 0; j < 4; ++j)
            chain[j] = fma1(a.value[k + j], read(a.column[k + j]), chain[j]);
    for (int j = 0; k + j < end; ++j)
        chain[j] = fma1(a.value[k + j], read(a.column[k + j]), chain[j]);
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

/// sums = G u of the rows [lo, hi).
inline void reach_rows(const SparseRows& reach, const float* u, float* sums, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r)
        sums[reach.place[r]] = sum_of_row(reach, r, [&](Index at) { return u[at]; });
}

/// u_next += P u + Q sums at the nodes of the rows [lo, hi).
inline void close_rows(const Mirror& mirror, const float* u, const float* sums, float* u_next, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r) {
        const float own = sum_of_row(mirror.own, r, [&](Index at) { return u[at]; });
        u_next[mirror.own.place[r]] += own + sum_of_row(mirror.spread, r, [&](Index at) { return sums[at]; });
    }
}

/// u[above] = R u[below] of the rows [lo, hi).
inline void reflect_rows(const SparseRows& odd, float* u, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r)
        u[odd.place[r]] = sum_of_row(odd, r, [&](Index at) { return u[at]; });
}

} // namespace subsalt::SUBSALT_NS
