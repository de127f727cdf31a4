// One time step of the isotropic wave equation and of the VTI system (field_march.cuh), and their operators alone.
#include "apply_l.cuh"
#include "field_march.cuh"

namespace subsalt::cuda {

namespace {

/// The second derivatives along x and y at a point, added.
SUBSALT_DEVICE float add_horizontal_at(float acc, const Problem& pb, const float* u) {
    acc = add_second_at(acc, u, pb.plane, pb.c[0], pb.radius);
    return pb.dim == 3 ? add_second_at(acc, u, pb.row, pb.c[1], pb.radius) : acc;
}

/// What a step on a stretched depth axis adds along z at a point.
SUBSALT_DEVICE float add_stretched_at(float acc, const Problem& pb, const float* u, Index z) {
    const auto pair = [&](int k) { return __ldg(u + k) + __ldg(u - k); };
    return fma1(__ldg(pb.stretch.square + z), first<0>(pb.c[2], pb.radius, pair), acc);
}

template <bool Stretched>
SUBSALT_GLOBAL void iso_operator(const __grid_constant__ Problem pb, const float* p, float* out,
                                 const __grid_constant__ Box box) {
    const BoxPoint at = point_of_box(pb, box);
    if (!at.inside) return;
    const float* const u = p + at.padded;
    const float centre = Stretched ? __ldg(pb.stretch.centre[0] + at.z) : pb.centre;
    const float acc = add_horizontal_at(centre * __ldg(u), pb, u);
    out[at.dense] = Stretched ? add_stretched_at(acc, pb, u, at.z) : add_second_at(acc, u, 1, pb.c[2], pb.radius);
}

template <bool Stretched>
SUBSALT_GLOBAL void vti_operators(const __grid_constant__ Problem pb, const float* p, const float* q, float* a,
                                  float* b, const __grid_constant__ Box box) {
    const BoxPoint at = point_of_box(pb, box);
    if (!at.inside) return;
    const float *const u = p + at.padded, *const w = q + at.padded;
    a[at.dense] = add_horizontal_at(pb.centre * __ldg(u), pb, u);
    const float acc = (Stretched ? __ldg(pb.stretch.centre[1] + at.z) : pb.c[2][0]) * __ldg(w);
    b[at.dense] = Stretched ? add_stretched_at(acc, pb, w, at.z) : add_second_at(acc, w, 1, pb.c[2], pb.radius);
}

} // namespace

Status field_step_iso(const DeviceProblem& pb, const Levels& lv, const Box& box, const Tuning& tuning,
                      cudaStream_t stream) {
    if (is_stretched(pb)) return field_step_stretched(pb, lv, box, tuning, stream);
    return march_step<FieldMarch<1, false>>(pb, lv, box, tuning, stream);
}

Status field_step_vti(const DeviceProblem& pb, const Levels& lv, const Box& box, const Tuning& tuning,
                      cudaStream_t stream) {
    if (is_stretched(pb)) return field_step_stretched(pb, lv, box, tuning, stream);
    return march_step<FieldMarch<2, false>>(pb, lv, box, tuning, stream);
}

int tunings_field(const Problem& pb, Tuning* out, int most) {
    return march_tunings(pb, out, most);
}

Status apply_l_iso(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream) {
    return launch_over(is_stretched(pb) ? iso_operator<true> : iso_operator<false>, box, stream, pb, fields[0], out[0],
                       box);
}

Status apply_l_vti(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream) {
    return launch_over(is_stretched(pb) ? vti_operators<true> : vti_operators<false>, box, stream, pb, fields[0],
                       fields[1], out[0], out[1], box);
}

} // namespace subsalt::cuda
