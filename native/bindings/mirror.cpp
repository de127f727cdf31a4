// Bindings of a free surface inside the grid: its weights, and what is done after a single step.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "mirror_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace subsalt {

namespace {

/// `columns` and `places`: how many there are of what these count.
SparseRows rows_of(const MirrorSet::Rows& rows, Index columns, Index places) {
    const auto& [start, column, value, place] = rows;
    const auto n = static_cast<Index>(place.shape(0)), entries = static_cast<Index>(column.shape(0));
    const auto outside = [](std::int32_t at, Index size) { return at < 0 || at >= size; };
    bool fits = static_cast<Index>(start.shape(0)) == n + 1 && static_cast<Index>(value.shape(0)) == entries &&
                start.data()[0] == 0 && start.data()[n] == entries;
    for (Index r = 0; r < n && fits; ++r)
        fits = start.data()[r] <= start.data()[r + 1] && !outside(place.data()[r], places);
    for (Index k = 0; k < entries && fits; ++k)
        fits = !outside(column.data()[k], columns);
    if (!fits) throw std::invalid_argument("the rows of a mirror do not fit the array they are about");
    return {n, start.data(), column.data(), value.data(), place.data()};
}

} // namespace

MirrorSet::MirrorSet(const Rows& odd, const Rows& reach, const Rows& own, const Rows& spread, Index size)
    : size_(size), keep_{odd, reach, own, spread} {
    const auto sums = static_cast<Index>(std::get<3>(reach).shape(0));
    mirror = {rows_of(odd, size, size), rows_of(reach, size, sums), rows_of(own, size, size),
              rows_of(spread, sums, size)};
    if (mirror.own.n != mirror.spread.n) throw std::invalid_argument("own and spread are of the same nodes");
}

void MirrorSet::check(const Plan& plan) const {
    if (size_ != (plan.pb.n[0] + 2 * plan.pb.radius) * plan.pb.plane)
        throw std::invalid_argument("the mirror is of another grid");
}

} // namespace subsalt

namespace {

void mirror(const Plan& plan, const MirrorSet& set, const std::vector<Padded>& made, const std::vector<Padded>& read,
            int threads, const std::string& isa) {
    set.check(plan);
    const auto next = level(plan, made, "made"), last = level(plan, read, "read");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.mirror(plan.pb, set.mirror, next.data(), last.data(), threads);
}

} // namespace

void bind_mirror(nb::module_& m) {
    nb::class_<MirrorSet>(m, "MirrorSet")
        .def(nb::init<const MirrorSet::Rows&, const MirrorSet::Rows&, const MirrorSet::Rows&, const MirrorSet::Rows&,
                      Index>(),
             "odd"_a, "reach"_a, "own"_a, "spread"_a, "size"_a);
    m.def(
        "mirror", &mirror, "plan"_a, "mirror"_a, "made"_a.noconvert(), "read"_a.noconvert(), "threads"_a, "isa"_a,
        "Add what makes the operator symmetric to a level that a step has made from the one `read`, and give what lies "
        "above a free surface its values.");
}
