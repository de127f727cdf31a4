#include "emulated.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace subsalt::emulation {

long long number_of(const char* name, long long otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::atoll(text) : otherwise;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int& device_in_use() {
    thread_local int number = 0;
    return number;
}

thread_local cudaError_t Device::last = cudaSuccess;

Device::Device() {
    if (const char* const seed = std::getenv("SUBSALT_EMULATED_ORDER"); seed != nullptr && *seed != '\0')
        random_ = std::make_unique<std::mt19937_64>(std::strtoull(seed, nullptr, 10));
}

cudaError_t Device::die(const std::string& why) {
    if (sticky == cudaSuccess) complaint = why;
    return fail(sticky = cudaErrorIllegalAddress);
}

cudaError_t Device::add(Stream* stream, Operation operation) {
    if (sticky != cudaSuccess) return fail(sticky);
    if (!knows(stream)) return fail(cudaErrorInvalidResourceHandle);
    const long long lost = number_of("SUBSALT_EMULATED_LOST", 0);
    if (lost > 0 && ++asked_ >= lost) return fail(sticky = cudaErrorDevicesUnavailable);
    stream->queue.push_back(std::move(operation));
    if (!late()) drain();
    return sticky;
}

Stream* Device::new_stream() {
    auto* const made = new Stream;
    made->device = device_in_use();
    // some streams come on seldom: what is asked of them waits while others go far ahead
    if (late()) made->share = 1u << (2 * ((*random_)() % 3));
    streams.push_back(made);
    return made;
}

bool Device::knows(const Stream* stream) const {
    return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

bool Device::forget(Stream* stream) {
    if (std::erase(streams, stream) == 0) return false;
    delete stream;
    return true;
}

Stream* Device::next() {
    std::vector<Stream*> ready;
    std::uint64_t shares = 0;
    for (Stream* const s : streams)
        if (!s->queue.empty() && s->queue.front().may_begin()) {
            ready.push_back(s);
            shares += s->share;
        }
    if (ready.empty()) return nullptr;
    if (!late()) return ready.front();
    std::uint64_t at = (*random_)() % shares;
    for (Stream* const s : ready) {
        if (at < s->share) return s;
        at -= s->share;
    }
    return ready.back();
}

void Device::drain_device(int number) {
    drain([this, number] {
        return std::all_of(streams.begin(), streams.end(),
                           [number](const Stream* s) { return s->device != number || s->queue.empty(); });
    });
}

Device& device() {
    static Device* const made = new Device; // outlives whoever frees memory at exit
    return *made;
}

} // namespace subsalt::emulation
