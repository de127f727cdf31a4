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

/// Ask for the rows beside a tile, [y0 - M, y0) and [y1, y1 + M), that row iy reads of p in the planes that come next:
/// another tile makes them, and the kernels fetch only rows of this one.
inline void fetch_beside(const Problem& pb, const Levels& lv, Index ix, int planes, Index iy, Index y0, Index y1,
                         Index end) {
    const Index reach = pb.y_halo;
    if (iy >= y0 + reach && iy < y1 - reach) return;
    const float* row = lv.curr[0] + row_offset(pb, ix + planes, iy);
    for (int i = 0; i < planes; ++i, row += pb.plane)
        for (Index z = 0; z < end; z += 16) {
            if (iy < y0 + reach) prefetch<Fetch::l2>(row - reach * pb.row + z);
            if (iy >= y1 - reach) prefetch<Fetch::l2>(row + reach * pb.row + z);
        }
}

/// All planes of the grid.
SUBSALT_INLINE Planes all_planes(const Problem& pb) {
    return {{0, pb.n[0]}, {0, pb.n[0]}};
}

/// The rows [y0, y1) of the planes ix to ix + planes - 1, with Psi of x advanced up to plane ix + planes - 1 + M (with
/// the first plane of `step` all before that too), of y and z in these planes. `fetch`: where what comes next is
/// fetched to. A step behind another one may do them when that has done plane ix + planes - 1 + M, near a layer of x 2
/// M.
inline void plane_rows(const Problem& pb, const Levels& lv, const Planes& step, const RowKernels& kernels,
                       const Scratch& scratch, Index ix, int planes, Index y0, Index y1, Fetch fetch) {
    if (y0 >= y1) return;
    const bool cold = fetch != Fetch::none;
    const Index reach = pb.radius, nz = pb.n[2], last = step.psi.hi;
    const bool layer = pb.boundary == Boundary::pml, layer_y = layer && pb.width[2] + pb.width[3] > 0;
    if (layer && ix == step.field.lo)
        for (Index jx = step.psi.lo; jx < ix + reach && jx < last; ++jx)
            for (Index iy = y0; iy < y1; ++iy)
                kernels.psi(pb, lv, 0, jx, iy, 0, nz, cold);
    // of y on the rows [lo, hi) of this tile, two at a time
    const auto psi_y = [&](Index lo, Index hi) {
        for (Index jx = ix; jx < ix + planes && layer_y; ++jx)
            for (Index jy = lo; jy < hi && jy < y1; jy += 2)
                kernels.psi_rows(pb, lv, 1, jx, jy, jy + 1 < hi && jy + 1 < y1 ? 2 : 1, cold);
    };
    psi_y(y0, y0 + reach);
    const Index from = layer ? ix + reach : last, to = from + planes < last ? from + planes : last;
    const bool psi_x = from < to && (layer_row(pb, 0, from) >= 0 || layer_row(pb, 0, to - 1) >= 0);
    for (Index iy = y0, end; iy < y1; iy = end) {
        const int rows = rows_at_once(pb, ix, planes, iy, y1);
        end = iy + rows;
        for (Index jy = iy; jy < end && psi_x; ++jy)
            kernels.psi_rows(pb, lv, 0, from, jy, to - from, cold);
        psi_y(iy + reach, end + reach);
        for (Index jy = iy; jy < end && fetch == Fetch::l2; ++jy)
            fetch_beside(pb, lv, ix, planes, jy, y0, y1, nz);
        const Index skip = end < y1 ? pb.row : planes * pb.plane + (y0 - y1 + 1) * pb.row;
        field_rows(pb, lv, kernels, scratch, {ix, iy, 0, nz, planes, rows, skip, fetch, true});
    }
}

/// All rows [y0, y1) of all planes.
inline void one_pass_tile(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch,
                          Index y0, Index y1) {
    for (Index ix = 0, planes; ix < pb.n[0]; ix += planes) {
        planes = planes_at_once(kernels, ix, pb.n[0]);
        plane_rows(pb, lv, all_planes(pb), kernels, scratch, ix, static_cast<int>(planes), y0, y1, Fetch::l1);
    }
}

} // namespace subsalt::SUBSALT_NS
