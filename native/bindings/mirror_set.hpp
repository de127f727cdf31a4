// The weights of a free surface inside the grid, checked and kept alive.
#pragma once

#include "arguments.hpp"
#include "mirror.hpp"

namespace subsalt {

class MirrorSet {
public:
    using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Places = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Rows = std::tuple<Starts, Places, Row1, Places>; // start, column, value, place

    Mirror mirror{};

    /// `size`: floats of the padded arrays that columns and places count; columns of `spread` count rows of `reach`.
    MirrorSet(const Rows& odd, const Rows& reach, const Rows& own, const Rows& spread, Index size);
    MirrorSet(const MirrorSet&) = delete;

    /// Refuse a problem with other arrays.
    void check(const Plan& plan) const;

private:
    Index size_;
    std::array<Rows, 4> keep_;
};

} // namespace subsalt
