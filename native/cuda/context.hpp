// The device of this process: its streams, its plans, and what is said of the last error.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "api.h"
#include "kernels.hpp"

namespace subsalt::cuda {

/// The streams of this process. Kernels run on `compute`, in the order in which they were asked for.
struct Context {
    bool ready = false;
    int device = -1;
    cudaStream_t compute = nullptr, copy_out = nullptr, copy_in = nullptr;
};
Context& context();

/// Let this thread of the host use the GPU of the process. CUDA keeps the device in use per thread: a new one has the
/// first GPU, whichever the process has chosen in another thread, and another library may choose as well. Whatever
/// allocates, asks, copies, makes streams and events or launches comes after this.
Status enter();
/// The same for who frees: what goes wrong is kept, and said by the next call.
void enter_to_free();

/// Keep what a call said, for subsalt_cuda_message; returns its number.
int said(Status status, const char* what);

/// What a function of api.h that reaches the GPU does, but for those that free: enter, work, say what came of it.
template <class Work>
int entered(const char* what, Work work) {
    Status status = enter();
    if (status == cudaSuccess) status = work();
    return said(status, what);
}

/// Bytes on the device and page-locked, now and at most.
struct Allocated {
    std::atomic<std::int64_t> device{0}, device_peak{0}, host{0}, host_peak{0};
};
Allocated& allocated();

/// Allocate and release on the device, counted. Everything that the plug-in itself needs goes through these too.
Status allocate(void** out, std::int64_t bytes);
void release(void* p);
Status allocate_host(void** out, std::int64_t bytes); // page-locked
void release_host(void* p);

/// cudaMemcpyAsync, counted where the kind is named.
Status copy_async(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream);

/// A problem whose pointers are on the device, and the tables they point to.
struct DevicePlan {
    DeviceProblem pb;
    Tuning tuning;
    std::vector<void*> owned;
    ~DevicePlan();
};

inline const DevicePlan& plan_of(const void* plan) {
    return *static_cast<const DevicePlan*>(plan);
}
inline Levels levels_of(void* const p[13]) {
    const auto f = [p](int i) { return static_cast<float*>(p[i]); };
    return {{f(0), f(1)}, {f(2), f(3)}, {f(4), f(5), f(6)}, {f(7), f(8), f(9)}, {f(10), f(11), f(12)}};
}
inline Box box_of(const std::int64_t lo[3], const std::int64_t hi[3]) {
    return {{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
}
inline Shell shell_of(const std::int64_t lo[3], const std::int64_t hi[3], const std::int64_t width[6]) {
    Shell shell{box_of(lo, hi), {}, 0};
    Index inner = 1, whole = 1;
    for (int a = 0; a < 3; ++a) {
        shell.width[2 * a] = width[2 * a], shell.width[2 * a + 1] = width[2 * a + 1];
        whole *= shell.box.hi[a] - shell.box.lo[a];
        inner *= shell.box.hi[a] - shell.box.lo[a] - width[2 * a] - width[2 * a + 1];
    }
    shell.cells = whole - inner;
    return shell;
}

} // namespace subsalt::cuda
