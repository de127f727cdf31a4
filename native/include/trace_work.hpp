// A block of traces to be filtered and interpolated: what the bindings hand to native/kernels/trace_bands.hpp.
#pragma once

#include "problem.hpp"
#include "signal/fft_plan.hpp"

namespace subsalt {

/// Samples before and behind an interval's first one that its polynomial may take.
constexpr Index taps_before = 7, taps_after = 8;

struct TraceWork {
    const float* traces; // (n, nt)
    Index n, nt;
    const signal::FftPlan* plan; // nullptr: traces pass unfiltered, there is one band
    // (ceil(bands / 2), plan->n / 2 + 1, 4): what X_k and its conjugate are multiplied with to give two bands at once,
    // the second times i; with the 1/n of the transform
    const float* pairs;
    Index bands;
    int order;         // 1 or 4
    const float* taps; // order 4: (5, 8), of the samples behind the middle of an interval
    float* out;        // (n, bands, order + 1, row)
    Index row;         // at least nt, a multiple of 16
};

struct PrepareTable {
    void (*prepare)(const TraceWork&, int threads);
};

} // namespace subsalt
