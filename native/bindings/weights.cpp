// Python face of sparse weights applied along an axis (native/signal/axis_weights.hpp). Shapes and columns are checked
// here: a wrong one would read or write out of bounds.
#include "signal/axis_weights.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace subsalt {
namespace {

template <class T>
using List = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// (outer, along, inner), the last axis contiguous.
template <class T>
using Array = nb::ndarray<T, nb::ndim<3>, nb::device::cpu>;

/// A sparse matrix in rows, and the columns between which every row lies.
class AxisWeights {
public:
    AxisWeights(List<double> weights, List<int32_t> columns, List<int64_t> starts, int32_t count)
        : weights_(weights.data(), weights.data() + weights.size()),
          columns_(columns.data(), columns.data() + columns.size()),
          starts_(starts.data(), starts.data() + starts.size()) {
        const auto entries = static_cast<int64_t>(weights_.size());
        if (columns_.size() != weights_.size() || starts_.empty() || starts_.front() != 0 ||
            starts_.back() != entries || !std::is_sorted(starts_.begin(), starts_.end()))
            throw std::invalid_argument("AxisWeights: arrays do not fit together");
        for (size_t row = 0; row + 1 < starts_.size(); ++row) {
            const auto begin = columns_.begin() + starts_[row], end = columns_.begin() + starts_[row + 1];
            const auto [low, high] = std::minmax_element(begin, end);
            low_.push_back(begin == end ? std::numeric_limits<int64_t>::max() : *low);
            high_.push_back(begin == end ? -1 : *high);
            if (begin != end && (*low < 0 || *high >= count))
                throw std::invalid_argument("AxisWeights: a column lies outside the matrix");
        }
    }

    template <class T>
    void apply(Array<const T> x, Array<double> y, int64_t lo, int64_t hi, int64_t first, bool ring) const {
        const auto size = [](const auto& a, int axis) { return static_cast<int64_t>(a.shape(axis)); };
        const signal::Extent extent{lo, hi, first, size(x, 1), size(x, 0), size(x, 2)};
        if (lo < 0 || hi < lo || hi > static_cast<int64_t>(low_.size()) || size(y, 0) != extent.outer ||
            size(y, 1) != hi - lo || size(y, 2) != extent.inner)
            throw std::invalid_argument("AxisWeights: arrays do not fit together");
        if (hi == lo || extent.outer == 0 || extent.inner == 0) return;
        const bool last = extent.inner == 1 && extent.outer > 1;
        for (const int64_t stride : {last ? x.stride(1) : x.stride(2), last ? y.stride(1) : y.stride(2)})
            if (stride != 1 && (last || extent.inner > 1))
                throw std::invalid_argument("AxisWeights: the last axis is not contiguous");
        const int64_t low = *std::min_element(low_.begin() + lo, low_.begin() + hi);
        const int64_t high = *std::max_element(high_.begin() + lo, high_.begin() + hi);
        const bool held =
            ring ? high - first < 2 * extent.columns && high - low < extent.columns : high - first < extent.columns;
        if (high >= 0 && (low < first || !held))
            throw std::invalid_argument("AxisWeights: a column lies outside the array");
        const signal::SparseRows rows{weights_.data(), columns_.data(), starts_.data()};
        const signal::Strided<const T> from{x.data(), x.stride(0), x.stride(1)};
        const signal::Strided<double> to{y.data(), y.stride(0), y.stride(1)};
        nb::gil_scoped_release release;
        signal::apply_weights(rows, from, to, extent);
    }

private:
    std::vector<double> weights_;
    std::vector<int32_t> columns_;
    std::vector<int64_t> starts_, low_, high_;
};

} // namespace
} // namespace subsalt

void bind_weights(nb::module_& m) {
    using subsalt::AxisWeights;
    nb::class_<AxisWeights>(m, "AxisWeights", "A sparse matrix of weights for one axis of an array.")
        .def(nb::init<subsalt::List<double>, subsalt::List<int32_t>, subsalt::List<int64_t>, int32_t>(),
             "weights"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "count"_a)
        .def("apply", &AxisWeights::apply<float>, "x"_a.noconvert(), "y"_a.noconvert(), "lo"_a, "hi"_a, "first"_a,
             "ring"_a, "y[o, i - lo, k] = sum_j w[i, j] x[o, j - first, k], rows lo to hi.")
        .def("apply", &AxisWeights::apply<double>, "x"_a.noconvert(), "y"_a.noconvert(), "lo"_a, "hi"_a, "first"_a,
             "ring"_a);
}
