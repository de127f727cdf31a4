// Convolution of traces with one filter, linear, zeros outside the record:
//
//   y[m] = sum_j h[j] x[m - first - j],   0 <= m < nt,   j = 0 ... taps - 1
//
// by discrete Fourier transforms of N = 2^a points, N >= nt + the largest |lag|, so that nothing wraps around into the
// record. A real trace of N samples is one complex sequence of N/2 (even samples real, odd ones imaginary; Cooley,
// Lewis & Welch 1970), transformed by the autosort algorithm of radix 2 (Stockham; Swarztrauber 1982).
//
// Everything between input and output is double precision: a direct wave that is 10^5 times stronger than what follows
// leaves no rounding noise there that float32 would show. Eight traces side by side, each in its own lane, no
// contraction: the bits of a trace depend neither on threads and vector width nor on the traces beside it.
//
// Cost per trace: about 10 N log2(N) operations. Memory of a thread: 256 N bytes.
#pragma once

#include <cstdint>

namespace subsalt::signal {

struct Filter {
    const double* h; // (taps)
    int64_t taps;    // 1 or more
    int64_t first;   // lag of h[0], samples; |first| and |first + taps - 1| below nt
};

// x (n, nt) -> y (n, nt), rows contiguous; T is float or double. x and y may be the same array.
template <class T>
void convolve(const T* x, T* y, int64_t n, int64_t nt, const Filter& filter, int threads);

} // namespace subsalt::signal
