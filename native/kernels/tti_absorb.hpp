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
// On a stretched depth axis F of z is kept a^(-1/2) times: X = fma(weight, D2 w, a^(-1/2) S), and a = fma(a^2, term,
// a).
#pragma once

#include "kernels/absorb.hpp"

namespace subsalt::SUBSALT_NS {

/// What a row needs along x or y, or that row and the one after it along the axis: rows of fluxes and (or null) of Psi
/// around it, Zeta (null outside the layer).
struct TiltedLayerRow {
    const float* const* flux; // 2 M + 1 rows, or one more
    const float* const* psi;  // as many, or null
    float* zeta[2];
    const float* w;
    Index stride;
    float b[2];
    float weight;
};

/// Add the term along x or y to `a`, and advance Zeta.
template <int M>
inline void tti_layer_row(float* a, const TiltedLayerRow& row, const float* c2, const float* d1, const float* unit,
                          int radius, Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach), du(unit, reach);
    const Vec vb = set1(row.b[0]), vb1 = set1(row.b[0] - 1.0f), weight = set1(row.weight);
    const float* const* f = row.flux + reach;
    float* zeta = row.zeta[0];
    for (Index z = down(z0); z < z1; z += lanes) {
        Vec g = set1(0.0f);
        if (row.psi != nullptr) {
            const float* const* psi = row.psi + reach;
            g = first<0>(d, reach, [&](int k) SUBSALT_INLINED { return sub(load(psi[k] + z), load(psi[-k] + z)); });
        }
        Vec term = g;
        if (zeta != nullptr) {
            const Vec s =
                first<0>(du, reach, [&](int k) SUBSALT_INLINED { return sub(load(f[k] + z), load(f[-k] + z)); });
            const Vec x = fma(weight, d2_axis<M>(row.w + z, row.stride, c, radius), s);
            const Vec r = row.psi != nullptr ? add(x, g) : x;
            const Vec old = load(zeta + z), now = remember(vb, vb1, old, r);
            store(zeta + z, within(z, z0, z1, now, old));
            term = row.psi != nullptr ? add(g, now) : now;
        }
        store(a + z, add(load(a + z), term));
    }
}

/// The same on a whole row and the one after it along the axis, added to `a` and a2. `Psi`: of the field that has it;
/// `Inside`: both rows lie in the layer, else both in the M cells inside its edge.
template <int M, bool Psi, bool Inside>
inline void tti_layer_two_rows(float* a, float* a2, const TiltedLayerRow& row, const float* c2, const float* d1,
                               const float* unit, Index n) {
    const Weights c(c2, M), d(d1, M), du(unit, M);
    const Reach r(row.stride);
    const Vec vb = set1(row.b[0]), vb1 = set1(row.b[0] - 1.0f), wb = set1(row.b[1]), wb1 = set1(row.b[1] - 1.0f);
    const Vec weight = set1(row.weight);
    for (Index z = 0; z < n; z += lanes) {
        Vec term = set1(0.0f), term2 = term;
        if constexpr (Psi) d1_two_rows<M>(term, term2, row.psi + M, d, z);
        if constexpr (Inside) {
            Vec s, s2;
            d1_two_rows<M>(s, s2, row.flux + M, du, z);
            const float *w = row.w + z, *w2 = w + row.stride;
            const Vec mid = load(w), mid2 = load(w2);
            Vec x = mul(c.w[0], mid), x2 = mul(c.w[0], mid2);
            add_d2_two_planes<M>(x, x2, w, w2, mid, mid2, r, c);
            x = fma(weight, x, s), x2 = fma(weight, x2, s2);
            if constexpr (Psi) x = add(x, term), x2 = add(x2, term2);
            const Vec now = remember(vb, vb1, load(row.zeta[0] + z), x);
            const Vec now2 = remember(wb, wb1, load(row.zeta[1] + z), x2);
            store(row.zeta[0] + z, now);
            store(row.zeta[1] + z, now2);
            term = Psi ? add(term, now) : now;
            term2 = Psi ? add(term2, now2) : now2;
        }
        store(a + z, add(load(a + z), term));
        store(a2 + z, add(load(a2 + z), term2));
    }
}

/// Where the windows of one row of a field are: the field, its flux along z, Psi (null: it has none), Zeta and the
/// accumulator, at z = 0 of the row and its memory.
struct TiltedEndsZ {
    const float *w, *flux;
    float *psi, *zeta, *a;
    float weight;
    const Stretch* rows; // of a stretched axis
};

/// weight D2 w + D1 F; of a stretched axis from D1 of what is kept of F.
template <bool Stretched, class N>
SUBSALT_INLINE N tti_sum_z(N weight, N d2, N d1, [[maybe_unused]] const float* root, [[maybe_unused]] Index z) {
    if constexpr (Stretched) return fma(weight, d2, mul(load_as<N>(root + z), d1));
    return fma(weight, d2, d1);
}

/// Add the term along z to both windows of the accumulator, and advance Zeta. `work` as in add_term_z.
template <int M, bool Stretched>
inline void tti_layer_row_z(const TiltedEndsZ& row, float* work, const WindowsZ& wz, Index n, const float* c2,
                            const float* d1, const float* unit, int radius, Index z0, Index z1) {
    const float *flux = row.flux, *psi = row.psi, *w = row.w;
    float *a = row.a, *zeta = row.zeta;
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach), du(unit, reach);
    const Vec one = set1(1.0f), none = set1(-0.0f), v_weight = set1(row.weight);
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
        const Vec x = tti_sum_z<Stretched>(v_weight, d2_axis<M>(w + z, 1, c, radius),
                                           d1_axis<M>(flux + z, 1, du, radius), row.rows->root, z);
        const Vec g = psi != nullptr ? d1_axis<M>(work + z, 1, d, radius) : none;
        const Vec now = remember(b, sub(b, one), old, psi != nullptr ? add(x, g) : x);
        store(zeta + j, within(z, z0, z1, now, old));
        Vec term = select(load(wz.in_layer + j), now, none);
        if (psi != nullptr) term = add(select(load(wz.near_side + j), g, none), term);
        store(a + z, add_term<Stretched>(load(a + z), term, row.rows->square, z));
    }
}

#if SUBSALT_SHIFTS

/// weight D2 w + D1 F along z at one vector.
template <int M, bool Stretched>
SUBSALT_INLINE Wide tti_along_z(const float* flux, Wide weight, Wide d2, const Weights& unit, const float* root) {
    const Wide left = load_as<Wide>(flux - wide_lanes), mid = load_as<Wide>(flux),
               right = load_as<Wide>(flux + wide_lanes);
    const Wide d1 = first<M>(
        unit, M, [&](auto k) SUBSALT_INLINED { return sub(shift_wide<k>(mid, right), shift_wide<16 - k>(left, mid)); });
    return tti_sum_z<Stretched>(weight, d2, d1, root, 0);
}

/// One window of the field that has Psi along z, as in absorb.hpp with X in place of D2 u.
template <int M, bool Near, bool Front, bool Stretched>
struct TiltedWindowZ : WindowZ<M, true, Near, Front, Stretched> {
    using Base = WindowZ<M, true, Near, Front, Stretched>;
    const float *flux, *root;
    const Weights& unit;
    Wide weight;

    SUBSALT_INLINE TiltedWindowZ(const TiltedEndsZ& row, const WindowsZ& wz, Index n, const Weights& unit_weights)
        : Base({row.w, row.psi, row.zeta, row.a, row.rows->square}, wz, n),
          flux(row.flux + (Front ? 0 : n - wide_lanes)),
          root(Stretched ? row.rows->root + (Front ? 0 : n - wide_lanes) : nullptr), unit(unit_weights),
          weight(set_as<Wide>(row.weight)) {}
    SUBSALT_INLINE void differentiate(const Weights& c, const Weights& d) {
        Base::differentiate(c, d);
        this->d2 = tti_along_z<M, Stretched>(flux, weight, this->d2, unit, root);
    }
};

/// One window of the field that has none.
template <int M, bool Front, bool Stretched>
struct TiltedWindowWithoutPsi {
    const float *w, *flux, *b_at, *in_at, *root, *square;
    float *zeta, *a;
    const Weights& unit;
    Wide weight, x;

    SUBSALT_INLINE TiltedWindowWithoutPsi(const TiltedEndsZ& row, const WindowsZ& wz, Index n,
                                          const Weights& unit_weights)
        : unit(unit_weights), weight(set_as<Wide>(row.weight)) {
        const Index at = Front ? 0 : wz.front + wz.back - wide_lanes, z = Front ? 0 : n - wide_lanes;
        w = row.w + z, flux = row.flux + z, a = row.a + z;
        root = Stretched ? row.rows->root + z : nullptr, square = Stretched ? row.rows->square + z : nullptr;
        zeta = row.zeta + at, b_at = wz.b + at, in_at = wz.in_layer + at;
    }
    SUBSALT_INLINE void differentiate(const Weights& c, const Weights&) {
        const Wide left = load_as<Wide>(w - wide_lanes), mid = load_as<Wide>(w), right = load_as<Wide>(w + wide_lanes);
        const Wide d2 = add_second<M>(mul(c.w[0], mid), c, M, [&](auto k) SUBSALT_INLINED {
            return add(shift_wide<k>(mid, right), shift_wide<16 - k>(left, mid));
        });
        x = tti_along_z<M, Stretched>(flux, weight, d2, unit, root);
    }
    SUBSALT_INLINE void advance_psi() {}
    SUBSALT_INLINE void differentiate_psi(const Weights&) {}
    SUBSALT_INLINE void finish() {
        const Wide b = load_as<Wide>(b_at), now = remember(b, sub(b, set_as<Wide>(1.0f)), load_as<Wide>(zeta), x);
        store(zeta, now);
        store(a,
              add_term<Stretched>(load_as<Wide>(a), select(load_as<Wide>(in_at), now, set_as<Wide>(-0.0f)), square, 0));
    }
};

/// Psi, Zeta and the terms along z in one visit, for one whole row of p and q whose windows fit registers. `next`:
/// floats to the memory to prefetch.
template <int M, bool Near, bool Stretched>
inline void tti_rows_z_in_registers(const TiltedEndsZ* row, const WindowsZ& wz, Index n, const float* c2,
                                    const float* d1, const float* unit_weights, Index next) {
    const Weights c(c2, M), d(d1, M), unit(unit_weights, M);
    for (Index j = next; j < next + wz.front + wz.back; j += wide_lanes)
        prefetch_l2(row[1].psi + j), prefetch_l2(row[0].zeta + j), prefetch_l2(row[1].zeta + j);
    const TiltedWindowWithoutPsi<M, true, Stretched> p_front(row[0], wz, n, unit);
    const TiltedWindowWithoutPsi<M, false, Stretched> p_back(row[0], wz, n, unit);
    const TiltedWindowZ<M, Near, true, Stretched> q_front(row[1], wz, n, unit);
    const TiltedWindowZ<M, Near, false, Stretched> q_back(row[1], wz, n, unit);
    if (wz.front > 0 && wz.back > 0)
        advance_windows(c, d, q_front, q_back, p_front, p_back);
    else if (wz.front > 0)
        advance_windows(c, d, q_front, p_front);
    else
        advance_windows(c, d, q_back, p_back);
}

#endif

} // namespace subsalt::SUBSALT_NS
