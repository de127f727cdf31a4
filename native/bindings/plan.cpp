#include "plan.hpp"

#include <cstring>
#include <stdexcept>

namespace subsalt {

namespace {

const float all_bits = [] {
    const std::uint32_t ones = 0xffffffffu;
    float f;
    std::memcpy(&f, &ones, sizeof f);
    return f;
}();

Index rounded(Index n) {
    return (n + 15) / 16 * 16;
}

std::string text(std::initializer_list<Index> v) {
    std::string out;
    for (Index i : v)
        out += (out.empty() ? "(" : ", ") + std::to_string(i);
    return out + ")";
}

} // namespace

template <class Array>
void Plan::check_padded(const Array& a, const char* what) const {
    const Index want[3] = {pb.n[0] + 2 * pb.radius, pb.plane / pb.row, pb.row};
    for (int i = 0; i < 3; ++i)
        if (static_cast<Index>(a.shape(i)) != want[i])
            throw std::invalid_argument(std::string(what) + " has shape " +
                                        text({(Index)a.shape(0), (Index)a.shape(1), (Index)a.shape(2)}) +
                                        ", the problem needs " + text({want[0], want[1], want[2]}));
}

Plan::Plan(std::array<Index, 3> shape, int dim, int radius, Index row, std::array<Index, 6> width,
           const std::string& boundary, bool free_surface, Table2 second, Table2 first, std::vector<Row1> profiles,
           ModelArray m, std::optional<ModelArray> e, std::optional<ModelArray> s,
           const std::vector<std::array<float, 2>>& scales) {
    if (dim != 2 && dim != 3) throw std::invalid_argument("dim must be 2 or 3");
    if (radius < 1 || radius > max_radius) throw std::invalid_argument("radius must be 1 to 8");
    if (e.has_value() != s.has_value()) throw std::invalid_argument("give both e and s, or neither");
    if (row < z_front + rounded(shape[2] + radius) || row % 16 != 0) throw std::invalid_argument("row is too short");
    for (int a = 0; a < 3; ++a) {
        pb.n[a] = shape[a];
        if (shape[a] < 1) throw std::invalid_argument("every axis needs a point");
        if (width[2 * a] < 0 || width[2 * a + 1] < 0 || width[2 * a] + width[2 * a + 1] > shape[a])
            throw std::invalid_argument("layers of axis " + std::to_string(a) + " overlap");
    }
    if (dim == 2 && (shape[1] != 1 || width[2] + width[3] != 0)) throw std::invalid_argument("2-D has one row in y");
    pb.radius = radius;
    pb.dim = dim;
    pb.y_halo = dim == 3 ? radius : 0;
    pb.row = row;
    // there may be rows behind the halo of y, that planes do not meet in cache
    const Index needed = shape[1] + 2 * pb.y_halo,
                given = std::visit([](const auto& a) { return static_cast<Index>(a.shape(1)); }, m);
    pb.plane = (given > needed && dim == 3 ? given : needed) * row;
    pb.medium = e.has_value() ? Medium::vti : Medium::isotropic;
    pb.fields = e.has_value() ? 2 : 1;
    pb.free_surface = free_surface;
    if (boundary == "pml")
        pb.boundary = Boundary::pml;
    else if (boundary == "damping")
        pb.boundary = Boundary::damping;
    else if (boundary == "none")
        pb.boundary = Boundary::none;
    else
        throw std::invalid_argument("boundary must be pml, damping or none");
    for (int i = 0; i < 6; ++i)
        pb.width[i] = pb.boundary == Boundary::none ? 0 : width[i];

    const auto rows = static_cast<std::size_t>(3), cols = static_cast<std::size_t>(radius + 1);
    if (second.shape(0) != rows || second.shape(1) != cols || first.shape(0) != rows || first.shape(1) != cols)
        throw std::invalid_argument("weights must have shape (3, radius + 1)");
    for (int a = 0; a < 3; ++a)
        for (int k = 0; k <= radius; ++k) {
            pb.c[a][k] = second(a, k);
            pb.d[a][k] = first(a, k);
        }
    pb.centre = pb.c[0][0];
    if (dim == 3) pb.centre += pb.c[1][0];
    if (pb.medium != Medium::vti) pb.centre += pb.c[2][0];

    pb.storage = std::holds_alternative<Padded16>(m) ? ModelStorage::u16 : ModelStorage::f32;
    take_model(m, 0, scales);
    if (pb.fields == 2) {
        take_model(*e, 1, scales);
        take_model(*s, 2, scales);
    }

    pb.compact_row = rounded(shape[2]);
    if (pb.boundary != Boundary::none) {
        if (profiles.size() != 3) throw std::invalid_argument("give one profile per axis");
        for (int a = 0; a < 3; ++a) {
            if (profiles[a].shape(0) != static_cast<std::size_t>(shape[a]))
                throw std::invalid_argument("profile of axis " + std::to_string(a) + " has another length");
            const float* p = profiles[a].data();
            profile_[a].assign(p, p + shape[a]);
            profile_[a].resize(shape[a] + 16, 0.0f);
            (pb.boundary == Boundary::pml ? pb.b : pb.t)[a] = profile_[a].data();
        }
    }
    if (pb.boundary == Boundary::pml) make_windows(profile_[2]);
}

void Plan::take_model(const ModelArray& a, int which, const std::vector<std::array<float, 2>>& scales) {
    const char* name[3] = {"m", "e", "s"};
    if (const auto* packed = std::get_if<Padded16>(&a)) {
        if (pb.storage != ModelStorage::u16 || scales.size() <= static_cast<std::size_t>(which))
            throw std::invalid_argument("pack all model arrays, each with its scale and offset, or none");
        check_padded(*packed, name[which]);
        pb.packed[which] = {packed->data(), scales[which][0], scales[which][1]};
        keep16_.push_back(*packed);
        return;
    }
    if (pb.storage != ModelStorage::f32) throw std::invalid_argument("pack all model arrays, or none");
    const Padded& plain = std::get<Padded>(a);
    const float** at[3] = {&pb.m, &pb.e, &pb.s};
    *at[which] = padded(plain, name[which]);
    keep_.push_back(plain);
}

void Plan::set_tilt(const std::vector<Padded>& axis, std::array<double, 3> spacing, const std::vector<double>& second,
                    const std::vector<double>& first, double share) {
    if (pb.storage == ModelStorage::u16) throw std::invalid_argument("TTI has no packed model arrays");
    const std::vector<int> axes = pb.dim == 3 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 2};
    if (pb.fields != 2) throw std::invalid_argument("a tilted medium needs e and s");
    if (axis.size() != axes.size()) throw std::invalid_argument("give one component of the axis per dimension");
    const auto count = static_cast<std::size_t>(pb.radius);
    if (second.size() != count + 1 || first.size() != count)
        throw std::invalid_argument("weights must have length radius + 1 and radius");
    for (std::size_t k = 0; k <= count; ++k) {
        pb.tilt.c[k] = static_cast<float>(second[k]);
        pb.tilt.d[k] = k == 0 ? 0.0f : static_cast<float>(first[k - 1]);
    }
    double centre[2] = {0.0, 0.0};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int a = axes[i];
        const double per_square = 1.0 / (spacing[a] * spacing[a]), of_field[2] = {1.0 - share, share};
        pb.tilt.axis[a] = padded(axis[i], "a component of the axis");
        keep_.push_back(axis[i]);
        pb.tilt.slope[a] = static_cast<float>(1.0 / spacing[a]);
        pb.tilt.share[a] = static_cast<float>(share * per_square);
        for (int f = 0; f < 2; ++f) {
            pb.tilt.second[f][a] = static_cast<float>(of_field[f] * per_square);
            centre[f] += second[0] * of_field[f] * per_square;
        }
    }
    for (int f = 0; f < 2; ++f)
        pb.tilt.weight[f] = static_cast<float>(f == 0 ? 1.0 - share : share);
    for (int f = 0; f < 2; ++f)
        pb.tilt.centre[f] = static_cast<float>(centre[f]);
    pb.medium = Medium::tti;
}

void Plan::set_stretch(const Row1& square, const std::vector<Row1>& centre, const Row1& root, const Row1& power) {
    const std::size_t fields = pb.medium == Medium::tti ? 2 : 1;
    if (centre.size() != fields) throw std::invalid_argument("wrong number of rows of centre weights");
    stretch_.clear();
    stretch_.reserve(3 + fields); // the rows stay where they are
    const auto taken = [&](const Row1& row) {
        // a vector is read behind the one of the last point
        if (static_cast<Index>(row.shape(0)) < z_front + rounded(pb.n[2]) + z_front)
            throw std::invalid_argument("a row of the depth axis is too short");
        stretch_.emplace_back(row.data(), row.data() + row.shape(0));
        return stretch_.back().data() + z_front;
    };
    pb.stretch.square = taken(square);
    for (std::size_t i = 0; i < fields; ++i)
        pb.stretch.centre[pb.fields - fields + i] = taken(centre[i]);
    pb.stretch.root = taken(root);
    pb.stretch.power = taken(power);
}

void Plan::make_windows(const std::vector<float>& b) {
    const Index n = pb.n[2], lo = pb.width[4], hi = pb.width[5], reach = pb.radius;
    pb.wz.front = lo > 0 ? rounded(lo + reach) : 0;
    pb.wz.back = hi > 0 ? rounded(hi + reach) : 0;
    const Index total = pb.wz.stride = pb.wz.front + pb.wz.back;
    window_b_.assign(total, 1.0f);
    window_in_.assign(total, 0.0f);
    window_near_.assign(total, 0.0f);
    for (Index j = 0; j < total; ++j) {
        const bool front = j < pb.wz.front;
        const Index z = front ? j : n - total + j;
        const bool near_front = lo > 0 && z < lo + reach;
        const bool inside = front ? z < lo : z >= n - hi;
        if (z < 0 || z >= n) continue;
        if (inside) window_b_[j] = b[z];
        if (inside) window_in_[j] = all_bits;
        if (front ? near_front : (z >= n - hi - reach && !near_front)) window_near_[j] = all_bits;
    }
    pb.wz.b = window_b_.data();
    pb.wz.in_layer = window_in_.data();
    pb.wz.near_side = window_near_.data();
}

float* Plan::padded(const Padded& a, const char* what) const {
    check_padded(a, what);
    return a.data();
}

std::array<Index, 3> Plan::memory_shape(int axis) const {
    if (axis == 0) return {pb.width[0] + pb.width[1], pb.n[1], pb.compact_row};
    if (axis == 1) return {pb.n[0], pb.width[2] + pb.width[3], pb.compact_row};
    return {pb.n[0], pb.n[1], pb.wz.front + pb.wz.back};
}

} // namespace subsalt
