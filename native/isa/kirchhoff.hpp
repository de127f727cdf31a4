// The sum of Kirchhoff migration over traces, locations and threads; included once per instruction set.
//
// Every image trace has one owner: a tile of neighbouring locations belongs to one thread, which adds the traces of the
// block in their order. So neither threads nor tiles change a bit. A trace goes to all locations of a tile before the
// next one does: prepared (130 kB with ten bands, 625 samples) it is read from L2 by all of them. Tiles are handed out
// as threads get free, since aperture and mute make them unequal.
#pragma once

#include <cstddef>
#include <vector>

#include <omp.h>

#include "isa/table.hpp"
#include "kernels/kirchhoff_sum.hpp"

namespace subsalt::SUBSALT_NS {
namespace migration {

constexpr Index most_in_tile = 64;

/// What of a trace reaches the locations of a tile: pairs within the aperture, and where their mutes end.
struct TileGeometry {
    Index count = 0;
    Index loc[most_in_tile];
    Pair pair[most_in_tile];
    MuteDepths depths[most_in_tile];
    Raise raise[most_in_tile];
};

/// Geometry of one trace at the locations [lo, hi); differences in double precision.
inline void locate(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                   const double* points, Index trace, Index lo, Index hi, TileGeometry& tile) {
    const double *src = traces.src + 2 * trace, *rcv = traces.rcv + 2 * trace;
    tile.count = 0;
    for (Index loc = lo; loc < hi; ++loc) {
        const Index j = tile.count;
        tile.loc[j] = loc;
        tile.count += pair_at(points + 2 * loc, src, rcv, traces.weight[trace], rules, tile.pair[j]) ? 1 : 0;
    }
    for (Index j = 0; j < tile.count; ++j)
        tile.depths[j] = mutes_of(tile.pair[j], rules, medium.bounds + 4 * tile.loc[j]);
    if (medium.datum == nullptr) return;
    const double* height = traces.height + 2 * trace;
    for (Index j = 0; j < tile.count; ++j) {
        const double zero = medium.datum[tile.loc[j]];
        tile.raise[j] = {static_cast<float>(height[0] - zero), static_cast<float>(height[1] - zero)};
    }
}

/// Blocks of samples whose entry is below `depth`; the entries do not fall.
SUBSALT_INLINE Index blocks_below(const float* entry, Index blocks, float depth) {
    int count = 0;
    for (Index i = 0; i < blocks; ++i)
        count += entry[i] < depth ? 1 : 0;
    return count;
}

using AddTrace = Reach (*)(const KirchhoffRules&, const Trace&, const Rows&, const Pair&, const Raise&, float*,
                           Index nt, Index start, Index open, Index end);

template <Rays rays, Antialias antialias>
AddTrace add_trace_of_order(Index order) {
    if (order == 1) return add_trace<rays, antialias, 1>;
    return order == 4 ? add_trace<rays, antialias, 4> : add_trace<rays, antialias, 0>;
}

template <Rays rays>
AddTrace add_trace_for(Antialias antialias, Index order) {
    switch (antialias) {
    case Antialias::interpolate:
        return add_trace_of_order<rays, Antialias::interpolate>(order);
    case Antialias::nearest:
        return add_trace_of_order<rays, Antialias::nearest>(order);
    case Antialias::triangle:
        return add_trace_of_order<rays, Antialias::triangle>(order);
    default:
        return add_trace_of_order<rays, Antialias::none>(order);
    }
}

/// All traces at the locations [lo, hi); returns the contributions. `shares`: memory for those of one trace, null where
/// none are read.
inline Index sum_tile(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                      const KirchhoffImage& out, AddTrace add, Index end, Index lo, Index hi, double* shares) {
    TileGeometry tile;
    Index done = 0;
    const Index nt = medium.nt;
    for (Index trace = 0; trace < traces.n; ++trace) {
        const Index slot = traces.slot[trace];
        if (slot < 0) continue;
        locate(medium, traces, rules, out.points, trace, lo, hi, tile);
        const Trace here(traces, trace, shares);
        if (shares != nullptr && tile.count > 0) share_out(here.samples, here.order + 1, here.stride, shares);
        for (Index j = 0; j < tile.count; ++j) {
            const Index loc = tile.loc[j];
            const Index start =
                kirchhoff_block * blocks_below(medium.up + loc * medium.blocks, medium.blocks, tile.depths[j].muted);
            const Index open =
                kirchhoff_block * blocks_below(medium.down + loc * medium.blocks, medium.blocks, tile.depths[j].whole);
            const Rows rows(medium, loc);
            float* image = out.image + (loc * out.nclass + slot) * nt;
            const Reach reach = add(rules, here, rows, tile.pair[j], tile.raise[j], image, nt, start, open, end);
            if (reach.lo == reach.hi) continue;
            ++out.hits[loc * (nt + 1) + reach.lo];
            --out.hits[loc * (nt + 1) + reach.hi];
            ++out.fold[loc * out.ngroup + traces.group[trace]];
            done += reach.hi - reach.lo;
        }
    }
    return done;
}

} // namespace migration

/// Add the traces to the image; `tile` locations at a time, 0: chosen here. Returns the contributions.
Index kirchhoff_sum(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                    const KirchhoffImage& out, Index tile, int threads) {
    using namespace migration;
    const AddTrace add = medium.datum != nullptr ? add_trace_for<Rays::surface>(rules.antialias, traces.order)
                         : medium.eta != nullptr ? add_trace_for<Rays::eta>(rules.antialias, traces.order)
                                                 : add_trace_for<Rays::straight>(rules.antialias, traces.order);
    // on a plane t is not below t0: samples whose t0 is beyond the trace are not looked at
    const float last = traces.first + static_cast<float>(traces.ns - 1);
    Index end = medium.nt;
    while (medium.datum == nullptr && end > 0 && 3.9999f * medium.quarter[end - 1] > last)
        --end;
    end = (end + kirchhoff_block - 1) / kirchhoff_block * kirchhoff_block;
    if (tile <= 0) tile = medium.nloc / (4 * threads);
    tile = tile < 8 ? 8 : (tile > most_in_tile ? most_in_tile : tile);
    const bool triangle = rules.antialias == Antialias::triangle;
    const Index tiles = (medium.nloc + tile - 1) / tile;
    Index done = 0;
#pragma omp parallel num_threads(threads) reduction(+ : done)
    {
        FlushDenormals flush;
        std::vector<double> shares(triangle ? static_cast<std::size_t>((traces.order + 1) * traces.ns_pad) : 0);
#pragma omp for schedule(dynamic, 1)
        for (Index t = 0; t < tiles; ++t) {
            const Index lo = t * tile, hi = lo + tile < medium.nloc ? lo + tile : medium.nloc;
            done += sum_tile(medium, traces, rules, out, add, end, lo, hi, triangle ? shares.data() : nullptr);
        }
    }
    return done;
}

} // namespace subsalt::SUBSALT_NS
