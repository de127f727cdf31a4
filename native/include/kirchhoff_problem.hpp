// What the sum of Kirchhoff migration receives: plain structs without code, for every instruction set.
//
// Times are in sample intervals of the traces, so that a traveltime is a position in a trace; lengths are in metres.
#pragma once

#include <cstdint>

#include "problem.hpp"

namespace subsalt {

constexpr Index kirchhoff_pad = 32;   // samples behind the last of a prepared trace: two of the longest vectors
constexpr Index kirchhoff_block = 16; // samples of the image per entry of `up` and `down`

enum class Amplitude : int { none = 0, two_and_half = 1, three = 2 };
enum class Antialias : int { none = 0, interpolate = 1, nearest = 2, triangle = 3 };

/// Velocities below the locations, rows of `row` samples (a multiple of 16, the last velocity repeated).
struct KirchhoffMedium {
    Index nloc, nt, row, blocks; // blocks = row / 16
    const float* half2;          // (row): (t0 / 2)^2, at least 1e-8
    const float* quarter;        // (row): t0 / 4
    const float* slowness2;      // (nloc, row): 1 / v^2, intervals^2 / m^2
    const float* factor;         // (nloc or 1, row): t0 / v (3-D), sqrt(2 pi dt) t0 / dt (2.5-D), 1; below a surface
                                 // the same without t0
    Index factor_step;           // row, or 0 where all locations share one
    const float* depth;          // (nloc, row): v t0 / 2, m; null without a dip limit
    const float* eta;            // (nloc, row) or null
    const float* up;             // (nloc, blocks): the largest v t0 / 2 of the blocks up to this one
    const float* down;           // (nloc, blocks): the smallest of this block and those below
    const float* bounds;         // (nloc, 4): scale of x^2 and least J for any sample to live, the same for no taper
    const double* datum;         // (nloc): height of time zero in one-way time; null: everything lies on one plane
};

/// A block of prepared traces.
struct KirchhoffTraces {
    Index n, bands, order, ns, ns_pad;
    const float* samples;    // (n, bands, order + 1, ns_pad)
    const double* integrals; // (n, ns_pad): the traces twice integrated, triangle only
    const double* slopes;    // (n, ns_pad): once integrated, at the samples
    float first;             // time of sample 0 in intervals
    const double *src, *rcv; // (n, 2)
    const float* weight;     // (n)
    const int32_t *slot, *group;
    const double* height; // (n, 2): of source and receiver in one-way time, below a surface only
    const float* late;    // (n): by how much the trace comes later than from these heights
};

/// What is summed.
struct KirchhoffRules {
    Amplitude amplitude;
    Antialias antialias;
    double axes[2][2], spacing[2];
    bool has_aperture, has_dip, has_stretch;
    double aperture, aperture_scale; // m; 1 / taper
    float dip_slope, dip_scale;      // tan of the dip; 1 / taper
    double dip_full;                 // tan of the dip times (1 - taper)
    float stretch_most, stretch_scale;
};

/// Where the sum goes.
struct KirchhoffImage {
    const double* points; // (nloc, 2)
    float* image;         // (nloc, nclass, nt)
    int32_t *hits, *fold; // (nloc, nt + 1), (nloc, ngroup)
    Index nclass, ngroup;
};

} // namespace subsalt
