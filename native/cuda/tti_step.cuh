// The TTI step in one pass over memory: its kernel, and how boxes are cut for it. Equation, discretization and the
// order of operations per point: the head of native/kernels/tti_step.hpp; the layer: tti_absorb.cuh.
//
// Blocks march along x with a tile of 16 x 32 points (tti_tile.cuh, tti_march.cuh). Per point in 3-D at order 8:
//
//   memory        48 bytes: p and q of two levels, m, e, s and the axis read, p and q written. What tiles read of each
//                 other comes from L2: 3 times p and q, 1.8 times the axis
//   arithmetic    180 instructions, and 46 for the fluxes that two blocks make
//   instructions  14 warps take 7100 in a turn of 512 points: at most 67 G points/s on an H200 (4 per clock and SM)
//   shared, L1    115 words of 4 bytes in and out, 32 per clock and SM: at most 64 G points/s
//
// where 4.3 TB/s of memory would be 90 G points/s. One block per SM, 14 warps of 128 registers, has two limits of about
// the same height and one barrier a turn: expected are 40 G points/s and more (that was with two), 45 % of the speed of
// memory. Of memory it asks a turn ahead, for 20 KB per SM at any time.
//
// Why in one kernel: with F_x and the sums of both fields in memory between two, 88 bytes per point would go through
// it, and that at the speed of copies would be 49 G points/s at the very best, with 16 bytes per point of scratch
// memory. Why both fields and two points per thread: four points of one field take as many registers, but the models
// and the axis twice, and A and B would have to change hands.
//
// Where the layer has terms, a kernel with their code runs, in boxes of their own that end where tiles of the core
// begin.
//
// On a stretched depth axis (`Stretched`) a pair needs a^2, a^(3/2), two weights of the centre, and a^(-1/2) of itself
// and its neighbours along z: rows that all planes share, from L1. At order 8 these are 36 multiplications more for
// both fields of a pair.
#pragma once

#include "kernels.hpp"
#include "tti_march.cuh"

namespace subsalt::cuda {

template <int M, int Dim, int Rows, bool Plain, bool Stretched>
SUBSALT_GLOBAL void __launch_bounds__(TiltedTile<M, Dim, Rows, Plain>::threads, 1)
    tti_march(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
              const __grid_constant__ TiltedTask task) {
    SUBSALT_SHARED(float, shared);
    unsigned block = blockIdx.x;
    int i = 0;
    for (; block >= task.part[i].blocks; ++i)
        block -= task.part[i].blocks;
    TiltedMarch<M, Dim, Rows, Plain, Stretched>(pb, lv, task, task.part[i], block, shared).run();
}

/// The tiles that boxes are cut into.
struct Cutting {
    int rows, columns, aligned;
};
template <class Tile>
constexpr Cutting cutting{Tile::rows, Tile::columns, Tile::aligned};

inline bool is_empty(const Box& box) {
    return box.lo[0] >= box.hi[0] || box.lo[1] >= box.hi[1] || box.lo[2] >= box.hi[2];
}

inline void add_part(TiltedTask& task, const Box& box, const Cutting& cut) {
    if (is_empty(box)) return;
    TiltedPart& part = task.part[task.parts++];
    part.box = box;
    part.tiles_y = static_cast<int>(blocks_for(box.hi[1] - box.lo[1], cut.rows));
    part.tiles_z = static_cast<int>(blocks_for(box.hi[2] - box.lo[2] / cut.aligned * cut.aligned, cut.columns));
}

/// Cut all boxes of a task into marches of at most `planes` planes; returns how many blocks they are.
inline unsigned cut_marches(TiltedTask& task, int planes) {
    unsigned blocks = 0;
    for (int i = 0; i < task.parts; ++i) {
        TiltedPart& part = task.part[i];
        part.planes = part.marched().length(planes);
        blocks += part.blocks = static_cast<unsigned>(part.marched().blocks(planes));
    }
    return blocks;
}

/// How long their marches are at most, where so many blocks run at once: few turns are spent on warming up, for which M
/// planes on either side take about half a turn each.
inline int planes_per_march(const TiltedTask& task, int radius, int at_once) {
    constexpr int least = 8, any = 1 << 24;
    Marched boxes[TiltedTask::most];
    for (int i = 0; i < task.parts; ++i)
        boxes[i] = task.part[i].marched();
    return longest_march({boxes, boxes + task.parts}, {least, any, radius + 1}, at_once);
}

/// The part of a box where the layer has no terms, but for what would leave tiles unfilled.
inline Box without_layer(const Problem& pb, const Box& box, const Cutting& cut) {
    Box core = box;
    if (pb.boundary == Boundary::none) return core;
    const Index inside = pb.boundary == Boundary::pml ? pb.radius : 0; // how far terms reach beyond the layer
    const Index step[3] = {1, cut.rows, cut.columns};
    for (int axis = 0; axis < 3; ++axis) {
        const Index low = pb.width[2 * axis], high = pb.width[2 * axis + 1];
        const Index from = low > 0 ? low + inside : 0, to = pb.n[axis] - (high > 0 ? high + inside : 0);
        // the layer's boxes fill their tiles: from the low side up to a whole tile, at the high side all that is left
        // over
        const Index start = axis == 2 ? box.lo[2] / cut.aligned * cut.aligned : box.lo[axis];
        if (from > box.lo[axis]) core.lo[axis] = start + (from - start + step[axis] - 1) / step[axis] * step[axis];
        if (to < box.hi[axis]) core.hi[axis] = core.lo[axis] + (to - core.lo[axis]) / step[axis] * step[axis];
    }
    if (is_empty(core)) core.hi[0] = core.lo[0] = box.lo[0]; // nothing
    return core;
}

/// What surrounds `core` in `box`: x low and high, of the planes between y low and high, of the rows between z.
inline TiltedTask around(const Box& box, const Box& core, const Cutting& cut) {
    TiltedTask task{};
    if (is_empty(core)) {
        add_part(task, box, cut);
        return task;
    }
    Box left = box;
    for (int axis = 0; axis < 3; ++axis) {
        Box low = left, high = left;
        low.hi[axis] = left.lo[axis] = core.lo[axis];
        high.lo[axis] = left.hi[axis] = core.hi[axis];
        add_part(task, low, cut);
        add_part(task, high, cut);
    }
    return task;
}

inline TiltedTask whole(const Box& box, float* const* out, const Cutting& cut) {
    TiltedTask task{};
    add_part(task, box, cut);
    if (out != nullptr) task.out[0] = out[0], task.out[1] = out[1];
    return task;
}

/// `planes`: of a march at most; 0: chosen.
template <int M, int Dim, int Rows, bool Plain, bool Stretched>
Status start(const DeviceProblem& pb, const Levels& lv, TiltedTask task, int planes, cudaStream_t stream) {
    using Tile = TiltedTile<M, Dim, Rows, Plain>;
    if (task.parts == 0) return cudaSuccess;
    const auto kernel = tti_march<M, Dim, Rows, Plain, Stretched>;
    int at_once = 0;
    SUBSALT_CHECK(blocks_at_once(kernel, Tile::threads, Tile::bytes, &at_once));
    const unsigned blocks = cut_marches(task, planes > 0 ? planes : planes_per_march(task, M, at_once));
    return launch(kernel, dim3(blocks), dim3(Tile::threads), Tile::bytes, stream, pb, lv, task);
}

/// The step of a box, or (`out`) A and B in it. With `Core` the kernel of the step alone, in tiles of so many rows of
/// y, does what it can; the rest does the one that can all, in tiles of `Rows` rows.
template <int M, int Dim, int Core, int Rows, bool Stretched>
Status run(const DeviceProblem& pb, const Levels& lv, const Box& box, float* const* out, int planes,
           cudaStream_t stream) {
    constexpr Cutting cut = cutting<TiltedTile<M, Dim, Rows, false>>;
    if (Core == 0 || out != nullptr)
        return start<M, Dim, Rows, false, Stretched>(pb, lv, whole(box, out, cut), planes, stream);
    if constexpr (Core > 0) {
        constexpr Cutting wide = cutting<TiltedTile<M, Dim, Core, true>>;
        const Box core = without_layer(pb, box, wide);
        SUBSALT_CHECK((start<M, Dim, Core, true, Stretched>(pb, lv, whole(core, nullptr, wide), planes, stream)));
        return start<M, Dim, Rows, false, Stretched>(pb, lv, around(box, core, cut), planes, stream);
    }
}

template <bool Stretched>
Status tilted_step(const DeviceProblem& pb, const Levels& lv, const Box& box, float* const* out, const Tuning& tuning,
                   cudaStream_t stream) {
    using Run = Status (*)(const DeviceProblem&, const Levels&, const Box&, float* const*, int, cudaStream_t);
    // what fits into the registers: order 8 has 448 threads in a core tile, 288 in one of the layer
    constexpr Run flat[max_radius] = {
        run<1, 2, 0, 1, Stretched>, run<2, 2, 0, 1, Stretched>, run<3, 2, 0, 1, Stretched>, run<4, 2, 0, 1, Stretched>,
        run<5, 2, 0, 1, Stretched>, run<6, 2, 0, 1, Stretched>, run<7, 2, 0, 1, Stretched>, run<8, 2, 0, 1, Stretched>};
    constexpr Run solid[max_radius] = {run<1, 3, 0, 8, Stretched>, run<2, 3, 16, 8, Stretched>,
                                       run<3, 3, 0, 8, Stretched>, run<4, 3, 16, 8, Stretched>,
                                       run<5, 3, 0, 8, Stretched>, run<6, 3, 0, 8, Stretched>,
                                       run<7, 3, 0, 4, Stretched>, run<8, 3, 0, 4, Stretched>};
    if (is_empty(box)) return cudaSuccess;
    const Run chosen = pb.dim == 2                          ? flat[pb.radius - 1]
                       : pb.radius == 4 && tuning.rows == 8 ? run<4, 3, 8, 8, Stretched>
                                                            : solid[pb.radius - 1];
    return chosen(pb, lv, box, out, tuning.planes, stream);
}

} // namespace subsalt::cuda
