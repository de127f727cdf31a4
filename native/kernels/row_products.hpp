// Products of a row of one wavefield and another row of the other one, added up over samples: space lags pair the row
// at x - h with the one at x + h.
//
//   sums[k] = fma(scale u_b[i], w_b[j], sums[k])    for samples b = 0, 1, ... of every triple of rows (k, i, j)
//
// The chain of operations of a point is that of `correlate_row`, sample by sample, so a triple of one and the same row
// has the bits of the image. All samples are added while the sums are in registers: per point, 8 bytes of sums for all
// samples together, and 8 bytes of fields per sample, which stay in a cache where neighbouring triples share rows.
#pragma once

#include "formulas.hpp"
#include "row_work.hpp"

namespace subsalt::SUBSALT_NS {

/// A triple of rows. Whole rows come one after the other, so that the sums stream: in blocks of 32 to 128 points, whose
/// fields stay in L2, it takes up to three times as long (Zen 3).
inline void add_row_products(const RowProducts& work, const std::int64_t* rows) {
    float* sums = work.sums + rows[0] * work.nz;
    const Index i = rows[1] * work.nz, j = rows[2] * work.nz;
    const Vec s = set1(work.scale);
    const Index nz = work.nz;
    Index z = 0;
    for (; z + 4 * lanes <= nz; z += 4 * lanes) {
        Vec a = load(sums + z), b = load(sums + z + lanes), c = load(sums + z + 2 * lanes),
            d = load(sums + z + 3 * lanes);
        for (Index n = 0; n < work.samples; ++n) {
            const float *u = work.u[n] + i + z, *w = work.w[n] + j + z;
            a = add_product(s, load(u), load(w), a);
            b = add_product(s, load(u + lanes), load(w + lanes), b);
            c = add_product(s, load(u + 2 * lanes), load(w + 2 * lanes), c);
            d = add_product(s, load(u + 3 * lanes), load(w + 3 * lanes), d);
        }
        store(sums + z, a);
        store(sums + z + lanes, b);
        store(sums + z + 2 * lanes, c);
        store(sums + z + 3 * lanes, d);
    }
    for (; z + lanes <= nz; z += lanes) {
        Vec a = load(sums + z);
        for (Index n = 0; n < work.samples; ++n)
            a = add_product(s, load(work.u[n] + i + z), load(work.w[n] + j + z), a);
        store(sums + z, a);
    }
    for (; z < nz; ++z)
        for (Index n = 0; n < work.samples; ++n)
            sums[z] = add_product(work.scale, work.u[n][i + z], work.w[n][j + z], sums[z]);
}

} // namespace subsalt::SUBSALT_NS
