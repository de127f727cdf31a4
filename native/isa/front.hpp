// The front of a wavefield: what it has not reached is exactly zero, and is not advanced.
//
// Ahead of a wave a scheme makes numbers that shrink faster than exponentially; beyond a few dozen cells they are
// flushed to zero. There next = 2 u - u_prev + m (L u + extra) is +0, which stands there already: to skip it changes no
// bit. For every row along z of a level `reach` counts the points from z = 0 on that may be other than +0; for every
// row of the layer of x and y there is one of Psi. A row is advanced as far as the rows within a stencil reach, and M
// points beyond its own reach; then the last point that came out other than +0 is the reach of the new level, or that
// of the level before where this is more. So reaches never shrink, and what the layer remembers in Zeta lies within
// them. A row that ends before the back window of the layer along z is a row of a shorter grid without that window
// (`Scratch::cut`).
//
// In a tilted medium a row reads fluxes within M cells, and these read the fields within M cells of theirs. Fluxes are
// made as far as the rows within a stencil reach, and a row is advanced as far as the fluxes within a stencil:
// `tilted_ends`. What of a flux is not made counts as +0, where it would be +0 or -0: of a point that may be other than
// +0 all fluxes within its stencil are made, and at one that is +0, with Zeta +0, next is +0 whatever the sign of a
// flux.
//
// Every reach is written and read where the numbers are that it speaks of, so threads need no other order.
#pragma once

#include "isa/fused.hpp"
#include "kernels/points.hpp"
#include "segment.hpp"

namespace subsalt::SUBSALT_NS {

/// Reaches of the level that a step reads, and of the one it makes.
struct Reaches {
    const std::int32_t* read;
    std::int32_t* made;
};

SUBSALT_INLINE Index larger(Index a, Index b) {
    return a > b ? a : b;
}

/// The points of a row that are advanced when `most` are asked for: whole vectors before the back window, or all.
SUBSALT_INLINE Index advanced(const Problem& pb, const Front& front, Index most) {
    if (most == 0) return 0;
    const Index z1 = larger((most + 15) / 16 * 16, front.least);
    return z1 <= front.room ? z1 : pb.n[2];
}

/// The last of the points [from, end) that is not +0, and one; `from` when all are. What lies between `end` and the
/// next multiple of a vector is zero or may count.
SUBSALT_INLINE Index last_nonzero(const float* u, Index from, Index end) {
    for (Index z = down(end + lanes - 1) - lanes; z + lanes > from; z -= lanes) {
        const Index last = z + last_set(u + z);
        if (last > z) return last > from ? (last < end ? last : end) : from;
    }
    return from;
}

/// out[i] = max(out[i], in[i])
SUBSALT_INLINE void take_larger(std::int32_t* out, const std::int32_t* in, Index n) {
    for (Index i = 0; i < n; ++i)
        out[i] = in[i] > out[i] ? in[i] : out[i];
}

/// out[i] = max over k = -M .. M of in[i + k], for rows y0 + i inside the grid; `in` begins at row 0.
SUBSALT_INLINE void take_larger_along_y(const Problem& pb, std::int32_t* out, const std::int32_t* in, Index y0,
                                        Index y1) {
    for (Index k = -pb.radius; k <= pb.radius; ++k) {
        const Index from = y0 + k < 0 ? -k : y0, to = y1 + k > pb.n[1] ? pb.n[1] - k : y1;
        if (from < to) take_larger(out + (from - y0), in + from + k, to - from);
    }
}

SUBSALT_INLINE Index first_of_x(const Problem& pb, Index ix) {
    return ix < pb.radius ? 0 : ix - pb.radius;
}

SUBSALT_INLINE Index end_of_x(const Problem& pb, Index last) {
    return last + pb.radius < pb.n[0] ? last + pb.radius + 1 : pb.n[0];
}

/// How far the rows [y0, y1) of the planes from ix on are advanced, into `ends`.
inline void row_ends(const Problem& pb, const Front& front, const std::int32_t* reach, Index ix, int planes, Index y0,
                     Index y1, std::int32_t* ends) {
    const Index ny = pb.n[1], rows = y1 - y0;
    for (Index i = 0; i < rows; ++i)
        ends[i] = 0;
    for (Index jx = ix; jx < ix + planes; ++jx)
        take_larger(ends, reach + jx * ny + y0, rows);
    for (Index i = 0; i < rows; ++i)
        ends[i] = ends[i] > 0 ? ends[i] + pb.radius : 0;
    for (Index jx = first_of_x(pb, ix), end = end_of_x(pb, ix + planes - 1); jx < end; ++jx) {
        take_larger(ends, reach + jx * ny + y0, rows);
        if (layer_row(pb, 0, jx) >= 0 && front.psi[0] != nullptr) take_larger(ends, front.psi[0] + jx * ny + y0, rows);
    }
    for (Index jx = ix; jx < ix + planes && pb.dim == 3; ++jx) {
        take_larger_along_y(pb, ends, reach + jx * ny, y0, y1);
        if (front.psi[1] != nullptr) take_larger_along_y(pb, ends, front.psi[1] + jx * ny, y0, y1);
    }
    for (Index i = 0; i < rows; ++i)
        ends[i] = static_cast<std::int32_t>(advanced(pb, front, ends[i]));
}

/// The problem whose rows end at z1: itself, or this thread's shorter one.
SUBSALT_INLINE const Problem& ending_at(const Problem& pb, const Scratch& scratch, Index z1) {
    if (z1 == pb.n[2]) return pb;
    scratch.cut.n[2] = z1;
    return scratch.cut;
}

/// Note how far Psi of an axis has come on a row that was advanced to `end`.
SUBSALT_INLINE void note_psi(const Problem& pb, const Front& front, const Levels& lv, int axis, Index ix, Index iy,
                             Index end) {
    std::int32_t& known = front.psi[axis][ix * pb.n[1] + iy];
    const Index r = layer_row(pb, axis, axis == 0 ? ix : iy);
    known = static_cast<std::int32_t>(last_nonzero(lv.psi[axis] + memory_offset(pb, axis, r, ix, iy), known, end));
}

/// Psi of x or y on a row as far as the rows within a stencil reach.
inline void front_psi(const Problem& pb, const Levels& lv, const Front& front, const std::int32_t* reach,
                      const RowKernels& kernels, const Scratch& scratch, int axis, Index ix, Index iy, bool cold) {
    if (layer_row(pb, axis, axis == 0 ? ix : iy) < 0) return;
    const Index ny = pb.n[1];
    Index most = front.psi[axis][ix * ny + iy];
    if (axis == 0)
        for (Index jx = first_of_x(pb, ix), end = end_of_x(pb, ix); jx < end; ++jx)
            most = larger(most, reach[jx * ny + iy]);
    else
        for (Index jy = iy < pb.radius ? 0 : iy - pb.radius; jy <= iy + pb.radius && jy < ny; ++jy)
            most = larger(most, reach[ix * ny + jy]);
    const Index end = advanced(pb, front, most);
    if (end == 0) return;
    kernels.psi(ending_at(pb, scratch, end), lv, axis, ix, iy, 0, end, cold);
    note_psi(pb, front, lv, axis, ix, iy, end);
}

/// Psi of x on a row and on the row beyond it, both at once when both lie in the layer.
inline void front_psi_x(const Problem& pb, const Levels& lv, const Front& front, const std::int32_t* reach,
                        const RowKernels& kernels, const Scratch& scratch, Index ix, Index end, Index iy, bool cold) {
    const bool both = ix + 2 == end && layer_row(pb, 0, ix) >= 0 && layer_row(pb, 0, ix + 1) >= 0;
    if (!both) {
        for (; ix < end; ++ix)
            front_psi(pb, lv, front, reach, kernels, scratch, 0, ix, iy, cold);
        return;
    }
    const Index ny = pb.n[1];
    Index most = larger(front.psi[0][ix * ny + iy], front.psi[0][(ix + 1) * ny + iy]);
    for (Index jx = first_of_x(pb, ix), last = end_of_x(pb, ix + 1); jx < last; ++jx)
        most = larger(most, reach[jx * ny + iy]);
    const Index z1 = advanced(pb, front, most);
    if (z1 == 0) return;
    kernels.psi_rows(ending_at(pb, scratch, z1), lv, 0, ix, iy, end - ix, cold);
    note_psi(pb, front, lv, 0, ix, iy, z1);
    note_psi(pb, front, lv, 0, ix + 1, iy, z1);
}

/// Note how far row iy of the level that was made has come, in planes ix to ix + planes - 1, of which `end` points were
/// advanced.
inline void note_levels(const Problem& pb, const Levels& lv, const Reaches& reaches, Index ix, int planes, Index iy,
                        Index end) {
    for (Index jx = ix; jx < ix + planes; ++jx) {
        Index known = reaches.read[jx * pb.n[1] + iy];
        for (int f = 0; f < pb.fields; ++f) {
            float* u = lv.prev[f] + row_offset(pb, jx, iy);
            known = last_nonzero(u, known, end);
            // the images of zeros are -0, and are made whether the row is advanced or not
            if (pb.free_surface && end < pb.n[2]) reflect_row(u, pb.radius, 0, pb.n[2]);
        }
        reaches.made[jx * pb.n[1] + iy] = static_cast<std::int32_t>(known);
    }
}

/// plane_rows (fused.hpp), as far as the wavefield has come.
inline void front_rows(const Problem& pb, const Levels& lv, const Front& front, const Reaches& reaches,
                       const Planes& step, const RowKernels& kernels, const Scratch& scratch, Index ix, int planes,
                       Index y0, Index y1, Fetch fetch) {
    if (y0 >= y1) return;
    const bool cold = fetch != Fetch::none;
    const Index reach = pb.radius, last = step.psi.hi;
    const bool layer = pb.boundary == Boundary::pml, layer_y = layer && pb.width[2] + pb.width[3] > 0;
    if (layer && ix == step.field.lo)
        for (Index jx = step.psi.lo; jx < ix + reach && jx < last; ++jx)
            for (Index iy = y0; iy < y1; ++iy)
                front_psi(pb, lv, front, reaches.read, kernels, scratch, 0, jx, iy, cold);
    const Index from = layer ? ix + reach : last, to = from + planes < last ? from + planes : last;
    if (from < to && (layer_row(pb, 0, from) >= 0 || layer_row(pb, 0, to - 1) >= 0))
        for (Index iy = y0; iy < y1; ++iy)
            front_psi_x(pb, lv, front, reaches.read, kernels, scratch, from, to, iy, cold);
    for (Index iy = y0; iy < y1 && layer_y; ++iy)
        if (layer_row(pb, 1, iy) >= 0)
            for (Index jx = ix; jx < ix + planes; ++jx)
                front_psi(pb, lv, front, reaches.read, kernels, scratch, 1, jx, iy, cold);
    row_ends(pb, front, reaches.read, ix, planes, y0, y1, scratch.ends_of_rows);
    const auto end_of = [&](Index iy) -> Index { return scratch.ends_of_rows[iy - y0]; };
    for (Index iy = y0, next; iy < y1; iy = next) {
        const Index end = end_of(iy);
        const Problem& cut = ending_at(pb, scratch, end > 0 ? end : pb.n[2]);
        int rows = rows_at_once(cut, ix, planes, iy, y1);
        for (next = iy + 1; next < iy + rows && end_of(next) == end;)
            ++next;
        rows = static_cast<int>(next - iy);
        scratch.advanced += rows * planes * end;
        if (end > 0) {
            const Index skip = next < y1 ? pb.row : planes * pb.plane + (y0 - y1 + 1) * pb.row;
            for (Index jy = iy; jy < next && fetch == Fetch::l2; ++jy)
                fetch_beside(pb, lv, ix, planes, jy, y0, y1, end);
            field_rows(cut, lv, kernels, scratch, {ix, iy, 0, end, planes, rows, skip, fetch, true});
        }
        for (Index jy = iy; jy < next; ++jy)
            note_levels(pb, lv, reaches, ix, planes, jy, end);
    }
}

/// How far the rows of a tilted medium are made in a step, in points from z = 0 on of every row (nx, ny).
struct TiltedEnds {
    std::int32_t* flux; // the fluxes
    std::int32_t* step; // the next level
    const Front* front;
    Reaches reaches;
};

/// out = in and, where it is not 0, M points more; then the largest of that and of `in` within M rows along x and y.
inline void widened(const Problem& pb, std::int32_t* out, const std::int32_t* in) {
    const Index ny = pb.n[1], rows = pb.n[0] * ny;
    for (Index r = 0; r < rows; ++r)
        out[r] = in[r] > 0 ? in[r] + pb.radius : 0;
    for (Index k = ny; k <= pb.radius * ny && k < rows; k += ny) {
        take_larger(out, in + k, rows - k);
        take_larger(out + k, in, rows - k);
    }
    for (Index r = 0; r < rows && pb.dim == 3; r += ny)
        take_larger_along_y(pb, out + r, in + r, 0, ny);
}

/// Find where a step ends; `room`: for as many numbers as there are rows.
inline void find_ends(const Problem& pb, const TiltedEnds& ends, std::int32_t* room) {
    const Front& front = *ends.front;
    const Index rows = pb.n[0] * pb.n[1];
    for (Index r = 0; r < rows; ++r)
        room[r] = ends.reaches.read[r];
    for (int axis = 0; axis < pb.dim - 1; ++axis)
        if (front.psi[axis] != nullptr) take_larger(room, front.psi[axis], rows);
    widened(pb, ends.flux, room);
    widened(pb, ends.step, ends.flux);
    for (Index r = 0; r < rows; ++r) {
        ends.flux[r] = static_cast<std::int32_t>(advanced(pb, front, ends.flux[r]));
        ends.step[r] = static_cast<std::int32_t>(advanced(pb, front, ends.step[r]));
    }
}

/// Whether rows of this grid may be cut at all, with the places where.
inline bool lay_out(const Problem& pb, Front& front) {
    const bool damped = pb.boundary == Boundary::damping;
    const Index back = damped ? pb.width[5] : pb.wz.back, least = damped ? pb.width[4] : pb.wz.front;
    front.room = (pb.n[2] - (back > 0 ? back : 1)) / 16 * 16;
    front.least = (least + 15) / 16 * 16;
    return front.room >= front.least + 16;
}

/// The reaches of what both levels and the memory of the layer hold, of the planes [from, to).
inline void find_reaches(const Problem& pb, const Levels& lv, const Front& front, Index from, Index to) {
    const bool layer = pb.boundary == Boundary::pml, tilted = pb.medium == Medium::tti;
    const Index n = pb.n[2], total = pb.wz.front + pb.wz.back;
    for (Index ix = from; ix < to; ++ix)
        for (Index iy = 0; iy < pb.n[1]; ++iy) {
            const Index at = row_offset(pb, ix, iy), row = ix * pb.n[1] + iy;
            Index known = 0;
            for (int f = 0; f < pb.fields; ++f)
                known = last_nonzero(lv.prev[f] + at, last_nonzero(lv.curr[f] + at, known, n), n);
            for (int axis = 0; axis < 2 && layer; ++axis) {
                const Index r = axis == 0 || pb.dim == 3 ? layer_row(pb, axis, axis == 0 ? ix : iy) : -1;
                const Index memory = r < 0 ? 0 : memory_offset(pb, axis, r, ix, iy);
                front.psi[axis][row] = r < 0 ? 0 : static_cast<std::int32_t>(last_nonzero(lv.psi[axis] + memory, 0, n));
                if (r >= 0) known = last_nonzero(lv.zeta[axis] + memory, known, n);
                if (r >= 0 && tilted) known = last_nonzero(lv.zeta2[axis] + memory, known, n);
            }
            if (layer && total > 0) {
                const Index memory = memory_offset_z(pb, ix, iy);
                Index last = last_nonzero(lv.zeta[2] + memory, last_nonzero(lv.psi[2] + memory, 0, total), total);
                if (tilted) last = last_nonzero(lv.zeta2[2] + memory, last, total);
                known = larger(known, last > pb.wz.front ? n : last);
            }
            front.level[0][row] = front.level[1][row] = static_cast<std::int32_t>(known);
        }
}

/// Where the sources of a segment act.
inline void add_feeds(const Problem& pb, const Segment& seg, const Front& front) {
    for (Index i = 0; i < seg.n_feeds; ++i) {
        const Points& pts = *seg.feeds[i].points;
        if (seg.it >= seg.feeds[i].nt) continue;
        for (Index j = 0; j < pts.n_planes; ++j)
            for (Index a = pts.start[j]; a < pts.start[j + 1]; ++a) {
                const Index p = pts.item[a];
                const int32_t* base = pts.base + 3 * p;
                const float* w = pts.weights + 3 * p * pts.width;
                if (w[pts.plane[j] - base[0]] == 0.0f) continue;
                const Index ny = count_of(pts, p, 1, pb.n[1]);
                const auto end = static_cast<std::int32_t>(base[2] + count_of(pts, p, 2, pb.n[2]));
                for (Index jy = 0; jy < ny; ++jy) {
                    if (w[pts.width + jy] == 0.0f) continue;
                    for (std::int32_t* level : front.level) {
                        std::int32_t& reach = level[pts.plane[j] * pb.n[1] + base[1] + jy];
                        reach = end > reach ? end : reach;
                    }
                }
            }
    }
}

} // namespace subsalt::SUBSALT_NS
