// How the boxes of one launch are cut into blocks. A box whose points all are alike (in the core, or in the layer of
// one side) is a part; a launch does several parts, so that a step with a layer costs three launches, however many
// sides it has. How long their marches are is chosen for all of them together (waves.hpp).
#pragma once

#include "kernels.hpp"
#include "waves.hpp"

namespace subsalt::cuda {

constexpr int block_threads = 256, max_parts = 6;

/// A box, and the blocks over it: a block is `lanes` quads of z by `rows` of y, and each thread marches through
/// `planes` of x. In 2-D the rows are stretches of x, each of so many planes.
struct Part {
    int lo[3], hi[3];
    int axis; // whose layer it is, where that matters
    int lanes, rows, planes;
    int tiles_z, tiles_y; // blocks along z and y
    unsigned first;       // number of its first block
};

struct Parts {
    Part part[max_parts] = {};
    int count = 0;
    unsigned blocks = 0;

    /// Add a box, if it has points. `tuning_rows`: rows of y per block wanted.
    void add(const Box& box, bool flat, int tuning_rows, int axis = 0) {
        const Index nx = box.hi[0] - box.lo[0], ny = box.hi[1] - box.lo[1];
        if (nx <= 0 || ny <= 0 || box.hi[2] <= box.lo[2]) return;
        Part& p = part[count++];
        for (int a = 0; a < 3; ++a)
            p.lo[a] = static_cast<int>(box.lo[a]), p.hi[a] = static_cast<int>(box.hi[a]);
        p.axis = axis;
        const int begin = p.lo[2] / 4, quads = (p.hi[2] + 3) / 4 - begin;
        const int rows_wanted = tuning_rows < 1 ? 1 : tuning_rows > 64 ? 64 : tuning_rows;
        const int most = block_threads / rows_wanted; // lanes
        p.tiles_z = (quads + most - 1) / most;
        p.lanes = (quads + p.tiles_z - 1) / p.tiles_z; // tiles of equal length,
        p.lanes += p.lanes % 2 != 0 && p.lanes < most; // of whole sectors of 32 bytes
        p.rows = block_threads / p.lanes;
        p.tiles_y = flat ? 1 : over(static_cast<int>(ny), p.rows);
    }

    /// Cut what was added into marches of at most so many planes.
    void cut(bool flat, int planes) {
        blocks = 0;
        for (int i = 0; i < count; ++i) {
            const Marched box = marched(part[i], flat);
            part[i].planes = box.length(planes);
            part[i].first = blocks;
            blocks += static_cast<unsigned>(box.blocks(planes));
        }
    }

    /// Cut it so that `at_once` blocks, run at once, are done with it soonest.
    void cut(bool flat, const MarchLimits& limits, int at_once) {
        Marched boxes[max_parts];
        for (int i = 0; i < count; ++i)
            boxes[i] = marched(part[i], flat);
        cut(flat, longest_march({boxes, boxes + count}, limits, at_once));
    }

private:
    /// In 2-D the rows of a block are marches.
    static Marched marched(const Part& p, bool flat) {
        return {p.hi[0] - p.lo[0], p.tiles_y * p.tiles_z, flat ? p.rows : 1};
    }
};

/// Tunings of a march worth trying. 16 rows of 16 quads first: of the planes of p 24 rows are read for 16, where 8 rows
/// of 32 quads read 16 for 8; longer runs along z may still win, and longer marches where the device is full anyway.
inline int march_tunings(const Problem& pb, Tuning* out, int most) {
    constexpr Tuning in_3d[] = {{16, 0}, {8, 0}, {16, 64}, {8, 64}, {16, 32}, {4, 0}},
                     in_2d[] = {{8, 0}, {8, 16}, {2, 0}};
    const Tuning* const all = pb.dim == 3 ? in_3d : in_2d;
    const int there = pb.dim == 3 ? 6 : 3, count = most < there ? most : there;
    for (int i = 0; i < count; ++i)
        out[i] = all[i];
    return count;
}

/// Where a thread works: planes [x, x_end), row y, quad at z of its part; idle when there is none. `whole`: the quad
/// lies in the part, or reaches over the end of the row, where what is written is 0 and stays so.
struct Place {
    int x, x_end, y, z;
    bool idle, whole;
};

SUBSALT_DEVICE const Part& part_of_block(const Parts& parts) {
    int i = 0;
    while (i + 1 < parts.count && blockIdx.x >= parts.part[i + 1].first)
        ++i;
    return parts.part[i];
}

/// The points of a part that this block has, [lo, hi); in 2-D x is cut into rows of the block.
struct BlockPoints {
    int lo[3], hi[3];
};

SUBSALT_DEVICE BlockPoints points_of_block(const Problem& pb, const Part& part) {
    const bool flat = pb.dim == 2;
    const int block = static_cast<int>(blockIdx.x - part.first);
    const int tile_z = block % part.tiles_z, rest = block / part.tiles_z;
    const int tile_y = rest % part.tiles_y, along_x = rest / part.tiles_y;
    const int planes = flat ? part.rows * part.planes : part.planes;
    BlockPoints out;
    out.lo[0] = part.lo[0] + along_x * planes, out.hi[0] = min(out.lo[0] + planes, part.hi[0]);
    out.lo[1] = flat ? 0 : part.lo[1] + tile_y * part.rows,
    out.hi[1] = flat ? 1 : min(out.lo[1] + part.rows, part.hi[1]);
    out.lo[2] = part.lo[2] / 4 * 4 + 4 * tile_z * part.lanes, out.hi[2] = min(out.lo[2] + 4 * part.lanes, part.hi[2]);
    return out;
}

SUBSALT_DEVICE Place place_of_thread(const Problem& pb, const Part& part, const BlockPoints& block) {
    const bool flat = pb.dim == 2;
    const int thread = static_cast<int>(threadIdx.x), row = thread / part.lanes, lane = thread - row * part.lanes;
    Place at;
    at.z = block.lo[2] + 4 * lane;
    at.y = flat ? 0 : block.lo[1] + row;
    at.x = block.lo[0] + (flat ? row * part.planes : 0);
    at.x_end = min(at.x + part.planes, part.hi[0]);
    at.idle = row >= part.rows || at.x >= at.x_end || at.y >= part.hi[1] || at.z >= part.hi[2];
    at.whole = at.z >= part.lo[2] && (at.z + 4 <= part.hi[2] || part.hi[2] == pb.n[2]);
    return at;
}

/// Make the compiler compute anew, plane after plane, what follows from the place: what a layer needs of it, kept over
/// the march, would spill.
SUBSALT_DEVICE void keep_nothing_of(Place& at) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(at.y), "+r"(at.z));
#endif
}

/// Offset of (x, y, z) in a padded array.
SUBSALT_DEVICE Index padded_offset(const Problem& pb, int x, int y, int z) {
    return (x + pb.radius) * pb.plane + (y + pb.y_halo) * pb.row + z_front + z;
}

} // namespace subsalt::cuda
