// The approximations of the hardware: any number within the error that PTX allows, drawn by the bits of the operand.
//
// rsqrt.approx.ftz.f32 is wrong by 2^-22.9 of the value at most, rcp.approx.ftz.f32 by one unit in the last place (PTX
// ISA, floating point instructions). What a GPU gives lies somewhere in there, and differs between generations.
#include "cuda_runtime.h"

#include <cmath>

namespace subsalt::emulation {

namespace {

/// One of -2 .. 2.
int drawn(float a) {
    std::uint32_t x = __float_as_uint(a);
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return static_cast<int>((x ^ (x >> 16)) % 5u) - 2;
}

/// The float `steps` away from the nearest to a value, where it is no further off than allowed; else the nearest.
float beside(double value, int steps, double allowed) {
    const float nearest = static_cast<float>(value);
    if (steps == 0 || !(std::fabs(nearest) > 0.0f) || std::isinf(nearest)) return nearest;
    const float other = __int_as_float(__float_as_int(nearest) + (value < 0.0 ? -steps : steps));
    return std::fabs(static_cast<double>(other) - value) <= allowed * std::fabs(value) ? other : nearest;
}

} // namespace

float approximate_inverse_root(float a, int steps) {
    return beside(1.0 / std::sqrt(static_cast<double>(a)), steps, std::exp2(-22.9));
}

float approximate_inverse(float a, int steps) {
    const double value = 1.0 / static_cast<double>(a);
    // a unit in the last place, as part of the value: between 2^-24 and 2^-23
    int exponent = 0;
    const double mantissa = 2.0 * std::fabs(std::frexp(value, &exponent));
    return beside(value, steps, std::exp2(-23.0) / mantissa);
}

float approximate_inverse_root(float a) {
    return approximate_inverse_root(a, drawn(a));
}

float approximate_inverse(float a) {
    return approximate_inverse(a, drawn(a));
}

} // namespace subsalt::emulation
