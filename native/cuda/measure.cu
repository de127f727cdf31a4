// What the device and its link give at best: the yardsticks of the lab. Seconds are those between two events on a
// stream, so that what the host does beside it does not count.
//
//   copy     out = in, each block a run of its own: 8 bytes per float32 moved. A thread has eight loads of 16 bytes in
//            flight before its first store: 64 KB per multiprocessor of 512 threads, where 4.3 TB/s need about 23 KB
//   runtime  the same by cudaMemcpyAsync; a roof is the faster of both
//   link     cudaMemcpyAsync from and to page-locked memory
//   launch   an empty kernel, many times: what a kernel costs beyond its work
#include "context.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace subsalt::cuda {

namespace {

constexpr int copy_threads = 256, copy_turns = 8;

SUBSALT_GLOBAL void __launch_bounds__(copy_threads) copy_quads(float4* out, const float4* in, Index n) {
    constexpr Index whole = Index{copy_threads} * copy_turns;
    const Index begin = static_cast<Index>(blockIdx.x) * whole, first = begin + threadIdx.x;
    if (begin + whole > n) { // the last block
        for (Index at = first; at < n; at += copy_threads)
            out[at] = __ldcs(in + at);
        return;
    }
    float4 loaded[copy_turns];
#pragma unroll
    for (int i = 0; i < copy_turns; ++i)
        loaded[i] = __ldcs(in + first + i * copy_threads);
#pragma unroll
    for (int i = 0; i < copy_turns; ++i)
        out[first + i * copy_threads] = loaded[i];
}

SUBSALT_GLOBAL void nothing() {}

/// Two events and what is freed at the end, whatever happened between.
class Stopwatch {
public:
    Status make() {
        SUBSALT_CHECK(cudaEventCreate(&from_));
        return cudaEventCreate(&to_);
    }
    ~Stopwatch() {
        if (from_ != nullptr) cudaEventDestroy(from_);
        if (to_ != nullptr) cudaEventDestroy(to_);
    }
    /// Seconds that `work` takes on the stream.
    template <class Work>
    Status time(Work work, double* seconds) {
        cudaStream_t const stream = context().compute;
        SUBSALT_CHECK(cudaEventRecord(from_, stream));
        SUBSALT_CHECK(work(stream));
        SUBSALT_CHECK(cudaEventRecord(to_, stream));
        SUBSALT_CHECK(cudaEventSynchronize(to_));
        float ms = 0;
        SUBSALT_CHECK(cudaEventElapsedTime(&ms, from_, to_));
        *seconds = static_cast<double>(ms) * 1e-3;
        return cudaSuccess;
    }

private:
    cudaEvent_t from_ = nullptr, to_ = nullptr;
};

/// Memory for one measurement.
struct Rooms {
    void *device[2] = {nullptr, nullptr}, *host = nullptr;
    ~Rooms() {
        release(device[0]);
        release(device[1]);
        release_host(host);
    }
};

/// What is copied, and whether it is at the target: looked for in pieces from end to end.
constexpr int pattern = 0x5a;
Status verify(const void* target, std::int64_t bytes, bool* arrived) {
    constexpr std::int64_t piece = 1 << 16;
    for (std::int64_t at = 0; at < bytes; at += std::max(piece, bytes / 64)) {
        std::vector<unsigned char> found(static_cast<std::size_t>(std::min(piece, bytes - at)));
        const auto* from = static_cast<const unsigned char*>(target) + at;
        SUBSALT_CHECK(cudaMemcpyAsync(found.data(), from, found.size(), cudaMemcpyDefault, context().compute));
        SUBSALT_CHECK(cudaStreamSynchronize(context().compute));
        *arrived = std::all_of(found.begin(), found.end(), [](unsigned char c) { return c == pattern; });
        if (!*arrived) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/// Of subsalt_cuda_measure_copy.
enum CopyKind { by_kernel, up, down, by_runtime };

Status measure_copy(std::int64_t bytes, int rounds, int kind, double* seconds, bool* arrived) {
    const bool inside = kind == by_kernel || kind == by_runtime;
    Rooms rooms;
    Stopwatch watch;
    SUBSALT_CHECK(watch.make());
    SUBSALT_CHECK(allocate(&rooms.device[0], bytes));
    const auto whole = static_cast<std::size_t>(bytes);
    SUBSALT_CHECK(cudaMemsetAsync(rooms.device[0], kind == up ? 0 : pattern, whole, context().compute));
    if (inside)
        SUBSALT_CHECK(allocate(&rooms.device[1], bytes));
    else
        SUBSALT_CHECK(allocate_host(&rooms.host, bytes));
    if (rooms.host != nullptr) std::memset(rooms.host, kind == up ? pattern : 0, whole);
    const auto work = [&](cudaStream_t stream) -> Status {
        if (kind == up) return cudaMemcpyAsync(rooms.device[0], rooms.host, whole, cudaMemcpyHostToDevice, stream);
        if (kind == down) return cudaMemcpyAsync(rooms.host, rooms.device[0], whole, cudaMemcpyDeviceToHost, stream);
        if (kind == by_runtime)
            return cudaMemcpyAsync(rooms.device[1], rooms.device[0], whole, cudaMemcpyDeviceToDevice, stream);
        const Index quads = bytes / 16;
        return launch(copy_quads, blocks_for(quads, copy_threads * copy_turns), copy_threads, 0, stream,
                      static_cast<float4*>(rooms.device[1]), static_cast<const float4*>(rooms.device[0]), quads);
    };
    double warm = 0;
    SUBSALT_CHECK(watch.time(work, &warm));
    SUBSALT_CHECK(verify(kind == down ? rooms.host : rooms.device[inside ? 1 : 0], bytes, arrived));
    for (int i = 0; i < rounds; ++i)
        SUBSALT_CHECK(watch.time(work, seconds + i));
    return cudaSuccess;
}

Status measure_launch(int launches, int rounds, double* seconds) {
    Stopwatch watch;
    SUBSALT_CHECK(watch.make());
    const auto work = [&](cudaStream_t stream) -> Status {
        for (int i = 0; i < launches; ++i)
            SUBSALT_CHECK(launch(nothing, 1, 32, 0, stream));
        return cudaSuccess;
    };
    double warm = 0;
    SUBSALT_CHECK(watch.time(work, &warm));
    for (int i = 0; i < rounds; ++i) {
        SUBSALT_CHECK(watch.time(work, seconds + i));
        seconds[i] /= launches;
    }
    return cudaSuccess;
}

} // namespace

} // namespace subsalt::cuda

using namespace subsalt::cuda;

int subsalt_cuda_measure_copy(int64_t bytes, int32_t rounds, int32_t kind, double* seconds) {
    bool arrived = true;
    const int code =
        entered("measuring copies", [&] { return measure_copy(bytes / 16 * 16, rounds, kind, seconds, &arrived); });
    return arrived ? code : said(cudaErrorInvalidValue, "measuring copies, what arrived is not what was sent");
}

int subsalt_cuda_measure_launch(int32_t launches, int32_t rounds, double* seconds) {
    return entered("measuring launches", [&] { return measure_launch(launches, rounds, seconds); });
}
