// The step as a plain loop that the compiler vectorises: orders 4 and 8, 3-D, no layer. It is the yardstick of the
// benchmarks (rates on shared machines are not stable, ratios of one run are) and computes the same bits as the tuned
// kernels.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

template <int M>
inline void plain_iso_row(const Problem& pb, const float* p, float* prev, const float* m, Index n) {
    const Index x = pb.plane, y = pb.row;
    const float *cx = pb.c[0], *cy = pb.c[1], *cz = pb.c[2];
#pragma omp simd
    for (Index z = 0; z < n; ++z) {
        float a = pb.centre * p[z];
        for (int k = 1; k <= M; ++k)
            a = fma1(cx[k], p[z + k * x] + p[z - k * x], a);
        for (int k = 1; k <= M; ++k)
            a = fma1(cy[k], p[z + k * y] + p[z - k * y], a);
        for (int k = 1; k <= M; ++k)
            a = fma1(cz[k], p[z + k] + p[z - k], a);
        prev[z] = fma1(m[z], a, fma1(2.0f, p[z], -prev[z]));
    }
}

template <int M>
inline void plain_vti_row(const Problem& pb, const float* p, const float* q, float* p_prev, float* q_prev,
                          const float* m, const float* e, const float* s, Index n) {
    const Index x = pb.plane, y = pb.row;
    const float *cx = pb.c[0], *cy = pb.c[1], *cz = pb.c[2];
#pragma omp simd
    for (Index z = 0; z < n; ++z) {
        float a = pb.centre * p[z], b = cz[0] * q[z];
        for (int k = 1; k <= M; ++k)
            a = fma1(cx[k], p[z + k * x] + p[z - k * x], a);
        for (int k = 1; k <= M; ++k)
            a = fma1(cy[k], p[z + k * y] + p[z - k * y], a);
        for (int k = 1; k <= M; ++k)
            b = fma1(cz[k], q[z + k] + q[z - k], b);
        p_prev[z] = fma1(m[z], fma1(e[z], a, s[z] * b), fma1(2.0f, p[z], -p_prev[z]));
        q_prev[z] = fma1(m[z], fma1(s[z], a, b), fma1(2.0f, q[z], -q_prev[z]));
    }
}

} // namespace subsalt::SUBSALT_NS
