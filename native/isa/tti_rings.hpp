// Where a tile of the TTI step keeps fluxes and accumulators: rings of planes and rows in one block of memory per
// thread.
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
    ~TiltedRings() { std::free(memory_); }

    /// Make room for a tile that does `planes` planes along x at a time. Memory is kept for the tiles to come.
    void lay_out(const Problem& pb, const Box& tile, int planes) {
        reach_ = pb.radius;
        y_lo_ = tile.lo[1];
        planes_ = planes;
        slots_x_ = 2 * reach_ + planes;
        slots_a_ = reach_ + planes;
        slots_ = pb.dim == 3 ? 2 * reach_ + 1 : 1;
        row_ = (pb.n[2] + 15) / 16 * 16 + 2 * room;
        // an odd number of cache lines between planes: rows of several planes are read together
        plane_ = (tile.hi[1] - tile.lo[1]) * row_ + (row_ / 16 * (tile.hi[1] - tile.lo[1]) % 2 == 0 ? 16 : 0);
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

    const float* zeros() const { return memory_ + at_zeros_ + room; }
    float* work() const { return memory_ + at_zeros_ + row_ + room; } // zeros outside the windows of the layer

private:
    Index at_slot(int f, Index j, Index slot) const { return ((f * planes_ + j) * slots_ + slot) * row_ + room; }

    static constexpr Index room = 32; // floats on both sides of a row
    float* memory_ = nullptr;
    Index size_ = 0, row_ = 0, plane_ = 0, y_lo_ = 0, reach_ = 0, planes_ = 0;
    Index slots_x_ = 0, slots_a_ = 0, slots_ = 0;
    Index at_a_ = 0, at_y_ = 0, at_z_ = 0, at_zeros_ = 0;
};

/// The rings of this thread.
inline TiltedRings& tilted_rings() {
    static thread_local TiltedRings rings;
    return rings;
}

} // namespace subsalt::SUBSALT_NS
