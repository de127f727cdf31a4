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
// On a stretched depth axis Psi and Zeta of z are those of the derivatives along its coordinate, by the same
// recursions, and extra = fma(a^2, term_z, term_x + term_y).
//
// All functions take the z range [z0, z1) of the box and change no memory field outside it. `M` as in stencil.hpp.
// Bytes per layer point and axis: Psi and Zeta read and written = 16; operations at order 8: about 45. Along x and y
// two neighbouring rows share their loads; along z all windows of two rows advance side by side, because one alone is
// a chain of dependent operations. What a layer costs in steps: `subsalt lab kernels`.
#pragma once

#include "kernels/stencil.hpp"
#include "kernels/wide.hpp"

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

/// Psi along x or y for a whole row and its neighbour one `stride` on, which share most of what they read.
template <int M>
inline void psi_two_rows(float* psi, float* psi2, const float* u, Index stride, const float* d1, const float* b,
                         Index n, const Next& next) {
    const Weights d(d1, M);
    const Reach r(stride);
    const Vec vb = set1(b[0]), vb1 = set1(b[0] - 1.0f), wb = set1(b[1]), wb1 = set1(b[1] - 1.0f);
    const float* u2 = u + stride;
    for (const float* end = u + n; u < end; u += lanes, u2 += lanes, psi += lanes, psi2 += lanes) {
        if (next.memory != 0) {
            prefetch_l2(psi + next.memory);
            prefetch_l2(psi2 + next.memory);
        }
        if (next.field != 0) {
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

/// What a row along x or y needs, or that row and the one after it along the axis: Psi rows around it (rows of zeros
/// outside the layer), Zeta (null in the M cells inside the layer's edge), the field, and the distance to its
/// neighbours along the axis in floats.
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

/// D1 across rows that lie anywhere, at rows[0] and at the row after it.
template <int M>
SUBSALT_INLINE void d1_two_rows(Vec& g, Vec& g2, const float* const* rows, const Weights& d, Index z) {
    Vec ahead_both = load(rows[1] + z), behind_both = load(rows[0] + z);
    written_out<1, M>([&](auto k) SUBSALT_INLINED {
        const Vec b_k = load(rows[-k] + z), a_k = load(rows[k + 1] + z);
        const Vec change = sub(ahead_both, b_k), change2 = sub(a_k, behind_both);
        g = k == 1 ? mul(d.w[1], change) : fma(d.w[k], change, g);
        g2 = k == 1 ? mul(d.w[1], change2) : fma(d.w[k], change2, g2);
        ahead_both = a_k, behind_both = b_k;
    });
}

/// The terms along x or y of a whole row and of the one after it along the axis, written to extra and extra2 (Add:
/// added to them), and Zeta advanced. `Inside`: both lie in the layer, else both in the M cells inside its edge.
template <int M, bool Add, bool Inside>
inline void layer_two_row_terms(float* extra, float* extra2, const LayerRow& row, const float* c2, const float* d1,
                                Index n, const Next& next) {
    const Weights c(c2, M), d(d1, M);
    const Reach r(row.stride);
    const Vec vb = set1(row.b[0]), vb1 = set1(row.b[0] - 1.0f), wb = set1(row.b[1]), wb1 = set1(row.b[1] - 1.0f);
    const float* const* psi = row.psi + M;
    float *zeta = row.zeta[0], *zeta2 = row.zeta[1];
    for (Index z = 0; z < n; z += lanes) {
        Vec term, term2;
        d1_two_rows<M>(term, term2, psi, d, z);
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
        store(extra + z, Add ? add(load(extra + z), term) : term);
        store(extra2 + z, Add ? add(load(extra2 + z), term2) : term2);
    }
}

/// What the layer along z adds to a sum; of a stretched axis a^2 times that.
template <bool Stretched, class N>
SUBSALT_INLINE N add_term(N sum, N term, [[maybe_unused]] const float* square, [[maybe_unused]] Index z) {
    if constexpr (Stretched) return fma(load_as<N>(square + z), term, sum);
    return add(sum, term);
}

/// The term along z, added to both windows of `extra`, and Zeta advanced. `work` is a row of zeros with zeros on either
/// side, of which this function uses the windows. `square`: of a stretched axis, where the term is added a^2 times.
template <int M, bool Stretched>
inline void add_term_z(float* extra, const float* psi, float* zeta, float* work, const float* u, const WindowsZ& wz,
                       Index n, const float* c2, const float* d1, int radius, Index z0, Index z1, const float* square) {
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
        store(extra + z, add_term<Stretched>(load(extra + z), term, square, z));
    }
}

/// Where the windows of one row are: Psi and Zeta of the row, the field, the extra terms and a^2 at z = 0.
struct EndsZ {
    const float* u;
    float *psi, *zeta, *extra;
    const float* square; // of a stretched axis, else null
};

#if SUBSALT_SHIFTS

/// Whether the windows of a row go through registers: each is 16 floats, or 32 of which the inner one holds no cell
/// of the layer, and they lie apart.
inline bool windows_fit_registers(const WindowsZ& wz, const Index* width, Index n) {
    const Index size = wz.front > wz.back ? wz.front : wz.back;
    const bool alike = (wz.front == 0 || wz.front == size) && (wz.back == 0 || wz.back == size);
    return alike && size <= 2 * wide_lanes && width[4] <= wide_lanes && width[5] <= wide_lanes &&
           wz.front + wz.back <= n;
}

/// One window of the layer along z in registers: Psi, Zeta and the term of the 16 points that hold the layer, and
/// (Near) the term of the 16 points inside them, which D1 Psi reaches. All pointers point to the vector that holds the
/// layer.
template <int M, bool Onto, bool Near, bool Front, bool Stretched>
struct WindowZ {
    const float *u, *b_at, *near_at, *in_at, *square;
    float *psi, *zeta, *extra;
    Wide b, d1, d2, psi_now, near_d1;

    SUBSALT_INLINE WindowZ(const EndsZ& row, const WindowsZ& wz, Index n) {
        const Index at = Front ? 0 : wz.front + wz.back - wide_lanes, z = Front ? 0 : n - wide_lanes;
        u = row.u + z, extra = row.extra + z;
        square = Stretched ? row.square + z : nullptr;
        psi = row.psi + at, zeta = row.zeta + at;
        b_at = wz.b + at, near_at = wz.near_side + at, in_at = wz.in_layer + at;
    }
    /// D1 u and D2 u
    SUBSALT_INLINE void differentiate(const Weights& c, const Weights& d) {
        const Wide mid = load_as<Wide>(u), left = load_as<Wide>(u - wide_lanes), right = load_as<Wide>(u + wide_lanes);
        d2 = mul(c.w[0], mid);
        written_out<1, M>([&](auto k) SUBSALT_INLINED {
            const Wide plus = shift_wide<k>(mid, right), minus = shift_wide<16 - k>(left, mid);
            d2 = fma(c.w[k], add(plus, minus), d2);
            d1 = k == 1 ? mul(d.w[1], sub(plus, minus)) : fma(d.w[k], sub(plus, minus), d1);
        });
    }
    SUBSALT_INLINE void advance_psi() {
        b = load_as<Wide>(b_at);
        psi_now = remember(b, sub(b, set_as<Wide>(1.0f)), load_as<Wide>(psi), d1);
        store(psi, psi_now);
    }
    /// D1 Psi; Psi is zero beyond the vector
    SUBSALT_INLINE void differentiate_psi(const Weights& d) {
        const Wide zero = set_as<Wide>(0.0f);
        written_out<1, M>([&](auto k) SUBSALT_INLINED {
            const Wide after = shift_wide<16 - k>(psi_now, zero), before = shift_wide<k>(zero, psi_now);
            const Wide change = sub(shift_wide<k>(psi_now, zero), shift_wide<16 - k>(zero, psi_now));
            d1 = k == 1 ? mul(d.w[1], change) : fma(d.w[k], change, d1);
            if constexpr (Near) {
                const Wide beside = Front ? sub(zero, after) : sub(before, zero);
                near_d1 = k == 1 ? mul(d.w[1], beside) : fma(d.w[k], beside, near_d1);
            }
        });
    }
    SUBSALT_INLINE void finish() {
        const Wide none = set_as<Wide>(-0.0f);
        const Wide now = fma(b, load_as<Wide>(zeta), mul(sub(b, set_as<Wide>(1.0f)), add(d2, d1)));
        store(zeta, now);
        put(0, add(select(load_as<Wide>(near_at), d1, none), select(load_as<Wide>(in_at), now, none)));
        if constexpr (Near) {
            constexpr Index inside = Front ? wide_lanes : -wide_lanes;
            put(inside, select(load_as<Wide>(near_at + inside), near_d1, none));
        }
    }

private:
    SUBSALT_INLINE void put(Index at, Wide term) {
        float* to = extra + at;
        if constexpr (Onto)
            store(to, add_term<Stretched>(load_as<Wide>(to), term, square, at));
        else if constexpr (Stretched)
            store(to, mul(load_as<Wide>(square + at), term));
        else
            store(to, term);
    }
};

/// A window is a chain of some 20 dependent operations: all go through it side by side, or the core would wait.
template <class... Windows>
SUBSALT_INLINE void advance_windows(const Weights& c, const Weights& d, Windows... w) {
    (w.differentiate(c, d), ...);
    (w.advance_psi(), ...);
    (w.differentiate_psi(d), ...);
    (w.finish(), ...);
}

/// Psi, Zeta and the term along z in one visit, for one whole row or two whose windows fit registers. The term is added
/// to `extra`, or written there (not Onto). `next`: floats to the memory to prefetch.
template <int M, bool Onto, bool Near, bool Stretched>
inline void add_term_z_in_registers(const EndsZ* rows, int count, const WindowsZ& wz, Index n, const float* c2,
                                    const float* d1, Index next) {
    const Weights c(c2, M), d(d1, M);
    const auto front = [&](int i) SUBSALT_INLINED { return WindowZ<M, Onto, Near, true, Stretched>(rows[i], wz, n); };
    const auto back = [&](int i) SUBSALT_INLINED { return WindowZ<M, Onto, Near, false, Stretched>(rows[i], wz, n); };
    for (int i = 0; i < count && next != 0; ++i)
        for (Index j = 0; j < wz.front + wz.back; j += wide_lanes)
            prefetch_l2(rows[i].psi + j + next), prefetch_l2(rows[i].zeta + j + next);
    if (wz.front > 0 && wz.back > 0)
        count == 2 ? advance_windows(c, d, front(0), back(0), front(1), back(1))
                   : advance_windows(c, d, front(0), back(0));
    else if (wz.front > 0)
        count == 2 ? advance_windows(c, d, front(0), front(1)) : advance_windows(c, d, front(0));
    else
        count == 2 ? advance_windows(c, d, back(0), back(1)) : advance_windows(c, d, back(0));
}

#endif

} // namespace subsalt::SUBSALT_NS
