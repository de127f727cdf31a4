// Weighted sums of neighbouring samples, which interpolate traces, and their transpose:
//
//   y[i][j] = sum_k w[r][k] x[i][first[r] + s + k],   k = 0 ... taps - 1, zeros outside the record
//
// r = j, s = 0: weights by output sample, the same for all traces (another time axis);
// r = i, s = j: weights by trace, the same for all its samples (a shift).
//
// Eight partial sums, one for every eighth k upwards, added in pairs at the end; double precision between input and
// output, no contraction. The bits of a trace depend neither on threads and vector width nor on the traces beside it.
// Cost: taps multiply-adds per output sample.
#pragma once

#include <cstdint>

namespace subsalt::signal {

struct Taps {
    const double* w;      // (rows, taps)
    const int64_t* first; // (rows), from -taps to nt
    int64_t taps;         // a multiple of 8
    bool by_trace;        // rows are traces, else output samples
};

// x (n, nt) -> y (n, m); T is float or double.
template <class T>
void interpolate(const T* x, T* y, int64_t n, int64_t nt, int64_t m, const Taps& taps);

// The transpose for weights by output sample: y (n, m) -> x (n, nt), output samples added one after the other.
template <class T>
void spread(const T* y, T* x, int64_t n, int64_t nt, int64_t m, const Taps& taps);

} // namespace subsalt::signal
