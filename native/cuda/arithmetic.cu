// What the device makes of roots, inverses and quotients, for benchmarks/device_arithmetic.py, which holds them against
// the host's: the corrected approximations of the Kirchhoff sum (kirchhoff_operator.cuh), and what the compiler makes
// of sqrtf and / (kirchhoff_pairs.cu).
//
//   out[i] = f(a[i], b[i]),   f by `kind`: 0 root of a, 1 inverse of b, 2 ratio a / b; 3 sqrtf(a), 4 a / b
#include "context.hpp"
#include "kirchhoff_operator.cuh"

namespace subsalt::cuda {

namespace {

enum class Arithmetic : int { root, inverse, ratio, root_of_compiler, ratio_of_compiler };

SUBSALT_GLOBAL void arithmetic(Arithmetic kind, const float* a, const float* b, float* out, Index n) {
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
    }
}

} // namespace

} // namespace subsalt::cuda

using namespace subsalt::cuda;

int subsalt_cuda_arithmetic(int32_t kind, const float* a, const float* b, float* out, int64_t n) {
    constexpr int threads = 256;
    if (n == 0) return 0;
    return entered("trying arithmetic", [&] {
        return launch(arithmetic, blocks_for(n, threads), threads, 0, context().compute, static_cast<Arithmetic>(kind),
                      a, b, out, n);
    });
}
