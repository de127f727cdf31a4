// Products of rows over threads: every thread has triples of its own, and no row of the sums comes twice.
#include <omp.h>

#include "isa/plane.hpp"
#include "kernels/row_products.hpp"

namespace subsalt::SUBSALT_NS {

void row_products(const RowProducts& work, int threads) {
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Range r = part(0, work.n, omp_get_num_threads(), omp_get_thread_num());
        for (Index k = r.lo; k < r.hi; ++k)
            add_row_products(work, work.rows + 3 * k);
    }
}

const RowTable& row_table() {
    static constexpr RowTable table{row_products};
    return table;
}

} // namespace subsalt::SUBSALT_NS
