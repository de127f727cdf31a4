// Launchers of Kirchhoff time migration on the device; all pointers in the structs are on the device.
#pragma once

#include "device.hpp"
#include "kirchhoff_problem.hpp"

namespace subsalt::cuda {

/// Neighbouring locations that a thread sums: they read a trace at nearly the same places, so that the cache next to
/// the processor serves all of them from one read.
constexpr Index in_group = 4;
/// Bytes of a pair of a trace and a location.
constexpr Index pair_bytes = 48;

/// The least s / (1 + 2 eta) of every block of 16 samples, (nloc, blocks).
Status kirchhoff_slowest(const KirchhoffMedium& medium, float* slow, cudaStream_t stream);

/// Fill `reached` (pair_bytes per trace and location, locations rounded up to groups) for `count` locations from
/// `from`, and count hits, fold and contributions. `end`: samples of the image that are looked at.
Status kirchhoff_pairs(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                       const KirchhoffImage& out, const float* slow, int end, Index from, Index count, void* reached,
                       unsigned long long* contributions, cudaStream_t stream);

/// Add the traces to the image at these locations.
Status kirchhoff_sum(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                     const KirchhoffImage& out, const void* reached, Index from, Index count, cudaStream_t stream);

} // namespace subsalt::cuda
