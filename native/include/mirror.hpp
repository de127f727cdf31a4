// Plain structs of a free surface inside the grid (kernels/mirror.hpp).
// No code lives here, so the file may be compiled under any instruction set.
#pragma once

#include "problem.hpp"

namespace subsalt {

/// Rows of a sparse matrix, with the float that each row is about.
struct SparseRows {
    Index n;
    const std::int64_t* start;  // (n + 1,) into column and value
    const std::int32_t* column; // floats of a padded array, or sums of `reach`
    const float* value;
    const std::int32_t* place; // (n,) floats of a padded array or numbers of sums, each once
};

struct Mirror {
    SparseRows odd;    // of nodes above the surface; columns are nodes below it
    SparseRows reach;  // sums over nodes below it
    SparseRows own;    // of nodes below it; columns are these and nodes above
    SparseRows spread; // of the same nodes; columns are the sums of `reach`
};

} // namespace subsalt
