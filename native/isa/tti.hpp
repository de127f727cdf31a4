// The TTI step of a box in one pass: each tile marches along x and keeps the fluxes it still needs in rings.
//
// A turn goes through the rows of a tile once. Of two planes along x it makes the fluxes of the row; M rows behind,
// their part of the divergence along y and z is added to the accumulator `a` of the row. The flux along x and `a` stay
// in rings of planes until the M planes beyond are done too: of the two planes for which they now are, the same row
// takes its time step. So what comes from memory is spread over what there is to compute. Rows are done whole: loops
// over 64 or 128 points are slower, though what these read along y stays in L1 (docs/notes/kernels.md). The M rows of
// fluxes on either side of a tile are made by both tiles.
//
// Order 8 in 3-D touches 52 floats per point of a plane of the tile in every turn: 20 of the fields, 20 fluxes along x,
// 12 accumulators.
//
// Behind a front (front.hpp) rows end where the wavefield does: fluxes at `flux_end`, the divergence and the step at
// `step_end`, of two planes at that of the farther one. Beyond it a row of a ring is zero: who makes it zeroes what an
// earlier one left (`TiltedRings::end_x` and others say how far).
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

/// What is done to a box of a tilted medium.
struct TiltedWork {
    Box box;
    float* const* out;                // null, or where A and B of the box go instead of a time step
    Index rows;                       // of a tile; 0: as many as are usual
    bool advance_z;                   // Psi of z is advanced here too (else memory_step has done it)
    const TiltedEnds* ends = nullptr; // null, or how far the rows of the whole grid are made
};

/// The work of one tile, for one radius and dimension; P planes along x at a time.
template <int M, int Dim, int P, bool Stretched>
class TiltedTile {
public:
    /// `box`: the part of `work` that is the tile.
    TiltedTile(const Problem& pb, const Levels& lv, const Box& box, TiltedRings& rings, const TiltedWork& work)
        : pb_(pb), lv_(lv), box_(box), rings_(rings), work_(work), out_(work.out), whole_(work.box), reach_(pb.radius),
          fz0_(lower(box.lo[2], pb.radius)), fz1_(upper(box.hi[2], pb.radius, pb.n[2])), za_(down(box.lo[2])),
          zb_(box.hi[2] == pb.n[2] ? pb.n[2] : down(box.hi[2] + lanes - 1)), cut_(pb) {
        rings_.lay_out(pb, box, P);
        cut_.width[5] = cut_.wz.back = 0;
    }

    /// Points that `run` has advanced.
    Index advanced() const { return advanced_; }

    void run() {
        const Index last = upper(box_.hi[0], reach_, pb_.n[0]);
        Turn turn{lower_exact(box_.lo[0], reach_), 0, box_.lo[0], 0};
        while (turn.finished < box_.hi[0]) {
            const Index to_make = last - turn.made;
            turn.makes = to_make >= P && inside(turn.made) == inside(turn.made + P - 1) ? P : to_make > 0 ? 1 : 0;
            const Index made = turn.made + turn.makes;
            // the planes of this turn are complete after its last row
            const Index complete = made == last ? turn.made : made - reach_;
            const Index ready = (complete < box_.hi[0] ? complete : box_.hi[0]) - turn.finished;
            turn.finishes = ready >= P ? P : ready > 0 ? 1 : 0;
            rows_of(turn);
            turn.made = made;
            turn.finished += turn.finishes;
        }
    }

private:
    /// The fluxes of `makes` planes from `made` on are made, and `finishes` planes from `finished` on take their step.
    struct Turn {
        Index made, makes, finished, finishes;
    };

    const Problem& pb_;
    const Levels& lv_;
    const Box& box_;
    TiltedRings& rings_;
    const TiltedWork& work_;
    float* const* out_;
    const Box& whole_; // what `out` covers
    const Index reach_, fz0_, fz1_, za_, zb_;
    Problem cut_; // rows that end before the back window of the layer along z; n[2] is set by who uses it
    Index advanced_ = 0;

    /// The largest of the ends of row y in the planes x .. x + planes - 1; `all` without a front.
    Index farthest(const std::int32_t* ends, Index x, Index planes, Index y) const {
        Index end = 0;
        for (Index j = x; j < x + planes; ++j)
            end = larger(end, static_cast<Index>(ends[j * pb_.n[1] + y]));
        return end;
    }
    Index flux_end(Index x, Index planes, Index y) const {
        return work_.ends == nullptr ? fz1_ : farthest(work_.ends->flux, x, planes, y);
    }
    Index step_end(Index x, Index planes, Index y) const {
        return work_.ends == nullptr ? box_.hi[2] : farthest(work_.ends->step, x, planes, y);
    }
    /// The end of whole vectors around a row that is advanced to `end`.
    Index vectors(Index end) const { return work_.ends == nullptr ? zb_ : end; }

    /// Zero the points [end, known) of a row of both fields.
    void clear(float* p, float* q, Index end, Index known) const {
        for (Index z = end; z < known; z += lanes)
            store(p + z, set1(0.0f)), store(q + z, set1(0.0f));
    }
    Index in_ring(Index end) const { return work_.ends == nullptr || end == pb_.n[2] ? rings_.whole() : end; }

    /// Leave zeros beyond `end` in the rows of the rings that hold the fluxes of row y, and in its accumulators, which
    /// are added to as far as `step`.
    void end_rows(const Turn& turn, Index planes, Index y, Index slot, Index end, Index step) {
        const Index r = y - box_.lo[1], in_tile = r * rings_.row();
        const bool own = y >= box_.lo[1] && y < box_.hi[1];
        const auto left = static_cast<std::int32_t>(in_ring(end)), left_a = static_cast<std::int32_t>(in_ring(step));
        for (Index j = 0; j < planes; ++j) {
            std::int32_t& yz = rings_.end_yz(j, slot);
            clear(rings_.y(0, j, slot), rings_.y(1, j, slot), left, yz);
            clear(rings_.z(0, j, slot), rings_.z(1, j, slot), left, yz);
            yz = left;
            if (!own) continue;
            std::int32_t &of_x = rings_.end_x(turn.made + j, r), &of_a = rings_.end_a(turn.made + j, r);
            clear(rings_.x(0, turn.made + j) + in_tile, rings_.x(1, turn.made + j) + in_tile, left, of_x);
            clear(rings_.a(0, turn.made + j) + in_tile, rings_.a(1, turn.made + j) + in_tile, left, of_a);
            of_x = left;
            of_a = left > left_a ? left : left_a;
        }
    }

    static Index lower_exact(Index lo, Index reach) { return lo > reach ? lo - reach : 0; }
    static Index lower(Index lo, Index reach) { return down(lower_exact(lo, reach)); }
    static Index upper(Index hi, Index reach, Index n) { return hi + reach < n ? hi + reach : n; }
    bool inside(Index x) const { return x >= box_.lo[0] && x < box_.hi[0]; }
    bool advances() const { return out_ == nullptr && pb_.boundary == Boundary::pml; }

    /// A turn, row by row: the fluxes; M rows behind, where a point of the box needs them, their divergence along y and
    /// z; and the time step of the planes that wait for the fluxes beyond.
    void rows_of(const Turn& turn) {
        const bool needed = turn.makes > 0 && inside(turn.made);
        const Index margin = needed && Dim == 3 ? reach_ : 0, lo = box_.lo[1], hi = box_.hi[1];
        const Index on = P * pb_.plane;  // floats to the same row of the next turn
        Index slots[2 * max_radius + 1]; // of the rows around the one whose divergence comes next; -1: outside the grid
        Index slot = 0;
        for (Index k = 0; k < 2 * margin; ++k)
            slots[k] = -1;
        for (Index y = lo - margin; y < hi + margin; ++y) {
            slots[2 * margin] = -1;
            if (turn.makes > 0 && y >= 0 && y < pb_.n[1]) {
                const Index ahead = y + 1 < hi + margin ? pb_.row : on + (lo - margin - y) * pb_.row;
                (this->*(turn.makes == P ? &TiltedTile::flux_rows<P> : &TiltedTile::flux_rows<1>))(turn, y, slot,
                                                                                                   ahead);
                slots[2 * margin] = slot;
                slot = slot + 1 < rings_.slots() ? slot + 1 : 0;
            }
            const Index end = needed && y - margin >= lo ? step_end(turn.made, turn.makes, y - margin) : 0;
            for (Index j = 0; end > 0 && j < turn.makes; ++j) {
                for (int f = 0; f < 2; ++f)
                    along_yz(f, turn, j, y - margin, slots, end);
                if (advances() && has_layer_z(pb_)) layer_z(turn, j, y - margin, slots[margin], end);
            }
            for (Index k = 0; k < 2 * margin; ++k)
                slots[k] = slots[k + 1];
            if (turn.finishes > 0 && y >= lo && y < hi) {
                const Index ahead = y + 1 < hi ? pb_.row : on + (lo - y) * pb_.row;
                (this->*(turn.finishes == P ? &TiltedTile::finish_rows<P> : &TiltedTile::finish_rows<1>))(turn.finished,
                                                                                                          y, ahead);
            }
        }
    }

    /// The fluxes of one row of the planes x .. x + Q - 1.
    template <int Q>
    void flux_rows(const Turn& turn, Index y, Index slot, Index ahead) {
        const bool own = y >= box_.lo[1] && y < box_.hi[1];
        const Index end = flux_end(turn.made, Q, y);
        if (end > 0) {
            flux_row<Q, 0>(turn, y, slot, ahead, own, end);
            flux_row<Q, 1>(turn, y, slot, ahead, own, end);
        }
        const Index step = step_end(turn.made, Q, y);
        end_rows(turn, Q, y, slot, end, step);
        for (int j = 0; own && step > 0 && j < Q; ++j)
            for (int f = 0; f < 2; ++f)
                end_flux_z(rings_.z(f, j, slot));
    }

    /// Zero outside the grid, even images above a free surface.
    void end_flux_z(float* flux) const {
        for (Index k = 0; k < z_front; k += lanes)
            store(flux - z_front + k, set1(0.0f));
        // as far as the vector of the last point reads: NaN that a blow-up left here would spread from its lanes
        for (Index z = pb_.n[2]; z < down(pb_.n[2] - 1) + lanes + z_front; z += lanes)
            store(flux + z, set1(0.0f));
        if (pb_.free_surface)
            for (Index k = 1; k <= reach_ && k < fz1_; ++k)
                flux[-k] = flux[k];
    }

    template <int Q, int Field>
    void flux_row(const Turn& turn, Index y, Index slot, Index ahead, bool own, Index end) {
        const Index x = turn.made;
        const Index at = row_offset(pb_, x, y), in_tile = (y - box_.lo[1]) * rings_.row();
        FluxRow row{};
        row.w = lv_.curr[Field] + at;
        const Index beside = y < box_.lo[1] ? -reach_ * pb_.row : reach_ * pb_.row;
        for (int i = 0; i < 3; ++i)
            row.axis[i] = pb_.tilt.axis[i] == nullptr ? nullptr : pb_.tilt.axis[i] + at;
        for (int j = 0; j < Q; ++j) {
            const Index beyond = j * pb_.plane + ahead, far = (reach_ + j) * pb_.plane;
            const float* m = pb_.m + row_offset(pb_, turn.finished + j, y) + pb_.row;
            row.next[j][0] = row.w + far + ahead;
            row.next[j][1] = row.axis[Field == 0 ? 0 : 2] + beyond;
            row.next[j][2] = Field == 1 ? m : Dim == 3 ? row.axis[1] + beyond : row.w;
            row.next[j][3] = row.w + far + beside;
            row.y[j] = rings_.y(Field, j, slot);
            row.x[j] = rings_.x(Field, x + j) + in_tile;
            row.z[j] = rings_.z(Field, j, slot);
            row.a[j] = rings_.a(Field, x + j) + in_tile;
        }
        if (own)
            tti_flux_row<M, Dim, Q, Field, true, Stretched>(pb_, row, fz0_, end);
        else
            tti_flux_row<M, Dim, Q, Field, false, Stretched>(pb_, row, fz0_, end);
    }

    /// The parts along y and z of one row of the j-th plane of this turn, with the layer's along y.
    void along_yz(int f, const Turn& turn, Index j, Index y, const Index* slots, Index end) {
        const Index zb = vectors(end), x = turn.made + j, slot = slots[Dim == 3 ? reach_ : 0];
        float *a = rings_.a(f, x) + (y - box_.lo[1]) * rings_.row(), *flux = rings_.z(f, j, slot);
        const float* rows[2 * max_radius + 1];
        if (Dim == 3)
            for (Index k = 0; k <= 2 * reach_; ++k)
                rows[k] = slots[k] < 0 ? rings_.zeros() : rings_.y(f, j, slots[k]);
        const float* next = (f == 0 ? pb_.e : pb_.s) + row_offset(pb_, turn.finished + j, y + reach_ + 1);
        const Fluxes fluxes{rows, flux, next, pb_.row, pb_.stretch.power};
        if (Dim == 3 && advances() && near_layer(pb_, 1, y)) {
            tti_divergence_yz<M, true, false, Stretched>(a, fluxes, pb_.tilt.d, pb_.radius, za_, zb);
            layer_term(a, f, 1, x, y, rows, end);
            tti_divergence_yz<M, false, true, Stretched>(a, fluxes, pb_.tilt.d, pb_.radius, za_, zb);
        } else {
            tti_divergence_yz<M, Dim == 3, true, Stretched>(a, fluxes, pb_.tilt.d, pb_.radius, za_, zb);
        }
    }

    /// The layer's terms along z of one row of the j-th plane of this turn, and Psi of z if nobody has advanced it.
    void layer_z(const Turn& turn, Index j, Index y, Index slot, Index end) {
        const bool cut = work_.ends != nullptr && end < pb_.n[2];
        if (cut && pb_.wz.front == 0) return;
        if (cut) cut_.n[2] = end;
        const Problem& pb = cut ? cut_ : pb_;
        const Index n = pb.n[2], z0 = box_.lo[2];
        const Index x = turn.made + j, at = row_offset(pb_, x, y), mem = memory_offset_z(pb_, x, y);
        TiltedEndsZ row[2];
        for (int f = 0; f < 2; ++f) // Psi of z is made of q
            row[f] = {lv_.curr[f] + at,
                      rings_.z(f, j, slot),
                      f == 1 ? lv_.psi[2] + mem : nullptr,
                      (f == 1 ? lv_.zeta : lv_.zeta2)[2] + mem,
                      rings_.a(f, x) + (y - box_.lo[1]) * rings_.row(),
                      pb_.tilt.weight[f],
                      &pb_.stretch};
#if SUBSALT_SHIFTS
        if constexpr (M > 0) {
            if (work_.advance_z && z0 == 0 && end == n && windows_fit_registers(pb.wz, pb.width, n)) {
                const bool two = pb.wz.front > wide_lanes || pb.wz.back > wide_lanes;
                (two ? tti_rows_z_in_registers<M, true, Stretched>
                     : tti_rows_z_in_registers<M, false, Stretched>)(row, pb.wz, n, pb_.c[2], pb_.d[2], pb_.tilt.d,
                                                                     P * pb_.n[1] * pb_.wz.stride); // P planes on
                return;
            }
        }
#endif
        if (work_.advance_z) Layer<M>::psi_z(pb, lv_, x, y, z0, end);
        for (int f = 0; f < 2; ++f)
            tti_layer_row_z<M, Stretched>(row[f], rings_.work(), pb.wz, n, pb_.c[2], pb_.d[2], pb_.tilt.d, pb_.radius,
                                          z0, end);
    }

    /// What `count` rows from (x, y) on need along x or y; `rows`: room for those of Psi, `flux`: the fluxes around
    /// them.
    TiltedLayerRow layer_row_of(int f, int axis, Index x, Index y, Index count, const float** rows,
                                const float* const* flux) {
        const Index i = axis == 0 ? x : y;
        const bool psi = f == 0; // Psi of x and y is made of p
        for (Index k = -reach_; psi && k < reach_ + count; ++k) {
            const Index s = layer_row(pb_, axis, i + k);
            rows[reach_ + k] = s < 0 ? rings_.zeros() : lv_.psi[axis] + memory_offset(pb_, axis, s, x, y);
        }
        TiltedLayerRow row{flux,
                           psi ? rows : nullptr,
                           {nullptr, nullptr},
                           lv_.curr[f] + row_offset(pb_, x, y),
                           axis == 0 ? pb_.plane : pb_.row,
                           {1.0f, 1.0f},
                           pb_.tilt.weight[f]};
        for (Index k = 0; k < count; ++k) {
            const Index r = layer_row(pb_, axis, i + k);
            row.b[k] = pb_.b[axis][i + k];
            if (r >= 0) row.zeta[k] = (psi ? lv_.zeta : lv_.zeta2)[axis] + memory_offset(pb_, axis, r, x, y);
        }
        return row;
    }

    /// The layer's term along x or y of one row, where it has one.
    void layer_term(float* a, int f, int axis, Index x, Index y, const float* const* flux, Index end) {
        if (!near_layer(pb_, axis, axis == 0 ? x : y)) return;
        const float* rows[2 * max_radius + 1];
        const TiltedLayerRow row = layer_row_of(f, axis, x, y, 1, rows, flux);
        if (row.psi == nullptr && row.zeta[0] == nullptr) return;
        tti_layer_row<M>(a, row, pb_.c[axis], pb_.d[axis], pb_.tilt.d, pb_.radius, box_.lo[2], end);
    }

    /// The terms along x of one row of the planes x and x + 1, both at once where that can be.
    void layer_terms_x(float* a, float* a2, int f, Index x, Index y, const float* const* flux, Index end) {
        if constexpr (M > 0) {
            const float* rows[2 * max_radius + 2];
            const TiltedLayerRow row = layer_row_of(f, 0, x, y, 2, rows, flux);
            const bool inside = row.zeta[0] != nullptr, alike = inside == (row.zeta[1] != nullptr);
            const bool vectors = end == pb_.n[2] || work_.ends != nullptr; // nothing beside the row
            if (alike && near_layer(pb_, 0, x) && near_layer(pb_, 0, x + 1) && box_.lo[2] == 0 && vectors) {
                if (!inside && row.psi == nullptr) return;
                const auto of =
                    !inside
                        ? tti_layer_two_rows<M, true, false>
                        : (row.psi != nullptr ? tti_layer_two_rows<M, true, true> : tti_layer_two_rows<M, false, true>);
                return of(a, a2, row, pb_.c[0], pb_.d[0], pb_.tilt.d, end);
            }
        }
        layer_term(a, f, 0, x, y, flux, end);
        layer_term(a2, f, 0, x + 1, y, flux + 1, end);
    }

    /// The part along x of one row of the planes x .. x + Q - 1, with the layer's, and its time step.
    template <int Q>
    void finish_rows(Index x, Index y, Index ahead) {
        const Index end = step_end(x, Q, y);
        if (end > 0) step_rows<Q>(x, y, ahead, end);
        if (work_.ends != nullptr) note_levels(pb_, lv_, work_.ends->reaches, x, Q, y, end);
        advanced_ += Q * end;
    }

    template <int Q>
    void step_rows(Index x, Index y, Index ahead, Index end) {
        const Index in_tile = (y - box_.lo[1]) * rings_.row();
        float* a[Q][2];
        const float* rows[2][2 * max_radius + Q];
        for (int f = 0; f < 2; ++f) {
            for (Index k = 0; k < 2 * reach_ + Q; ++k) {
                const Index at = x + k - reach_;
                rows[f][k] = at < 0 || at >= pb_.n[0] ? rings_.zeros() : rings_.x(f, at) + in_tile;
            }
            for (int j = 0; j < Q; ++j)
                a[j][f] = rings_.a(f, x + j) + in_tile;
        }
        const float* const* const flux[2] = {rows[0], rows[1]};
        const bool layer = advances() && (near_layer(pb_, 0, x) || near_layer(pb_, 0, x + Q - 1));
        if (!layer && out_ == nullptr) return leapfrog_rows<Q, true>(x, y, a, flux, ahead, end);
        tti_divergence_x<M, Q>(a, flux, pb_.tilt.d, pb_.radius, za_, vectors(end));
        if (!layer) {
            for (int j = 0; j < Q; ++j)
                for (int f = 0; f < 2; ++f)
                    copy_out(f, x + j, y, a[j][f]);
            return;
        }
        for (int f = 0; f < 2; ++f)
            if constexpr (Q == 2)
                layer_terms_x(a[0][f], a[1][f], f, x, y, rows[f], end);
            else
                layer_term(a[0][f], f, 0, x, y, rows[f], end);
        leapfrog_rows<Q, false>(x, y, a, flux, ahead, end);
    }

    void copy_out(int f, Index x, Index y, const float* a) {
        const Index ny = whole_.hi[1] - whole_.lo[1], nz = whole_.hi[2] - whole_.lo[2];
        const Index at = ((x - whole_.lo[0]) * ny + (y - whole_.lo[1])) * nz - whole_.lo[2];
        for (Index z = box_.lo[2]; z < box_.hi[2]; ++z)
            out_[f][at + z] = a[z];
    }

    /// The time step of one row of the planes x .. x + Q - 1; AlongX: with the part along x.
    template <int Q, bool AlongX>
    void leapfrog_rows(Index x, Index y, float* const (*a)[2], const float* const* const* flux, Index ahead,
                       Index end) {
        TiltedRow rows[Q];
        const Index zb = vectors(end);
        const Index first = row_offset(pb_, x, y);
        const bool damping = pb_.boundary == Boundary::damping;
        for (int j = 0; j < Q; ++j) {
            const Index at = first + j * pb_.plane;
            rows[j] = {{a[j][0], a[j][1]},
                       {lv_.curr[0] + at, lv_.curr[1] + at},
                       {lv_.prev[0] + at, lv_.prev[1] + at},
                       pb_.m + at,
                       pb_.e + at,
                       pb_.s + at,
                       ahead,
                       pb_.row,
                       damping ? pb_.t[2] : nullptr,
                       0.0f};
            if (damping) rows[j].t_xy = Dim == 3 ? pb_.t[0][x + j] + pb_.t[1][y] : pb_.t[0][x + j];
        }
        const Index second = first + (Q - 1) * pb_.plane;
        const KeptLanes kept(lv_, first, za_, box_.lo[2], end, zb);
        const KeptLanes kept_too(lv_, second, za_, box_.lo[2], end, zb);
        if (damping)
            tti_finish_rows<M, Q, true, AlongX>(rows, flux, pb_.tilt.d, pb_.radius, za_, zb);
        else
            tti_finish_rows<M, Q, false, AlongX>(rows, flux, pb_.tilt.d, pb_.radius, za_, zb);
        kept.put_back();
        kept_too.put_back();
        if (!pb_.free_surface) return;
        for (int j = 0; j < Q; ++j)
            for (int f = 0; f < 2; ++f)
                reflect_row(rows[j].prev[f], pb_.radius, box_.lo[2], end);
    }
};

struct TiltedTiles {
    Index nx, ny;
    Range whole_x, whole_y;
    const std::int32_t* ends; // null, or how far rows are advanced
    Index rows;               // of the grid along y
    Index points;             // of all rows, as far as they are advanced

    Range y(Index t) const { return part(whole_y.lo, whole_y.hi, ny, t % ny); }
    /// With ends about as many points, else as many planes as the other tiles have.
    Range x(Index t) const {
        const Index i = t / ny;
        if (ends == nullptr) return part(whole_x.lo, whole_x.hi, nx, i);
        return {plane_behind(i), plane_behind(i + 1)};
    }

private:
    /// The end of the first i parts.
    Index plane_behind(Index i) const {
        if (i == nx) return whole_x.hi;
        Index x = whole_x.lo;
        for (Index before = 0; before < points * i / nx; ++x)
            for (Index y = 0; y < rows; ++y)
                before += ends[x * rows + y];
        return x;
    }
};

/// How a box is cut: along y into tiles of nearly equal rows, their number a multiple of the threads; along x when
/// there are few rows. Many rows mean few fluxes beside the tile made twice, few rows mean rings that stay in a cache.
inline TiltedTiles tilted_tiles(const Problem& pb, const TiltedWork& work, Index threads) {
    const Box& box = work.box;
    const Index rows = box.hi[1] - box.lo[1];
    TiltedTiles tiles{threads, 1, {box.lo[0], box.hi[0]}, {box.lo[1], box.hi[1]}, nullptr, pb.n[1], 0};
    if (work.ends != nullptr) {
        tiles.ends = work.ends->step;
        for (Index r = 0; r < pb.n[0] * pb.n[1]; ++r)
            tiles.points += tiles.ends[r];
    }
    if (rows < 4 * threads) return tiles;
    const Index usual = 48 * 288 / pb.row, wanted = work.rows > 0 ? work.rows
                                                    : usual < 16  ? 16
                                                    : usual > 48  ? 48
                                                                  : usual;
    const Index per_thread = (rows + threads * wanted - 1) / (threads * wanted);
    tiles.nx = 1, tiles.ny = threads * per_thread;
    return tiles;
}

template <int M, int Dim, int P, bool Stretched>
Index tilted_boxes(const Problem& pb, const Levels& lv, const TiltedWork& work, int threads) {
    const TiltedTiles tiles = tilted_tiles(pb, work, threads);
    const Box& box = work.box;
    Index advanced = 0;
#pragma omp parallel num_threads(threads) reduction(+ : advanced)
    {
        FlushDenormals flush;
        TiltedRings& rings = tilted_rings();
        const auto tile = [&](Index t) {
            const Range x = tiles.x(t), y = tiles.y(t);
            const Box of{{x.lo, y.lo, box.lo[2]}, {x.hi, y.hi, box.hi[2]}};
            if (x.lo >= x.hi || y.lo >= y.hi) return;
            TiltedTile<M, Dim, P, Stretched> work_of(pb, lv, of, rings, work);
            work_of.run();
            advanced += work_of.advanced();
        };
        if (work.ends != nullptr) { // tiles have more or fewer points
#pragma omp for schedule(dynamic)
            for (Index t = 0; t < tiles.nx * tiles.ny; ++t)
                tile(t);
        } else {
#pragma omp for schedule(static)
            for (Index t = 0; t < tiles.nx * tiles.ny; ++t)
                tile(t);
        }
    }
    return advanced;
}

template <int Dim, bool Stretched>
inline auto tilted_boxes_of(int radius) {
    if (radius == 4) return tilted_boxes<4, Dim, 2, Stretched>;
    if (radius == 2) return tilted_boxes<2, Dim, 2, Stretched>;
#if SUBSALT_LANES >= 8
    if (radius == 6) return tilted_boxes<6, Dim, 2, Stretched>;
    if (radius == 8) return tilted_boxes<8, Dim, 2, Stretched>;
#endif
    return tilted_boxes<0, Dim, 1, Stretched>;
}

/// The step of a box, or A and B in it; returns the points of a step. Orders 4, 8 and, with 8 or 16 lanes, 12 and 16
/// have kernels of their own.
inline Index tilted_step(const Problem& pb, const Levels& lv, const TiltedWork& work, int threads,
                         bool generic_radius) {
    const int radius = generic_radius ? 0 : pb.radius;
    const auto of = pb.stretch.square != nullptr
                        ? (pb.dim == 3 ? tilted_boxes_of<3, true>(radius) : tilted_boxes_of<2, true>(radius))
                        : (pb.dim == 3 ? tilted_boxes_of<3, false>(radius) : tilted_boxes_of<2, false>(radius));
    return of(pb, lv, work, threads);
}

} // namespace subsalt::SUBSALT_NS
