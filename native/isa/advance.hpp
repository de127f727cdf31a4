// Time steps of one wavefield in one call: over tiles of rows pass by pass, or in a march, whichever suits the grid.
#pragma once

#include <cstdlib>

#include "isa/march.hpp"
#include "isa/team.hpp"
#include "isa/tiles.hpp"

namespace subsalt::SUBSALT_NS {

/// What the threads of a segment share.
struct Run {
    const Problem* pb;
    const Segment* seg;
    Barrier* barrier;
    Counter* done; // per tile, or per thread in the march
    bool marches;
};

/// Record all taps at the new level of a step, this thread its share of the points.
inline void tap_all(const Problem& pb, const Segment& seg, const Step& step, int thread, int team) {
    for (Index i = 0; i < seg.n_taps; ++i) {
        const Tap& tap = seg.taps[i];
        if (step.now + 1 >= tap.nt) continue;
        const Range points = part(0, tap.points->n, team, thread);
        for (Index p = points.lo; p < points.hi; ++p)
            tap_point(pb, step, tap, p);
    }
}

/// All steps over tiles. The team meets after every pass, and again when it has recorded.
inline void pass_by_pass(const Run& run, const RowKernels& kernels, const Scratch& scratch, int thread, int team) {
    const Problem& pb = *run.pb;
    const Segment& seg = *run.seg;
    const Tiles tiles = tiles_in_y(pb, seg.cut.rows, seg.threads);
    Index base = 0;
    for (Index s = 0; s < seg.steps; base += pb.n[0]) {
        const bool pair = seg.cut.depth > 1 && s + 1 < seg.steps;
        const Step first = step_of(seg, s), second = step_of(seg, s + 1);
        tile_pass(pb, seg, tiles, kernels, scratch, first, pair ? &second : nullptr, run.done, base, thread, team);
        meet(*run.barrier, team);
        if (seg.n_taps > 0) {
            tap_all(pb, seg, first, thread, team);
            if (pair) tap_all(pb, seg, second, thread, team);
            meet(*run.barrier, team);
        }
        s += pair ? 2 : 1;
    }
}

inline void segment_work(const void* argument, int thread, int team) {
    const Run& run = *static_cast<const Run*>(argument);
    FlushDenormals flush;
    Scratch scratch(*run.pb);
    const RowKernels kernels = row_kernels(*run.pb, false);
    if (run.marches)
        march(*run.pb, *run.seg, kernels, scratch, run.done, thread, team);
    else
        pass_by_pass(run, kernels, scratch, thread, team);
}

/// Allocates its counters and every thread's rows once, before the first step.
inline void run_segment(const Problem& pb, const Segment& seg) {
    Run run{&pb, &seg, nullptr, nullptr, false};
    const Index tiles = tiles_in_y(pb, seg.cut.rows, seg.threads).count;
    run.marches = pb.dim == 2 || tiles < seg.threads;
    const std::size_t counters = static_cast<std::size_t>(2 + (run.marches ? seg.threads : tiles));
    auto* memory = static_cast<Counter*>(std::aligned_alloc(alignof(Counter), counters * sizeof(Counter)));
    if (memory == nullptr) std::abort();
    for (std::size_t i = 0; i < counters; ++i)
        memory[i].value = 0;
    auto* barrier = reinterpret_cast<Barrier*>(memory);
    run.barrier = barrier;
    run.done = memory + 2;
    run_team(seg.threads, segment_work, &run);
    std::free(memory);
}

} // namespace subsalt::SUBSALT_NS
