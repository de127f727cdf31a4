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

/// Samples whose coefficients lie together where the sum reads them, see kirchhoff_arrange.cu.
constexpr int together = 32;

/// Samples of a row with those that fill it up.
constexpr int arranged_row(int ns_pad) {
    return (ns_pad + together - 1) / together * together;
}

/// Bytes of the samples of traces in that arrangement; arrange them.
Index arranged_bytes(const KirchhoffTraces& traces);
Status kirchhoff_arrange(const KirchhoffTraces& traces, float* to, cudaStream_t stream);

/// The least s / (1 + 2 eta) of every block of 16 samples, (nloc, blocks).
Status kirchhoff_slowest(const KirchhoffMedium& medium, float* slow, cudaStream_t stream);

/// Fill `reached` (pair_bytes per trace and location, locations rounded up to groups) for `count` locations from
/// `from`, and count hits, fold and contributions. `end`: samples of the image that are looked at.
Status kirchhoff_pairs(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                       const KirchhoffImage& out, const float* slow, int end, Index from, Index count, void* reached,
                       unsigned long long* contributions, cudaStream_t stream);

/// Add the traces, whose samples are arranged, to the image at these locations.
Status kirchhoff_sum(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                     const KirchhoffImage& out, const void* reached, Index from, Index count, cudaStream_t stream);

} // namespace subsalt::cuda
