// The symmetric perfectly matched layer, row by row.
//
// Stretching s_i = 1 + sigma_i(x_i) / (i w) replaces D2_i u by r + Zeta[r], r = D2_i u + D1_i Psi[D1_i u], where Psi
// and Zeta are memory fields with the recursion  M <- b M + (b - 1) g,  b = exp(-sigma_i dt), stored in the layer of
// axis i. Multiplied by the product of the s_i the scheme is complex symmetric: its time reversal is its exact adjoint
// for sources and receivers outside the layer (docs/theory.md).
//
// Canonical order per point and axis:
//   psi      Psi  <- fma(b, Psi, (b - 1) D1 u)                         in the layer; before any row that reads it
//   term     g = D1 Psi  (in the layer and the M cells inside its edge, Psi = 0 outside the layer)
//            r = D2 u + g;  Zeta <- fma(b, Zeta, (b - 1) r)            in the layer
//            term = g + Zeta (layer), g (the M cells), -0.0 elsewhere
//   extra = (term_x + term_y) + term_z; absent terms are -0.0, which adds nothing to any number
//
// All functions take the z range [z0, z1) of the box and change no memory field outside it. `M` as in stencil.hpp.
// Bytes per layer point and axis: Psi and Zeta read and written = 16; operations at order 8: about 45.
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// The largest multiple of the lanes that is not above z, also for z < 0.
SUBSALT_INLINE Index down(Index z) {
    return z - ((z % lanes) + lanes) % lanes;
}

/// Psi along x or y for one row: `u` at z = 0 of the row, `stride` to the neighbours along the axis in floats. `next`
/// and `next_u` floats on lie the rows of Psi and of u to prefetch (a layer of 12 cells costs 0.30 instead of 0.43
/// steps).
template <int M>
inline void psi_row(float* psi, const float* u, Index stride, const float* d1, int radius, float b, Index z0, Index z1,
                    Index next, Index next_u) {
    const Weights d(d1, M > 0 ? M : radius);
    const Vec vb = set1(b), vb1 = set1(b - 1.0f);
    for (Index z = down(z0); z < z1; z += lanes) {
        prefetch_l2(psi + z + next);
        prefetch_l2(u + z + next_u);
        const Vec old = load(psi + z);
        const Vec now = fma(vb, old, mul(vb1, d1_axis<M>(u + z, stride, d, radius)));
        store(psi + z, within(z, z0, z1, now, old));
    }
}

/// Psi along z for one row: both windows.
template <int M>
inline void psi_row_z(float* psi, const float* u, const WindowsZ& wz, Index n, const float* d1, int radius, Index z0,
                      Index z1) {
    const Weights d(d1, M > 0 ? M : radius);
    const Vec one = set1(1.0f);
    const Index total = wz.front + wz.back;
    for (Index j = 0; j < total; j += lanes) {
        const Index z = j < wz.front ? j : n - total + j;
        if (z + lanes <= z0 || z >= z1) continue;
        const Vec b = load(wz.b + j), old = load(psi + j);
        const Vec now = fma(b, old, mul(sub(b, one), d1_axis<M>(u + z, 1, d, radius)));
        store(psi + j, within(z, z0, z1, now, old));
    }
}

/// What a row along x or y needs: Psi rows around it (rows of zeros outside the layer), Zeta (null in the M cells
/// inside the layer's edge), the field, and the distance to its neighbours along the axis in floats.
struct LayerRow {
    const float* psi[2 * max_radius + 1];
    float* zeta;
    const float* u;
    Index stride;
    float b;
};

/// The term along x or y, written to `extra` (Add: added to it), and Zeta advanced.
template <int M, bool Add>
inline void layer_row_term(float* extra, const LayerRow& row, const float* c2, const float* d1, int radius, Index z0,
                           Index z1, Index next) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach);
    const Vec vb = set1(row.b), vb1 = set1(row.b - 1.0f);
    const float* const* psi = row.psi + reach;
    for (Index z = down(z0); z < z1; z += lanes) {
        Vec term = mul(d.w[1], sub(load(psi[1] + z), load(psi[-1] + z)));
        for (int k = 2; k <= reach; ++k)
            term = fma(d.w[k], sub(load(psi[k] + z), load(psi[-k] + z)), term);
        if (row.zeta != nullptr) {
            prefetch_l2(row.zeta + z + next);
            const Vec old = load(row.zeta + z);
            const Vec r = add(d2_axis<M>(row.u + z, row.stride, c, radius), term);
            const Vec now = fma(vb, old, mul(vb1, r));
            store(row.zeta + z, within(z, z0, z1, now, old));
            term = add(term, now);
        }
        store(extra + z, Add ? add(load(extra + z), term) : term);
    }
}

/// The term along z, added to both windows of `extra`, and Zeta advanced. `work` is a row of zeros with zeros on either
/// side, of which this function uses the windows.
template <int M>
inline void add_term_z(float* extra, const float* psi, float* zeta, float* work, const float* u, const WindowsZ& wz,
                       Index n, const float* c2, const float* d1, int radius, Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach);
    const Vec one = set1(1.0f), none = set1(-0.0f);
    const Index total = wz.front + wz.back;
    // Psi of the whole row, so that D1 may reach across the windows: they overlap when n is small
    const bool apart = total <= n;
    for (Index j = 0; j < total; j += lanes) {
        const Index z = j < wz.front ? j : n - total + j;
        const Vec value = load(psi + j);
        store(work + z, apart || j < wz.front ? value : select(load(wz.in_layer + j), value, load(work + z)));
    }
    for (Index j = 0; j < total; j += lanes) {
        const Index z = j < wz.front ? j : n - total + j;
        if (z + lanes <= z0 || z >= z1) continue;
        const Vec b = load(wz.b + j), old = load(zeta + j);
        const Vec g = d1_axis<M>(work + z, 1, d, radius);
        const Vec r = add(d2_axis<M>(u + z, 1, c, radius), g);
        const Vec now = fma(b, old, mul(sub(b, one), r));
        store(zeta + j, within(z, z0, z1, now, old));
        const Vec term = add(select(load(wz.near_side + j), g, none), select(load(wz.in_layer + j), now, none));
        store(extra + z, add(load(extra + z), term));
    }
}

#if SUBSALT_LANES == 16

/// w[+k] and w[-k] of the vector `mid` between its neighbours, k = 1 .. 4.
struct Shifted {
    Vec plus[5], minus[5];

    SUBSALT_INLINE Shifted(Vec left, Vec mid, Vec right) {
        plus[1] = shift<1>(mid, right), minus[1] = shift<15>(left, mid);
        plus[2] = shift<2>(mid, right), minus[2] = shift<14>(left, mid);
        plus[3] = shift<3>(mid, right), minus[3] = shift<13>(left, mid);
        plus[4] = shift<4>(mid, right), minus[4] = shift<12>(left, mid);
    }
};

template <int M>
SUBSALT_INLINE Vec d1_of(const Shifted& s, const Weights& d) {
    Vec acc = mul(d.w[1], sub(s.plus[1], s.minus[1]));
    for (int k = 2; k <= M; ++k)
        acc = fma(d.w[k], sub(s.plus[k], s.minus[k]), acc);
    return acc;
}

/// Psi, Zeta and the term along z in one visit, for whole rows whose windows are one vector each and lie apart: what
/// the layer of 12 cells has at order 8. The term is added to `extra`, or written there (not Onto). Psi and its
/// derivative stay in registers.
template <int M, bool Onto>
inline void add_term_z_in_registers(float* extra, float* psi, float* zeta, const float* u, const WindowsZ& wz, Index n,
                                    const float* c2, const float* d1) {
    const Weights c(c2, M), d(d1, M);
    const Vec one = set1(1.0f), none = set1(-0.0f), zero = set1(0.0f);
    for (Index j = 0; j < wz.front + wz.back; j += lanes) {
        const Index z = j < wz.front ? j : n - lanes;
        const Vec mid = load(u + z);
        const Shifted w(load(u + z - lanes), mid, load(u + z + lanes));
        const Vec b = load(wz.b + j), b1 = sub(b, one);
        const Vec now = fma(b, load(psi + j), mul(b1, d1_of<M>(w, d)));
        store(psi + j, now);
        const Vec g = d1_of<M>(Shifted(zero, now, zero), d);
        Vec r = mul(c.w[0], mid);
        for (int k = 1; k <= M; ++k)
            r = fma(c.w[k], add(w.plus[k], w.minus[k]), r);
        r = add(r, g);
        const Vec z_now = fma(b, load(zeta + j), mul(b1, r));
        store(zeta + j, z_now);
        const Vec term = add(select(load(wz.near_side + j), g, none), select(load(wz.in_layer + j), z_now, none));
        store(extra + z, Onto ? add(load(extra + z), term) : term);
    }
}

#endif

} // namespace subsalt::SUBSALT_NS
