// Kirchhoff time migration on the device: what one sample of an image trace asks of one trace, and what it reads there.
//
// Formulas, and the order of operations, are those of native/kernels/kirchhoff_sum.hpp, with a thread in the place of a
// lane. Where that file adds zeros for bands that only a neighbouring lane needs, nothing is added here: the same bits.
#pragma once

#include "device.hpp"

#define SUBSALT_NS cuda
#include "kirchhoff_pair.hpp"

namespace subsalt::cuda::migration {

/// A pair as the sum reads it, 48 bytes: samples [lo, hi) of the image are reached, from `open` on no mute fades them.
/// `slot`: image trace; lo == hi: nothing is reached.
struct alignas(16) Reached {
    Pair pair;
    int lo, hi, open, slot;
};
static_assert(sizeof(Reached) == 48);

/// The medium at one sample of the image. eta: only where there is one.
struct Below {
    float half2, slowness2, eta;
};

/// Both legs at one sample.
struct Legs {
    float src, rcv, both, product, squares;
    float src_p, rcv_p, src_q, rcv_q; // with eta only
};

/// -(a b) + c in one rounding.
SUBSALT_DEVICE float fnma1(float a, float b, float c) {
    return fma1(-a, b, c);
}

/// t^2 of one leg, and its derivatives by h^2 and q.
SUBSALT_DEVICE float square_of_leg(float x2, float s, float h2, float eta2, float& p, float& q) {
    const float square = x2 * s, wide = 1.0f + eta2;
    const float u = square / fma1(wide, square, h2);
    const float less = eta2 * u;
    p = fma1(less, u, 1.0f);
    q = fnma1(less, fnma1(wide, u, 2.0f), 1.0f);
    return fnma1(less, square, h2 + square);
}

template <bool with_eta>
SUBSALT_DEVICE Legs legs_at(const Pair& pair, const Below& at) {
    Legs l;
    float a, b;
    if constexpr (with_eta) {
        const float eta2 = at.eta + at.eta;
        a = square_of_leg(pair.src2, at.slowness2, at.half2, eta2, l.src_p, l.src_q);
        b = square_of_leg(pair.rcv2, at.slowness2, at.half2, eta2, l.rcv_p, l.rcv_q);
    } else {
        a = fma1(pair.src2, at.slowness2, at.half2);
        b = fma1(pair.rcv2, at.slowness2, at.half2);
    }
    l.src = sqrtf(a);
    l.rcv = sqrtf(b);
    l.both = l.src + l.rcv;
    l.squares = a + b;
    l.product = l.src * l.rcv;
    return l;
}

/// Raised cosine: 0 for u <= 0, 1 for u >= 1.
SUBSALT_DEVICE float taper(float u) {
    const float w = fminf(fmaxf(u, 0.0f), 1.0f) - 0.5f, w2 = w * w;
    float sine = fma1(0.0776576603f, w2, -0.5982912856f);
    sine = fma1(sine, w2, 2.5500775232f);
    sine = fma1(sine, w2, -5.1677100835f);
    sine = fma1(sine, w2, 3.1415926401f);
    const float inside = fmaxf(fma1(0.5f * w, sine, 0.5f), 0.0f);
    return 0.0f < u ? (u < 1.0f ? inside : 1.0f) : 0.0f;
}

/// How far a sample is from being muted, in parts of the taper of stretch and of dip: live above 0, whole from 1 on.
/// Few samples are near enough to ask, so that what only this needs is read here.
struct Room {
    float stretch, dip;
};

template <bool with_eta>
SUBSALT_DEVICE Room room_at(const KirchhoffMedium& m, const KirchhoffRules& rules, const Pair& pair, const Legs& l,
                            Index loc, int k) {
    Room room{1.0f, 1.0f};
    if (rules.has_stretch) {
        float sum = l.both;
        if constexpr (with_eta) sum = fma1(l.src_p, l.rcv, l.rcv_p * l.src);
        const float inverse_j = l.product / (__ldg(m.quarter + k) * sum);
        room.stretch = ((1.0f + rules.stretch_most) - inverse_j) * rules.stretch_scale;
    }
    if (rules.has_dip) {
        const float reach = fmaxf(__ldg(m.depth + loc * m.row + k) * rules.dip_slope, 1e-30f);
        room.dip = (1.0f - pair.midpoint / reach) * rules.dip_scale;
    }
    return room;
}

/// Weight of a sample of the trace, without the tapers that depend on the sample. `inverse`: 1 / (t_s t_r).
SUBSALT_DEVICE float weight_at(const KirchhoffRules& rules, const Pair& pair, const Legs& l, float inverse,
                               float factor) {
    if (rules.amplitude == Amplitude::none) return pair.weight;
    const float sum = l.both * inverse, squares = l.squares * inverse;
    const float shape = rules.amplitude == Amplitude::three ? sum * squares : sqrtf(sum) * squares;
    return pair.weight * (factor * shape);
}

/// m: the larger of |dt/dx_m| spacing along the two axes, times t_s t_r / s.
template <bool with_eta>
SUBSALT_DEVICE float steepness(const Pair& pair, const Legs& l) {
    float to_rcv = l.rcv, to_src = l.src;
    if constexpr (with_eta) {
        to_rcv = l.src_q * l.rcv;
        to_src = l.rcv_q * l.src;
    }
    const float along = fabsf(fma1(pair.src[0], to_rcv, pair.rcv[0] * to_src));
    const float across = fabsf(fma1(pair.src[1], to_rcv, pair.rcv[1] * to_src));
    return fmaxf(along, across);
}

/// Shortest and longest half-length of the triangle, samples.
constexpr float least_half = 0.05f, most_half = 1e6f;

/// Where a trace is read: its rows of coefficients for band 0, and the sizes that all traces of a block share.
struct Trace {
    const float* samples;
    const double *integrals, *slopes;
    int order;
    unsigned stride, band; // floats from one coefficient to the next, from one band to the next
};

/// Behind which sample a position lies, and how far.
struct Window {
    unsigned at;
    float fraction;

    SUBSALT_DEVICE explicit Window(float position) {
        at = static_cast<unsigned>(static_cast<int>(position));
        fraction = position - static_cast<float>(static_cast<int>(at));
    }
};

/// The polynomial through a band of a trace. `fixed`: its order, 0 when known at run time only.
template <int fixed>
SUBSALT_DEVICE float value_of(const Trace& trace, unsigned band, const Window& window) {
    const float *table = trace.samples, f = window.fraction;
    const unsigned at = band * trace.band + window.at, stride = trace.stride;
    const auto c = [&](unsigned k) { return __ldg(table + k * stride + at); };
    if constexpr (fixed == 1) {
        return fma1(c(1), f, c(0));
    } else if constexpr (fixed == 4) {
        const float f2 = f * f;
        return fma1(fma1(c(4), f2, fma1(c(3), f, c(2))), f2, fma1(c(1), f, c(0)));
    } else {
        float value = c(static_cast<unsigned>(trace.order));
        for (int k = trace.order - 1; k >= 0; --k)
            value = fma1(value, f, c(static_cast<unsigned>(k)));
        return value;
    }
}

/// The trace at the window, low-passed at the band coordinate b in [0, bands - 1]: band floor(b) counts 1 - t and the
/// next one t, t = b - floor(b). Where t is 0, as in band 0, in which most samples lie, one band is read.
template <int fixed, Antialias antialias>
SUBSALT_DEVICE float banded(const Trace& trace, float b, const Window& window) {
    if constexpr (antialias == Antialias::none) return value_of<fixed>(trace, 0u, window);
    const int under = static_cast<int>(b);
    const float t = b - static_cast<float>(under);
    float value = value_of<fixed>(trace, static_cast<unsigned>(under), window);
    if constexpr (antialias == Antialias::interpolate) {
        if (t > 0.0f)
            value = fma1(t, value_of<fixed>(trace, static_cast<unsigned>(under) + 1u, window), (1.0f - t) * value);
    }
    return value + 0.0f; // no negative zero
}

/// A twice integrated trace at a position: nothing before the trace, a straight line behind. See Integral::at.
template <int fixed>
SUBSALT_DEVICE double integral_at(const Trace& trace, double position) {
    if (position <= 0.0) return 0.0;
    const int last = static_cast<int>(trace.stride) - 1, n = fixed > 0 ? fixed : trace.order;
    const int i = position >= static_cast<double>(last) ? last - 1 : static_cast<int>(position);
    const double f = position - static_cast<double>(i);
    double sum = 0.0;
    for (int k = n; k >= 0; --k) {
        const double c = static_cast<double>(__ldg(trace.samples + static_cast<unsigned>(k) * trace.stride + i));
        sum = sum * f + c * (1.0 / static_cast<double>((k + 1) * (k + 2)));
    }
    return __ldg(trace.integrals + i) + f * (__ldg(trace.slopes + i) + f * sum);
}

/// The trace averaged by a triangle of half-length `half` samples, in double precision.
template <int fixed>
SUBSALT_DEVICE float triangle(const Trace& trace, float position, float half) {
    const double p = position, w = half;
    const double sides = integral_at<fixed>(trace, p - w) + integral_at<fixed>(trace, p + w);
    return static_cast<float>((sides - 2.0 * integral_at<fixed>(trace, p)) / (w * w));
}

} // namespace subsalt::cuda::migration
