// Discrete Fourier transforms of as many traces as a vector has lanes, one trace per lane.
//
//   forward   X_k = sum_j x_j e^{-2 pi i j k / n},  from natural order into that of FftPlan::place
//   backward  x_j = sum_k X_k e^{+2 pi i j k / n},  from the order of FftPlan::place into natural order
//
// A point is two vectors, real and imaginary parts. All lanes go through the same operations in the same order: the
// bits of a trace depend neither on the traces beside it nor on how many lanes there are (v3, v4). In place; 8 lanes n
// bytes. Operations per point: radix 4 about 8.5 per stage, log4(n) stages. Whole blocks first, until one fits the
// first cache, then stage by stage.
//
// Cooley & Tukey (1965); decimation in frequency forwards, in time backwards (Gentleman & Sande 1966), so that nothing
// is sorted.
#pragma once

#include "signal/fft_plan.hpp"
#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

struct Complex {
    Vec re, im;
};

SUBSALT_INLINE Complex load_point(const float* x, Index i) {
    return {load(x + 2 * i * lanes), load(x + (2 * i + 1) * lanes)};
}
SUBSALT_INLINE void store_point(float* x, Index i, Complex a) {
    store(x + 2 * i * lanes, a.re);
    store(x + (2 * i + 1) * lanes, a.im);
}
SUBSALT_INLINE Complex operator+(Complex a, Complex b) {
    return {add(a.re, b.re), add(a.im, b.im)};
}
SUBSALT_INLINE Complex operator-(Complex a, Complex b) {
    return {sub(a.re, b.re), sub(a.im, b.im)};
}
/// a - i b and a + i b
SUBSALT_INLINE Complex minus_i(Complex a, Complex b) {
    return {add(a.re, b.im), sub(a.im, b.re)};
}
SUBSALT_INLINE Complex plus_i(Complex a, Complex b) {
    return {sub(a.re, b.im), add(a.im, b.re)};
}
/// a (w[0] + i w[1])
SUBSALT_INLINE Complex turn(Complex a, const float* w) {
    const Vec c = set1(w[0]), s = set1(w[1]);
    return {fms(a.re, c, mul(a.im, s)), fma(a.re, s, mul(a.im, c))};
}
/// a (w[0] - i w[1])
SUBSALT_INLINE Complex turn_back(Complex a, const float* w) {
    const Vec c = set1(w[0]), s = set1(w[1]);
    return {fma(a.re, c, mul(a.im, s)), fms(a.im, c, mul(a.re, s))};
}

/// sin(pi / 3)
constexpr float sin_third = 0.866025403784438647f;

/// One stage on `blocks` blocks of m points one after the other.
template <int radix, bool backward>
inline void stage(float* x, Index m, Index blocks, const float* turns) {
    const Index q = m / radix;
    for (Index b = 0; b < blocks; ++b, x += 2 * m * lanes) {
        const float* w = turns;
        for (Index k = 0; k < q; ++k, w += 2 * (radix - 1)) {
            Complex a[radix];
            for (int j = 0; j < radix; ++j) {
                a[j] = load_point(x, k + j * q);
                if (backward && j > 0 && q > 1) a[j] = turn_back(a[j], w + 2 * (j - 1));
            }
            Complex y[radix];
            if constexpr (radix == 2) {
                y[0] = a[0] + a[1];
                y[1] = a[0] - a[1];
            } else if constexpr (radix == 3) {
                const Complex t = a[1] + a[2], d = a[1] - a[2];
                const Vec half = set1(0.5f), s = set1(sin_third);
                const Complex m0{fnma(half, t.re, a[0].re), fnma(half, t.im, a[0].im)};
                const Complex turned{mul(s, d.re), mul(s, d.im)};
                y[0] = a[0] + t;
                y[1] = backward ? plus_i(m0, turned) : minus_i(m0, turned);
                y[2] = backward ? minus_i(m0, turned) : plus_i(m0, turned);
            } else {
                const Complex t0 = a[0] + a[2], t1 = a[0] - a[2], t2 = a[1] + a[3], t3 = a[1] - a[3];
                y[0] = t0 + t2;
                y[1] = backward ? plus_i(t1, t3) : minus_i(t1, t3);
                y[2] = t0 - t2;
                y[3] = backward ? minus_i(t1, t3) : plus_i(t1, t3);
            }
            for (int j = 0; j < radix; ++j) {
                if (!backward && j > 0 && q > 1) y[j] = turn(y[j], w + 2 * (j - 1));
                store_point(x, k + j * q, y[j]);
            }
        }
    }
}

template <bool backward>
inline void stage_of(const signal::FftPlan& plan, size_t s, float* x, Index m, Index blocks) {
    const float* turns = plan.turns[s].data();
    switch (plan.radix[s]) {
    case 2:
        return stage<2, backward>(x, m, blocks, turns);
    case 3:
        return stage<3, backward>(x, m, blocks, turns);
    default:
        return stage<4, backward>(x, m, blocks, turns);
    }
}

/// Points of a block that stays in the first cache: 16 KiB
constexpr Index cached_points = 2048 / lanes;

/// Transform the block of m points that stage `s` meets.
template <bool backward>
inline void transform(const signal::FftPlan& plan, float* x, Index m, size_t s = 0) {
    const size_t stages = plan.radix.size();
    if (s == stages) return;
    if (m <= cached_points) {
        Index blocks = 1;
        if (!backward) {
            for (Index size = m; s < stages; size /= plan.radix[s], blocks *= plan.radix[s], ++s)
                stage_of<false>(plan, s, x, size, blocks);
        } else {
            Index size = 1;
            blocks = m;
            for (size_t last = stages; last-- > s;) {
                size *= plan.radix[last];
                blocks /= plan.radix[last];
                stage_of<true>(plan, last, x, size, blocks);
            }
        }
        return;
    }
    const int r = plan.radix[s];
    if (!backward) stage_of<false>(plan, s, x, m, 1);
    for (int j = 0; j < r; ++j)
        transform<backward>(plan, x + 2 * j * (m / r) * lanes, m / r, s + 1);
    if (backward) stage_of<true>(plan, s, x, m, 1);
}

} // namespace subsalt::SUBSALT_NS
