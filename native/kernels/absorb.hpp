// The symmetric perfectly matched layer, row by row.
//
// Stretching s_i = 1 + sigma_i(x_i) / (i w) replaces D2_i u by r + Zeta[r], r = D2_i u + D1_i Psi[D1_i u], where Psi
// and Zeta are memory fields with the recursion  M <- b M + (b - 1) g,  b = exp(-sigma_i dt), stored in the layer of
// axis i. Multiplied by the product of the s_i the scheme is complex symmetric: its time reversal is its exact adjoint
// for sources and receivers outside the layer (docs/theory/rtm.md).
//
// Canonical order per point and axis:
//   psi      Psi  <- fma(b, Psi, (b - 1) D1 u)                         in the layer; before any row that reads it
//   term     g = D1 Psi  (in the layer and the M cells inside its edge, Psi = 0 outside the layer)
//            r = D2 u + g;  Zeta <- fma(b, Zeta, (b - 1) r)            in the layer
//            term = g + Zeta (layer), g (the M cells), -0.0 elsewhere
//   extra = (term_x + term_y) + term_z; absent terms are -0.0, which adds nothing to any number
//
// All functions take the z range [z0, z1) of the box and change no memory field outside it. `M` as in stencil.hpp.
// Bytes per layer point and axis: Psi and Zeta read and written = 16; operations at order 8: about 45. Along x two rows
// of neighbouring planes share their loads; along z all windows of two rows advance side by side, because one alone is
// a chain of dependent operations. What a layer costs in steps: `subsalt lab kernels`.
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// The largest multiple of the lanes that is not above z, also for z < 0.
SUBSALT_INLINE Index down(Index z) {
    return z - ((z % lanes) + lanes) % lanes;
}

/// How far on lies what comes next from memory, in floats: of the memory fields, and of the field; 0: in cache already.
struct Next {
    Index memory, field;
};

/// The lanes of [z0, z1) at z from `now`, else `old`. Whole rows skip the question: behind their end all stays +0.
template <bool Whole>
SUBSALT_INLINE Vec merge(Index z, Index z0, Index z1, Vec now, [[maybe_unused]] Vec old) {
    if constexpr (Whole) return now;
    return within(z, z0, z1, now, old);
}

/// Psi along x or y for one row: `u` at z = 0 of the row, `stride` to the neighbours along the axis in floats.
template <int M, bool Whole>
inline void psi_row(float* psi, const float* u, Index stride, const float* d1, int radius, float b, Index z0, Index z1,
                    const Next& next) {
    const Weights d(d1, M > 0 ? M : radius);
    const Vec vb = set1(b), vb1 = set1(b - 1.0f);
    for (Index z = down(z0); z < z1; z += lanes) {
        if (next.memory != 0) prefetch_l2(psi + z + next.memory);
        if (next.field != 0) prefetch_l2(u + z + next.field);
        const Vec old = load(psi + z);
        const Vec now = remember(vb, vb1, old, d1_axis<M>(u + z, stride, d, radius));
        store(psi + z, merge<Whole>(z, z0, z1, now, old));
    }
}

/// Psi along x for a whole row and the row beyond it, which share most of what they read.
template <int M>
inline void psi_two_planes(float* psi, float* psi2, const float* u, Index stride, const float* d1, const float* b,
                           Index n, const Next& next) {
    const Weights d(d1, M);
    const Reach r(stride);
    const Vec vb = set1(b[0]), vb1 = set1(b[0] - 1.0f), wb = set1(b[1]), wb1 = set1(b[1] - 1.0f);
    const float* u2 = u + stride;
    for (const float* end = u + n; u < end; u += lanes, u2 += lanes, psi += lanes, psi2 += lanes) {
        if (next.memory != 0) {
            prefetch_l2(psi + next.memory);
            prefetch_l2(psi2 + next.memory);
            prefetch_l2(u + next.field);
            prefetch_l2(u2 + next.field);
        }
        Vec g, g2;
        d1_two_planes<M>(g, g2, u, u2, r, d);
        store(psi, remember(vb, vb1, load(psi), g));
        store(psi2, remember(wb, wb1, load(psi2), g2));
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
        const Vec now = remember(b, sub(b, one), old, d1_axis<M>(u + z, 1, d, radius));
        store(psi + j, within(z, z0, z1, now, old));
    }
}

/// What a row along x or y needs, or in x the row and the row beyond it: Psi rows around it (rows of zeros outside the
/// layer), Zeta (null in the M cells inside the layer's edge), the field, and the distance to its neighbours along the
/// axis in floats.
struct LayerRow {
    const float* psi[2 * max_radius + 2];
    float* zeta[2];
    const float* u;
    Index stride;
    float b[2];
};

/// The term along x or y, written to `extra` (Add: added to it), and Zeta advanced.
template <int M, bool Add, bool Whole>
inline void layer_row_term(float* extra, const LayerRow& row, const float* c2, const float* d1, int radius, Index z0,
                           Index z1, const Next& next) {
    const int reach = M > 0 ? M : radius;
    const Weights c(c2, reach), d(d1, reach);
    const Reach r(row.stride);
    const Vec vb = set1(row.b[0]), vb1 = set1(row.b[0] - 1.0f);
    const float* const* psi = row.psi + reach;
    float* zeta = row.zeta[0];
    for (Index z = down(z0); z < z1; z += lanes) {
        Vec term = first<M>(d, radius, [&](int k) SUBSALT_INLINED { return sub(load(psi[k] + z), load(psi[-k] + z)); });
        if (zeta != nullptr) {
            if (next.memory != 0) prefetch_l2(zeta + z + next.memory);
            const float* u = row.u + z;
            const Vec old = load(zeta + z);
            const Vec g = add(add_d2<M>(mul(c.w[0], load(u)), u, r, c, radius), term);
            const Vec now = remember(vb, vb1, old, g);
            store(zeta + z, merge<Whole>(z, z0, z1, now, old));
            term = add(term, now);
        }
        store(extra + z, Add ? add(load(extra + z), term) : term);
    }
}

/// The terms along x of a whole row and of the row beyond it, written to extra and extra2, and Zeta advanced. `Inside`:
/// both lie in the layer, else both in the M cells inside its edge.
template <int M, bool Inside>
inline void layer_two_plane_terms(float* extra, float* extra2, const LayerRow& row, const float* c2, const float* d1,
                                  Index n, const Next& next) {
    const Weights c(c2, M), d(d1, M);
    const Reach r(row.stride);
    const Vec vb = set1(row.b[0]), vb1 = set1(row.b[0] - 1.0f), wb = set1(row.b[1]), wb1 = set1(row.b[1] - 1.0f);
    const float* const* psi = row.psi + M;
    float *zeta = row.zeta[0], *zeta2 = row.zeta[1];
    for (Index z = 0; z < n; z += lanes) {
        Vec ahead_both = load(psi[1] + z), behind_both = load(psi[0] + z), term, term2;
        written_out<1, M>([&](auto k) SUBSALT_INLINED {
            const Vec b_k = load(psi[-k] + z), a_k = load(psi[k + 1] + z);
            const Vec change = sub(ahead_both, b_k), change2 = sub(a_k, behind_both);
            term = k == 1 ? mul(d.w[1], change) : fma(d.w[k], change, term);
            term2 = k == 1 ? mul(d.w[1], change2) : fma(d.w[k], change2, term2);
            ahead_both = a_k, behind_both = b_k;
        });
        if constexpr (Inside) {
            if (next.memory != 0) {
                prefetch_l2(zeta + z + next.memory);
                prefetch_l2(zeta2 + z + next.memory);
            }
            const float *u = row.u + z, *u2 = u + row.stride;
            const Vec mid = load(u), mid2 = load(u2);
            Vec g = mul(c.w[0], mid), g2 = mul(c.w[0], mid2);
            add_d2_two_planes<M>(g, g2, u, u2, mid, mid2, r, c);
            const Vec now = remember(vb, vb1, load(zeta + z), add(g, term));
            const Vec now2 = remember(wb, wb1, load(zeta2 + z), add(g2, term2));
            store(zeta + z, now);
            store(zeta2 + z, now2);
            term = add(term, now);
            term2 = add(term2, now2);
        }
        store(extra + z, term);
        store(extra2 + z, term2);
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
        const Vec now = remember(b, sub(b, one), old, r);
        store(zeta + j, within(z, z0, z1, now, old));
        const Vec term = add(select(load(wz.near_side + j), g, none), select(load(wz.in_layer + j), now, none));
        store(extra + z, add(load(extra + z), term));
    }
}

/// Where the windows of one row are: Psi and Zeta of the row, the field and the extra terms at z = 0.
struct EndsZ {
    const float* u;
    float *psi, *zeta, *extra;
};

#if SUBSALT_LANES == 16

/// One window of the layer along z in registers: Psi, Zeta and the term of 16 points.
template <int M, bool Onto>
struct WindowZ {
    const float* u;
    float *psi, *zeta, *extra;
    Vec d1, d2, psi_now;

    /// D1 u and D2 u
    SUBSALT_INLINE void differentiate(const Weights& c, const Weights& d) {
        const Vec mid = load(u), left = load(u - lanes), right = load(u + lanes);
        d2 = mul(c.w[0], mid);
        written_out<1, M>([&](auto k) SUBSALT_INLINED { pair<k>(left, mid, right, c, d); });
    }
    SUBSALT_INLINE void advance_psi(Vec b) {
        psi_now = remember(b, sub(b, set1(1.0f)), load(psi), d1);
        store(psi, psi_now);
    }
    /// D1 Psi; outside the window Psi is zero
    SUBSALT_INLINE void differentiate_psi(const Weights& d) {
        const Vec zero = set1(0.0f);
        written_out<1, M>([&](auto k) SUBSALT_INLINED {
            const Vec change = sub(shift<k>(psi_now, zero), shift<16 - k>(zero, psi_now));
            d1 = k == 1 ? mul(d.w[1], change) : fma(d.w[k], change, d1);
        });
    }
    SUBSALT_INLINE void finish(Vec b, Vec near_side, Vec in_layer) {
        const Vec none = set1(-0.0f);
        const Vec now = fma(b, load(zeta), mul(sub(b, set1(1.0f)), add(d2, d1)));
        store(zeta, now);
        const Vec term = add(select(near_side, d1, none), select(in_layer, now, none));
        store(extra, Onto ? add(load(extra), term) : term);
    }

private:
    template <int k>
    SUBSALT_INLINE void pair(Vec left, Vec mid, Vec right, const Weights& c, const Weights& d) {
        const Vec plus = shift<k>(mid, right), minus = shift<16 - k>(left, mid);
        d2 = fma(c.w[k], add(plus, minus), d2);
        d1 = k == 1 ? mul(d.w[1], sub(plus, minus)) : fma(d.w[k], sub(plus, minus), d1);
    }
};

/// Psi, Zeta and the term along z in one visit, for one whole row or two whose windows are one vector each and lie
/// apart: what the layer of 12 cells has at order 8. The term is added to `extra`, or written there (not Onto). Psi and
/// its derivative stay in registers. A window is a chain of some 20 dependent operations: all windows go through it
/// side by side, or the core would wait. `next`: floats to the memory to prefetch.
template <int M, bool Onto>
inline void add_term_z_in_registers(const EndsZ* rows, int count, const WindowsZ& wz, Index n, const float* c2,
                                    const float* d1, Index next) {
    const Weights c(c2, M), d(d1, M);
    const Index back = n - lanes;
    const Vec b_front = load(wz.b), b_back = load(wz.b + lanes);
    const Vec near_front = load(wz.near_side), near_back = load(wz.near_side + lanes);
    const Vec in_front = load(wz.in_layer), in_back = load(wz.in_layer + lanes);
    const auto front_of = [](const EndsZ& r) { return WindowZ<M, Onto>{r.u, r.psi, r.zeta, r.extra, {}, {}, {}}; };
    const auto back_of = [=](const EndsZ& r) {
        return WindowZ<M, Onto>{r.u + back, r.psi + lanes, r.zeta + lanes, r.extra + back, {}, {}, {}};
    };
    for (int i = 0; i < count && next != 0; ++i) {
        prefetch_l2(rows[i].psi + next), prefetch_l2(rows[i].psi + lanes + next);
        prefetch_l2(rows[i].zeta + next), prefetch_l2(rows[i].zeta + lanes + next);
    }
    WindowZ<M, Onto> f = front_of(rows[0]), g = back_of(rows[0]);
    if (count == 1) {
        f.differentiate(c, d), g.differentiate(c, d);
        f.advance_psi(b_front), g.advance_psi(b_back);
        f.differentiate_psi(d), g.differentiate_psi(d);
        f.finish(b_front, near_front, in_front), g.finish(b_back, near_back, in_back);
        return;
    }
    WindowZ<M, Onto> f2 = front_of(rows[1]), g2 = back_of(rows[1]);
    f.differentiate(c, d), g.differentiate(c, d), f2.differentiate(c, d), g2.differentiate(c, d);
    f.advance_psi(b_front), g.advance_psi(b_back), f2.advance_psi(b_front), g2.advance_psi(b_back);
    f.differentiate_psi(d), g.differentiate_psi(d), f2.differentiate_psi(d), g2.differentiate_psi(d);
    f.finish(b_front, near_front, in_front), g.finish(b_back, near_back, in_back);
    f2.finish(b_front, near_front, in_front), g2.finish(b_back, near_back, in_back);
}

/// The same for rows whose only window is the front one.
template <int M, bool Onto>
inline void add_front_term_z_in_registers(const EndsZ* rows, int count, const WindowsZ& wz, const float* c2,
                                          const float* d1) {
    const Weights c(c2, M), d(d1, M);
    const Vec b = load(wz.b), near_side = load(wz.near_side), in_layer = load(wz.in_layer);
    const auto front_of = [](const EndsZ& r) { return WindowZ<M, Onto>{r.u, r.psi, r.zeta, r.extra, {}, {}, {}}; };
    WindowZ<M, Onto> f = front_of(rows[0]), f2 = front_of(rows[count - 1]);
    f.differentiate(c, d);
    if (count == 2) f2.differentiate(c, d);
    f.advance_psi(b);
    if (count == 2) f2.advance_psi(b);
    f.differentiate_psi(d);
    if (count == 2) f2.differentiate_psi(d);
    f.finish(b, near_side, in_layer);
    if (count == 2) f2.finish(b, near_side, in_layer);
}

#endif

} // namespace subsalt::SUBSALT_NS
