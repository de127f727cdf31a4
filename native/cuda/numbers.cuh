// Arithmetic on one, two and four floats, by the names that native/include/formulas.hpp uses. Two neighbours along z
// are what a thread of the TTI step computes at once, four those of the other steps; every component is computed alone.
#pragma once

#include <type_traits>

#include "device.hpp"

#define SUBSALT_NS cuda

namespace subsalt::cuda {

SUBSALT_DEVICE float add(float a, float b) {
    return a + b;
}
SUBSALT_DEVICE float sub(float a, float b) {
    return a - b;
}
SUBSALT_DEVICE float mul(float a, float b) {
    return a * b;
}
SUBSALT_DEVICE float div(float a, float b) {
    return a / b;
}
SUBSALT_DEVICE float fma(float a, float b, float c) {
    return fma1(a, b, c);
}
SUBSALT_DEVICE float fms(float a, float b, float c) {
    return fma1(a, b, -c);
}
/// c - a b
SUBSALT_DEVICE float fnma(float a, float b, float c) {
    return fma1(-a, b, c);
}
SUBSALT_DEVICE float where_nonzero(float t, float a, float b) {
    return t != 0.0f ? a : b;
}

/// f of the components.
template <class Do, class... Rest>
SUBSALT_DEVICE float2 each(Do f, float2 a, Rest... rest) {
    return make_float2(f(a.x, rest.x...), f(a.y, rest.y...));
}
template <class Do, class... Rest>
SUBSALT_DEVICE float4 each(Do f, float4 a, Rest... rest) {
    return make_float4(f(a.x, rest.x...), f(a.y, rest.y...), f(a.z, rest.z...), f(a.w, rest.w...));
}

/// A number in all components.
template <class N>
SUBSALT_DEVICE N of(float a) {
    if constexpr (std::is_same_v<N, float4>)
        return make_float4(a, a, a, a);
    else if constexpr (std::is_same_v<N, float2>)
        return make_float2(a, a);
    else
        return a;
}

template <class N>
concept Several = std::is_same_v<N, float2> || std::is_same_v<N, float4>;

template <Several N>
SUBSALT_DEVICE N add(N a, N b) {
    return each([](float x, float y) { return x + y; }, a, b);
}
template <Several N>
SUBSALT_DEVICE N sub(N a, N b) {
    return each([](float x, float y) { return x - y; }, a, b);
}
template <Several N>
SUBSALT_DEVICE N mul(N a, N b) {
    return each([](float x, float y) { return x * y; }, a, b);
}
template <Several N>
SUBSALT_DEVICE N mul(float a, N b) {
    return each([a](float y) { return a * y; }, b);
}
template <Several N>
SUBSALT_DEVICE N div(N a, N b) {
    return each([](float x, float y) { return x / y; }, a, b);
}
template <Several N>
SUBSALT_DEVICE N fma(N a, N b, N c) {
    return each([](float x, float y, float z) { return fma1(x, y, z); }, a, b, c);
}
template <Several N>
SUBSALT_DEVICE N fma(float a, N b, N c) {
    return each([a](float y, float z) { return fma1(a, y, z); }, b, c);
}
template <Several N>
SUBSALT_DEVICE N fms(N a, N b, N c) {
    return each([](float x, float y, float z) { return fma1(x, y, -z); }, a, b, c);
}
template <Several N>
SUBSALT_DEVICE N fnma(N a, N b, N c) {
    return each([](float x, float y, float z) { return fma1(-x, y, z); }, a, b, c);
}
template <Several N>
SUBSALT_DEVICE N where_nonzero(N t, N a, N b) {
    return each([](float x, float y, float z) { return x != 0.0f ? y : z; }, t, a, b);
}

} // namespace subsalt::cuda

#define SUBSALT_DEVICE_NUMBERS
#include "formulas.hpp"
