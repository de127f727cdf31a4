// How far a wavefield has come: which planes of x, rows of y and cells of z hold other bits than +0.
//
//   find   all arrays of a state: both levels of every field, Psi and Zeta
//   look   the same in what the box has gained since the last look
//
// A number in the box reaches M cells on in a step, along x and y and z. Where the layer has terms it is M more along
// its axis, for Psi takes D1 u and the field takes D1 Psi; in tilted media everywhere, by the derivatives of fluxes. In
// truth waves travel half a cell a step, and the numbers ahead of them shrink faster than exponentially until they are
// flushed to zero; so after some steps the box is found anew from what the arrays hold. There next = 2 u - u_prev +
// m (...) is +0 whatever the sign of the zero in brackets, as are Psi and Zeta, since b >= 0: to skip it changes no
// bit. Above a free surface stand odd images, -0 of zeros, which every step writes: the first two steps after `find`
// write those of both levels over the whole surface, and there they stay.
//
// Bytes: `find` reads all arrays once, 16 per point of two fields, less than half a step. `look` reads a shell of
// look_after * M cells around what is known, in six launches at most, and brings nx + ny + nz numbers to the host,
// which waits about 20 us. No atomics: whoever writes a mark writes the same.
#include "reached.hpp"

#include <algorithm>

#include "absorb.cuh"
#include "apply_l.cuh"

namespace subsalt::cuda {

namespace {

SUBSALT_DEVICE unsigned bits_of(const float* p) {
    return __float_as_uint(__ldg(p));
}

/// What the memory of the layer holds at a point.
SUBSALT_DEVICE unsigned bits_of_memory(const DeviceProblem& pb, const Levels& lv, int x, int y, int z) {
    float* const* const kinds[3] = {lv.psi, lv.zeta, lv.zeta2};
    const int at[3] = {x, y, z};
    unsigned bits = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const int cell = __ldg(pb.layer_cell[axis] + at[axis]);
        if (cell < 0) continue;
        for (float* const* kind : kinds) {
            if (kind[axis] == nullptr) continue;
            const float* const memory = kind[axis];
            bits |= bits_of(axis < 2 ? layer_rows(pb, axis, x, y, z).row(memory, cell)
                                     : memory + window_row(pb, x, y) + cell);
        }
    }
    return bits;
}

SUBSALT_DEVICE void set(int* mark) {
    if (*mark == 0) *mark = 1;
}

/// marks: of planes of x, then of rows of y, then of cells of z.
SUBSALT_GLOBAL void mark_reached(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
                                 const __grid_constant__ Box box, int* marks) {
    const BoxPoint at = point_of_box(pb, box);
    if (!at.inside) return;
    unsigned bits = 0;
    for (int f = 0; f < pb.fields; ++f)
        bits |= bits_of(lv.prev[f] + at.padded) | bits_of(lv.curr[f] + at.padded);
    const int x = static_cast<int>(box.lo[0] + blockIdx.z);
    const int y = static_cast<int>(box.lo[1] + blockIdx.y * apply_rows + threadIdx.y);
    const int z = static_cast<int>(box.lo[2] + blockIdx.x * apply_lanes + threadIdx.x);
    if (pb.boundary == Boundary::pml) bits |= bits_of_memory(pb, lv, x, y, z);
    if (bits == 0) return;
    set(marks + x);
    set(marks + pb.n[0] + y);
    set(marks + pb.n[0] + pb.n[1] + z);
}

/// Marks on the device and, page-locked, on the host; a process has one wavefield under way at a time.
struct Marks {
    int *device = nullptr, *host = nullptr;
    Index room = 0;

    Status open(Index n) {
        if (n <= room) return cudaSuccess;
        release(device);
        release_host(host);
        room = 0;
        void *there = nullptr, *here = nullptr;
        SUBSALT_CHECK(allocate(&there, n * static_cast<Index>(sizeof(int))));
        SUBSALT_CHECK(allocate_host(&here, n * static_cast<Index>(sizeof(int))));
        device = static_cast<int*>(there), host = static_cast<int*>(here), room = n;
        return cudaSuccess;
    }
};
Marks& marks() {
    static Marks made;
    return made;
}

bool is_empty(const Box& box) {
    return points_of(box) == 0;
}

/// What numbers in a box reach in one step.
Box grown(const Problem& pb, const Box& box) {
    if (is_empty(box)) return box;
    Box out = box;
    const Index reach = pb.radius;
    for (int a = 0; a < 3; ++a) {
        const Index n = pb.n[a], lo = box.lo[a] - reach, hi = box.hi[a] + reach;
        Index from = lo, to = hi;
        if (pb.medium == Medium::tti) from -= reach, to += reach;
        for (int side = 0; side < 2 && pb.boundary == Boundary::pml; ++side) { // Psi in the layer, and D1 of it
            const Index width = pb.width[2 * a + side], first = side == 0 ? 0 : n - width;
            const Index psi = std::max(lo, first), psi_end = std::min(hi, first + width);
            if (psi < psi_end) from = std::min(from, psi - reach), to = std::max(to, psi_end + reach);
        }
        out.lo[a] = std::max<Index>(from, 0), out.hi[a] = std::min(to, n);
    }
    return out;
}

/// Mark what the sides of `box` around `inside` hold, or all of it when that is empty.
Status mark_around(const DeviceProblem& pb, const Levels& lv, const Box& box, const Box& inside, int* marks) {
    const auto mark = [&](Box side) -> Status {
        constexpr Index planes = 1 << 15; // of a launch: below the 65535 blocks that CUDA has along z
        for (const Index end = side.hi[0]; side.lo[0] < end; side.lo[0] += planes) {
            side.hi[0] = std::min(end, side.lo[0] + planes);
            SUBSALT_CHECK(launch_over(mark_reached, side, context().compute, pb, lv, side, marks));
        }
        return cudaSuccess;
    };
    if (is_empty(inside)) return mark(box);
    Box left = box;
    for (int a = 0; a < 3; ++a) {
        Box side = left;
        side.hi[a] = inside.lo[a];
        SUBSALT_CHECK(mark(side));
        side = left;
        side.lo[a] = inside.hi[a];
        SUBSALT_CHECK(mark(side));
        left.lo[a] = inside.lo[a], left.hi[a] = inside.hi[a];
    }
    return cudaSuccess;
}

/// The smallest box that has all marks; empty without any.
Box marked(const Problem& pb, const int* found) {
    Box out{};
    for (int a = 0; a < 3; found += pb.n[a], ++a) {
        const int* const end = found + pb.n[a];
        const int* const first = std::find(found, end, 1);
        if (first == end) return {};
        const int* last = end - 1;
        while (*last == 0)
            --last;
        out.lo[a] = first - found, out.hi[a] = last + 1 - found;
    }
    return out;
}

} // namespace

Box joined(const Box& a, const Box& b) {
    if (is_empty(a)) return b;
    if (is_empty(b)) return a;
    Box out;
    for (int i = 0; i < 3; ++i)
        out.lo[i] = std::min(a.lo[i], b.lo[i]), out.hi[i] = std::max(a.hi[i], b.hi[i]);
    return out;
}

Status Reached::look(const DeviceProblem& pb, const Levels& lv) {
    const cudaStream_t compute = context().compute;
    const Index n = pb.n[0] + pb.n[1] + pb.n[2];
    const std::size_t bytes = sizeof(int) * static_cast<std::size_t>(n);
    SUBSALT_CHECK(marks().open(n));
    SUBSALT_CHECK(cudaMemsetAsync(marks().device, 0, bytes, compute));
    SUBSALT_CHECK(mark_around(pb, lv, box_, known_, marks().device));
    SUBSALT_CHECK(cudaMemcpyAsync(marks().host, marks().device, bytes, cudaMemcpyDeviceToHost, compute));
    SUBSALT_CHECK(cudaStreamSynchronize(compute));
    box_ = known_ = joined(known_, marked(pb, marks().host));
    since_look_ = 0;
    return cudaSuccess;
}

Status Reached::find(const DeviceProblem& pb, const Levels& lv, Index it, const Box& fed) {
    box_ = {{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
    known_ = {};
    it_ = -1; // until it is found
    whole_ = false;
    SUBSALT_CHECK(look(pb, lv));
    box_ = known_ = joined(known_, fed);
    it_ = it, since_find_ = 0;
    return cudaSuccess;
}

Status Reached::step(const DeviceProblem& pb, const Levels& lv, Index look_after, Box* box) {
    const Box all{{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
    if (since_look_ >= look_after && !whole_) SUBSALT_CHECK(look(pb, lv));
    box_ = grown(pb, box_);
    ++it_, ++since_look_, ++since_find_;
    whole_ = whole_ || 10 * points_of(box_) >= 9 * points_of(all);
    *box = whole_ ? all : box_;
    if (!is_empty(*box)) // whole sectors of 32 bytes
        box->lo[2] = box->lo[2] / 8 * 8, box->hi[2] = std::min((box->hi[2] + 7) / 8 * 8, pb.n[2]);
    if (pb.free_surface && since_find_ <= 2) {
        const Index images = std::min<Index>(2 * max_radius, pb.n[2]); // all points that have one
        *box = joined(*box, {{0, 0, 0}, {pb.n[0], pb.n[1], images}});
    }
    return cudaSuccess;
}

} // namespace subsalt::cuda
