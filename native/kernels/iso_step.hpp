// One time step of the isotropic wave equation on one row along z.
//
//   p_tt = v^2 (lap p + f),   leapfrog:   p_next = 2 p - p_prev + m (lap p + extra),   m = (v dt)^2
//
// Canonical order per point:  next = fma(m, lap, fms(2, p, prev));  lap is the chain of stencil.hpp over x, y, z,
// starting at the sum of the centre weights; with a layer  lap = lap + extra  (absorb.hpp). Damping term, t = sigma dt:
// where t is not zero  next = fma(t, prev, next) / (1 + t). Taylor weights of order 2 to 16; scheme: Dablain (1986),
// Geophysics 51; damping term: docs/theory.md.
//
//   curr   padded, radius M halo in every axis, zero outside the grid
//   prev   padded, overwritten by next; whole vectors are written, the driver restores lanes outside the box
//   m      padded, zero in the padding, so that the lanes behind the last point stay zero
//   extra  one row, what the layer adds; -0.0 where nothing is added (exact: a + -0.0 = a for every a)
//
// Per point in 3-D at order 8: 16 bytes from memory (p, prev, m read, prev written), 12 x 3 + 5 = 41 floating-point
// operations.
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// What a row needs beside the fields: plain, the layer's extra terms, the damping term, or store the Laplacian alone.
enum class Kind { plain, extra, damped, laplacian };

/// Pointers to z = 0 of one row, and the strides around it.
struct IsoRow {
    const float* curr;
    float* prev;
    const float* m;
    const float* extra; // Kind::extra: extra terms
    const float* t;     // Kind::damped: sigma_z dt along the row
    float t_xy;         // Kind::damped: (sigma_x + sigma_y) dt
    float* out;         // Kind::laplacian: where the Laplacian goes, z = 0
    Index ahead;        // floats from this row to the row to be prefetched
};

template <int M, int Dim, Kind K>
void iso_row(const Problem& pb, const IsoRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Weights cx(pb.c[0], radius), cy(pb.c[1], radius), cz(pb.c[2], radius);
    const Vec centre = set1(pb.centre), two = set1(2.0f);
    const Reach x(pb.plane), y(pb.row);
    const Index far = row.ahead + radius * pb.plane;

    const float* w = row.curr + z0;
    RowWindow v(w);
    prefetch(w - lanes + far); // the padding at both ends is read by the shifts along z
    prefetch(w + (z1 - z0) + far);
    for (Index z = z0; z < z1; z += lanes, w += lanes) {
#if defined(__x86_64__)
        asm("" : "+r"(w)); // one pointer, not one per neighbour
#endif
        prefetch(w + far);
        prefetch(row.prev + z + row.ahead);
        prefetch(row.m + z + row.ahead);
        v.at(w);
        Vec acc = mul(centre, v.mid);
        acc = add_d2<M>(acc, w, x, cx, radius);
        if constexpr (Dim == 3) acc = add_d2<M>(acc, w, y, cy, radius);
        acc = add_d2_z<M>(acc, w, v, cz, radius);
        if constexpr (K == Kind::laplacian) {
            store(row.out + z, acc);
        } else {
            if constexpr (K == Kind::extra) acc = add(acc, load(row.extra + z));
            const Vec before = load(row.prev + z);
            Vec next = fma(load(row.m + z), acc, fms(two, v.mid, before));
            if constexpr (K == Kind::damped) {
                const Vec t = add(set1(row.t_xy), load(row.t + z));
                next = where_nonzero(t, div(fma(t, before, next), add(set1(1.0f), t)), next);
            }
            store(row.prev + z, next);
        }
        v.next();
    }
}

} // namespace subsalt::SUBSALT_NS
