// How long the marches of a launch are: so that its blocks fill whole waves of the device. A wave is what the device
// runs at once; the last one takes as long as any other, however few blocks it has.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "device.hpp"

namespace subsalt::cuda {

/// What the driver has said of kernels, by device and kernel: so much shared memory, so many threads and blocks at
/// once.
struct KnownOccupancy {
    struct Answer {
        int threads;
        std::size_t shared;
        int blocks;
    };
    std::mutex mutex; // Python calls from several threads
    std::map<std::pair<int, const void*>, Answer> answers;

    static KnownOccupancy& of_process() {
        static KnownOccupancy made;
        return made;
    }
};

/// Blocks of a kernel that the device in use runs at once; the kernel is allowed so much shared memory. The driver is
/// asked once per kernel and device: an answer takes the host 5 to 10 us by estimate, a launch 2 to 3.
template <class... Parameters>
Status blocks_at_once(void (*kernel)(Parameters...), int threads, std::size_t shared, int* out) {
    int device = 0, multiprocessors = 0;
    SUBSALT_CHECK(cudaGetDevice(&device));
    KnownOccupancy& known = KnownOccupancy::of_process();
    const std::lock_guard lock(known.mutex);
    const std::pair key{device, reinterpret_cast<const void*>(kernel)};
    const auto found = known.answers.find(key);
    if (found != known.answers.end() && found->second.threads == threads && found->second.shared == shared) {
        *out = found->second.blocks;
        return cudaSuccess;
    }
    SUBSALT_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    SUBSALT_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    SUBSALT_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, kernel, threads, shared));
    *out *= multiprocessors;
    if (*out <= 0) return cudaErrorInvalidConfiguration;
    known.answers.insert_or_assign(key, KnownOccupancy::Answer{threads, shared, *out});
    return cudaSuccess;
}

/// n / d, rounded up.
constexpr int over(int n, int d) {
    return (n + d - 1) / d;
}

/// A box of a launch, as far as its marches go: planes along x, blocks side by side, marches in a block.
struct Marched {
    int planes, tiles, per_block;

    /// Planes of a march, all as long as each other, none longer than `most`.
    int length(int most) const { return over(planes, over(planes, most)); }
    Index blocks(int most) const { return Index{tiles} * over(over(planes, length(most)), per_block); }
};

/// Planes of a march, and how many it could have made in the time before its first one.
struct MarchLimits {
    int least, most, warm_up;
};

/// How long marches of a launch are at most: the length with which it is done soonest, where every wave takes the time
/// of the longest march and its start. Of equals the longest.
inline int longest_march(std::span<const Marched> boxes, const MarchLimits& limits, int at_once) {
    int planes = 1, best = 0;
    for (const Marched& box : boxes)
        planes = box.planes > planes ? box.planes : planes;
    Index soonest = 0;
    for (int marches = over(planes, limits.most); best == 0 || over(planes, marches) >= limits.least; ++marches) {
        const int length = over(planes, marches);
        Index blocks = 0;
        for (const Marched& box : boxes)
            blocks += box.blocks(length);
        const Index time = (blocks + at_once - 1) / at_once * (length + limits.warm_up);
        if (best == 0 || time < soonest) best = length, soonest = time;
        if (length == 1) break;
    }
    return best;
}

} // namespace subsalt::cuda
