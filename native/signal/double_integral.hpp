// The double integral of traces that are polynomials between their samples, at the samples, in steps of 1.
//
//   D_{i+1} = D_i + sum_k c_k[i] / (k + 1)                       the integral
//   S_{i+1} = S_i + D_i + sum_k c_k[i] / ((k + 1)(k + 2))        the double integral,  S_0 = D_0 = 0
//
// In double precision, i and k upwards, products and sums rounded one by one: the same bits everywhere.
#pragma once

#include <cstdint>

namespace subsalt::signal {

/// samples: n traces of `order` + 1 rows of `row` coefficients, `stride` floats apart -> out (n, row).
void double_integral(const float* samples, double* out, int64_t n, int64_t stride, int order, int64_t row, int threads);

} // namespace subsalt::signal
