// Plain structs of a free surface inside the grid (kernels/mirror.hpp).
// No code lives here, so the file may be compiled under any instruction set.
#pragma once

#include "problem.hpp"

namespace subsalt {

/// Rows of a sparse matrix over the floats of a padded array, with the float that each row is about.
struct SparseRows {
    Index n;
    const std::int64_t* start;  // (n + 1,) into column and value
    const std::int32_t* column; // floats of a padded array
    const float* value;
    const std::int32_t* place; // (n,) floats of a padded array, each once
};

struct Mirror {
    SparseRows odd;     // of nodes above the surface; columns are nodes below it
    SparseRows damping; // of nodes below it
    Index every;        // the step from a time index that is a multiple of it damps
};

} // namespace subsalt
