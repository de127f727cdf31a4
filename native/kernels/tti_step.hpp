// The TTI step on rows along z: slopes and fluxes, their divergence, and the leapfrog.
//
//   p_tt = v^2 [e A + s B],  q_tt = v^2 [s A + B],  A = lap p - V p,  B = V q
//   V w = sum_i D1_i F_i + 0.2 lap w,  F_i = n_i g - 0.2 D1_i w,  g = sum_j n_j D1_j w,  n the symmetry axis
//
// with e = 1 + 2 epsilon, s = sqrt(1 + 2 delta), after Zhang, Zhang and Zhang (2011, Geophysics 76): -V and -(lap - V)
// are symmetric and positive for any axes. src/subsalt/kernels/tilted.py says why, and has the same in NumPy.
//
// Weights are those of a unit grid, the same for the three axes; the spacings H_i come in with n_i, the fluxes and the
// second derivatives. Canonical order per point and field w, i = x, y, z (2-D: x, z), each sum in this order:
//   slope      h_i = d_1 (w[+1] - w[-1]);  k = 2 .. M: h_i = fma(d_k, w[+k] - w[-k], h_i)
//   second     u_i = c_1 (w[+1] + w[-1]);  k = 2 .. M: u_i = fma(c_k, w[+k] + w[-k], u_i)
//   start      a = centre w;  every i: a = fma(second_i, u_i, a);  second_i = 0.8 / H_i^2 for p, 0.2 / H_i^2 for q
//   along n    m_i = n_i / H_i;  g = m_x h_x;  then a fma per axis
//   flux       f_i = (0.2 / H_i^2) h_i;  F_i = fma(-m_i, g, f_i) for p, fma(m_i, g, -f_i) for q;
//              0 outside the grid, F_z[-k] = F_z[k] above a free surface
//   y, then z  k = 1 .. M: a = fma(d_k, F_y[+k] - F_y[-k], a);  F_z likewise;  a + (the layer's term of y), then of z
//   x          F_x likewise;  a + (the layer's term of x);  this is A from p, B from q
//   step       p_next, q_next and damping as in vti_step.hpp
//
// Points are computed by this chain whatever the vector, the box or the thread. `P` planes along x are done together:
// they share the neighbours along x; `P` changes no bit.
//
// Per point in 3-D at order 8: 265 operations, and 48 bytes from memory (2 curr, 2 prev, 6 models read, 2 written),
// besides the rings of the tile and the fluxes beside it that are made twice (isa/tti.hpp).
#pragma once

#include "kernels/stencil.hpp"

namespace subsalt::SUBSALT_NS {

/// One row of a field in P planes: the field and the axis at z = 0 of the first plane, and where the fluxes go.
struct FluxRow {
    const float* w;
    const float* axis[3];
    float* x[2]; // by plane
    float* y[2];
    float* z[2];
    float* a[2];
};

/// First and second derivative on a unit grid from the same neighbours.
template <int M>
SUBSALT_INLINE void derivatives(const float* p, Index stride, const Weights& c, const Weights& d, int radius,
                                Vec& first, Vec& second) {
    const int reach = M > 0 ? M : radius;
    Vec plus = load(p + stride), minus = load(p - stride);
    first = mul(d.w[1], sub(plus, minus));
    second = mul(c.w[1], add(plus, minus));
    for (int k = 2; k <= reach; ++k) {
        plus = load(p + k * stride), minus = load(p - k * stride);
        first = fma(d.w[k], sub(plus, minus), first);
        second = fma(c.w[k], add(plus, minus), second);
    }
}

/// -(m g) + f for p, m g - f for q.
template <int Field>
SUBSALT_INLINE Vec flux(Vec m, Vec g, Vec f) {
    return Field == 0 ? fnma(m, g, f) : fms(m, g, f);
}

/// Fluxes and second derivatives of one field on a row. All: everything; else the flux along y alone (rows beside the
/// tile).
template <int M, int Dim, int P, int Field, bool All>
void tti_flux_row(const Problem& pb, const FluxRow& row, Index z0, Index z1) {
    const int radius = M > 0 ? M : pb.radius;
    const Tilt& tilt = pb.tilt;
    const Weights c(tilt.c, radius), d(tilt.d, radius);
    for (Index z = z0; z < z1; z += lanes) {
        // the next row: of the field what is new, the axis once for both fields
        for (int j = 0; j < P; ++j) {
            prefetch(row.w + z + (radius + j) * pb.plane + pb.row);
            if (Field == 1) continue;
            for (int i = 0; i < 3; ++i)
                if (Dim == 3 || i != 1) prefetch(row.axis[i] + z + j * pb.plane + pb.row);
        }
        Vec hx[P], ux[P];
        if constexpr (P == 1)
            derivatives<M>(row.w + z, pb.plane, c, d, radius, hx[0], ux[0]);
        else {
            Vec v[2 * M + P];
            for (int k = 0; k < 2 * M + P; ++k)
                v[k] = load(row.w + z + (k - M) * pb.plane);
            for (int j = 0; j < P; ++j) {
                const Vec* at = v + M + j;
                hx[j] = mul(d.w[1], sub(at[1], at[-1]));
                ux[j] = mul(c.w[1], add(at[1], at[-1]));
                for (int k = 2; k <= M; ++k) {
                    hx[j] = fma(d.w[k], sub(at[k], at[-k]), hx[j]);
                    ux[j] = fma(c.w[k], add(at[k], at[-k]), ux[j]);
                }
            }
        }
        for (int j = 0; j < P; ++j) {
            const float* w = row.w + j * pb.plane + z;
            const Index at = j * pb.plane + z;
            Vec a = mul(set1(tilt.centre[Field]), load(w));
            a = fma(set1(tilt.second[Field][0]), ux[j], a);
            const Vec mx = mul(load(row.axis[0] + at), set1(tilt.slope[0]));
            Vec g = mul(mx, hx[j]), hy, uy, hz, uz, my;
            if constexpr (Dim == 3) {
                derivatives<M>(w, pb.row, c, d, radius, hy, uy);
                a = fma(set1(tilt.second[Field][1]), uy, a);
                my = mul(load(row.axis[1] + at), set1(tilt.slope[1]));
                g = fma(my, hy, g);
            }
            derivatives<M>(w, 1, c, d, radius, hz, uz);
            a = fma(set1(tilt.second[Field][2]), uz, a);
            const Vec mz = mul(load(row.axis[2] + at), set1(tilt.slope[2]));
            g = fma(mz, hz, g);
            if constexpr (Dim == 3) store(row.y[j] + z, flux<Field>(my, g, mul(set1(tilt.share[1]), hy)));
            if constexpr (All) {
                store(row.x[j] + z, flux<Field>(mx, g, mul(set1(tilt.share[0]), hx[j])));
                store(row.z[j] + z, flux<Field>(mz, g, mul(set1(tilt.share[2]), hz)));
                store(row.a[j] + z, a);
            }
        }
    }
}

/// a += D1 F along x of P planes: F[k] is the row k cells from the first one, and the rows that follow.
template <int M, int P>
void tti_divergence_x(float* const* a, const float* const* flux, const float* weights, int radius, Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights d(weights, reach);
    const float* const* f = flux + reach;
    for (Index z = z0; z < z1; z += lanes) {
        if constexpr (P == 1) {
            Vec acc = load(a[0] + z);
            for (int k = 1; k <= reach; ++k)
                acc = fma(d.w[k], sub(load(f[k] + z), load(f[-k] + z)), acc);
            store(a[0] + z, acc);
        } else {
            Vec v[2 * M + P];
            for (int k = 0; k < 2 * M + P; ++k)
                v[k] = load(flux[k] + z);
            for (int j = 0; j < P; ++j) {
                Vec acc = load(a[j] + z);
                for (int k = 1; k <= M; ++k)
                    acc = fma(d.w[k], sub(v[M + j + k], v[M + j - k]), acc);
                store(a[j] + z, acc);
            }
        }
    }
}

/// a += D1 F along y (3-D), where flux_y[k] is the row k cells on, and along z.
template <int M, int Dim>
void tti_divergence_yz(float* a, const float* const* flux_y, const float* flux_z, const float* weights, int radius,
                       Index z0, Index z1) {
    const int reach = M > 0 ? M : radius;
    const Weights d(weights, reach);
    const float* const* f = flux_y + reach;
    for (Index z = z0; z < z1; z += lanes) {
        Vec acc = load(a + z);
        if constexpr (Dim == 3)
            for (int k = 1; k <= reach; ++k)
                acc = fma(d.w[k], sub(load(f[k] + z), load(f[-k] + z)), acc);
        for (int k = 1; k <= reach; ++k)
            acc = fma(d.w[k], sub(load(flux_z + z + k), load(flux_z + z - k)), acc);
        store(a + z, acc);
    }
}

struct TiltedRow {
    const float* a; // A
    const float* b; // B
    const float* curr[2];
    float* prev[2];
    const float *m, *e, *s;
    Index ahead;
    const float* t; // damped rows
    float t_xy;
};

/// The leapfrog.
template <bool Damped>
void tti_update_row(const TiltedRow& row, Index z0, Index z1) {
    const Vec two = set1(2.0f), one = set1(1.0f);
    for (Index z = z0; z < z1; z += lanes) {
        prefetch(row.m + z + row.ahead), prefetch(row.e + z + row.ahead), prefetch(row.s + z + row.ahead);
        prefetch(row.prev[0] + z + row.ahead), prefetch(row.prev[1] + z + row.ahead);
        const Vec a = load(row.a + z), b = load(row.b + z);
        const Vec m = load(row.m + z), e = load(row.e + z), s = load(row.s + z);
        const Vec p_prev = load(row.prev[0] + z), q_prev = load(row.prev[1] + z);
        Vec p_next = fma(m, fma(e, a, mul(s, b)), fms(two, load(row.curr[0] + z), p_prev));
        Vec q_next = fma(m, fma(s, a, b), fms(two, load(row.curr[1] + z), q_prev));
        if constexpr (Damped) {
            const Vec t = add(set1(row.t_xy), load(row.t + z)), one_t = add(one, t);
            p_next = where_nonzero(t, div(fma(t, p_prev, p_next), one_t), p_next);
            q_next = where_nonzero(t, div(fma(t, q_prev, q_next), one_t), q_next);
        }
        store(row.prev[0] + z, p_next);
        store(row.prev[1] + z, q_next);
    }
}

} // namespace subsalt::SUBSALT_NS
