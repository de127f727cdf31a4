// The march of one time step of the isotropic wave equation and of the VTI system. Equations and order of operations
// per point: native/kernels/iso_step.hpp and vti_step.hpp, with a layer native/kernels/absorb.hpp; every field has the
// bits of the CPU's. `Stretched`: the depth axis follows the rock (src/subsalt/kernels/depth_rows.py). Then there are
// two rows of numbers along z, which stay in L1 and add two loads to some 20 of a quad.
//
//   curr[F], prev[F]  padded, F = 1 (p) or 2 (p and q); prev is overwritten by the next level, and above a free surface
//                     by odd images
//   m, and e, s       padded, float32 or packed; m is zero in the padding, so that what lies behind the last point of a
//                     row stays zero
//
// Layout: a thread owns a quad of z and marches along x through its planes; a block is 256 threads, 16 quads by 16 rows
// or another shape of them (parts.hpp). What a plane needs of memory is copied ahead (march.cuh): one quad each of p
// (M planes ahead), prev and m, two planes before they are needed; of VTI also of q, its prev, e and s, one plane
// before, since seven quads fill the room of three planes. The x neighbours of p are in registers, those along y and z
// come from L1 and L2; q is differentiated along z alone, so of q a thread needs its own quad and one on either side.
//
// Predicted, 3-D at order 8, isotropic: 16 bytes per point from memory (packed m 14), and 2 M / planes of 4 bytes more
// where a march begins: 0.3 in marches of 100 planes. From L2 p comes 1.75 times (16 rows read 24, and a sector on
// either side of z) where L1 still has the plane read M planes ago, 2.75 times where it has not: 19 to 23 bytes per
// point. 270 instructions per quad, 43 % of what a multiprocessor issues in the time that its share of 3.4 TB/s takes.
// So memory limits: 80 % of the copy bandwidth. In the layer the terms add 12 bytes per axis, and memory_step 12.
// VTI: 36 bytes per point from memory (packed models 30): p, q, both prev, m, e, s read, both prev written; 57 KB per
// multiprocessor are on their way, where 23 KB keep memory busy. From L2 at most 45 bytes per point. So memory limits,
// more clearly than for one field. Registers at order 8 on sm_90 leave room for two blocks per multiprocessor.
#pragma once

#include "absorb.cuh"
#include "march.cuh"
#include "march_step.hpp"

namespace subsalt::cuda {

/// The quads of a plane that are copied ahead; of one field the first three.
enum Array { of_m, of_prev, of_head, of_e, of_s, of_q, of_q_prev };

template <int Fields>
using FieldSlots = Slots<Fields == 1 ? 3 : 2, Fields == 1 ? of_e : of_q_prev + 1>;

/// acc + a^2 times the second derivative along a stretched z, of which acc has the centre.
template <int M, class Pair>
SUBSALT_DEVICE float4 add_stretched(float4 acc, const Problem& pb, const Place& at, Pair pair) {
    return fma(load4(pb.stretch.square + at.z), first<M, true>(pb.c[2], pb.radius, pair), acc);
}

/// The march of a thread. `Axes`: those of the layer that have terms (absorb.cuh).
template <int Fields, int M, int Dim, Boundary B, class Storage, bool Stretched, int Axes>
SUBSALT_DEVICE void march_with(const DeviceProblem& pb, const Levels& lv, const Part& part, Place at, float4* room) {
    constexpr int stages = FieldSlots<Fields>::planes;
    constexpr bool along_z = (Axes & 4) != 0, quads = Axes != all_axes;
    FieldSlots<Fields> slots(room);
    const int radius = M > 0 ? M : pb.radius, planes = at.x_end - at.x;
    Index here = padded_offset(pb, at.x, at.y, at.z);

    const auto fetch = [&](Index offset, auto place) {
        const auto quad_at = [offset](const float* p) { return reinterpret_cast<const float4*>(p + offset); };
        start_copy<false>(place(of_m), Storage::at(pb, Model::m, offset));
        start_copy<false>(place(of_prev), quad_at(lv.prev[0]));
        if (M > 0) start_copy<true>(place(of_head), quad_at(lv.curr[0] + M * pb.plane));
        if constexpr (Fields == 2) {
            start_copy<false>(place(of_e), Storage::at(pb, Model::e, offset));
            start_copy<false>(place(of_s), Storage::at(pb, Model::s, offset));
            start_copy<false>(place(of_q_prev), quad_at(lv.prev[1]));
            start_copy<true>(place(of_q), quad_at(lv.curr[1]));
        }
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
        if constexpr (Axes != 0) keep_nothing_of(at);
        if (at.x + stages - 1 < at.x_end)
            fetch(here + (stages - 1) * pb.plane, [&](int i) { return slots.ahead(i); });
        else
            commit_copies();
        wait_for_copies<stages - 1>();
        const float* const u = lv.curr[0] + here;
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

        // the Laplacian of p; of VTI its x and y part a, and D2 of q along z, b
        float4 a = Stretched && Fields == 1 ? mul(load4(pb.stretch.centre[0] + at.z), p) : mul(pb.centre, p),
               extra = quad_of(-0.0f);
        const auto add_axis = [&](auto axis, auto pair) {
            if constexpr ((Axes & 1 << axis) != 0) {
                float4 own = mul(pb.c[axis][0], p);
                add_second_twice<M>(a, own, pb.c[axis], radius, pair);
                extra = add(extra, layer_term<M, axis>(pb, lv, part, at, own));
            } else {
                a = add_second<M>(a, pb.c[axis], radius, pair);
            }
        };
        add_axis(Constant<0>{}, pair_x);
        if constexpr (Dim == 3) add_axis(Constant<1>{}, pair_y);
        const auto model = [&](Model which, int i) {
            return Storage::values(pb, which, slots.template now<typename Storage::Quad>(i));
        };
        const auto finish = [&](int field, float4 rhs, float4 mid, float4 before) {
            float4 next = leapfrog(model(Model::m, of_m), rhs, mid, before);
            if constexpr (B == Boundary::damping) next = damped(damping_at(pb, at), before, next);
            finish_quad(pb, part, at, lv.prev[field] + here, next);
        };
        if constexpr (Fields == 1) {
            const RowWindow<M> row(u, p, radius);
            const auto pair_z = [&](int k) { return row.pair(k); };
            if constexpr (along_z) {
                float4 own = mul(pb.c[2][0], p);
                if constexpr (Stretched) {
                    a = add_stretched<M>(a, pb, at, pair_z);
                    own = add_second<M, true>(own, pb.c[2], radius, pair_z);
                } else {
                    add_second_twice<M, true>(a, own, pb.c[2], radius, pair_z);
                }
                a = add(a, add_term_z<M, Stretched, quads>(extra, pb, lv, part, at, own));
            } else {
                if constexpr (Stretched)
                    a = add_stretched<M>(a, pb, at, pair_z);
                else
                    a = add_second<M, true>(a, pb.c[2], radius, pair_z);
                if constexpr (Axes != 0) a = add(a, extra);
            }
            finish(0, a, p, slots.now(of_prev));
        } else {
            if constexpr (Axes != 0) a = add(a, extra);
            const float4 q = slots.now(of_q);
            const RowWindow<M> row(lv.curr[1] + here, q, radius);
            const auto pair_z = [&](int k) { return row.pair(k); };
            float4 b = quad_of(0.0f), own = b;
            if constexpr (!Stretched || along_z) own = add_second<M, true>(mul(pb.c[2][0], q), pb.c[2], radius, pair_z);
            if constexpr (Stretched)
                b = add_stretched<M>(mul(load4(pb.stretch.centre[1] + at.z), q), pb, at, pair_z);
            else
                b = own;
            if constexpr (along_z) b = add(b, add_term_z<M, Stretched, quads>(quad_of(-0.0f), pb, lv, part, at, own));
            const float4 e = model(Model::e, of_e), s = model(Model::s, of_s);
            finish(0, rhs_of_p(e, s, a, b), p, slots.now(of_prev));
            finish(1, rhs_of_q(s, a, b), q, slots.now(of_q_prev));
        }
        column.next();
        slots.next();
        here += pb.plane;
    }
}

template <int Fields, int M, int Dim, Boundary B, class Storage, bool Stretched>
SUBSALT_GLOBAL void __launch_bounds__(block_threads, 2)
    field_march(const __grid_constant__ DeviceProblem pb, const __grid_constant__ Levels lv,
                const __grid_constant__ Parts parts) {
    const Part& part = part_of_block(parts);
    const BlockPoints block = points_of_block(pb, part);
    const Place at = place_of_thread(pb, part, block);
    if (at.idle) return;
    SUBSALT_SHARED(float4, room);
    const auto march = [&](auto axes) {
        march_with<Fields, M, Dim, B, Storage, Stretched, axes>(pb, lv, part, at, room);
    };
    if constexpr (B != Boundary::pml)
        march(Constant<0>{});
    else if constexpr (M == 0 || Dim == 2)
        march(Constant<all_axes>{});
    else
        for_axes(axes_near(pb, block), march);
}

template <int Fields, bool Stretched>
struct FieldMarch {
    static constexpr int shared = FieldSlots<Fields>::bytes * block_threads;

    /// 2 M planes of p are loaded before the first turn, 4 of the 16 or 36 bytes of a plane each, and one turn is as
    /// long as the memory takes to answer.
    static int warm_up(int radius) { return 1 + (Fields == 1 ? radius / 2 : radius / 4); }

    template <int M, int Dim, Boundary B, class Storage>
    static auto kernel() {
        return field_march<Fields, M, Dim, B, Storage, Stretched>;
    }
};

} // namespace subsalt::cuda
