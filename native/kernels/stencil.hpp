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

/// Distances to the neighbours along one axis, in bytes: 1, 3, and their negatives. With the scales 1, 2, 4 and 8 of an
/// address these reach 1 .. 4, 6 and 8 neighbours from one pointer, 5 and 7 from the pointer 4 rows on; more pointers
/// per row would spill.
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

/// w[+k], w[-k], and a + w[-k], for k of 1 to 8: the pointer from which neighbour k is reached, then
/// how.
template <int k>
SUBSALT_INLINE const float* start_of(const float* p, Index one) {
    return k == 5 || k == 7 ? reinterpret_cast<const float*>(reinterpret_cast<const char*>(p) + 4 * one) : p;
}
template <int k>
constexpr bool by_threes = k % 3 == 0 || k == 7;
template <int k>
constexpr int scale_to = k == 3 || k == 5 || k == 7 ? 1 : (k == 6 ? 2 : k);

template <int k>
SUBSALT_INLINE Vec ahead(const float* p, const Reach& r) {
    return load_at<scale_to<k>>(start_of<k>(p, r.one), by_threes<k> ? r.three : r.one);
}
template <int k>
SUBSALT_INLINE Vec behind(const float* p, const Reach& r) {
    return load_at<scale_to<k>>(start_of<k>(p, r.minus_one), by_threes<k> ? r.minus_three : r.minus_one);
}
template <int k>
SUBSALT_INLINE Vec add_ahead(Vec a, const float* p, const Reach& r) {
    return add_at<scale_to<k>>(a, start_of<k>(p, r.one), by_threes<k> ? r.three : r.one);
}
template <int k>
SUBSALT_INLINE Vec add_behind(Vec a, const float* p, const Reach& r) {
    return add_at<scale_to<k>>(a, start_of<k>(p, r.minus_one), by_threes<k> ? r.minus_three : r.minus_one);
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

/// The neighbours k = 1 .. M along x of p and of p2 in the plane beyond, in order: f(k, w[+k], w[-k], w2[+k], w2[-k]).
/// All but two of the loads serve both. `mid`, `mid2`: w and w2 themselves, at the end w2[+M] and w[-M].
template <int M, class Do>
SUBSALT_INLINE void pairs_of_two_planes(const float* p, const float* p2, Vec& mid, Vec& mid2, const Reach& r, Do f) {
    Vec &behind_both = mid, &ahead_both = mid2;
    written_out<1, M>([&](auto k) SUBSALT_INLINED {
        const Vec b = behind<k>(p, r), a = ahead<k>(p2, r);
        f(k, ahead_both, b, a, behind_both);
        ahead_both = a, behind_both = b;
    });
}

/// acc + sum_k c_k (w[+k] + w[-k]) along x, at p and at its neighbour p2 in the plane beyond.
template <int M>
SUBSALT_INLINE void add_d2_two_planes(Vec& acc, Vec& acc2, const float* p, const float* p2, Vec mid, Vec mid2,
                                      const Reach& r, const Weights& c) {
    pairs_of_two_planes<M - 1>(p, p2, mid, mid2, r,
                               [&](int k, Vec plus, Vec minus, Vec plus2, Vec minus2) SUBSALT_INLINED {
                                   acc = fma(c.w[k], add(plus, minus), acc);
                                   acc2 = fma(c.w[k], add(plus2, minus2), acc2);
                               });
    acc = fma(c.w[M], add_behind<M>(mid2, p, r), acc);
    acc2 = fma(c.w[M], add_ahead<M>(mid, p2, r), acc2);
}

/// D1 along x at p and at its neighbour p2 in the plane beyond, likewise.
template <int M>
SUBSALT_INLINE void d1_two_planes(Vec& g, Vec& g2, const float* p, const float* p2, const Reach& r, const Weights& d) {
    Vec mid = load(p), mid2 = load(p2);
    pairs_of_two_planes<M>(p, p2, mid, mid2, r, [&](int k, Vec plus, Vec minus, Vec plus2, Vec minus2) SUBSALT_INLINED {
        g = k == 1 ? mul(d.w[1], sub(plus, minus)) : fma(d.w[k], sub(plus, minus), g);
        g2 = k == 1 ? mul(d.w[1], sub(plus2, minus2)) : fma(d.w[k], sub(plus2, minus2), g2);
    });
}

/// Three aligned vectors of a row, of which neighbours along z are shifts where that is faster than loads: with 16
/// lanes everywhere, with 8 in tilted media (isotropic and VTI: 0.96 to 1.02 of the rate on Zen 3).
struct RowWindow {
    Vec left, mid, right;

    SUBSALT_INLINE explicit RowWindow([[maybe_unused]] const float* p) {
#if SUBSALT_SHIFTS
        left = load(p - lanes);
        mid = load(p);
#endif
    }
    /// Move to the vector at p.
    SUBSALT_INLINE void at([[maybe_unused]] const float* p) {
#if SUBSALT_LANES != 16
        mid = load(p);
#endif
#if SUBSALT_SHIFTS
        right = load(p + lanes);
#endif
    }
    SUBSALT_INLINE void next() {
#if SUBSALT_SHIFTS
        left = mid;
#endif
#if SUBSALT_LANES == 16
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

/// c_1 (w[+1] + w[-1]), then the chain for k = 2 .. M: along z, without the centre.
template <int M>
SUBSALT_INLINE Vec d2_z_off_centre(const float* p, const RowWindow& v, const Weights& c, int radius) {
    return first<M>(c, radius, [&](auto k) SUBSALT_INLINED {
        if constexpr (M == 0)
            return add(load(p + k), load(p - k));
        else
            return pair_z<k>(p, v);
    });
}

/// What depth brings into the second derivatives of a row: on a uniform axis the weight of the centre, which is one for
/// all points, and the chain along z.
template <bool Stretched>
class DepthRow {
public:
    SUBSALT_INLINE DepthRow(const Problem&, int, float centre, Index) : centre_(set1(centre)) {}
    /// The term of the centre.
    SUBSALT_INLINE Vec centre(Vec mid) const { return mul(centre_, mid); }
    /// acc + D2 along z without its centre.
    template <int M>
    SUBSALT_INLINE Vec add_d2(Vec acc, const float* p, const RowWindow& v, const Weights& c, int radius) const {
        return add_d2_z<M>(acc, p, v, c, radius);
    }
    /// The same by loads along z.
    template <int M>
    SUBSALT_INLINE Vec add_loaded_d2(Vec acc, const float* p, const Weights& c, int radius) const {
        return add_second<M>(acc, c, radius, [&](int k) SUBSALT_INLINED { return add(load(p + k), load(p - k)); });
    }
    SUBSALT_INLINE void operator+=(Index) {}

private:
    Vec centre_;
};

/// On a stretched axis a weight of the centre per point, and a^2 before the chain along z, which begins at k = 1:
/// acc = fma(a^2, c_1 (w[+1] + w[-1]) + ..., acc).
template <>
class DepthRow<true> {
public:
    SUBSALT_INLINE DepthRow(const Problem& pb, int field, float, Index z)
        : centre_(pb.stretch.centre[field] + z), square_(pb.stretch.square + z) {}
    SUBSALT_INLINE Vec centre(Vec mid) const { return mul(load(centre_), mid); }
    template <int M>
    SUBSALT_INLINE Vec add_d2(Vec acc, const float* p, const RowWindow& v, const Weights& c, int radius) const {
        return fma(load(square_), d2_z_off_centre<M>(p, v, c, radius), acc);
    }
    template <int M>
    SUBSALT_INLINE Vec add_loaded_d2(Vec acc, const float* p, const Weights& c, int radius) const {
        const auto pair = [&](int k) SUBSALT_INLINED { return add(load(p + k), load(p - k)); };
        return fma(load(square_), first<M>(c, radius, pair), acc);
    }
    SUBSALT_INLINE void operator+=(Index n) { centre_ += n, square_ += n; }

private:
    const float *centre_, *square_;
};

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
