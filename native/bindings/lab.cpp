// Bindings of the lab: sweeps through memory, multiply-adds in registers, and the time step without its stencil. All
// of them release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "isa/dispatch.hpp"
#include "plan.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

using Flat = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using ConstFlat = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

/// The number of floats of arrays of one size, whole vectors of every instruction set.
Index common_size(const Flat& out, std::initializer_list<const ConstFlat*> in, int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    if (out.size() % 16 != 0) throw std::invalid_argument("the arrays must hold a multiple of 16 floats");
    for (const ConstFlat* a : in)
        if (a->size() != out.size()) throw std::invalid_argument("the arrays differ in size");
    return static_cast<Index>(out.size());
}

void update(const Flat& o, const ConstFlat& a, const ConstFlat& p, int threads, const std::string& isa) {
    const Index n = common_size(o, {&a, &p}, threads);
    const LabTable& lab = lab_named(isa);
    nb::gil_scoped_release release;
    lab.update(o.data(), a.data(), p.data(), n, threads);
}

void triad(const Flat& o, const ConstFlat& a, const ConstFlat& p, float scale, int threads, const std::string& isa) {
    const Index n = common_size(o, {&a, &p}, threads);
    const LabTable& lab = lab_named(isa);
    nb::gil_scoped_release release;
    lab.triad(o.data(), a.data(), p.data(), scale, n, threads);
}

void copy(const Flat& o, const ConstFlat& a, int threads, const std::string& isa) {
    const Index n = common_size(o, {&a}, threads);
    const LabTable& lab = lab_named(isa);
    nb::gil_scoped_release release;
    lab.copy(o.data(), a.data(), n, threads);
}

void multiply_add(const Flat& out, float factor, float term, Index rounds, int threads, const std::string& isa) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    const LabTable& lab = lab_named(isa);
    if (out.size() != static_cast<std::size_t>(threads) * lab.chains * lab.lanes)
        throw std::invalid_argument("out must hold threads x chains x lanes floats");
    nb::gil_scoped_release release;
    lab.multiply_add(out.data(), factor, term, rounds, threads);
}

void roof_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr, int threads,
               const std::string& isa) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    if (plan.pb.dim != 3) throw std::invalid_argument("the step without its stencil is for 3-D");
    if (plan.pb.stretch.square != nullptr)
        throw std::invalid_argument("the step without its stencil has no stretched axis");
    const auto fields = static_cast<std::size_t>(plan.pb.fields);
    if (prev.size() != fields || curr.size() != fields) throw std::invalid_argument("wrong number of fields");
    Levels lv{};
    for (std::size_t i = 0; i < fields; ++i) {
        lv.prev[i] = plan.padded(prev[i], "prev");
        lv.curr[i] = plan.padded(curr[i], "curr");
        if (lv.prev[i] == lv.curr[i]) throw std::invalid_argument("prev and curr are one array");
    }
    const LabTable& lab = lab_named(isa);
    nb::gil_scoped_release release;
    lab.roof_step(plan.pb, lv, threads);
}

} // namespace

void bind_lab(nb::module_& parent) {
    nb::module_ m = parent.def_submodule("lab", "Measurements of the machine.");
    m.def(
        "chains_and_lanes",
        [](const std::string& isa) {
            const LabTable& lab = lab_named(isa);
            return std::make_pair(lab.chains, lab.lanes);
        },
        "isa"_a, "Chains and floats per vector of multiply_add.");
    m.def("update", &update, "o"_a.noconvert(), "a"_a.noconvert(), "p"_a.noconvert(), "threads"_a, "isa"_a,
          "o = a p + (p - o)");
    m.def("triad", &triad, "o"_a.noconvert(), "a"_a.noconvert(), "p"_a.noconvert(), "scale"_a, "threads"_a, "isa"_a,
          "o = a + scale p");
    m.def("copy", &copy, "o"_a.noconvert(), "a"_a.noconvert(), "threads"_a, "isa"_a, "o = a");
    m.def("multiply_add", &multiply_add, "out"_a.noconvert(), "factor"_a, "term"_a, "rounds"_a, "threads"_a, "isa"_a,
          "x = factor x + term, `rounds` times; chain k starts at k");
    m.def("roof_step", &roof_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "threads"_a, "isa"_a,
          "The step of the core without its derivatives: prev = m (curr in their place) + (2 curr - prev).");
}
