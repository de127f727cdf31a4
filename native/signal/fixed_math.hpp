// Elementary functions with the same bits on every processor.
//
// The C library and NumPy choose their exp, sin and the like by processor, so that the last bit of a wavelet, of a
// layer profile or of a trace transform would depend on the machine. Here each function is a fixed sequence of IEEE
// additions, multiplications, divisions and square roots, compiled without contraction for the baseline instruction
// set.
//
// Accuracy: about one unit in the last place (tested to 1e-15 relative); sin and cos for |x| up to 3e7.
// Assumptions: round to nearest, no flush-to-zero in the calling thread, -ffp-contract=off.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace subsalt::fixed {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Nearest integer, ties to even, for |x| < 2^51: adding 1.5 * 2^52 leaves no room for a fraction.
inline double round_even(double x) {
    constexpr double shift = 6755399441055744.0;
    return (x + shift) - shift;
}

// 2^k as a double for -1022 <= k <= 1023, by its exponent bits.
inline double power_of_two(int64_t k) {
    return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

namespace detail {

// 1/n! for n = 0 .. 21; factorials up to 18! are exact in a double, the others correctly rounded products.
constexpr std::array<double, 22> inverse_factorials() {
    std::array<double, 22> out{};
    double f = 1.0;
    for (int n = 0; n < 22; ++n) {
        f = n > 0 ? f * n : f;
        out[static_cast<size_t>(n)] = 1.0 / f;
    }
    return out;
}

// Maclaurin coefficients of asin(x)/x in x^2: (2n)! / (4^n n!^2 (2n+1)).
constexpr std::array<double, 28> asin_coefficients() {
    std::array<double, 28> out{};
    double c = 1.0;
    for (int n = 0; n < 28; ++n) {
        c = n > 0 ? c * (2 * n - 1) / (2 * n) : c;
        out[static_cast<size_t>(n)] = c / (2 * n + 1);
    }
    return out;
}

inline constexpr auto kInvFact = inverse_factorials();
inline constexpr auto kAsin = asin_coefficients();

// ln 2 in two parts; the first has 32 significant bits, so that k * kLn2Hi is exact for |k| < 2^21.
constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;

// pi/2 in three parts; the first two have at most 28 significant bits, so that n * part is exact for |n| < 2^25.
constexpr double kHalfPi1 = 0x1.921fb54p+0;
constexpr double kHalfPi2 = 0x1.10b4610p-30;
constexpr double kHalfPi3 = 0x1.a62633145c06ep-58;

// sin(r + lo) and cos(r + lo) for |r| <= pi/4 and |lo| below an ulp of r, by their Taylor series.
inline double sin_kernel(double r, double lo) {
    const double z = r * r;
    double s = -kInvFact[19];
    s = kInvFact[17] + z * s;
    s = -kInvFact[15] + z * s;
    s = kInvFact[13] + z * s;
    s = -kInvFact[11] + z * s;
    s = kInvFact[9] + z * s;
    s = -kInvFact[7] + z * s;
    s = kInvFact[5] + z * s;
    s = -kInvFact[3] + z * s;
    return r + (r * z * s + lo * (1.0 - 0.5 * z));
}

inline double cos_kernel(double r, double lo) {
    const double z = r * r;
    double c = kInvFact[20];
    c = -kInvFact[18] + z * c;
    c = kInvFact[16] + z * c;
    c = -kInvFact[14] + z * c;
    c = kInvFact[12] + z * c;
    c = -kInvFact[10] + z * c;
    c = kInvFact[8] + z * c;
    c = -kInvFact[6] + z * c;
    c = kInvFact[4] + z * c;
    const double half = 0.5 * z;
    const double head = 1.0 - half;
    // (1 - head) - half recovers what was rounded away in head
    return head + (((1.0 - head) - half) + (z * z * c - r * lo));
}

} // namespace detail

struct SinCos {
    double sin, cos;
};

// sin and cos of x; NaN for |x| > 3e7 (the reduction would no longer be exact), infinities and NaN.
inline SinCos sincos(double x) {
    using namespace detail;
    if (!(std::fabs(x) <= 3.0e7)) return {kNan, kNan};
    const double n = round_even(x * (2.0 / kPi));
    const double a = x - n * kHalfPi1;
    const double w = n * kHalfPi2;
    const double b = a - w;
    const double rest = ((a - b) - w) - n * kHalfPi3;
    const double r = b + rest;
    const double lo = (b - r) + rest;
    const double s = sin_kernel(r, lo);
    const double c = cos_kernel(r, lo);
    switch (static_cast<int64_t>(n) & 3) {
    case 0:
        return {s, c};
    case 1:
        return {c, -s};
    case 2:
        return {-s, -c};
    default:
        return {-c, s};
    }
}

inline double sin(double x) {
    return x == 0.0 ? x : sincos(x).sin;
}
inline double cos(double x) {
    return sincos(x).cos;
}

// sin(pi x) / (pi x); exactly zero at the other integers.
inline double sinc(double x) {
    if (x == 0.0) return 1.0;
    if (!(std::fabs(x) < 2.0e9)) return kNan;
    const double n = round_even(x);
    const double f = x - n;
    const double s = detail::sin_kernel(f * kPi, 0.0);
    // |f| <= 1/2: beyond a quarter the kernel's range is left, use sin(pi f) = cos(pi (1/2 - |f|))
    const double away = 0.5 - std::fabs(f);
    const double t = std::fabs(f) <= 0.25 ? s : (f < 0 ? -1.0 : 1.0) * detail::cos_kernel(away * kPi, 0.0);
    return ((static_cast<int64_t>(n) & 1) != 0 ? -t : t) / (kPi * x);
}

inline double exp(double x) {
    using namespace detail;
    if (!(x == x)) return x;
    if (x > 709.782712893384) return kInfinity;
    if (x < -745.2) return 0.0;
    const double k = round_even(x * 1.4426950408889634);
    const double hi = x - k * kLn2Hi;
    const double lo = k * kLn2Lo;
    const double r = hi - lo;
    const double rest = (hi - r) - lo;
    double p = kInvFact[14];
    for (int n = 13; n >= 2; --n)
        p = kInvFact[static_cast<size_t>(n)] + r * p;
    const double y = 1.0 + (r + (r * r * p + rest * (1.0 + r)));
    // two factors, because 2^k itself may be out of range where the result is not
    const int64_t ki = static_cast<int64_t>(k);
    const int64_t half = ki / 2;
    return y * power_of_two(half) * power_of_two(ki - half);
}

inline double log(double x) {
    using namespace detail;
    if (!(x >= 0.0)) return kNan;
    if (x == 0.0) return -kInfinity;
    if (x == kInfinity) return kInfinity;
    int64_t k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    k += static_cast<int64_t>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++k;
    }
    // log m = 2 atanh(s) with s = f / (2 + f) and f = m - 1 exact; written as f - s (f - tail) to keep f's bits
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double t = 2.0 / 25.0;
    for (int n = 23; n >= 3; n -= 2)
        t = 2.0 / n + z * t;
    const double kd = static_cast<double>(k);
    return kd * kLn2Hi - ((s * (f - z * t) - kd * kLn2Lo) - f);
}

inline double asin(double x) {
    using namespace detail;
    const double a = std::fabs(x);
    if (!(a <= 1.0)) return kNan;
    const bool outer = a > 0.5;
    // asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2)) keeps the series argument at most 1/2
    const double z = outer ? 0.5 * (1.0 - a) : a * a;
    const double r = outer ? std::sqrt(z) : a;
    double t = kAsin[27];
    for (size_t n = 26; n >= 1; --n)
        t = kAsin[n] + z * t;
    const double y = r + r * z * t;
    constexpr double half_pi_lo = 6.123233995736766e-17;
    const double v = outer ? (0.5 * kPi - 2.0 * y) + half_pi_lo : y;
    return x < 0 ? -v : v;
}

// Modified Bessel function I0 for |x| <= 30 by its power series (all terms positive); NaN beyond.
inline double bessel_i0(double x) {
    if (!(std::fabs(x) <= 30.0)) return kNan;
    const double q = 0.25 * x * x;
    double y = 1.0;
    for (int n = 70; n >= 1; --n)
        y = 1.0 + q / (static_cast<double>(n) * n) * y;
    return y;
}

} // namespace subsalt::fixed
