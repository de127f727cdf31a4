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
    Tiles tiles;
    bool marches;
};

/// All steps over tiles. The team meets after every pass.
inline void pass_by_pass(const Run& run, const RowKernels& kernels, const Scratch& scratch, int thread, int team) {
    const Segment& seg = *run.seg;
    Index base = 0;
    for (Index s = 0, count; s < seg.steps; s += count, base += run.pb->n[0] + 1) {
        count = seg.steps - s < run.tiles.depth ? seg.steps - s : run.tiles.depth;
        Step steps[max_depth];
        for (Index k = 0; k < count; ++k)
            steps[k] = step_of(*run.pb, seg, s + k);
        const Sweep sweep = whole_sweep(*run.pb, run.tiles, steps, count);
        tile_pass(*run.pb, seg, run.tiles, kernels, scratch, sweep, run.done, base, thread, team);
        meet(*run.barrier, team);
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
    if (run.seg->advanced != nullptr && scratch.advanced > 0)
        __atomic_fetch_add(run.seg->advanced, scratch.advanced, __ATOMIC_RELAXED);
}

/// What the threads that look for the front share.
struct Search {
    const Problem* pb;
    const Segment* seg;
};

inline void search_work(const void* argument, int thread, int team) {
    const Search& search = *static_cast<const Search*>(argument);
    const Range x = part(0, search.pb->n[0], team, thread);
    find_reaches(*search.pb, search.seg->even, *search.seg->front, x.lo, x.hi);
}

/// Whether the steps of a segment leave out what the wavefield and its sources have not reached. The reaches are then
/// those of its levels, whatever was done since they were found: they name the time index they speak of.
inline bool leaves_out(const Problem& pb, const Segment& seg) {
    Front& front = *seg.front;
    // shells put back numbers in places that nothing has to reach
    const bool follows = seg.inner == nullptr && (seg.shells == nullptr || !seg.shells->put_back);
    if (front.off || !follows || !lay_out(pb, front)) return false;
    if (front.at != seg.it) {
        const Search search{&pb, &seg};
        run_team(seg.threads, search_work, &search);
        add_feeds(pb, seg, front);
        front.at = seg.it;
    }
    for (Index r = 0; r < pb.n[0] * pb.n[1]; ++r)
        if (front.level[seg.it % 2][r] + pb.radius <= front.room) return true;
    front.off = true;
    return false;
}

/// Count the points of a segment that leaves none out.
inline void count_whole(const Problem& pb, const Segment& seg) {
    if (seg.advanced == nullptr) return;
    Index points = 1;
    for (int axis = 0; axis < 3; ++axis)
        points *= seg.inner != nullptr ? seg.inner->hi[axis] - seg.inner->lo[axis] : pb.n[axis];
    *seg.advanced += seg.steps * points;
}

/// All steps; where the wavefield has come, if the segment has a front.
inline void run_segment(const Problem& pb, const Segment& asked) {
    Segment seg = asked;
    if (seg.front != nullptr && !leaves_out(pb, seg)) seg.front = nullptr;
    // counters and every thread's rows are allocated once, before the first step
    Run run{&pb, &seg, nullptr, nullptr, tiles_in_y(pb, seg), false};
    if (seg.front == nullptr) count_whole(pb, seg);
    run.marches = pb.dim == 2 || run.tiles.count < seg.threads;
    const std::size_t counters = static_cast<std::size_t>(2 + (run.marches ? seg.threads : run.tiles.count));
    auto* memory = static_cast<Counter*>(std::aligned_alloc(alignof(Counter), counters * sizeof(Counter)));
    if (memory == nullptr) std::abort();
    for (std::size_t i = 0; i < counters; ++i)
        memory[i].value = 0;
    auto* barrier = reinterpret_cast<Barrier*>(memory);
    run.barrier = barrier;
    run.done = memory + 2;
    run_team(seg.threads, segment_work, &run);
    if (seg.front != nullptr) seg.front->at = seg.it + seg.steps;
    std::free(memory);
}

/// What the threads of a piece share.
struct PieceRun {
    const Problem* pb;
    const Segment* seg;
    const Piece* piece;
    Counter* done; // per tile, or per thread of a march
    Tiles tiles;
};

inline void piece_work(const void* argument, int thread, int team) {
    const PieceRun& run = *static_cast<const PieceRun*>(argument);
    const Piece& piece = *run.piece;
    FlushDenormals flush;
    Scratch scratch(*run.pb);
    const RowKernels kernels = row_kernels(*run.pb, false);
    Step steps[max_depth];
    for (Index k = 0; k < piece.count; ++k) {
        steps[k] = step_of(*run.pb, *run.seg, piece.first + k);
        steps[k].planes = piece.planes[k];
    }
    const Sweep sweep{steps, piece.first, piece.count, piece.tile, piece.tiles_end, piece.from, piece.until};
    if (run.tiles.count == 1 && team > 1)
        return march_sweep(*run.pb, *run.seg, kernels, scratch, sweep, run.done, thread, team);
    tile_pass(*run.pb, *run.seg, run.tiles, kernels, scratch, sweep, run.done, 0, thread, team);
}

inline Tiling tiling(const Problem& pb, const Segment& seg) {
    const Tiles tiles = tiles_in_y(pb, seg);
    return {tiles.count, tiles.depth};
}

inline void run_piece(const Problem& pb, const Segment& seg, const Piece& piece) {
    PieceRun run{&pb, &seg, &piece, nullptr, tiles_in_y(pb, seg)};
    // of one tile a thread has a step or more, of several it has tiles
    const Index shares = run.tiles.count == 1 ? piece.count : piece.tiles_end - piece.tile;
    const int team = shares < piece.threads ? static_cast<int>(shares) : piece.threads;
    const auto counters = static_cast<std::size_t>(run.tiles.count > team ? run.tiles.count : team);
    run.done = static_cast<Counter*>(std::aligned_alloc(alignof(Counter), counters * sizeof(Counter)));
    if (run.done == nullptr) std::abort();
    for (std::size_t i = 0; i < counters; ++i)
        run.done[i].value = 0;
    run_team(team, piece_work, &run);
    std::free(run.done);
}

} // namespace subsalt::SUBSALT_NS
