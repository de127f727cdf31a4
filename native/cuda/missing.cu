// Weak stand-ins of launchers that are being written; each goes when the real one comes, the file with the last.
#include "kernels.hpp"

#define SUBSALT_MISSING __attribute__((weak))

namespace subsalt::cuda {

// clang-format off
SUBSALT_MISSING Status memory_step(const Problem&, const Levels&, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status field_step_vti(const Problem&, const Levels&, const Box&, const Tuning&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status field_step_tti(const Problem&, const Levels&, const Box&, const Tuning&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status apply_l_iso(const Problem&, float* const*, float* const*, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status apply_l_vti(const Problem&, float* const*, float* const*, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status apply_l_tti(const Problem&, float* const*, float* const*, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status make_points(const Points&, const Problem&, DevicePoints**, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING void free_points(DevicePoints*) {}
SUBSALT_MISSING Index count_of_points(const DevicePoints&) { return 0; }
SUBSALT_MISSING Index width_of_points(const DevicePoints&) { return 0; }
SUBSALT_MISSING Status inject(const Problem&, float* const*, const DevicePoints&, const float*, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status record(const Problem&, const float* const*, const DevicePoints&, float*, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status record_shares(const Problem&, const float* const*, const DevicePoints&, float*, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status snapshot(const Problem&, const float* const*, float*, const Box&, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status correlate(const Problem&, float*, const float*, const float* const*, const Box&, float, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status energy(const Problem&, float*, const float* const*, const Box&, float, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status square(float*, const float*, Index, float, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status product(float*, const float*, const float*, Index, float, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status look_for_infinite(const Problem&, const float* const*, int*, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status keep_shell(const Problem&, const float* const*, const Shell&, float*, cudaStream_t) { return cudaErrorUnknown; }
SUBSALT_MISSING Status put_back_shell(const Problem&, float* const*, const Shell&, const float*, cudaStream_t) { return cudaErrorUnknown; }
// clang-format on

} // namespace subsalt::cuda
