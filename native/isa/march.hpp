// The march: threads follow each other through the planes of x, each some time steps later. For 2-D, where a plane is
// one row, and for grids with fewer rows than threads.
//
// Thread t takes passes t, t + team, ...; a pass is `depth` steps, each some planes behind the one before, and its
// first step stays behind the last step of the pass before, which another thread does. So a plane passes through team *
// depth steps while it is in cache, and no thread ever waits for all others.
//
// A step s may do plane x when step s - 1 has done plane x + lag. Then u[s - 2], which step s overwrites, is read no
// more, and what step s records is still there: step s + 2 stays 2 lag planes behind, so lag >= W / 2 for a support
// of W nodes.
#pragma once

#include "isa/plane.hpp"

namespace subsalt::SUBSALT_NS {

/// This thread's share of all steps of a segment. `done`: a counter per thread, zero.
inline void march(const Problem& pb, const Segment& seg, const RowKernels& kernels, const Scratch& scratch,
                  Counter* done, int thread, int team) {
    const Index nx = pb.n[0], ny = pb.n[1], depth = seg.cut.depth, lag = lag_of(pb, seg);
    const auto do_marched = [&](const Step& step, Index ix, int some, bool cold) {
        if (thread == seg.slow) rest();
        do_planes(pb, seg, step, kernels, scratch, ix, some, 0, ny, cold);
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
                do_marched(steps[0], planes[0], some, true);
                planes[0] += some;
            }
            for (Index k = 1; k < count; ++k)
                while (planes[k] < nx) {
                    const int some = planes_at_once(kernels, planes[k], nx);
                    if (planes[k - 1] < wanted(pb, steps[k - 1], lag, planes[k] + some - 1)) break;
                    do_marched(steps[k], planes[k], some, false);
                    planes[k] += some;
                }
            publish(done[thread], round * nx + planes[count - 1]);
        }
    }
}

} // namespace subsalt::SUBSALT_NS
