// One time step of the VTI system on one row along z.
//
//   p_tt = v^2 [e A + s B],  q_tt = v^2 [s A + B],  A = (Dxx + Dyy) p,  B = Dzz q,  e = 1 + 2 epsilon,  s = sqrt(1 + 2
//   delta)
//
// the self-adjoint stress form of Duveneck and others (2008, SEG; 2011, Geophysics 76), stable for delta <= epsilon.
// Canonical order per point:
//   A: chain over x, y on p, then A + extra_p;   B: chain over z on q, then B + extra_q
//   p_next = fma(m, fma(e, A, s B), fms(2, p, p_prev));   q_next = fma(m, fma(s, A, B), fms(2, q, q_prev))
// Damping as in iso_step.hpp, the same t for p and q; a stretched depth axis likewise, of which B alone knows.
//
//   curr[2], prev[2]  padded p and q; prev is overwritten by next
//   m, e, s           padded, float32 or packed (model_storage.hpp); m is zero in the padding
//   extra[2]          one row each, -0.0 where the layer adds nothing
//
// Per point in 3-D at order 8: 36 bytes from memory (2 curr, 2 prev, 3 models read, 2 written; packed models 30),
// 9 x 4 + 15 = 51 operations. From DRAM that is what limits it; in cache the
// instructions do, hence two neighbouring planes at a time (all but two of the loads of p along x serve both) and
// shifts instead of loads along z. Share of the roof: `subsalt lab kernels`.
#pragma once

#include "kernels/iso_step.hpp"

namespace subsalt::SUBSALT_NS {

/// Pointers to z = 0 of a row; the row beyond it, in plane x + 1, lies pb.plane floats on.
struct VtiRow {
    const float* curr[2];
    float* prev[2];
    Index at;                 // offset of the row in the padded model arrays
    const float* extra[2][2]; // Kind::extra: of p and q, for the row and the row beyond
    const float* t;           // Kind::damped
    float t_xy[2];            // Kind::damped: of the row and of the row beyond
    float* out[2];            // Kind::laplacian: A and B
    Index ahead;
    Index front, back; // two planes: in [front, back), whole vectors, the rows are plain
};

/// p_prev <- p_next and q_prev <- q_next at z, from A and B; `i`: the row (0) or the row beyond (1).
template <Kind K, class Storage>
SUBSALT_INLINE void vti_leapfrog(const VtiRow& row, const Storage* models, Index z, [[maybe_unused]] int i,
                                 Index beyond, Vec a, Vec b, Vec p, Vec q) {
    if constexpr (K == Kind::extra) {
        a = add(a, load(row.extra[0][i] + z));
        b = add(b, load(row.extra[1][i] + z));
    }
    const Index at = z + beyond;
    float *p_made = row.prev[0] + at, *q_made = row.prev[1] + at;
    const Vec m = models[0](at), e = models[1](at), s = models[2](at);
    const Vec p_prev = load(p_made), q_prev = load(q_made);
    Vec p_next = leapfrog(m, rhs_of_p(e, s, a, b), p, p_prev);
    Vec q_next = leapfrog(m, rhs_of_q(s, a, b), q, q_prev);
    if constexpr (K == Kind::damped) {
        const Vec t = add(set1(row.t_xy[i]), load(row.t + z));
        p_next = damped(t, p_prev, p_next);
        q_next = damped(t, q_prev, q_next);
    }
    store(p_made, p_next);
    store(q_made, q_next);
}

/// Fetch what the row `ahead` needs at z.
template <Fetch F, class Storage>
SUBSALT_INLINE void vti_prefetch(const VtiRow& row, const Storage* models, Index z, Index reach) {
    const Index next = z + row.ahead;
    prefetch<F>(row.curr[0] + next + reach);
    prefetch<F>(row.curr[1] + next);
    prefetch<F>(row.prev[0] + next);
    prefetch<F>(row.prev[1] + next);
    for (int i = 0; i < 3; ++i)
        prefetch<F>(models[i].address(next));
}

/// One row. `F` as in iso_row.
template <int M, int Dim, Kind K, Fetch F, class Storage, bool Stretched>
void vti_row(const Problem& pb, const VtiRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Weights cx(pb.c[0], radius), cy(pb.c[1], radius), cz(pb.c[2], radius);
    const Vec centre = set1(pb.centre);
    DepthRow<Stretched> depth(pb, 1, pb.c[2][0], z0);
    const Reach x(pb.plane), y(pb.row);
    const Storage models[3] = {{pb, Model::m, row.at}, {pb, Model::e, row.at}, {pb, Model::s, row.at}};

    const float *w = row.curr[0] + z0, *u = row.curr[1] + z0;
    RowWindow v(u);
    if constexpr (F != Fetch::none) {
        prefetch<F>(u - lanes + row.ahead); // the padding at both ends is read along z
        prefetch<F>(u + (z1 - z0) + row.ahead);
    }
    for (Index z = z0; z < z1; z += lanes, w += lanes, u += lanes, depth += lanes) {
#if defined(__x86_64__)
        asm("" : "+r"(w));
#endif
        if constexpr (F != Fetch::none) vti_prefetch<F>(row, models, z, radius * pb.plane);
        const Vec p = load(w);
        Vec a = mul(centre, p);
        a = add_d2<M>(a, w, x, cx, radius);
        if constexpr (Dim == 3) a = add_d2<M>(a, w, y, cy, radius);
        Vec b, q;
        if constexpr (F != Fetch::none && Dim == 3) { // loads along z: from DRAM faster than shifts
            q = load(u);
            b = depth.template add_loaded_d2<M>(depth.centre(q), u, cz, radius);
        } else {
            v.at(u);
            q = v.mid;
            b = depth.template add_d2<M>(depth.centre(q), u, v, cz, radius);
        }
        if constexpr (K == Kind::laplacian) {
            store(row.out[0] + z, a);
            store(row.out[1] + z, b);
        } else {
            vti_leapfrog<K>(row, models, z, 0, 0, a, b, p, q);
        }
        v.next();
    }
}

/// The row and the row beyond it, which share most of what they read of p along x; kinds as in iso_row_two_planes.
template <int M, int Dim, Fetch F, class Storage, bool Stretched>
void vti_row_two_planes(const Problem& pb, const VtiRow& row, Index z0, Index z1, Kind ends) {
    const Weights cx(pb.c[0], M), cy(pb.c[1], M), cz(pb.c[2], M);
    const Vec centre = set1(pb.centre);
    DepthRow<Stretched> depth(pb, 1, pb.c[2][0], z0);
    const Reach x(pb.plane), y(pb.row);
    const Storage models[3] = {{pb, Model::m, row.at}, {pb, Model::e, row.at}, {pb, Model::s, row.at}};
    const Index beyond = pb.plane;

    const float *w = row.curr[0] + z0, *w2 = w + beyond, *u = row.curr[1] + z0, *u2 = u + beyond;
    RowWindow v(u), v2(u2);
    if constexpr (F != Fetch::none) {
        prefetch<F>(u - lanes + row.ahead);
        prefetch<F>(u2 - lanes + row.ahead);
        prefetch<F>(u + (z1 - z0) + row.ahead);
        prefetch<F>(u2 + (z1 - z0) + row.ahead);
    }
    Index z = z0;
    const auto up_to = [&]<Kind Here>(Index stop) __attribute__((always_inline)) {
        for (; z < stop; z += lanes, w += lanes, w2 += lanes, u += lanes, u2 += lanes, depth += lanes) {
#if defined(__x86_64__)
            asm("" : "+r"(w), "+r"(w2));
#endif
            if constexpr (F != Fetch::none) {
                vti_prefetch<F>(row, models, z, M * pb.plane);
                vti_prefetch<F>(row, models, z + beyond, M * pb.plane);
            }
            const Vec p = load(w), p2 = load(w2);
            Vec a = mul(centre, p), a2 = mul(centre, p2);
            add_d2_two_planes<M>(a, a2, w, w2, p, p2, x, cx);
            if constexpr (Dim == 3) {
                a = add_d2<M>(a, w, y, cy, M);
                a2 = add_d2<M>(a2, w2, y, cy, M);
            }
            v.at(u);
            const Vec b = depth.template add_d2<M>(depth.centre(v.mid), u, v, cz, M);
            vti_leapfrog<Here>(row, models, z, 0, 0, a, b, p, v.mid);
            v.next();
            v2.at(u2);
            const Vec b2 = depth.template add_d2<M>(depth.centre(v2.mid), u2, v2, cz, M);
            vti_leapfrog<Here>(row, models, z, 1, beyond, a2, b2, p2, v2.mid);
            v2.next();
        }
    };
    const Index stops[3] = {row.front < z1 ? row.front : z1, row.back < z1 ? row.back : z1, z1};
    for (int part = ends == Kind::plain ? 2 : 0; part < 3; ++part) {
        const Kind kind = part == 1 ? Kind::plain : ends;
        if (kind == Kind::plain)
            up_to.template operator()<Kind::plain>(stops[part]);
        else if (kind == Kind::extra)
            up_to.template operator()<Kind::extra>(stops[part]);
        else
            up_to.template operator()<Kind::damped>(stops[part]);
    }
}

} // namespace subsalt::SUBSALT_NS
