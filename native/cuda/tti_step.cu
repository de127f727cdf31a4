// The TTI step in one pass over memory. Equation, discretization and the order of operations per point: the head of
// native/kernels/tti_step.hpp; the layer: tti_absorb.cuh.
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
#include "kernels.hpp"
#include "tti_march.cuh"

namespace subsalt::cuda {

namespace {

template <int M, int Dim, int Rows, bool Plain>
SUBSALT_GLOBAL void __launch_bounds__(TiltedTile<M, Dim, Rows, Plain>::threads, 1)
    tti_march(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
              const __grid_constant__ TiltedTask task) {
    SUBSALT_SHARED(float, shared);
    unsigned block = blockIdx.x;
    int i = 0;
    for (; block >= task.part[i].blocks; ++i)
        block -= task.part[i].blocks;
    TiltedMarch<M, Dim, Rows, Plain>(pb, lv, task, task.part[i], block, shared).run();
}

/// The tiles that boxes are cut into.
struct Cutting {
    int rows, columns, aligned;
};
template <class Tile>
constexpr Cutting cutting{Tile::rows, Tile::columns, Tile::aligned};

bool is_empty(const Box& box) {
    return box.lo[0] >= box.hi[0] || box.lo[1] >= box.hi[1] || box.lo[2] >= box.hi[2];
}

void add_part(TiltedTask& task, const Box& box, const Cutting& cut) {
    if (is_empty(box)) return;
    TiltedPart& part = task.part[task.parts++];
    part.box = box;
    part.tiles_y = static_cast<int>(blocks_for(box.hi[1] - box.lo[1], cut.rows));
    part.tiles_z = static_cast<int>(blocks_for(box.hi[2] - box.lo[2] / cut.aligned * cut.aligned, cut.columns));
}

/// Cut all boxes of a task into marches of at most `planes` planes; returns how many blocks they are.
unsigned cut_marches(TiltedTask& task, int planes) {
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
int planes_per_march(const TiltedTask& task, int radius, int at_once) {
    constexpr int least = 8, any = 1 << 24;
    Marched boxes[TiltedTask::most];
    for (int i = 0; i < task.parts; ++i)
        boxes[i] = task.part[i].marched();
    return longest_march({boxes, boxes + task.parts}, {least, any, radius + 1}, at_once);
}

/// The part of a box where the layer has no terms, but for what would leave tiles unfilled.
Box without_layer(const Problem& pb, const Box& box, const Cutting& cut) {
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
TiltedTask around(const Box& box, const Box& core, const Cutting& cut) {
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

TiltedTask whole(const Box& box, float* const* out, const Cutting& cut) {
    TiltedTask task{};
    add_part(task, box, cut);
    if (out != nullptr) task.out[0] = out[0], task.out[1] = out[1];
    return task;
}

/// `planes`: of a march at most; 0: chosen.
template <int M, int Dim, int Rows, bool Plain>
Status start(const DeviceProblem& pb, const Levels& lv, TiltedTask task, int planes, cudaStream_t stream) {
    using Tile = TiltedTile<M, Dim, Rows, Plain>;
    if (task.parts == 0) return cudaSuccess;
    const auto kernel = tti_march<M, Dim, Rows, Plain>;
    int at_once = 0;
    SUBSALT_CHECK(blocks_at_once(kernel, Tile::threads, Tile::bytes, &at_once));
    const unsigned blocks = cut_marches(task, planes > 0 ? planes : planes_per_march(task, M, at_once));
    return launch(kernel, dim3(blocks), dim3(Tile::threads), Tile::bytes, stream, pb, lv, task);
}

/// The step of a box, or (`out`) A and B in it. With `Core` the kernel of the step alone, in tiles of so many rows of
/// y, does what it can; the rest does the one that can all, in tiles of `Rows` rows.
template <int M, int Dim, int Core, int Rows>
Status run(const DeviceProblem& pb, const Levels& lv, const Box& box, float* const* out, int planes,
           cudaStream_t stream) {
    constexpr Cutting cut = cutting<TiltedTile<M, Dim, Rows, false>>;
    if (Core == 0 || out != nullptr) return start<M, Dim, Rows, false>(pb, lv, whole(box, out, cut), planes, stream);
    if constexpr (Core > 0) {
        constexpr Cutting wide = cutting<TiltedTile<M, Dim, Core, true>>;
        const Box core = without_layer(pb, box, wide);
        SUBSALT_CHECK((start<M, Dim, Core, true>(pb, lv, whole(core, nullptr, wide), planes, stream)));
        return start<M, Dim, Rows, false>(pb, lv, around(box, core, cut), planes, stream);
    }
}

Status tilted_step(const DeviceProblem& pb, const Levels& lv, const Box& box, float* const* out, const Tuning& tuning,
                   cudaStream_t stream) {
    using Run = Status (*)(const DeviceProblem&, const Levels&, const Box&, float* const*, int, cudaStream_t);
    // what fits into the registers: order 8 has 448 threads in a core tile, 288 in one of the layer
    constexpr Run flat[max_radius] = {run<1, 2, 0, 1>, run<2, 2, 0, 1>, run<3, 2, 0, 1>, run<4, 2, 0, 1>,
                                      run<5, 2, 0, 1>, run<6, 2, 0, 1>, run<7, 2, 0, 1>, run<8, 2, 0, 1>};
    constexpr Run solid[max_radius] = {run<1, 3, 0, 8>, run<2, 3, 16, 8>, run<3, 3, 0, 8>, run<4, 3, 16, 8>,
                                       run<5, 3, 0, 8>, run<6, 3, 0, 8>,  run<7, 3, 0, 4>, run<8, 3, 0, 4>};
    if (is_empty(box)) return cudaSuccess;
    const Run chosen = pb.dim == 2                          ? flat[pb.radius - 1]
                       : pb.radius == 4 && tuning.rows == 8 ? run<4, 3, 8, 8>
                                                            : solid[pb.radius - 1];
    return chosen(pb, lv, box, out, tuning.planes, stream);
}

} // namespace

Status field_step_tti(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                      cudaStream_t stream) {
    return tilted_step(pb, levels, box, nullptr, tuning, stream);
}

int tunings_tti(const Problem& pb, Tuning* out, int most) {
    // planes 0: chosen for every box (planes_per_march)
    constexpr Tuning all[] = {{16, 0}, {16, 64}, {16, 128}, {16, 256}, {8, 0}, {8, 128}};
    const int worth = pb.dim == 2 ? 1 : pb.radius == 4 ? 6 : 4;
    const int count = most < worth ? most : worth;
    for (int i = 0; i < count; ++i)
        out[i] = all[i];
    return count;
}

Status apply_l_tti(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream) {
    Levels levels{};
    for (int f = 0; f < 2; ++f)
        levels.curr[f] = fields[f];
    return tilted_step(pb, levels, box, out, {}, stream);
}

} // namespace subsalt::cuda
