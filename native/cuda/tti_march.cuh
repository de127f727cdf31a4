// The TTI step of one block: a march along x.
//
// A turn completes the divergence of fluxes in plane x along y and z, and what they add to the divergence along x of
// the planes x - M .. x - 1; plane x - M is then complete and takes its time step. The same turn makes the fluxes of
// plane x + 1, which is other work with other numbers, so that one barrier a turn suffices and warps that have no point
// to advance, or wait for memory, leave the units to others:
//
//   -- barrier: there are the fluxes of plane x, and the fields of plane x + 1 --
//   1. divergence, the terms of the layer, time step of plane x - M
//   2. the fields of plane x + 2 go to shared memory, from the columns of the threads
//   3. slopes, fluxes and second derivatives of plane x + 1; F_y and F_z go to shared memory, and F_x, which only its
//      own thread reads
//
// Nobody writes what others still read: shared memory has several planes of fields and fluxes (tti_tile.cuh). What
// comes from memory is asked for a turn ahead: the head of a column and the axis in registers, what lies further out,
// the models and the last level by copies to shared memory (march.cuh).
//
// Two neighbours along z per thread and both fields of them, so that models and axis are read once. At order 8 that
// takes 36 registers of columns and 16 of sums; F_x of 2 M planes is in shared memory.
#pragma once

#include "march.cuh"
#include "tti_absorb.cuh"
#include "waves.hpp"

namespace subsalt::cuda {

/// A box and its blocks: `blocks` of them, tiles of z fastest, then of y, then marches of `planes` planes along x.
struct TiltedPart {
    Box box;
    int planes, tiles_y, tiles_z;
    unsigned blocks;

    Marched marched() const { return {static_cast<int>(box.hi[0] - box.lo[0]), tiles_y * tiles_z, 1}; }
};

/// What a launch does: some boxes, which are advanced, or, with `out`, one of which A and B are written.
struct TiltedTask {
    static constexpr int most = 6;
    TiltedPart part[most];
    int parts;
    float* out[2];
};

/// `Plain`: the step alone. Else with the terms of the layer, of damping, or A and B instead of a step.
template <int M, int Dim, int Rows, bool Plain, bool Stretched>
class TiltedMarch {
    using Tile = TiltedTile<M, Dim, Rows, Plain>;
    static constexpr bool ahead = M < 8; // order 16 has no registers left for the axis of the next turn

public:
    SUBSALT_DEVICE TiltedMarch(const DeviceProblem& pb, const Levels& lv, const TiltedTask& task,
                               const TiltedPart& part, unsigned block, float* shared)
        : pb_(pb), lv_(lv), task_(task), box_(part.box), shared_(shared),
          unit_(Tile::unit(static_cast<int>(threadIdx.x))) {
        const int tiles = part.tiles_z * part.tiles_y, tile = static_cast<int>(block) % tiles;
        x0_ = static_cast<int>(box_.lo[0]) + static_cast<int>(block) / tiles * part.planes;
        x1_ = min(x0_ + part.planes, static_cast<int>(box_.hi[0]));
        y0_ = static_cast<int>(box_.lo[1]) + tile / part.tiles_z * Tile::rows;
        z0_ = static_cast<int>(box_.lo[2]) / Tile::aligned * Tile::aligned + tile % part.tiles_z * Tile::columns;
        first_ = max(x0_ - M, 0);
        last_ = min(x1_ + M, n(0)) - 1;

        y_ = y0_ + unit_.y, z_ = z0_ + unit_.z;
        in_memory_ = unit_.role != Role::none && lies_in_memory(y_, z_);
        in_grid_ =
            in_memory_ && y_ >= 0 && y_ < min(n(1), end(1) + Tile::my) && z_ >= 0 && z_ < min(n(2), end(2) + Tile::mz);
        ordinary_ = z_ >= (pb.free_surface ? M + 1 : 0) && z_ + 1 < n(2);
        whole_ = ordinary_ && z_ >= static_cast<int>(box_.lo[2]) && z_ + 1 < end(2) && y_ < end(1);
        at_ = padded_offset(pb, first_ - 1, y_, z_);
#pragma unroll
        for (int i = 0; i < Tile::outer_each; ++i)
            outer_[i] = outer(i);
    }

    SUBSALT_DEVICE void run() {
        begin();
        Fluxes made[2]{{zero2(), zero2(), zero2(), zero2()}, {zero2(), zero2(), zero2(), zero2()}};
        // the planes are the same for the whole block, as all that a barrier depends on
        for (int x = first_ - 1;; ++x) {
            wait_for_copies<1>(); // what lies further out in plane x + 1 is there
            __syncthreads();
            if (x + 2 <= last_) copy_outer(x + 2, 2);
            commit_copies();
            if (unit_.role == Role::inner) finish(x, made);
            if (x + 1 == x1_ + M) return;
            copy_point(x + 1 - M);
            commit_copies();
            step_on(x + 1);
            // what a column has in registers goes now; what it must load would take registers beside the fluxes
            constexpr bool now = TiltedColumn<M>::is_queue;
            if (now && x + 2 <= last_) put_fields(x + 2);
            if (x + 1 <= last_) make_fluxes(x + 1, made);
            if (!now && x + 2 <= last_) put_fields(x + 2);
        }
    }

private:
    const DeviceProblem& pb_;
    const Levels& lv_;
    const TiltedTask& task_;
    const Box& box_;
    float* const shared_;
    const Unit unit_;
    int x0_, x1_, y0_, z0_; // of the block
    int first_, last_;      // planes with fluxes
    int y_, z_;             // of the unit
    bool in_memory_, in_grid_;
    bool ordinary_, whole_; // the pair: in the grid and away from a free surface; besides in the box
    Index at_; // of the unit in a padded array, in the plane of this turn; where there is nothing nothing is read
    struct Outer {
        Index from; // likewise
        int to;     // in a plane of shared memory; -1: nowhere
    } outer_[Tile::outer_each];
    TiltedColumn<M> column_[2];
    float2 head_[2], axis_[3]; // asked for
    float2 acc_[2][M];         // sums of the planes that wait for fluxes (push_divergence_x)

    SUBSALT_DEVICE int n(int axis) const { return static_cast<int>(pb_.n[axis]); }
    SUBSALT_DEVICE bool writes_operator() const { return !Plain && task_.out[0] != nullptr; }
    SUBSALT_DEVICE int end(int axis) const { return static_cast<int>(box_.hi[axis]); }

    /// Whether a pair lies in a padded array, and near enough to the box to be needed.
    SUBSALT_DEVICE bool lies_in_memory(int y, int z) const {
        const int halo = static_cast<int>(pb_.y_halo), row = static_cast<int>(pb_.row),
                  front = static_cast<int>(z_front);
        return y >= -halo && y < min(n(1) + halo, end(1) + 2 * Tile::my) && z >= -front &&
               z < min(row - front, end(2) + 2 * Tile::mz);
    }

    /// Stand before the first turn, and ask for what it needs.
    SUBSALT_DEVICE void begin() {
#pragma unroll
        for (int f = 0; f < 2; ++f) {
            column_[f].begin(lv_.curr[f] + at_ + pb_.plane, pb_.plane, in_memory_);
#pragma unroll
            for (int j = 0; j < M; ++j)
                acc_[f][j] = zero2();
            if (unit_.role == Role::inner)
                for (int slot = 0; slot < Tile::slots; ++slot)
                    store2(Tile::fx(shared_, f, slot, unit_.y, unit_.z), zero2());
        }
        ask_for_heads();
        if constexpr (ahead) ask_for_axis(1);
        put_fields(first_);
        copy_outer(first_, 1);
        commit_copies();
        commit_copies(); // of models there is nothing yet
    }

    // What the turn at the next plane needs
    SUBSALT_DEVICE void ask_for_heads() {
        if constexpr (!TiltedColumn<M>::is_queue) return;
        head_[0] = head_[1] = zero2();
        if (!in_memory_) return;
        const Index from = at_ + (M + 1) * pb_.plane;
        head_[0] = ldg2(lv_.curr[0] + from), head_[1] = ldg2(lv_.curr[1] + from);
    }
    SUBSALT_DEVICE void ask_for_axis(int planes_on) {
#pragma unroll
        for (float2& axis : axis_)
            axis = zero2();
        if (!in_grid_) return;
        const Index from = at_ + planes_on * pb_.plane;
#pragma unroll
        for (int i = 0; i < 3; ++i)
            if (Dim == 3 || i != 1) axis_[i] = ldg2(pb_.tilt.axis[i] + from);
    }
    /// Number i of the pairs further out that this thread copies.
    SUBSALT_DEVICE Outer outer(int i) const {
        const Unit unit = Tile::outer(static_cast<int>(threadIdx.x), i);
        const int y = y0_ + unit.y, z = z0_ + unit.z;
        if (unit.role == Role::none || !lies_in_memory(y, z)) return {0, -1};
        return {padded_offset(pb_, first_ - 1, y, z), Tile::in_plane(unit.y, unit.z)};
    }
    /// Copy fields of plane x further out, so many planes on, to where they are read.
    SUBSALT_DEVICE void copy_outer(int x, int planes_on) {
#pragma unroll
        for (const Outer& outer : outer_)
            if (outer.to >= 0)
#pragma unroll
                for (int f = 0; f < 2; ++f)
                    start_copy<true>(Tile::plane(shared_, x, f) + outer.to,
                                     reinterpret_cast<const float2*>(lv_.curr[f] + outer.from + planes_on * pb_.plane));
    }
    /// Copy models and last level of plane x, M behind that of the next turn, if it will take its time step here.
    SUBSALT_DEVICE void copy_point(int x) {
        if (x < x0_ || x >= x1_ || unit_.role != Role::inner || !in_grid_ || writes_operator()) return;
        const float* const from[5] = {pb_.m, pb_.e, pb_.s, lv_.prev[0], lv_.prev[1]};
#pragma unroll
        for (int i = 0; i < 5; ++i)
            start_copy<true>(Tile::point(shared_, i, unit_.y, unit_.z),
                             reinterpret_cast<const float2*>(from[i] + at_ + (1 - M) * pb_.plane));
    }

    /// Go on to plane x.
    SUBSALT_DEVICE void step_on(int x) {
        column_[0].next(head_[0]);
        column_[1].next(head_[1]);
        at_ += pb_.plane;
        forget(at_);
#pragma unroll
        for (Outer& outer : outer_) {
            outer.from += pb_.plane;
            forget(outer.from);
        }
        if constexpr (!Plain) {
            forget(y_);
            forget(z_);
        }
        if (x < last_) ask_for_heads();
    }

    /// Let the compiler not know that a number is what it was: else it keeps an address for each of a dozen arrays, and
    /// what the layer needs to know of a row and its neighbours, from turn to turn in registers.
    SUBSALT_DEVICE static void forget([[maybe_unused]] Index& i) {
#if defined(__CUDA_ARCH__)
        asm volatile("" : "+l"(i));
#endif
    }
    SUBSALT_DEVICE static void forget([[maybe_unused]] int& i) {
#if defined(__CUDA_ARCH__)
        asm volatile("" : "+r"(i));
#endif
    }

    /// The fields of plane x, the next one, from the columns to shared memory.
    SUBSALT_DEVICE void put_fields(int x) {
        if (unit_.role != Role::none)
#pragma unroll
            for (int f = 0; f < 2; ++f)
                store2(Tile::w(shared_, x, f, unit_.y, unit_.z), column_[f].at(1));
    }

    SUBSALT_DEVICE void make_fluxes(int x, Fluxes (&made)[2]) {
        const bool inside = x >= x0_ && x < x1_; // else only F_x is needed
        if constexpr (!ahead) ask_for_axis(0);
        float2 m[3];
#pragma unroll
        for (int i = 0; i < 3; ++i)
            m[i] = Dim == 3 || i != 1 ? pb_.tilt.slope[i] * axis_[i] : zero2();
        if (ahead && x < last_) ask_for_axis(1);
        if (unit_.role == Role::inner) {
            make_fluxes_of<0, Role::inner>(x, m, made[0]);
            make_fluxes_of<1, Role::inner>(x, m, made[1]);
        } else if (Dim == 3 && unit_.role == Role::beside_y && inside) {
            make_fluxes_of<0, Role::beside_y>(x, m, made[0]);
            make_fluxes_of<1, Role::beside_y>(x, m, made[1]);
        } else if (unit_.role == Role::beside_z && inside) {
            make_fluxes_of<0, Role::beside_z>(x, m, made[0]);
            make_fluxes_of<1, Role::beside_z>(x, m, made[1]);
        }
    }

    template <int Field, Role R>
    SUBSALT_DEVICE void make_fluxes_of(int x, const float2 (&m)[3], Fluxes& made) {
        made = {zero2(), zero2(), zero2(), zero2()}; // outside the grid
        if (in_grid_)
            made = tti_fluxes<Tile, Dim, Field, R, Stretched>(
                pb_.tilt, column_[Field], Tile::w(shared_, x, Field, unit_.y, unit_.z), m, {pb_.stretch, z_});
        if constexpr (Dim == 3 && R != Role::beside_z) store2(Tile::fy(shared_, x, Field, unit_.y, unit_.z), made.y);
        if constexpr (R != Role::beside_y) put_flux_z<Field>(x, made.z);
    }

    /// F_z of plane x: zero outside the grid, F_z[-k] = F_z[k] above a free surface.
    template <int Field>
    SUBSALT_DEVICE void put_flux_z(int x, float2 flux) {
        float* const p = Tile::fz(shared_, x, Field, unit_.y, unit_.z);
        if (ordinary_) return store2(p, flux);
        flux = select(Mask(z_, 0, n(2)), flux, zero2());
        if (!pb_.free_surface) return store2(p, flux);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int z = z_ + i;
            const float value = i == 0 ? flux.x : flux.y;
            // what stands above the surface is written by its image below, if there is one
            if (z >= 0 || -z >= n(2)) p[i] = value;
            if (z >= 1 && z <= M && z < n(2) && -z >= z0_ - Tile::mz) p[i - 2 * z] = value;
        }
    }

    /// Divergence of plane x along y and z, what its F_x adds to the planes behind, and the time step of plane x - M.
    SUBSALT_DEVICE void finish(int x, const Fluxes (&made)[2]) {
        const bool inside = x >= x0_ && x < x1_;
        const bool advances = !Plain && !writes_operator() && pb_.boundary == Boundary::pml;
        const int c = x - M; // the plane that becomes complete
        const bool completes = c >= x0_ && in_grid_;
        float2 done[2];
        each_field([&]<int Field>() {
            float2 a = zero2();
            if (inside) a = along_yz<Field>(x, made[Field].a, advances);
            const float2 flux = x <= last_ ? made[Field].x : zero2();
            const auto before = [&](int lag) { return load2(Tile::fx(shared_, Field, x - lag, unit_.y, unit_.z)); };
            done[Field] = push_divergence_x<M>(acc_[Field], a, flux, pb_.tilt.d, before);
            if (advances && completes) done[Field] = layer_x<Field>(c, done[Field], flux, before);
            store2(Tile::fx(shared_, Field, x, unit_.y, unit_.z), flux);
        });
        wait_for_copies<1>(); // models and last level of plane x - M are there
        if (completes) advance(c, done[0], done[1]);
    }

    template <class Body>
    SUBSALT_DEVICE static void each_field(Body body) {
        body.template operator()<0>();
        body.template operator()<1>();
    }

    SUBSALT_DEVICE PairPlace place(int x) const {
        return {x, y_, z_, Mask(z_, static_cast<int>(box_.lo[2]), y_ < end(1) ? end(2) : -1)};
    }

    template <int Field>
    SUBSALT_DEVICE float2 along_yz(int x, float2 a, bool advances) {
        const float* const w = Tile::w(shared_, x, Field, unit_.y, unit_.z);
        if constexpr (Dim == 3) {
            const PairRows fy{Tile::fy(shared_, x, Field, unit_.y, unit_.z), Tile::columns};
            a = add_divergence<M>(a, pb_.tilt.d, fy);
            if (advances && in_grid_)
                a = add_layer_xy<M, 1, Field>(pb_, lv_, a, place(x), PairRows{w, Tile::w_row}, fy);
        }
        const float* const fz = Tile::fz(shared_, x, Field, unit_.y, unit_.z);
        if constexpr (Stretched) {
            // beside the grid a tile has units that no row reaches
            const float2 power = in_grid_ ? DepthPair{pb_.stretch, z_}.power() : zero2();
            a = fma(power, slope<M>(pb_.tilt.d, PairWindow<M>(fz)), a);
        } else {
            a = add_divergence<M>(a, pb_.tilt.d, PairWindow<M>(fz));
        }
        if (advances && in_grid_) {
            const Index row = window_row(pb_, x, y_);
            a = add_layer_z<M, Field, Stretched>(pb_, a, place(x), PairWindow<M>(w), PairWindow<M>(fz),
                                                 {lv_.psi[2] + row, (Field == 1 ? lv_.zeta : lv_.zeta2)[2] + row});
        }
        return a;
    }

    /// The field in the planes around one, from memory.
    struct Planes {
        const float* p;
        Index stride;
        SUBSALT_DEVICE float2 at(int k) const { return ldg2(p + k * stride); }
    };
    /// F_x around plane x - M, where the turn is at plane x.
    template <class Before>
    struct FluxPlanes {
        float2 newest;
        const Before& before;
        SUBSALT_DEVICE float2 at(int k) const { return k == M ? newest : before(M - k); }
    };

    template <int Field, class Before>
    SUBSALT_DEVICE float2 layer_x(int c, float2 a, float2 flux, const Before& before) {
        return add_layer_xy<M, 0, Field>(pb_, lv_, a, place(c),
                                         Planes{lv_.curr[Field] + at_ - M * pb_.plane, pb_.plane},
                                         FluxPlanes<Before>{flux, before});
    }

    /// The leapfrog of plane x, or A and B as they are.
    SUBSALT_DEVICE void advance(int x, float2 a, float2 b) {
        if (writes_operator()) return write_operator(x, a, b);
        const auto copied = [&](int i) { return load2(Tile::point(shared_, i, unit_.y, unit_.z)); };
        const float2 m = copied(0), e = copied(1), s = copied(2), p_prev = copied(3), q_prev = copied(4);
        float2 p = leapfrog(m, rhs_of_p(e, s, a, b), column_[0].at(-M), p_prev);
        float2 q = leapfrog(m, rhs_of_q(s, a, b), column_[1].at(-M), q_prev);
        if (!Plain && pb_.boundary == Boundary::damping) {
            const float t_xy = Dim == 3 ? pb_.t[0][x] + pb_.t[1][y_] : pb_.t[0][x];
            const float2 t = make_float2(t_xy + pb_.t[2][z_], t_xy + pb_.t[2][z_ + 1]);
            p = damped(t, p_prev, p);
            q = damped(t, q_prev, q);
        }
        put(lv_.prev[0] + at_ - M * pb_.plane, p);
        put(lv_.prev[1] + at_ - M * pb_.plane, q);
    }

    /// Of the pair what lies in the box; above a free surface stand odd images, and row 0 is zero.
    SUBSALT_DEVICE void put(float* p, float2 value) const {
        if (whole_) return store2(p, value);
        const Mask inside = place(0).inside;
        if (pb_.free_surface && z_ <= M) {
            if (z_ == 0) value.x = 0.0f;
            if (inside.x && z_ >= 1) p[-2 * z_] = -value.x;
            if (inside.y && z_ + 1 <= M) p[1 - 2 * (z_ + 1)] = -value.y;
        }
        store2(p, value, inside);
    }

    SUBSALT_DEVICE void write_operator(int x, float2 a, float2 b) const {
        const Mask inside = place(x).inside;
        const Index ny = box_.hi[1] - box_.lo[1], nz = box_.hi[2] - box_.lo[2];
        const Index at = ((x - box_.lo[0]) * ny + (y_ - box_.lo[1])) * nz + z_ - box_.lo[2];
        if (inside.x) task_.out[0][at] = a.x, task_.out[1][at] = b.x;
        if (inside.y) task_.out[0][at + 1] = a.y, task_.out[1][at + 1] = b.y;
    }
};

} // namespace subsalt::cuda
