// A stand-in for the CUDA runtime: the device sources, compiled by a C++ compiler against this header, compute on the
// host. It exists for the tests of machines without a GPU. What it imitates:
//
//   devices    several (SUBSALT_EMULATED_GPUS), none of which reaches the memory of another; the one in use belongs to
//              a thread of the host (emulated.hpp)
//   kernels    every thread of a block is run, one after the other; __syncthreads is a barrier (fibres)
//   streams    work on a stream runs in order; between streams only events order it
//   memory     its own, with guards around it, filled with not-a-numbers until it is written (memory.hpp); so are
//   shared
//              arrays of a block, which SUBSALT_SHARED and SUBSALT_SHARED_ARRAY of device.hpp make: there is no
//              __shared__
//   copies     asynchronous ones to shared memory arrive when their thread waits for them, not before (copies.hpp)
//   roots      approximations are wrong by what PTX allows (approximations.cpp); what the compiler makes of sqrtf and /
//              is rounded correctly, by the host
//   failures   no device, an old driver, too little memory, a device that is lost
//
// It stops, as for an illegal address, at what a real device forbids but may not notice: arguments that point to memory
// of the host or of another device, copies beyond an array, threads of a block at different barriers, vectors off their
// alignment.
//
// With SUBSALT_EMULATED_ORDER=seed work is done as late as allowed, streams and threads take turns at random: what
// real devices may do and seldom do. Arithmetic is that of the device: no contraction, denormals flushed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#define SUBSALT_EMULATED 1

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

// clang-format off
enum cudaError_t {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
    cudaErrorCudartUnloading = 4, cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35, cudaErrorDevicesUnavailable = 46, cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101, cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700, cudaErrorHostMemoryAlreadyRegistered = 712, cudaErrorLaunchFailure = 719,
    cudaErrorUnknown = 999, cudaErrorApiFailureBase = 10000
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38
};
// clang-format on
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0,
                   cudaHostAllocMapped = 2, cudaHostRegisterDefault = 0, cudaHostAllocPortable = 1,
                   cudaHostRegisterPortable = 1, cudaHostRegisterReadOnly = 8;

// All that the launch syntax and the built-in variables need
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) ushort4 {
    unsigned short x, y, z, w;
};
struct alignas(4) ushort2 {
    unsigned short x, y;
};
struct alignas(16) double2 {
    double x, y;
};
inline float2 make_float2(float x, float y) {
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
inline int2 make_int2(int x, int y) {
    return {x, y};
}
inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) {
    return {x, y, z, w};
}
inline double2 make_double2(double x, double y) {
    return {x, y};
}

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    std::size_t totalGlobalMem;
    int major, minor, multiProcessorCount, integrated, pciDomainID, pciBusID, pciDeviceID, l2CacheSize;
    std::size_t sharedMemPerBlockOptin;
};

namespace subsalt::emulation {

struct Stream;
struct Event;

/// Where the thread that is computed now stands.
struct Place {
    uint3 thread{0, 0, 0}, block{0, 0, 0};
    dim3 block_size, grid_size;
};
extern Place place;

/// Dynamic shared memory of the block; an array of its own, by the place that declares it.
void* shared_memory();
void* shared_array(const void* site, std::size_t bytes);
/// `site`: the line; all threads of a block that wait must wait at one.
void barrier(int site);
void complain_of_alignment();
/// Asynchronous copies of the thread that is computed now.
void start_copy(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(int ahead);
/// 1 / sqrt(a) and 1 / a as the hardware approximates them; `steps`: how
/// many numbers from the nearest, where that is allowed.
float approximate_inverse_root(float a);
float approximate_inverse(float a);
float approximate_inverse_root(float a, int steps);
float approximate_inverse(float a, int steps);
/// Whether the stream is one of the device in use.
bool may_launch_on(Stream* stream);
/// Stop the device when an argument holds the address of memory that a kernel on it does not reach; whether it did.
bool names_wrong_memory(const void* argument, std::size_t bytes);
cudaError_t enqueue_launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared, Stream* stream,
                           std::function<void()> thread);

/// The same of a value, whose padding may hold anything.
template <class T>
bool is_out_of_reach(T argument) {
#if defined(__GNUC__) && !defined(__clang__)
    __builtin_clear_padding(&argument);
#endif
    return names_wrong_memory(&argument, sizeof argument);
}

template <class... P>
cudaError_t start(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared, Stream* stream, P... arguments) {
    if (!may_launch_on(stream)) return cudaErrorInvalidResourceHandle;
    if ((is_out_of_reach(arguments) || ...)) return cudaErrorIllegalAddress;
    // arguments are copied now, as a launch does
    return enqueue_launch(reinterpret_cast<const void*>(kernel), grid, block, shared, stream,
                          [kernel, args = std::tuple<P...>(arguments...)] { std::apply(kernel, args); });
}

template <class T>
inline void check_alignment(const T* p) {
    if (reinterpret_cast<std::uintptr_t>(p) % sizeof(T) != 0) complain_of_alignment();
}

cudaError_t allow_shared(const void* kernel, int bytes);
/// Blocks that a multiprocessor runs at once: SUBSALT_EMULATED_BLOCKS, or with a seed any number.
cudaError_t blocks_at_once(int* blocks, int threads, std::size_t shared);

} // namespace subsalt::emulation

using cudaStream_t = subsalt::emulation::Stream*;
using cudaEvent_t = subsalt::emulation::Event*;
using cudaHostFn_t = void (*)(void*);

#define threadIdx (::subsalt::emulation::place.thread)
#define blockIdx (::subsalt::emulation::place.block)
#define blockDim (::subsalt::emulation::place.block_size)
#define gridDim (::subsalt::emulation::place.grid_size)
constexpr int warpSize = 32;

#define __syncthreads() ::subsalt::emulation::barrier(__LINE__)
inline void __threadfence() {}

// Arithmetic with one rounding each
inline float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float __fsqrt_rn(float a) {
    return __builtin_sqrtf(a);
}
inline int __float_as_int(float a) {
    int i;
    std::memcpy(&i, &a, sizeof i);
    return i;
}
inline float __int_as_float(int i) {
    float a;
    std::memcpy(&a, &i, sizeof a);
    return a;
}
inline unsigned __float_as_uint(float a) {
    return static_cast<unsigned>(__float_as_int(a));
}
inline float __uint_as_float(unsigned i) {
    return __int_as_float(static_cast<int>(i));
}
inline int __float2int_rz(float a) {
    return static_cast<int>(a);
}
inline int __float2int_rd(float a) {
    return static_cast<int>(std::floor(a));
}
inline int __float2int_rn(float a) {
    return static_cast<int>(std::nearbyint(a));
}

// Loads and stores with a hint
template <class T>
inline T __ldg(const T* p) {
    subsalt::emulation::check_alignment(p);
    return *p;
}
template <class T>
inline T __ldcs(const T* p) {
    subsalt::emulation::check_alignment(p);
    return *p;
}
template <class T>
inline T __ldca(const T* p) {
    subsalt::emulation::check_alignment(p);
    return *p;
}
template <class T>
inline T __ldcg(const T* p) {
    subsalt::emulation::check_alignment(p);
    return *p;
}
template <class T>
inline void __stcs(T* p, T v) {
    subsalt::emulation::check_alignment(p);
    *p = v;
}
template <class T>
inline void __stcg(T* p, T v) {
    subsalt::emulation::check_alignment(p);
    *p = v;
}
template <class T>
inline void __stwt(T* p, T v) {
    subsalt::emulation::check_alignment(p);
    *p = v;
}
template <class T>
inline T atomicAdd(T* p, T v) {
    const T old = *p;
    *p = old + v;
    return old;
}
template <class T>
inline T atomicOr(T* p, T v) {
    const T old = *p;
    *p = old | v;
    return old;
}
template <class T>
inline T atomicMax(T* p, T v) {
    const T old = *p;
    *p = old < v ? v : old;
    return old;
}
template <class T>
inline T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
inline T max(T a, T b) {
    return a < b ? b : a;
}

// The runtime
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total);
cudaError_t cudaMalloc(void** p, std::size_t bytes);
cudaError_t cudaFree(void* p);
cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* p);
cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* p);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to);

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    return subsalt::emulation::allow_shared(reinterpret_cast<const void*>(kernel), value);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(P...), int threads,
                                                          std::size_t shared) {
    return subsalt::emulation::blocks_at_once(blocks, threads, shared);
}
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(p), bytes);
}
