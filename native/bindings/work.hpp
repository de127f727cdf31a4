// What goes in and comes out on the way of some time steps, checked: sources, recorders, and what is imaged.
#pragma once

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "arguments.hpp"

namespace subsalt {

using Series = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstSeries = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FeedArgument = std::tuple<nb::object, ConstSeries>;
// what is written comes as an object: a tuple of arrays would let nanobind convert them, and the copy be written
using PlainArray16 = nb::ndarray<std::int16_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ConstArray16 = nb::ndarray<const std::int16_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using TapArgument = std::tuple<nb::object, nb::object>;
using SampleArgument = std::tuple<Index, Corner, Corner, nb::object, nb::object, nb::object, nb::object, float>;

/// Box, widths of the shell, time index of row 0, direction, whether it is put back, and the rows (n, fields, cells).
using ShellsArgument = std::tuple<Corner, Corner, std::array<Index, 6>, Index, Index, bool, nb::object>;
using BoxArgument = std::pair<Corner, Corner>;

/// The array itself, never a copy of it.
template <class Array>
Array as_it_is(const nb::object& a, const char* what) {
    Array out;
    if (!nb::try_cast<Array>(a, out, false))
        throw std::invalid_argument(std::string(what) +
                                    " must be float32, contiguous, and writeable where it is written");
    return out;
}

/// How work is cut, checked: rows per tile, steps per pass, and what is fetched.
inline Cut cut_of(const std::array<Index, 3>& cut) {
    if (cut[0] < 0 || cut[1] < 1 || cut[1] > max_depth || cut[2] < 1 || cut[2] > 2)
        throw std::invalid_argument("the cut is not possible");
    return {cut[0], cut[1], cut[2]};
}

/// The shell of a box, checked, with the cells of a field counted.
Shell shell_of(const Plan& plan, const Corner& lo, const Corner& hi, const std::array<Index, 6>& widths);

/// What a segment advances, and the shells it keeps or puts back.
struct Partly {
    std::optional<Shells> shells;
    std::optional<Box> inner;

    Partly(const Plan& plan, const std::optional<ShellsArgument>& shells, const std::optional<BoxArgument>& inner);
    void enter(Segment& seg) const {
        seg.shells = shells ? &*shells : nullptr;
        seg.inner = inner ? &*inner : nullptr;
    }
};

/// What is done with the imaged field at one time index; points into the arrays, which must outlive it.
Sample sample_of(const Plan& plan, const SampleArgument& asked);

/// The arguments in the form of a segment; points into the arrays, which must outlive it.
struct Work {
    std::vector<Feed> feeds;
    std::vector<Tap> taps;
    std::vector<Sample> samples;

    Work(const Plan& plan, const std::vector<FeedArgument>& sources, const std::vector<TapArgument>& recorders,
         const std::vector<SampleArgument>& visits);
};

} // namespace subsalt
