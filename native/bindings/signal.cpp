// Python face of native/signal: elementwise functions, fixed-order sums, and the trace map. Arguments are checked in
// Python (subsalt.numerics.fixedmath, subsalt.acquisition.timemap); here only shapes are, because a wrong one would
// write out of bounds.
#include "signal/convolve.hpp"
#include "signal/director.hpp"
#include "signal/fixed_math.hpp"
#include "signal/interpolate.hpp"
#include "signal/trace_map.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using InVector = nb::ndarray<const double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InTraces = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutTraces = nb::ndarray<T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

template <double (*function)(double)>
void bind_elementwise(nb::module_& m, const char* name) {
    m.def(
        name,
        [](InVector x, OutVector out) {
            if (x.size() != out.size()) throw std::invalid_argument("x and out differ in size");
            const double* from = x.data();
            double* to = out.data();
            const size_t n = x.size();
            nb::gil_scoped_release release;
            for (size_t i = 0; i < n; ++i)
                to[i] = function(from[i]);
        },
        "x"_a.noconvert(), "out"_a.noconvert());
}

// Sum in the order of the array, one addition after the other.
double total(InVector x) {
    double sum = 0.0;
    for (size_t i = 0; i < x.size(); ++i)
        sum += x.data()[i];
    return sum;
}

double dot(InVector x, InVector y) {
    if (x.size() != y.size()) throw std::invalid_argument("x and y differ in size");
    double sum = 0.0;
    for (size_t i = 0; i < x.size(); ++i)
        sum += x.data()[i] * y.data()[i];
    return sum;
}

template <class T>
void map_traces(InTraces<T> x, OutTraces<T> y, double dt_in, double dt_out, InVector w_in, InVector w_out,
                InVector q_real, InVector q_imag) {
    const size_t nk = w_in.size();
    if (w_out.size() != nk || q_real.size() != nk || q_imag.size() != nk || x.shape(0) != y.shape(0)) {
        throw std::invalid_argument("map_traces: arrays differ in size");
    }
    const subsalt::signal::Side in{static_cast<int64_t>(x.shape(1)), dt_in, w_in.data()};
    const subsalt::signal::Side out{static_cast<int64_t>(y.shape(1)), dt_out, w_out.data()};
    const subsalt::signal::Spectrum spectrum{static_cast<int64_t>(nk), q_real.data(), q_imag.data()};
    const T* from = x.data();
    T* to = y.data();
    const auto n = static_cast<int64_t>(x.shape(0));
    nb::gil_scoped_release release;
    subsalt::signal::map_traces(from, to, n, in, out, spectrum);
}

template <class T>
void convolve(InTraces<T> x, OutTraces<T> y, InVector h, int64_t first, int threads) {
    const auto n = static_cast<int64_t>(x.shape(0)), nt = static_cast<int64_t>(x.shape(1));
    const subsalt::signal::Filter filter{h.data(), static_cast<int64_t>(h.size()), first};
    const int64_t last = first + filter.taps - 1;
    if (y.shape(0) != x.shape(0) || y.shape(1) != x.shape(1) || filter.taps < 1 || first <= -nt || last >= nt ||
        last <= -nt || first >= nt || threads < 1)
        throw std::invalid_argument("convolve: arrays do not fit together");
    const T* from = x.data();
    T* to = y.data();
    nb::gil_scoped_release release;
    subsalt::signal::convolve(from, to, n, nt, filter, threads);
}

using InRows = nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using InNumbers = nb::ndarray<const int64_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

template <class T>
void interpolate(InTraces<T> x, OutTraces<T> y, InRows w, InNumbers first, bool by_trace, bool transpose) {
    const auto n = static_cast<int64_t>(x.shape(0));
    const auto from = static_cast<int64_t>(x.shape(1)), to = static_cast<int64_t>(y.shape(1));
    const auto rows = static_cast<int64_t>(w.shape(0)), count = static_cast<int64_t>(w.shape(1));
    const int64_t nt = transpose ? to : from, m = transpose ? from : to;
    bool fits = static_cast<int64_t>(y.shape(0)) == n && static_cast<int64_t>(first.size()) == rows &&
                rows == (by_trace ? n : m) && count % 8 == 0 && !(by_trace && transpose);
    for (int64_t r = 0; fits && !by_trace && r < rows; ++r)
        fits = first.data()[r] >= -count && first.data()[r] <= nt;
    if (!fits) throw std::invalid_argument("interpolate: arrays do not fit together");
    const subsalt::signal::Taps taps{w.data(), first.data(), count, by_trace};
    const T* in = x.data();
    T* out = y.data();
    nb::gil_scoped_release release;
    if (transpose)
        subsalt::signal::spread(in, out, n, nt, m, taps);
    else
        subsalt::signal::interpolate(in, out, n, nt, m, taps);
}

using OutAngles = nb::ndarray<float, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

void principal_angles(InVector xx, InVector xy, InVector xz, InVector yy, InVector yz, InVector zz, OutAngles theta,
                      OutAngles phi, int squarings) {
    const std::array<const double*, 6> field{xx.data(), xy.data(), xz.data(), yy.data(), yz.data(), zz.data()};
    const size_t n = theta.size();
    bool fits = phi.size() == n && squarings >= 0;
    for (const size_t size : {xx.size(), xy.size(), xz.size(), yy.size(), yz.size(), zz.size()})
        fits = fits && size == n;
    if (!fits) throw std::invalid_argument("principal_angles: arrays differ in size");
    float *to_theta = theta.data(), *to_phi = phi.data();
    nb::gil_scoped_release release;
    subsalt::signal::principal_angles(field, to_theta, to_phi, static_cast<int64_t>(n), squarings);
}

} // namespace

void bind_signal(nb::module_& m) {
    bind_elementwise<subsalt::fixed::exp>(m, "fixed_exp");
    bind_elementwise<subsalt::fixed::log>(m, "fixed_log");
    bind_elementwise<subsalt::fixed::sin>(m, "fixed_sin");
    bind_elementwise<subsalt::fixed::cos>(m, "fixed_cos");
    bind_elementwise<subsalt::fixed::asin>(m, "fixed_asin");
    bind_elementwise<subsalt::fixed::sinc>(m, "fixed_sinc");
    bind_elementwise<subsalt::fixed::bessel_i0>(m, "fixed_bessel_i0");
    m.def("fixed_total", &total, "x"_a.noconvert());
    m.def("fixed_dot", &dot, "x"_a.noconvert(), "y"_a.noconvert());
    m.def("principal_angles", &principal_angles, "xx"_a.noconvert(), "xy"_a.noconvert(), "xz"_a.noconvert(),
          "yy"_a.noconvert(), "yz"_a.noconvert(), "zz"_a.noconvert(), "theta"_a.noconvert(), "phi"_a.noconvert(),
          "squarings"_a);
    m.def("map_traces", &map_traces<float>, "x"_a.noconvert(), "y"_a.noconvert(), "dt_in"_a, "dt_out"_a, "w_in"_a,
          "w_out"_a, "q_real"_a, "q_imag"_a);
    m.def("map_traces", &map_traces<double>, "x"_a.noconvert(), "y"_a.noconvert(), "dt_in"_a, "dt_out"_a, "w_in"_a,
          "w_out"_a, "q_real"_a, "q_imag"_a);
    m.def("convolve", &convolve<float>, "x"_a.noconvert(), "y"_a.noconvert(), "h"_a.noconvert(), "first"_a,
          "threads"_a);
    m.def("convolve", &convolve<double>, "x"_a.noconvert(), "y"_a.noconvert(), "h"_a.noconvert(), "first"_a,
          "threads"_a);
    m.def("interpolate", &interpolate<float>, "x"_a.noconvert(), "y"_a.noconvert(), "w"_a.noconvert(),
          "first"_a.noconvert(), "by_trace"_a, "transpose"_a);
    m.def("interpolate", &interpolate<double>, "x"_a.noconvert(), "y"_a.noconvert(), "w"_a.noconvert(),
          "first"_a.noconvert(), "by_trace"_a, "transpose"_a);
}
