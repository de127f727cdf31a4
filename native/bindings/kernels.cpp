// Bindings of the kernels: the time step, injection, recording, imaging. All of them release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "isa/dispatch.hpp"
#include "memory.hpp"
#include "plan.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

using PlainArray = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using ConstArray = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Corner = std::array<Index, 3>;

Box box_of(const Plan& plan, const Corner& lo, const Corner& hi) {
    Box b{};
    for (int a = 0; a < 3; ++a) {
        b.lo[a] = lo[a];
        b.hi[a] = hi[a];
        if (lo[a] < hi[a] && (lo[a] < 0 || hi[a] > plan.pb.n[a]))
            throw std::invalid_argument("the box leaves the grid");
    }
    return b;
}

template <class Array>
auto boxed(const Array& a, const Box& b, const char* what) {
    for (int i = 0; i < 3; ++i)
        if (static_cast<Index>(a.shape(i)) != std::max<Index>(0, b.hi[i] - b.lo[i]))
            throw std::invalid_argument(std::string(what) + " does not have the shape of the box");
    return a.data();
}

/// Pointers to one level: p, or p and q.
std::array<float*, 2> level(const Plan& plan, const std::vector<Padded>& arrays, const char* what) {
    if (static_cast<int>(arrays.size()) != plan.pb.fields)
        throw std::invalid_argument(std::string(what) + ": wrong number of fields");
    std::array<float*, 2> out{nullptr, nullptr};
    for (std::size_t i = 0; i < arrays.size(); ++i)
        out[i] = plan.padded(arrays[i], what);
    return out;
}

Levels levels_of(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
                 const std::vector<PlainArray>& memory) {
    Levels lv{};
    const auto p = level(plan, prev, "prev"), c = level(plan, curr, "curr");
    for (int i = 0; i < 2; ++i) {
        if (p[i] != nullptr && p[i] == c[i]) throw std::invalid_argument("prev and curr are one array");
        lv.prev[i] = p[i];
        lv.curr[i] = c[i];
    }
    if (plan.pb.boundary != Boundary::pml) return lv;
    // psi of x, (y,) z, then zeta, then zeta2
    const std::vector<int> axes = plan.pb.dim == 3 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 2};
    const std::size_t kinds = plan.pb.medium == Medium::tti ? 3 : 2;
    if (memory.size() != kinds * axes.size()) throw std::invalid_argument("wrong number of memory fields");
    for (std::size_t k = 0; k < memory.size(); ++k) {
        const int axis = axes[k % axes.size()];
        const auto want = plan.memory_shape(axis);
        for (int i = 0; i < 3; ++i)
            if (static_cast<Index>(memory[k].shape(i)) != want[i])
                throw std::invalid_argument("a memory field has the wrong shape");
        float** const kind[3] = {lv.psi, lv.zeta, lv.zeta2};
        kind[k / axes.size()][axis] = memory[k].data();
    }
    return lv;
}

/// Points with the list of points per x plane.
class PointSet {
public:
    Points pts{};

    PointSet(nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> base,
             nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> weights, const Corner& shape) {
        const Index n = static_cast<Index>(base.shape(0));
        if (base.shape(1) != 3 || weights.shape(0) != base.shape(0) || weights.shape(1) != 3 || weights.shape(2) < 1)
            throw std::invalid_argument("points need base (n, 3) and weights (n, 3, width)");
        shape_ = shape;
        base_.assign(base.data(), base.data() + 3 * n);
        weights_.assign(weights.data(), weights.data() + weights.size());
        const Index width = static_cast<Index>(weights.shape(2));
        std::vector<std::vector<int32_t>> by_plane(shape[0]);
        for (Index i = 0; i < n; ++i) {
            for (int a = 0; a < 3; ++a)
                if (base_[3 * i + a] < 0 || base_[3 * i + a] >= shape[a])
                    throw std::invalid_argument("point " + std::to_string(i) + " starts outside the grid");
            for (Index k = 0; k < width && base_[3 * i] + k < shape[0]; ++k)
                by_plane[base_[3 * i] + k].push_back(static_cast<int32_t>(i));
        }
        start_.push_back(0);
        for (Index x = 0; x < shape[0]; ++x) {
            if (by_plane[x].empty()) continue;
            plane_.push_back(static_cast<int32_t>(x));
            item_.insert(item_.end(), by_plane[x].begin(), by_plane[x].end());
            start_.push_back(static_cast<int32_t>(item_.size()));
        }
        pts = {n,
               static_cast<int>(width),
               base_.data(),
               weights_.data(),
               static_cast<Index>(plane_.size()),
               plane_.data(),
               start_.data(),
               item_.data()};
    }
    PointSet(const PointSet&) = delete;

    /// Refuse a grid other than the one the points were checked against.
    void check(const Plan& plan) const {
        for (int a = 0; a < 3; ++a)
            if (shape_[a] != plan.pb.n[a]) throw std::invalid_argument("the points belong to another grid");
    }

private:
    Corner shape_{};
    std::vector<int32_t> base_, plane_, start_, item_;
    std::vector<float> weights_;
};

/// The TTI step is not compiled yet.
void not_yet(const Plan& plan) {
    if (plan.pb.medium == Medium::tti)
        throw std::runtime_error("the cpu device cannot step TTI yet; use the reference");
}

/// The kernels of an instruction set; here, because every function asks for them, also the check of `threads`.
const Table& table_of(const std::string& isa, int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    return isa.empty() ? kernels() : kernels_named(isa);
}

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
    not_yet(plan);
    nb::gil_scoped_release release;
    k.field_step(plan.pb, lv, box, threads, generic_radius);
}

void time_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
               const std::vector<PlainArray>& memory, int threads, const std::string& isa) {
    const Levels lv = levels_of(plan, prev, curr, memory);
    const Table& k = table_of(isa, threads);
    not_yet(plan);
    nb::gil_scoped_release release;
    k.time_step(plan.pb, lv, threads);
}

void pair_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr,
               const std::vector<PlainArray>& memory, int threads, const std::string& isa, int rows) {
    const Levels one = levels_of(plan, prev, curr, memory), two = levels_of(plan, curr, prev, memory);
    if (plan.pb.medium == Medium::tti)
        throw std::invalid_argument("no pair of steps for TTI: it is bound by arithmetic");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.pair_step(plan.pb, one, two, threads, rows);
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
    not_yet(plan);
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

void snapshot(const Plan& plan, const std::vector<Padded>& fields, const PlainArray& out, const Corner& lo,
              const Corner& hi, int threads, const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Box box = box_of(plan, lo, hi);
    float* o = boxed(out, box, "out");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.snapshot(plan.pb, f.data(), box, o, threads);
}

void correlate(const Plan& plan, const PlainArray& image, const ConstArray& u, const std::vector<Padded>& fields,
               const Corner& lo, const Corner& hi, float scale, int threads, const std::string& isa) {
    const auto f = level(plan, fields, "fields");
    const Box box = box_of(plan, lo, hi);
    float* i = boxed(image, box, "image");
    const float* v = boxed(u, box, "u");
    const Table& k = table_of(isa, threads);
    nb::gil_scoped_release release;
    k.correlate(plan.pb, i, v, f.data(), box, scale, threads);
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

void plain_step(const Plan& plan, const std::vector<Padded>& prev, const std::vector<Padded>& curr, int threads,
                const std::string& isa) {
    if (plan.pb.medium == Medium::tti || plan.pb.radius != 4 || plan.pb.dim != 3 ||
        plan.pb.boundary != Boundary::none || plan.pb.free_surface)
        throw std::invalid_argument("the plain loop is for isotropic and VTI media, order 8, 3-D, no layer");
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
    m.def("allocate", &allocate, "shape"_a, "threads"_a,
          "Return a zeroed float32 array, aligned, on huge pages when large, first touched by the threads.");

    nb::class_<Plan>(m, "Plan")
        .def(nb::init<std::array<Index, 3>, int, int, Index, std::array<Index, 6>, const std::string&, bool, Table2,
                      Table2, std::vector<Row1>, Padded, std::optional<Padded>, std::optional<Padded>>(),
             "shape"_a, "dim"_a, "radius"_a, "row"_a, "width"_a, "boundary"_a, "free_surface"_a, "second"_a.noconvert(),
             "first"_a.noconvert(), "profiles"_a.noconvert(), "m"_a.noconvert(), "e"_a.noconvert().none(),
             "s"_a.noconvert().none())
        .def("set_tilt", &Plan::set_tilt, "axis"_a.noconvert(), "spacing"_a, "second"_a, "first"_a, "share"_a)
        .def("memory_shape", &Plan::memory_shape, "axis"_a);
    nb::class_<PointSet>(m, "PointSet")
        .def(nb::init<nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>,
                      nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>, const Corner&>(),
             "base"_a.noconvert(), "weights"_a.noconvert(), "shape"_a);

    // noconvert: an array of another type or order would be converted to a copy, and what is written to it lost
    m.def("memory_step", &memory_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "lo"_a, "hi"_a, "threads"_a, "isa"_a);
    m.def("field_step", &field_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "lo"_a, "hi"_a, "threads"_a, "isa"_a, "generic_radius"_a);
    m.def("time_step", &time_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "threads"_a, "isa"_a);
    m.def("pair_step", &pair_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(),
          "threads"_a, "isa"_a, "rows"_a);
    m.def("apply_l", &apply_l, "plan"_a, "fields"_a.noconvert(), "out"_a.noconvert(), "lo"_a, "hi"_a, "threads"_a,
          "isa"_a);
    m.def("inject", &inject, "plan"_a, "fields"_a.noconvert(), "points"_a, "values"_a.noconvert(), "threads"_a,
          "isa"_a);
    m.def("record", &record, "plan"_a, "fields"_a.noconvert(), "points"_a, "out"_a.noconvert(), "threads"_a, "isa"_a);
    m.def("snapshot", &snapshot, "plan"_a, "fields"_a.noconvert(), "out"_a.noconvert(), "lo"_a, "hi"_a, "threads"_a,
          "isa"_a);
    m.def("correlate", &correlate, "plan"_a, "image"_a.noconvert(), "u"_a.noconvert(), "fields"_a.noconvert(), "lo"_a,
          "hi"_a, "scale"_a, "threads"_a, "isa"_a);
    m.def("square", &square, "image"_a.noconvert(), "u"_a.noconvert(), "scale"_a, "threads"_a, "isa"_a);
    m.def("plain_step", &plain_step, "plan"_a, "prev"_a.noconvert(), "curr"_a.noconvert(), "threads"_a, "isa"_a);
    m.def("is_finite", &is_finite, "plan"_a, "fields"_a.noconvert(), "threads"_a, "isa"_a);
}
