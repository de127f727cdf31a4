// Bindings of the kernels: the time step, injection, recording, imaging. All of them release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "memory.hpp"
#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

void memory_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
                 const std::vector<PlainArray>& memory, const Corner& lo, const Corner& hi, int threads,
                 const std::string& isa) {
    const Levels lv = levels_of(plan, prev, curr, memory);
    const Box box = box_of(plan, lo, hi);
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.memory_step(plan.pb, lv, box, threads);
}

void field_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
                const std::vector<PlainArray>& memory, const Corner& lo, const Corner& hi, int threads,
                const std::string& isa, bool generic_radius) {
    const Levels lv = levels_of(plan, prev, curr, memory);
    const Box box = box_of(plan, lo, hi);
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.field_step(plan.pb, lv, box, threads, generic_radius);
}

void time_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
               const std::vector<PlainArray>& memory, int threads, const std::string& isa) {
    const Levels lv = levels_of(plan, prev, curr, memory);
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.time_step(plan.pb, lv, threads);
}

void apply_l(const Plan& plan, const std::vector<Padded>& fields, const std::vector<PlainArray>& out, const Corner& lo,
             const Corner& hi, int threads, const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Box box = box_of(plan, lo, hi);
    if (out.size() != fields.size()) throw std::invalid_argument("one output per field");
    std::array<float*, 2> o{nullptr, nullptr};
    for (std::size_t i = 0; i < out.size(); ++i)
        o[i] = boxed(out[i], box, "out");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.apply_l(plan.pb, f.data(), box, o.data(), threads);
}

void inject(const Plan& plan, const std::vector<Padded>& fields, const PointSet& points,
            nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> values, int threads,
            const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    points.check(plan);
    if (static_cast<Index>(values.shape(0)) != points.pts.n) throw std::invalid_argument("one value per point");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.inject(plan.pb, f.data(), points.pts, values.data(), threads);
}

void record(const Plan& plan, const std::vector<Padded>& fields, const PointSet& points,
            nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> out, int threads, const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    points.check(plan);
    if (static_cast<Index>(out.shape(0)) != points.pts.n) throw std::invalid_argument("one value per point");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.record(plan.pb, f.data(), points.pts, out.data(), threads);
}

void sample(const Plan& plan, const std::vector<Padded>& fields, const SampleArgument& asked, int threads,
            const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Sample one = sample_of(plan, asked);
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.sample(plan.pb, one, f.data(), threads);
}

void square(const nb::ndarray<float, nb::c_contig, nb::device::cpu>& image,
            const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& u, float scale, int threads,
            const std::string& isa) {
    if (image.size() != u.size()) throw std::invalid_argument("illumination and u differ in size");
    const Table& k = table_of(isa, threads);
    const Index n = static_cast<Index>(image.size());
    nb::gil_scoped_release release;
    k.square(image.data(), u.data(), n, scale, threads);
}

void product(const nb::ndarray<float, nb::c_contig, nb::device::cpu>& image,
             const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& u,
             const nb::ndarray<const float, nb::c_contig, nb::device::cpu>& w, float scale, int threads,
             const std::string& isa) {
    if (image.size() != u.size() || image.size() != w.size())
        throw std::invalid_argument("image, u and w differ in size");
    const Table& k = table_of(isa, threads);
    const Index n = static_cast<Index>(image.size());
    nb::gil_scoped_release release;
    k.product(image.data(), u.data(), w.data(), n, scale, threads);
}

void shell(const Plan& plan, const std::vector<Padded>& fields, const Corner& lo, const Corner& hi,
           const std::array<Index, 6>& widths,
           const nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>& record, bool put_back, int threads,
           const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Shell part = shell_of(plan, lo, hi, widths);
    if (static_cast<int>(record.shape(0)) != plan.pb.fields || static_cast<Index>(record.shape(1)) != part.cells)
        throw std::invalid_argument("the record of a shell has the shape (fields, cells)");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.shell(plan.pb, f.data(), part, record.data(), put_back, threads);
}

void plain_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr, int threads,
                const std::string& isa) {
    const bool known_radius = plan.pb.radius == 2 || plan.pb.radius == 4;
    if (plan.pb.medium == Medium::tti || !known_radius || plan.pb.dim != 3 || plan.pb.boundary != Boundary::none ||
        plan.pb.free_surface || plan.pb.storage != ModelStorage::f32 || plan.pb.stretch.square != nullptr)
        throw std::invalid_argument("the plain loop is for isotropic and VTI media, orders 4 and 8, 3-D, no layer, "
                                    "float32 models, a uniform depth axis");
    const Levels lv = levels_of(plan, prev, curr, {});
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.plain_step(plan.pb, lv, threads);
}

bool is_finite(const Plan& plan, const std::vector<Padded>& fields, int threads, const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    return k.is_finite(plan.pb, f.data(), threads);
}

} // namespace

void bind_kernels(nb::module_& m) {
    m.def("isa", [] { return std::string(kernels().name); }, "Name of the instruction set in use.");
    m.def("numerics", [] { return std::string(kernels().numerics); }, "Numerics class of the instruction set in use.");
    m.def("available_isas", &available, "Names of the instruction sets that are built and supported here.");
    m.def("left_out_isas", &left_out, "Names of the better ones that this processor has and this build leaves out.");
    m.def("copy", &copy, "target"_a.noconvert(), "source"_a.noconvert(), "threads"_a);
    m.def("allocate", &allocate, "shape"_a, "threads"_a, "zeroed"_a = true,
          "Return a float32 array, aligned, on huge pages when large, first touched by the threads.");

    nb::class_<Plan>(m, "Plan")
        .def(nb::init<std::array<Index, 3>, int, int, Index, std::array<Index, 6>, const std::string&, bool, Table2,
                      Table2, std::vector<Row1>, ModelArray, std::optional<ModelArray>, std::optional<ModelArray>,
                      const std::vector<std::array<float, 2>>&>(),
             "shape"_a, "dim"_a, "radius"_a, "row"_a, "width"_a, "boundary"_a, "free_surface"_a, "second"_a.noconvert(),
             "first"_a.noconvert(), "profiles"_a.noconvert(), "m"_a.noconvert(), "e"_a.noconvert().none(),
             "s"_a.noconvert().none(), "scales"_a)
        .def("set_tilt", &Plan::set_tilt, "axis"_a.noconvert(), "spacing"_a, "second"_a, "first"_a, "share"_a)
        .def("set_stretch", &Plan::set_stretch, "square"_a.noconvert(), "centre"_a.noconvert(), "root"_a.noconvert(),
             "power"_a.noconvert())
        .def("memory_shape", &Plan::memory_shape, "axis"_a)
        // for plug-ins that bring it to their device
        .def_prop_ro("address", [](const Plan& plan) { return reinterpret_cast<std::uintptr_t>(&plan.pb); })
        .def_prop_ro_static("size", [](nb::handle) { return sizeof(Problem); });
    nb::class_<PointSet>(m, "PointSet")
        .def(nb::init<nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>,
                      nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>, const Corner&>(),
             "base"_a.noconvert(), "weights"_a.noconvert(), "shape"_a)
        .def_prop_ro("address", [](const PointSet& set) { return reinterpret_cast<std::uintptr_t>(&set.pts); })
        .def_prop_ro_static("size", [](nb::handle) { return sizeof(Points); });

    // noconvert: an array of another type or order would be converted to a copy, and what is written to it lost
    m.def("memory_step", &memory_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "lo"_a, "hi"_a, "threads"_a, "isa"_a);
    m.def("field_step", &field_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "lo"_a, "hi"_a, "threads"_a, "isa"_a, "generic_radius"_a);
    m.def("time_step", &time_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "threads"_a, "isa"_a);
    m.def("apply_l", &apply_l, "plan"_a, "fields"_a.noconvert(), "out"_a.noconvert(), "lo"_a, "hi"_a, "threads"_a,
          "isa"_a);
    m.def("inject", &inject, "plan"_a, "fields"_a.noconvert(), "points"_a, "values"_a.noconvert(), "threads"_a,
          "isa"_a);
    m.def("record", &record, "plan"_a, "fields"_a.noconvert(), "points"_a, "out"_a.noconvert(), "threads"_a, "isa"_a);
    m.def("sample", &sample, "plan"_a, "fields"_a.noconvert(), "sample"_a, "threads"_a, "isa"_a,
          "Do with the imaged field what a sample of `advance` says: copy it, add its energy, correlate it.");
    m.def("square", &square, "image"_a.noconvert(), "u"_a.noconvert(), "scale"_a, "threads"_a, "isa"_a);
    m.def("product", &product, "image"_a.noconvert(), "u"_a.noconvert(), "w"_a.noconvert(), "scale"_a, "threads"_a,
          "isa"_a);
    m.def("shell", &shell, "plan"_a, "fields"_a.noconvert(), "lo"_a, "hi"_a, "widths"_a, "record"_a.noconvert(),
          "put_back"_a, "threads"_a, "isa"_a);
    m.def("plain_step", &plain_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "threads"_a, "isa"_a);
    m.def("is_finite", &is_finite, "plan"_a, "fields"_a.noconvert(), "threads"_a, "isa"_a);
}
