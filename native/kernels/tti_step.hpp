// The TTI step on rows along z: slopes and fluxes, their divergence, and the leapfrog.
//
//   p_tt = v^2 [e A + s B],  q_tt = v^2 [s A + B],  A = lap p - V p,  B = V q
//   V w = sum_i D1_i F_i + 0.2 lap w,  F_i = n_i g - 0.2 D1_i w,  g = sum_j n_j D1_j w,  n the symmetry axis
//
// with e = 1 + 2 epsilon, s = sqrt(1 + 2 delta), after Zhang, Zhang and Zhang (2011, Geophysics 76): -V and -(lap - V)
// are symmetric and positive for any axes. src/subsalt/kernels/reference.py says why, and has the same in NumPy.
//
// Weights are those of a unit grid, the same for the three axes; the spacings H_i come in with n_i, the fluxes and the
// second derivatives. Canonical order per point and field w, i = x, y, z (2-D: x, z), each sum in this order:
//   slope      h_i = d_1 (w[+1] - w[-1]);  k = 2 .. M: h_i = fma(d_k, w[+k] - w[-k], h_i)
//   second     u_i = c_1 (w[+1] + w[-1]);  k = 2 .. M: u_i = fma(c_k, w[+k] + w[-k], u_i)
//   start      a = centre w;  every i: a = fma(second_i, u_i, a);  second_i = 0.8 / H_i^2 for p, 0.2 / H_i^2 for q
//   along n    m_i = n_i / H_i;  g = m_x h_x;  then a fma per axis
//   flux       f_i = (0.2 / H_i^2) h_i;  F_i = fma(-m_i, g, f_i) for p, fma(m_i, g, -f_i) for q;
//              0 outside the grid, F_z[-k] = F_z[k] above a free surface
//   y, z, x    k = 1 .. M: a = fma(d_k, F_y[+k] - F_y[-k], a);  a + (the layer's term of y);  then z, then x likewise;
//              this is A from p, B from q
//   step       p_next, q_next and damping as in vti_step.hpp
//
// On a stretched depth axis the fields are a^(1/2) p, and with its rows (problem.hpp), everything else as above:
//   slope      h_z = power S, S the chain of root w, every product rounded
//   second     square u_z in place of u_z
//   start      centre per point
//   flux       root F_z is what is kept along z
//   z          a = fma(power, S, a), S = d_1 (F_z[+1] - F_z[-1]), then the chain, of what is kept
//
// Points are computed by this chain whatever the vector, the box or the thread. `P` planes along x are done together:
// they share the neighbours along x; `P` changes no bit.
//
// Per point in 3-D at order 8: 265 operations, and 48 bytes from memory (2 curr, 2 prev, 6 models read, 2 written),
// besides the rings of the tile and the fluxes beside it that are made twice (isa/tti.hpp).
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// Ask for a line of the next row and, with 16 lanes, of the row after it: lines are then asked for twice, because
/// processors drop some requests (once: 0.9 of the rate on Zen 4, 1.05 with 8 lanes on Zen 3; not at all: 0.6).
SUBSALT_INLINE void prefetch_rows(const float* next, [[maybe_unused]] Index row) {
    prefetch_l2(next);
#if SUBSALT_LANES != 8
    prefetch_l2(next + row);
#endif
}

/// One row of a field in P planes: the field and the axis at z = 0 of the first plane, and where the fluxes go.
struct FluxRow {
    const float* w;
    const float* axis[3];
    const float* next[2][4]; // by plane: rows that something reads next, for the prefetch
    float* x[2];             // by plane
    float* y[2];
    float* z[2];
    float* a[2];
};

/// First and second derivative on a unit grid from the same neighbours.
struct Derivatives {
    Vec first, second;

    SUBSALT_INLINE void begin(const Weights& c, const Weights& d, Vec plus, Vec minus) {
        first = mul(d.w[1], sub(plus, minus));
        second = mul(c.w[1], add(plus, minus));
    }
    SUBSALT_INLINE void take(bool is_first, int k, const Weights& c, const Weights& d, Vec plus, Vec minus) {
        if (is_first)
            begin(c, d, plus, minus);
        else
            add_pair(k, c, d, plus, minus);
    }
    SUBSALT_INLINE void add_pair(int k, const Weights& c, const Weights& d, Vec plus, Vec minus) {
        first = fma(d.w[k], sub(plus, minus), first);
        second = fma(c.w[k], add(plus, minus), second);
    }
};

/// Along x or y; `reach` of the same stride.
template <int M>
SUBSALT_INLINE Derivatives derivatives(const float* p, const Reach& reach, Index stride, const Weights& c,
                                       const Weights& d, int radius) {
    Derivatives out;
    const auto take = [&](auto k, auto first) SUBSALT_INLINED {
        if constexpr (M == 0)
            out.take(first, k, c, d, load(p + k * stride), load(p - k * stride));
        else
            out.take(first, k, c, d, ahead<k>(p, reach), behind<k>(p, reach));
    };
    take(Constant<1>{}, true);
    for_neighbours<2, M>(radius, [&](auto k) SUBSALT_INLINED { take(k, false); });
    return out;
}

/// Along x at p and in the plane beyond, of which all but two rows serve both.
template <int M>
SUBSALT_INLINE void derivatives_two_planes(const float* p, const float* p2, const Reach& r, const Weights& c,
                                           const Weights& d, Derivatives* out) {
    Vec mid = load(p), mid2 = load(p2);
    pairs_of_two_planes<M>(p, p2, mid, mid2, r, [&](int k, Vec plus, Vec minus, Vec plus2, Vec minus2) SUBSALT_INLINED {
        out[0].take(k == 1, k, c, d, plus, minus), out[1].take(k == 1, k, c, d, plus2, minus2);
    });
}

/// The neighbours k to the right and to the left of the vector at p. With 8 or 16 lanes they are shifts between
/// three aligned vectors: loads across cache lines, each two, were what the loop waited for.
template <int k>
SUBSALT_INLINE Vec right_of([[maybe_unused]] const float* p, [[maybe_unused]] const RowWindow& v) {
#if SUBSALT_SHIFTS
    if constexpr (k == lanes)
        return v.right;
    else
        return shift<k>(v.mid, v.right);
#else
    return load(p + k);
#endif
}
template <int k>
SUBSALT_INLINE Vec left_of([[maybe_unused]] const float* p, [[maybe_unused]] const RowWindow& v) {
#if SUBSALT_SHIFTS
    if constexpr (k == lanes)
        return v.left;
    else
        return shift<lanes - k>(v.left, v.mid);
#else
    return load(p - k);
#endif
}

#if SUBSALT_LANES == 8
/// The vector at p and those half a vector and a whole one beside it. AVX2 shifts halves: what lies within four floats
/// takes one instruction each from these, where shifts between whole vectors put the middle together first.
struct HalfWindow {
    Vec left, low, mid, high, right;

    SUBSALT_INLINE explicit HalfWindow(const float* p)
        : left(load(p - lanes)), low(load(p - 4)), mid(load(p)), high(load(p + 4)), right(load(p + lanes)) {}
    SUBSALT_INLINE void at(const float*) {}
};

/// Lanes k .. k + 7 of lo and what follows it, 0 <= k <= 4; `hi` begins 4 lanes behind lo.
template <int k>
SUBSALT_INLINE Vec shift_half(Vec lo, Vec hi) {
    if constexpr (k == 0)
        return lo;
    else if constexpr (k == 4)
        return hi;
    else
        return _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(hi), _mm256_castps_si256(lo), 4 * k));
}
template <int k>
SUBSALT_INLINE Vec right_of(const float*, const HalfWindow& v) {
    if constexpr (k <= 4)
        return shift_half<k>(v.mid, v.high);
    else
        return shift_half<k - 4>(v.high, v.right);
}
template <int k>
SUBSALT_INLINE Vec left_of(const float*, const HalfWindow& v) {
    if constexpr (k <= 4)
        return shift_half<4 - k>(v.low, v.mid);
    else
        return shift_half<8 - k>(v.left, v.low);
}
using AlongZ = HalfWindow;
#else
using AlongZ = RowWindow;
#endif

/// Along z.
template <int M>
SUBSALT_INLINE Derivatives derivatives_z(const float* p, const Weights& c, const Weights& d, int radius) {
    Derivatives out;
    AlongZ v(p);
    v.at(p);
    const auto take = [&](auto k, auto first) SUBSALT_INLINED {
        if constexpr (M == 0)
            out.take(first, k, c, d, load(p + k), load(p - k));
        else
            out.take(first, k, c, d, right_of<k>(p, v), left_of<k>(p, v));
    };
    take(Constant<1>{}, true);
    for_neighbours<2, M>(radius, [&](auto k) SUBSALT_INLINED { take(k, false); });
    return out;
}

/// Along z of a stretched axis: power D1 root w, and a^2 D2 w without its centre. Where neighbours are shifts, the
/// products with the root come before them.
template <int M>
SUBSALT_INLINE Derivatives stretched_derivatives_z(const float* p, const Stretch& rows, Index z, const Weights& c,
                                                   const Weights& d, int radius) {
    const float* root = rows.root + z;
    RowWindow v(p);
    v.at(p);
#if SUBSALT_SHIFTS
    RowWindow scaled = v;
    if constexpr (M > 0) {
        scaled.left = mul(v.left, load(root - lanes));
        scaled.mid = mul(v.mid, load(root));
        scaled.right = mul(v.right, load(root + lanes));
    }
#endif
    const auto at = [&](Index k) SUBSALT_INLINED { return mul(load(p + k), load(root + k)); };
    const Vec slope = first<M>(d, radius, [&](auto k) SUBSALT_INLINED {
#if SUBSALT_SHIFTS
        if constexpr (M > 0) return sub(right_of<k>(p, scaled), left_of<k>(p, scaled));
#endif
        return sub(at(k), at(-k));
    });
    return {mul(load(rows.power + z), slope), mul(load(rows.square + z), d2_z_off_centre<M>(p, v, c, radius))};
}

/// Whether the derivatives of a point are taken side by side, neighbour by neighbour: with 16 registers (AVX2), where
/// weights have no room, one load of them then serves all axes, and six chains wait for each other less than two.
template <int M>
constexpr bool side_by_side = SUBSALT_LANES == 8 && M > 0;

/// The weights of side_by_side, in memory.
struct WeightsInMemory {
    alignas(4 * SUBSALT_LANES) float c[max_radius + 1][SUBSALT_LANES], d[max_radius + 1][SUBSALT_LANES];

    SUBSALT_INLINE WeightsInMemory(const float* second, const float* first, int radius) {
        for (int k = 1; k <= radius; ++k)
            store(c[k], set1(second[k])), store(d[k], set1(first[k]));
    }
};

/// The derivatives of a point at w; z only on a uniform axis, y only in 3-D.
template <int M, int Dim, bool AlsoZ>
SUBSALT_INLINE void derivatives_side_by_side(const float* w, const Reach& of_x, const Reach& of_y,
                                             const WeightsInMemory& weights, Derivatives& x, Derivatives& y,
                                             Derivatives& z) {
    const WeightsInMemory* of = &weights;
#if defined(__x86_64__)
    asm("" : "+r"(of)); // opaque: else the compiler keeps all weights for the whole loop, and spills what it works with
#endif
    AlongZ v(w);
    v.at(w);
    written_out<1, M>([&](auto k) SUBSALT_INLINED {
        const Vec first = load(of->d[k]), second = load(of->c[k]);
        const auto take = [&](Derivatives& out, Vec plus, Vec minus) SUBSALT_INLINED {
            const Vec difference = sub(plus, minus), sum = add(plus, minus);
            out.first = k == 1 ? mul(first, difference) : fma(first, difference, out.first);
            out.second = k == 1 ? mul(second, sum) : fma(second, sum, out.second);
        };
        take(x, ahead<k>(w, of_x), behind<k>(w, of_x));
        if constexpr (Dim == 3) take(y, ahead<k>(w, of_y), behind<k>(w, of_y));
        if constexpr (AlsoZ) take(z, right_of<k>(w, v), left_of<k>(w, v));
    });
}

/// The numbers of a field's fluxes and second derivatives. A vector each before the loop: what it stores might else be
/// these numbers, so that they would be read and spread again every time.
template <int Field>
struct FluxNumbers {
    Vec slope[3], share[3], second[3], centre;

    SUBSALT_INLINE explicit FluxNumbers(const Tilt& tilt) : centre(set1(tilt.centre[Field])) {
        for (int i = 0; i < 3; ++i)
            slope[i] = set1(tilt.slope[i]), share[i] = set1(tilt.share[i]), second[i] = set1(tilt.second[Field][i]);
    }
};

/// Fluxes and second derivatives of one field on a row. All: everything; else the flux along y alone (rows beside the
/// tile).
template <int M, int Dim, int P, int Field, bool All, bool Stretched>
void tti_flux_row(const Problem& pb, const FluxRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Weights c(pb.tilt.c, radius), d(pb.tilt.d, radius);
    const WeightsInMemory weights(pb.tilt.c, pb.tilt.d, side_by_side<M> ? radius : 0);
    const FluxNumbers<Field> n(pb.tilt);
    const Reach of_x(pb.plane), of_y(pb.row);
    for (Index z = z0; z < z1; z += lanes) {
        for (int j = 0; j < (begins_line(row.w + z) ? P : 0); ++j)
            for (int i = 0; i < (All ? 3 : 4); ++i)
                prefetch_rows(row.next[j][i] + z, pb.row);
        Derivatives x[P], y, zs;
        if constexpr (P == 2 && !side_by_side<M>)
            derivatives_two_planes<M>(row.w + z, row.w + pb.plane + z, of_x, c, d, x);
        else if constexpr (!side_by_side<M>)
            x[0] = derivatives<M>(row.w + z, of_x, pb.plane, c, d, radius);
        for (int j = 0; j < P; ++j) {
            const float* w = row.w + j * pb.plane + z;
            const Index at = j * pb.plane + z;
            if constexpr (side_by_side<M>)
                derivatives_side_by_side<M, Dim, !Stretched>(w, of_x, of_y, weights, x[j], y, zs);
            Vec a = mul(Stretched ? load(pb.stretch.centre[Field] + z) : n.centre, load(w));
            a = fma(n.second[0], x[j].second, a);
            const Vec mx = mul(load(row.axis[0] + at), n.slope[0]);
            Vec g = mul(mx, x[j].first), my;
            if constexpr (Dim == 3) {
                if constexpr (!side_by_side<M>) y = derivatives<M>(w, of_y, pb.row, c, d, radius);
                a = fma(n.second[1], y.second, a);
                my = mul(load(row.axis[1] + at), n.slope[1]);
                g = fma(my, y.first, g);
            }
            if constexpr (Stretched)
                zs = stretched_derivatives_z<M>(w, pb.stretch, z, c, d, radius);
            else if constexpr (!side_by_side<M>)
                zs = derivatives_z<M>(w, c, d, radius);
            a = fma(n.second[2], zs.second, a);
            const Vec mz = mul(load(row.axis[2] + at), n.slope[2]);
            g = fma(mz, zs.first, g);
            if constexpr (Dim == 3) store(row.y[j] + z, tti_flux<Field>(my, g, mul(n.share[1], y.first)));
            if constexpr (All) {
                store(row.x[j] + z, tti_flux<Field>(mx, g, mul(n.share[0], x[j].first)));
                const Vec flux = tti_flux<Field>(mz, g, mul(n.share[2], zs.first));
                store(row.z[j] + z, Stretched ? mul(load(pb.stretch.root + z), flux) : flux);
                store(row.a[j] + z, a);
            }
        }
    }
}

/// sum[j][f] += D1 F along x of P planes j: flux[k] is the row k cells from the first one, and the rows that follow.
template <int M, int P>
SUBSALT_INLINE void add_along_x(Vec (*sum)[2], int f, const float* const* flux, const Weights& d, int radius, Index z) {
    if constexpr (P == 1) {
        const float* const* row = flux + (M > 0 ? M : radius);
        sum[0][f] = add_first<M>(sum[0][f], d, radius,
                                 [&](int k) SUBSALT_INLINED { return sub(load(row[k] + z), load(row[-k] + z)); });
    } else {
        Vec v[2 * M + P];
        for (int k = 0; k < 2 * M + P; ++k)
            v[k] = load(flux[k] + z);
        for (int j = 0; j < P; ++j)
            sum[j][f] = add_first<M>(sum[j][f], d, radius,
                                     [&](int k) SUBSALT_INLINED { return sub(v[M + j + k], v[M + j - k]); });
    }
}

/// a[j][f] += D1 F along x, in memory.
template <int M, int P>
void tti_divergence_x(float* const (*a)[2], const float* const* const* flux, const float* weights, int radius, Index z0,
                      Index z1) {
    const Weights d(weights, M > 0 ? M : radius);
    for (Index z = z0; z < z1; z += lanes) {
        Vec sum[P][2];
        for (int f = 0; f < 2; ++f) {
            for (int j = 0; j < P; ++j)
                sum[j][f] = load(a[j][f] + z);
            add_along_x<M, P>(sum, f, flux[f], d, radius, z);
            for (int j = 0; j < P; ++j)
                store(a[j][f] + z, sum[j][f]);
        }
    }
}

/// Fluxes around a row of an accumulator: rows along y, and the row itself along z.
struct Fluxes {
    const float* const* y; // 2 M + 1 rows
    const float* z;
    const float* next;  // a row that something reads next, for the prefetch
    Index row;          // floats to the row after it
    const float* power; // a^(3/2) along z of a stretched axis, whose flux is kept a^(-1/2) times; else null
};

/// a + D1 F along y
template <int M>
SUBSALT_INLINE Vec add_along_y(Vec a, const Fluxes& flux, const Weights& d, int radius, Index z) {
    const float* const* f = flux.y + (M > 0 ? M : radius);
    return add_first<M>(a, d, radius, [&](int k) SUBSALT_INLINED { return sub(load(f[k] + z), load(f[-k] + z)); });
}

/// a + D1 F along z
template <int M, bool Stretched>
SUBSALT_INLINE Vec add_along_z(Vec a, const Fluxes& flux, const Weights& d, int radius, Index z) {
    const float* p = flux.z + z;
    AlongZ v(p);
    v.at(p);
    const auto difference = [&](auto k) SUBSALT_INLINED {
        if constexpr (M == 0)
            return sub(load(p + k), load(p - k));
        else
            return sub(right_of<k>(p, v), left_of<k>(p, v));
    };
    if constexpr (Stretched) return fma(load(flux.power + z), first<M>(d, radius, difference), a);
    return add_first<M>(a, d, radius, difference);
}

/// a += D1 F along y, then along z.
template <int M, bool AlongY, bool AlongZ, bool Stretched>
void tti_divergence_yz(float* a, const Fluxes& flux, const float* weights, int radius, Index z0, Index z1) {
    const Weights d(weights, M > 0 ? M : radius);
    for (Index z = z0; z < z1; z += lanes) {
        if (begins_line(a + z)) prefetch_rows(flux.next + z, flux.row);
        Vec sum = load(a + z);
        if constexpr (AlongY) sum = add_along_y<M>(sum, flux, d, radius, z);
        if constexpr (AlongZ) sum = add_along_z<M, Stretched>(sum, flux, d, radius, z);
        store(a + z, sum);
    }
}

/// What the time step of a row reads and writes.
struct TiltedRow {
    const float* a[2]; // A and B
    const float* curr[2];
    float* prev[2];
    const float *m, *e, *s;
    Index ahead;    // floats to the row that comes next, for the prefetch,
    Index row;      // and from there to the row after it
    const float* t; // damped rows
    float t_xy;
};

/// The leapfrog of one vector.
template <bool Damped>
SUBSALT_INLINE void tti_leapfrog(const TiltedRow& row, Index z, Vec a, Vec b) {
    if (begins_line(row.prev[0] + z))
        prefetch_rows(row.prev[0] + z + row.ahead, row.row), prefetch_rows(row.prev[1] + z + row.ahead, row.row);
    const Vec m = load(row.m + z), e = load(row.e + z), s = load(row.s + z);
    const Vec p_prev = load(row.prev[0] + z), q_prev = load(row.prev[1] + z);
    Vec p_next = leapfrog(m, rhs_of_p(e, s, a, b), load(row.curr[0] + z), p_prev);
    Vec q_next = leapfrog(m, rhs_of_q(s, a, b), load(row.curr[1] + z), q_prev);
    if constexpr (Damped) {
        const Vec t = add(set1(row.t_xy), load(row.t + z));
        p_next = damped(t, p_prev, p_next);
        q_next = damped(t, q_prev, q_next);
    }
    store(row.prev[0] + z, p_next);
    store(row.prev[1] + z, q_next);
}

/// The leapfrog of rows of P planes; AlongX: with what is left of their divergence, that along x. flux[f][k] is the row
/// k cells from the first one, and the rows that follow.
template <int M, int P, bool Damped, bool AlongX>
void tti_finish_rows(const TiltedRow* rows, const float* const* const* flux, const float* weights, int radius, Index z0,
                     Index z1) {
    const Weights d(weights, M > 0 ? M : radius);
    for (Index z = z0; z < z1; z += lanes) {
        Vec sum[P][2];
        for (int f = 0; f < 2; ++f) {
            for (int j = 0; j < P; ++j)
                sum[j][f] = load(rows[j].a[f] + z);
            if constexpr (AlongX) add_along_x<M, P>(sum, f, flux[f], d, radius, z);
        }
        for (int j = 0; j < P; ++j)
            tti_leapfrog<Damped>(rows[j], z, sum[j][0], sum[j][1]);
    }
}

} // namespace subsalt::SUBSALT_NS
