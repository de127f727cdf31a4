// The formulas of the time steps, their layers, and what is injected and imaged, written once for the CPU and the GPU.
//
// `N` is what one thread computes at once: a vector (simd.hpp), or one, two or four floats on the device
// (cuda/numbers.cuh). Each has add, sub, mul, div, fma (a b + c), fms (a b - c), fnma (c - a b), all rounded once, and
// where_nonzero. A weight `W` is an N, or a float where N takes one. The order of operations is part of the formula:
// that is why every field has the same bits on both. Which equations these are stands in native/kernels.
#pragma once

#if defined(SUBSALT_DEVICE_NUMBERS)
#define SUBSALT_FORMULA SUBSALT_DEVICE
#define SUBSALT_INLINED
#else
#include "simd.hpp"
#define SUBSALT_FORMULA SUBSALT_INLINE
#endif

namespace subsalt::SUBSALT_NS {

/// A number known to the compiler, for neighbours that are written out.
template <int k>
struct Constant {
    constexpr operator int() const { return k; }
};

/// Do f(k) for k = First .. M in order, M known to the compiler.
template <int First, int M, class Do>
SUBSALT_FORMULA void written_out(Do f) {
    if constexpr (First <= M) {
        f(Constant<First>{});
        written_out<First + 1, M>(f);
    }
}

/// Do f(k) for k = First .. M in order; with M = 0 for k = First .. radius. `Held`: also then it is written out,
/// because what k chooses lies in registers, which cannot be indexed.
template <int First, int M, bool Held = false, class Do>
SUBSALT_FORMULA void for_neighbours(int radius, Do f) {
    if constexpr (M > 0) {
        written_out<First, M>(f);
    } else if constexpr (Held) {
        written_out<First, max_radius>([&](auto k) SUBSALT_INLINED {
            if (k <= radius) f(k);
        });
    } else {
#if defined(__CUDACC__)
#pragma unroll 2
#endif
        for (int k = First; k <= radius; ++k)
            f(k);
    }
}

/// Second derivative: acc = fma(c_k, sum(k), acc) for k = 1 .. M in order; sum(k) is w[+k] + w[-k].
template <int M, bool Held = false, class N, class Weights, class Sum>
SUBSALT_FORMULA N add_second(N acc, const Weights& c, int radius, Sum sum) {
    for_neighbours<1, M, Held>(radius, [&](auto k) SUBSALT_INLINED { acc = fma(c[k], sum(k), acc); });
    return acc;
}

/// First derivative added: acc = fma(d_k, difference(k), acc) for k = 1 .. M; difference(k) is w[+k] - w[-k].
template <int M, bool Held = false, class N, class Weights, class Difference>
SUBSALT_FORMULA N add_first(N acc, const Weights& d, int radius, Difference difference) {
    for_neighbours<1, M, Held>(radius, [&](auto k) SUBSALT_INLINED { acc = fma(d[k], difference(k), acc); });
    return acc;
}

/// First derivative: d_1 difference(1), then fma(d_k, difference(k), ...) for k = 2 .. M. Also the second derivative of
/// TTI, whose centre is added elsewhere, with sums for differences.
template <int M, bool Held = false, class Weights, class Difference>
SUBSALT_FORMULA auto first(const Weights& d, int radius, Difference difference) {
    auto acc = mul(d[1], difference(Constant<1>{}));
    for_neighbours<2, M, Held>(radius, [&](auto k) SUBSALT_INLINED { acc = fma(d[k], difference(k), acc); });
    return acc;
}

/// The next level of a field: m rhs + (2 now - before).
template <class N>
SUBSALT_FORMULA N leapfrog(N m, N rhs, N now, N before) {
    return fma(m, rhs, fms(of<N>(2.0f), now, before));
}

/// e A + s B, what drives p in VTI and TTI.
template <class N>
SUBSALT_FORMULA N rhs_of_p(N e, N s, N a, N b) {
    return fma(e, a, mul(s, b));
}

/// s A + B, what drives q in VTI and TTI.
template <class N>
SUBSALT_FORMULA N rhs_of_q(N s, N a, N b) {
    return fma(s, a, b);
}

/// The level `next` as the damping term changes it: (next + t before) / (1 + t) where t = sigma dt is not zero.
template <class N>
SUBSALT_FORMULA N damped(N t, N before, N next) {
    return where_nonzero(t, div(fma(t, before, next), add(of<N>(1.0f), t)), next);
}

/// Recursion of the layer's memory: M <- b M + (b - 1) g; `less`: b - 1.
template <class W, class N>
SUBSALT_FORMULA N remember(W b, W less, N old, N g) {
    return fma(b, old, mul(less, g));
}

/// Flux of TTI: f - m g for p (field 0), m g - f for q (field 1).
template <int Field, class N>
SUBSALT_FORMULA N tti_flux(N m, N g, N f) {
    return Field == 0 ? fnma(m, g, f) : fms(m, g, f);
}

/// What a source sample adds to p of an isotropic medium: (m w) value.
template <class N>
SUBSALT_FORMULA N injected(N m, N weight, N value) {
    return mul(mul(m, weight), value);
}

/// The shares that p and q of VTI and TTI get of it.
template <class N>
SUBSALT_FORMULA N share_of_p(N e, N s) {
    return mul(of<N>(0.5f), add(e, s));
}
template <class N>
SUBSALT_FORMULA N share_of_q(N s) {
    return mul(of<N>(0.5f), add(s, of<N>(1.0f)));
}

/// What is recorded and imaged of two fields.
template <class N>
SUBSALT_FORMULA N mean_of(N p, N q) {
    return mul(of<N>(0.5f), add(p, q));
}

/// image + (scale u) w
template <class W, class N>
SUBSALT_FORMULA N add_product(W scale, N u, N w, N image) {
    return fma(mul(scale, u), w, image);
}

} // namespace subsalt::SUBSALT_NS
