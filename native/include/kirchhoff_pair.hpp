// What belongs to one trace at one location: legs, taper of the aperture, and the depths between which mutes fade.
//
// Plain C++ without vectors, compiled for every instruction set and for the device: one order of operations for both.
// Differences of positions are taken in double precision.
#pragma once

#include <cmath>

#include "kirchhoff_problem.hpp"

#if defined(__CUDACC__)
#define SUBSALT_EVERYWHERE __host__ __device__ __forceinline__
#else
#define SUBSALT_EVERYWHERE inline __attribute__((always_inline))
#endif

namespace subsalt::SUBSALT_NS::migration {

/// What belongs to one trace at one location.
struct Pair {
    float src2, rcv2;       // squared horizontal legs, m^2
    float src[2], rcv[2];   // legs along the axes times antialias spacing, m^2
    float midpoint, weight; // |x_m|, m; of the trace with its aperture taper
};

/// Heights of source and receiver above time zero of a location, in one-way time; zero on a plane.
struct Raise {
    float src = 0.0f, rcv = 0.0f;
};

/// Depths v t0 / 2 above which all of a trace is muted, and below which nothing is.
struct MuteDepths {
    float muted, whole;
};

/// Raised cosine in double precision, for what belongs to a pair and not to a sample.
SUBSALT_EVERYWHERE double taper_of(double u) {
    if (u <= 0.0) return 0.0;
    if (u >= 1.0) return 1.0;
    const double w = u - 0.5, w2 = w * w;
    const double sine =
        3.1415926401 + w2 * (-5.1677100835 + w2 * (2.5500775232 + w2 * (-0.5982912856 + w2 * 0.0776576603)));
    return 0.5 + 0.5 * w * sine;
}

/// The depth above which 2 J = 1 / sqrt(1 + a / depth^2) + 1 / sqrt(1 + b / depth^2) is below 2 c for certain, and the
/// one below which it is above. `a`, `b`: squared legs; 0 < c < 1.
struct StretchDepths {
    float below, above;

    SUBSALT_EVERYWHERE StretchDepths(float a, float b, float c) {
        // in w = 1 / depth^2 the sum f is convex and falls; its root lies between that of the mean leg (Jensen) and the
        // chord from there to a place where either leg alone rules it out
        const float narrow = a < b ? a : b, wide = a < b ? b : a, mean = 0.5f * (a + b);
        const float most_w = 1.0f / (c * c) - 1.0f, other = 2.0f * c - 1.0f;
        if (wide <= 1e-12f) {
            below = above = 0.0f;
            return;
        }
        const float left = most_w / mean;
        float right = narrow > 1e-6f * wide ? most_w / narrow : most_w / (1e-6f * wide);
        if (other > 0.0f) {
            const float by_other = (1.0f / (other * other) - 1.0f) / wide;
            right = by_other < right ? by_other : right;
        }
        const float f_left = sum(a, b, left) - 2.0f * c, f_right = sum(a, b, right) - 2.0f * c;
        float root = right;
        if (f_left > 0.0f && f_right < 0.0f) root = left + (right - left) * f_left / (f_left - f_right);
        below = 0.999f / std::sqrt(root);
        above = 1.001f / std::sqrt(left);
    }

private:
    SUBSALT_EVERYWHERE static float sum(float a, float b, float w) {
        return 1.0f / std::sqrt(1.0f + a * w) + 1.0f / std::sqrt(1.0f + b * w);
    }
};

/// Fill the pair of a trace and the location at `point`; returns whether it lies within the aperture.
SUBSALT_EVERYWHERE bool pair_at(const double* point, const double* src, const double* rcv, float weight,
                                const KirchhoffRules& rules, Pair& pair) {
    const double sx = point[0] - src[0], sy = point[1] - src[1];
    const double rx = point[0] - rcv[0], ry = point[1] - rcv[1];
    const double mx = 0.5 * (sx + rx), my = 0.5 * (sy + ry);
    const double midpoint = std::sqrt(mx * mx + my * my);
    double fade = 1.0;
    if (rules.has_aperture) fade = taper_of((1.0 - midpoint / rules.aperture) * rules.aperture_scale);
    if (!(fade > 0.0)) return false;
    pair.src2 = static_cast<float>(sx * sx + sy * sy);
    pair.rcv2 = static_cast<float>(rx * rx + ry * ry);
    for (int a = 0; a < 2; ++a) {
        pair.src[a] = static_cast<float>((sx * rules.axes[a][0] + sy * rules.axes[a][1]) * rules.spacing[a]);
        pair.rcv[a] = static_cast<float>((rx * rules.axes[a][0] + ry * rules.axes[a][1]) * rules.spacing[a]);
    }
    pair.midpoint = static_cast<float>(midpoint);
    pair.weight = static_cast<float>(static_cast<double>(weight) * fade);
    return true;
}

/// Where the mutes of a pair begin and end; `bound`: the row of the location in KirchhoffMedium::bounds.
SUBSALT_EVERYWHERE MuteDepths mutes_of(const Pair& pair, const KirchhoffRules& rules, const float* bound) {
    MuteDepths depths{-1.0f, -1.0f};
    if (rules.has_stretch) {
        const StretchDepths live(bound[0] * pair.src2, bound[0] * pair.rcv2, bound[1]);
        depths.muted = live.below;
        depths.whole = __builtin_inff();
        if (bound[3] < 1.0f) depths.whole = StretchDepths(bound[2] * pair.src2, bound[2] * pair.rcv2, bound[3]).above;
    }
    if (rules.has_dip) {
        const float live = 0.999f * pair.midpoint / rules.dip_slope;
        const float whole = 1.001f * static_cast<float>(pair.midpoint / rules.dip_full);
        depths.muted = live > depths.muted ? live : depths.muted;
        depths.whole = whole > depths.whole ? whole : depths.whole;
    }
    return depths;
}

} // namespace subsalt::SUBSALT_NS::migration
