// A pass over tiles of rows: one time step, or two steps in one pass over memory.
//
// With two steps the second follows the first a few planes of x and M rows of y behind, while what it reads is in
// cache. Two time levels are enough: A holds u[n] and B u[n-1]; the first step writes u[n+1] over B, the second u[n+2]
// over A.
//
//   tile t, at plane ix:   first step of the rows [lo, hi); then the second of the rows [lo - M, hi - M), in the planes
//                          up to ix - M (near a layer of x up to ix - 2 M)
//
// Tile t does its second step at plane ix only when tile t - 1 has done its first one there; of tile t + 1 it needs
// nothing, and leaves it the M rows of A that its first step still reads. Progress is published after the wait, so it
// holds for all tiles below, however few rows one has. Psi of y lives in the first and the last tile alone: these
// hold the layer and the rows whose first step reads it (`edge`).
#pragma once

#include "isa/plane.hpp"

namespace subsalt::SUBSALT_NS {

/// The tiles of a problem along y. Tiles may be empty when there are few rows.
struct Tiles {
    Index count, ny, first, last; // `first` and `last`: the rows the outermost tiles hold at least

    /// First row of tile t; of tile `count` the end of the last one.
    SUBSALT_INLINE Index edge(Index t) const {
        if (t == 0) return 0;
        if (t == count) return ny;
        const Index even = ny * t / count;
        return even < first ? first : (even > ny - last ? ny - last : even);
    }
};

/// Equal tiles of about `rows` rows, their number a multiple of the threads; one tile where the layers leave no room.
inline Tiles tiles_in_y(const Problem& pb, Index rows, Index threads) {
    const Index ny = pb.n[1], reach = pb.radius;
    const bool layer = pb.boundary == Boundary::pml;
    Tiles tiles{1, ny, layer && pb.width[2] > 0 ? pb.width[2] + 2 * reach : 0,
                layer && pb.width[3] > 0 ? pb.width[3] + reach : 0};
    if (tiles.first + tiles.last > ny) return tiles;
    tiles.count = rows > 0 ? (ny + rows - 1) / rows : threads;
    tiles.count = (tiles.count + threads - 1) / threads * threads;
    if (tiles.count > ny) tiles.count = ny;
    return tiles;
}

/// This thread's share of one pass: one step (`second` null) or two. `done`: a counter per tile, `base` their value
/// before the pass; afterwards it is base + n[0].
inline void tile_pass(const Problem& pb, const Segment& seg, const Tiles& tiles, const RowKernels& kernels,
                      const Scratch& scratch, const Step& first, const Step* second, Counter* done, Index base,
                      int thread, int team) {
    const Index reach = pb.radius, nx = pb.n[0];
    for (Index t = thread; t < tiles.count; t += team) {
        const Index y0 = tiles.edge(t), y1 = tiles.edge(t + 1);
        const Index lo = t == 0 ? 0 : (y0 < reach ? 0 : y0 - reach);
        const Index hi = t + 1 == tiles.count ? y1 : (y1 < reach ? 0 : y1 - reach);
        Index behind = 0, known = t > 0 ? read(done[t - 1]) : 0;
        for (Index ix = 0; ix < nx;) {
            const int planes = planes_at_once(kernels, ix, nx);
            do_planes(pb, seg, first, kernels, scratch, ix, planes, y0, y1, true);
            ix += planes;
            if (second == nullptr) continue;
            if (t > 0 && known < base + ix) known = wait_for(done[t - 1], base + ix);
            publish(done[t], base + ix);
            while (behind < nx) {
                const int following = planes_at_once(kernels, behind, nx);
                const Index last = behind + following - 1;
                if (last + reach_behind(pb, last) >= ix && ix < nx) break;
                do_planes(pb, seg, *second, kernels, scratch, behind, following, lo, hi, false);
                behind += following;
            }
        }
        if (second == nullptr) publish(done[t], base + nx);
    }
}

} // namespace subsalt::SUBSALT_NS
