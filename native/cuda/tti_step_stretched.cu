// The TTI step on a stretched depth axis, or its operators: kernels of their own (tti_step.cuh).
#include "tti_step.cuh"

namespace subsalt::cuda {

Status tti_stretched(const DeviceProblem& pb, const Levels& levels, const Box& box, float* const* out,
                     const Tuning& tuning, cudaStream_t stream) {
    return tilted_step<true>(pb, levels, box, out, tuning, stream);
}

} // namespace subsalt::cuda
