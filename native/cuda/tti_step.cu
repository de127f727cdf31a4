// The TTI step on a uniform depth axis (tti_step.cuh), and its operators alone.
#include "tti_step.cuh"

namespace subsalt::cuda {

Status field_step_tti(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                      cudaStream_t stream) {
    if (is_stretched(pb)) return tti_stretched(pb, levels, box, nullptr, tuning, stream);
    return tilted_step<false>(pb, levels, box, nullptr, tuning, stream);
}

int tunings_tti(const Problem& pb, Tuning* out, int most) {
    // planes 0: chosen for every box (planes_per_march)
    constexpr Tuning all[] = {{16, 0}, {16, 64}, {16, 128}, {16, 256}, {8, 0}, {8, 128}};
    const int worth = pb.dim == 2 ? 1 : pb.radius == 4 ? 6 : 4;
    const int count = most < worth ? most : worth;
    for (int i = 0; i < count; ++i)
        out[i] = all[i];
    return count;
}

Status apply_l_tti(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream) {
    Levels levels{};
    for (int f = 0; f < 2; ++f)
        levels.curr[f] = fields[f];
    if (is_stretched(pb)) return tti_stretched(pb, levels, box, out, {}, stream);
    return tilted_step<false>(pb, levels, box, out, {}, stream);
}

} // namespace subsalt::cuda
