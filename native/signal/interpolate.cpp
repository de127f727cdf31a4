#include "signal/interpolate.hpp"

#include <algorithm>
#include <vector>

namespace subsalt::signal {
namespace {

constexpr int64_t kSums = 8;

// sum_k w[k] x[k]
__attribute__((always_inline)) inline double dot(const double* w, const double* x, int64_t taps) {
    double sum[kSums] = {};
    for (int64_t k = 0; k < taps; k += kSums) {
        for (int64_t s = 0; s < kSums; ++s)
            sum[s] += w[k + s] * x[k + s];
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

template <class T>
__attribute__((always_inline)) inline void interpolate_in(const T* x, T* y, int64_t n, int64_t nt, int64_t m,
                                                          const Taps& taps) {
    // a trace with as many zeros to either side as a window has samples
    std::vector<double> wide(nt + 2 * taps.taps);
    double* row = wide.data() + taps.taps;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < nt; ++j)
            row[j] = static_cast<double>(x[i * nt + j]);
        if (taps.by_trace) {
            const double* w = taps.w + i * taps.taps;
            for (int64_t j = 0; j < m; ++j) {
                const int64_t at = std::clamp(taps.first[i] + j, -taps.taps, nt);
                y[i * m + j] = static_cast<T>(dot(w, row + at, taps.taps));
            }
        } else {
            for (int64_t j = 0; j < m; ++j)
                y[i * m + j] = static_cast<T>(dot(taps.w + j * taps.taps, row + taps.first[j], taps.taps));
        }
    }
}

template <class T>
__attribute__((always_inline)) inline void spread_in(const T* y, T* x, int64_t n, int64_t nt, int64_t m,
                                                     const Taps& taps) {
    std::vector<double> wide(nt + 2 * taps.taps);
    double* row = wide.data() + taps.taps;
    for (int64_t i = 0; i < n; ++i) {
        std::fill(wide.begin(), wide.end(), 0.0);
        for (int64_t j = 0; j < m; ++j) {
            const double value = static_cast<double>(y[i * m + j]);
            const double* w = taps.w + j * taps.taps;
            double* to = row + taps.first[j];
            for (int64_t k = 0; k < taps.taps; ++k)
                to[k] += w[k] * value;
        }
        for (int64_t j = 0; j < nt; ++j)
            x[i * nt + j] = static_cast<T>(row[j]);
    }
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) void interpolate_avx2(const T* x, T* y, int64_t n, int64_t nt, int64_t m,
                                                      const Taps& taps) {
    interpolate_in(x, y, n, nt, m, taps);
}
template <class T>
__attribute__((target("avx2"))) void spread_avx2(const T* y, T* x, int64_t n, int64_t nt, int64_t m, const Taps& taps) {
    spread_in(y, x, n, nt, m, taps);
}
bool wide_vectors() {
    return __builtin_cpu_supports("avx2");
}
#endif

} // namespace

template <class T>
void interpolate(const T* x, T* y, int64_t n, int64_t nt, int64_t m, const Taps& taps) {
#if defined(__x86_64__)
    if (wide_vectors()) return interpolate_avx2(x, y, n, nt, m, taps);
#endif
    interpolate_in(x, y, n, nt, m, taps);
}

template <class T>
void spread(const T* y, T* x, int64_t n, int64_t nt, int64_t m, const Taps& taps) {
#if defined(__x86_64__)
    if (wide_vectors()) return spread_avx2(y, x, n, nt, m, taps);
#endif
    spread_in(y, x, n, nt, m, taps);
}

template void interpolate<float>(const float*, float*, int64_t, int64_t, int64_t, const Taps&);
template void interpolate<double>(const double*, double*, int64_t, int64_t, int64_t, const Taps&);
template void spread<float>(const float*, float*, int64_t, int64_t, int64_t, const Taps&);
template void spread<double>(const double*, double*, int64_t, int64_t, int64_t, const Taps&);

} // namespace subsalt::signal
