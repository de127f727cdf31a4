// The symmetric perfectly matched layer of TTI, row by row. In the layer and the M cells inside its edge the symmetry
// axis is vertical (the caller sees to it), so that the axes part: what acts along axis i on a field is
//
//   X_i = weight D2_i w + D1_i F_i,   weight = 0.8 (p) or 0.2 (q),
//
// and stretching replaces it by r + Zeta[r], r = X_i + D1_i Psi_i: as in absorb.hpp, with X_i instead of D2_i u. By
// linearity Psi is needed only where D2_i or D1_i D1_i stands alone: of p along x and y, of q along z; elsewhere the
// stretched D2_i - D1_i D1_i has no Psi. So every axis has one Psi and two Zeta.
//
// Canonical order per point, axis and field:
//   S = d_1 (F[+1] - F[-1]); k = 2 .. M: S = fma(d_k, F[+k] - F[-k], S);   X = fma(weight, D2 w, S)
//   g = D1 Psi, r = X + g (fields with Psi), r = X (without);  Zeta <- fma(b, Zeta, (b - 1) r)
//   term = g + Zeta (layer), g (the M cells inside its edge); Zeta and nothing without Psi
#pragma once

#include "kernels/absorb.hpp"

namespace subsalt::SUBSALT_NS {

/// What a row needs along x or y: rows of fluxes and (or null) of Psi around it, Zeta (null outside the layer).
struct TiltedLayerRow {
    const float* const* flux; // 2 M + 1 rows
    const float* const* psi;  // 2 M + 1 rows, or null
    float* zeta;
    const float* w;
    Index stride;
    float b, weight;
};

/// Add the term along x or y to `a`, and advance Zeta.
template <int M>
inline void tti_layer_row(float* a, const TiltedLayerRow& row, const float* c2, const float* d1, const float* unit,
                          int radius, Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach), du(unit, reach);
    const Vec vb = set1(row.b), vb1 = set1(row.b - 1.0f), weight = set1(row.weight);
    const float* const* f = row.flux + reach;
    for (Index z = down(z0); z < z1; z += lanes) {
        Vec g = set1(0.0f);
        if (row.psi != nullptr) {
            const float* const* psi = row.psi + reach;
            g = first<0>(d, reach, [&](int k) SUBSALT_INLINED { return sub(load(psi[k] + z), load(psi[-k] + z)); });
        }
        Vec term = g;
        if (row.zeta != nullptr) {
            const Vec s =
                first<0>(du, reach, [&](int k) SUBSALT_INLINED { return sub(load(f[k] + z), load(f[-k] + z)); });
            const Vec x = fma(weight, d2_axis<M>(row.w + z, row.stride, c, radius), s);
            const Vec r = row.psi != nullptr ? add(x, g) : x;
            const Vec old = load(row.zeta + z), now = remember(vb, vb1, old, r);
            store(row.zeta + z, within(z, z0, z1, now, old));
            term = row.psi != nullptr ? add(g, now) : now;
        }
        store(a + z, add(load(a + z), term));
    }
}

/// Add the term along z to both windows of `a`, and advance Zeta. `psi` may be null; `work` as in add_term_z.
template <int M>
inline void tti_layer_row_z(float* a, const float* flux, const float* psi, float* zeta, float* work, const float* w,
                            float weight, const WindowsZ& wz, Index n, const float* c2, const float* d1,
                            const float* unit, int radius, Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach), du(unit, reach);
    const Vec one = set1(1.0f), none = set1(-0.0f), v_weight = set1(weight);
    const Index total = wz.front + wz.back;
    const bool apart = total <= n; // else the windows overlap
    if (psi != nullptr)
        for (Index j = 0; j < total; j += lanes) {
            const Index z = j < wz.front ? j : n - total + j;
            const Vec value = load(psi + j);
            store(work + z, apart || j < wz.front ? value : select(load(wz.in_layer + j), value, load(work + z)));
        }
    for (Index j = 0; j < total; j += lanes) {
        const Index z = j < wz.front ? j : n - total + j;
        if (z + lanes <= z0 || z >= z1) continue;
        const Vec b = load(wz.b + j), old = load(zeta + j);
        const Vec x = fma(v_weight, d2_axis<M>(w + z, 1, c, radius), d1_axis<M>(flux + z, 1, du, radius));
        const Vec g = psi != nullptr ? d1_axis<M>(work + z, 1, d, radius) : none;
        const Vec now = remember(b, sub(b, one), old, psi != nullptr ? add(x, g) : x);
        store(zeta + j, within(z, z0, z1, now, old));
        Vec term = select(load(wz.in_layer + j), now, none);
        if (psi != nullptr) term = add(select(load(wz.near_side + j), g, none), term);
        store(a + z, add(load(a + z), term));
    }
}

} // namespace subsalt::SUBSALT_NS
