// Python face of the sum of Kirchhoff migration. Values are checked in Python (kernels/kirchhoff_arguments.py); here
// shapes are, because a wrong one would write out of bounds. The GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

template <class T, int dims>
using In = nb::ndarray<const T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;
template <class T, int dims>
using Out = nb::ndarray<T, nb::ndim<dims>, nb::c_contig, nb::device::cpu>;

/// Refuse an array that has not these sizes.
template <class Array, class... Sizes>
void shaped(const Array& a, const char* what, Sizes... sizes) {
    const Index want[] = {static_cast<Index>(sizes)...};
    for (std::size_t i = 0; i < sizeof...(sizes); ++i)
        if (static_cast<Index>(a.shape(i)) != want[i])
            throw std::invalid_argument(std::string(what) + " does not fit the other arrays");
}

/// The medium with the arrays it points into, which Python keeps.
struct HeldMedium {
    KirchhoffMedium m{};
    In<float, 1> half2, quarter;
    In<float, 2> slowness2, factor, up, down, bounds;
    std::optional<In<float, 2>> depth, eta;
    std::optional<In<double, 1>> datum;

    HeldMedium(Index nt, In<float, 1> half2_, In<float, 1> quarter_, In<float, 2> slowness2_, In<float, 2> factor_,
               In<float, 2> up_, In<float, 2> down_, In<float, 2> bounds_, std::optional<In<float, 2>> depth_,
               std::optional<In<float, 2>> eta_, std::optional<In<double, 1>> datum_)
        : half2(half2_), quarter(quarter_), slowness2(slowness2_), factor(factor_), up(up_), down(down_),
          bounds(bounds_), depth(depth_), eta(eta_), datum(datum_) {
        const Index nloc = static_cast<Index>(slowness2.shape(0)), row = static_cast<Index>(slowness2.shape(1));
        if (nt < 1 || row < nt || row % kirchhoff_block != 0)
            throw std::invalid_argument("rows of the medium must be whole blocks of 16 samples");
        const Index blocks = row / kirchhoff_block, factors = static_cast<Index>(factor.shape(0));
        shaped(half2, "half2", row);
        shaped(quarter, "quarter", row);
        shaped(factor, "factor", factors == 1 ? 1 : nloc, row);
        shaped(up, "up", nloc, blocks);
        shaped(down, "down", nloc, blocks);
        shaped(bounds, "bounds", nloc, 4);
        if (depth) shaped(*depth, "depth", nloc, row);
        if (eta) shaped(*eta, "eta", nloc, row);
        if (datum) shaped(*datum, "datum", nloc);
        if (datum && !eta) throw std::invalid_argument("below a surface the medium needs eta, of zeros without any");
        m = {nloc,
             nt,
             row,
             blocks,
             half2.data(),
             quarter.data(),
             slowness2.data(),
             factor.data(),
             factors == 1 ? 0 : row,
             depth ? depth->data() : nullptr,
             eta ? eta->data() : nullptr,
             up.data(),
             down.data(),
             bounds.data(),
             datum ? datum->data() : nullptr};
    }
};

/// The traces once integrated: S_i+1 - S_i less what interval i itself adds to the double integral S in one sample.
void slopes_of(const In<double, 2>& integrals, const In<float, 4>& samples, double* slopes) {
    const std::size_t n = samples.shape(0), band = samples.shape(1) * samples.shape(2) * samples.shape(3);
    const std::size_t order = samples.shape(2) - 1, padded = samples.shape(3);
    for (std::size_t trace = 0; trace < n; ++trace) {
        slopes[trace * padded + padded - 1] = 0.0;
        const double* s = integrals.data() + trace * padded;
        const float* c = samples.data() + trace * band;
        for (std::size_t i = 0; i + 1 < padded; ++i) {
            double whole = 0.0;
            for (std::size_t k = 0; k <= order; ++k)
                whole += static_cast<double>(c[k * padded + i]) / static_cast<double>((k + 1) * (k + 2));
            slopes[trace * padded + i] = s[i + 1] - s[i] - whole;
        }
    }
}

void write_slopes(In<double, 2> integrals, In<float, 4> samples, Out<double, 2> slopes) {
    shaped(integrals, "integrals", samples.shape(0), samples.shape(3));
    shaped(slopes, "slopes", samples.shape(0), samples.shape(3));
    nb::gil_scoped_release release;
    slopes_of(integrals, samples, slopes.data());
}

using Pairs = std::array<double, 2>;

KirchhoffRules rules_of(int amplitude, int antialias, const std::array<Pairs, 2>& axes, const Pairs& spacing,
                        std::optional<Pairs> aperture, std::optional<Pairs> dip, std::optional<Pairs> stretch) {
    if (amplitude < 0 || amplitude > 2 || antialias < 0 || antialias > 3)
        throw std::invalid_argument("no such amplitude or antialias");
    KirchhoffRules r{};
    r.amplitude = static_cast<Amplitude>(amplitude);
    r.antialias = static_cast<Antialias>(antialias);
    for (int a = 0; a < 2; ++a) {
        r.spacing[a] = spacing[a];
        for (int b = 0; b < 2; ++b)
            r.axes[a][b] = axes[a][b];
    }
    r.has_aperture = aperture.has_value();
    if (aperture) {
        r.aperture = (*aperture)[0];
        r.aperture_scale = 1.0 / (*aperture)[1];
    }
    r.has_dip = dip.has_value();
    if (dip) {
        r.dip_slope = static_cast<float>((*dip)[0]);
        r.dip_scale = static_cast<float>(1.0 / (*dip)[1]);
        r.dip_full = (*dip)[0] * (1.0 - (*dip)[1]);
    }
    r.has_stretch = stretch.has_value();
    if (stretch) {
        r.stretch_most = static_cast<float>((*stretch)[0]);
        r.stretch_scale = static_cast<float>(1.0 / (*stretch)[1]);
    }
    return r;
}

Index kirchhoff_sum(Out<float, 3> image, Out<int32_t, 2> hits, Out<int32_t, 2> fold, In<double, 2> points,
                    const HeldMedium& medium, In<float, 4> samples, std::optional<In<double, 2>> integrals, Index ns,
                    double first, In<double, 2> src, In<double, 2> rcv, In<float, 1> weight, In<int32_t, 1> slot,
                    In<int32_t, 1> group, std::optional<In<double, 2>> height, std::optional<In<float, 1>> late,
                    const KirchhoffRules& rules, Index tile, int threads, const std::string& isa) {
    const Index nloc = medium.m.nloc, nt = medium.m.nt, n = static_cast<Index>(samples.shape(0));
    const Index nclass = static_cast<Index>(image.shape(1)), ngroup = static_cast<Index>(fold.shape(1));
    const Index padded = static_cast<Index>(samples.shape(3));
    shaped(image, "image", nloc, nclass, nt);
    shaped(hits, "hits", nloc, nt + 1);
    shaped(fold, "fold", nloc, ngroup);
    shaped(points, "points", nloc, 2);
    shaped(src, "src", n, 2);
    shaped(rcv, "rcv", n, 2);
    shaped(weight, "weight", n);
    shaped(slot, "slot", n);
    shaped(group, "group", n);
    if (integrals) shaped(*integrals, "integrals", n, padded);
    if (height) shaped(*height, "height", n, 2);
    if (late) shaped(*late, "late", n);
    if (medium.m.datum != nullptr && !(height && late))
        throw std::invalid_argument("below a surface the traces need height and late");
    if (ns < 1 || padded < ns + kirchhoff_pad || samples.shape(2) < 2 || samples.shape(1) < 1)
        throw std::invalid_argument("the prepared traces have no margin, or no order");
    if (rules.antialias == Antialias::triangle && !integrals)
        throw std::invalid_argument("the triangle filter needs integrals");
    if (rules.has_dip && medium.m.depth == nullptr) throw std::invalid_argument("the dip limit needs depth");
    for (Index i = 0; i < n; ++i)
        if (slot.data()[i] >= nclass || (slot.data()[i] >= 0 && (group.data()[i] < 0 || group.data()[i] >= ngroup)))
            throw std::invalid_argument("slot or group of trace " + std::to_string(i) + " is outside");
    std::vector<double> slopes(integrals ? integrals->size() : 0);
    if (integrals) slopes_of(*integrals, samples, slopes.data());
    const KirchhoffTraces traces{n,
                                 static_cast<Index>(samples.shape(1)),
                                 static_cast<Index>(samples.shape(2)) - 1,
                                 ns,
                                 padded,
                                 samples.data(),
                                 integrals ? integrals->data() : nullptr,
                                 integrals ? slopes.data() : nullptr,
                                 static_cast<float>(first),
                                 src.data(),
                                 rcv.data(),
                                 weight.data(),
                                 slot.data(),
                                 group.data(),
                                 height ? height->data() : nullptr,
                                 late ? late->data() : nullptr};
    const KirchhoffImage out{points.data(), image.data(), hits.data(), fold.data(), nclass, ngroup};
    const Table& table = table_of(isa, threads);
    nb::gil_scoped_release release;
    return table.kirchhoff_sum(medium.m, traces, rules, out, tile, threads);
}

} // namespace

void bind_kirchhoff(nb::module_& parent) {
    nb::module_ m = parent.def_submodule("kirchhoff", "The sum of Kirchhoff time migration.");
    using Row = In<float, 1>;
    using Rows = In<float, 2>;
    nb::class_<HeldMedium>(m, "Medium")
        .def(nb::init<Index, Row, Row, Rows, Rows, Rows, Rows, Rows, std::optional<Rows>, std::optional<Rows>,
                      std::optional<In<double, 1>>>(),
             "nt"_a, "half2"_a.noconvert(), "quarter"_a.noconvert(), "slowness2"_a.noconvert(), "factor"_a.noconvert(),
             "up"_a.noconvert(), "down"_a.noconvert(), "bounds"_a.noconvert(), "depth"_a.none(), "eta"_a.none(),
             "datum"_a.none())
        .def_prop_ro(
            "address", [](const HeldMedium& held) { return reinterpret_cast<std::uintptr_t>(&held.m); },
            "Of the struct, whose arrays are on the host.");
    nb::class_<KirchhoffRules>(m, "Rules").def_prop_ro("address", [](const KirchhoffRules& r) {
        return reinterpret_cast<std::uintptr_t>(&r);
    });
    m.attr("MEDIUM_SIZE") = sizeof(KirchhoffMedium);
    m.attr("RULES_SIZE") = sizeof(KirchhoffRules);
    m.def("rules", &rules_of, "amplitude"_a, "antialias"_a, "axes"_a, "spacing"_a, "aperture"_a.none(), "dip"_a.none(),
          "stretch"_a.none(), "Each limit as its value and the length of its taper.");
    m.def("slopes", &write_slopes, "integrals"_a.noconvert(), "samples"_a.noconvert(), "slopes"_a.noconvert(),
          "Write what the triangle needs beside the twice integrated traces: the traces once integrated.");
    m.def("sum", &kirchhoff_sum, "image"_a.noconvert(), "hits"_a.noconvert(), "fold"_a.noconvert(),
          "points"_a.noconvert(), "medium"_a, "samples"_a.noconvert(), "integrals"_a.none(), "ns"_a, "first"_a,
          "src"_a.noconvert(), "rcv"_a.noconvert(), "weight"_a.noconvert(), "slot"_a.noconvert(), "group"_a.noconvert(),
          "height"_a.none(), "late"_a.none(), "rules"_a, "tile"_a, "threads"_a, "isa"_a,
          "Add traces to image traces; returns the contributions.");
}
