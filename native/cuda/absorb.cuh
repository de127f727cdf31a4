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
// CPU writes too, none is changed: they hold +0 and keep it. Bytes per point of a layer and axis: Zeta read and
// written, Psi read: 12; memory_step: Psi read and written, the field read: 12.
//
// A block near the layer of one axis alone runs code of this axis alone. Along z it takes whole quads of Psi and Zeta,
// which those of the front window are in memory too; those of the back window are where a row has a multiple of four
// cells. Else cells are read and written one by one, as where several axes meet.
#pragma once

#include "parts.hpp"
#include "stencil.cuh"

namespace subsalt::cuda {

/// Whether a cell lies in the layer of an axis or within M cells of it.
SUBSALT_DEVICE bool near_layer(const Problem& pb, int axis, int i) {
    const int lo = static_cast<int>(pb.width[2 * axis]), hi = static_cast<int>(pb.width[2 * axis + 1]);
    return (lo > 0 && i < lo + pb.radius) || (hi > 0 && i >= static_cast<int>(pb.n[axis]) - hi - pb.radius);
}

/// The axes whose layer has terms in some points, bit a for axis a. `all_axes`: of any number of them.
constexpr int all_axes = 7;

/// Whether cells of z below `end` that are in the layer or near it lie in aligned quads of their memory, and no quad is
/// near both sides. The front window is aligned, that at the back where a row has a multiple of four cells.
SUBSALT_DEVICE bool lies_in_quads(const Problem& pb, int end) {
    const Index front = pb.width[4] + pb.radius, back = pb.n[2] - pb.width[5] - pb.radius;
    if (pb.width[5] == 0) return true;
    return (pb.width[4] == 0 || front + 2 * quad <= back) && (end <= back || pb.n[2] % quad == 0);
}

/// Those of a block. Where z is one of them and its cells do not lie in quads, all.
SUBSALT_DEVICE int axes_near(const Problem& pb, const BlockPoints& block) {
    int near = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const int lo = static_cast<int>(pb.width[2 * axis]), hi = static_cast<int>(pb.width[2 * axis + 1]);
        const int from = lo + pb.radius, to = static_cast<int>(pb.n[axis]) - hi - pb.radius;
        if ((lo > 0 && block.lo[axis] < from) || (hi > 0 && block.hi[axis] > to)) near |= 1 << axis;
    }
    return near == 4 && !lies_in_quads(pb, block.hi[2]) ? all_axes : near;
}

/// Do march(axes), compiled for one axis alone, which most blocks of a side have, and for all.
template <class March>
SUBSALT_DEVICE void for_axes(int near, March march) {
    switch (near) {
    case 1:
        return march(Constant<1>{});
    case 2:
        return march(Constant<2>{});
    case 4:
        return march(Constant<4>{});
    default:
        march(Constant<all_axes>{});
    }
}

/// Where the memory of x (at y) or y (at x) lies: rows of the layer, `stride` bytes apart, from float `begin` on. A
/// plane has fewer than 2^30 cells, so that a row is one multiply-add of 32 bits away.
struct LayerRows {
    Index begin;
    unsigned stride;

    template <class Float>
    SUBSALT_DEVICE Float* row(Float* field, int r) const {
        using Byte = std::conditional_t<std::is_const_v<Float>, const char, char>;
        const auto from = reinterpret_cast<Byte*>(field + begin);
        return reinterpret_cast<Float*>(from + std::uint64_t{static_cast<unsigned>(r)} * stride);
    }
};
SUBSALT_DEVICE LayerRows layer_rows(const Problem& pb, int axis, int x, int y, int z) {
    const auto bytes = [](Index floats) { return static_cast<unsigned>(floats * sizeof(float)); };
    if (axis == 0) return {y * pb.compact_row + z, bytes(pb.n[1] * pb.compact_row)};
    return {x * (pb.width[2] + pb.width[3]) * pb.compact_row + z, bytes(pb.compact_row)};
}

/// Where the memory of z of a row begins.
SUBSALT_DEVICE Index window_row(const Problem& pb, int x, int y) {
    return (x * pb.n[1] + y) * pb.wz.stride;
}

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
    /// Place of the first cell of quad i, -1 to 1, where quads are aligned in memory; negative: none of it is layer.
    SUBSALT_DEVICE int first(int i) const { return max(at(quad * i), at(quad * i + quad - 1) - (quad - 1)); }
    /// The values of quad i at p; of cells outside the layer 0.
    template <bool Quads>
    SUBSALT_DEVICE float4 values(int i, const float* p) const {
        if constexpr (Quads) return first(i) < 0 ? quad_of(0.0f) : load4_own(p + first(i));
        const auto value = [&](int j) { return at(quad * i + j) < 0 ? 0.0f : p[at(quad * i + j)]; };
        return make_float4(value(0), value(1), value(2), value(3));
    }
    /// Write what lies in the part and in the layer of the quad itself; the other cells of aligned quads hold 0.
    template <bool Quads>
    SUBSALT_DEVICE void store(const Part& part, const Place& place, float* p, float4 a) const {
        const auto kept = [&](int i) { return at(i) < 0 ? 0.0f : component(a, i); };
        if constexpr (Quads) {
            if (first(0) >= 0) store_inside(part, place, p + first(0), make_float4(kept(0), kept(1), kept(2), kept(3)));
        } else {
#pragma unroll
            for (int i = 0; i < quad; ++i)
                if (at(i) >= 0 && place.z + i >= part.lo[2] && place.z + i < part.hi[2]) p[at(i)] = kept(i);
        }
    }
};

/// The term along x or y at cell i of the axis, and Zeta advanced; d2: D2 of the field along this axis.
template <int M, int Axis>
SUBSALT_DEVICE float4 layer_term(const DeviceProblem& pb, const Levels& lv, const Part& part, const Place& at,
                                 float4 d2) {
    const int i = Axis == 0 ? at.x : at.y;
    if (!near_layer(pb, Axis, i)) return quad_of(-0.0f);
    const LayerRows rows = layer_rows(pb, Axis, at.x, at.y, at.z);
    const float* const psi = lv.psi[Axis];
    const int* const cells = pb.layer_cell[Axis] + i;
    const auto psi_of = [&](int k) {
        const int r = __ldg(cells + k);
        return r < 0 ? quad_of(0.0f) : load4(rows.row(psi, r));
    };
    float4 term = first<M>(pb.d[Axis], pb.radius, [&](int k) { return sub(psi_of(k), psi_of(-k)); });
    const int r = __ldg(cells);
    if (r >= 0) {
        float* const zeta = rows.row(lv.zeta[Axis], r);
        const float4 now = remember(pb.b[Axis][i], pb.b[Axis][i] - 1.0f, load4_own(zeta), add(d2, term));
        store_inside(part, at, zeta, now);
        term = add(term, now);
    }
    return term;
}

/// D1 Psi along z of a quad. `Quads`: they are aligned in memory.
template <int M, bool Quads>
SUBSALT_DEVICE float4 slope_of_psi_z(const DeviceProblem& pb, const float* psi, const LayerCells& cells, int z) {
    if constexpr (M == 0) {
        const auto psi_of = [&](int k) {
            const int cell = __ldg(pb.layer_cell[2] + z + k);
            return cell < 0 ? 0.0f : __ldg(psi + cell);
        };
        const auto shifted = [&](int k) { return make_float4(psi_of(k), psi_of(k + 1), psi_of(k + 2), psi_of(k + 3)); };
        return first<M>(pb.d[2], pb.radius, [&](int k) { return sub(shifted(k), shifted(-k)); });
    } else {
        static_assert(M <= quad);
        float w[3 * quad];
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            const float4 v = cells.values<Quads>(i - 1, psi);
            w[quad * i] = v.x, w[quad * i + 1] = v.y, w[quad * i + 2] = v.z, w[quad * i + 3] = v.w;
        }
        const auto shifted = [&](int k) { return make_float4(w[4 + k], w[5 + k], w[6 + k], w[7 + k]); };
        return first<M, true>(pb.d[2], pb.radius, [&](int k) { return sub(shifted(k), shifted(-k)); });
    }
}

/// sum + term, of a stretched axis times a^2.
template <bool Stretched>
SUBSALT_DEVICE float add_z_to(float sum, float term, const Problem& pb, int z) {
    return Stretched ? fma1(__ldg(pb.stretch.square + z), term, sum) : sum + term;
}

/// extra + the terms along z, of a stretched axis times a^2, and Zeta advanced; d2: D2 of the field along z. `Quads`:
/// they are aligned in the memory of z, and no point is near both sides.
template <int M, bool Stretched, bool Quads>
SUBSALT_DEVICE float4 add_term_z(float4 extra, const DeviceProblem& pb, const Levels& lv, const Part& part,
                                 const Place& at, float4 d2) {
    const int lo = static_cast<int>(pb.width[4]), hi = static_cast<int>(pb.width[5]), n = static_cast<int>(pb.n[2]);
    const int near_lo = lo > 0 ? lo + pb.radius : 0, near_hi = hi > 0 ? n - hi - pb.radius : n;
    if (at.z >= near_lo && at.z + quad <= near_hi) return extra;

    const Index row = window_row(pb, at.x, at.y);
    const LayerCells cells(pb, at.z);
    const float4 g = slope_of_psi_z<M, Quads>(pb, lv.psi[2] + row, cells, at.z);

    float* const zeta = lv.zeta[2] + row;
    const float4 b = load4(pb.b[2] + at.z), old = cells.values<Quads>(0, zeta);
    const float4 now = remember(b, sub(b, quad_of(1.0f)), old, add(d2, g));
    cells.store<Quads>(part, at, zeta, now);
    float out[quad];
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        const int z = at.z + i;
        const bool inside = cells.at(i) >= 0;
        // g + Zeta; a point in one side and near the other gets the terms of the CPU's two windows, one after the other
        float term = z < near_lo || z >= near_hi ? component(g, i) : -0.0f, sum = component(extra, i);
        const bool in_both = !Quads && inside && z < near_lo && z >= lo;
        if (in_both) sum = add_z_to<Stretched>(sum, term, pb, z), term = -0.0f;
        if (inside) term = term + component(now, i);
        out[i] = add_z_to<Stretched>(sum, term, pb, z);
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
