// Python face of the extremes of an earth model (native/signal/model_extremes.hpp). Shapes are checked here: a wrong
// one would read or write out of bounds.
#include "signal/model_extremes.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// (columns, nz)
using InColumns = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Depths = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutDepths = nb::ndarray<double, nb::shape<3, -1>, nb::c_contig, nb::device::cpu>;

nb::tuple finite_range(Values values) {
    subsalt::signal::Finite found{};
    {
        nb::gil_scoped_release release;
        found = subsalt::signal::finite_range(values.data(), static_cast<int64_t>(values.size()));
    }
    return nb::make_tuple(found.low, found.high, found.bad, found.first_bad);
}

nb::tuple wave_extremes(InColumns vp, std::optional<InColumns> epsilon, std::optional<InColumns> delta, bool tilted,
                        double along, Depths down, OutDepths out) {
    const auto same = [&vp](const std::optional<InColumns>& a) {
        return !a || (a->shape(0) == vp.shape(0) && a->shape(1) == vp.shape(1));
    };
    if (!same(epsilon) || !same(delta) || epsilon.has_value() != delta.has_value() || down.size() != vp.shape(1) ||
        out.shape(1) != vp.shape(1))
        throw std::invalid_argument("wave_extremes: arrays do not fit together");
    const subsalt::signal::Columns model{vp.data(),
                                         epsilon ? epsilon->data() : nullptr,
                                         delta ? delta->data() : nullptr,
                                         static_cast<int64_t>(vp.shape(0)),
                                         static_cast<int64_t>(vp.shape(1)),
                                         tilted};
    double* rows = out.data();
    const int64_t nz = model.nz;
    subsalt::signal::Over over{};
    {
        nb::gil_scoped_release release;
        over = subsalt::signal::wave_extremes(model, along, down.data(), {rows, rows + nz, rows + 2 * nz});
    }
    return nb::make_tuple(over.count, over.first);
}

} // namespace

void bind_model(nb::module_& m) {
    m.def("finite_range", &finite_range, "values"_a.noconvert(),
          "Smallest and largest finite value, the number of values that are not finite, and the first of them or -1.");
    m.def("wave_extremes", &wave_extremes, "vp"_a.noconvert(), "epsilon"_a.noconvert().none(),
          "delta"_a.noconvert().none(), "tilted"_a, "along"_a, "down"_a.noconvert(), "out"_a.noconvert(),
          "By depth into `out`: smallest phase velocity, largest velocity, largest eigenvalue. Returns how many values "
          "have delta > epsilon, and the first of them or -1.");
}
