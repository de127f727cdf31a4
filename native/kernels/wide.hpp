// Sixteen neighbouring floats, what one window of the layer along z has: one vector of 16 lanes, or two of 8. The
// functions of simd.hpp that the windows need, by the same names; a weight stays one vector.
#pragma once

#include "formulas.hpp"

#include <type_traits>

namespace subsalt::SUBSALT_NS {

#if SUBSALT_SHIFTS

constexpr Index wide_lanes = 16;

#if SUBSALT_LANES == 16

using Wide = Vec;

/// Floats k .. k + 15 of the concatenation lo, hi, 0 < k < 16.
template <int k>
SUBSALT_INLINE Wide shift_wide(Wide lo, Wide hi) {
    return shift<k>(lo, hi);
}

#else

struct Wide {
    Vec low, high;
};

SUBSALT_INLINE void store(float* p, Wide a) {
    store(p, a.low), store(p + lanes, a.high);
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return {add(a.low, b.low), add(a.high, b.high)};
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return {sub(a.low, b.low), sub(a.high, b.high)};
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return {mul(a.low, b.low), mul(a.high, b.high)};
}
SUBSALT_INLINE Wide mul(Vec a, Wide b) {
    return {mul(a, b.low), mul(a, b.high)};
}
SUBSALT_INLINE Wide fma(Wide a, Wide b, Wide c) {
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
}
SUBSALT_INLINE Wide fma(Vec a, Wide b, Wide c) {
    return {fma(a, b.low, c.low), fma(a, b.high, c.high)};
}
SUBSALT_INLINE Wide select(Wide mask, Wide a, Wide b) {
    return {select(mask.low, a.low, b.low), select(mask.high, a.high, b.high)};
}

/// Lanes k .. k + 7 of a, b, 0 <= k <= 8.
template <int k>
SUBSALT_INLINE Vec part_at(Vec a, Vec b) {
    if constexpr (k == 0)
        return a;
    else if constexpr (k == lanes)
        return b;
    else
        return shift<k>(a, b);
}

/// Floats k .. k + 15 of the concatenation lo, hi, 0 < k < 16.
template <int k>
SUBSALT_INLINE Wide shift_wide(Wide lo, Wide hi) {
    if constexpr (k <= lanes)
        return {part_at<k>(lo.low, lo.high), part_at<k>(lo.high, hi.low)};
    else
        return {part_at<k - lanes>(lo.high, hi.low), part_at<k - lanes>(hi.low, hi.high)};
}

#endif

#endif

/// What is at p, as a vector or wide.
template <class N>
SUBSALT_INLINE N load_as(const float* p) {
    if constexpr (std::is_same_v<N, Vec>)
        return load(p);
    else
        return {load(p), load(p + lanes)};
}

/// The same number in all places of a vector, or wide.
template <class N>
SUBSALT_INLINE N set_as(float a) {
    if constexpr (std::is_same_v<N, Vec>)
        return set1(a);
    else
        return {set1(a), set1(a)};
}

} // namespace subsalt::SUBSALT_NS
