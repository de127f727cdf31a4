// The TTI step of a box in one pass: each tile marches along x and keeps the fluxes it still needs in rings.
//
// Of a plane along x the fluxes are made in blocks along z, row by row; M rows behind, their part of the divergence
// along y and, 16 points behind, that along z are added to the accumulator `a` of the row. The flux along x and `a`
// stay in rings of planes until the M planes beyond are done too; then the row takes its time step. The M rows of
// fluxes on either side of a tile are made by both tiles.
//
// Order 8 in 3-D touches 52 floats per point of a plane of the tile in every turn of two planes: 20 of the fields, 20
// fluxes along x, 12 accumulators.
#pragma once

#include "isa/plane.hpp"
#include "isa/rows.hpp"
#include "isa/tti_rings.hpp"
#include "kernels/tti_absorb.hpp"
#include "kernels/tti_step.hpp"

namespace subsalt::SUBSALT_NS {

/// Lanes of `prev` beside a box that whole vectors overwrite (behind the last point m = 0 keeps zeros anyway).
class KeptLanes {
public:
    KeptLanes(const Levels& lv, Index at, Index za, Index z0, Index z1, Index zb)
        : lv_(lv), at_(at), za_(za), z0_(z0), z1_(z1), zb_(zb) {
        for (int f = 0; f < 2; ++f) {
            for (Index z = za; z < z0; ++z)
                front_[f][z - za] = lv.prev[f][at + z];
            for (Index z = z1; z < zb; ++z)
                back_[f][z - z1] = lv.prev[f][at + z];
        }
    }
    void put_back() const {
        for (int f = 0; f < 2; ++f) {
            for (Index z = za_; z < z0_; ++z)
                lv_.prev[f][at_ + z] = front_[f][z - za_];
            for (Index z = z1_; z < zb_; ++z)
                lv_.prev[f][at_ + z] = back_[f][z - z1_];
        }
    }

private:
    const Levels& lv_;
    const Index at_, za_, z0_, z1_, zb_;
    float front_[2][SUBSALT_LANES], back_[2][SUBSALT_LANES];
};

/// Rows along y of a tile: many rows mean few fluxes beside the tile made twice, few rows mean rings that stay in L2.
inline Index tilted_tile_rows(const Problem& pb) {
    const Index wanted = 64 * 272 / pb.row;
    return wanted < 16 ? 16 : wanted > 64 ? 64 : wanted;
}

/// The work of one tile, for one radius and dimension; P planes along x at a time.
template <int M, int Dim, int P>
class TiltedTile {
public:
    /// `out`: null, or where A and B of the box go instead of a time step.
    TiltedTile(const Problem& pb, const Levels& lv, const Box& box, TiltedRings& rings, float* const* out,
               const Box& whole)
        : pb_(pb), lv_(lv), box_(box), rings_(rings), out_(out), whole_(whole), reach_(pb.radius),
          fz0_(lower(box.lo[2], pb.radius)), fz1_(upper(box.hi[2], pb.radius, pb.n[2])), za_(down(box.lo[2])),
          zb_(box.hi[2] == pb.n[2] ? pb.n[2] : down(box.hi[2] + lanes - 1)) {
        rings_.lay_out(pb, box, P);
    }

    void run() {
        const Index last = upper(box_.hi[0], reach_, pb_.n[0]);
        Index made = lower_exact(box_.lo[0], reach_);
        for (Index x = box_.lo[0]; x < box_.hi[0];) {
            const Index count = box_.hi[0] - x < P ? 1 : P;
            while (made < last && made < x + count + reach_) {
                const Index room = x + count + reach_ - made;
                if (P > 1 && room >= P && made + P <= last && inside(made) == inside(made + P - 1)) {
                    plane<P>(made);
                    made += P;
                } else {
                    plane<1>(made);
                    made += 1;
                }
            }
            if (count == P)
                finish_planes<P>(x);
            else
                finish_planes<1>(x);
            x += count;
        }
    }

private:
    const Problem& pb_;
    const Levels& lv_;
    const Box& box_;
    TiltedRings& rings_;
    float* const* out_;
    const Box& whole_; // what `out` covers
    const Index reach_, fz0_, fz1_, za_, zb_;
    // Points along z of a block: what its rows read along y, 4 (2 M + 1) P rows of field and fluxes, stays in L1. 64
    // and whole rows are slower (order 8, Zen 5 with 48 KiB).
    static constexpr Index block = 128;
    static constexpr Index lag = 16; // whole vectors, and at least the largest M

    static Index lower_exact(Index lo, Index reach) { return lo > reach ? lo - reach : 0; }
    static Index lower(Index lo, Index reach) { return down(lower_exact(lo, reach)); }
    static Index upper(Index hi, Index reach, Index n) { return hi + reach < n ? hi + reach : n; }
    bool inside(Index x) const { return x >= box_.lo[0] && x < box_.hi[0]; }
    bool advances() const { return out_ == nullptr && pb_.boundary == Boundary::pml; }

    /// Fluxes of the planes x .. x + Q - 1, and their divergence along y and z where a point of the box needs it. One
    /// field after the other, and a block along z after the other: what they read along y stays in L1.
    template <int Q>
    void plane(Index x) {
        plane_of_field<Q, 0>(x);
        plane_of_field<Q, 1>(x);
    }

    template <int Q, int Field>
    void plane_of_field(Index x) {
        for (Index z = fz0_; z < fz1_; z += block)
            block_of_field<Q, Field>(x, z, z + block < fz1_ ? z + block : fz1_);
    }

    template <int Q, int Field>
    void block_of_field(Index x, Index z0, Index z1) {
        const bool needed = inside(x);
        const Index margin = needed && Dim == 3 ? reach_ : 0;
        Rows rows[Q];
        for (int j = 0; j < Q; ++j) {
            rows[j] = {rings_.x(Field, x + j), rings_.z(j), rings_.a(Field, x + j), {}};
            for (Index k = 0; k < 2 * reach_; ++k)
                rows[j].y[k] = rings_.zeros();
        }
        Index slot = 0;
        for (Index y = box_.lo[1] - margin; y < box_.hi[1] + margin; ++y) {
            const bool exists = y >= 0 && y < pb_.n[1];
            for (int j = 0; j < Q; ++j)
                rows[j].y[2 * margin] = exists ? rings_.y(j, slot) : const_cast<float*>(rings_.zeros());
            if (exists) {
                flux_rows<Q, Field>(x, y, rows, 2 * margin, z0, z1);
                slot = slot + 1 < rings_.slots_y() ? slot + 1 : 0;
            }
            if (y - margin >= box_.lo[1] && needed)
                for (int j = 0; j < Q; ++j)
                    along_yz<Field>(x + j, y - margin, rows[j], z0, z1);
            for (int j = 0; j < Q; ++j)
                for (Index k = 0; k < 2 * margin; ++k)
                    rows[j].y[k] = rows[j].y[k + 1];
        }
    }

    /// Rows of one plane: of the tile (the first), and around the row whose divergence comes next.
    struct Rows {
        float *x, *z, *a;
        const float* y[2 * max_radius + 1];
    };

    template <int Q, int Field>
    void flux_rows(Index x, Index y, const Rows* rows, Index newest, Index z0, Index z1) {
        const bool own = y >= box_.lo[1] && y < box_.hi[1];
        const Index at = row_offset(pb_, x, y), in_tile = (y - box_.lo[1]) * rings_.row();
        FluxRow row{};
        row.w = lv_.curr[Field] + at;
        for (int i = 0; i < 3; ++i)
            row.axis[i] = pb_.tilt.axis[i] == nullptr ? nullptr : pb_.tilt.axis[i] + at;
        for (int j = 0; j < Q; ++j) {
            row.y[j] = const_cast<float*>(rows[j].y[newest]);
            row.x[j] = rows[j].x + in_tile;
            row.z[j] = rows[j].z + in_tile;
            row.a[j] = rows[j].a + in_tile;
        }
        if (!own) return tti_flux_row<M, Dim, Q, Field, false>(pb_, row, z0, z1);
        tti_flux_row<M, Dim, Q, Field, true>(pb_, row, z0, z1);
        for (int j = 0; j < Q; ++j) {
            // zero outside the grid, even images above a free surface
            float* flux = row.z[j];
            if (z0 == fz0_)
                for (Index k = 0; k < z_front; k += lanes)
                    store(flux - z_front + k, set1(0.0f));
            // as far as the vector of the last point reads: NaN that a blow-up left here would spread from its lanes
            if (z1 == fz1_)
                for (Index z = pb_.n[2]; z < down(pb_.n[2] - 1) + lanes + z_front; z += lanes)
                    store(flux + z, set1(0.0f));
            if (pb_.free_surface && z0 == fz0_)
                for (Index k = 1; k <= reach_ && k < fz1_; ++k)
                    flux[-k] = flux[k];
        }
    }

    /// The parts along y and z of one row, with the layer's: y in the block, z a little behind, since the
    /// fluxes beyond the block come with the next.
    template <int Field>
    void along_yz(Index x, Index y, const Rows& rows, Index z0, Index z1) {
        const Index in_tile = (y - box_.lo[1]) * rings_.row();
        float *a = rows.a + in_tile, *flux = rows.z + in_tile;
        const bool last = z1 == fz1_;
        const Index ya = z0 > za_ ? z0 : za_, yb = z1 < zb_ ? z1 : zb_;
        if (Dim == 3) {
            tti_divergence_y<M>(a, rows.y, pb_.tilt.d, pb_.radius, ya, yb);
            if (advances()) layer_term(a, Field, 1, x, y, rows.y, z0, z1);
        }
        const Index from = z0 - lag > za_ ? z0 - lag : za_, to = last || z1 - lag > zb_ ? zb_ : z1 - lag;
        tti_divergence_z<M>(a, flux, pb_.tilt.d, pb_.radius, from, to);
        if (!advances() || !has_layer_z(pb_) || !last) return;
        const Index mem = memory_offset_z(pb_, x, y);
        const bool psi = Field == 1; // Psi of z is made of q
        tti_layer_row_z<M>(a, flux, psi ? lv_.psi[2] + mem : nullptr, (psi ? lv_.zeta : lv_.zeta2)[2] + mem,
                           rings_.work(), lv_.curr[Field] + row_offset(pb_, x, y), pb_.tilt.weight[Field], pb_.wz,
                           pb_.n[2], pb_.c[2], pb_.d[2], pb_.tilt.d, pb_.radius, box_.lo[2], box_.hi[2]);
    }

    /// The layer's term along x or y of one row, where it has one. `flux`: the rows around it.
    void layer_term(float* a, int f, int axis, Index x, Index y, const float* const* flux, Index z0, Index z1) {
        if (z0 < box_.lo[2]) z0 = box_.lo[2];
        if (z1 > box_.hi[2]) z1 = box_.hi[2];
        if (z0 >= z1) return;
        const Index i = axis == 0 ? x : y;
        if (!near_layer(pb_, axis, i)) return;
        const Index r = layer_row(pb_, axis, i);
        const bool psi = f == 0; // Psi of x and y is made of p
        if (r < 0 && !psi) return;
        const float* rows[2 * max_radius + 1];
        if (psi)
            for (Index k = -reach_; k <= reach_; ++k) {
                const Index s = layer_row(pb_, axis, i + k);
                rows[reach_ + k] = s < 0 ? rings_.zeros() : lv_.psi[axis] + memory_offset(pb_, axis, s, x, y);
            }
        float* zeta = r < 0 ? nullptr : (psi ? lv_.zeta : lv_.zeta2)[axis] + memory_offset(pb_, axis, r, x, y);
        const TiltedLayerRow row{flux,
                                 psi ? rows : nullptr,
                                 zeta,
                                 lv_.curr[f] + row_offset(pb_, x, y),
                                 axis == 0 ? pb_.plane : pb_.row,
                                 pb_.b[axis][i],
                                 pb_.tilt.weight[f]};
        tti_layer_row<M>(a, row, pb_.c[axis], pb_.d[axis], pb_.tilt.d, pb_.radius, z0, z1);
    }

    /// The part along x of all rows of the planes x .. x + Q - 1, and their time step.
    template <int Q>
    void finish_planes(Index x) {
        const float* first[2][2 * max_radius + Q];
        for (int f = 0; f < 2; ++f)
            for (Index k = 0; k < 2 * reach_ + Q; ++k) {
                const Index at = x + k - reach_;
                first[f][k] = at < 0 || at >= pb_.n[0] ? nullptr : rings_.x(f, at);
            }
        for (Index y = box_.lo[1]; y < box_.hi[1]; ++y) {
            const Index in_tile = (y - box_.lo[1]) * rings_.row();
            float* a[2][Q];
            for (int f = 0; f < 2; ++f) {
                const float* rows[2 * max_radius + Q];
                for (Index k = 0; k < 2 * reach_ + Q; ++k)
                    rows[k] = first[f][k] == nullptr ? rings_.zeros() : first[f][k] + in_tile;
                for (int j = 0; j < Q; ++j)
                    a[f][j] = rings_.a(f, x + j) + in_tile;
                tti_divergence_x<M, Q>(a[f], rows, pb_.tilt.d, pb_.radius, za_, zb_);
                for (int j = 0; j < Q && advances(); ++j)
                    layer_term(a[f][j], f, 0, x + j, y, rows + j, box_.lo[2], box_.hi[2]);
            }
            for (int j = 0; j < Q; ++j)
                finish(x + j, y, a[0][j], a[1][j]);
        }
    }

    /// The time step of one row.
    void finish(Index x, Index y, const float* a, const float* b) {
        if (out_ != nullptr) {
            const Index ny = whole_.hi[1] - whole_.lo[1], nz = whole_.hi[2] - whole_.lo[2];
            const Index at = ((x - whole_.lo[0]) * ny + (y - whole_.lo[1])) * nz - whole_.lo[2];
            for (Index z = box_.lo[2]; z < box_.hi[2]; ++z) {
                out_[0][at + z] = a[z];
                out_[1][at + z] = b[z];
            }
            return;
        }
        const Index at = row_offset(pb_, x, y), z0 = box_.lo[2], z1 = box_.hi[2];
        TiltedRow row{a,
                      b,
                      {lv_.curr[0] + at, lv_.curr[1] + at},
                      {lv_.prev[0] + at, lv_.prev[1] + at},
                      pb_.m + at,
                      pb_.e + at,
                      pb_.s + at,
                      pb_.row,
                      nullptr,
                      0.0f};
        const KeptLanes kept(lv_, at, za_, z0, z1, zb_);
        if (pb_.boundary == Boundary::damping) {
            row.t = pb_.t[2];
            row.t_xy = Dim == 3 ? pb_.t[0][x] + pb_.t[1][y] : pb_.t[0][x];
            tti_update_row<true>(row, za_, zb_);
        } else {
            tti_update_row<false>(row, za_, zb_);
        }
        kept.put_back();
        if (pb_.free_surface)
            for (int f = 0; f < 2; ++f)
                reflect_row(lv_.prev[f] + at, pb_.radius, z0, z1);
    }
};

struct TiltedTiles {
    Index nx, ny;
};

/// How a box is cut: along y into tiles of nearly equal rows, their number a multiple of the threads; along x when
/// there are few rows.
inline TiltedTiles tilted_tiles(const Problem& pb, const Box& box, Index threads) {
    const Index rows = box.hi[1] - box.lo[1];
    if (rows < 4 * threads) return {threads, 1};
    const Index wanted = tilted_tile_rows(pb);
    const Index per_thread = (rows + threads * wanted - 1) / (threads * wanted);
    return {1, threads * per_thread};
}

template <int M, int Dim, int P>
void tilted_boxes(const Problem& pb, const Levels& lv, const Box& box, float* const* out, int threads) {
    const TiltedTiles tiles = tilted_tiles(pb, box, threads);
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        TiltedRings& rings = tilted_rings();
#pragma omp for schedule(static)
        for (Index t = 0; t < tiles.nx * tiles.ny; ++t) {
            const Range x = part(box.lo[0], box.hi[0], tiles.nx, t / tiles.ny);
            const Range y = part(box.lo[1], box.hi[1], tiles.ny, t % tiles.ny);
            const Box tile{{x.lo, y.lo, box.lo[2]}, {x.hi, y.hi, box.hi[2]}};
            if (x.lo < x.hi && y.lo < y.hi) TiltedTile<M, Dim, P>(pb, lv, tile, rings, out, box).run();
        }
    }
}

/// The step of a box, or (`out`) A and B in it. Orders 4 and 8 have kernels of their own.
inline void tilted_step(const Problem& pb, const Levels& lv, const Box& box, float* const* out, int threads,
                        bool generic_radius) {
    const int radius = generic_radius ? 0 : pb.radius;
    if (pb.dim == 3)
        (radius == 4   ? tilted_boxes<4, 3, 2>
         : radius == 2 ? tilted_boxes<2, 3, 2>
                       : tilted_boxes<0, 3, 1>)(pb, lv, box, out, threads);
    else
        (radius == 4   ? tilted_boxes<4, 2, 2>
         : radius == 2 ? tilted_boxes<2, 2, 2>
                       : tilted_boxes<0, 2, 1>)(pb, lv, box, out, threads);
}

} // namespace subsalt::SUBSALT_NS
