// What a thread will need some planes later is copied to its own slots of shared memory meanwhile (cp.async), past the
// registers: at 4.3 TB/s and 0.7 us of latency some 23 KB per multiprocessor must be on their way at any time, which
// registers of 512 threads hold badly beside the 36 of a column. Nobody else reads a slot, so there is no barrier.
#pragma once

#include "stencil.cuh"

namespace subsalt::cuda {

/// Start copying 16 or 8 bytes to shared memory. `keep`: through L1, for neighbours read them too.
template <bool keep, class Quad>
SUBSALT_DEVICE void start_copy(void* shared, const Quad* global) {
#if defined(__CUDA_ARCH__)
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (sizeof(Quad) == 16 && !keep)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(sizeof(Quad)) : "memory");
#elif defined(SUBSALT_EMULATED)
    emulation::start_copy(shared, global, sizeof(Quad));
#endif
}

/// End of the copies of one plane.
SUBSALT_DEVICE void commit_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#elif defined(SUBSALT_EMULATED)
    emulation::commit_copies();
#endif
}

/// Wait until all but the copies of the last `ahead` planes are there.
template <int ahead>
SUBSALT_DEVICE void wait_for_copies() {
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
#elif defined(SUBSALT_EMULATED)
    emulation::wait_for_copies(ahead);
#endif
}

/// The slots of a thread: `arrays` quads for each of `stages` planes.
template <int stages, int arrays>
class Slots {
public:
    static constexpr int planes = stages;
    static constexpr std::size_t bytes = std::size_t{stages} * arrays * 16; // per thread

    SUBSALT_DEVICE explicit Slots(float4* room) : mine_(room + threadIdx.x), threads_(static_cast<int>(blockDim.x)) {}

    /// Where array `i` of the plane that is `stages` - 1 ahead goes, and where that of this plane is.
    SUBSALT_DEVICE void* ahead(int i) const { return slot(now_ == 0 ? stages - 1 : now_ - 1, i); }
    SUBSALT_DEVICE void* of_stage(int stage, int i) const { return slot(stage, i); }
    template <class Quad = float4>
    SUBSALT_DEVICE Quad now(int i) const {
        return *static_cast<const Quad*>(slot(now_, i));
    }
    SUBSALT_DEVICE void next() { now_ = now_ == stages - 1 ? 0 : now_ + 1; }

private:
    float4* mine_;
    int threads_, now_ = 0;

    SUBSALT_DEVICE void* slot(int stage, int i) const { return mine_ + (stage * arrays + i) * threads_; }
};

} // namespace subsalt::cuda
