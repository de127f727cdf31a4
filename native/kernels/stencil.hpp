// Derivatives at one vector of points, in the canonical order of operations.
//
//   second derivatives: acc = centre w; then for each axis, x before y before z, and k = 1 .. M in order:
//                       acc = fma(c_k, w[+k] + w[-k], acc)
//   first derivative:   acc = d_1 (w[+1] - w[-1]); then k = 2 .. M: acc = fma(d_k, w[+k] - w[-k], acc)
//
// Every point is computed by this chain whatever the vector length, the box or the thread, so the bits agree.
// `M` > 0 is a radius known to the compiler, 0 one known at run time.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

/// Distances to the neighbours along one axis, in bytes: 1, 3, and their negatives. With the scales 1, 2 and 4 of an
/// address these reach 1 .. 4 neighbours from one pointer; more pointers per row would spill.
struct Reach {
    Index one, three, minus_one, minus_three;

    explicit Reach(Index floats)
        : one(4 * floats), three(12 * floats), minus_one(-4 * floats), minus_three(-12 * floats) {
#if defined(__x86_64__)
        // Opaque values: else the compiler rewrites them as differences and adds pointers again.
        asm("" : "+r"(minus_one), "+r"(three), "+r"(minus_three));
#endif
    }
};

template <int k>
SUBSALT_INLINE Vec ahead(const float* p, const Reach& r) {
    const char* c = reinterpret_cast<const char*>(p);
    if constexpr (k == 3) return load(reinterpret_cast<const float*>(c + r.three));
    return load(reinterpret_cast<const float*>(c + k * r.one));
}

template <int k>
SUBSALT_INLINE Vec behind(const float* p, const Reach& r) {
    const char* c = reinterpret_cast<const char*>(p);
    if constexpr (k == 3) return load(reinterpret_cast<const float*>(c + r.minus_three));
    return load(reinterpret_cast<const float*>(c + k * r.minus_one));
}

/// Weights of one axis, spread over vectors.
struct Weights {
    Vec w[max_radius + 1];

    SUBSALT_INLINE Weights(const float* c, int radius) {
        for (int k = 0; k <= radius; ++k)
            w[k] = set1(c[k]);
    }
};

/// acc + sum_k c_k (w[+k] + w[-k]) along x or y.
template <int M>
SUBSALT_INLINE Vec add_d2(Vec acc, const float* p, const Reach& r, const Weights& c, int radius) {
    if constexpr (M == 0) {
        const char* q = reinterpret_cast<const char*>(p);
        for (int k = 1; k <= radius; ++k)
            acc = fma(c.w[k],
                      add(load(reinterpret_cast<const float*>(q + k * r.one)),
                          load(reinterpret_cast<const float*>(q - k * r.one))),
                      acc);
        return acc;
    } else {
        static_assert(M == 2 || M == 4);
        acc = fma(c.w[1], add(ahead<1>(p, r), behind<1>(p, r)), acc);
        acc = fma(c.w[2], add(ahead<2>(p, r), behind<2>(p, r)), acc);
        if constexpr (M == 4) {
            acc = fma(c.w[3], add(ahead<3>(p, r), behind<3>(p, r)), acc);
            acc = fma(c.w[4], add(ahead<4>(p, r), behind<4>(p, r)), acc);
        }
        return acc;
    }
}

/// Three aligned vectors of a row: with 16 lanes the z neighbours are shifts between them, not loads.
struct RowWindow {
    Vec left, mid, right;

    SUBSALT_INLINE explicit RowWindow([[maybe_unused]] const float* p) {
#if SUBSALT_LANES == 16
        left = load(p - lanes);
        mid = load(p);
#endif
    }
    /// Move to the vector at p.
    SUBSALT_INLINE void at([[maybe_unused]] const float* p) {
#if SUBSALT_LANES == 16
        right = load(p + lanes);
#else
        mid = load(p);
#endif
    }
    SUBSALT_INLINE void next() {
#if SUBSALT_LANES == 16
        left = mid;
        mid = right;
#endif
    }
};

template <int k>
SUBSALT_INLINE Vec pair_z([[maybe_unused]] const float* p, [[maybe_unused]] const RowWindow& v) {
#if SUBSALT_LANES == 16
    return add(shift<k>(v.mid, v.right), shift<16 - k>(v.left, v.mid));
#else
    return add(load(p + k), load(p - k));
#endif
}

/// acc + sum_k c_k (w[+k] + w[-k]) along z.
template <int M>
SUBSALT_INLINE Vec add_d2_z(Vec acc, const float* p, const RowWindow& v, const Weights& c, int radius) {
    if constexpr (M == 0) {
        for (int k = 1; k <= radius; ++k)
            acc = fma(c.w[k], add(load(p + k), load(p - k)), acc);
        return acc;
    } else {
        acc = fma(c.w[1], pair_z<1>(p, v), acc);
        acc = fma(c.w[2], pair_z<2>(p, v), acc);
        if constexpr (M == 4) {
            acc = fma(c.w[3], pair_z<3>(p, v), acc);
            acc = fma(c.w[4], pair_z<4>(p, v), acc);
        }
        return acc;
    }
}

/// D2 w along one axis alone: c_0 w, then the chain. `stride` in floats.
template <int M>
SUBSALT_INLINE Vec d2_axis(const float* p, Index stride, const Weights& c, int radius) {
    const int reach = M > 0 ? M : radius;
    Vec acc = mul(c.w[0], load(p));
    for (int k = 1; k <= reach; ++k)
        acc = fma(c.w[k], add(load(p + k * stride), load(p - k * stride)), acc);
    return acc;
}

/// D1 w along one axis. `stride` in floats.
template <int M>
SUBSALT_INLINE Vec d1_axis(const float* p, Index stride, const Weights& d, int radius) {
    const int reach = M > 0 ? M : radius;
    Vec acc = mul(d.w[1], sub(load(p + stride), load(p - stride)));
    for (int k = 2; k <= reach; ++k)
        acc = fma(d.w[k], sub(load(p + k * stride), load(p - k * stride)), acc);
    return acc;
}

} // namespace subsalt::SUBSALT_NS
