// What imaging does with wavefields, row by row. The imaged field is p, or 0.5 (p + q) for VTI.
//
//   snapshot       out = w                                     8 bytes per point (VTI 12); 4 where p is in cache
//   correlate      image = fma(scale u, w, image)              16 bytes per point (VTI 20)
//   square         image = fma(scale u, u, image)              12 bytes per point
//   product        image = fma(scale u, w, image)              16 bytes per point; u and w both snapshots
//
// `fields` point to the first point of the row in padded arrays, everything else to rows of the box without padding.
#pragma once

#include "formulas.hpp"

namespace subsalt::SUBSALT_NS {

SUBSALT_INLINE Vec imaged(const float* p, const float* q, Index z) {
    return q == nullptr ? load(p + z) : mean_of(load(p + z), load(q + z));
}

SUBSALT_INLINE float imaged1(const float* p, const float* q, Index z) {
    return q == nullptr ? p[z] : mean_of(p[z], q[z]);
}

/// Stores go past the caches: nobody reads a snapshot before the sweep has ended. `end_streams` comes after the rows.
inline void snapshot_row(float* out, const float* p, const float* q, Index n) {
    const Index off = static_cast<Index>(reinterpret_cast<std::uintptr_t>(out) / sizeof(float)) % lanes;
    const Index head = off == 0 ? 0 : (lanes - off < n ? lanes - off : n);
    Index z = 0;
    for (; z < head; ++z)
        out[z] = imaged1(p, q, z);
    for (; z + lanes <= n; z += lanes)
        stream(out + z, imaged(p, q, z));
    for (; z < n; ++z)
        out[z] = imaged1(p, q, z);
}

inline void correlate_row(float* image, const float* u, const float* p, const float* q, float scale, Index n) {
    const Vec s = set1(scale);
    Index z = 0;
    for (; z + lanes <= n; z += lanes)
        store(image + z, add_product(s, load(u + z), imaged(p, q, z), load(image + z)));
    for (; z < n; ++z)
        image[z] = add_product(scale, u[z], imaged1(p, q, z), image[z]);
}

inline void square_row(float* image, const float* u, float scale, Index n) {
    const Vec s = set1(scale);
    Index z = 0;
    for (; z + lanes <= n; z += lanes)
        store(image + z, add_product(s, load(u + z), load(u + z), load(image + z)));
    for (; z < n; ++z)
        image[z] = add_product(scale, u[z], u[z], image[z]);
}

/// correlate_row with a snapshot of w in place of the field: the same bits.
inline void product_row(float* image, const float* u, const float* w, float scale, Index n) {
    correlate_row(image, u, w, nullptr, scale, n);
}

/// square_row of the imaged field itself.
inline void energy_row(float* image, const float* p, const float* q, float scale, Index n) {
    const Vec s = set1(scale);
    Index z = 0;
    for (; z + lanes <= n; z += lanes) {
        const Vec w = imaged(p, q, z);
        store(image + z, add_product(s, w, w, load(image + z)));
    }
    for (; z < n; ++z) {
        const float w = imaged1(p, q, z);
        image[z] = add_product(scale, w, w, image[z]);
    }
}

/// Whether all n numbers are finite: x - x is 0 for these alone, and a sum of anything else is not.
inline bool finite_row(const float* u, Index n) {
    Vec sum = set1(0.0f);
    Index z = 0;
    for (; z + lanes <= n; z += lanes)
        sum = add(sum, sub(load(u + z), load(u + z)));
    float last[SUBSALT_LANES];
    store(last, sum);
    float total = 0.0f;
    for (Index k = 0; k < lanes; ++k)
        total += last[k];
    for (; z < n; ++z)
        total += u[z] - u[z];
    return total == 0.0f;
}

} // namespace subsalt::SUBSALT_NS
