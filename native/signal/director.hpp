// The symmetry axis of an averaged director: the principal direction of a symmetric positive matrix n n at every point,
// by repeated squaring, as angles (subsalt.earth.building). Point by point, every operation rounded by itself: the same
// bits on every processor.
#pragma once

#include <array>
#include <cstdint>

namespace subsalt::signal {

// Components xx, xy, xz, yy, yz, zz of n points -> theta, 0 to pi/2, and phi, -pi to pi, radians.
void principal_angles(const std::array<const double*, 6>& field, float* theta, float* phi, int64_t n, int squarings);

} // namespace subsalt::signal
