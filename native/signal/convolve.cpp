#include "signal/convolve.hpp"

#include "signal/fixed_math.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace subsalt::signal {
namespace {

constexpr int64_t kLanes = 8;
constexpr double kPi = 3.14159265358979323846;

// Real and imaginary parts of `points` numbers, each of kLanes traces.
struct Panel {
    std::vector<double> re, im;
    explicit Panel(int64_t points) : re(points * kLanes), im(points * kLanes) {}
};

// Turns of the transform of `points` = N / 2 complex numbers, and those that tell even samples from odd ones.
struct Turns {
    int64_t points;
    std::vector<double> c, s; // cos, sin of 2 pi k / N, k = 0 ... N / 2

    explicit Turns(int64_t n) : points(n / 2), c(n / 2 + 1), s(n / 2 + 1) {
        for (int64_t k = 0; k <= n / 2; ++k) {
            // the first eighth by its functions, the rest by symmetry: exact where the turn is
            const double angle = 2.0 * kPi * static_cast<double>(std::min(k, n / 2 - k)) / static_cast<double>(n);
            c[k] = (2 * k > n / 2 ? -1.0 : 1.0) * (4 * k == n ? 0.0 : fixed::cos(angle));
            s[k] = fixed::sin(angle);
        }
    }
};

// One stage: y[q + s (2p)] = a + b, y[q + s (2p + 1)] = (a - b) w^p, a = x[q + s p], b = x[q + s (p + m)].
__attribute__((always_inline)) inline void stage(const Panel& x, Panel& y, int64_t m, int64_t stride,
                                                 const Turns& turns, double sign) {
    for (int64_t p = 0; p < m; ++p) {
        // w^p = e^{-+2 pi i p / (2 m)}, and 2 pi / (2 m) is N / (2 m) steps of the table
        const double wr = turns.c[p * (turns.points / m)], wi = sign * turns.s[p * (turns.points / m)];
        for (int64_t q = 0; q < stride; ++q) {
            const int64_t a = (q + stride * p) * kLanes, b = (q + stride * (p + m)) * kLanes;
            const int64_t even = (q + stride * 2 * p) * kLanes, odd = even + stride * kLanes;
            for (int64_t l = 0; l < kLanes; ++l) {
                const double ar = x.re[a + l], ai = x.im[a + l], br = x.re[b + l], bi = x.im[b + l];
                const double dr = ar - br, di = ai - bi;
                y.re[even + l] = ar + br;
                y.im[even + l] = ai + bi;
                y.re[odd + l] = dr * wr - di * wi;
                y.im[odd + l] = dr * wi + di * wr;
            }
        }
    }
}

// sum_j x_j e^{sign 2 pi i j k / points} in place; `other` is overwritten.
__attribute__((always_inline)) inline void transform(Panel& x, Panel& other, const Turns& turns, double sign) {
    Panel *from = &x, *to = &other;
    for (int64_t m = turns.points / 2, stride = 1; m >= 1; m /= 2, stride *= 2) {
        stage(*from, *to, m, stride, turns, sign);
        std::swap(from, to);
    }
    if (from != &x) {
        std::swap(x.re, other.re);
        std::swap(x.im, other.im);
    }
}

// From Z = F(even + i odd) the spectrum X_k = E_k + e^{-2 pi i k / N} O_k, times H, and back to Z, for k and N/2 - k.
__attribute__((always_inline)) inline void multiply(Panel& z, const Turns& turns, const double* hr, const double* hi) {
    const int64_t half = turns.points;
    for (int64_t k = 0; 2 * k <= half; ++k) {
        const int64_t j = half - k, at = k * kLanes, mirror = (j % half) * kLanes;
        const double c = turns.c[k], s = turns.s[k];
        for (int64_t l = 0; l < kLanes; ++l) {
            const double zr = z.re[at + l], zi = z.im[at + l], mr = z.re[mirror + l], mi = z.im[mirror + l];
            const double er = 0.5 * (zr + mr), ei = 0.5 * (zi - mi);
            const double qr = 0.5 * (zi + mi), qi = 0.5 * (mr - zr); // O_k
            const double tr = qr * c + qi * s, ti = qi * c - qr * s; // e^{-2 pi i k / N} O_k
            // X_k = E + T, conj(X_j) = E - T
            const double xr = er + tr, xi = ei + ti, vr = er - tr, vi = ei - ti;
            const double yr = xr * hr[k] - xi * hi[k], yi = xr * hi[k] + xi * hr[k];
            const double ur = vr * hr[j] + vi * hi[j], ui = vi * hr[j] - vr * hi[j]; // conj(Y_j)
            const double fr = 0.5 * (yr + ur), fi = 0.5 * (yi + ui);
            const double gr = 0.5 * (yr - ur), gi = 0.5 * (yi - ui);
            const double pr = gr * c - gi * s, pi = gi * c + gr * s; // O'_k
            // Z'_k = E' + i O', and Z'_j = conj(E') + i conj(O')
            z.re[at + l] = fr - pi;
            z.im[at + l] = fi + pr;
            if (k > 0 && 2 * k < half) {
                z.re[mirror + l] = fr + pi;
                z.im[mirror + l] = pr - fi;
            }
        }
    }
}

template <class T>
__attribute__((always_inline)) inline void filter_panel(const T* x, T* y, int64_t lanes, int64_t nt, Panel& z,
                                                        Panel& other, const Turns& turns, const double* hr,
                                                        const double* hi) {
    std::fill(z.re.begin(), z.re.end(), 0.0);
    std::fill(z.im.begin(), z.im.end(), 0.0);
    for (int64_t l = 0; l < lanes; ++l) {
        for (int64_t i = 0; i < nt; ++i)
            (i % 2 == 0 ? z.re : z.im)[i / 2 * kLanes + l] = static_cast<double>(x[l * nt + i]);
    }
    transform(z, other, turns, -1.0);
    multiply(z, turns, hr, hi);
    transform(z, other, turns, 1.0);
    for (int64_t l = 0; l < lanes; ++l) {
        for (int64_t i = 0; i < nt; ++i)
            y[l * nt + i] = static_cast<T>((i % 2 == 0 ? z.re : z.im)[i / 2 * kLanes + l]);
    }
}

template <class T>
void panel_baseline(const T* x, T* y, int64_t lanes, int64_t nt, Panel& z, Panel& other, const Turns& turns,
                    const double* hr, const double* hi) {
    filter_panel(x, y, lanes, nt, z, other, turns, hr, hi);
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) void panel_avx2(const T* x, T* y, int64_t lanes, int64_t nt, Panel& z, Panel& other,
                                                const Turns& turns, const double* hr, const double* hi) {
    filter_panel(x, y, lanes, nt, z, other, turns, hr, hi);
}
#endif

template <class T>
auto panel_of_machine() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return &panel_avx2<T>;
#endif
    return &panel_baseline<T>;
}

int64_t points_for(int64_t least) {
    int64_t n = 4;
    while (n < least)
        n *= 2;
    return n;
}

// Spectrum H_k / (N / 2), k = 0 ... N / 2, of the filter at its lags.
void spectrum_of(const Filter& filter, int64_t n, const Turns& turns, std::vector<double>& hr,
                 std::vector<double>& hi) {
    const int64_t half = n / 2;
    Panel z(half), other(half);
    for (int64_t j = 0; j < filter.taps; ++j) {
        const int64_t lag = (filter.first + j + n) % n;
        (lag % 2 == 0 ? z.re : z.im)[lag / 2 * kLanes] = filter.h[j];
    }
    transform(z, other, turns, -1.0);
    const double scale = 1.0 / static_cast<double>(half);
    for (int64_t k = 0; k <= half; ++k) {
        const int64_t at = (k % half) * kLanes, mirror = ((half - k) % half) * kLanes;
        const double zr = z.re[at], zi = z.im[at], mr = z.re[mirror], mi = z.im[mirror];
        const double er = 0.5 * (zr + mr), ei = 0.5 * (zi - mi), qr = 0.5 * (zi + mi), qi = 0.5 * (mr - zr);
        hr[k] = scale * (er + (qr * turns.c[k] + qi * turns.s[k]));
        hi[k] = scale * (ei + (qi * turns.c[k] - qr * turns.s[k]));
    }
}

} // namespace

template <class T>
void convolve(const T* x, T* y, int64_t n, int64_t nt, const Filter& filter, int threads) {
    const int64_t reach = std::max(std::abs(filter.first), std::abs(filter.first + filter.taps - 1));
    const int64_t points = points_for(nt + reach);
    const Turns turns(points);
    std::vector<double> hr(points / 2 + 1), hi(points / 2 + 1);
    spectrum_of(filter, points, turns, hr, hi);
    const auto panel = panel_of_machine<T>();
    const int64_t panels = (n + kLanes - 1) / kLanes;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        Panel z(points / 2), other(points / 2);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < panels; ++i) {
            const int64_t at = i * kLanes * nt;
            panel(x + at, y + at, std::min(kLanes, n - i * kLanes), nt, z, other, turns, hr.data(), hi.data());
        }
    }
}

template void convolve<float>(const float*, float*, int64_t, int64_t, const Filter&, int);
template void convolve<double>(const double*, double*, int64_t, int64_t, const Filter&, int);

} // namespace subsalt::signal
