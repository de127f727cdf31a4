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

SparseRows rows_of(const MirrorSet::Rows& rows, Index size) {
    const auto& [start, column, value, place] = rows;
    const auto n = static_cast<Index>(place.shape(0)), entries = static_cast<Index>(column.shape(0));
    const auto outside = [&](std::int32_t at) { return at < 0 || at >= size; };
    bool fits = static_cast<Index>(start.shape(0)) == n + 1 && static_cast<Index>(value.shape(0)) == entries &&
                start.data()[0] == 0 && start.data()[n] == entries;
    for (Index r = 0; r < n && fits; ++r)
        fits = start.data()[r] <= start.data()[r + 1] && !outside(place.data()[r]);
    for (Index k = 0; k < entries && fits; ++k)
        fits = !outside(column.data()[k]);
    if (!fits) throw std::invalid_argument("the rows of a mirror do not fit the array they are about");
    return {n, start.data(), column.data(), value.data(), place.data()};
}

} // namespace

MirrorSet::MirrorSet(const Rows& odd, const Rows& damping, Index size, Index every)
    : mirror{rows_of(odd, size), rows_of(damping, size), every}, size_(size), keep_{odd, damping} {
    if (every < 1) throw std::invalid_argument("every must be 1 or more");
}

void MirrorSet::check(const Plan& plan) const {
    if (size_ != (plan.pb.n[0] + 2 * plan.pb.radius) * plan.pb.plane)
        throw std::invalid_argument("the mirror is of another grid");
}

} // namespace subsalt

namespace {

void mirror(const Plan& plan, const MirrorSet& set, const std::vector<Padded>& made, const std::vector<Padded>& read,
            Index now, int threads, const std::string& isa) {
    set.check(plan);
    const auto next = level(plan, made, "made"), last = level(plan, read, "read");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.mirror(plan.pb, set.mirror, next.data(), last.data(), now, threads);
}

} // namespace

void bind_mirror(nb::module_& m) {
    nb::class_<MirrorSet>(m, "MirrorSet")
        .def(nb::init<const MirrorSet::Rows&, const MirrorSet::Rows&, Index, Index>(), "odd"_a, "damping"_a, "size"_a,
             "every"_a);
    m.def("mirror", &mirror, "plan"_a, "mirror"_a, "made"_a.noconvert(), "read"_a.noconvert(), "now"_a, "threads"_a,
          "isa"_a,
          "Damp a level that the step from time index `now` has made from the one `read`, and give what lies above a "
          "free surface its values.");
}
