// A `Problem` that owns its tables and keeps the arrays of the model alive; built once per problem from Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

namespace subsalt {

namespace nb = nanobind;

using Padded = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Padded16 = nb::ndarray<std::uint16_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
/// m, e or s: float32, or packed into 16 bits
using ModelArray = std::variant<Padded, Padded16>;
using Table2 = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row1 = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class Plan {
public:
    Problem pb{};

    Plan(std::array<Index, 3> shape, int dim, int radius, Index row, std::array<Index, 6> width,
         const std::string& boundary, bool free_surface, Table2 second, Table2 first, std::vector<Row1> profiles,
         ModelArray m, std::optional<ModelArray> e, std::optional<ModelArray> s,
         const std::vector<std::array<float, 2>>& scales);

    /// Make the medium TTI: the components of the symmetry axis (x, (y,) z), the grid's spacing, the weights of a unit
    /// grid, and the share of the Laplacian in V.
    void set_tilt(const std::vector<Padded>& axis, std::array<double, 3> spacing, const std::vector<double>& second,
                  const std::vector<double>& first, double share);

    /// Stretch the depth axis: a^2, the weights of the centre by field (of the last ones), a^(-1/2) and a^(3/2), each
    /// from 16 floats before z = 0 on.
    void set_stretch(const Row1& square, const std::vector<Row1>& centre, const Row1& root, const Row1& power);

    /// Pointer to a padded array of this problem; throws when its shape is another.
    float* padded(const Padded& a, const char* what) const;

    /// Shapes of the memory fields: x, y, z.
    std::array<Index, 3> memory_shape(int axis) const;

private:
    std::array<std::vector<float>, 3> profile_; // b or t per axis
    std::vector<std::vector<float>> stretch_;   // rows of a stretched depth axis
    std::vector<float> window_b_, window_in_, window_near_;
    std::vector<Padded> keep_;

    std::vector<Padded16> keep16_;

    template <class Array>
    void check_padded(const Array& a, const char* what) const;
    void take_model(const ModelArray& a, int which, const std::vector<std::array<float, 2>>& scales);
    void make_windows(const std::vector<float>& b);
};

} // namespace subsalt
