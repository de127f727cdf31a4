// The symmetric perfectly matched layer, row by row.
//
// Stretching s_i = 1 + sigma_i(x_i) / (i w) replaces D2_i u by r + Zeta[r], r = D2_i u + D1_i Psi[D1_i u], where Psi
// and Zeta are memory fields with the recursion  M <- b M + (b - 1) g,  b = exp(-sigma_i dt), stored in the layer of
// axis i. Multiplied by the product of the s_i the scheme is complex symmetric: its time reversal is its exact adjoint
// for sources and receivers outside the layer (physics page, 4.1).
//
// Canonical order per point and axis:
//   psi_row    Psi  <- fma(b, Psi, (b - 1) D1 u)                         in the layer; all rows before any extra row
//   extra_row  g = D1 Psi  (in the layer and the M cells inside its edge, Psi = 0 outside the layer)
//              r = D2 u + g;  Zeta <- fma(b, Zeta, (b - 1) r)            in the layer
//              term = g + Zeta (layer), g (the M cells), -0.0 elsewhere
//   extra = (term_x + term_y) + term_z; absent terms are -0.0, which adds nothing to any number
//
// All functions take the z range [z0, z1) of the box and change no lane outside it.
// Bytes per layer point and axis: Psi and Zeta read and written = 16; operations at order 8: about 45.
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

SUBSALT_INLINE Index down(Index z) {
    return z - ((z % lanes) + lanes) % lanes;
} // multiple of lanes, also for z < 0

/// Psi along x or y for one row: `u` at z = 0 of the row, `stride` to the neighbours along the axis in floats.
inline void psi_row(float* psi, const float* u, Index stride, const float* d1, int radius, float b, Index z0,
                    Index z1) {
    const Weights d(d1, radius);
    const Vec vb = set1(b), vb1 = set1(b - 1.0f);
    for (Index z = down(z0); z < z1; z += lanes) {
        const Vec old = load(psi + z);
        const Vec now = fma(vb, old, mul(vb1, d1_axis(u + z, stride, d, radius)));
        store(psi + z, within(z, z0, z1, now, old));
    }
}

/// Psi along z for one row: both windows.
inline void psi_row_z(float* psi, const float* u, const WindowsZ& wz, Index n, const float* d1, int radius, Index z0,
                      Index z1) {
    const Weights d(d1, radius);
    const Vec one = set1(1.0f);
    const Index total = wz.front + wz.back;
    for (Index j = 0; j < total; j += lanes) {
        const Index z = j < wz.front ? j : n - total + j;
        if (z + lanes <= z0 || z >= z1) continue;
        const Vec b = load(wz.b + j), old = load(psi + j);
        const Vec now = fma(b, old, mul(sub(b, one), d1_axis(u + z, 1, d, radius)));
        store(psi + j, within(z, z0, z1, now, old));
    }
}

/// term along x or y added to `extra`, and Zeta advanced. `psi` holds 2 radius + 1 rows around this one (rows of zeros
/// outside the layer); `zeta` is null in the M cells inside the layer's edge.
inline void add_layer_row(float* extra, const float* const* psi, float* zeta, const float* u, Index stride,
                          const float* c2, const float* d1, int radius, float b, Index z0, Index z1) {
    const Weights c(c2, radius), d(d1, radius);
    const Vec vb = set1(b), vb1 = set1(b - 1.0f);
    for (Index z = down(z0); z < z1; z += lanes) {
        Vec g = mul(d.w[1], sub(load(psi[radius + 1] + z), load(psi[radius - 1] + z)));
        for (int k = 2; k <= radius; ++k)
            g = fma(d.w[k], sub(load(psi[radius + k] + z), load(psi[radius - k] + z)), g);
        if (zeta != nullptr) {
            const Vec old = load(zeta + z);
            const Vec r = add(d2_axis(u + z, stride, c, radius), g);
            const Vec now = fma(vb, old, mul(vb1, r));
            store(zeta + z, within(z, z0, z1, now, old));
            g = add(g, now);
        }
        store(extra + z, add(load(extra + z), g));
    }
}

/// term along z added to both windows of `extra`, and Zeta advanced. `work` is a row of zeros with 16 zeros on either
/// side, of which this function uses the windows and leaves zeros behind outside the layer.
inline void add_layer_row_z(float* extra, const float* psi, float* zeta, float* work, const float* u,
                            const WindowsZ& wz, Index n, const float* c2, const float* d1, int radius, Index z0,
                            Index z1) {
    const Weights c(c2, radius), d(d1, radius);
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
        const Vec b = load(wz.b + j), layer = load(wz.in_layer + j), old = load(zeta + j);
        const Vec g = d1_axis(work + z, 1, d, radius);
        const Vec r = add(d2_axis(u + z, 1, c, radius), g);
        const Vec now = fma(b, old, mul(sub(b, one), r));
        store(zeta + j, within(z, z0, z1, now, old));
        const Vec term = add(select(load(wz.near_side + j), g, none), select(layer, now, none));
        store(extra + z, add(load(extra + z), term));
    }
}

} // namespace subsalt::SUBSALT_NS
