// A field step as marches over boxes: first the core, by a kernel that knows no layer, then the sides around it.
//
// A class `March` names the kernels of a medium: `kernel<M, Dim, Boundary, Storage>()`, the bytes of shared memory of a
// block, `shared`, and how many planes a march could have made before its first one, `warm_up`. Orders 4 and 8 have
// kernels of their own (M = 2, 4); all others know their radius at run time (M = 0).
#pragma once

#include "model_storage.cuh"
#include "parts.hpp"

namespace subsalt::cuda {

/// A box in its core, where no point has a term of the layer, and the rest around it.
struct Split {
    Box core;
    Parts rest;
};

/// Cut `box`. `inside`: by how many cells the terms reach further inside than the layer. The core begins and ends at
/// whole sectors of 32 bytes along z.
inline Split split_at_layer(const Problem& pb, const Box& box, Index inside, int rows) {
    const bool flat = pb.dim == 2;
    Split out{box, {}};
    if (pb.boundary == Boundary::none) return out;
    bool empty = false;
    for (int a = 0; a < 3; ++a) {
        const Index lo = pb.width[2 * a], hi = pb.width[2 * a + 1], n = pb.n[a];
        Index begin = lo > 0 ? lo + inside : 0, end = hi > 0 ? n - hi - inside : n;
        if (a == 2) begin = (begin + 7) / 8 * 8, end = end < n ? (end < 0 ? 0 : end / 8 * 8) : n;
        Index &from = out.core.lo[a], &to = out.core.hi[a];
        from = from > begin ? from : begin, to = to < end ? to : end;
        empty = empty || from >= to;
    }
    if (empty) {
        out.core = {{0, 0, 0}, {0, 0, 0}};
        out.rest.add(box, flat, rows);
        return out;
    }
    Box left = box; // what is not cut off yet
    for (int a = 0; a < 3; ++a) {
        Box side = left;
        side.hi[a] = out.core.lo[a];
        out.rest.add(side, flat, rows, a);
        side = left;
        side.lo[a] = out.core.hi[a];
        out.rest.add(side, flat, rows, a);
        left.lo[a] = out.core.lo[a], left.hi[a] = out.core.hi[a];
    }
    return out;
}

/// `planes`: of a march at most; 0: chosen.
template <class March, int M, int Dim, Boundary B>
Status start_march(const DeviceProblem& pb, const Levels& lv, Parts& parts, int planes, cudaStream_t stream) {
    const auto kernel = pb.storage == ModelStorage::u16 ? March::template kernel<M, Dim, B, Packed16>()
                                                        : March::template kernel<M, Dim, B, Floats>();
    int at_once = 0;
    SUBSALT_CHECK(blocks_at_once(kernel, block_threads, March::shared, &at_once));
    constexpr bool flat = Dim == 2;
    if (planes > 0)
        parts.cut(flat, planes);
    else // marches of some waves, which end one after the other, leave less idle than one long wave
        parts.cut(flat, {flat ? 4 : 8, 128, March::warm_up(pb.radius)}, at_once);
    return launch(kernel, parts.blocks, block_threads, March::shared, stream, pb, lv, parts);
}

template <class March, Boundary B>
Status start_marches(const DeviceProblem& pb, const Levels& lv, Parts& parts, int planes, cudaStream_t stream) {
    if (parts.count == 0) return cudaSuccess;
    const bool flat = pb.dim == 2;
    switch (pb.radius) {
    case 4:
        return (flat ? start_march<March, 4, 2, B> : start_march<March, 4, 3, B>)(pb, lv, parts, planes, stream);
    case 2:
        return (flat ? start_march<March, 2, 2, B> : start_march<March, 2, 3, B>)(pb, lv, parts, planes, stream);
    default:
        return (flat ? start_march<March, 0, 2, B> : start_march<March, 0, 3, B>)(pb, lv, parts, planes, stream);
    }
}

template <class March>
Status march_step(const DeviceProblem& pb, const Levels& lv, const Box& box, const Tuning& tuning,
                  cudaStream_t stream) {
    // PML terms reach as far inside as D1 Psi does, the damping term ends with its layer
    Split split = split_at_layer(pb, box, pb.boundary == Boundary::pml ? pb.radius : 0, tuning.rows);
    Parts core;
    core.add(split.core, pb.dim == 2, tuning.rows);
    SUBSALT_CHECK((start_marches<March, Boundary::none>(pb, lv, core, tuning.planes, stream)));
    if (pb.boundary == Boundary::damping) return start_marches<March, Boundary::damping>(pb, lv, split.rest, 0, stream);
    return start_marches<March, Boundary::pml>(pb, lv, split.rest, 0, stream);
}

} // namespace subsalt::cuda
