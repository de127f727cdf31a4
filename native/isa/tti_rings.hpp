// Where a tile of the TTI step keeps fluxes and accumulators: rings of planes and rows in one block of memory per
// thread, and how far each of these rows may hold anything but zero.
#pragma once

#include <cstdlib>

#include "problem.hpp"
#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

class TiltedRings {
public:
    TiltedRings() = default;
    TiltedRings(const TiltedRings&) = delete;
    TiltedRings& operator=(const TiltedRings&) = delete;
    ~TiltedRings() {
        std::free(memory_);
        std::free(ends_);
    }

    /// Make room for a tile that does `planes` planes along x at a time. Memory is kept for the tiles to come.
    void lay_out(const Problem& pb, const Box& tile, int planes) {
        const Index rows = tile.hi[1] - tile.lo[1];
        const bool as_before = reach_ == pb.radius && planes_ == planes && rows_ == rows && points_ == pb.n[2] &&
                               slots_ == (pb.dim == 3 ? 2 * pb.radius + 1 : 1);
        reach_ = pb.radius;
        planes_ = planes;
        rows_ = rows;
        points_ = pb.n[2];
        slots_x_ = 2 * reach_ + planes;
        slots_a_ = reach_ + planes;
        slots_ = pb.dim == 3 ? 2 * reach_ + 1 : 1;
        row_ = (pb.n[2] + 15) / 16 * 16 + 2 * room;
        // an odd number of cache lines between planes: rows of several planes are read together
        plane_ = rows * row_ + (row_ / 16 * rows % 2 == 0 ? 16 : 0);
        at_a_ = 2 * slots_x_ * plane_;
        at_y_ = at_a_ + 2 * slots_a_ * plane_;
        at_z_ = at_y_ + 2 * planes * slots_ * row_;
        at_zeros_ = at_z_ + 2 * planes * slots_ * row_;
        const Index floats = at_zeros_ + 2 * row_ + 16;
        if (floats > size_) {
            std::free(memory_);
            memory_ = static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>((floats + 15) / 16 * 64)));
            if (memory_ == nullptr) std::abort(); // a few megabytes
            size_ = floats;
            // lanes behind the end of a row are never made, and 0 times them must be 0
            for (Index k = 0; k < size_; ++k)
                memory_[k] = 0.0f;
        }
        for (Index k = at_zeros_; k < at_zeros_ + 2 * row_; ++k)
            memory_[k] = 0.0f;
        if (!as_before) forget_ends();
    }

    /// The first row of the tile at z = 0, by field and plane; the others follow at distances of `row`.
    float* x(int f, Index plane) const { return memory_ + (f * slots_x_ + plane % slots_x_) * plane_ + room; }
    float* a(int f, Index plane) const { return memory_ + at_a_ + (f * slots_a_ + plane % slots_a_) * plane_ + room; }
    /// The fluxes along y and z are needed for the planes j of one turn, and of each for the last 2 M + 1 rows: by
    /// slot.
    float* y(int f, Index j, Index slot) const { return memory_ + at_y_ + at_slot(f, j, slot); }
    float* z(int f, Index j, Index slot) const { return memory_ + at_z_ + at_slot(f, j, slot); }
    Index row() const { return row_; }
    Index slots() const { return slots_; }

    /// The points from z = 0 on that may be other than zero in a row of the flux along x, of the accumulator, and of
    /// the fluxes along y and z; `whole`: all, and the lanes behind them.
    std::int32_t& end_x(Index plane, Index row) const { return ends_[plane % slots_x_ * rows_ + row]; }
    std::int32_t& end_a(Index plane, Index row) const { return ends_[(slots_x_ + plane % slots_a_) * rows_ + row]; }
    std::int32_t& end_yz(Index j, Index slot) const { return ends_[(slots_x_ + slots_a_) * rows_ + j * slots_ + slot]; }
    Index whole() const { return row_ - 2 * room; }

    const float* zeros() const { return memory_ + at_zeros_ + room; }
    float* work() const { return memory_ + at_zeros_ + row_ + room; } // zeros outside the windows of the layer

private:
    Index at_slot(int f, Index j, Index slot) const { return ((f * planes_ + j) * slots_ + slot) * row_ + room; }

    /// Any row may hold anything.
    void forget_ends() {
        const Index count = (slots_x_ + slots_a_) * rows_ + planes_ * slots_;
        if (count > size_of_ends_) {
            std::free(ends_);
            ends_ = static_cast<std::int32_t*>(std::malloc(static_cast<std::size_t>(count) * sizeof(std::int32_t)));
            if (ends_ == nullptr) std::abort();
            size_of_ends_ = count;
        }
        for (Index i = 0; i < count; ++i)
            ends_[i] = static_cast<std::int32_t>(whole());
    }

    static constexpr Index room = 32; // floats on both sides of a row
    std::int32_t* ends_ = nullptr;
    Index size_of_ends_ = 0, rows_ = 0, points_ = 0;
    float* memory_ = nullptr;
    Index size_ = 0, row_ = 0, plane_ = 0, reach_ = 0, planes_ = 0;
    Index slots_x_ = 0, slots_a_ = 0, slots_ = 0;
    Index at_a_ = 0, at_y_ = 0, at_z_ = 0, at_zeros_ = 0;
};

/// The rings of this thread.
inline TiltedRings& tilted_rings() {
    static thread_local TiltedRings rings;
    return rings;
}

} // namespace subsalt::SUBSALT_NS
