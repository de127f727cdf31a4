// The perfectly matched layer of TTI on a pair of points: native/kernels/tti_absorb.hpp has the formulas and the order
// of operations.
//
// Fields and fluxes come from shared memory (of x the field from memory), Psi and Zeta from memory. A cell of the layer
// of one axis reads Psi of one of the fields, most of its 2 M neighbours from L1 or L2, and reads and writes two Zeta:
// 20 bytes per axis beside the 48 of the step.
#pragma once

#include "absorb.cuh"
#include "tti_flux.cuh"

namespace subsalt::cuda {

/// c_0 w and the chain of second derivatives along one axis.
template <int M, class Values>
SUBSALT_DEVICE float2 second_of_axis(const float* c, const Values& w) {
    return add_second<M>(c[0] * w.at(0), c, M, [&](int k) { return w.at(k) + w.at(-k); });
}

/// Neighbours of Psi that D1 takes at once: all, but where those of order 16 would fill the registers.
template <int M>
constexpr int psi_at_once = M < 8 ? M : 0;

/// A pair of points in a plane, and which of it the box has.
struct PairPlace {
    int x, y, z;
    Mask inside;
};

/// `a` with the term along x or y, and Zeta advanced. `w`, `flux`: the field and its flux along the axis by distance.
/// Psi of x and y is made of p, field 0.
template <int M, int Axis, int Field, class Values, class Flux>
SUBSALT_DEVICE float2 add_layer_xy(const DeviceProblem& pb, const Levels& lv, float2 a, const PairPlace& at,
                                   const Values& w, const Flux& flux) {
    constexpr bool has_psi = Field == 0;
    const int i = Axis == 0 ? at.x : at.y;
    if (!near_layer(pb, Axis, i)) return a;
    const int* const cells = pb.layer_cell[Axis] + i;
    const int r = __ldg(cells);
    if (r < 0 && !has_psi) return a;
    const LayerRows rows = layer_rows(pb, Axis, at.x, at.y, at.z);
    float2 g = zero2();
    if constexpr (has_psi) {
        const float* const psi = lv.psi[Axis];
        const auto psi_of = [&](int k) {
            const int row = __ldg(cells + k);
            return row < 0 ? zero2() : ldg2(rows.row(psi, row));
        };
        g = first<psi_at_once<M>>(pb.d[Axis], M, [&](int k) { return psi_of(k) - psi_of(-k); });
    }
    float2 term = g;
    if (r >= 0) {
        float* const zeta = rows.row((has_psi ? lv.zeta : lv.zeta2)[Axis], r);
        const float2 d2 = second_of_axis<M>(pb.c[Axis], w);
        const float2 x = fma(pb.tilt.weight[Field], d2, slope<M>(pb.tilt.d, flux));
        const float2 now = remember(pb.b[Axis][i], pb.b[Axis][i] - 1.0f, load2(zeta), has_psi ? x + g : x);
        store2(zeta, now, at.inside);
        term = has_psi ? g + now : now;
    }
    return a + term;
}

/// The memory of z of a row: Psi, and Zeta of the field.
struct RowMemory {
    const float* psi;
    float* zeta;
};

/// `a` of a pair with the term along z, of a stretched axis times a^2, and Zeta advanced. `w`, `flux`: the field and
/// its flux along z. A point near both sides, on a grid with few points, gets the terms of the CPU's two windows one
/// after the other. Psi of z is made of q, field 1.
template <int M, int Field, bool Stretched>
SUBSALT_DEVICE float2 add_layer_z(const DeviceProblem& pb, float2 a, const PairPlace& at, const PairWindow<M>& w,
                                  const PairWindow<M>& flux, const RowMemory& row) {
    constexpr bool has_psi = Field == 1;
    const int lo = static_cast<int>(pb.width[4]), hi = static_cast<int>(pb.width[5]), n = static_cast<int>(pb.n[2]);
    const int near_lo = lo > 0 ? lo + M : 0, near_hi = hi > 0 ? n - hi - M : n;
    if (at.z >= near_lo && at.z + 1 < near_hi) return a;
    float2 s = slope<M>(pb.tilt.d, flux);
    if constexpr (Stretched) s = DepthPair{pb.stretch, at.z}.root() * s;
    const float2 x = fma(pb.tilt.weight[Field], second_of_axis<M>(pb.c[2], w), s);
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        const int z = at.z + i;
        if (!(i == 0 ? at.inside.x : at.inside.y) || (z >= near_lo && z < near_hi)) continue;
        const int* const cells = pb.layer_cell[2] + z;
        const int cell = __ldg(cells);
        float g = 0.0f, front = -0.0f, back = -0.0f;
        if constexpr (has_psi) {
            const auto psi_of = [&](int k) {
                const int cell = __ldg(cells + k);
                return cell < 0 ? 0.0f : __ldg(row.psi + cell);
            };
            g = first<psi_at_once<M>>(pb.d[2], M, [&](int k) { return psi_of(k) - psi_of(-k); });
            (z < near_lo ? front : back) = g;
        }
        if (cell >= 0) {
            float* const zeta = row.zeta + cell;
            const float r = i == 0 ? x.x : x.y;
            const float now = remember(pb.b[2][z], pb.b[2][z] - 1.0f, *zeta, has_psi ? r + g : r);
            *zeta = now;
            if (z < lo)
                front = front + now;
            else
                back = back + now;
        }
        const float here = i == 0 ? a.x : a.y;
        float next = (here + front) + back;
        if constexpr (Stretched) {
            const float square = __ldg(pb.stretch.square + z);
            next = fma1(square, back, fma1(square, front, here));
        }
        a = i == 0 ? make_float2(next, a.y) : make_float2(a.x, next);
    }
    return a;
}

} // namespace subsalt::cuda
