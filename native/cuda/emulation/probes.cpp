// What tests ask of the emulated devices and change about them, beside api.h: by name, through the loaded library.
#include "emulated.hpp"

using namespace subsalt::emulation;

#define PROBE extern "C" __attribute__((visibility("default")))

/// The devices on which this process has a context, one bit each.
PROBE std::int64_t subsalt_emulated_contexts() {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    std::int64_t bits = 0;
    for (const int number : dev.contexts)
        bits |= std::int64_t{1} << number;
    return bits;
}

/// What another library does when it chooses a device in this thread of the host.
PROBE int subsalt_emulated_choose(int number) {
    return cudaSetDevice(number);
}

/// How often it was asked how many blocks of a kernel run at once.
PROBE std::int64_t subsalt_emulated_occupancy_questions() {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    return dev.occupancy_questions;
}
