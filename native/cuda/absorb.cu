// Psi of all axes of the layer, one step on: Psi <- b Psi + (b - 1) D1 u (native/kernels/absorb.hpp), the same for all
// media; D1 of p along x and y, of the last field along z. It comes before the field step, which reads Psi of
// neighbours.
//
// Layout: the boxes of all six sides are parts of one launch; a thread takes a quad of z and goes through some planes.
// Along x and y the cells are quads too; along z they are read and written one by one, for those of the back window are
// not aligned. Predicted bytes per cell: Psi read and written, the field read: 12; neighbours come from L2 and L1.
#include "absorb.cuh"
#include "kernels.hpp"

namespace subsalt::cuda {

namespace {

/// b Psi + (b - 1) D1 u for the cells of a quad in the layer along z.
template <int M>
SUBSALT_DEVICE void advance_z(const DeviceProblem& pb, const Levels& lv, const Part& part, const Place& at,
                              const float* u) {
    const RowWindow<M> row(u, load4(u), pb.radius);
    const float4 g = first<M, true>(pb.d[2], pb.radius, [&](int k) { return row.difference(k); });
    float* const psi = lv.psi[2] + window_row(pb, at.x, at.y);
    const int4 cells = __ldg(reinterpret_cast<const int4*>(pb.layer_cell[2] + at.z));
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        const int z = at.z + i;
        if (z < part.lo[2] || z >= part.hi[2]) continue;
        float& cell = psi[i == 0 ? cells.x : i == 1 ? cells.y : i == 2 ? cells.z : cells.w];
        cell = remember(pb.b[2][z], pb.b[2][z] - 1.0f, cell, component(g, i));
    }
}

template <int M>
SUBSALT_GLOBAL void __launch_bounds__(block_threads)
    advance_psi(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
                const __grid_constant__ Parts parts) {
    const Part& part = part_of_block(parts);
    Place at = place_of_thread(pb, part);
    if (at.idle) return;
    const int axis = part.axis;
    const float* u = (axis == 2 && pb.fields == 2 ? lv.curr[1] : lv.curr[0]) + padded_offset(pb, at.x, at.y, at.z);
    for (; at.x < at.x_end; ++at.x, u += pb.plane) {
        if (axis == 2) {
            advance_z<M>(pb, lv, part, at, u);
            continue;
        }
        const Loaded along{u, axis == 0 ? pb.plane : pb.row};
        const float4 g = first<M>(axis == 0 ? pb.d[0] : pb.d[1], pb.radius, [&](int k) { return along.difference(k); });
        const int i = axis == 0 ? at.x : at.y;
        const LayerRows rows = layer_rows(pb, axis, at.x, at.y, at.z);
        const int row = __ldg((axis == 0 ? pb.layer_cell[0] : pb.layer_cell[1]) + i);
        float* const psi = (axis == 0 ? lv.psi[0] : lv.psi[1]) + rows.begin + row * rows.stride;
        const float b = axis == 0 ? pb.b[0][i] : pb.b[1][i];
        store_inside(part, at, psi, remember(b, b - 1.0f, load4_own(psi), g));
    }
}

} // namespace

Status memory_step(const DeviceProblem& pb, const Levels& lv, const Box& box, cudaStream_t stream) {
    if (pb.boundary != Boundary::pml) return cudaSuccess;
    constexpr int rows = 8, planes = 8;
    Parts parts;
    for (int axis = 0; axis < 3; ++axis)
        for (int high = 0; high < 2; ++high) {
            const Index width = pb.width[2 * axis + high], n = pb.n[axis];
            if (width == 0) continue;
            Box side = box;
            const Index lo = high ? n - width : 0, hi = high ? n : width;
            side.lo[axis] = side.lo[axis] > lo ? side.lo[axis] : lo;
            side.hi[axis] = side.hi[axis] < hi ? side.hi[axis] : hi;
            parts.add(side, pb.dim == 2, rows, axis);
        }
    parts.cut(pb.dim == 2, planes);
    const auto kernel = pb.radius == 4 ? advance_psi<4> : pb.radius == 2 ? advance_psi<2> : advance_psi<0>;
    return launch(kernel, parts.blocks, block_threads, 0, stream, pb, lv, parts);
}

} // namespace subsalt::cuda
