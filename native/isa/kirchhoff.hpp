// The sum of Kirchhoff migration over traces, locations and threads; included once per instruction set.
//
// Every image trace has one owner: a tile of neighbouring locations belongs to one thread, which adds the traces of the
// block in their order. So neither threads nor tiles change a bit. A trace goes to all locations of a tile before the
// next one does: prepared (130 kB with ten bands, 625 samples) it is read from L2 by all of them. Tiles are handed out
// as threads get free, since aperture and mute make them unequal.
#pragma once

#include <omp.h>

#include "isa/table.hpp"
#include "kernels/kirchhoff_sum.hpp"

namespace subsalt::SUBSALT_NS {
namespace migration {

constexpr Index most_in_tile = 64;

/// What of a trace reaches the locations of a tile: pairs within the aperture, and the depths v t0 / 2 above which all
/// is muted and below which nothing is.
struct TileGeometry {
    Index count = 0;
    Index loc[most_in_tile];
    Pair pair[most_in_tile];
    float muted[most_in_tile], whole[most_in_tile];
};

/// Raised cosine in double precision, for what belongs to a pair and not to a sample.
inline double taper_of(double u) {
    if (u <= 0.0) return 0.0;
    if (u >= 1.0) return 1.0;
    const double w = u - 0.5, w2 = w * w;
    const double sine =
        3.1415926401 + w2 * (-5.1677100835 + w2 * (2.5500775232 + w2 * (-0.5982912856 + w2 * 0.0776576603)));
    return 0.5 + 0.5 * w * sine;
}

/// The depth above which 2 J = 1 / sqrt(1 + a / depth^2) + 1 / sqrt(1 + b / depth^2) is below 2 c for certain, and the
/// one below which it is above. `a`, `b`: squared legs; 0 < c < 1.
struct StretchDepths {
    float below, above;

    StretchDepths(float a, float b, float c) {
        // in w = 1 / depth^2 the sum f is convex and falls; its root lies between that of the mean leg (Jensen) and the
        // chord from there to a place where either leg alone rules it out
        const float narrow = a < b ? a : b, wide = a < b ? b : a, mean = 0.5f * (a + b);
        const float most_w = 1.0f / (c * c) - 1.0f, other = 2.0f * c - 1.0f;
        if (wide <= 1e-12f) {
            below = above = 0.0f;
            return;
        }
        const float left = most_w / mean;
        float right = narrow > 1e-6f * wide ? most_w / narrow : most_w / (1e-6f * wide);
        if (other > 0.0f) {
            const float by_other = (1.0f / (other * other) - 1.0f) / wide;
            right = by_other < right ? by_other : right;
        }
        const float f_left = sum(a, b, left) - 2.0f * c, f_right = sum(a, b, right) - 2.0f * c;
        float root = right;
        if (f_left > 0.0f && f_right < 0.0f) root = left + (right - left) * f_left / (f_left - f_right);
        below = 0.999f / __builtin_sqrtf(root);
        above = 1.001f / __builtin_sqrtf(left);
    }

private:
    static float sum(float a, float b, float w) {
        return 1.0f / __builtin_sqrtf(1.0f + a * w) + 1.0f / __builtin_sqrtf(1.0f + b * w);
    }
};

/// Geometry of one trace at the locations [lo, hi); differences in double precision.
inline void locate(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                   const double* points, Index trace, Index lo, Index hi, TileGeometry& tile) {
    const double *src = traces.src + 2 * trace, *rcv = traces.rcv + 2 * trace;
    const double scale = traces.weight[trace];
    tile.count = 0;
    for (Index loc = lo; loc < hi; ++loc) {
        const double sx = points[2 * loc] - src[0], sy = points[2 * loc + 1] - src[1];
        const double rx = points[2 * loc] - rcv[0], ry = points[2 * loc + 1] - rcv[1];
        const double mx = 0.5 * (sx + rx), my = 0.5 * (sy + ry);
        const double midpoint = __builtin_sqrt(mx * mx + my * my);
        double fade = 1.0;
        if (rules.has_aperture) fade = taper_of((1.0 - midpoint / rules.aperture) * rules.aperture_scale);
        if (!(fade > 0.0)) continue;
        const Index j = tile.count++;
        tile.loc[j] = loc;
        Pair& pair = tile.pair[j];
        pair.src2 = static_cast<float>(sx * sx + sy * sy);
        pair.rcv2 = static_cast<float>(rx * rx + ry * ry);
        for (int a = 0; a < 2; ++a) {
            pair.src[a] = static_cast<float>((sx * rules.axes[a][0] + sy * rules.axes[a][1]) * rules.spacing[a]);
            pair.rcv[a] = static_cast<float>((rx * rules.axes[a][0] + ry * rules.axes[a][1]) * rules.spacing[a]);
        }
        pair.midpoint = static_cast<float>(midpoint);
        pair.weight = static_cast<float>(scale * fade);
    }
    for (Index j = 0; j < tile.count; ++j) {
        const Pair& pair = tile.pair[j];
        tile.muted[j] = tile.whole[j] = -1.0f;
        if (rules.has_stretch) {
            const float* bound = medium.bounds + 4 * tile.loc[j];
            const StretchDepths live(bound[0] * pair.src2, bound[0] * pair.rcv2, bound[1]);
            tile.muted[j] = live.below;
            tile.whole[j] = __builtin_inff();
            if (bound[3] < 1.0f)
                tile.whole[j] = StretchDepths(bound[2] * pair.src2, bound[2] * pair.rcv2, bound[3]).above;
        }
        if (rules.has_dip) {
            const float live = 0.999f * pair.midpoint / rules.dip_slope;
            const float whole = 1.001f * static_cast<float>(pair.midpoint / rules.dip_full);
            tile.muted[j] = live > tile.muted[j] ? live : tile.muted[j];
            tile.whole[j] = whole > tile.whole[j] ? whole : tile.whole[j];
        }
    }
}

/// Blocks of samples whose entry is below `depth`; the entries do not fall.
SUBSALT_INLINE Index blocks_below(const float* entry, Index blocks, float depth) {
    int count = 0;
    for (Index i = 0; i < blocks; ++i)
        count += entry[i] < depth ? 1 : 0;
    return count;
}

using AddTrace = Reach (*)(const KirchhoffRules&, const KirchhoffTraces&, Index trace, const Rows&, const Pair&, float*,
                           Index nt, Index start, Index open, Index end);

template <bool with_eta, Antialias antialias>
AddTrace add_trace_of_order(Index order) {
    if (order == 1) return add_trace<with_eta, antialias, 1>;
    return order == 4 ? add_trace<with_eta, antialias, 4> : add_trace<with_eta, antialias, 0>;
}

template <bool with_eta>
AddTrace add_trace_for(Antialias antialias, Index order) {
    switch (antialias) {
    case Antialias::interpolate:
        return add_trace_of_order<with_eta, Antialias::interpolate>(order);
    case Antialias::nearest:
        return add_trace_of_order<with_eta, Antialias::nearest>(order);
    case Antialias::triangle:
        return add_trace_of_order<with_eta, Antialias::triangle>(order);
    default:
        return add_trace_of_order<with_eta, Antialias::none>(order);
    }
}

/// All traces at the locations [lo, hi); returns the contributions.
inline Index sum_tile(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                      const KirchhoffImage& out, AddTrace add, Index end, Index lo, Index hi) {
    TileGeometry tile;
    Index done = 0;
    const Index nt = medium.nt;
    for (Index trace = 0; trace < traces.n; ++trace) {
        const Index slot = traces.slot[trace];
        if (slot < 0) continue;
        locate(medium, traces, rules, out.points, trace, lo, hi, tile);
        for (Index j = 0; j < tile.count; ++j) {
            const Index loc = tile.loc[j];
            const Index start =
                kirchhoff_block * blocks_below(medium.up + loc * medium.blocks, medium.blocks, tile.muted[j]);
            const Index open =
                kirchhoff_block * blocks_below(medium.down + loc * medium.blocks, medium.blocks, tile.whole[j]);
            const Rows rows(medium, loc);
            float* image = out.image + (loc * out.nclass + slot) * nt;
            const Reach reach = add(rules, traces, trace, rows, tile.pair[j], image, nt, start, open, end);
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
    const AddTrace add = medium.eta == nullptr ? add_trace_for<false>(rules.antialias, traces.order)
                                               : add_trace_for<true>(rules.antialias, traces.order);
    // t is not below t0: samples whose t0 is beyond the trace are not looked at
    const float last = traces.first + static_cast<float>(traces.ns - 1);
    Index end = medium.nt;
    while (end > 0 && 3.9999f * medium.quarter[end - 1] > last)
        --end;
    end = (end + kirchhoff_block - 1) / kirchhoff_block * kirchhoff_block;
    if (tile <= 0) tile = medium.nloc / (4 * threads);
    tile = tile < 8 ? 8 : (tile > most_in_tile ? most_in_tile : tile);
    const Index tiles = (medium.nloc + tile - 1) / tile;
    Index done = 0;
#pragma omp parallel num_threads(threads) reduction(+ : done)
    {
        FlushDenormals flush;
#pragma omp for schedule(dynamic, 1)
        for (Index t = 0; t < tiles; ++t) {
            const Index lo = t * tile, hi = lo + tile < medium.nloc ? lo + tile : medium.nloc;
            done += sum_tile(medium, traces, rules, out, add, end, lo, hi);
        }
    }
    return done;
}

} // namespace subsalt::SUBSALT_NS
