// One time step of the VTI system, and its operators alone. Equations and order of operations per point:
// native/kernels/vti_step.hpp, with a layer native/kernels/absorb.hpp; every field has the bits of the CPU's.
//
//   curr[2], prev[2]  padded p and q; prev is overwritten by the next level, and above a free surface by odd images
//   m, e, s           padded, float32 or packed; m is zero in the padding
//
// Layout as in iso_step.cu: p along x in registers, along y from L1; q is differentiated along z alone, so of q a
// thread needs its own quad and one on either side.
//
// Predicted, 3-D at order 8: 36 bytes per point from memory (packed models 30): p, q, both prev, m, e, s read, both
// prev written; 7 quads per thread are copied ahead, one plane before they are needed: 57 KB per multiprocessor on
// their way, where 23 KB keep memory busy. From L2 at most 45 bytes per point. 114 registers at order 8 on sm_90: two
// blocks per multiprocessor. So memory limits, more clearly than for one field: 80 % and more of the copy bandwidth.
#include "absorb.cuh"
#include "apply_l.cuh"
#include "march.cuh"
#include "march_step.hpp"

namespace subsalt::cuda {

namespace {

constexpr int stages = 2;
enum Array { of_m, of_e, of_s, of_p_prev, of_q_prev, of_q, of_head, arrays };

template <int M, int Dim, Boundary B, class Storage>
SUBSALT_GLOBAL void __launch_bounds__(block_threads, 2)
    vti_march(const __grid_constant__ Problem pb, const __grid_constant__ Levels lv,
              const __grid_constant__ Parts parts) {
    const Part& part = part_of_block(parts);
    Place at = place_of_thread(pb, part);
    if (at.idle) return;
    SUBSALT_SHARED(float4, room);
    Slots<stages, arrays> slots(room);
    const int radius = M > 0 ? M : pb.radius, planes = at.x_end - at.x;
    Index here = padded_offset(pb, at.x, at.y, at.z);

    const auto fetch = [&](Index offset, auto place) {
        const auto quad_at = [offset](const float* p) { return reinterpret_cast<const float4*>(p + offset); };
        start_copy<false>(place(of_m), Storage::at(pb, Model::m, offset));
        start_copy<false>(place(of_e), Storage::at(pb, Model::e, offset));
        start_copy<false>(place(of_s), Storage::at(pb, Model::s, offset));
        start_copy<false>(place(of_p_prev), quad_at(lv.prev[0]));
        start_copy<false>(place(of_q_prev), quad_at(lv.prev[1]));
        start_copy<true>(place(of_q), quad_at(lv.curr[1]));
        if (M > 0) start_copy<true>(place(of_head), quad_at(lv.curr[0] + M * pb.plane));
        commit_copies();
    };
    for (int s = 0; s < stages - 1; ++s)
        if (s < planes)
            fetch(here + s * pb.plane, [&](int i) { return slots.of_stage(s, i); });
        else
            commit_copies();
    Column<M> column;
    column.begin(lv.curr[0] + here, pb.plane);

    for (; at.x < at.x_end; ++at.x) {
        if constexpr (B == Boundary::pml) keep_nothing_of(at);
        if (at.x + stages - 1 < at.x_end)
            fetch(here + (stages - 1) * pb.plane, [&](int i) { return slots.ahead(i); });
        else
            commit_copies();
        wait_for_copies<stages - 1>();
        const float *const u = lv.curr[0] + here, *const w = lv.curr[1] + here;
        float4 p;
        if constexpr (M > 0) {
            column.put_ahead(slots.now(of_head));
            p = column.mid();
        } else {
            p = load4(u);
        }
        const Loaded along_x{u, pb.plane}, along_y{u, pb.row};
        const auto pair_x = [&](int k) {
            if constexpr (M > 0)
                return column.pair(k);
            else
                return along_x.pair(k);
        };
        const auto pair_y = [&](int k) { return along_y.pair(k); };
        float4 a = mul(pb.centre, p);
        if constexpr (B == Boundary::pml) {
            float4 own = mul(pb.c[0][0], p);
            add_second_twice<M>(a, own, pb.c[0], radius, pair_x);
            float4 extra = layer_term<M>(pb, lv, part, 0, at, own);
            if (Dim == 3) {
                own = mul(pb.c[1][0], p);
                add_second_twice<M>(a, own, pb.c[1], radius, pair_y);
                extra = add(extra, layer_term<M>(pb, lv, part, 1, at, own));
            }
            a = add(a, extra);
        } else {
            a = add_second<M>(a, pb.c[0], radius, pair_x);
            if (Dim == 3) a = add_second<M>(a, pb.c[1], radius, pair_y);
        }
        const float4 q = slots.now(of_q);
        const RowWindow<M> row(w, q, radius);
        float4 b = add_second<M, true>(mul(pb.c[2][0], q), pb.c[2], radius, [&](int k) { return row.pair(k); });
        if constexpr (B == Boundary::pml) b = add(b, add_term_z<M>(quad_of(-0.0f), pb, lv, part, at, b));

        const auto model = [&](Model which, int i) {
            return Storage::values(pb, which, slots.template now<typename Storage::Quad>(i));
        };
        const float4 m = model(Model::m, of_m), e = model(Model::e, of_e), s = model(Model::s, of_s);
        const float4 p_prev = slots.now(of_p_prev), q_prev = slots.now(of_q_prev);
        float4 p_next = leapfrog(m, rhs_of_p(e, s, a, b), p, p_prev);
        float4 q_next = leapfrog(m, rhs_of_q(s, a, b), q, q_prev);
        if constexpr (B == Boundary::damping) {
            const float4 t = damping_at(pb, at);
            p_next = damped(t, p_prev, p_next);
            q_next = damped(t, q_prev, q_next);
        }
        finish_quad(pb, part, at, lv.prev[0] + here, p_next);
        finish_quad(pb, part, at, lv.prev[1] + here, q_next);

        column.next();
        slots.next();
        here += pb.plane;
    }
}

SUBSALT_GLOBAL void vti_operators(const __grid_constant__ Problem pb, const float* p, const float* q, float* a,
                                  float* b, const __grid_constant__ Box box) {
    const BoxPoint at = point_of_box(pb, box);
    if (!at.inside) return;
    const float *const u = p + at.padded, *const w = q + at.padded;
    float acc = add_second_at(pb.centre * __ldg(u), u, pb.plane, pb.c[0], pb.radius);
    if (pb.dim == 3) acc = add_second_at(acc, u, pb.row, pb.c[1], pb.radius);
    a[at.dense] = acc;
    b[at.dense] = add_second_at(pb.c[2][0] * __ldg(w), w, 1, pb.c[2], pb.radius);
}

struct VtiMarch {
    static constexpr int shared = Slots<stages, arrays>::bytes * block_threads;

    template <int M, int Dim, Boundary B, class Storage>
    static auto kernel() {
        return vti_march<M, Dim, B, Storage>;
    }
};

} // namespace

Status field_step_vti(const Problem& pb, const Levels& lv, const Box& box, const Tuning& tuning, cudaStream_t stream) {
    return march_step<VtiMarch>(pb, lv, box, tuning, stream);
}

int tunings_vti(const Problem& pb, Tuning* out, int most) {
    return march_tunings(pb, out, most);
}

Status apply_l_vti(const Problem& pb, float* const* fields, float* const* out, const Box& box, cudaStream_t stream) {
    return launch_over(vti_operators, box, stream, pb, fields[0], fields[1], out[0], out[1], box);
}

} // namespace subsalt::cuda
