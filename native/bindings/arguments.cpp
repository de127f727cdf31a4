#include "arguments.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace subsalt {

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

PointSet::PointSet(nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> base,
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
        // a plane without weight is left out (a point on a node has one plane), but not the last: its step records
        const Index count = std::min(width, shape[0] - base_[3 * i]);
        for (Index k = 0; k < count; ++k)
            if (k == count - 1 || weights_[3 * i * width + k] != 0.0f)
                by_plane[base_[3 * i] + k].push_back(static_cast<int32_t>(i));
    }
    start_.push_back(0);
    for (Index x = 0; x < shape[0]; ++x) {
        if (by_plane[x].empty()) continue;
        plane_.push_back(static_cast<int32_t>(x));
        item_.insert(item_.end(), by_plane[x].begin(), by_plane[x].end());
        start_.push_back(static_cast<int32_t>(item_.size()));
    }
    const auto last = [&](Index i, int a) { return std::min<Index>(base_[3 * i + a] + width, shape[a]) - 1; };
    by_row_ = item_;
    for (std::size_t j = 0; j + 1 < start_.size(); ++j)
        std::sort(by_row_.begin() + start_[j], by_row_.begin() + start_[j + 1],
                  [&](Index i, Index k) { return std::tuple(last(i, 1), i) < std::tuple(last(k, 1), k); });
    ending_.resize(n);
    std::iota(ending_.begin(), ending_.end(), 0);
    std::sort(ending_.begin(), ending_.end(), [&](Index i, Index j) {
        return std::tuple(last(i, 0), last(i, 1), i) < std::tuple(last(j, 0), last(j, 1), j);
    });
    ended_.assign(shape[0] + 1, 0);
    for (Index i = 0; i < n; ++i)
        ++ended_[last(i, 0) + 1];
    std::partial_sum(ended_.begin(), ended_.end(), ended_.begin());
    pts = {n,
           static_cast<int>(width),
           base_.data(),
           weights_.data(),
           static_cast<Index>(plane_.size()),
           plane_.data(),
           start_.data(),
           item_.data(),
           by_row_.data(),
           ended_.data(),
           ending_.data()};
}

void PointSet::check(const Plan& plan) const {
    for (int a = 0; a < 3; ++a)
        if (shape_[a] != plan.pb.n[a]) throw std::invalid_argument("the points belong to another grid");
}

const Table& table_of(const std::string& isa, int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    return isa.empty() ? kernels() : kernels_named(isa);
}

} // namespace subsalt
