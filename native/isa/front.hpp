// The front of a wavefield: what it has not reached is exactly zero, and is not advanced.
//
// Ahead of a wave a scheme makes numbers that shrink faster than exponentially; beyond a few dozen cells they are
// flushed to zero. There next = 2 u - u_prev + m (L u + extra) is +0, which stands there already: to skip it changes no
// bit. For every row along z `reach` counts the points from z = 0 on that may be other than +0, in both levels and in
// the memory of the layer. A row is advanced as far as its neighbours within a stencil, and its own reach and M beyond
// it, ask for; then its reach is set to the last point that came out other than +0. It never shrinks within a segment,
// so what the layer remembers lies within it. A row that ends before the back window of the layer along z is a row of a
// shorter grid without that window (`Scratch::cut`).
//
// Threads read reaches that others may be raising: either value covers the level that is read, so a relaxed load will
// do.
#pragma once

#include "isa/fused.hpp"
#include "kernels/points.hpp"
#include "segment.hpp"

namespace subsalt::SUBSALT_NS {

SUBSALT_INLINE Index reach_of(const Problem& pb, const Front& front, Index ix, Index iy) {
    return __atomic_load_n(front.reach + ix * pb.n[1] + iy, __ATOMIC_RELAXED);
}

SUBSALT_INLINE void raise_reach(const Problem& pb, const Front& front, Index ix, Index iy, Index reach) {
    std::int32_t* at = front.reach + ix * pb.n[1] + iy;
    if (__atomic_load_n(at, __ATOMIC_RELAXED) < reach)
        __atomic_store_n(at, static_cast<std::int32_t>(reach), __ATOMIC_RELAXED);
}

/// The points of a row that are advanced when `most` are asked for: whole vectors before the back window, or all.
SUBSALT_INLINE Index advanced(const Problem& pb, const Front& front, Index most) {
    if (most == 0) return 0;
    const Index whole = (most + 15) / 16 * 16, z1 = whole < front.least ? front.least : whole;
    return z1 <= front.room ? z1 : pb.n[2];
}

/// The largest reach of the rows within a stencil of (ix, iy) along x, from plane ix - M to plane `last` + M.
SUBSALT_INLINE Index reach_along_x(const Problem& pb, const Front& front, Index ix, Index last, Index iy) {
    const Index from = ix < pb.radius ? 0 : ix - pb.radius,
                to = last + pb.radius < pb.n[0] ? last + pb.radius + 1 : pb.n[0];
    Index most = 0;
    for (Index jx = from; jx < to; ++jx) {
        const Index one = reach_of(pb, front, jx, iy);
        most = one > most ? one : most;
    }
    return most;
}

SUBSALT_INLINE Index reach_along_y(const Problem& pb, const Front& front, Index ix, Index iy) {
    const Index from = iy < pb.radius ? 0 : iy - pb.radius,
                to = iy + pb.radius < pb.n[1] ? iy + pb.radius + 1 : pb.n[1];
    Index most = 0;
    for (Index jy = from; jy < to; ++jy) {
        const Index one = reach_of(pb, front, ix, jy);
        most = one > most ? one : most;
    }
    return most;
}

/// How far the rows (ix, iy) to (ix + planes - 1, iy) are advanced.
SUBSALT_INLINE Index row_end(const Problem& pb, const Front& front, Index ix, int planes, Index iy) {
    Index own = 0;
    for (int i = 0; i < planes; ++i) {
        const Index one = reach_of(pb, front, ix + i, iy);
        own = one > own ? one : own;
    }
    if (own == pb.n[2]) return own;
    Index most = own > 0 ? own + pb.radius : 0;
    const Index along_x = reach_along_x(pb, front, ix, ix + planes - 1, iy);
    most = along_x > most ? along_x : most;
    for (int i = 0; i < planes && pb.dim == 3; ++i) {
        const Index along_y = reach_along_y(pb, front, ix + i, iy);
        most = along_y > most ? along_y : most;
    }
    return advanced(pb, front, most);
}

/// The last of the points [from, end) that is not +0, and one; `from` when all are.
SUBSALT_INLINE Index last_nonzero(const float* u, Index from, Index end) {
    for (; end > from; --end) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, u + end - 1, sizeof bits);
        if (bits != 0) break;
    }
    return end;
}

/// Note how far a row that was advanced to `end` has come.
SUBSALT_INLINE void note_reach(const Problem& pb, const Front& front, const Levels& lv, Index ix, Index iy, Index end) {
    Index known = reach_of(pb, front, ix, iy);
    if (known == pb.n[2]) return;
    for (int f = 0; f < pb.fields; ++f)
        known = last_nonzero(lv.prev[f] + row_offset(pb, ix, iy), known, end);
    // a row that is advanced whole from here on need not be looked at again
    raise_reach(pb, front, ix, iy, known + pb.radius > front.room ? pb.n[2] : known);
}

/// The problem whose rows end at z1: itself, or this thread's shorter one.
SUBSALT_INLINE const Problem& ending_at(const Problem& pb, const Scratch& scratch, Index z1) {
    if (z1 == pb.n[2]) return pb;
    scratch.cut.n[2] = z1;
    return scratch.cut;
}

/// Psi of x or y on a row as far as the rows within a stencil reach.
inline void front_psi(const Problem& pb, const Levels& lv, const Front& front, const RowKernels& kernels,
                      const Scratch& scratch, int axis, Index ix, Index iy, bool cold) {
    if (layer_row(pb, axis, axis == 0 ? ix : iy) < 0) return;
    Index most = reach_of(pb, front, ix, iy);
    if (most < pb.n[2]) most = axis == 0 ? reach_along_x(pb, front, ix, ix, iy) : reach_along_y(pb, front, ix, iy);
    const Index end = advanced(pb, front, most);
    if (end == 0) return;
    raise_reach(pb, front, ix, iy, end == pb.n[2] ? end : most);
    kernels.psi(ending_at(pb, scratch, end), lv, axis, ix, iy, 0, end, cold);
}

/// Psi of x on a row and on the row beyond it, when both lie in the layer as far.
inline void front_psi_x(const Problem& pb, const Levels& lv, const Front& front, const RowKernels& kernels,
                        const Scratch& scratch, Index ix, Index end, Index iy, bool cold) {
    const bool both = ix + 2 == end && layer_row(pb, 0, ix) >= 0 && layer_row(pb, 0, ix + 1) >= 0;
    if (!both) {
        for (; ix < end; ++ix)
            front_psi(pb, lv, front, kernels, scratch, 0, ix, iy, cold);
        return;
    }
    Index most = reach_of(pb, front, ix, iy);
    if (most < pb.n[2]) most = reach_along_x(pb, front, ix, ix + 1, iy);
    const Index z1 = advanced(pb, front, most);
    if (z1 == 0) return;
    for (Index jx = ix; jx < end; ++jx)
        raise_reach(pb, front, jx, iy, z1 == pb.n[2] ? z1 : most);
    kernels.psi_x(ending_at(pb, scratch, z1), lv, ix, end, iy, cold);
}

/// plane_rows (fused.hpp), as far as the wavefield has come.
inline void front_rows(const Problem& pb, const Levels& lv, const Front& front, const Planes& step,
                       const RowKernels& kernels, const Scratch& scratch, Index ix, int planes, Index y0, Index y1,
                       bool cold) {
    if (y0 >= y1) return;
    const Index reach = pb.radius, last = step.psi.hi;
    const bool layer = pb.boundary == Boundary::pml, layer_y = layer && pb.width[2] + pb.width[3] > 0;
    if (layer && ix == step.field.lo)
        for (Index jx = step.psi.lo; jx < ix + reach && jx < last; ++jx)
            for (Index iy = y0; iy < y1; ++iy)
                front_psi(pb, lv, front, kernels, scratch, 0, jx, iy, cold);
    if (layer_y)
        for (Index jx = ix; jx < ix + planes; ++jx)
            for (Index iy = y0; iy < y0 + reach && iy < y1; ++iy)
                front_psi(pb, lv, front, kernels, scratch, 1, jx, iy, cold);
    const Index from = layer ? ix + reach : last, to = from + planes < last ? from + planes : last;
    const bool psi_x = from < to && (layer_row(pb, 0, from) >= 0 || layer_row(pb, 0, to - 1) >= 0);
    for (Index iy = y0; iy < y1; ++iy) {
        if (psi_x) front_psi_x(pb, lv, front, kernels, scratch, from, to, iy, cold);
        if (layer_y && layer_row(pb, 1, iy + reach) >= 0 && iy + reach < y1)
            for (Index jx = ix; jx < ix + planes; ++jx)
                front_psi(pb, lv, front, kernels, scratch, 1, jx, iy + reach, cold);
        const Index end = row_end(pb, front, ix, planes, iy);
        if (end > 0) {
            const Index skip = iy + 1 < y1 ? pb.row : planes * pb.plane + (y0 - y1 + 1) * pb.row;
            field_rows(ending_at(pb, scratch, end), lv, kernels, scratch, {ix, iy, 0, end, planes, skip, cold, true});
        }
        for (int i = 0; i < planes; ++i) {
            if (end > 0) note_reach(pb, front, lv, ix + i, iy, end);
            // the images of zeros are -0, and are made whether the row is advanced or not
            for (int f = 0; f < pb.fields && pb.free_surface && end < pb.n[2]; ++f)
                reflect_row(lv.prev[f] + row_offset(pb, ix + i, iy), pb.radius, 0, pb.n[2]);
        }
    }
}

/// The front of a segment, whose reaches are to be found; `room` < 0 when no row can be cut.
inline Front front_of(const Problem& pb, std::int32_t* reach) {
    const Index back = pb.boundary == Boundary::damping ? pb.width[5] : pb.wz.back;
    const Index least = pb.boundary == Boundary::damping ? pb.width[4] : pb.wz.front;
    Front front{reach, (pb.n[2] - back) / 16 * 16, (least + 15) / 16 * 16};
    if (front.room == pb.n[2]) front.room -= 16;
    if (front.room < front.least + 16) front.room = -1;
    return front;
}

/// The reach of what both levels and the memory of the layer hold, of the planes [from, to).
inline void find_reaches(const Problem& pb, const Levels& lv, const Front& front, Index from, Index to) {
    const bool layer = pb.boundary == Boundary::pml;
    for (Index ix = from; ix < to; ++ix)
        for (Index iy = 0; iy < pb.n[1]; ++iy) {
            const Index at = row_offset(pb, ix, iy), n = pb.n[2];
            Index known = 0;
            for (int f = 0; f < pb.fields; ++f) {
                known = last_nonzero(lv.curr[f] + at, known, n);
                known = last_nonzero(lv.prev[f] + at, known, n);
            }
            for (int axis = 0; axis < (pb.dim == 3 ? 2 : 1) && layer; ++axis) {
                const Index r = layer_row(pb, axis, axis == 0 ? ix : iy);
                if (r < 0) continue;
                const Index row = memory_offset(pb, axis, r, ix, iy);
                known = last_nonzero(lv.psi[axis] + row, known, n);
                known = last_nonzero(lv.zeta[axis] + row, known, n);
            }
            if (layer && has_layer_z(pb)) {
                const Index row = memory_offset_z(pb, ix, iy), total = pb.wz.front + pb.wz.back;
                const float* const both[2] = {lv.psi[2] + row, lv.zeta[2] + row};
                for (const float* memory : both) {
                    const Index last = last_nonzero(memory, 0, total);
                    const Index deep = last > pb.wz.front ? n : last;
                    known = deep > known ? deep : known;
                }
            }
            front.reach[ix * pb.n[1] + iy] = static_cast<std::int32_t>(known + pb.radius > front.room ? n : known);
        }
}

/// What the sources of a segment may reach.
inline void add_feeds(const Problem& pb, const Segment& seg, const Front& front) {
    for (Index i = 0; i < seg.n_feeds; ++i) {
        const Feed& feed = seg.feeds[i];
        const Points& pts = *feed.points;
        if (seg.it >= feed.nt) continue;
        for (Index j = 0; j < pts.n_planes; ++j)
            for (Index a = pts.start[j]; a < pts.start[j + 1]; ++a) {
                const Index p = pts.item[a];
                const int32_t* base = pts.base + 3 * p;
                const float* w = pts.weights + 3 * p * pts.width;
                if (w[pts.plane[j] - base[0]] == 0.0f) continue;
                const Index ny = count_of(pts, p, 1, pb.n[1]), end = base[2] + count_of(pts, p, 2, pb.n[2]);
                for (Index jy = 0; jy < ny; ++jy)
                    if (w[pts.width + jy] != 0.0f)
                        raise_reach(pb, front, pts.plane[j], base[1] + jy,
                                    end + pb.radius > front.room ? pb.n[2] : end);
            }
    }
}

} // namespace subsalt::SUBSALT_NS
