// Weak stand-ins of launchers that are being written; each goes when the real one comes, the file with the last.
#include "kernels.hpp"

#define SUBSALT_MISSING __attribute__((weak))

namespace subsalt::cuda {

// clang-format off
SUBSALT_MISSING Status field_step_tti(const Problem&, const Levels&, const Box&, const Tuning&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status apply_l_tti(const Problem&, float* const*, float* const*, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING int tunings_iso(const Problem&, Tuning*, int) { return 0; }
SUBSALT_MISSING int tunings_vti(const Problem&, Tuning*, int) { return 0; }
SUBSALT_MISSING int tunings_tti(const Problem&, Tuning*, int) { return 0; }
// clang-format on

} // namespace subsalt::cuda
