// The shell of a box: the cells within some cells of its faces, kept while a wavefield goes forward and put back while
// it runs backwards in time.
//
//   keep       out = u           8 bytes per cell of the shell; 4 where u is in cache
//   put_back   u = out           8 bytes per cell
//
// A record holds, field after field, the cells of the shell in the order of the grid: planes of x, rows of y, z
// fastest. Rows inside the shell of x or y are whole, of the others both ends. `src/subsalt/kernels/work.py` has the
// same order.
#pragma once

#include "segment.hpp"
#include "simd.hpp"

#include <cstring>

namespace subsalt::SUBSALT_NS {

/// The part of a row that lies in the shell: `front` cells from the face of the box on, and `back` cells up to the
/// other.
struct ShellRow {
    Index at; // its place among the cells of a field
    Index front, back;
};

/// Row (jx, jy), counted from the corner of the box.
SUBSALT_INLINE ShellRow shell_row(const Shell& shell, Index jx, Index jy) {
    const Index nx = shell.box.hi[0] - shell.box.lo[0], ny = shell.box.hi[1] - shell.box.lo[1],
                nz = shell.box.hi[2] - shell.box.lo[2];
    const Index *w = shell.width, ends = w[4] + w[5], whole = ny * nz;
    const Index inner = ny - w[2] - w[3], ring = (w[2] + w[3]) * nz + inner * ends;
    if (jx < w[0]) return {jx * whole + jy * nz, nz, 0};
    if (jx >= nx - w[1]) {
        const Index before = w[0] * whole + (nx - w[0] - w[1]) * ring;
        return {before + (jx - (nx - w[1])) * whole + jy * nz, nz, 0};
    }
    const Index plane = w[0] * whole + (jx - w[0]) * ring;
    if (jy < w[2]) return {plane + jy * nz, nz, 0};
    if (jy < ny - w[3]) return {plane + w[2] * nz + (jy - w[2]) * ends, w[4], w[5]};
    return {plane + w[2] * nz + inner * ends + (jy - (ny - w[3])) * nz, nz, 0};
}

/// Copy `n` cells; the ends of rows are a few, which a call would cost more than.
SUBSALT_INLINE void copy_cells(float* to, const float* from, Index n) {
    if (n > 16) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    for (Index k = 0; k < n; ++k)
        to[k] = from[k];
}

/// One row of a field; u points to the first point of the box in that row.
inline void keep_row(float* record, const float* u, const ShellRow& row, Index nz) {
    copy_cells(record + row.at, u, row.front);
    copy_cells(record + row.at + row.front, u + nz - row.back, row.back);
}

inline void put_back_row(const float* record, float* u, const ShellRow& row, Index nz) {
    copy_cells(u, record + row.at, row.front);
    copy_cells(u + nz - row.back, record + row.at + row.front, row.back);
}

} // namespace subsalt::SUBSALT_NS
