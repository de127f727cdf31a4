// What every device source includes: the CUDA runtime, or the emulation of it (emulation/cuda_runtime.h), by include
// path. Nothing beyond CUDA 13.0 and sm_80 is used.
//
// Compiled with -fmad=false -ftz=true -prec-div=true -prec-sqrt=true: multiply-adds are those that the source names
// (`fma1`), and denormals are flushed, as in the kernels of the CPU. So a field has their bits.
#pragma once

#include <atomic>

#include <cuda_runtime.h>

#include "problem.hpp"

#define SUBSALT_GLOBAL __global__
#define SUBSALT_DEVICE __device__ __forceinline__

/// SUBSALT_SHARED: dynamic shared memory of the block, as `type* name`. SUBSALT_SHARED_ARRAY: an array in it of known
/// length.
#if defined(SUBSALT_EMULATED)
#define SUBSALT_SHARED(type, name) type* const name = static_cast<type*>(::subsalt::emulation::shared_memory())
#define SUBSALT_SHARED_ARRAY(type, name, count)                                                                        \
    static char name##_site;                                                                                           \
    type* const name = static_cast<type*>(::subsalt::emulation::shared_array(&name##_site, sizeof(type) * (count)))
#else
#define SUBSALT_SHARED(type, name)                                                                                     \
    extern __shared__ __align__(128) unsigned char subsalt_shared_memory[];                                            \
    type* const name = reinterpret_cast<type*>(subsalt_shared_memory)
#define SUBSALT_SHARED_ARRAY(type, name, count) __shared__ type name[count]
#endif

/// Return from the function with the error that `expression` gives, if any.
#define SUBSALT_CHECK(expression)                                                                                      \
    do {                                                                                                               \
        const ::subsalt::cuda::Status status_of_call = (expression);                                                   \
        if (status_of_call != cudaSuccess) return status_of_call;                                                      \
    } while (0)

namespace subsalt::cuda {

using Status = cudaError_t;

SUBSALT_DEVICE float fma1(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}

/// What this process has done on the device, for reports.
struct Counters {
    std::atomic<std::int64_t> steps{0}, launches{0}, to_device{0}, to_host{0}, snapshots{0};
};
inline Counters& counters() {
    static Counters made;
    return made;
}

/// Start a kernel; what <<<>>> does, also in the emulation.
template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream,
              Arguments&&... arguments) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return cudaSuccess;
    ++counters().launches;
#if defined(SUBSALT_EMULATED)
    emulation::start(kernel, grid, block, shared, stream, static_cast<Parameters>(arguments)...);
#else
    kernel<<<grid, block, shared, stream>>>(static_cast<Parameters>(arguments)...);
#endif
    return cudaGetLastError(); // also what an earlier call left behind
}

/// Blocks that cover n.
inline unsigned blocks_for(Index n, Index per_block) {
    return static_cast<unsigned>((n + per_block - 1) / per_block);
}

} // namespace subsalt::cuda
