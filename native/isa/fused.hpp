// A time step with the layer in one pass over memory: Psi is advanced M planes (x) and M rows (y) ahead of the row
// whose step is done, and along z in the same visit. The operations per point are those of memory_step and field_step.
#pragma once

#include "isa/rows.hpp"

namespace subsalt::SUBSALT_NS {

/// Whether every tile along y that touches a layer of y holds it whole, with the M rows inside its edge.
inline bool fits_one_pass(const Problem& pb, Index tiles_x, Index tiles_y) {
    if (pb.dim != 3 || tiles_x != 1) return false;
    const Index shortest = pb.n[1] / tiles_y;
    for (int side = 2; side < 4; ++side)
        if (pb.width[side] > 0 && shortest < pb.width[side] + pb.radius) return false;
    return true;
}

/// All rows [y0, y1) of all planes.
inline void one_pass_tile(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch,
                          Index y0, Index y1) {
    const Index reach = pb.radius, nz = pb.n[2];
    for (Index ix = 0; ix < reach && ix < pb.n[0]; ++ix)
        for (Index iy = y0; iy < y1; ++iy)
            kernels.psi(pb, lv, 0, ix, iy, 0, nz);
    for (Index ix = 0; ix < pb.n[0]; ++ix) {
        for (Index iy = y0; iy < y0 + reach && iy < y1; ++iy)
            kernels.psi(pb, lv, 1, ix, iy, 0, nz);
        for (Index iy = y0; iy < y1; ++iy) {
            if (ix + reach < pb.n[0]) kernels.psi(pb, lv, 0, ix + reach, iy, 0, nz);
            if (iy + reach < y1) kernels.psi(pb, lv, 1, ix, iy + reach, 0, nz);
            const Index skip = iy + 1 < y1 ? pb.row : pb.plane + (y0 - y1 + 1) * pb.row;
            field_row(pb, lv, kernels, scratch, ix, iy, 0, nz, skip, true);
        }
    }
}

} // namespace subsalt::SUBSALT_NS
