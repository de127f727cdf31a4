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

#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

/// A batch takes about so long: Ctrl-C is noticed within a second, and the pause between two batches costs nothing.
constexpr double batch_seconds = 0.15;

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

/// How far the wavefield has come, over the batches of a call: nobody else changes the state meanwhile.
struct Reached {
    Front front{};

    Reached(const Plan& plan, bool wanted) {
        if (!wanted) return;
        const auto rows = static_cast<std::size_t>(plan.pb.n[0] * plan.pb.n[1]);
        memory_.resize(4 * rows);
        front.level[0] = memory_.data();
        front.level[1] = memory_.data() + rows;
        if (plan.pb.boundary == Boundary::pml)
            for (int axis = 0; axis < 2; ++axis)
                front.psi[axis] = memory_.data() + (2 + axis) * rows;
    }
    Reached(const Reached&) = delete;

private:
    std::vector<std::int32_t> memory_;
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
             bool check_last, nb::object progress, int threads, const std::string& isa, std::array<Index, 2> cut,
             const std::optional<ShellsArgument>& shells, const std::optional<BoxArgument>& inner, bool front) {
    const Table& k = table_of(isa, threads);
    if (cut[0] < 0 || cut[1] < 1 || cut[1] > max_depth) throw std::invalid_argument("the cut is not possible");
    if (finite_every < 1) throw std::invalid_argument("finite_every must be 1 or more");
    const Work work(plan, sources, recorders, samples);
    const Partly partly(plan, shells, inner);
    std::vector<PlainArray> memory;
    for (nb::handle field : state_object.attr("memory").attr("values")())
        memory.push_back(nb::cast<PlainArray>(field, false));
    Held state(std::move(state_object));
    Reached reached(plan, front);
    if (state.it < 0) throw std::invalid_argument("the time index is negative");
    const double points = static_cast<double>(plan.pb.n[0] * plan.pb.n[1] * plan.pb.n[2]);
    double rate = 5e7 * threads / points / batch_seconds; // steps per second, low until one batch has been timed
    while (steps > 0) {
        // held by name: another thread of Python may put other arrays into the lists meanwhile
        const auto prev = nb::cast<std::vector<Padded>>(state.prev, false);
        const auto curr = nb::cast<std::vector<Padded>>(state.curr, false);
        const Levels lv = levels_of(plan, prev, curr, memory);
        const Index n = batch(steps, finite_every - state.it % finite_every, rate, cut[1]);
        Segment seg{lv,
                    state.it,
                    n,
                    work.feeds.data(),
                    static_cast<Index>(work.feeds.size()),
                    work.taps.data(),
                    static_cast<Index>(work.taps.size()),
                    work.samples.data(),
                    static_cast<Index>(work.samples.size()),
                    {cut[0], cut[1]},
                    threads};
        partly.enter(seg);
        seg.front = front ? &reached.front : nullptr;
        const auto start = std::chrono::steady_clock::now();
        {
            nb::gil_scoped_release release;
            k.segment(plan.pb, seg);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        rate = static_cast<double>(n) / std::max(took.count(), 1e-6);
        steps -= n;
        state.moved(n);
        if (n % 2 != 0) std::swap(reached.front.level[0], reached.front.level[1]);
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
        "check_last"_a, "progress"_a.none(), "threads"_a, "isa"_a, "cut"_a, "shells"_a.none(), "inner"_a.none(),
        "front"_a,
        "Advance a state by some steps; false when it is no longer finite. The state stands between two steps whenever "
        "this returns or throws.");
}
