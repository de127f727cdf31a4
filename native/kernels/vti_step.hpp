// One time step of the VTI system on one row along z.
//
//   p_tt = v^2 [e A + s B],  q_tt = v^2 [s A + B],  A = (Dxx + Dyy) p,  B = Dzz q,  e = 1 + 2 epsilon,  s = sqrt(1 + 2
//   delta)
//
// the self-adjoint stress form of Duveneck and others (2008, SEG; 2011, Geophysics 76), stable for delta <= epsilon.
// Canonical order per point:
//   A: chain over x, y on p, then A + extra_p;   B: chain over z on q, then B + extra_q
//   p_next = fma(m, fma(e, A, s B), fms(2, p, p_prev));   q_next = fma(m, fma(s, A, B), fms(2, q, q_prev))
// Damping as in iso_step.hpp, the same t for p and q.
//
//   curr[2], prev[2]  padded p and q; prev is overwritten by next
//   m, e, s           padded, float32 or packed (model_storage.hpp); m is zero in the padding
//   extra[2]          one row each, -0.0 where the layer adds nothing
//
// Per point in 3-D at order 8: 36 bytes from memory (2 curr, 2 prev, 3 models read, 2 written; packed models 30),
// 9 x 4 + 15 = 51 operations. What limits it is memory: loops that need fewer instructions ran 1.2 times faster from L2
// and no faster from L3 or DRAM.
#pragma once

#include "kernels/iso_step.hpp"

namespace subsalt::SUBSALT_NS {

struct VtiRow {
    const float* curr[2];
    float* prev[2];
    Index at;              // offset of the row in the padded model arrays
    const float* extra[2]; // Kind::extra
    const float* t;        // Kind::damped
    float t_xy;
    float* out[2]; // Kind::laplacian: A and B
    Index ahead;
};

template <int M, int Dim, Kind K, class Storage>
void vti_row(const Problem& pb, const VtiRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Weights cx(pb.c[0], radius), cy(pb.c[1], radius), cz(pb.c[2], radius);
    const Vec centre = set1(pb.centre), two = set1(2.0f);
    const Reach x(pb.plane), y(pb.row);
    const Storage models[3] = {{pb, Model::m, row.at}, {pb, Model::e, row.at}, {pb, Model::s, row.at}};
    const Index far = row.ahead + radius * pb.plane;

    const float *w = row.curr[0] + z0, *u = row.curr[1] + z0;
    prefetch(u - lanes + row.ahead); // the padding at both ends is read along z
    prefetch(u + (z1 - z0) + row.ahead);
    for (Index z = z0; z < z1; z += lanes, w += lanes, u += lanes) {
#if defined(__x86_64__)
        asm("" : "+r"(w));
#endif
        prefetch(w + far);
        prefetch(u + row.ahead);
        prefetch(row.prev[0] + z + row.ahead);
        prefetch(row.prev[1] + z + row.ahead);
        if constexpr (K != Kind::laplacian)
            for (const Storage& model : models)
                prefetch(model.address(z + row.ahead));
        const Vec p = load(w), q = load(u);
        Vec a = mul(centre, p);
        a = add_d2<M>(a, w, x, cx, radius);
        if constexpr (Dim == 3) a = add_d2<M>(a, w, y, cy, radius);
        // unaligned loads along z: 1.15 of the rate with shifts between registers (one core, 256^3, Zen 5)
        Vec b = d2_axis<M>(u, 1, cz, radius);
        if constexpr (K == Kind::laplacian) {
            store(row.out[0] + z, a);
            store(row.out[1] + z, b);
        } else {
            if constexpr (K == Kind::extra) {
                a = add(a, load(row.extra[0] + z));
                b = add(b, load(row.extra[1] + z));
            }
            const Vec m = models[0](z), e = models[1](z), s = models[2](z);
            const Vec p_prev = load(row.prev[0] + z), q_prev = load(row.prev[1] + z);
            Vec p_next = fma(m, fma(e, a, mul(s, b)), fms(two, p, p_prev));
            Vec q_next = fma(m, fma(s, a, b), fms(two, q, q_prev));
            if constexpr (K == Kind::damped) {
                const Vec t = add(set1(row.t_xy), load(row.t + z)), one_t = add(set1(1.0f), t);
                p_next = where_nonzero(t, div(fma(t, p_prev, p_next), one_t), p_next);
                q_next = where_nonzero(t, div(fma(t, q_prev, q_next), one_t), q_next);
            }
            store(row.prev[0] + z, p_next);
            store(row.prev[1] + z, q_next);
        }
    }
}

} // namespace subsalt::SUBSALT_NS
