// The emulated devices: their streams, events and memory, and what goes wrong on request.
//
// There are as many as SUBSALT_EMULATED_GPUS says, and each stream, event and array is of one of them. As with CUDA the
// device in use belongs to a thread of the host, 0 in every new one. Kernels run on streams of the device in use, with
// memory of that device; copies and fills have memory of their stream's device; an event is recorded on streams of its
// own.
#pragma once

#include "cuda_runtime.h"
#include "memory.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace subsalt::emulation {

struct Event {
    int device = 0;
    std::uint64_t asked = 0, done = 0; // tickets of records
    double at = 0;
};

/// One piece of work on a stream; it may begin when `wait` has reached `ticket`.
struct Operation {
    std::function<void()> work;
    Event* wait = nullptr;
    std::uint64_t ticket = 0;

    bool may_begin() const { return wait == nullptr || wait->done >= ticket; }
};

struct Stream {
    int device = 0;
    std::deque<Operation> queue;
    unsigned share = 1; // how often it comes on, beside others; with a seed
};

constexpr int default_shared = 48 << 10, most_shared = 227 << 10;

/// The number that an environment variable holds, or another one.
long long number_of(const char* name, long long otherwise);
double now();

/// The device that this thread of the host uses.
int& device_in_use();

/// All devices: one mutex, and one end when one of them is lost.
class Device {
public:
    std::recursive_mutex mutex;
    Memory memory;
    std::vector<Stream*> streams; // as they were made: a seed means the same every time
    std::set<Event*> events;
    std::map<std::pair<int, const void*>, int> shared_allowed; // by device and kernel
    cudaError_t sticky = cudaSuccess;
    std::string complaint;
    std::set<int> contexts;               // devices that this process has begun to use
    std::int64_t occupancy_questions = 0; // how often it was asked how many blocks run at once

    Device();
    bool late() const { return random_ != nullptr; }
    std::mt19937_64* random() { return random_.get(); }
    std::size_t total() const { return static_cast<std::size_t>(number_of("SUBSALT_EMULATED_MEMORY", 4LL << 30)); }

    std::size_t lockable() const { return static_cast<std::size_t>(number_of("SUBSALT_EMULATED_LOCKED", 1LL << 40)); }

    /// Remembered in this thread of the host until it asks; a call that succeeds does not take it back.
    cudaError_t fail(cudaError_t error) {
        if (error != cudaSuccess) last = error;
        return error;
    }
    /// What the thread has not asked for yet; what a device does not survive comes back.
    cudaError_t take_last() {
        const cudaError_t out = last != cudaSuccess ? last : sticky;
        last = sticky;
        return out;
    }
    cudaError_t peek_last() const { return last; }
    /// What a device does not survive: said once, returned by all that follows.
    cudaError_t die(const std::string& why);
    /// Add work to a stream; without a seed it is done at once.
    cudaError_t add(Stream* stream, Operation operation);
    Stream* new_stream();
    bool knows(const Stream* stream) const;
    bool forget(Stream* stream);

    /// Do work, in any allowed order, until `enough` or until there is none.
    template <class Enough>
    void drain(Enough enough) {
        while (sticky == cudaSuccess && !enough()) {
            Stream* const s = next();
            if (s == nullptr) return;
            Operation operation = std::move(s->queue.front());
            s->queue.pop_front();
            if (operation.work) operation.work();
        }
    }
    void drain() {
        drain([] { return false; });
    }
    /// Do work until a device has none.
    void drain_device(int number);
    /// Do one piece of work unless `enough`: whoever asks again and again must see an end.
    template <class Enough>
    void go_on(Enough enough) {
        int pieces = 0;
        drain([&] { return enough() || pieces++ > 0; });
    }

private:
    Stream* next();

    static thread_local cudaError_t last;
    std::unique_ptr<std::mt19937_64> random_;
    long long asked_ = 0;
};

Device& device();

} // namespace subsalt::emulation
