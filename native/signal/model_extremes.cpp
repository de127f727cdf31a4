#include "signal/model_extremes.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#define SUBSALT_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace subsalt::signal {
namespace {

constexpr int kLanes = 32;
// values of a block that is counted in 32 bits
constexpr int64_t kBlock = 1 << 14;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
SUBSALT_ALWAYS_INLINE T smaller(T a, T b) {
    return a < b ? a : b;
}
template <class T>
SUBSALT_ALWAYS_INLINE T larger(T a, T b) {
    return a > b ? a : b;
}

SUBSALT_ALWAYS_INLINE bool finite(float value) {
    return std::fabs(value) <= FLT_MAX;
}

// Adds a block of values of which some are not finite.
void add_one_by_one(const float* values, int64_t begin, int64_t end, Finite& out) {
    for (int64_t i = begin; i < end; ++i) {
        if (finite(values[i])) {
            out.low = smaller(values[i], out.low);
            out.high = larger(values[i], out.high);
            continue;
        }
        if (out.bad++ == 0) out.first_bad = i;
    }
}

SUBSALT_ALWAYS_INLINE Finite range_of(const float* values, int64_t n) {
    Finite out{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0, -1};
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t end = std::min(n, begin + kBlock);
        const int64_t lanes_end = begin + (end - begin) / kLanes * kLanes;
        float low[kLanes], high[kLanes];
        int32_t bad[kLanes];
        for (int l = 0; l < kLanes; ++l)
            low[l] = out.low, high[l] = out.high, bad[l] = 0;
        for (int64_t i = begin; i < lanes_end; i += kLanes)
            for (int l = 0; l < kLanes; ++l) {
                const float value = values[i + l];
                low[l] = smaller(value, low[l]);
                high[l] = larger(value, high[l]);
                bad[l] += finite(value) ? 0 : 1;
            }
        bool all = true;
        for (int l = 0; l < kLanes; ++l)
            all = all && bad[l] == 0;
        if (!all) {
            add_one_by_one(values, begin, end, out);
            continue;
        }
        for (int l = 0; l < kLanes; ++l)
            out.low = smaller(low[l], out.low), out.high = larger(high[l], out.high);
        add_one_by_one(values, lanes_end, end, out);
    }
    return out;
}

// Smallest and largest vp by depth; the rest follows from them, for rounding keeps the order of numbers.
SUBSALT_ALWAYS_INLINE void isotropic(const Columns& m, double along, const double* down, const ByDepth& out) {
    for (int64_t c = 0; c < m.columns; ++c) {
        const float* vp = m.vp + c * m.nz;
        for (int64_t z = 0; z < m.nz; ++z) {
            const double v = vp[z];
            out.slowest[z] = smaller(v, out.slowest[z]);
            out.fastest[z] = larger(v, out.fastest[z]);
        }
    }
    for (int64_t z = 0; z < m.nz; ++z)
        out.eigenvalue[z] = out.fastest[z] * out.fastest[z] * (along + down[z]);
}

// Four depths side by side; a compiler without such registers takes two of two.
constexpr int kQuad = 4;
using Quad = double __attribute__((vector_size(8 * kQuad)));
using QuadOfFloats = float __attribute__((vector_size(4 * kQuad)));

SUBSALT_ALWAYS_INLINE void load(const float* p, Quad& out) {
    QuadOfFloats some;
    std::memcpy(&some, p, sizeof some);
    out = __builtin_convertvector(some, Quad);
}
SUBSALT_ALWAYS_INLINE void load(const double* p, Quad& out) {
    std::memcpy(&out, p, sizeof out);
}
SUBSALT_ALWAYS_INLINE void store(const Quad& from, double* p) {
    std::memcpy(p, &from, sizeof from);
}
SUBSALT_ALWAYS_INLINE void take_root(Quad& x) {
    for (int l = 0; l < kQuad; ++l)
        x[l] = std::sqrt(x[l]);
}

// Four depths of a column.
template <bool tilted>
SUBSALT_ALWAYS_INLINE void add_quad(const float* vp, const float* epsilon, const float* delta, double along,
                                    const double* down, const ByDepth& out) {
    const Quad zero{}, one = zero + 1.0;
    Quad v, e, d, b, slowest, fastest, stiffest;
    load(vp, v), load(epsilon, e), load(delta, d), load(down, b);
    load(out.slowest, slowest), load(out.fastest, fastest), load(out.eigenvalue, stiffest);
    const Quad below = e < d ? e : d, low = below < zero ? below : zero, high = e > zero ? e : zero;
    Quad slow = 1.0 + 2.0 * low, fast = 1.0 + 2.0 * high, stiff = 1.0 + 2.0 * e;
    take_root(slow), take_root(fast);
    slow = v * slow, fast = v * fast;
    if constexpr (tilted) {
        stiff = v * v * (stiff > one ? stiff : one);
    } else {
        const Quad t = stiff * along + b, square = t * t - 8.0 * (e - d) * along * b;
        stiff = square > zero ? square : zero;
        take_root(stiff);
        stiff = v * v * (t + stiff) / 2.0;
    }
    store(slow < slowest ? slow : slowest, out.slowest);
    store(fast > fastest ? fast : fastest, out.fastest);
    store(stiff > stiffest ? stiff : stiffest, out.eigenvalue);
}

// The depths of a column that are left beyond its last quad, beside copies of the last of them.
template <bool tilted>
SUBSALT_ALWAYS_INLINE void add_rest(const float* vp, const float* epsilon, const float* delta, int64_t rest,
                                    double along, const double* down, const ByDepth& out) {
    float values[3][kQuad];
    double b[kQuad], found[3][kQuad];
    double* const to[3] = {out.slowest, out.fastest, out.eigenvalue};
    for (int l = 0; l < kQuad; ++l) {
        const int64_t z = std::min<int64_t>(l, rest - 1);
        values[0][l] = vp[z], values[1][l] = epsilon[z], values[2][l] = delta[z], b[l] = down[z];
        for (int k = 0; k < 3; ++k)
            found[k][l] = to[k][z];
    }
    add_quad<tilted>(values[0], values[1], values[2], along, b, {found[0], found[1], found[2]});
    for (int k = 0; k < 3; ++k)
        std::copy_n(found[k], rest, to[k]);
}

SUBSALT_ALWAYS_INLINE int32_t count_over(const float* epsilon, const float* delta, int64_t nz) {
    int32_t over = 0;
    for (int64_t z = 0; z < nz; ++z)
        over += delta[z] > epsilon[z] ? 1 : 0;
    return over;
}

template <bool tilted>
SUBSALT_ALWAYS_INLINE Over anisotropic(const Columns& m, double along, const double* down, const ByDepth& out) {
    Over over{0, -1};
    const int64_t whole = m.nz / kQuad * kQuad;
    for (int64_t c = 0; c < m.columns; ++c) {
        const float *vp = m.vp + c * m.nz, *epsilon = m.epsilon + c * m.nz, *delta = m.delta + c * m.nz;
        const auto from = [&out](int64_t z) { return ByDepth{out.slowest + z, out.fastest + z, out.eigenvalue + z}; };
        for (int64_t z = 0; z < whole; z += kQuad)
            add_quad<tilted>(vp + z, epsilon + z, delta + z, along, down + z, from(z));
        if (whole < m.nz)
            add_rest<tilted>(vp + whole, epsilon + whole, delta + whole, m.nz - whole, along, down + whole,
                             from(whole));
        const int32_t some = count_over(epsilon, delta, m.nz);
        for (int64_t z = 0; some > 0 && over.first < 0; ++z)
            if (delta[z] > epsilon[z]) over.first = c * m.nz + z;
        over.count += some;
    }
    for (int64_t z = 0; tilted && z < m.nz; ++z)
        out.eigenvalue[z] *= along + down[z];
    return over;
}

SUBSALT_ALWAYS_INLINE Over extremes_of(const Columns& m, double along, const double* down, const ByDepth& out) {
    for (int64_t z = 0; z < m.nz; ++z)
        out.slowest[z] = kInfinity, out.fastest[z] = out.eigenvalue[z] = -kInfinity;
    if (m.epsilon == nullptr) {
        isotropic(m, along, down, out);
        return {0, -1};
    }
    return m.tilted ? anisotropic<true>(m, along, down, out) : anisotropic<false>(m, along, down, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) Finite range_avx2(const float* values, int64_t n) {
    return range_of(values, n);
}
__attribute__((target("avx2"))) Over extremes_avx2(const Columns& m, double along, const double* down,
                                                   const ByDepth& out) {
    return extremes_of(m, along, down, out);
}
#endif

} // namespace

Finite finite_range(const float* values, int64_t n) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return range_avx2(values, n);
#endif
    return range_of(values, n);
}

Over wave_extremes(const Columns& model, double along, const double* down, const ByDepth& out) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return extremes_avx2(model, along, down, out);
#endif
    return extremes_of(model, along, down, out);
}

} // namespace subsalt::signal
