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

} // namespace

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
    for (const auto& [it, lo, hi, copy, energy, partner, image, scale] : visits) {
        if (!samples.empty() && samples.back().it > it) throw std::invalid_argument("the samples are not in order");
        if (partner.is_none() != image.is_none()) throw std::invalid_argument("an image needs a partner");
        const Box box = box_of(plan, lo, hi);
        samples.push_back({it, box, given<PlainArray>(copy, box, "the snapshot"),
                           given<PlainArray>(energy, box, "the energy"), given<ConstArray>(partner, box, "the partner"),
                           given<PlainArray>(image, box, "the image"), scale});
    }
}

} // namespace subsalt
