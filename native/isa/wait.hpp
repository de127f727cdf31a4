// How the threads of a segment wait for each other: counters that only grow, and a barrier.
//
// Compiler builtins in place of std::atomic: a template of the standard library would be merged between instruction
// sets.
#pragma once

#include <sched.h>
#include <time.h>

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

/// A number on cache lines of its own (two: neighbours are fetched in pairs).
struct alignas(128) Counter {
    Index value;
};

SUBSALT_INLINE Index read(const Counter& c) {
    return __atomic_load_n(&c.value, __ATOMIC_ACQUIRE);
}

SUBSALT_INLINE void publish(Counter& c, Index value) {
    __atomic_store_n(&c.value, value, __ATOMIC_RELEASE);
}

/// Wait a little; after a thousand times give the core away, since the thread waited for may need it.
SUBSALT_INLINE void relax(int& spins) {
    if (++spins > 1000) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Return the value of the counter once it is `least` or more.
inline Index wait_for(const Counter& c, Index least) {
    Index value = read(c);
    for (int spins = 0; value < least; value = read(c))
        relax(spins);
    return value;
}

/// Rest as long as others take for some planes of a small grid: who does not wait for this thread is found out.
inline void rest() {
    const timespec pause{0, 200000};
    nanosleep(&pause, nullptr);
}

struct Barrier {
    Counter arrived, passed;
};

/// Wait until the whole team is here.
inline void meet(Barrier& barrier, int team) {
    if (team == 1) return;
    const Index now = read(barrier.passed);
    if (__atomic_add_fetch(&barrier.arrived.value, 1, __ATOMIC_ACQ_REL) == team) {
        __atomic_store_n(&barrier.arrived.value, 0, __ATOMIC_RELAXED);
        publish(barrier.passed, now + 1);
        return;
    }
    wait_for(barrier.passed, now + 1);
}

} // namespace subsalt::SUBSALT_NS
