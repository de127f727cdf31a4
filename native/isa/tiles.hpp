// A pass over tiles of rows: some time steps in one pass over memory.
//
// Each step follows the one before a few planes of x and a few rows of y behind (`lag`, M or more), while what it reads
// is in cache. Two time levels are enough: A holds u[n] and B u[n - 1]; the first step writes u[n + 1] over B, the
// second u[n + 2] over A, the third u[n + 3] over B again, where u[n + 1] is read no more.
//
//   tile t, at plane ix:   step 0 of the rows [lo, hi); then step k of the rows [lo - k lag, hi - k lag), in the planes
//                          that are `lag` behind those of step k - 1 (near a layer of x 2 M, if that is more)
//
// Tile t does step k at plane ix only when tile t - 1 has done step k - 1 there, and it records a point only when tile
// t - 1 has done the same step in the planes of the support. Of tile t + 1 it needs nothing, and leaves it the rows
// that its steps still read. All tiles go in the same rounds, one or two planes of step 0 and what may follow, and a
// tile ends no round before the tile below has: so both hold, for all tiles below, however few rows one has. Psi of y
// lives in the first and the last tile alone: these hold the layer and the rows whose steps read it (`edge`).
#pragma once

#include "isa/plane.hpp"

namespace subsalt::SUBSALT_NS {

/// The tiles of a segment along y. Tiles may be empty when there are few rows.
struct Tiles {
    Index count, ny, first, last; // `first` and `last`: the rows the outermost tiles hold at least
    Index depth, lag;             // steps of a pass; planes and rows that each stays behind the one before

    /// First row of tile t; of tile `count` the end of the last one.
    SUBSALT_INLINE Index edge(Index t) const {
        if (t == 0) return 0;
        if (t == count) return ny;
        const Index even = ny * t / count;
        return even < first ? first : (even > ny - last ? ny - last : even);
    }

    /// First row of tile t in step k of a pass.
    SUBSALT_INLINE Index edge(Index t, Index k) const {
        const Index at = edge(t), behind = k * lag;
        return t == 0 || t == count ? at : (at < behind ? 0 : at - behind);
    }
};

/// Equal tiles of about as many rows as asked for, their number a multiple of the threads. Where the layers leave no
/// room the passes are less deep, and if that is not enough there is one tile.
inline Tiles tiles_in_y(const Problem& pb, const Segment& seg) {
    const Index ny = pb.n[1], reach = pb.radius, lag = lag_of(pb, seg), rows = seg.cut.rows, threads = seg.threads;
    const bool layer = pb.boundary == Boundary::pml;
    Tiles tiles{1, ny, 0, layer && pb.width[3] > 0 ? pb.width[3] + reach : 0, seg.cut.depth, lag};
    for (;; --tiles.depth) {
        tiles.first = layer && pb.width[2] > 0 ? pb.width[2] + reach + (tiles.depth - 1) * lag : 0;
        if (tiles.first + tiles.last <= ny) break;
        if (tiles.depth == 1) return tiles;
    }
    tiles.count = rows > 0 ? (ny + rows - 1) / rows : threads;
    tiles.count = (tiles.count + threads - 1) / threads * threads;
    if (tiles.count > ny) tiles.count = ny;
    return tiles;
}

/// What one call does of a pass: some of its steps, in some of the tiles. A sweep that pauses goes on with the next
/// call.
struct Sweep {
    const Step* steps;
    Index first, count;    // number of steps[0] in the pass, and how many
    Index tile, tiles_end; // tiles [tile, tiles_end); those below have come as far as this call goes, or need not
    Index from, until;     // planes of steps[0]: rounds before `from` have been done, and none begins at `until`
};

SUBSALT_INLINE Sweep whole_sweep(const Problem& pb, const Tiles& tiles, const Step* steps, Index count) {
    return {steps, 0, count, 0, tiles.count, 0, pb.n[0]};
}

/// This thread's share of a sweep. `done`: a counter per tile, `base` their value before the sweep; afterwards it is
/// at most base + n[0] + 1.
inline void tile_pass(const Problem& pb, const Segment& seg, const Tiles& tiles, const RowKernels& kernels,
                      const Scratch& scratch, const Sweep& sweep, Counter* done, Index base, int thread, int team) {
    const Step* steps = sweep.steps;
    const Span first = steps[0].planes.field;
    for (Index t = sweep.tile + thread; t < sweep.tiles_end; t += team) {
        Index planes[max_depth]; // the next plane of each step
        for (Index k = 0; k < sweep.count; ++k)
            planes[k] = steps[k].planes.field.lo;
        bool again = false; // this round was done by the call before
        const auto advance = [&](Index k) {
            const Index ix = planes[k], end = steps[k].planes.field.hi, y0 = tiles.edge(t, sweep.first + k),
                        y1 = tiles.edge(t + 1, sweep.first + k);
            const int some = planes_at_once(kernels, ix, end);
            planes[k] += some;
            if (thread == seg.slow) rest();
            if (!again) do_planes(pb, seg, steps[k], kernels, scratch, ix, some, y0, y1, fetch_of(seg, k));
        };
        const auto tap = [&](Index k, Index from) {
            for (; from < planes[k] && !again; ++from)
                tap_plane(pb, seg, steps[k], from, tiles.edge(t, sweep.first + k), tiles.edge(t + 1, sweep.first + k));
        };
        Index known = t > sweep.tile ? read(done[t - 1]) : base + pb.n[0] + 1;
        for (bool more = sweep.until > first.lo || first.lo >= first.hi; more;) {
            const Index from = planes[0];
            again = from < sweep.from;
            if (from < first.hi) advance(0);
            const Index round = base + planes[0] - first.lo + 1;
            if (known < round && !again) known = wait_for(done[t - 1], round);
            tap(0, from);
            for (Index k = 1; k < sweep.count; ++k)
                while (planes[k] < steps[k].planes.field.hi) {
                    const int some = planes_at_once(kernels, planes[k], steps[k].planes.field.hi);
                    if (planes[k - 1] < wanted(pb, steps[k - 1], tiles.lag, planes[k] + some - 1)) break;
                    const Index at = planes[k];
                    advance(k);
                    tap(k, at);
                }
            if (!again) publish(done[t], round);
            more = planes[0] < first.hi && planes[0] < sweep.until;
        }
    }
}

} // namespace subsalt::SUBSALT_NS
