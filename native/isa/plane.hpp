// One x plane of one step of a segment, or two at once: its rows, then what is injected into them and copied out.
#pragma once

#include "isa/front.hpp"
#include "isa/wait.hpp"
#include "kernels/imaging.hpp"
#include "kernels/points.hpp"
#include "kernels/scaled16.hpp"
#include "kernels/shell.hpp"
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
    Levels levels;         // levels.prev becomes the new level
    Index now;             // time index of levels.curr
    const Sample* samples; // of the new level
    Index n_samples;
    Planes planes; // what is advanced
    Reaches reaches;

    SUBSALT_INLINE float* const* made() const { return levels.prev; }
};

/// Step number s of a segment.
inline Step step_of(const Problem& pb, const Segment& seg, Index s) {
    Step step{seg.even, seg.it + s, nullptr, 0, all_planes(pb), {nullptr, nullptr}};
    if (seg.front != nullptr) step.reaches = {seg.front->level[step.now % 2], seg.front->level[(step.now + 1) % 2]};
    if (s % 2 != 0)
        for (int f = 0; f < 2; ++f) {
            step.levels.prev[f] = const_cast<float*>(seg.even.curr[f]);
            step.levels.curr[f] = seg.even.prev[f];
        }
    Index lo = 0, hi = seg.n_samples;
    while (lo < hi) {
        const Index mid = (lo + hi) / 2;
        if (seg.samples[mid].it < step.now + 1)
            lo = mid + 1;
        else
            hi = mid;
    }
    step.samples = seg.samples + lo;
    while (lo + step.n_samples < seg.n_samples && seg.samples[lo + step.n_samples].it == step.now + 1)
        ++step.n_samples;
    return step;
}

/// Where the shell of the level goes that a step makes, or comes from; null when there is none.
inline float* shell_record(const Problem& pb, const Segment& seg, const Step& step) {
    if (seg.shells == nullptr) return nullptr;
    const Shells& all = *seg.shells;
    const Index row = (step.now + 1 - all.first) * all.direction;
    return row < 0 || row >= all.rows ? nullptr : all.data + row * pb.fields * all.shell.cells;
}

/// How many planes beyond plane ix the step before must have done before a step may do plane ix: it reads M planes, and
/// near a layer of x it advances Psi of plane ix + M, which the step before reads up to plane ix + 2 M.
SUBSALT_INLINE Index reach_behind(const Problem& pb, Index ix) {
    return pb.boundary == Boundary::pml && near_layer(pb, 0, ix) ? 2 * pb.radius : pb.radius;
}

/// Planes, and in tiles rows, that a step stays behind the one before: M, and as many that the step after next, which
/// writes over what this one has made, leaves a support of W nodes alone until it is recorded: W / 2.
inline Index lag_of(const Problem& pb, const Segment& seg) {
    Index lag = pb.radius;
    for (Index i = 0; i < seg.n_taps; ++i) {
        const Index half = (seg.taps[i].points->width + 1) / 2;
        if (half > lag) lag = half;
    }
    return lag;
}

/// The plane up to which `before`, the step before, must have come before a step may do plane ix.
SUBSALT_INLINE Index wanted(const Problem& pb, const Step& before, Index lag, Index ix) {
    const Index need = reach_behind(pb, ix), end = ix + 1 + (need > lag ? need : lag), last = before.planes.field.hi;
    return end < last ? end : last;
}

/// A sample's share of the rows [y0, y1) of plane ix, which have just been computed and are in cache.
inline void sample_plane(const Problem& pb, const Sample& sample, const float* const* fields, Index ix, Index y0,
                         Index y1) {
    const Box& box = sample.box;
    if (ix < box.lo[0] || ix >= box.hi[0]) return;
    const Index from = y0 > box.lo[1] ? y0 : box.lo[1], to = y1 < box.hi[1] ? y1 : box.hi[1];
    const Index ny = box.hi[1] - box.lo[1], nz = box.hi[2] - box.lo[2], nz16 = row16(nz);
    for (Index iy = from; iy < to; ++iy) {
        const Index at = row_offset(pb, ix, iy) + box.lo[2], row = (ix - box.lo[0]) * ny + (iy - box.lo[1]);
        const Index out = row * nz, out16 = row * nz16;
        const float *p = fields[0] + at, *q = pb.fields == 2 ? fields[1] + at : nullptr;
        if (sample.copy != nullptr) snapshot_row(sample.copy + out, p, q, nz);
        if (sample.energy != nullptr) energy_row(sample.energy + out, p, q, sample.scale, nz);
        if (sample.copy16 != nullptr) pack_row(sample.copy16 + out16, p, q, nz);
        if (sample.image == nullptr) continue;
        if (sample.partner16 != nullptr)
            correlate16_row(sample.image + out, sample.partner16 + out16, p, q, sample.scale, nz);
        else
            correlate_row(sample.image + out, sample.partner + out, p, q, sample.scale, nz);
    }
    if (sample.copy != nullptr) end_streams();
}

/// Keep or put back the shell in the rows [y0, y1) of plane ix. Odd images above a free surface follow what is put
/// back.
inline void shell_plane(const Problem& pb, const Shell& shell, float* record, bool put_back, float* const* fields,
                        Index ix, Index y0, Index y1) {
    const Box& box = shell.box;
    if (ix < box.lo[0] || ix >= box.hi[0]) return;
    const Index from = y0 > box.lo[1] ? y0 : box.lo[1], to = y1 < box.hi[1] ? y1 : box.hi[1];
    const Index nz = box.hi[2] - box.lo[2];
    for (Index iy = from; iy < to; ++iy) {
        const ShellRow row = shell_row(shell, ix - box.lo[0], iy - box.lo[1]);
        for (int f = 0; f < pb.fields; ++f) {
            float *u = fields[f] + row_offset(pb, ix, iy), *of_field = record + f * shell.cells;
            if (!put_back) {
                keep_row(of_field, u + box.lo[2], row, nz);
                continue;
            }
            put_back_row(of_field, u + box.lo[2], row, nz);
            if (pb.free_surface) reflect_row(u, pb.radius, 0, pb.n[2]);
        }
    }
}

/// What is injected into the rows [y0, y1) of plane ix of a step, and copied out of them.
inline void share_plane(const Problem& pb, const Segment& seg, const Step& step, Index ix, Index y0, Index y1) {
    for (Index i = 0; i < seg.n_feeds; ++i) {
        const Feed& feed = seg.feeds[i];
        if (step.now >= feed.nt) continue;
        const Index j = plane_number(*feed.points, ix);
        if (j >= 0) inject_plane(pb, step.made(), *feed.points, feed.samples + step.now * feed.points->n, j, y0, y1);
    }
    if (float* record = shell_record(pb, seg, step); record != nullptr)
        shell_plane(pb, seg.shells->shell, record, seg.shells->put_back, step.made(), ix, y0, y1);
    for (Index i = 0; i < step.n_samples; ++i)
        sample_plane(pb, step.samples[i], step.made(), ix, y0, y1);
}

/// What step k of a pass fetches: what the first one needs from memory, or every one what may have left L2.
SUBSALT_INLINE Fetch fetch_of(const Segment& seg, Index k) {
    if (seg.cut.fetch == 2) return Fetch::l2;
    return k == 0 ? Fetch::l1 : Fetch::none;
}

/// plane_rows of what is advanced of these rows; without a PML.
inline void inner_rows(const Problem& pb, const Levels& lv, const Box& inner, const RowKernels& kernels,
                       const Scratch& scratch, Index ix, int planes, Index y0, Index y1, Fetch fetch) {
    const Index first = ix > inner.lo[0] ? ix : inner.lo[0],
                last = ix + planes < inner.hi[0] ? ix + planes : inner.hi[0],
                from = y0 > inner.lo[1] ? y0 : inner.lo[1], to = y1 < inner.hi[1] ? y1 : inner.hi[1];
    if (first >= last) return;
    const int count = static_cast<int>(last - first);
    for (Index iy = from; iy < to; ++iy) {
        const Index skip = iy + 1 < to ? pb.row : count * pb.plane + (from - to + 1) * pb.row;
        field_rows(pb, lv, kernels, scratch, {first, iy, inner.lo[2], inner.hi[2], count, 1, skip, fetch, false});
    }
}

/// The rows [y0, y1) of one or two planes from ix on, with their share of the samples and of the snapshot. `fetch`:
/// where what comes next is fetched to.
inline void do_planes(const Problem& pb, const Segment& seg, const Step& step, const RowKernels& kernels,
                      const Scratch& scratch, Index ix, int planes, Index y0, Index y1, Fetch fetch) {
    if (seg.inner != nullptr)
        inner_rows(pb, step.levels, *seg.inner, kernels, scratch, ix, planes, y0, y1, fetch);
    else if (seg.front != nullptr)
        front_rows(pb, step.levels, *seg.front, step.reaches, step.planes, kernels, scratch, ix, planes, y0, y1, fetch);
    else
        plane_rows(pb, step.levels, step.planes, kernels, scratch, ix, planes, y0, y1, fetch);
    for (int i = 0; i < planes; ++i)
        share_plane(pb, seg, step, ix + i, y0, y1);
}

/// Call `record(p)` for the points list[lo .. hi) whose last row is one of [y0, y1); the list is sorted by it.
template <class Record>
SUBSALT_INLINE void for_last_rows(const Problem& pb, const Points& pts, const int32_t* list, Index lo, Index hi,
                                  Index y0, Index y1, Record record) {
    const auto last_row = [&](Index a) { return pts.base[3 * list[a] + 1] + count_of(pts, list[a], 1, pb.n[1]) - 1; };
    const Index end = hi;
    while (lo < hi) {
        const Index mid = (lo + hi) / 2;
        if (last_row(mid) < y0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < end && last_row(lo) < y1; ++lo)
        record(list[lo]);
}

/// Record the points whose last row is one of [y0, y1): those whose last plane is ix, or the share of plane ix of all.
inline void tap_plane(const Problem& pb, const Segment& seg, const Step& step, Index ix, Index y0, Index y1) {
    for (Index i = 0; i < seg.n_taps; ++i) {
        const Tap& tap = seg.taps[i];
        const Points& pts = *tap.points;
        if (step.now + 1 >= tap.nt) continue;
        if (tap.shares == nullptr) {
            for_last_rows(pb, pts, pts.ending, pts.ended[ix], pts.ended[ix + 1], y0, y1, [&](Index p) {
                tap.data[(step.now + 1) * pts.n + p] = record_point(pb, step.made(), pts, p);
            });
            continue;
        }
        const Index j = plane_number(pts, ix);
        if (j < 0) continue;
        for_last_rows(pb, pts, pts.by_row, pts.start[j], pts.start[j + 1], y0, y1, [&](Index p) {
            const Index jx = ix - pts.base[3 * p], at = ((step.now - seg.it) * pts.n + p) * pts.width + jx;
            if (pts.weights[3 * p * pts.width + jx] != 0.0f) tap.shares[at] = plane_sum(pb, step.made(), pts, p, jx);
        });
    }
}

} // namespace subsalt::SUBSALT_NS
