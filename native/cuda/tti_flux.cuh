// Slopes, second derivatives and fluxes of one pair of points, and the divergence of fluxes: the formulas and their
// order of operations are in native/kernels/tti_step.hpp.
#pragma once

#include "pair.cuh"
#include "tti_tile.cuh"

namespace subsalt::cuda {

/// What a thread has of a field along x: its pair in the planes x - M .. x + M. Up to M = 4 it is a queue in registers,
/// with one load per plane; beyond that registers do not suffice, and all are loaded when they are used, most from L1
/// or L2.
template <int M, bool Queued = (M <= 4)>
class TiltedColumn {
public:
    static constexpr bool is_queue = true;

    /// Stand one plane before `start`, that of the first turn. `there`: the pair lies in the padded array.
    SUBSALT_DEVICE void begin(const float* start, Index plane, bool there) {
#pragma unroll
        for (int j = 1; j <= 2 * M; ++j)
            v_[j] = there ? ldg2(start + (j - 1 - M) * plane) : zero2();
    }
    /// Go one plane on; `head`: the pair M planes ahead.
    SUBSALT_DEVICE void next(float2 head) {
#pragma unroll
        for (int j = 0; j < 2 * M; ++j)
            v_[j] = v_[j + 1];
        v_[2 * M] = head;
    }
    SUBSALT_DEVICE float2 at(int k) const { return v_[M + k]; }

private:
    float2 v_[2 * M + 1];
};

template <int M>
class TiltedColumn<M, false> {
public:
    static constexpr bool is_queue = false;

    SUBSALT_DEVICE void begin(const float* start, Index plane, bool there) {
        p_ = there ? start - plane : nullptr;
        plane_ = plane;
    }
    SUBSALT_DEVICE void next(float2) { p_ = p_ == nullptr ? nullptr : p_ + plane_; }
    SUBSALT_DEVICE float2 at(int k) const { return p_ == nullptr ? zero2() : ldg2(p_ + k * plane_); }

private:
    const float* p_;
    Index plane_;
};

/// A pair and its neighbours along z, from shared memory or a row of numbers.
template <int M>
class PairWindow {
    static constexpr int beside = (M + 1) / 2 * 2;

public:
    SUBSALT_DEVICE explicit PairWindow(const float* p) {
#pragma unroll
        for (int j = 0; j < 2 * beside + 2; j += 2) {
            const float2 v = load2(p + j - beside);
            v_[j] = v.x, v_[j + 1] = v.y;
        }
    }
    SUBSALT_DEVICE float2 at(int k) const { return make_float2(v_[beside + k], v_[beside + k + 1]); }

private:
    float v_[2 * beside + 2];
};

/// PairRows along y, from shared memory.
struct PairRows {
    const float* p;
    int stride;
    SUBSALT_DEVICE float2 at(int k) const { return load2(p + k * stride); }
};

/// A pair on a stretched depth axis, and the numbers of its rows there.
struct DepthPair {
    const Stretch& rows;
    int z;

    SUBSALT_DEVICE float2 centre(int field) const { return ldg2(rows.centre[field] + z); }
    SUBSALT_DEVICE float2 square() const { return ldg2(rows.square + z); }
    SUBSALT_DEVICE float2 root() const { return ldg2(rows.root + z); }
    SUBSALT_DEVICE float2 power() const { return ldg2(rows.power + z); }
};

/// A pair and its neighbours along z, times a^(-1/2), of which nothing is kept from field to field: registers are full.
template <int M>
struct RootedWindow {
    const PairWindow<M>& w;
    const PairWindow<M>& root;
    SUBSALT_DEVICE float2 at(int k) const { return root.at(k) * w.at(k); }
};

/// Pairs of neighbours that a chain takes at once: all, but where loads of orders 14 and 16 would fill the registers.
template <class Values>
constexpr int at_once = max_radius;
template <>
constexpr int at_once<TiltedColumn<7>> = 1;
template <>
constexpr int at_once<TiltedColumn<8>> = 1;

/// D1 on a unit grid, and D2 without its centre.
template <int M, class Values>
SUBSALT_DEVICE float2 slope(const float* d, const Values& w) {
    constexpr int written = at_once<Values> == 1 ? 0 : M;
    return first<written>(d, M, [&](int k) { return w.at(k) - w.at(-k); });
}
template <int M, class Values>
SUBSALT_DEVICE float2 second(const float* c, const Values& w) {
    constexpr int written = at_once<Values> == 1 ? 0 : M;
    return first<written>(c, M, [&](int k) { return w.at(k) + w.at(-k); });
}

struct Fluxes {
    float2 x, y, z;
    float2 a; // centre and second derivatives
};

/// The fluxes of a field where `w` points to it in shared memory, `m` = n_i / H_i; on a stretched depth axis that of z
/// times a^(-1/2). Of what the role does not need only zeros are returned.
template <class Tile, int Dim, int Field, Role R, bool Stretched>
SUBSALT_DEVICE Fluxes tti_fluxes(const Tilt& tilt, const TiltedColumn<Tile::radius>& column, const float* w,
                                 const float2 (&m)[3], [[maybe_unused]] const DepthPair& depth) {
    constexpr int M = Tile::radius;
    constexpr bool inner = R == Role::inner;
    Fluxes out{zero2(), zero2(), zero2(), zero2()};
    if constexpr (inner) {
        if constexpr (Stretched)
            out.a = depth.centre(Field) * column.at(0);
        else
            out.a = tilt.centre[Field] * column.at(0);
        out.a = fma(tilt.second[Field][0], second<M>(tilt.c, column), out.a);
    }
    const float2 hx = slope<M>(tilt.d, column);
    float2 g = m[0] * hx, hy = zero2();
    if constexpr (Dim == 3) {
        const PairRows rows{w, Tile::w_row};
        hy = slope<M>(tilt.d, rows);
        if constexpr (inner) out.a = fma(tilt.second[Field][1], second<M>(tilt.c, rows), out.a);
        g = fma(m[1], hy, g);
    }
    const PairWindow<M> window(w);
    float2 hz;
    if constexpr (Stretched) {
        hz = depth.power() * slope<M>(tilt.d, RootedWindow<M>{window, PairWindow<M>(depth.rows.root + depth.z)});
        if constexpr (inner) out.a = fma(tilt.second[Field][2], depth.square() * second<M>(tilt.c, window), out.a);
    } else {
        hz = slope<M>(tilt.d, window);
        if constexpr (inner) out.a = fma(tilt.second[Field][2], second<M>(tilt.c, window), out.a);
    }
    g = fma(m[2], hz, g);
    const auto flux = [&](int i, float2 h) { return tti_flux<Field>(m[i], g, tilt.share[i] * h); };
    if constexpr (inner) out.x = flux(0, hx);
    if constexpr (Dim == 3 && R != Role::beside_z) out.y = flux(1, hy);
    if constexpr (R != Role::beside_y) out.z = flux(2, hz);
    if constexpr (R != Role::beside_y && Stretched) out.z = depth.root() * out.z;
    return out;
}

/// a + D1 F: pair after pair.
template <int M, class Values>
SUBSALT_DEVICE float2 add_divergence(float2 a, const float* d, const Values& flux) {
    return add_first<M>(a, d, M, [&](int k) { return flux.at(k) - flux.at(-k); });
}

/// The part of the divergence along x, as the planes come: the flux of plane x is the last that plane x - M waits for.
/// acc[j] is the sum of plane x - 1 - j with its first j pairs; what `before(lag)` gives lies `lag` planes behind. The
/// pairs of every point are added in the order k = 1 .. M.
template <int M, class Before>
SUBSALT_DEVICE float2 push_divergence_x(float2 (&acc)[M], float2 a, float2 flux, const float* d, Before before) {
    const float2 done = fma(d[M], flux - before(2 * M), acc[M - 1]);
#pragma unroll
    for (int j = M - 1; j >= 1; --j)
        acc[j] = fma(d[j], flux - before(2 * j), acc[j - 1]);
    acc[0] = a;
    return done;
}

} // namespace subsalt::cuda
