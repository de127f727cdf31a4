#include "work.hpp"

namespace subsalt {

namespace {

/// The compiled points, and the length of their series, of a source or recorder.
template <class Array>
std::pair<const Points*, Index> series_of(const Plan& plan, const nb::object& points, const Array& series) {
    const auto& set = nb::cast<const PointSet&>(points);
    set.check(plan);
    if (static_cast<Index>(series.shape(1)) != set.pts.n)
        throw std::invalid_argument("samples need one column per point");
    return {&set.pts, static_cast<Index>(series.shape(0))};
}

/// Data of an array that may be None.
template <class Array>
auto given(const nb::object& a, const Box& box, const char* what) {
    return a.is_none() ? nullptr : boxed(as_it_is<Array>(a, what), box, what);
}

/// The box that arrays in 16 bits have the shape of (kernels/scaled16.hpp): with a scale for every 64 numbers of a row.
Box rows16_of(Box box) {
    const Index n = box.hi[2] - box.lo[2];
    box.hi[2] = box.lo[2] + (n + (n + 63) / 64 + 1) / 2 * 2;
    return box;
}

/// Data of an array in 16 bits; null when it is no such array.
template <class Array>
auto given16(const nb::object& a, const Box& box, const char* what) {
    Array packed;
    return nb::try_cast<Array>(a, packed, false) ? boxed(packed, rows16_of(box), what) : nullptr;
}

} // namespace

Shell shell_of(const Plan& plan, const Corner& lo, const Corner& hi, const std::array<Index, 6>& widths) {
    Shell shell{box_of(plan, lo, hi), {}, 0};
    Index whole = 1, inner = 1;
    for (int axis = 0; axis < 3; ++axis) {
        const Index n = std::max<Index>(0, hi[axis] - lo[axis]), low = widths[2 * axis], high = widths[2 * axis + 1];
        if (low < 0 || high < 0 || low + high > n) throw std::invalid_argument("the shell does not fit into its box");
        shell.width[2 * axis] = low;
        shell.width[2 * axis + 1] = high;
        whole *= n;
        inner *= n - low - high;
    }
    shell.cells = whole - inner;
    return shell;
}

Partly::Partly(const Plan& plan, const std::optional<ShellsArgument>& asked, const std::optional<BoxArgument>& part) {
    if (asked) {
        const auto& [lo, hi, widths, first, direction, put_back, array] = *asked;
        const Shell shell = shell_of(plan, lo, hi, widths);
        const auto data = as_it_is<PlainArray>(array, "the shells");
        if (static_cast<int>(data.shape(1)) != plan.pb.fields || static_cast<Index>(data.shape(2)) != shell.cells)
            throw std::invalid_argument("the shells do not have the shape (rows, fields, cells)");
        if (direction != 1 && direction != -1) throw std::invalid_argument("shells go forwards or backwards in time");
        shells = Shells{shell, data.data(), static_cast<Index>(data.shape(0)), first, direction, put_back};
    }
    if (part) {
        if (plan.pb.boundary == Boundary::pml) throw std::invalid_argument("a PML is advanced as a whole");
        inner = box_of(plan, part->first, part->second);
    }
}

Work::Work(const Plan& plan, const std::vector<FeedArgument>& sources, const std::vector<TapArgument>& recorders,
           const std::vector<SampleArgument>& visits) {
    for (const auto& [points, values] : sources) {
        const auto [pts, nt] = series_of(plan, points, values);
        feeds.push_back({pts, values.data(), nt});
    }
    for (const auto& [points, array] : recorders) {
        const Series data = as_it_is<Series>(array, "recorded data");
        const auto [pts, nt] = series_of(plan, points, data);
        taps.push_back({pts, data.data(), nt, nullptr});
    }
    for (const auto& asked : visits) {
        const Sample sample = sample_of(plan, asked);
        if (!samples.empty() && samples.back().it > sample.it)
            throw std::invalid_argument("the samples are not in order");
        samples.push_back(sample);
    }
}

Sample sample_of(const Plan& plan, const SampleArgument& asked) {
    const auto& [it, lo, hi, copy, energy, partner, image, scale] = asked;
    if (partner.is_none() != image.is_none()) throw std::invalid_argument("an image needs a partner");
    const Box box = box_of(plan, lo, hi);
    Sample out{};
    out.it = it;
    out.box = box;
    out.energy = given<PlainArray>(energy, box, "the energy");
    out.image = given<PlainArray>(image, box, "the image");
    out.scale = scale;
    out.copy16 = given16<PlainArray16>(copy, box, "the snapshot");
    out.partner16 = given16<ConstArray16>(partner, box, "the partner");
    if (out.copy16 == nullptr) out.copy = given<PlainArray>(copy, box, "the snapshot");
    if (out.partner16 == nullptr) out.partner = given<ConstArray>(partner, box, "the partner");
    return out;
}

} // namespace subsalt
