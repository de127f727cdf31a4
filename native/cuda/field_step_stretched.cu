// One time step on a stretched depth axis, isotropic and VTI: kernels of their own (field_march.cuh).
#include "field_march.cuh"

namespace subsalt::cuda {

Status field_step_stretched(const DeviceProblem& pb, const Levels& lv, const Box& box, const Tuning& tuning,
                            cudaStream_t stream) {
    if (pb.fields == 1) return march_step<FieldMarch<1, true>>(pb, lv, box, tuning, stream);
    return march_step<FieldMarch<2, true>>(pb, lv, box, tuning, stream);
}

} // namespace subsalt::cuda
