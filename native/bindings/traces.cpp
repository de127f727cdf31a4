// Python face of the preparation of traces for Kirchhoff migration. Arguments are checked in Python
// (subsalt.methods.kirchhoff.prepare); here only shapes are, because a wrong one would write out of bounds.
#include "isa/dispatch.hpp"
#include "signal/double_integral.hpp"
#include "trace_work.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace subsalt {
namespace {

template <class T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

/// `pairs` of length 0: traces pass unfiltered.
void prepare_traces(Array<const float, 2> traces, Array<float, 4> out, Array<const float, 3> pairs, int64_t size,
                    Array<const float, 2> taps, int threads, const std::string& isa) {
    TraceWork work{};
    work.traces = traces.data();
    work.n = static_cast<Index>(traces.shape(0));
    work.nt = static_cast<Index>(traces.shape(1));
    work.bands = static_cast<Index>(out.shape(1));
    work.order = static_cast<int>(out.shape(2)) - 1;
    work.taps = taps.data();
    work.out = out.data();
    work.row = static_cast<Index>(out.shape(3));
    const bool polynomials = work.order == 1 || (work.order == 4 && taps.shape(0) == 5 && taps.shape(1) == 8);
    if (static_cast<Index>(out.shape(0)) != work.n || work.nt < 1 || work.row < work.nt || work.row % 16 != 0 ||
        work.bands < 1 || !polynomials || threads < 1)
        throw std::invalid_argument("prepare_traces: arrays do not fit together");
    std::optional<signal::FftPlan> plan;
    if (pairs.shape(0) > 0) {
        if (size < work.nt + taps_before + taps_after || static_cast<int64_t>(pairs.shape(0)) != (work.bands + 1) / 2 ||
            static_cast<int64_t>(pairs.shape(1)) != size / 2 + 1 || pairs.shape(2) != 4)
            throw std::invalid_argument("prepare_traces: the factors do not fit the transform");
        work.plan = &plan.emplace(size);
        work.pairs = pairs.data();
    } else if (work.bands != 1) {
        throw std::invalid_argument("prepare_traces: several bands need filters");
    }
    const PrepareTable& table = prepare_named(isa);
    nb::gil_scoped_release release;
    table.prepare(work, threads);
}

/// Of the first band of prepared traces.
void double_integral(Array<const float, 4> samples, Array<double, 2> out, int threads) {
    const auto n = static_cast<int64_t>(samples.shape(0)), row = static_cast<int64_t>(samples.shape(3));
    const int order = static_cast<int>(samples.shape(2)) - 1;
    if (static_cast<int64_t>(out.shape(0)) != n || static_cast<int64_t>(out.shape(1)) != row || order < 0 ||
        order > 4 || threads < 1)
        throw std::invalid_argument("double_integral: arrays do not fit together");
    const auto stride = static_cast<int64_t>(samples.shape(1) * samples.shape(2)) * row;
    const float* from = samples.data();
    double* to = out.data();
    nb::gil_scoped_release release;
    signal::double_integral(from, to, n, stride, order, row, threads);
}

} // namespace
} // namespace subsalt

void bind_traces(nb::module_& m) {
    m.def("prepare_traces", &subsalt::prepare_traces, "traces"_a.noconvert(), "out"_a.noconvert(),
          "pairs"_a.noconvert(), "size"_a, "taps"_a.noconvert(), "threads"_a, "isa"_a,
          "Filter traces (n, nt) by pairs of bands and write polynomials between their samples.");
    m.def("double_integral", &subsalt::double_integral, "samples"_a.noconvert(), "out"_a.noconvert(), "threads"_a,
          "Double integral of the first band of prepared traces, at the samples.");
    m.def("fft_size", &subsalt::signal::fft_size, "least"_a, "Points of the next transform that is large enough.");
}
