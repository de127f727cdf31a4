// What bindings of kernels receive, checked: boxes, time levels, points, the instruction set.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/dispatch.hpp"
#include "plan.hpp"

namespace subsalt {

using PlainArray = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ConstArray = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Corner = std::array<Index, 3>;

/// The box from lo to hi; throws when it leaves the grid.
Box box_of(const Plan& plan, const Corner& lo, const Corner& hi);

/// Data of an array that has the shape of the box.
template <class Array>
auto boxed(const Array& a, const Box& b, const char* what) {
    for (int i = 0; i < 3; ++i)
        if (static_cast<Index>(a.shape(i)) != std::max<Index>(0, b.hi[i] - b.lo[i]))
            throw std::invalid_argument(std::string(what) + " does not have the shape of the box");
    return a.data();
}

/// Pointers to one level: p, or p and q.
std::array<float*, 2> level(const Plan& plan, const std::vector<Padded>& arrays, const char* what);

/// Both levels, and the memory of the layer: psi of x, (y,) z, then zeta, then zeta2.
Levels levels_of(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
                 const std::vector<PlainArray>& memory);

/// Points with the list of points per x plane.
class PointSet {
public:
    Points pts{};

    PointSet(nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> base,
             nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> weights, const Corner& shape);
    PointSet(const PointSet&) = delete;

    /// Refuse a grid other than the one the points were checked against.
    void check(const Plan& plan) const;

private:
    Corner shape_{};
    std::vector<int32_t> base_, plane_, start_, item_, by_row_, ended_, ending_;
    std::vector<float> weights_;
};

/// The kernels of an instruction set; here, because every function asks for them, also the check of `threads`.
const Table& table_of(const std::string& isa, int threads);

} // namespace subsalt
