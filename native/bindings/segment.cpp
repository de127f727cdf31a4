// Binding of the segment: time steps in batches, the GIL released in each. Between two batches signals are looked at,
// progress is told, and the wavefield is checked.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "arguments.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

using Series = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstSeries = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FeedArgument = std::tuple<nb::object, ConstSeries>;
// what is written comes as an object: a tuple of arrays would let nanobind convert them, and the copy be written
using TapArgument = std::tuple<nb::object, nb::object>;
using SampleArgument = std::tuple<Index, Corner, Corner, nb::object, nb::object, nb::object, nb::object, float>;

/// A batch takes about so long: Ctrl-C is noticed within a second, and the pause between two batches costs nothing.
constexpr double batch_seconds = 0.15;

/// The compiled points, and the length of their series, of a source or recorder.
template <class Array>
std::pair<const Points*, Index> series_of(const Plan& plan, const nb::object& points, const Array& series) {
    const auto& set = nb::cast<const PointSet&>(points);
    set.check(plan);
    if (static_cast<Index>(series.shape(1)) != set.pts.n)
        throw std::invalid_argument("samples need one column per point");
    return {&set.pts, static_cast<Index>(series.shape(0))};
}

/// The array itself, never a copy of it.
template <class Array>
Array as_it_is(const nb::object& a, const char* what) {
    Array out;
    if (!nb::try_cast<Array>(a, out, false))
        throw std::invalid_argument(std::string(what) +
                                    " must be float32, contiguous, and writeable where it is written");
    return out;
}

/// Data of an array that may be None.
template <class Array>
auto given(const nb::object& a, const Box& box, const char* what) {
    return a.is_none() ? nullptr : boxed(as_it_is<Array>(a, what), box, what);
}

/// A state whose levels are put back in order whenever control returns to Python, also by an exception.
class Held {
public:
    explicit Held(nb::object state)
        : state_(std::move(state)), prev(state_.attr("prev")), curr(state_.attr("curr")),
          it(nb::cast<Index>(state_.attr("it"))) {}

    /// Note that `steps` more have been done.
    void moved(Index steps) {
        it += steps;
        if (steps % 2 != 0) std::swap(prev, curr);
        state_.attr("prev") = prev;
        state_.attr("curr") = curr;
        state_.attr("it") = it;
    }

private:
    nb::object state_;

public:
    nb::object prev, curr;
    Index it;
};

/// How many steps the next batch has: as many whole passes as fit in its time, or one where that takes not much longer,
/// not beyond the next check.
Index batch(Index left, Index to_check, double rate, Index depth) {
    const double fit = std::min(rate * batch_seconds, static_cast<double>(left));
    const Index n = static_cast<Index>(fit), pass = std::min(depth, std::max(Index{1}, static_cast<Index>(4.0 * fit)));
    return std::min({n < depth ? pass : n - n % depth, left, to_check});
}

bool advance(const Plan& plan, nb::object state_object, Index steps, const std::vector<FeedArgument>& sources,
             const std::vector<TapArgument>& recorders, const std::vector<SampleArgument>& samples, Index finite_every,
             bool check_last, nb::object progress, int threads, const std::string& isa, std::array<Index, 2> cut) {
    const Table& k = table_of(isa, threads);
    if (cut[0] < 0 || cut[1] < 1 || cut[1] > max_depth) throw std::invalid_argument("the cut is not possible");
    if (finite_every < 1) throw std::invalid_argument("finite_every must be 1 or more");
    std::vector<Feed> feeds;
    for (const auto& [points, samples] : sources) {
        const auto [pts, nt] = series_of(plan, points, samples);
        feeds.push_back({pts, samples.data(), nt});
    }
    std::vector<Tap> taps;
    for (const auto& [points, array] : recorders) {
        const Series data = as_it_is<Series>(array, "recorded data");
        const auto [pts, nt] = series_of(plan, points, data);
        taps.push_back({pts, data.data(), nt});
    }
    std::vector<Sample> visits;
    for (const auto& [it, lo, hi, copy, energy, partner, image, scale] : samples) {
        if (!visits.empty() && visits.back().it > it) throw std::invalid_argument("the samples are not in order");
        if (partner.is_none() != image.is_none()) throw std::invalid_argument("an image needs a partner");
        const Box box = box_of(plan, lo, hi);
        visits.push_back({it, box, given<PlainArray>(copy, box, "the snapshot"),
                          given<PlainArray>(energy, box, "the energy"), given<ConstArray>(partner, box, "the partner"),
                          given<PlainArray>(image, box, "the image"), scale});
    }
    std::vector<PlainArray> memory;
    for (nb::handle field : state_object.attr("memory").attr("values")())
        memory.push_back(nb::cast<PlainArray>(field, false));
    Held state(std::move(state_object));
    if (state.it < 0) throw std::invalid_argument("the time index is negative");
    const double points = static_cast<double>(plan.pb.n[0] * plan.pb.n[1] * plan.pb.n[2]);
    double rate = 5e7 * threads / points / batch_seconds; // steps per second, low until one batch has been timed
    while (steps > 0) {
        // held by name: another thread of Python may put other arrays into the lists meanwhile
        const auto prev = nb::cast<std::vector<Padded>>(state.prev, false);
        const auto curr = nb::cast<std::vector<Padded>>(state.curr, false);
        const Levels lv = levels_of(plan, prev, curr, memory);
        const Index n = batch(steps, finite_every - state.it % finite_every, rate, cut[1]);
        const Segment seg{lv,
                          state.it,
                          n,
                          feeds.data(),
                          static_cast<Index>(feeds.size()),
                          taps.data(),
                          static_cast<Index>(taps.size()),
                          visits.data(),
                          static_cast<Index>(visits.size()),
                          {cut[0], cut[1]},
                          threads};
        const auto start = std::chrono::steady_clock::now();
        {
            nb::gil_scoped_release release;
            k.segment(plan.pb, seg);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        rate = static_cast<double>(n) / std::max(took.count(), 1e-6);
        steps -= n;
        state.moved(n);
        if (state.it % finite_every == 0 || (steps == 0 && check_last)) {
            const auto newest = nb::cast<std::vector<Padded>>(state.curr, false);
            const auto fields = level(plan, newest, "curr");
            nb::gil_scoped_release release;
            if (!k.is_finite(plan.pb, fields.data(), threads)) return false;
        }
        if (!progress.is_none()) progress(state.it);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return true;
}

} // namespace

void bind_segment(nb::module_& m) {
    m.def(
        "advance", &advance, "plan"_a, "state"_a, "steps"_a, "sources"_a, "recorders"_a, "samples"_a, "finite_every"_a,
        "check_last"_a, "progress"_a.none(), "threads"_a, "isa"_a, "cut"_a,
        "Advance a state by some steps; false when it is no longer finite. The state stands between two steps whenever "
        "this returns or throws.");
}
