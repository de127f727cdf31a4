// Python face of products of rows (native/kernels/row_products.hpp). Rows are checked here: a wrong one would read or
// write out of bounds.
#include "isa/row_dispatch.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace subsalt {
namespace {

using Sums = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Field = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Pointers to fields of one shape.
std::vector<const float*> pointers(const std::vector<Field>& fields, const std::vector<Field>& like, Index nz) {
    std::vector<const float*> out;
    for (const auto& field : fields) {
        if (field.shape(0) != like.front().shape(0) || static_cast<Index>(field.shape(1)) != nz)
            throw std::invalid_argument("row_products: fields differ in shape");
        out.push_back(field.data());
    }
    return out;
}

void row_products(const Sums& sums, const std::vector<Field>& u, const std::vector<Field>& w, const Rows& rows,
                  float scale, int threads, const std::string& isa) {
    if (u.size() != w.size() || rows.shape(1) != 3 || threads < 1)
        throw std::invalid_argument("row_products: arrays do not fit together");
    if (u.empty()) return;
    const Index nz = static_cast<Index>(sums.shape(1));
    const auto of_u = pointers(u, u, nz), of_w = pointers(w, u, nz);
    const auto n = static_cast<Index>(rows.shape(0));
    const int64_t limits[3] = {static_cast<int64_t>(sums.shape(0)), static_cast<int64_t>(u.front().shape(0)),
                               static_cast<int64_t>(u.front().shape(0))};
    for (Index k = 0; k < 3 * n; ++k)
        if (rows.data()[k] < 0 || rows.data()[k] >= limits[k % 3])
            throw std::invalid_argument("row_products: a row lies outside its array");
    const RowProducts work{sums.data(), of_u.data(), of_w.data(), static_cast<Index>(u.size()),
                           rows.data(), n,           nz,          scale};
    const RowTable& table = rows_named(isa);
    nb::gil_scoped_release release;
    table.products(work, threads);
}

} // namespace
} // namespace subsalt

void bind_rows(nb::module_& m) {
    m.def("row_products", &subsalt::row_products, "sums"_a.noconvert(), "u"_a.noconvert(), "w"_a.noconvert(),
          "rows"_a.noconvert(), "scale"_a, "threads"_a, "isa"_a,
          "sums[k] += (scale u[i]) w[j] of every sample, for triples (k, i, j) of rows; no k comes twice.");
}
