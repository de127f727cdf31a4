// Kirchhoff time migration on the device: what one sample of an image trace asks of one trace, and what it reads there.
//
// Formulas, and the order of operations, are those of native/kernels/kirchhoff_sum.hpp, with a thread in the place of a
// lane. Where that file adds zeros for bands that only a neighbouring lane needs, nothing is added here: the same bits.
#pragma once

#include "kirchhoff_sum.hpp"

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

// Roots and quotients, rounded correctly. What the compiler makes of sqrtf and / tests for operands near the ends of
// the range of numbers and branches, which keeps it from overlapping anything and costs a quarter of the sum. Here
// squares of times are at least 1e-8 (h^2) and at most 1e35, so that what it does for all other operands is right
// without the test. It is written out: an approximation of the hardware and one correction, the same for sm_80 to
// sm_120. Of all 2^24 mantissas, with any approximation within the error that PTX allows, two roots and one inverse
// could be wrong by the last bit, were the hardware at its worst just there; the compiler relies on the same.
//
// The correction of an approximation of 1 / sqrt(a), or of 1 / b:
SUBSALT_DEVICE float corrected_root(float a, float inverse_root) {
    const float near = a * inverse_root, rest = fma1(-near, near, a);
    return fma1(rest, inverse_root * 0.5f, near);
}
SUBSALT_DEVICE float corrected_inverse(float b, float inverse) {
    return fma1(inverse, fma1(-b, inverse, 1.0f), inverse);
}
SUBSALT_DEVICE float corrected_ratio(float a, float b, float inverse) {
    const float y = corrected_inverse(b, inverse), near = a * y;
    return fma1(y, fma1(-b, near, a), near);
}

#if defined(SUBSALT_EMULATED)
using emulation::approximate_inverse;
using emulation::approximate_inverse_root;
#else
SUBSALT_DEVICE float approximate_inverse_root(float a) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
}
SUBSALT_DEVICE float approximate_inverse(float a) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
}
#endif

SUBSALT_DEVICE float root_of(float a) {
    return corrected_root(a, approximate_inverse_root(a));
}
SUBSALT_DEVICE float inverse_of(float a) {
    return corrected_inverse(a, approximate_inverse(a));
}
SUBSALT_DEVICE float ratio_of(float a, float b) {
    return corrected_ratio(a, b, approximate_inverse(b));
}

/// -(a b) + c in one rounding.
SUBSALT_DEVICE float fnma1(float a, float b, float c) {
    return fma1(-a, b, c);
}

/// t^2 of one leg, and its derivatives by h^2 and q.
SUBSALT_DEVICE float square_of_leg(float x2, float s, float h2, float eta2, float& p, float& q) {
    const float square = x2 * s, wide = 1.0f + eta2;
    const float u = ratio_of(square, fma1(wide, square, h2));
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
    l.src = root_of(a);
    l.rcv = root_of(b);
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

/// How far a sample is from being muted, in parts of the taper of stretch and of dip: live above 0, whole from 1 on. At
/// t0 = 0, where the stretch has no bound, it is no number, which is not above 0 either. Few samples are near enough to
/// ask, so that what only this needs is read here: `quarter`, `depth` of the medium.
struct Room {
    float stretch, dip;
};

template <bool with_eta>
SUBSALT_DEVICE Room room_at(const KirchhoffRules& rules, const Pair& pair, const Legs& l, const float* quarter,
                            const float* depth) {
    Room room{1.0f, 1.0f};
    if (rules.has_stretch) {
        float sum = l.both;
        if constexpr (with_eta) sum = fma1(l.src_p, l.rcv, l.rcv_p * l.src);
        const float inverse_j = ratio_of(l.product, __ldg(quarter) * sum);
        room.stretch = ((1.0f + rules.stretch_most) - inverse_j) * rules.stretch_scale;
    }
    if (rules.has_dip) {
        const float reach = fmaxf(__ldg(depth) * rules.dip_slope, 1e-30f);
        room.dip = (1.0f - ratio_of(pair.midpoint, reach)) * rules.dip_scale;
    }
    return room;
}

/// Weight of a sample of the trace, without the tapers that depend on the sample. `inverse`: 1 / (t_s t_r).
SUBSALT_DEVICE float weight_at(const KirchhoffRules& rules, const Pair& pair, const Legs& l, float inverse,
                               float factor) {
    if (rules.amplitude == Amplitude::none) return pair.weight;
    const float sum = l.both * inverse, squares = l.squares * inverse;
    const float shape = rules.amplitude == Amplitude::three ? sum * squares : root_of(sum) * squares;
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

/// Where a trace is read, arranged as kirchhoff_arrange.cu says.
struct Trace {
    const float* samples;
    const double *integrals, *slopes;
    int ns_pad;
    unsigned band; // floats from one band to the next
};

/// Place of a sample in a band. `fixed`: order of the polynomials.
template <int fixed>
SUBSALT_DEVICE unsigned place_of(unsigned sample) {
    return sample + sample / together * (fixed * together);
}

/// Behind which sample a position lies, and how far.
struct Window {
    unsigned at;
    float fraction;

    SUBSALT_DEVICE explicit Window(float position) {
        const int i = static_cast<int>(position);
        at = static_cast<unsigned>(i);
        fraction = position - static_cast<float>(i);
    }
};

/// The polynomial whose coefficients begin at `c`.
template <int fixed>
SUBSALT_DEVICE float value_of(const float* c, float f) {
    static_assert(fixed == 1 || fixed == 4);
    const float c0 = __ldg(c), c1 = __ldg(c + together);
    if constexpr (fixed == 1) return fma1(c1, f, c0);
    const float c2 = __ldg(c + 2 * together), c3 = __ldg(c + 3 * together), c4 = __ldg(c + 4 * together);
    const float f2 = f * f;
    return fma1(fma1(c4, f2, fma1(c3, f, c2)), f2, fma1(c1, f, c0));
}

/// The trace at the window, low-passed at the band coordinate b in [0, bands - 1]: band floor(b) counts 1 - t and the
/// next one t, t = b - floor(b). Where t is 0, as in band 0, in which most samples lie, one band is read.
template <int fixed, Antialias antialias>
SUBSALT_DEVICE float banded(const Trace& trace, float b, const Window& window) {
    const unsigned at = place_of<fixed>(window.at);
    if constexpr (antialias == Antialias::none) return value_of<fixed>(trace.samples + at, window.fraction);
    const int under = static_cast<int>(b);
    const float t = b - static_cast<float>(under);
    const float* const c = trace.samples + (static_cast<unsigned>(under) * trace.band + at);
    float value = value_of<fixed>(c, window.fraction);
    if constexpr (antialias == Antialias::interpolate) {
        if (t > 0.0f) value = fma1(t, value_of<fixed>(c + trace.band, window.fraction), (1.0f - t) * value);
    }
    return value + 0.0f; // no negative zero
}

/// A twice integrated trace at a position: nothing before the trace, a straight line behind. See Integral::at.
template <int fixed>
SUBSALT_DEVICE double integral_at(const Trace& trace, double position) {
    if (position <= 0.0) return 0.0;
    const int last = trace.ns_pad - 1;
    const int i = position >= static_cast<double>(last) ? last - 1 : static_cast<int>(position);
    const double f = position - static_cast<double>(i);
    double sum = 0.0;
    const float* const coefficients = trace.samples + place_of<fixed>(static_cast<unsigned>(i));
#pragma unroll
    for (int k = fixed; k >= 0; --k) {
        const double c = static_cast<double>(__ldg(coefficients + k * together));
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
