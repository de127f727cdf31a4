// Two time steps in one pass over memory: the second step follows the first some planes and rows behind, while what it
// reads is still in cache.
#pragma once

#include <atomic>
#include <sched.h>

#include "isa/rows.hpp"

namespace subsalt::SUBSALT_NS {

/// One plane of one step for the rows [y0, y1): the rows of one_pass_tile.
inline void plane_rows(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch, Index ix,
                       Index y0, Index y1) {
    if (y0 >= y1) return;
    const Index reach = pb.radius, nz = pb.n[2];
    const bool layer = pb.boundary == Boundary::pml;
    if (layer) {
        if (ix == 0)
            for (Index jx = 0; jx < reach && jx < pb.n[0]; ++jx)
                for (Index iy = y0; iy < y1; ++iy)
                    kernels.psi(pb, lv, 0, jx, iy, 0, nz);
        if (pb.dim == 3)
            for (Index iy = y0; iy < y0 + reach && iy < y1; ++iy)
                kernels.psi(pb, lv, 1, ix, iy, 0, nz);
    }
    for (Index iy = y0; iy < y1; ++iy) {
        if (layer) {
            if (ix + reach < pb.n[0]) kernels.psi(pb, lv, 0, ix + reach, iy, 0, nz);
            if (pb.dim == 3 && iy + reach < y1) kernels.psi(pb, lv, 1, ix, iy + reach, 0, nz);
        }
        const Index skip = iy + 1 < y1 ? pb.row : pb.plane + (y0 - y1 + 1) * pb.row;
        field_row(pb, lv, kernels, scratch, ix, iy, 0, nz, skip, true);
    }
}

/// How many planes of the first step must lie done beyond plane ix before the second step may do it.
inline Index need(const Problem& pb, Index ix) {
    const Index reach = pb.radius;
    return pb.boundary == Boundary::pml && near_layer(pb, 0, ix) ? 2 * reach : reach;
}

} // namespace subsalt::SUBSALT_NS
