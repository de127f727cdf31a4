// Two neighbours along z: what a thread of the TTI step computes at once, in 8-byte accesses.
#pragma once

#include "numbers.cuh"

namespace subsalt::cuda {

SUBSALT_DEVICE float2 zero2() {
    return of<float2>(0.0f);
}
SUBSALT_DEVICE float2 operator+(float2 a, float2 b) {
    return make_float2(a.x + b.x, a.y + b.y);
}
SUBSALT_DEVICE float2 operator-(float2 a, float2 b) {
    return make_float2(a.x - b.x, a.y - b.y);
}
SUBSALT_DEVICE float2 operator*(float2 a, float2 b) {
    return make_float2(a.x * b.x, a.y * b.y);
}
SUBSALT_DEVICE float2 operator*(float a, float2 b) {
    return make_float2(a * b.x, a * b.y);
}
/// The pair at p, 8-byte aligned. `ldg`: what nothing writes while the kernel runs.
SUBSALT_DEVICE float2 load2(const float* p) {
    return *reinterpret_cast<const float2*>(p);
}
SUBSALT_DEVICE float2 ldg2(const float* p) {
    return __ldg(reinterpret_cast<const float2*>(p));
}
SUBSALT_DEVICE void store2(float* p, float2 a) {
    *reinterpret_cast<float2*>(p) = a;
}

/// Which of a pair at z, z + 1 a range has.
struct Mask {
    bool x, y;
    SUBSALT_DEVICE Mask(int z, int lo, int hi) : x(z >= lo && z < hi), y(z + 1 >= lo && z + 1 < hi) {}
};
SUBSALT_DEVICE void store2(float* p, float2 a, Mask mask) {
    if (mask.x && mask.y) return store2(p, a);
    if (mask.x) p[0] = a.x;
    if (mask.y) p[1] = a.y;
}
SUBSALT_DEVICE float2 select(Mask mask, float2 a, float2 b) {
    return make_float2(mask.x ? a.x : b.x, mask.y ? a.y : b.y);
}

} // namespace subsalt::cuda
