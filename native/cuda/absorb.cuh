// What the layer adds at a quad of points: PML terms in the canonical order of native/kernels/absorb.hpp, where the
// equations are, and the damping term of native/kernels/iso_step.hpp.
//
//   term     g = D1 Psi  (in the layer and the M cells inside its edge, Psi = 0 outside the layer)
//            r = D2 u + g;  Zeta <- fma(b, Zeta, (b - 1) r)            in the layer
//            term = g + Zeta (layer), g (the M cells), -0.0 elsewhere
//   extra = (term_x + term_y) + term_z
//
// On a stretched depth axis the term along z is added as fma(a^2, term_z, extra). A point near both sides of z, on a
// grid with few points, gets the two terms of the CPU's two windows one after the other: (extra + front) + back. Psi
// and Zeta lie as on the CPU (struct Levels in native/include/problem.hpp); of their cells outside the layer, which the
// CPU writes too, none is touched: they hold +0 and keep it. Bytes per point of a layer and axis: Zeta read and
// written, Psi read: 12; memory_step: Psi read and written, the field read: 12. Along z the cells are read and written
// one by one: the back window is not aligned to quads.
#pragma once

#include "parts.hpp"
#include "stencil.cuh"

namespace subsalt::cuda {

/// Whether a cell lies in the layer of an axis or within M cells of it.
SUBSALT_DEVICE bool near_layer(const Problem& pb, int axis, int i) {
    const int lo = static_cast<int>(pb.width[2 * axis]), hi = static_cast<int>(pb.width[2 * axis + 1]);
    return (lo > 0 && i < lo + pb.radius) || (hi > 0 && i >= static_cast<int>(pb.n[axis]) - hi - pb.radius);
}

/// Where the memory of x (at y) or y (at x) lies: rows of the layer `stride` floats apart, from `begin` on.
struct LayerRows {
    Index begin, stride;
};
SUBSALT_DEVICE LayerRows layer_rows(const Problem& pb, int axis, int x, int y, int z) {
    if (axis == 0) return {y * pb.compact_row + z, pb.n[1] * pb.compact_row};
    return {x * (pb.width[2] + pb.width[3]) * pb.compact_row + z, pb.compact_row};
}

/// Where the memory of z of a row begins.
SUBSALT_DEVICE Index window_row(const Problem& pb, int x, int y) {
    return (x * pb.n[1] + y) * pb.wz.stride;
}

/// Places of the cells z - 4 .. z + 7 in a row of the memory of z, -1 outside the layer; z a multiple of 4.
struct LayerCells {
    int cell[3 * quad];

    SUBSALT_DEVICE LayerCells(const DeviceProblem& pb, int z) {
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            const int4 v = __ldg(reinterpret_cast<const int4*>(pb.layer_cell[2] + z) + i - 1);
            int* const c = cell + quad * i;
            c[0] = v.x, c[1] = v.y, c[2] = v.z, c[3] = v.w;
        }
    }
    SUBSALT_DEVICE int at(int i) const { return cell[quad + i]; }
};

/// Component i of a quad, i known to the compiler.
SUBSALT_DEVICE float component(float4 a, int i) {
    return i == 0 ? a.x : i == 1 ? a.y : i == 2 ? a.z : a.w;
}

/// Write the components of a quad that lie in the part.
SUBSALT_DEVICE void store_inside(const Part& part, const Place& at, float* p, float4 a) {
    if (at.whole) return store4(p, a);
#pragma unroll
    for (int i = 0; i < quad; ++i)
        if (at.z + i >= part.lo[2] && at.z + i < part.hi[2]) p[i] = component(a, i);
}

/// The term along x or y at cell i of the axis, and Zeta advanced; d2: D2 of the field along this axis.
template <int M>
SUBSALT_DEVICE float4 layer_term(const DeviceProblem& pb, const Levels& lv, const Part& part, int axis, const Place& at,
                                 float4 d2) {
    const int i = axis == 0 ? at.x : at.y;
    if (!near_layer(pb, axis, i)) return quad_of(-0.0f);
    const LayerRows rows = layer_rows(pb, axis, at.x, at.y, at.z);
    const float* const psi = lv.psi[axis] + rows.begin;
    const int* const cells = pb.layer_cell[axis] + i;
    const auto psi_of = [&](int k) {
        const int r = __ldg(cells + k);
        return r < 0 ? quad_of(0.0f) : load4(psi + r * rows.stride);
    };
    float4 term = first<M>(pb.d[axis], pb.radius, [&](int k) { return sub(psi_of(k), psi_of(-k)); });
    const int r = __ldg(cells);
    if (r >= 0) {
        float* const zeta = lv.zeta[axis] + rows.begin + r * rows.stride;
        const float4 now = remember(pb.b[axis][i], pb.b[axis][i] - 1.0f, load4_own(zeta), add(d2, term));
        store_inside(part, at, zeta, now);
        term = add(term, now);
    }
    return term;
}

/// extra + the terms along z, of a stretched axis times a^2, and Zeta advanced; d2: D2 of the field along z.
template <int M, bool Stretched>
SUBSALT_DEVICE float4 add_term_z(float4 extra, const DeviceProblem& pb, const Levels& lv, const Part& part,
                                 const Place& at, float4 d2) {
    const int lo = static_cast<int>(pb.width[4]), hi = static_cast<int>(pb.width[5]), n = static_cast<int>(pb.n[2]);
    const int near_lo = lo > 0 ? lo + pb.radius : 0, near_hi = hi > 0 ? n - hi - pb.radius : n;
    if (at.z >= near_lo && at.z + quad <= near_hi) return extra;

    const Index row = window_row(pb, at.x, at.y);
    const float* const psi = lv.psi[2] + row;
    const auto psi_at = [&](int cell) { return cell < 0 ? 0.0f : __ldg(psi + cell); };
    const LayerCells cells(pb, at.z);
    float4 g;
    if constexpr (M > 0) {
        static_assert(M <= quad);
        float w[quad + 2 * M]; // Psi of the quad and M cells on either side
#pragma unroll
        for (int j = 0; j < quad + 2 * M; ++j)
            w[j] = psi_at(cells.at(j - M));
        const auto shifted = [&](int k) { return make_float4(w[M + k], w[M + k + 1], w[M + k + 2], w[M + k + 3]); };
        g = first<M, true>(pb.d[2], pb.radius, [&](int k) { return sub(shifted(k), shifted(-k)); });
    } else {
        const auto psi_of = [&](int z) { return psi_at(__ldg(pb.layer_cell[2] + z)); };
        const auto shifted = [&](int k) {
            return make_float4(psi_of(at.z + k), psi_of(at.z + k + 1), psi_of(at.z + k + 2), psi_of(at.z + k + 3));
        };
        g = first<M>(pb.d[2], pb.radius, [&](int k) { return sub(shifted(k), shifted(-k)); });
    }
    const float4 r = add(d2, g);

    float* const zeta = lv.zeta[2] + row;
    float old[quad], b[quad], out[quad]; // all loaded before the first is written
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        const bool inside = cells.at(i) >= 0;
        old[i] = inside ? zeta[cells.at(i)] : 0.0f;
        b[i] = inside ? __ldg(pb.b[2] + at.z + i) : 1.0f;
    }
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        const int z = at.z + i;
        const float now = remember(b[i], b[i] - 1.0f, old[i], component(r, i));
        const bool low = z < near_lo, inside = cells.at(i) >= 0;
        if (inside && z >= part.lo[2] && z < part.hi[2]) zeta[cells.at(i)] = now;
        // g + Zeta, or -0.0 + Zeta where g belongs to the other side
        float front = low ? component(g, i) : -0.0f, back = !low && z >= near_hi ? component(g, i) : -0.0f;
        front = inside && z < lo ? front + now : front;
        back = inside && z >= lo ? back + now : back;
        if constexpr (Stretched) {
            const float square = __ldg(pb.stretch.square + z);
            out[i] = fma1(square, back, fma1(square, front, component(extra, i)));
        } else {
            out[i] = (component(extra, i) + front) + back;
        }
    }
    return make_float4(out[0], out[1], out[2], out[3]);
}

/// t of the damping term at a quad.
SUBSALT_DEVICE float4 damping_at(const Problem& pb, const Place& at) {
    const float t_xy = pb.dim == 3 ? pb.t[0][at.x] + pb.t[1][at.y] : pb.t[0][at.x];
    return add(quad_of(t_xy), load4(pb.t[2] + at.z));
}

/// Write the next level of a quad at p, and above a free surface its odd images: u[-k] = -u[k], u[0] = 0.
SUBSALT_DEVICE void finish_quad(const Problem& pb, const Part& part, const Place& at, float* p, float4 next) {
    if (pb.free_surface && at.z <= pb.radius) {
        if (at.z == 0) next.x = 0.0f;
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            const int k = at.z + i;
            if (k >= 1 && k <= pb.radius && k >= part.lo[2] && k < part.hi[2]) p[-at.z - k] = -component(next, i);
        }
    }
    if (at.whole)
        __stcs(reinterpret_cast<float4*>(p), next);
    else
        store_inside(part, at, p, next);
}

} // namespace subsalt::cuda
