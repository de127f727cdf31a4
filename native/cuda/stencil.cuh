// Derivatives at four neighbours along z (a quad, one 16-byte access), in the canonical order of operations
// (native/kernels/stencil.hpp). What a lane of a vector is on the CPU is a component of a quad here.
//
// `M` > 0 is a radius known to the compiler, 0 one known at run time. Along x a thread keeps the 2 M + 1 quads around
// its point in registers and loads one per plane (Column); along y it loads 2 M quads, which L1 has from the rows of
// the same block; along z the quad on either side. Why no tile in shared memory: at order 8 a point costs 44 bytes of
// L1, at the speed that memory allows 36 bytes per clock and SM of 128, and a tile would only move them to the same
// SRAM and add a barrier per plane.
#pragma once

#include "numbers.cuh"

namespace subsalt::cuda {

constexpr int quad = 4; // points along z per thread

SUBSALT_DEVICE float4 quad_of(float a) {
    return of<float4>(a);
}

/// The quad at p, which nothing writes while the kernel runs.
SUBSALT_DEVICE float4 load4(const float* p) {
    return __ldg(reinterpret_cast<const float4*>(p));
}
/// The quad at p, which this kernel may write too.
SUBSALT_DEVICE float4 load4_own(const float* p) {
    return *reinterpret_cast<const float4*>(p);
}
SUBSALT_DEVICE void store4(float* p, float4 a) {
    *reinterpret_cast<float4*>(p) = a;
}

/// add_second for two sums at once: that of all axes and that of this axis alone.
template <int M, bool Held = false, class Sum>
SUBSALT_DEVICE void add_second_twice(float4& acc, float4& own, const float* c, int radius, Sum sum) {
    for_neighbours<1, M, Held>(radius, [&](auto k) {
        const float4 w = sum(k);
        acc = fma(c[k], w, acc);
        own = fma(c[k], w, own);
    });
}

/// The quads x - M .. x + M of a thread that marches along x; with a radius known at run time they are loaded anew.
template <int M>
class Column {
public:
    /// `u`: the first point. All but the quad M planes ahead are loaded.
    SUBSALT_DEVICE void begin(const float* u, Index plane) {
#pragma unroll
        for (int j = 0; j < 2 * M; ++j)
            w_[j] = load4(u + (j - M) * plane);
    }
    SUBSALT_DEVICE void put_ahead(float4 head) { w_[2 * M] = head; }
    SUBSALT_DEVICE float4 mid() const { return w_[M]; }
    SUBSALT_DEVICE float4 pair(int k) const { return add(w_[M + k], w_[M - k]); }
    SUBSALT_DEVICE void next() {
#pragma unroll
        for (int j = 0; j < 2 * M; ++j)
            w_[j] = w_[j + 1];
    }

private:
    float4 w_[2 * M + 1];
};

/// The quads z - 4 R .. z + 4 R + 3 of a row.
template <int M>
class RowWindow {
    static constexpr int beside = M > 0 ? (M + quad - 1) / quad : max_radius / quad;

public:
    /// `p`: at the quad; `mid`: the quad itself.
    SUBSALT_DEVICE RowWindow(const float* p, float4 mid, int radius) {
#pragma unroll
        for (int i = -beside; i <= beside; ++i) {
            const bool needed = M > 0 || (i < 0 ? -i : i) <= (radius + quad - 1) / quad;
            const float4 v = i == 0 ? mid : needed ? load4(p + quad * i) : quad_of(0.0f);
            float* const w = w_ + quad * (i + beside);
            w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
        }
    }
    SUBSALT_DEVICE float4 shifted(int k) const {
        const float* const w = w_ + quad * beside + k;
        return make_float4(w[0], w[1], w[2], w[3]);
    }
    SUBSALT_DEVICE float4 pair(int k) const { return add(shifted(k), shifted(-k)); }
    SUBSALT_DEVICE float4 difference(int k) const { return sub(shifted(k), shifted(-k)); }

private:
    float w_[quad * (2 * beside + 1)];
};

/// Pairs along an axis whose neighbours are loaded; `stride` in floats.
struct Loaded {
    const float* p;
    Index stride;
    SUBSALT_DEVICE float4 pair(int k) const { return add(load4(p + k * stride), load4(p - k * stride)); }
    SUBSALT_DEVICE float4 difference(int k) const { return sub(load4(p + k * stride), load4(p - k * stride)); }
};

} // namespace subsalt::cuda
