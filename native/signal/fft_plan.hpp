// The stages of a discrete Fourier transform of 2^a 3^b points: radices, factors, and where each frequency ends up.
//
//   X_k = sum_j x_j e^{-2 pi i j k / n}
//
// Decimation in frequency, in place: a stage of radix r on n points leaves r blocks of n / r points; block j holds the
// frequencies k = j, j + r, ... Stages: one of 3 where 3 divides n, then of 4, then one of 2 where one is left. The
// order of operations is thus a function of n alone.
#pragma once

#include <cstdint>
#include <vector>

namespace subsalt::signal {

struct FftPlan {
    int64_t n;
    std::vector<int> radix; // of every stage, of the whole first
    // per stage on m points, for k = 0 ... m / r - 1: cos, sin of -2 pi k j / m, j = 1 ... r - 1
    std::vector<std::vector<float>> turns;
    std::vector<int64_t> place; // of frequency k after the last stage

    /// Throws std::invalid_argument unless n = 2^a or 3 2^a, n >= 2.
    explicit FftPlan(int64_t n);
};

/// The smallest n = 2^a or 3 2^a that is at least `least` and 2.
int64_t fft_size(int64_t least);

} // namespace subsalt::signal
