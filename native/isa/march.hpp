// The march: threads follow each other through the planes of x, each some time steps later. For 2-D, where a plane is
// one row, and for grids with fewer rows than threads. The pieces of a pass over a slab march likewise (`march_sweep`).
//
// Thread t takes passes t, t + team, ...; a pass is `depth` steps, each some planes behind the one before, and its
// first step stays behind the last step of the pass before, which another thread does. So a plane passes through team *
// depth steps while it is in cache, and no thread ever waits for all others.
//
// A step s may do plane x when step s - 1 has done plane x + lag. Then u[s - 2], which step s overwrites, is read no
// more, and what step s records is still there: step s + 2 stays 2 lag planes behind, so lag >= W / 2 for a support
// of W nodes.
#pragma once

#include "isa/tiles.hpp"

namespace subsalt::SUBSALT_NS {

/// This thread's share of all steps of a segment. `done`: a counter per thread, zero.
inline void march(const Problem& pb, const Segment& seg, const RowKernels& kernels, const Scratch& scratch,
                  Counter* done, int thread, int team) {
    const Index nx = pb.n[0], ny = pb.n[1], depth = seg.cut.depth, lag = lag_of(pb, seg);
    const auto do_marched = [&](const Step& step, Index ix, int some, Index k) {
        if (thread == seg.slow) rest();
        do_planes(pb, seg, step, kernels, scratch, ix, some, 0, ny, fetch_of(seg, k));
        for (int i = 0; i < some; ++i)
            tap_plane(pb, seg, step, ix + i, 0, ny);
    };
    Index round = 0;
    for (Index pass = thread; pass * depth < seg.steps; pass += team, ++round) {
        const Index count = seg.steps - pass * depth < depth ? seg.steps - pass * depth : depth;
        Step steps[max_depth];
        Index planes[max_depth] = {}; // done by each step
        for (Index k = 0; k < count; ++k)
            steps[k] = step_of(pb, seg, pass * depth + k);
        // the pass before: by the thread before in this round, or by the last thread in the round before
        const Counter& before = done[thread > 0 ? thread - 1 : team - 1];
        const Index base = (thread > 0 ? round : round - 1) * nx;
        Index known = pass == 0 ? nx : 0;
        while (planes[count - 1] < nx) {
            if (planes[0] < nx) {
                const int some = planes_at_once(kernels, planes[0], nx);
                const Index least = wanted(pb, steps[0], lag, planes[0] + some - 1);
                // some planes more than needed, so that not every plane waits for a cache line of another core
                if (known < least) known = wait_for(before, base + (least + 8 < nx ? least + 8 : nx)) - base;
                do_marched(steps[0], planes[0], some, 0);
                planes[0] += some;
            }
            for (Index k = 1; k < count; ++k)
                while (planes[k] < nx) {
                    const int some = planes_at_once(kernels, planes[k], nx);
                    if (planes[k - 1] < wanted(pb, steps[k - 1], lag, planes[k] + some - 1)) break;
                    do_marched(steps[k], planes[k], some, k);
                    planes[k] += some;
                }
            publish(done[thread], round * nx + planes[count - 1]);
        }
    }
}

/// How far the steps of a sweep have come when its first one has begun no plane at or beyond `limit`.
inline void reach_in_sweep(const Problem& pb, const Sweep& sweep, Index lag, const RowKernels& kernels, Index limit,
                           Index* planes) {
    const Step* steps = sweep.steps;
    for (Index k = 0; k < sweep.count; ++k)
        planes[k] = steps[k].planes.field.lo;
    const Span first = steps[0].planes.field;
    if (limit <= first.lo) return;
    while (planes[0] < first.hi && planes[0] < limit)
        planes[0] += planes_at_once(kernels, planes[0], first.hi);
    for (Index k = 1; k < sweep.count; ++k)
        for (const Index end = steps[k].planes.field.hi; planes[k] < end;) {
            const int some = planes_at_once(kernels, planes[k], end);
            if (planes[k - 1] < wanted(pb, steps[k - 1], lag, planes[k] + some - 1)) break;
            planes[k] += some;
        }
}

/// This thread's share of a sweep over a grid of one tile, such as a plane of 2-D: a few of its steps, which follow
/// those of the thread before. `done`: a counter per thread, zero.
inline void march_sweep(const Problem& pb, const Segment& seg, const RowKernels& kernels, const Scratch& scratch,
                        const Sweep& sweep, Counter* done, int thread, int team) {
    const Range mine = part(0, sweep.count, team, thread);
    const Index ny = pb.n[1], lag = lag_of(pb, seg);
    Index planes[max_depth] = {}, ends[max_depth] = {};
    reach_in_sweep(pb, sweep, lag, kernels, sweep.from, planes);
    reach_in_sweep(pb, sweep, lag, kernels, sweep.until, ends);
    Index known = mine.lo > 0 ? planes[mine.lo - 1] : 0; // of the last step of the thread before
    for (bool more = mine.lo < mine.hi; more;) {
        more = false;
        for (Index k = mine.lo; k < mine.hi; ++k) {
            const Step& step = sweep.steps[k];
            const Index end = step.planes.field.hi;
            // the first of these steps does a chunk at a time, the others what that allows
            for (bool chunk = true; planes[k] < ends[k] && chunk; chunk = k > mine.lo) {
                const Index ix = planes[k];
                const int some = planes_at_once(kernels, ix, end);
                const Index least = k > 0 ? wanted(pb, sweep.steps[k - 1], lag, ix + some - 1) : 0;
                if (k == mine.lo && k > 0 && known < least) {
                    // more than needed, so that not every plane waits for a cache line of another core
                    const Index most = least + 8 < ends[k - 1] ? least + 8 : ends[k - 1];
                    known = wait_for(done[thread - 1], most + 1) - 1;
                }
                if (k > mine.lo && planes[k - 1] < least) break;
                if (thread == seg.slow) rest();
                do_planes(pb, seg, step, kernels, scratch, ix, some, 0, ny, fetch_of(seg, k));
                for (int i = 0; i < some; ++i)
                    tap_plane(pb, seg, step, ix + i, 0, ny);
                planes[k] += some;
            }
            more = more || planes[k] < ends[k];
        }
        publish(done[thread], planes[mine.hi - 1] + 1);
    }
}

} // namespace subsalt::SUBSALT_NS
