// What the device makes of roots, inverses and quotients, and of multiply-adds whose result is next to the smallest
// normal number, for benchmarks/device_arithmetic.py, which holds them against the host's: the corrected approximations
// of the Kirchhoff sum (kirchhoff_operator.cuh), what the compiler makes of sqrtf and / (kirchhoff_pairs.cu), and fma1.
//
//   out[i] = f(a[i], b[i], c[i]),   f by `kind`: 0 root of a, 1 inverse of b, 2 ratio a / b; 3 sqrtf(a), 4 a / b;
//                                   5 fma1(a, b, c), which alone reads c
#include "context.hpp"
#include "kirchhoff_operator.cuh"

namespace subsalt::cuda {

namespace {

enum class Arithmetic : int { root, inverse, ratio, root_of_compiler, ratio_of_compiler, multiply_add };

SUBSALT_GLOBAL void arithmetic(Arithmetic kind, const float* a, const float* b, const float* c, float* out, Index n) {
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    switch (kind) {
    case Arithmetic::root:
        out[i] = migration::root(a[i]);
        break;
    case Arithmetic::inverse:
        out[i] = migration::inverse_of(b[i]);
        break;
    case Arithmetic::ratio:
        out[i] = migration::ratio(a[i], b[i]);
        break;
    case Arithmetic::root_of_compiler:
        out[i] = sqrtf(a[i]);
        break;
    case Arithmetic::ratio_of_compiler:
        out[i] = a[i] / b[i];
        break;
    case Arithmetic::multiply_add:
        out[i] = fma1(a[i], b[i], c[i]);
        break;
    }
}

} // namespace

} // namespace subsalt::cuda

using namespace subsalt::cuda;

int subsalt_cuda_arithmetic(int32_t kind, const float* a, const float* b, const float* c, float* out, int64_t n) {
    constexpr int threads = 256;
    if (n == 0) return 0;
    return entered("trying arithmetic", [&] {
        return launch(arithmetic, blocks_for(n, threads), threads, 0, context().compute, static_cast<Arithmetic>(kind),
                      a, b, c, out, n);
    });
}
