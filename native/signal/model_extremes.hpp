// Extremes of an earth model: what its validity, time step and wavelengths depend on, found in one pass over values
// that stay in a cache. Smallest and largest do not depend on the order in which values are looked at, and every
// operation is rounded by itself: the same bits on every processor, for any number of threads and any cut of a model.
#pragma once

#include <cstdint>

namespace subsalt::signal {

// The finite ones of some values; low = inf and high = -inf where there is none.
struct Finite {
    float low, high;
    int64_t bad;       // values that are not finite
    int64_t first_bad; // -1: none
};

Finite finite_range(const float* values, int64_t n);

// Columns along z of a model; epsilon and delta both or none.
struct Columns {
    const float* vp;
    const float* epsilon;
    const float* delta;
    int64_t columns, nz;
    bool tilted; // the largest eigenvalue is that of the tilted scheme
};

// By depth, nz numbers each.
struct ByDepth {
    double* slowest;    // smallest phase velocity
    double* fastest;    // largest velocity in any direction
    double* eigenvalue; // largest eigenvalue of -C L
};

struct Over {
    int64_t count, first; // columns' values with delta > epsilon, and the first of them; -1: none
};

// With along = S (1/dx^2 + 1/dy^2) and down[z] the largest eigenvalue of -d2/dz2 at that depth.
Over wave_extremes(const Columns& model, double along, const double* down, const ByDepth& out);

} // namespace subsalt::signal
