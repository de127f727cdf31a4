// Kirchhoff prestack time migration: one trace added to one image trace, along two-way time.
//
// With h = t0 / 2, s = 1 / v^2, q = x_leg^2 s, all times in sample intervals of the trace, per sample of the image:
//
//   legs        t_leg^2 = h^2 + q - 2 eta q^2 / (h^2 + (1 + 2 eta) q)     Alkhalifah & Tsvankin (1995)
//   position    t_s + t_r - first; the sample is live at 0 <= position <= ns - 1
//   inverse     r = 1 / (t_s t_r), the division that weight and slope share
//   weight      3-D    (t0 / v) [(t_s + t_r) r] [(t_s^2 + t_r^2) r]       Bleistein, Cohen & Stockwell (2001)
//               2.5-D  sqrt(2 pi) t0 sqrt((t_s + t_r) r) [(t_s^2 + t_r^2) r]
//   slope       m = max over the axes of |Q_s x_s t_r + Q_r x_r t_s| spacing;  dt/dx_m spacing = s m r
//   bands       b = B - B t_s t_r / (s m) in [0, B - 1]; between bands floor(b) and the next, or band ceil(b)
//   triangle    (S(p - N) - 2 S(p) + S(p + N)) / N^2, S the trace twice integrated, N = max(s m r, 0.05), in double
//   stretch     1 / J = t_s t_r / ((t0 / 4) (P_s t_r + P_r t_s)); it fades over the last part, raised cosine
//   dip         fades where |x_m| comes near (v t0 / 2) tan(dip)
//   image       += (weight) (value); the value is a polynomial in the fraction of the position
//
// P and Q are the derivatives of t_leg^2 by h^2 and by q, 1 without eta. The same in NumPy: kirchhoff_reference.py.
//
// Below a surface (`Rays::surface`) every leg has its own h = t0 / 2 + (height of its end - height of time zero), t0 of
// the weight is h_s + h_r, and the trace is read `late` after t_s + t_r. Samples not below both ends are not live.
//
// On entry: rows of the medium hold whole vectors and finite numbers, traces have `kirchhoff_pad` zeros behind them.
// Every lane goes through one chain of operations wherever it lies in a vector: bands that a neighbouring lane needs
// add a zero. Per sample 35 operations, two square roots and a division, with bands 20 and a division more; 16 bytes of
// image and medium and, per band and coefficient, 4 bytes of the trace, all in cache.
#pragma once

#include "formulas.hpp"
#include "kernels/triangle.hpp"
#include "lookup.hpp"

#include "kirchhoff_formulas.hpp"

namespace subsalt::SUBSALT_NS::migration {

/// What legs are computed from: a plane, straight or with eta; or a surface, with eta.
enum class Rays { straight, eta, surface };

/// Rows of one location.
struct Rows {
    const float *half2, *quarter, *slowness2, *factor, *depth, *eta;

    Rows(const KirchhoffMedium& m, Index loc)
        : half2(m.half2), quarter(m.quarter), slowness2(m.slowness2 + loc * m.row),
          factor(m.factor + loc * m.factor_step), depth(m.depth == nullptr ? nullptr : m.depth + loc * m.row),
          eta(m.eta == nullptr ? nullptr : m.eta + loc * m.row) {}
};

/// One trace of a block; `shares`: what the triangle reads in place of the coefficients (triangle.hpp).
struct Trace {
    const float* samples; // of band 0
    const double *integrals, *slopes, *shares;
    Index order, stride, band; // floats from one coefficient to the next, from one band to the next
    float first, last, bands;  // position of the first sample, and of the last from there; B

    Trace(const KirchhoffTraces& traces, Index trace, const double* shares_)
        : integrals(nullptr), slopes(nullptr), shares(shares_), order(traces.order), stride(traces.ns_pad),
          band((order + 1) * stride), first(traces.first), last(static_cast<float>(traces.ns - 1)),
          bands(static_cast<float>(traces.bands)) {
        samples = traces.samples + trace * traces.bands * band;
        if (traces.late != nullptr) first -= traces.late[trace];
        if (shares == nullptr) return;
        integrals = traces.integrals + trace * stride;
        slopes = traces.slopes + trace * stride;
    }
};

/// What stays the same along an image trace, in registers: stores to the image might change what lies in memory.
struct Held {
    Trace trace;
    Rows rows;
    Amplitude amplitude;
    Vec src2, rcv2, src[2], rcv[2], weight;
    Vec first, last, bands, top; // of the trace; top: B - 1
    Vec raise[2];                // heights of source and receiver above time zero, one-way time

    Held(const KirchhoffRules& rules, const Trace& t, const Rows& r, const Pair& pair, const Raise& above)
        : trace(t), rows(r), amplitude(rules.amplitude), src2(set1(pair.src2)), rcv2(set1(pair.rcv2)),
          src{set1(pair.src[0]), set1(pair.src[1])}, rcv{set1(pair.rcv[0]), set1(pair.rcv[1])},
          weight(set1(pair.weight)), first(set1(t.first)), last(set1(t.last)), bands(set1(t.bands)),
          top(set1(t.bands - 1.0f)), raise{set1(above.src), set1(above.rcv)} {}
};

/// Both legs at the samples of one vector. Never copied: compilers put a copy, with members that nothing was written
/// to, into memory, and those stores took more than half of the sum's time (gcc 12, Zen 4).
template <Rays rays>
SUBSALT_INLINE Legs<Vec> legs_at(const Held& held, Index k) {
    const Vec eta = rays != Rays::straight ? load(held.rows.eta + k) : set1(0.0f);
    const Vec slowness2 = load(held.rows.slowness2 + k);
    if constexpr (rays == Rays::surface) {
        const Vec quarter = load(held.rows.quarter + k);
        return legs_below(held.src2, held.rcv2, slowness2, add(quarter, quarter), held.raise[0], held.raise[1], eta);
    } else {
        const Vec half2 = load(held.rows.half2 + k);
        return legs_of<rays == Rays::eta>(held.src2, held.rcv2, slowness2, half2, eta);
    }
}

/// How far a sample is from being muted, in parts of the taper of stretch and of dip: live above 0, whole from 1 on.
struct Room {
    Vec stretch, dip;

    SUBSALT_INLINE Vec smaller() const { return least(stretch, dip); }
    SUBSALT_INLINE Vec mute() const { return mul(taper(stretch), taper(dip)); }
};

template <Rays rays>
SUBSALT_INLINE Room room_at(const KirchhoffRules& rules, const Held& held, float midpoint, const Legs<Vec>& l,
                            Index k) {
    Room room{set1(1.0f), set1(1.0f)};
    const Vec quarter = rays == Rays::surface ? set1(0.5f) : load(held.rows.quarter + k);
    if (rules.has_stretch) room.stretch = room_of_stretch<rays != Rays::straight>(rules, l, quarter);
    if (rules.has_dip) room.dip = room_of_dip(rules, midpoint, load(held.rows.depth + k));
    return room;
}

/// Where in the trace the legs end, and that place moved into the trace.
struct Position {
    Vec at, inside;
    SUBSALT_INLINE Position(const Held& held, const Legs<Vec>& l) {
        at = sub(l.both, held.first);
        inside = least(most(at, set1(0.0f)), held.last);
    }
};

/// What a sample of the trace counts, without the tapers that depend on the sample. `inverse`: 1 / (t_s t_r).
template <Rays rays>
SUBSALT_INLINE Vec weight_at(const Held& held, const Legs<Vec>& l, Vec inverse, Index k) {
    if (held.amplitude == Amplitude::none) return held.weight;
    Vec factor = load(held.rows.factor + k);
    if constexpr (rays == Rays::surface) factor = mul(factor, l.down);
    return weight_of<Vec>(held.amplitude, held.weight, l, inverse, factor);
}

/// The polynomial through a band of a trace. `fixed`: its order, 0 when known at run time only.
template <Spread spread, int fixed>
SUBSALT_INLINE Vec value_of(const Held& held, const float* band, const Window& window) {
    const auto c = [&](Index k) { return window.read<spread>(band + k * held.trace.stride); };
    const Vec f = window.fraction;
    if constexpr (fixed > 0) return polynomial<fixed>(c, f);
    Vec value = c(held.trace.order);
    for (Index k = held.trace.order - 1; k >= 0; --k)
        value = fma(value, f, c(k));
    return value;
}

/// Bands that the lanes of a vector need: those of the vector before, or found anew where fewer or others would do.
struct Bands {
    int lo = 0, hi = 0;

    /// Make [lo, hi] hold floor(b) and ceil(b) of every lane. Between two bands, both are needed; a run of lanes in
    /// band 0, where nothing is aliased, needs one.
    template <bool nearest>
    SUBSALT_INLINE void cover(Vec b) {
        const unsigned out = bits_below(b, set1(static_cast<float>(lo))) | bits_below(set1(static_cast<float>(hi)), b);
        const bool tight = hi == lo || (!nearest && hi == lo + 1 && lo > 0);
        if (out == 0 && tight) return;
        const float top = largest(b);
        lo = static_cast<int>(smallest(b));
        hi = static_cast<int>(top);
        if (static_cast<float>(hi) < top) ++hi;
    }
};

/// The trace at the positions of the window, low-passed at the band coordinates b. Hats: band floor(b) counts 1 - t and
/// the next one t, t = b - floor(b), which no rounding disturbs.
template <Spread spread, int fixed, Antialias antialias>
SUBSALT_INLINE Vec banded(const Held& held, Vec b, Bands& bands, const Window& window) {
    if constexpr (antialias == Antialias::none) return value_of<spread, fixed>(held, held.trace.samples, window);
    constexpr bool nearest = antialias == Antialias::nearest;
    bands.cover<nearest>(b);
    const float* samples = held.trace.samples + bands.lo * held.trace.band;
    Vec of = set1(static_cast<float>(bands.lo)), value = value_of<spread, fixed>(held, samples, window);
    if (bands.hi == bands.lo + 1 && !nearest) {
        const Vec t = sub(b, of), next = value_of<spread, fixed>(held, samples + held.trace.band, window);
        value = fma(t, next, mul(sub(set1(1.0f), t), value));
    } else if (bands.hi > bands.lo) {
        const Vec one = set1(1.0f), zero = set1(0.0f);
        const Vec under = floor_of(b), t = sub(b, under);
        value = where_equal(under, of, mul(sub(one, t), value), zero);
        for (int j = bands.lo + 1; j <= bands.hi; ++j) {
            const Vec before = of;
            samples += held.trace.band;
            of = add(of, one);
            const Vec next = value_of<spread, fixed>(held, samples, window);
            const Vec share = where_equal(under, of, sub(one, t), where_equal(under, before, t, zero));
            value = fma(share, next, value);
        }
    }
    return add(value, set1(0.0f)); // no negative zero, which a band more or less would turn
}

/// Samples of a range, or vectors from the first to the last.
struct Reach {
    Index lo, hi;
};

/// What one vector of samples asks of the trace: where, how much it counts, and how steep the operator is there.
struct Sought {
    Vec position, weight;
    Vec steep; // band coordinate, or half-length of the triangle
};

template <Rays rays, Antialias antialias, bool muted>
SUBSALT_INLINE Sought seek(const KirchhoffRules& rules, const Held& held, float midpoint, Index k) {
    const Legs<Vec> l = legs_at<rays>(held, k);
    const Vec inverse = div(set1(1.0f), l.product);
    const Position position(held, l);
    Vec weight = weight_at<rays>(held, l, inverse, k);
    if constexpr (muted) weight = mul(weight, room_at<rays>(rules, held, midpoint, l, k).mute());
    Sought sought{position.inside, where_equal(position.at, position.inside, weight, set1(0.0f)), set1(0.0f)};
    if constexpr (antialias != Antialias::none) {
        const Vec slope = mul(load(held.rows.slowness2 + k), steepness<rays != Rays::straight>(held.src, held.rcv, l));
        if constexpr (antialias == Antialias::triangle)
            sought.steep = least(most(mul(slope, inverse), set1(least_half)), set1(most_half));
        else
            sought.steep = least(most(sub(held.bands, div(mul(held.bands, l.product), slope)), set1(0.0f)), held.top);
        if constexpr (antialias == Antialias::nearest) sought.steep = ceiling_of(sought.steep);
    }
    return sought;
}

/// What the trace holds there, times what it counts, added to `image`.
template <Antialias antialias, int fixed>
SUBSALT_INLINE Vec add_found(const Held& held, const Sought& sought, Bands& bands, Vec image) {
    Vec value;
    if constexpr (antialias == Antialias::triangle) {
        const Trace& t = held.trace;
        const Integral<fixed> integral{t.integrals, t.slopes, t.shares, t.order, t.stride};
        value = triangle(integral, sought.position, sought.steep);
    } else {
        const Window window(sought.position);
        value = window.by_spread([&]<Spread spread>() __attribute__((always_inline)) {
            return banded<spread, fixed, antialias>(held, sought.steep, bands, window);
        });
    }
    return fma(sought.weight, value, image);
}

/// Add the vectors at k, k + lanes, ..., last to an image trace of nt samples, which may end in the last vector. Each
/// is sought while the one before is read: roots and divisions take so long that what waits for them would fill the
/// queues of the processor.
template <Rays rays, Antialias antialias, int fixed, bool muted>
SUBSALT_INLINE void add_vectors(const KirchhoffRules& rules, const Held& held, float midpoint, Reach vectors,
                                Bands& bands, float* image, Index nt) {
    const Index last = vectors.hi;
    Index k = vectors.lo;
    if (k > last) return;
    Sought now = seek<rays, antialias, muted>(rules, held, midpoint, k);
    for (; k < last; k += lanes) {
        const Sought next = seek<rays, antialias, muted>(rules, held, midpoint, k + lanes);
        store(image + k, add_found<antialias, fixed>(held, now, bands, load(image + k)));
        now = next;
    }
    const Index left = nt - last;
    const bool whole = left >= lanes;
    const Vec before = whole ? load(image + last) : load_first(image + last, left);
    const Vec sum = add_found<antialias, fixed>(held, now, bands, before);
    whole ? store(image + last, sum) : store_first(image + last, left, sum);
}

/// The lanes that are live, as bits. `muted`: some may be muted.
template <Rays rays, bool muted>
SUBSALT_INLINE unsigned live_at(const KirchhoffRules& rules, const Held& held, float midpoint, Index k, Index nt) {
    const Legs<Vec> l = legs_at<rays>(held, k);
    const Position position(held, l);
    const unsigned image = nt - k >= lanes ? all_lanes : (nt > k ? (1u << (nt - k)) - 1u : 0u);
    const unsigned live = bits_equal(position.at, position.inside) & image;
    if constexpr (!muted) return live;
    return live & bits_below(set1(0.0f), room_at<rays>(rules, held, midpoint, l, k).smaller());
}

/// Add a trace to the image trace `image` (nt), whose samples before `start` and from `end` on are known to be muted or
/// beyond the trace, and from `open` on free of tapers; all three are multiples of 16. Returns the samples from the
/// first live one to the last.
template <Rays rays, Antialias antialias, int fixed>
Reach add_trace(const KirchhoffRules& rules, const Trace& trace, const Rows& rows, const Pair& pair, const Raise& raise,
                float* image, Index nt, Index start, Index open, Index end) {
    const Held held(rules, trace, rows, pair, raise);
    const float midpoint = pair.midpoint;
    unsigned live = 0;
    Index lo = start, hi = end - lanes;
    for (; lo < end; lo += lanes)
        if ((live = live_at<rays, true>(rules, held, midpoint, lo, nt)) != 0) break;
    if (live == 0) return {0, 0};
    const Index first = lo + __builtin_ctz(live);
    for (; hi > lo; hi -= lanes) {
        const unsigned at_end = hi >= open ? live_at<rays, false>(rules, held, midpoint, hi, nt)
                                           : live_at<rays, true>(rules, held, midpoint, hi, nt);
        if (at_end != 0) {
            live = at_end;
            break;
        }
    }
    const Index last = hi + 31 - __builtin_clz(live);

    Bands bands;
    const Reach fading{lo, open - lanes < hi ? open - lanes : hi}, bare{open > lo ? open : lo, hi};
    add_vectors<rays, antialias, fixed, true>(rules, held, midpoint, fading, bands, image, nt);
    add_vectors<rays, antialias, fixed, false>(rules, held, midpoint, bare, bands, image, nt);
    return {first, last + 1};
}

} // namespace subsalt::SUBSALT_NS::migration
