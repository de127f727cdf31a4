// Derivatives at one vector of points, in the canonical order of operations.
//
//   second derivatives: acc = centre w; then for each axis, x before y before z, and k = 1 .. M in order:
//                       acc = fma(c_k, w[+k] + w[-k], acc)
//   first derivative:   acc = d_1 (w[+1] - w[-1]); then k = 2 .. M: acc = fma(d_k, w[+k] - w[-k], acc)
//
// Every point is computed by this chain whatever the vector length, the box or the thread, so the bits agree.
// `M` > 0 is a radius known to the compiler, 0 one known at run time.
#pragma once

#include "formulas.hpp"

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

#if SUBSALT_LANES >= 8 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SUBSALT_WRITTEN_OUT 1 // what is written out in assembly no sanitizer sees
#else
#define SUBSALT_WRITTEN_OUT 0
#endif

/// The vector `scale` times `bytes` from p. Written out for AVX: compilers turn several such addresses into chains of
/// additions and spill them (0.86 of the rate in cache). A row kernel must not write what it reads this way.
template <int scale>
SUBSALT_INLINE Vec load_at(const float* p, Index bytes) {
#if SUBSALT_WRITTEN_OUT
    Vec v;
    asm("vmovups (%1,%2,%c3), %0" : "=v"(v) : "r"(p), "r"(bytes), "i"(scale), "m"(*p));
    return v;
#else
    return load(reinterpret_cast<const float*>(reinterpret_cast<const char*>(p) + scale * bytes));
#endif
}

/// a + load_at<scale>(p, bytes)
template <int scale>
SUBSALT_INLINE Vec add_at(Vec a, const float* p, Index bytes) {
#if SUBSALT_WRITTEN_OUT
    Vec v;
    asm("vaddps (%1,%2,%c3), %4, %0" : "=v"(v) : "r"(p), "r"(bytes), "i"(scale), "v"(a), "m"(*p));
    return v;
#else
    return add(a, load_at<scale>(p, bytes));
#endif
}

/// w[+k], w[-k], and a + w[-k], for k of 1 to 4.
template <int k>
SUBSALT_INLINE Vec ahead(const float* p, const Reach& r) {
    return load_at<k == 3 ? 1 : k>(p, k == 3 ? r.three : r.one);
}
template <int k>
SUBSALT_INLINE Vec behind(const float* p, const Reach& r) {
    return load_at<k == 3 ? 1 : k>(p, k == 3 ? r.minus_three : r.minus_one);
}
template <int k>
SUBSALT_INLINE Vec add_ahead(Vec a, const float* p, const Reach& r) {
    return add_at<k == 3 ? 1 : k>(a, p, k == 3 ? r.three : r.one);
}
template <int k>
SUBSALT_INLINE Vec add_behind(Vec a, const float* p, const Reach& r) {
    return add_at<k == 3 ? 1 : k>(a, p, k == 3 ? r.minus_three : r.minus_one);
}

/// Weights of one axis, spread over vectors.
struct Weights {
    Vec w[max_radius + 1];

    SUBSALT_INLINE Weights(const float* c, int radius) {
        for (int k = 0; k <= radius; ++k)
            w[k] = set1(c[k]);
    }
    SUBSALT_INLINE Vec operator[](int k) const { return w[k]; }
};

/// acc + sum_k c_k (w[+k] + w[-k]) along x or y.
template <int M>
SUBSALT_INLINE Vec add_d2(Vec acc, const float* p, const Reach& r, const Weights& c, int radius) {
    return add_second<M>(acc, c, radius, [&](auto k) SUBSALT_INLINED {
        if constexpr (M == 0) {
            const char* q = reinterpret_cast<const char*>(p);
            return add(load(reinterpret_cast<const float*>(q + k * r.one)),
                       load(reinterpret_cast<const float*>(q - k * r.one)));
        } else {
            return add_behind<k>(ahead<k>(p, r), p, r);
        }
    });
}

/// The same along x at p and at its neighbour p2 in the plane beyond: all but two of the loads serve both.
template <int M>
SUBSALT_INLINE void add_d2_two_planes(Vec& acc, Vec& acc2, const float* p, const float* p2, Vec mid, Vec mid2,
                                      const Reach& r, const Weights& c) {
    static_assert(M == 2 || M == 4);
    const Vec b1 = behind<1>(p, r), a1 = ahead<1>(p2, r);
    acc = fma(c.w[1], add(mid2, b1), acc);
    acc2 = fma(c.w[1], add(a1, mid), acc2);
    if constexpr (M == 2) {
        acc = fma(c.w[2], add_behind<2>(a1, p, r), acc);
        acc2 = fma(c.w[2], add_ahead<2>(b1, p2, r), acc2);
    } else {
        const Vec b2 = behind<2>(p, r), a2 = ahead<2>(p2, r);
        acc = fma(c.w[2], add(a1, b2), acc);
        acc2 = fma(c.w[2], add(a2, b1), acc2);
        const Vec b3 = behind<3>(p, r), a3 = ahead<3>(p2, r);
        acc = fma(c.w[3], add(a2, b3), acc);
        acc2 = fma(c.w[3], add(a3, b2), acc2);
        acc = fma(c.w[4], add_behind<4>(a3, p, r), acc);
        acc2 = fma(c.w[4], add_ahead<4>(b3, p2, r), acc2);
    }
}

/// D1 along x at p and at its neighbour p2 in the plane beyond, likewise.
template <int M>
SUBSALT_INLINE void d1_two_planes(Vec& g, Vec& g2, const float* p, const float* p2, const Reach& r, const Weights& d) {
    static_assert(M == 2 || M == 4);
    const Vec b1 = behind<1>(p, r), a1 = ahead<1>(p2, r);
    g = mul(d.w[1], sub(load(p2), b1));
    g2 = mul(d.w[1], sub(a1, load(p)));
    const Vec b2 = behind<2>(p, r), a2 = ahead<2>(p2, r);
    g = fma(d.w[2], sub(a1, b2), g);
    g2 = fma(d.w[2], sub(a2, b1), g2);
    if constexpr (M == 4) {
        const Vec b3 = behind<3>(p, r), a3 = ahead<3>(p2, r);
        g = fma(d.w[3], sub(a2, b3), g);
        g2 = fma(d.w[3], sub(a3, b2), g2);
        g = fma(d.w[4], sub(a3, behind<4>(p, r)), g);
        g2 = fma(d.w[4], sub(ahead<4>(p2, r), b3), g2);
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
    return add_second<M>(acc, c, radius, [&](auto k) SUBSALT_INLINED {
        if constexpr (M == 0)
            return add(load(p + k), load(p - k));
        else
            return pair_z<k>(p, v);
    });
}

/// D2 w along one axis alone: c_0 w, then the chain. `stride` in floats.
template <int M>
SUBSALT_INLINE Vec d2_axis(const float* p, Index stride, const Weights& c, int radius) {
    return add_second<M>(mul(c[0], load(p)), c, radius,
                         [&](int k) SUBSALT_INLINED { return add(load(p + k * stride), load(p - k * stride)); });
}

/// D1 w along one axis. `stride` in floats.
template <int M>
SUBSALT_INLINE Vec d1_axis(const float* p, Index stride, const Weights& d, int radius) {
    return first<M>(d, radius, [&](int k) SUBSALT_INLINED { return sub(load(p + k * stride), load(p - k * stride)); });
}

} // namespace subsalt::SUBSALT_NS
