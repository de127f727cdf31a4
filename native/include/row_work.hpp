// Rows of sums to which products of rows of two wavefields are added: what the bindings hand to
// native/kernels/row_products.hpp.
#pragma once

#include "problem.hpp"

namespace subsalt {

struct RowProducts {
    float* sums;           // (rows, nz)
    const float* const* u; // `samples` fields of rows of nz, in the order in which their products are added
    const float* const* w;
    Index samples;
    const std::int64_t* rows; // (n, 3): a row of the sums, one of u, one of w; no row of the sums comes twice
    Index n, nz;
    float scale;
};

struct RowTable {
    void (*products)(const RowProducts&, int threads);
};

} // namespace subsalt
