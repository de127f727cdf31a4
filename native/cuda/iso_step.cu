// One time step of the isotropic wave equation, and its Laplacian alone. Equation and order of operations per point:
// native/kernels/iso_step.hpp, with a layer native/kernels/absorb.hpp; every field has the bits of the CPU's.
//
//   curr   padded, read only;  prev  padded, overwritten by the next level, and above a free surface by odd images
//   m      padded, float32 or packed, zero in the padding, so that what lies behind the last point of a row stays zero
//
// Layout: a thread owns a quad of z and marches along x through its planes; a block is 256 threads, 16 quads by 16 rows
// or another shape of them (parts.hpp). Per plane it gets from memory one quad each of p (M planes ahead), prev and m,
// two planes before they are needed (march.cuh), and writes one; the x neighbours are in registers, those along y and z
// come from L1 and L2. 118 registers at order 8 on sm_90: two blocks per multiprocessor.
//
// Predicted, 3-D at order 8: 16 bytes per point from memory (packed m 14), and 2 M / planes of 4 bytes more where a
// march begins: 0.3 in marches of 100 planes. From L2 p comes 1.75 times (16 rows read 24, and a sector on either side
// of z) where L1 still has the plane read M planes ago, 2.75 times where it has not: 19 to 23 bytes per point. 270
// instructions per quad, 43 % of what a multiprocessor issues in the time that its share of 3.4 TB/s takes. So memory
// limits: 80 % of the copy bandwidth. In the layer the terms add 12 bytes per axis, and memory_step 12.
#include "absorb.cuh"
#include "apply_l.cuh"
#include "march.cuh"
#include "march_step.hpp"

namespace subsalt::cuda {

namespace {

constexpr int stages = 3;
enum Array { of_m, of_prev, of_head, arrays };

template <int M, int Dim, Boundary B, class Storage>
SUBSALT_GLOBAL void __launch_bounds__(block_threads, 2)
    iso_march(const __grid_constant__ Problem pb, const __grid_constant__ Levels lv,
              const __grid_constant__ Parts parts) {
    const Part& part = part_of_block(parts);
    Place at = place_of_thread(pb, part);
    if (at.idle) return;
    SUBSALT_SHARED(float4, room);
    Slots<stages, arrays> slots(room);
    const int radius = M > 0 ? M : pb.radius, planes = at.x_end - at.x;
    const Index first = padded_offset(pb, at.x, at.y, at.z), ahead = (stages - 1) * pb.plane;
    const float* u = lv.curr[0] + first;
    float* prev = lv.prev[0] + first;
    const typename Storage::Quad* m = Storage::at(pb, Model::m, first);

    const auto fetch = [&](Index offset, auto place) {
        start_copy<false>(place(of_m), m + offset / quad);
        start_copy<false>(place(of_prev), reinterpret_cast<const float4*>(prev + offset));
        if (M > 0) start_copy<true>(place(of_head), reinterpret_cast<const float4*>(u + offset + M * pb.plane));
        commit_copies();
    };
    for (int s = 0; s < stages - 1; ++s)
        if (s < planes)
            fetch(s * pb.plane, [&](int i) { return slots.of_stage(s, i); });
        else
            commit_copies();
    Column<M> column;
    column.begin(u, pb.plane);

    for (; at.x < at.x_end; ++at.x) {
        if constexpr (B == Boundary::pml) keep_nothing_of(at);
        if (at.x + stages - 1 < at.x_end)
            fetch(ahead, [&](int i) { return slots.ahead(i); });
        else
            commit_copies();
        wait_for_copies<stages - 1>();
        float4 mid;
        if constexpr (M > 0) {
            column.put_ahead(slots.now(of_head));
            mid = column.mid();
        } else {
            mid = load4(u);
        }
        const Loaded along_x{u, pb.plane}, along_y{u, pb.row};
        const auto pair_x = [&](int k) {
            if constexpr (M > 0)
                return column.pair(k);
            else
                return along_x.pair(k);
        };
        const auto pair_y = [&](int k) { return along_y.pair(k); };
        float4 acc = mul(pb.centre, mid);
        if constexpr (B == Boundary::pml) {
            float4 own = mul(pb.c[0][0], mid);
            add_second_twice<M>(acc, own, pb.c[0], radius, pair_x);
            float4 extra = layer_term<M>(pb, lv, part, 0, at, own);
            if (Dim == 3) {
                own = mul(pb.c[1][0], mid);
                add_second_twice<M>(acc, own, pb.c[1], radius, pair_y);
                extra = add(extra, layer_term<M>(pb, lv, part, 1, at, own));
            }
            const RowWindow<M> row(u, mid, radius);
            own = mul(pb.c[2][0], mid);
            add_second_twice<M, true>(acc, own, pb.c[2], radius, [&](int k) { return row.pair(k); });
            acc = add(acc, add_term_z<M>(extra, pb, lv, part, at, own));
        } else {
            acc = add_second<M>(acc, pb.c[0], radius, pair_x);
            if (Dim == 3) acc = add_second<M>(acc, pb.c[1], radius, pair_y);
            const RowWindow<M> row(u, mid, radius);
            acc = add_second<M, true>(acc, pb.c[2], radius, [&](int k) { return row.pair(k); });
        }
        const float4 before = slots.now(of_prev);
        const float4 vm = Storage::values(pb, Model::m, slots.template now<typename Storage::Quad>(of_m));
        float4 next = leapfrog(vm, acc, mid, before);
        if constexpr (B == Boundary::damping) next = damped(damping_at(pb, at), before, next);
        finish_quad(pb, part, at, prev, next);

        column.next();
        slots.next();
        u += pb.plane, prev += pb.plane, m += pb.plane / quad;
    }
}

SUBSALT_GLOBAL void iso_operator(const __grid_constant__ Problem pb, const float* p, float* out,
                                 const __grid_constant__ Box box) {
    const BoxPoint at = point_of_box(pb, box);
    if (!at.inside) return;
    const float* const u = p + at.padded;
    float acc = pb.centre * __ldg(u);
    acc = add_second_at(acc, u, pb.plane, pb.c[0], pb.radius);
    if (pb.dim == 3) acc = add_second_at(acc, u, pb.row, pb.c[1], pb.radius);
    out[at.dense] = add_second_at(acc, u, 1, pb.c[2], pb.radius);
}

struct IsoMarch {
    static constexpr int shared = Slots<stages, arrays>::bytes * block_threads;

    template <int M, int Dim, Boundary B, class Storage>
    static auto kernel() {
        return iso_march<M, Dim, B, Storage>;
    }
};

} // namespace

Status field_step_iso(const Problem& pb, const Levels& lv, const Box& box, const Tuning& tuning, cudaStream_t stream) {
    return march_step<IsoMarch>(pb, lv, box, tuning, stream);
}

int tunings_iso(const Problem& pb, Tuning* out, int most) {
    return march_tunings(pb, out, most);
}

Status apply_l_iso(const Problem& pb, float* const* fields, float* const* out, const Box& box, cudaStream_t stream) {
    return launch_over(iso_operator, box, stream, pb, fields[0], out[0], box);
}

} // namespace subsalt::cuda
