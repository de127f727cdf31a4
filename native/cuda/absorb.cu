// Psi of all axes of the layer, one step on: Psi <- b Psi + (b - 1) D1 u (native/kernels/absorb.hpp), the same for all
// media; D1 of p along x and y, of the last field along z. It comes before the field step, which reads Psi of
// neighbours.
//
// Layout: the boxes of all six sides are parts of one launch; a thread takes a quad of z and goes through some planes,
// by code of its axis alone. Predicted bytes per cell: Psi read and written, the field read: 12; neighbours come from
// L2 and L1.
#include "absorb.cuh"
#include "kernels.hpp"

namespace subsalt::cuda {

namespace {

/// Psi of an axis in the planes of a thread. `Quads`: those of z are aligned in its memory.
template <int M, int Axis, bool Quads>
SUBSALT_DEVICE void advance(const DeviceProblem& pb, const Levels& lv, const Part& part, Place at) {
    const float* u = (Axis == 2 && pb.fields == 2 ? lv.curr[1] : lv.curr[0]) + padded_offset(pb, at.x, at.y, at.z);
    for (; at.x < at.x_end; ++at.x, u += pb.plane) {
        if constexpr (Axis == 2) {
            const RowWindow<M> row(u, load4(u), pb.radius);
            const float4 g = first<M, true>(pb.d[2], pb.radius, [&](int k) { return row.difference(k); });
            const LayerCells cells(pb, at.z);
            float* const psi = lv.psi[2] + window_row(pb, at.x, at.y);
            const float4 b = load4(pb.b[2] + at.z), less = sub(b, quad_of(1.0f));
            if constexpr (Quads) {
                cells.store<true>(part, at, psi, remember(b, less, cells.values<true>(0, psi), g));
            } else {
#pragma unroll
                for (int i = 0; i < quad; ++i) {
                    if (at.z + i < part.lo[2] || at.z + i >= part.hi[2]) continue;
                    float& cell = psi[cells.at(i)];
                    cell = remember(component(b, i), component(less, i), cell, component(g, i));
                }
            }
        } else {
            const Loaded along{u, Axis == 0 ? pb.plane : pb.row};
            const float4 g = first<M>(pb.d[Axis], pb.radius, [&](int k) { return along.difference(k); });
            const int i = Axis == 0 ? at.x : at.y;
            float* const psi = layer_rows(pb, Axis, at.x, at.y, at.z).row(lv.psi[Axis], __ldg(pb.layer_cell[Axis] + i));
            const float b = pb.b[Axis][i];
            store_inside(part, at, psi, remember(b, b - 1.0f, load4_own(psi), g));
        }
    }
}

template <int M>
SUBSALT_GLOBAL void __launch_bounds__(block_threads)
    advance_psi(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
                const __grid_constant__ Parts parts) {
    const Part& part = part_of_block(parts);
    const Place at = place_of_thread(pb, part, points_of_block(pb, part));
    if (at.idle) return;
    if (part.axis == 0)
        advance<M, 0, false>(pb, lv, part, at);
    else if (part.axis == 1)
        advance<M, 1, false>(pb, lv, part, at);
    else if (lies_in_quads(pb, part.hi[2]))
        advance<M, 2, true>(pb, lv, part, at);
    else
        advance<M, 2, false>(pb, lv, part, at);
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
