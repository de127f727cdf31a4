// One x plane of one step of a segment: its rows, then what is injected into them and copied out of them.
#pragma once

#include "isa/rows.hpp"
#include "isa/wait.hpp"
#include "kernels/imaging.hpp"
#include "kernels/points.hpp"
#include "segment.hpp"

namespace subsalt::SUBSALT_NS {

/// Cut [lo, hi) into `parts` equal ranges and return range number i.
struct Range {
    Index lo, hi;
};
SUBSALT_INLINE Range part(Index lo, Index hi, Index parts, Index i) {
    return {lo + (hi - lo) * i / parts, lo + (hi - lo) * (i + 1) / parts};
}

/// What a pass needs to know of one of its steps.
struct Step {
    Levels levels;            // levels.prev becomes the new level
    Index now;                // time index of levels.curr
    const Snapshot* snapshot; // of the new level, or null

    SUBSALT_INLINE float* const* made() const { return levels.prev; }
};

/// Step number s of a segment.
inline Step step_of(const Segment& seg, Index s) {
    Step step{seg.even, seg.it + s, nullptr};
    if (s % 2 != 0)
        for (int f = 0; f < 2; ++f) {
            step.levels.prev[f] = const_cast<float*>(seg.even.curr[f]);
            step.levels.curr[f] = seg.even.prev[f];
        }
    Index lo = 0, hi = seg.n_snapshots;
    while (lo < hi) {
        const Index mid = (lo + hi) / 2;
        if (seg.snapshots[mid].it < step.now + 1)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < seg.n_snapshots && seg.snapshots[lo].it == step.now + 1) step.snapshot = seg.snapshots + lo;
    return step;
}

/// How many planes beyond plane ix the step before must have done before a step may do plane ix: it reads M planes, and
/// near a layer of x it advances Psi of plane ix + M, which the step before reads up to plane ix + 2 M.
SUBSALT_INLINE Index reach_behind(const Problem& pb, Index ix) {
    return pb.boundary == Boundary::pml && near_layer(pb, 0, ix) ? 2 * pb.radius : pb.radius;
}

/// The rows [y0, y1) of plane ix: the same rows in the same order as in one_pass_tile.
inline void step_plane(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch, Index ix,
                       Index y0, Index y1) {
    if (y0 >= y1) return;
    const Index reach = pb.radius, nz = pb.n[2];
    const bool layer = pb.boundary == Boundary::pml;
    if (layer) {
        if (ix == 0)
            for (Index jx = 0; jx < reach && jx < pb.n[0]; ++jx)
                for (Index iy = y0; iy < y1; ++iy)
                    kernels.psi(pb, lv, 0, jx, iy, 0, nz);
        if (pb.dim == 3)
            for (Index iy = y0; iy < y0 + reach && iy < y1; ++iy)
                kernels.psi(pb, lv, 1, ix, iy, 0, nz);
    }
    for (Index iy = y0; iy < y1; ++iy) {
        if (layer) {
            if (ix + reach < pb.n[0]) kernels.psi(pb, lv, 0, ix + reach, iy, 0, nz);
            if (pb.dim == 3 && iy + reach < y1) kernels.psi(pb, lv, 1, ix, iy + reach, 0, nz);
        }
        const Index skip = iy + 1 < y1 ? pb.row : pb.plane + (y0 - y1 + 1) * pb.row;
        field_row(pb, lv, kernels, scratch, ix, iy, 0, nz, skip, true);
    }
}

/// The rows [y0, y1) of plane ix of a step, with their share of the samples and of the snapshot.
inline void do_plane(const Problem& pb, const Segment& seg, const Step& step, const RowKernels& kernels,
                     const Scratch& scratch, Index ix, Index y0, Index y1) {
    step_plane(pb, step.levels, kernels, scratch, ix, y0, y1);
    for (Index i = 0; i < seg.n_feeds; ++i) {
        const Feed& feed = seg.feeds[i];
        if (step.now >= feed.nt) continue;
        const Index j = plane_number(*feed.points, ix);
        if (j >= 0) inject_plane(pb, step.made(), *feed.points, feed.samples + step.now * feed.points->n, j, y0, y1);
    }
    if (step.snapshot == nullptr) return;
    const Box& box = step.snapshot->box;
    if (ix < box.lo[0] || ix >= box.hi[0]) return;
    const Index from = y0 > box.lo[1] ? y0 : box.lo[1], to = y1 < box.hi[1] ? y1 : box.hi[1];
    const Index ny = box.hi[1] - box.lo[1], nz = box.hi[2] - box.lo[2];
    for (Index iy = from; iy < to; ++iy) {
        const Index at = row_offset(pb, ix, iy) + box.lo[2];
        float* out = step.snapshot->out + ((ix - box.lo[0]) * ny + (iy - box.lo[1])) * nz;
        snapshot_row(out, step.made()[0] + at, pb.fields == 2 ? step.made()[1] + at : nullptr, nz);
    }
}

/// Record point i of a tap from the level a step has made.
SUBSALT_INLINE void tap_point(const Problem& pb, const Step& step, const Tap& tap, Index i) {
    tap.data[(step.now + 1) * tap.points->n + i] = record_point(pb, step.made(), *tap.points, i);
}

} // namespace subsalt::SUBSALT_NS
