// L u at one point of a box, without the layer: what the operators of a medium are made of. A thread per point, in the
// order of operations of the step; `out` has the shape of the box, whose rows begin anywhere, so accesses are single
// floats, coalesced. Predicted: 8 bytes per point and field from memory, 26 loads of which L1 serves most: these bound
// it.
#pragma once

#include "numbers.cuh"
#include "parts.hpp"

namespace subsalt::cuda {

constexpr int apply_lanes = 32, apply_rows = 8;

/// A point of the box: where it is in padded arrays, in arrays of the box and in rows along z; inside: there is one.
struct BoxPoint {
    Index padded, dense, z;
    bool inside;
};

SUBSALT_DEVICE BoxPoint point_of_box(const Problem& pb, const Box& box) {
    const Index x = box.lo[0] + blockIdx.z, y = box.lo[1] + Index{blockIdx.y} * apply_rows + threadIdx.y;
    const Index z = box.lo[2] + Index{blockIdx.x} * apply_lanes + threadIdx.x;
    const Index ny = box.hi[1] - box.lo[1], nz = box.hi[2] - box.lo[2];
    return {(x + pb.radius) * pb.plane + (y + pb.y_halo) * pb.row + z_front + z,
            ((x - box.lo[0]) * ny + (y - box.lo[1])) * nz + (z - box.lo[2]), z, y < box.hi[1] && z < box.hi[2]};
}

/// acc + sum_k c_k (w[+k] + w[-k]), k = 1 .. M in order
SUBSALT_DEVICE float add_second_at(float acc, const float* w, Index stride, const float* c, int radius) {
    return add_second<0>(acc, c, radius, [&](int k) { return __ldg(w + k * stride) + __ldg(w - k * stride); });
}

/// Start a kernel over the points of a box.
template <class... Parameters, class... Arguments>
Status launch_over(void (*kernel)(Parameters...), const Box& box, cudaStream_t stream, Arguments&&... arguments) {
    if (box.lo[0] >= box.hi[0] || box.lo[1] >= box.hi[1] || box.lo[2] >= box.hi[2]) return cudaSuccess;
    const dim3 grid(blocks_for(box.hi[2] - box.lo[2], apply_lanes), blocks_for(box.hi[1] - box.lo[1], apply_rows),
                    static_cast<unsigned>(box.hi[0] - box.lo[0]));
    return launch(kernel, grid, dim3(apply_lanes, apply_rows), 0, stream, std::forward<Arguments>(arguments)...);
}

} // namespace subsalt::cuda
