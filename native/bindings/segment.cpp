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

#include "mirror_set.hpp"
#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

/// A batch takes about so long: Ctrl-C is noticed within a second, and the pause between two batches costs nothing.
constexpr double batch_seconds = 0.15;

/// Steps of a batch whose length is drawn, at most: odd and even ones, and more than a pass has.
constexpr Index longest_drawn = 9;

/// A state for the batches of a call, during which nobody else changes it: its levels, and how far they have come. Both
/// lie by whether a time index is even, so that no step moves them and none of the two can be moved without the other.
/// The state is in order whenever control returns to Python, also by an exception.
class Held {
public:
    Held(nb::object state, const Plan& plan, bool with_front)
        : state_(std::move(state)), it_(nb::cast<Index>(state_.attr("it"))) {
        if (it_ < 0) throw std::invalid_argument("the time index is negative");
        level_[it_ % 2] = state_.attr("curr");
        level_[(it_ + 1) % 2] = state_.attr("prev");
        if (!with_front) return;
        const auto rows = static_cast<std::size_t>(plan.pb.n[0] * plan.pb.n[1]);
        reaches_.resize(4 * rows);
        const bool whole = nb::cast<bool>(state_.attr("whole"));
        front_ = Front{{reaches_.data(), reaches_.data() + rows}, {nullptr, nullptr}, -1, whole, 0, 0};
        if (plan.pb.boundary == Boundary::pml)
            for (int axis = 0; axis < 2; ++axis)
                front_->psi[axis] = reaches_.data() + static_cast<std::size_t>(2 + axis) * rows;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    /// Note that `steps` more have been done.
    void moved(Index steps) {
        it_ += steps;
        state_.attr("prev") = level_[(it_ + 1) % 2];
        state_.attr("curr") = curr();
        state_.attr("it") = it_;
        if (front_ && front_->off) state_.attr("whole") = true;
    }

    Index it() const { return it_; }
    const nb::object& curr() const { return level_[it_ % 2]; }
    const nb::object& prev() const { return level_[(it_ + 1) % 2]; }
    Front* front() { return front_ ? &*front_ : nullptr; }

private:
    nb::object state_;
    Index it_;
    nb::object level_[2]; // of an even time index, and of an odd one
    std::optional<Front> front_;
    std::vector<std::int32_t> reaches_;
};

/// 1 to `most` steps, drawn anew at every time index; a seed always draws the same.
Index drawn_steps(std::uint64_t seed, Index it, Index most) {
    // splitmix64: neighbouring seeds and indices draw apart
    std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(it);
    for (const std::uint64_t by : {0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu})
        x = (x ^ (x >> 30)) * by + 0x9e3779b97f4a7c15u;
    return 1 + static_cast<Index>((x >> 33) % static_cast<std::uint64_t>(most));
}

/// How many steps the next batch has: as many whole passes as fit in its time, or one where that takes not much longer,
/// not beyond the next check. With a seed their number is drawn (`SUBSALT_BATCH`): where a batch ends changes no bit.
Index batch(Index left, Index to_check, double rate, Index depth, Index it, std::optional<std::uint64_t> seed) {
    if (seed) return std::min({drawn_steps(*seed, it, longest_drawn), left, to_check});
    const double fit = std::min(rate * batch_seconds, static_cast<double>(left));
    const Index n = static_cast<Index>(fit), pass = std::min(depth, std::max(Index{1}, static_cast<Index>(4.0 * fit)));
    return std::min({n < depth ? pass : n - n % depth, left, to_check});
}

Index advance(const Plan& plan, nb::object state_object, Index steps, const std::vector<FeedArgument>& sources,
              const std::vector<TapArgument>& recorders, const std::vector<SampleArgument>& samples, Index finite_every,
              bool check_last, nb::object progress, int threads, const std::string& isa, std::array<Index, 3> asked,
              const std::optional<ShellsArgument>& shells, const std::optional<BoxArgument>& inner,
              const MirrorSet* mirror, bool front, std::optional<std::uint64_t> batch_seed, int slow) {
    const Table& k = table_of(isa, threads);
    const Cut cut = cut_of(asked);
    if (finite_every < 1) throw std::invalid_argument("finite_every must be 1 or more");
    const Work work(plan, sources, recorders, samples);
    const Partly partly(plan, shells, inner);
    if (mirror != nullptr) mirror->check(plan);
    if (mirror != nullptr && (partly.inner || plan.pb.medium == Medium::tti))
        throw std::invalid_argument("a free surface inside the grid: of the whole grid, in no tilted medium");
    std::vector<PlainArray> memory;
    for (nb::handle field : state_object.attr("memory").attr("values")())
        memory.push_back(nb::cast<PlainArray>(field, false));
    Held state(std::move(state_object), plan, front);
    const double points = static_cast<double>(plan.pb.n[0] * plan.pb.n[1] * plan.pb.n[2]);
    double rate = 5e7 * threads / points / batch_seconds; // steps per second, low until one batch has been timed
    Index advanced = 0;
    while (steps > 0) {
        // held by name: another thread of Python may put other arrays into the lists meanwhile
        const auto prev = nb::cast<std::vector<Padded>>(state.prev(), false);
        const auto curr = nb::cast<std::vector<Padded>>(state.curr(), false);
        const Levels lv = levels_of(plan, prev, curr, memory);
        const Index n = batch(steps, finite_every - state.it() % finite_every, rate, cut.depth, state.it(), batch_seed);
        Segment seg{lv,
                    state.it(),
                    n,
                    work.feeds.data(),
                    static_cast<Index>(work.feeds.size()),
                    work.taps.data(),
                    static_cast<Index>(work.taps.size()),
                    work.samples.data(),
                    static_cast<Index>(work.samples.size()),
                    cut,
                    threads};
        partly.enter(seg);
        seg.front = state.front();
        seg.mirror = mirror == nullptr ? nullptr : &mirror->mirror;
        seg.slow = slow;
        seg.advanced = &advanced;
        const auto start = std::chrono::steady_clock::now();
        {
            nb::gil_scoped_release release;
            k.segment(plan.pb, seg);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        rate = static_cast<double>(n) / std::max(took.count(), 1e-6);
        steps -= n;
        state.moved(n);
        if (state.it() % finite_every == 0 || (steps == 0 && check_last)) {
            const auto newest = nb::cast<std::vector<Padded>>(state.curr(), false);
            const auto fields = level(plan, newest, "curr");
            nb::gil_scoped_release release;
            if (!k.is_finite(plan.pb, fields.data(), threads)) return -1;
        }
        if (!progress.is_none()) progress(state.it());
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return advanced;
}

} // namespace

void bind_segment(nb::module_& m) {
    m.def("advance", &advance, "plan"_a, "state"_a, "steps"_a, "sources"_a, "recorders"_a, "samples"_a,
          "finite_every"_a, "check_last"_a, "progress"_a.none(), "threads"_a, "isa"_a, "cut"_a, "shells"_a.none(),
          "inner"_a.none(), "mirror"_a.none(), "front"_a, "batch_seed"_a.none(), "slow"_a = -1,
          "Advance a state by some steps; return the points that were advanced, of all steps, and -1 when the state is "
          "no "
          "longer finite. It stands between two steps whenever this returns or throws.");
    m.def("drawn_steps", &drawn_steps, "seed"_a, "it"_a, "most"_a = longest_drawn,
          "1 to `most` steps, drawn anew at every time index; a seed always draws the same.");
}
