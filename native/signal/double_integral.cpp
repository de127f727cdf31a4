#include "signal/double_integral.hpp"

#include <cstddef>

namespace subsalt::signal {
namespace {

constexpr int kMost = 4; // order of the polynomials

} // namespace

void double_integral(const float* samples, double* out, int64_t n, int64_t stride, int order, int64_t row,
                     int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t trace = 0; trace < n; ++trace) {
        double once[kMost + 1], twice[kMost + 1];
        for (int k = 0; k <= order; ++k) {
            once[k] = 1.0 / (k + 1);
            twice[k] = 1.0 / ((k + 1) * (k + 2));
        }
        const float* c = samples + trace * stride;
        double* s = out + trace * row;
        double slope = 0.0, value = 0.0;
        for (int64_t i = 0; i < row; ++i) {
            s[i] = value;
            double area = 0.0, moment = 0.0;
            for (int k = 0; k <= order; ++k) {
                const double coefficient = c[k * row + i];
                area += coefficient * once[k];
                moment += coefficient * twice[k];
            }
            value += slope + moment;
            slope += area;
        }
    }
}

} // namespace subsalt::signal
