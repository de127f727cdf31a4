// A free surface inside the grid: values above it by odd reflection, and a weak damping below it
// (subsalt/propagation/topography.py makes the weights).
//
//   after a step    change = D (u_next - u),  u_next -= change,  u += change   near the surface, in every few steps; D
//   is
//                   half of gamma S^2 (src/subsalt/kernels/mirror.py)
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

/// change = D (u_next - u) of the rows [lo, hi).
inline void damping_rows(const SparseRows& d, const float* u_next, const float* u, float* change, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r)
        change[r] = sum_of_row(d, r, [&](Index at) { return u_next[at] - u[at]; });
}

/// u_next -= change, u += change at the nodes of the rows [lo, hi).
inline void damp_rows(const SparseRows& d, float* u_next, float* u, const float* change, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r) {
        u_next[d.place[r]] -= change[r];
        u[d.place[r]] += change[r];
    }
}

/// u[above] = R u[below] of the rows [lo, hi).
inline void reflect_rows(const SparseRows& odd, float* u, Index lo, Index hi) {
    for (Index r = lo; r < hi; ++r)
        u[odd.place[r]] = sum_of_row(odd, r, [&](Index at) { return u[at]; });
}

} // namespace subsalt::SUBSALT_NS
