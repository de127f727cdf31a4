// One linear map of traces through the frequency domain: interpolation, time dispersion, derivative, and their
// transpose.
//
//   C_k + i S_k = sum_n x[n] e^{-i v_k (t_n - t_mid)},          v_k  the angular frequency at which the input is read
//   a_k + i b_k = q_k (C_k + i S_k)
//   y[m] = Re sum_k (a_k + i b_k) e^{+i w_k (t'_m - t'_mid)},   w_k  the angular frequency of the output
//
// Times count from the middle of each axis, which lets samples fold: with e_n = x(+t) + x(-t) and o_n = x(-t) - x(+t),
//
//   C_k = sum e_n cos(v_k t_n),  S_k = sum o_n sin(v_k t_n),  y(+-t) = sum a_k cos(w_k t) -+ sum b_k sin(w_k t)
//
// so that half the samples do. The transpose is the same map with the axes exchanged and q conjugated.
//
// Every sum runs over n or k upwards in double precision, one sum per lane: the bits of a trace depend neither on the
// number of threads, nor on the vector width, nor on the traces beside it. Cost: (nt_in + nt_out) nk multiply-adds per
// trace; memory: 16 B per sample of both axes for 512 traces, and the tables of 32 frequencies.
#pragma once

#include <cstdint>

namespace subsalt::signal {

struct Side {
    int64_t nt;      // samples
    double dt;       // interval, s
    const double* w; // (nk) angular frequencies, rad/s, each |w| nt dt / 2 below 3e7
};

struct Spectrum {
    int64_t nk;           // frequencies
    const double* q_real; // (nk)
    const double* q_imag; // (nk)
};

// x (n, in.nt) -> y (n, out.nt), rows contiguous; T is float or double, everything between is double.
template <class T>
void map_traces(const T* x, T* y, int64_t n, Side in, Side out, Spectrum spectrum);

} // namespace subsalt::signal
