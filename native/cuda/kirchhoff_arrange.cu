// Prepared traces as the sum of Kirchhoff migration on the device reads them.
//
//   (traces, bands, order + 1, ns_pad)   becomes   (traces, bands, rows, order + 1, 32),   32 rows >= ns_pad
//
// All coefficients of a sample are then at distances that the compiler knows: one address serves all of them, where
// each took four operations of its own, a quarter of the sum. Zeros behind the last sample. 8 bytes per coefficient,
// once.
#include "kirchhoff_sum.hpp"

namespace subsalt::cuda {
namespace migration {

constexpr int threads = 256;

SUBSALT_GLOBAL void arrange(const float* from, float* to, Index rows, int coefficients, int ns_pad) {
    const Index i = static_cast<Index>(blockIdx.x) * threads + static_cast<Index>(threadIdx.x);
    const int row = arranged_row(ns_pad) / together;
    if (i >= rows * row * coefficients * together) return;
    const int lane = static_cast<int>(i % together);
    const Index line = i / together; // (rows, row, coefficients)
    const int k = static_cast<int>(line % coefficients);
    const int sample = static_cast<int>(line / coefficients % row) * together + lane;
    const Index band = line / coefficients / row;
    to[i] = sample < ns_pad ? __ldg(from + (band * coefficients + k) * ns_pad + sample) : 0.0f;
}

} // namespace migration

Index arranged_bytes(const KirchhoffTraces& t) {
    return 4 * t.n * t.bands * (t.order + 1) * arranged_row(static_cast<int>(t.ns_pad));
}

Status kirchhoff_arrange(const KirchhoffTraces& t, float* to, cudaStream_t stream) {
    const Index many = arranged_bytes(t) / 4;
    return launch(migration::arrange, dim3(blocks_for(many, migration::threads)), dim3(migration::threads), 0, stream,
                  t.samples, to, t.n * t.bands, static_cast<int>(t.order) + 1, static_cast<int>(t.ns_pad));
}

} // namespace subsalt::cuda
