#include "signal/director.hpp"

#include "signal/fixed_math.hpp"

#include <algorithm>
#include <cmath>

#define SUBSALT_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace subsalt::signal {
namespace {

constexpr int kLanes = 8;
constexpr double kPi = 3.141592653589793;

using Lanes = double[kLanes];

// n n, divided by its trace and squared.
SUBSALT_ALWAYS_INLINE void square(Lanes& xx, Lanes& xy, Lanes& xz, Lanes& yy, Lanes& yz, Lanes& zz) {
    for (int l = 0; l < kLanes; ++l) {
        const double size = xx[l] + yy[l] + zz[l];
        const double a = xx[l] / size, b = xy[l] / size, c = xz[l] / size;
        const double d = yy[l] / size, e = yz[l] / size, f = zz[l] / size;
        xx[l] = a * a + b * b + c * c;
        xy[l] = a * b + b * d + c * e;
        xz[l] = a * c + b * e + c * f;
        yy[l] = b * b + d * d + e * e;
        yz[l] = b * c + d * e + e * f;
        zz[l] = c * c + e * e + f * f;
    }
}

// Angle of the vector (x, y), -pi to pi; 0 where it has no length.
SUBSALT_ALWAYS_INLINE double angle(double y, double x) {
    const double length = std::sqrt(x * x + y * y);
    const double smaller = std::min(std::fabs(x), std::fabs(y)) / (length > 0 ? length : 1.0);
    // the arc sine of the smaller component: that of a value near one loses half of its digits
    const double small = fixed::asin(std::min(smaller, 1.0));
    double a = std::fabs(y) > std::fabs(x) ? 0.5 * kPi - small : small;
    a = x < 0 ? kPi - a : a;
    return y < 0 ? -a : a;
}

SUBSALT_ALWAYS_INLINE void angles_of_lanes(const std::array<const double*, 6>& field, float* theta, float* phi,
                                           int64_t at, int lanes, int squarings) {
    double m[6][kLanes];
    for (int k = 0; k < 6; ++k)
        for (int l = 0; l < kLanes; ++l)
            m[k][l] = field[k][at + std::min(l, lanes - 1)];
    for (int i = 0; i < squarings; ++i)
        square(m[0], m[1], m[2], m[3], m[4], m[5]);
    for (int l = 0; l < lanes; ++l) {
        // every column points along the axis; the one with the largest diagonal is the most exact
        const bool by_x = m[0][l] >= m[3][l] && m[0][l] >= m[5][l], by_y = m[3][l] >= m[5][l];
        double x = by_x ? m[0][l] : by_y ? m[1][l] : m[2][l];
        double y = by_x ? m[1][l] : by_y ? m[3][l] : m[4][l];
        double z = by_x ? m[2][l] : by_y ? m[4][l] : m[5][l];
        const double length = std::sqrt(x * x + y * y + z * z);
        x = x / length, y = y / length, z = z / length;
        const double up = z < 0 ? -1.0 : 1.0;
        x = up * x, y = up * y, z = up * z;
        theta[at + l] = static_cast<float>(angle(std::sqrt(x * x + y * y), z));
        phi[at + l] = static_cast<float>(angle(y, x));
    }
}

SUBSALT_ALWAYS_INLINE void all_angles(const std::array<const double*, 6>& field, float* theta, float* phi, int64_t n,
                                      int squarings) {
    for (int64_t at = 0; at < n; at += kLanes)
        angles_of_lanes(field, theta, phi, at, static_cast<int>(std::min<int64_t>(kLanes, n - at)), squarings);
}

void angles_baseline(const std::array<const double*, 6>& field, float* theta, float* phi, int64_t n, int squarings) {
    all_angles(field, theta, phi, n, squarings);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void angles_avx2(const std::array<const double*, 6>& field, float* theta, float* phi,
                                                 int64_t n, int squarings) {
    all_angles(field, theta, phi, n, squarings);
}
#endif

} // namespace

void principal_angles(const std::array<const double*, 6>& field, float* theta, float* phi, int64_t n, int squarings) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return angles_avx2(field, theta, phi, n, squarings);
#endif
    angles_baseline(field, theta, phi, n, squarings);
}

} // namespace subsalt::signal
