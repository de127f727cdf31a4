// Kirchhoff time migration on the device: what one sample of an image trace asks of one trace, and what it reads there.
//
// Formulas, and the order of operations, are those of native/kernels/kirchhoff_sum.hpp, with a thread in the place of a
// lane. Where that file adds zeros for bands that only a neighbouring lane needs, nothing is added here: the same bits.
#pragma once

#include "numbers.cuh" // before what is compiled into its namespace

#include "kirchhoff_pair.hpp"
#include "kirchhoff_sum.hpp"

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
    float half2, slowness2, eta = 0.0f;
};

// Roots and quotients, rounded correctly. What the compiler makes of sqrtf and / tests for operands near the ends of
// the range of numbers and branches, which keeps it from overlapping anything and costs a quarter of the sum. Here
// squares of times are at least 1e-8 (h^2) and at most 1e35, so that what it does for all other operands is right
// without the test. It is written out: an approximation of the hardware and one correction, the same for sm_80 to
// sm_120. Of all 2^24 mantissas, with any approximation within the error that PTX allows, two roots and one inverse
// could be wrong by the last bit, were the hardware at its worst just there, and one of the 2^22 quotients nearest to
// the middle of two numbers; for roots and inverses the compiler relies on the same.
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

SUBSALT_DEVICE float root(float a) {
    return corrected_root(a, approximate_inverse_root(a));
}
SUBSALT_DEVICE float inverse_of(float a) {
    return corrected_inverse(a, approximate_inverse(a));
}
SUBSALT_DEVICE float ratio(float a, float b) {
    return corrected_ratio(a, b, approximate_inverse(b));
}

SUBSALT_DEVICE float least(float a, float b) {
    return fminf(a, b);
}
SUBSALT_DEVICE float most(float a, float b) {
    return fmaxf(a, b);
}
SUBSALT_DEVICE float magnitude(float a) {
    return fabsf(a);
}
SUBSALT_DEVICE float where_below(float x, float y, float a, float b) {
    return x < y ? a : b;
}

} // namespace subsalt::cuda::migration

#include "kirchhoff_formulas.hpp"

namespace subsalt::cuda::migration {

template <bool with_eta>
SUBSALT_DEVICE Legs<float> legs_at(const Pair& pair, const Below& at) {
    return legs_of<with_eta>(pair.src2, pair.rcv2, at.slowness2, at.half2, at.eta);
}

/// How far a sample is from being muted, in parts of the taper of stretch and of dip: live above 0, whole from 1 on. At
/// t0 = 0, where the stretch has no bound, it is no number, which is not above 0 either. Few samples are near enough to
/// ask, so that what only this needs is read here: `quarter`, `depth` of the medium.
struct Room {
    float stretch, dip;
};

template <bool with_eta>
SUBSALT_DEVICE Room room_at(const KirchhoffRules& rules, const Pair& pair, const Legs<float>& l, const float* quarter,
                            const float* depth) {
    Room room{1.0f, 1.0f};
    if (rules.has_stretch) room.stretch = room_of_stretch<with_eta>(rules, l, __ldg(quarter));
    if (rules.has_dip) room.dip = room_of_dip(rules, pair.midpoint, __ldg(depth));
    return room;
}

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
    return polynomial<fixed>([c](int k) { return __ldg(c + k * together); }, f);
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
