// The operator of Kirchhoff time migration at one sample of an image trace, written once for the CPU and the GPU: legs,
// weight, slope, mutes, and the polynomials that traces are read by. kernels/kirchhoff_sum.hpp has the equations.
//
// Beside what formulas.hpp asks of a number: root, ratio (a quotient that is never near the ends of the range of
// numbers), least, most, magnitude, and where_below(x, y, a, b), which is a where x < y, else b.
#pragma once

#include "kirchhoff_pair.hpp"

namespace subsalt::SUBSALT_NS::migration {

/// Both legs, in sample intervals of the trace.
template <class N>
struct Legs {
    N src, rcv, both, product, squares;
    N src_p, rcv_p, src_q, rcv_q; // with eta only
    N down;                       // h_s + h_r, below a surface only
};

/// t^2 of one leg, and its derivatives by h^2 and q.
template <class N>
SUBSALT_FORMULA N square_of_leg(N x2, N s, N h2, N eta2, N& p, N& q) {
    const N one = of<N>(1.0f), square = mul(x2, s), wide = add(one, eta2);
    const N u = ratio(square, fma(wide, square, h2));
    const N less = mul(eta2, u);
    p = fma(less, u, one);
    q = fnma(less, fnma(wide, u, of<N>(2.0f)), one);
    return fnma(less, square, add(h2, square));
}

/// `src2`, `rcv2`: squared horizontal legs; s = 1 / v^2, h2 = (t0 / 2)^2. eta is not looked at without `with_eta`.
template <bool with_eta, class N>
SUBSALT_FORMULA Legs<N> legs_of(N src2, N rcv2, N s, N h2, [[maybe_unused]] N eta) {
    Legs<N> l;
    N a, b;
    if constexpr (with_eta) {
        const N eta2 = add(eta, eta);
        a = square_of_leg(src2, s, h2, eta2, l.src_p, l.src_q);
        b = square_of_leg(rcv2, s, h2, eta2, l.rcv_p, l.rcv_q);
    } else {
        a = fma(src2, s, h2);
        b = fma(rcv2, s, h2);
    }
    l.src = root(a);
    l.rcv = root(b);
    l.both = add(l.src, l.rcv);
    l.squares = add(a, b);
    l.product = mul(l.src, l.rcv);
    return l;
}

/// Legs from the heights of source and receiver: h becomes h + raise, which is above zero where the sample lies below
/// both. Elsewhere no traveltime comes out, but a time before every trace. P comes multiplied by h, as the stretch
/// wants it: J = (P_s h_s / t_s + P_r h_r / t_r) / 2.
template <class N>
SUBSALT_FORMULA Legs<N> legs_below(N src2, N rcv2, N s, N half, N src_raise, N rcv_raise, N eta) {
    Legs<N> l;
    const N floor = of<N>(1e-4f), eta2 = add(eta, eta);
    const N src_h = add(half, src_raise), rcv_h = add(half, rcv_raise);
    const N src_down = most(src_h, floor), rcv_down = most(rcv_h, floor);
    const N a = square_of_leg(src2, s, mul(src_down, src_down), eta2, l.src_p, l.src_q);
    const N b = square_of_leg(rcv2, s, mul(rcv_down, rcv_down), eta2, l.rcv_p, l.rcv_q);
    l.src_p = mul(l.src_p, src_down);
    l.rcv_p = mul(l.rcv_p, rcv_down);
    l.src = root(a);
    l.rcv = root(b);
    l.both = where_below(of<N>(0.0f), least(src_h, rcv_h), add(l.src, l.rcv), of<N>(-1e30f));
    l.squares = add(a, b);
    l.product = mul(l.src, l.rcv);
    l.down = add(src_down, rcv_down);
    return l;
}

/// Raised cosine: 0 for u <= 0, 1 for u >= 1, between them 1/2 + sin(pi (u - 1/2)) / 2 to 4e-8.
template <class N>
SUBSALT_FORMULA N taper(N u) {
    const N zero = of<N>(0.0f), one = of<N>(1.0f), half = of<N>(0.5f);
    const N w = sub(least(most(u, zero), one), half), w2 = mul(w, w);
    N sine = fma(of<N>(0.0776576603f), w2, of<N>(-0.5982912856f));
    sine = fma(sine, w2, of<N>(2.5500775232f));
    sine = fma(sine, w2, of<N>(-5.1677100835f));
    sine = fma(sine, w2, of<N>(3.1415926401f));
    const N inside = most(fma(mul(half, w), sine, half), zero);
    return where_below(zero, u, where_below(u, one, inside, one), zero);
}

/// How far a sample is from being muted by its stretch 1 / J = t_s t_r / ((t0 / 4) (P_s t_r + P_r t_s)), in parts of
/// the taper: live above 0, whole from 1 on.
template <bool with_eta, class N>
SUBSALT_FORMULA N room_of_stretch(const KirchhoffRules& rules, const Legs<N>& l, N quarter) {
    N sum = l.both;
    if constexpr (with_eta) sum = fma(l.src_p, l.rcv, mul(l.rcv_p, l.src));
    const N inverse_j = ratio(l.product, mul(quarter, sum));
    return mul(sub(of<N>(1.0f + rules.stretch_most), inverse_j), of<N>(rules.stretch_scale));
}

/// The same by its dip. A trace right above the location asks for no dip, also at t0 = 0.
template <class N>
SUBSALT_FORMULA N room_of_dip(const KirchhoffRules& rules, float midpoint, N depth) {
    const N reach = most(mul(depth, of<N>(rules.dip_slope)), of<N>(1e-30f));
    return mul(sub(of<N>(1.0f), ratio(of<N>(midpoint), reach)), of<N>(rules.dip_scale));
}

/// What a sample of the trace counts, without the tapers that depend on the sample. `inverse`: 1 / (t_s t_r).
template <class N>
SUBSALT_FORMULA N weight_of(Amplitude amplitude, N trace, const Legs<N>& l, N inverse, N factor) {
    const N sum = mul(l.both, inverse), squares = mul(l.squares, inverse);
    const N shape = amplitude == Amplitude::three ? mul(sum, squares) : mul(root(sum), squares);
    return mul(trace, mul(factor, shape));
}

/// m: the larger of |dt/dx_m| spacing along the two axes, times t_s t_r / s. `src`, `rcv`: legs along the axes.
template <bool with_eta, class N>
SUBSALT_FORMULA N steepness(const N (&src)[2], const N (&rcv)[2], const Legs<N>& l) {
    N to_rcv = l.rcv, to_src = l.src;
    if constexpr (with_eta) {
        to_rcv = mul(l.src_q, l.rcv);
        to_src = mul(l.rcv_q, l.src);
    }
    const N along = magnitude(fma(src[0], to_rcv, mul(rcv[0], to_src)));
    const N across = magnitude(fma(src[1], to_rcv, mul(rcv[1], to_src)));
    return most(along, across);
}

/// The polynomial of order 1 or 4 with the coefficients c(k) at f; that of order 4 in two chains, half as long as one.
template <int order, class N, class Coefficient>
SUBSALT_FORMULA N polynomial(Coefficient c, N f) {
    static_assert(order == 1 || order == 4);
    if constexpr (order == 1) return fma(c(1), f, c(0));
    const N f2 = mul(f, f);
    return fma(fma(c(4), f2, fma(c(3), f, c(2))), f2, fma(c(1), f, c(0)));
}

/// Shortest half-length of the triangle, samples: it leaves 0.999 at 0.7 of Nyquist, and S its digits.
constexpr float least_half = 0.05f;
/// Longest: beyond it nothing is left of any trace.
constexpr float most_half = 1e6f;

} // namespace subsalt::SUBSALT_NS::migration
