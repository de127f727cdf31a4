// Asynchronous copies to shared memory (cp.async), as late as a device may make them.
//
// A copy that has begun leaves numbers that are not numbers at its target; what stands at its source when its thread
// waits for it arrives then. So whoever reads before a wait, or waits for a group too few, computes nonsense that a
// test sees. With a seed (SUBSALT_EMULATED_ORDER) the oldest group may arrive earlier, as it may on a device.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace subsalt::emulation {

/// The copies of one thread that are under way, in groups.
class Copies {
public:
    void begin(void* to, const void* from, std::size_t bytes);
    /// End the group of what has begun; empty groups count.
    void end_group(std::mt19937_64* random);
    /// Let all groups arrive but the last `ahead`.
    void wait(int ahead);
    void clear();

private:
    struct Copy {
        void* to;
        const void* from;
        std::size_t bytes;
    };
    void arrive();

    std::vector<Copy> copies_;
    std::vector<std::size_t> ends_;        // behind the last copy of each group
    std::size_t arrived_ = 0, groups_ = 0; // copies and groups that have
};

/// Of the threads of a block: none are under way when it begins.
class BlockCopies {
public:
    void begin_block(unsigned threads);
    Copies& of(unsigned thread);

private:
    std::vector<Copies> of_thread_;
    bool used_ = false;
};

} // namespace subsalt::emulation
