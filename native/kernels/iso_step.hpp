// One time step of the isotropic wave equation on one row along z.
//
//   p_tt = v^2 (lap p + f),   leapfrog:   p_next = 2 p - p_prev + m (lap p + extra),   m = (v dt)^2
//
// Canonical order per point:  next = fma(m, lap, fms(2, p, prev));  lap is the chain of stencil.hpp over x, y, z,
// starting at the sum of the centre weights; with a layer  lap = lap + extra  (absorb.hpp). Damping term, t = sigma dt:
// where t is not zero  next = fma(t, prev, next) / (1 + t). Taylor weights of order 2 to 16; scheme: Dablain (1986),
// Geophysics 51; damping term: docs/theory/rtm.md.
// On a stretched depth axis (`Stretched`) the field is r = a^(1/2) p: the chain begins at a centre weight per point,
// and its part along z is fma(a^2, c_1 (w[+1] + w[-1]) + ..., acc) (stencil.hpp).
//
//   curr   padded, radius M halo in every axis, zero outside the grid
//   prev   padded, overwritten by next; whole vectors are written, the driver restores lanes outside the box
//   m      padded, float32 or packed (model_storage.hpp), zero in the padding, so that the lanes behind the last point
//          stay zero
//   extra  one row, what the layer adds; -0.0 where nothing is added (exact: a + -0.0 = a for every a)
//
// Per point in 3-D at order 8: 16 bytes from memory (p, prev, m read, prev written; packed m 14), less when several
// steps share a pass; 12 x 3 + 5 = 41 floating-point operations, which are 27 instructions and 8 shifts
// per vector. Two rows of neighbouring planes are done together: of 10 planes read, 8 serve both, so that a vector
// costs 7 cache lines from L2 instead of 11 and 15 loads instead of 19. Share of the roof: `subsalt lab kernels`.
#pragma once

#include "kernels/model_storage.hpp"
#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// What a row needs beside the fields: plain, the layer's extra terms, the damping term, or store the Laplacian alone.
enum class Kind { plain, extra, damped, laplacian };

/// Pointers to z = 0 of a row; the row beyond it, in plane x + 1, lies pb.plane floats on.
struct IsoRow {
    const float* curr;
    float* prev;
    Index at;              // offset of the row in the padded model
    const float* extra[2]; // Kind::extra: extra terms of the row and of the row beyond
    const float* t;        // Kind::damped: sigma_z dt along the row
    float t_xy[2];         // Kind::damped: (sigma_x + sigma_y) dt of the row and of the row beyond
    float* out;            // Kind::laplacian: where the Laplacian goes, z = 0
    Index ahead;           // floats from this row to the row to be prefetched
    Index front, back;     // two planes: in [front, back), whole vectors, the rows are plain
};

/// prev <- next, where acc is the Laplacian and mid the field.
template <Kind K>
SUBSALT_INLINE void advance(float* prev, Vec m, Vec acc, Vec mid, const float* extra, const float* t, float t_xy) {
    if constexpr (K == Kind::extra) acc = add(acc, load(extra));
    const Vec before = load(prev);
    Vec next = leapfrog(m, acc, mid, before);
    if constexpr (K == Kind::damped) next = damped(add(set1(t_xy), load(t)), before, next);
    store(prev, next);
}

/// One row. `F`: where what the row `ahead` needs is prefetched to.
template <int M, int Dim, Kind K, Fetch F, class Storage, bool Stretched>
void iso_row(const Problem& pb, const IsoRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Weights cx(pb.c[0], radius), cy(pb.c[1], radius), cz(pb.c[2], radius);
    DepthRow<Stretched> depth(pb, 0, pb.centre, z0);
    const Reach x(pb.plane), y(pb.row);
    const Index ahead = row.ahead, far = ahead + radius * pb.plane;

    const float *w = row.curr + z0, *end = row.curr + z1;
    Storage m(pb, Model::m, row.at + z0);
    float* prev = (K == Kind::laplacian ? row.out : row.prev) + z0;
    const float *extra = row.extra[0] + z0, *t = row.t + z0;
    RowWindow v(w);
    if constexpr (F != Fetch::none) {
        prefetch<F>(w - lanes + far); // the padding at both ends is read by the shifts along z
        prefetch<F>(end + far);
    }
    for (; w < end; w += lanes, m += lanes, prev += lanes, extra += lanes, t += lanes, depth += lanes) {
#if defined(__x86_64__)
        asm("" : "+r"(w)); // one pointer, not one per neighbour
#endif
        if constexpr (F != Fetch::none) {
            prefetch<F>(w + far);
            prefetch<F>(prev + ahead);
            prefetch<F>(m.address(ahead));
        }
        v.at(w);
        Vec acc = depth.centre(v.mid);
        acc = add_d2<M>(acc, w, x, cx, radius);
        if constexpr (Dim == 3) acc = add_d2<M>(acc, w, y, cy, radius);
        acc = depth.template add_d2<M>(acc, w, v, cz, radius);
        if constexpr (K == Kind::laplacian)
            store(prev, acc);
        else
            advance<K>(prev, m(0), acc, v.mid, extra, t, row.t_xy[0]);
        v.next();
    }
}

/// The row and the row beyond it, which share 8 of the 10 planes they read at order 8 (in L2: 0.65 of the time of two
/// single rows, from memory 0.8). The rows are of kind `ends`, in [row.front, row.back) plain: all kinds in one
/// function, because every loop written out costs a second to compile.
template <int M, int Dim, Fetch F, class Storage, bool Stretched>
void iso_row_two_planes(const Problem& pb, const IsoRow& row, Index z0, Index z1, Kind ends) {
    const Weights cx(pb.c[0], M), cy(pb.c[1], M), cz(pb.c[2], M);
    DepthRow<Stretched> depth(pb, 0, pb.centre, z0);
    const Reach x(pb.plane), y(pb.row);
    const Index ahead = row.ahead, far = ahead + M * pb.plane, beyond = pb.plane;

    const float *w = row.curr + z0, *w2 = w + beyond;
    Storage m(pb, Model::m, row.at + z0);
    float* prev = row.prev + z0;
    RowWindow v(w), v2(w2);
    if constexpr (F != Fetch::none) {
        const float* end = row.curr + z1;
        prefetch<F>(w - lanes + far);
        prefetch<F>(w2 - lanes + far);
        prefetch<F>(end + far);
        prefetch<F>(end + beyond + far);
    }
    const auto up_to = [&]<Kind Here>(const float* stop) __attribute__((always_inline)) {
        const Index z = w - row.curr;
        const float *extra = row.extra[0] + z, *extra2 = row.extra[1] + z, *t = row.t + z;
        for (; w < stop; w += lanes, w2 += lanes, m += lanes, prev += lanes, extra += lanes, extra2 += lanes,
                         t += lanes, depth += lanes) {
#if defined(__x86_64__)
            asm("" : "+r"(w), "+r"(w2));
#endif
            if constexpr (F != Fetch::none) {
                prefetch<F>(w + far);
                prefetch<F>(w2 + far);
                prefetch<F>(prev + ahead);
                prefetch<F>(prev + beyond + ahead);
                prefetch<F>(m.address(ahead));
                prefetch<F>(m.address(beyond + ahead));
            }
            v.at(w);
            v2.at(w2);
            Vec acc = depth.centre(v.mid), acc2 = depth.centre(v2.mid);
            add_d2_two_planes<M>(acc, acc2, w, w2, v.mid, v2.mid, x, cx);
            if constexpr (Dim == 3) {
                acc = add_d2<M>(acc, w, y, cy, M);
                acc2 = add_d2<M>(acc2, w2, y, cy, M);
            }
            acc = depth.template add_d2<M>(acc, w, v, cz, M);
            acc2 = depth.template add_d2<M>(acc2, w2, v2, cz, M);
            advance<Here>(prev, m(0), acc, v.mid, extra, t, row.t_xy[0]);
            advance<Here>(prev + beyond, m(beyond), acc2, v2.mid, extra2, t, row.t_xy[1]);
            v.next();
            v2.next();
        }
    };
    const Index stops[3] = {row.front < z1 ? row.front : z1, row.back < z1 ? row.back : z1, z1};
    for (int part = ends == Kind::plain ? 2 : 0; part < 3; ++part) {
        const Kind kind = part == 1 ? Kind::plain : ends;
        const float* stop = row.curr + stops[part];
        if (kind == Kind::plain)
            up_to.template operator()<Kind::plain>(stop);
        else if (kind == Kind::extra)
            up_to.template operator()<Kind::extra>(stop);
        else
            up_to.template operator()<Kind::damped>(stop);
    }
}

} // namespace subsalt::SUBSALT_NS
