// The emulated runtime: devices, memory, streams and events.
#include "cuda_runtime.h"
#include "fibres.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace subsalt::emulation {

Place place;

struct Event {
    std::uint64_t asked = 0, done = 0; // tickets of records
    double at = 0;
};

namespace {

/// One piece of work on a stream; it may begin when `wait` has reached `ticket`.
struct Operation {
    std::function<void()> work;
    Event* wait = nullptr;
    std::uint64_t ticket = 0;
};

} // namespace

struct Stream {
    std::deque<Operation> queue;
};

namespace {

constexpr std::size_t guard = 256;
constexpr unsigned char guard_byte = 0xa5, unwritten_byte = 0xff;
constexpr int default_shared = 48 << 10, most_shared = 227 << 10;

struct Block {
    void* memory;
    std::size_t bytes;
};

long long number_of(const char* name, long long otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::atoll(text) : otherwise;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Denormals are zeros in here, as on the device with -ftz=true.
class Flushing {
public:
#if defined(__x86_64__)
    Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
    ~Flushing() { _mm_setcsr(before_); }

private:
    unsigned before_;
#endif
};

class Device {
public:
    std::recursive_mutex mutex;
    std::map<const char*, Block> blocks; // by what cudaMalloc gave
    std::map<void*, std::size_t> locked; // page-locked
    std::set<Stream*> streams;
    std::set<Event*> events;
    std::map<const void*, int> shared_allowed;
    std::size_t used = 0;
    cudaError_t sticky = cudaSuccess, last = cudaSuccess;
    long long launches = 0;
    std::string complaint;

    bool late() const { return random_ != nullptr; }
    std::mt19937_64* random() { return random_.get(); }
    std::size_t total() const { return static_cast<std::size_t>(number_of("SUBSALT_EMULATED_MEMORY", 4LL << 30)); }

    Device() {
        if (const char* seed = std::getenv("SUBSALT_EMULATED_ORDER"); seed != nullptr && *seed != '\0')
            random_ = std::make_unique<std::mt19937_64>(std::strtoull(seed, nullptr, 10));
    }

    cudaError_t fail(cudaError_t error) { return last = error; }

    /// Add work to a stream; without a seed it is done at once.
    cudaError_t add(Stream* stream, Operation operation) {
        if (sticky != cudaSuccess) return fail(sticky);
        if (streams.count(stream) == 0) return fail(cudaErrorInvalidResourceHandle);
        const long long lost = number_of("SUBSALT_EMULATED_LOST", 0);
        if (lost > 0 && ++launches >= lost) return fail(sticky = cudaErrorDevicesUnavailable);
        stream->queue.push_back(std::move(operation));
        if (!late()) drain([] { return false; });
        return sticky;
    }

    /// Do work, in any allowed order, until `enough` or until there is none.
    template <class Enough>
    void drain(Enough enough) {
        while (sticky == cudaSuccess && !enough()) {
            std::vector<Stream*> ready;
            for (Stream* s : streams)
                if (!s->queue.empty() &&
                    (s->queue.front().wait == nullptr || s->queue.front().wait->done >= s->queue.front().ticket))
                    ready.push_back(s);
            if (ready.empty()) return;
            Stream* const s = late() ? ready[(*random_)() % ready.size()] : ready.front();
            Operation operation = std::move(s->queue.front());
            s->queue.pop_front();
            if (operation.work) operation.work();
        }
    }

    /// Do one piece of work unless `enough`: whoever asks again and again must see an end.
    template <class Enough>
    void go_on(Enough enough) {
        int pieces = 0;
        drain([&] { return enough() || pieces++ > 0; });
    }

    void* allocate(std::size_t bytes) {
        const std::size_t room = (bytes + 255) / 256 * 256;
        auto* raw = static_cast<unsigned char*>(std::aligned_alloc(256, room + 2 * guard));
        if (raw == nullptr) return nullptr;
        std::memset(raw, guard_byte, room + 2 * guard);
        std::memset(raw + guard, unwritten_byte, bytes);
        blocks[reinterpret_cast<const char*>(raw + guard)] = {raw, bytes};
        used += bytes;
        return raw + guard;
    }

    /// Whether nothing was written beyond a block.
    bool intact(const Block& block) const {
        const auto* raw = static_cast<const unsigned char*>(block.memory);
        const std::size_t room = (block.bytes + 255) / 256 * 256;
        for (std::size_t i = 0; i < guard; ++i)
            if (raw[i] != guard_byte || raw[guard + room + i] != guard_byte) return false;
        for (std::size_t i = block.bytes; i < room; ++i)
            if (raw[guard + i] != guard_byte) return false;
        return true;
    }

    void check_guards() {
        for (const auto& [p, block] : blocks)
            if (!intact(block)) {
                complaint = "a write beyond the " + std::to_string(block.bytes) + " bytes of a device array";
                sticky = cudaErrorIllegalAddress;
            }
    }

    bool release(void* p) {
        const auto at = blocks.find(static_cast<const char*>(p));
        if (at == blocks.end()) return false;
        if (!intact(at->second)) {
            complaint = "a write beyond the " + std::to_string(at->second.bytes) + " bytes of a device array";
            sticky = cudaErrorIllegalAddress;
        }
        used -= at->second.bytes;
        std::free(at->second.memory);
        blocks.erase(at);
        return true;
    }

private:
    std::unique_ptr<std::mt19937_64> random_;
};

Device& device() {
    static Device* const made = new Device; // outlives whoever frees memory at exit
    return *made;
}

Fibres& fibres() {
    static Fibres* const made = new Fibres;
    return *made;
}

std::vector<std::byte> shared_room;

void run_grid(dim3 grid, dim3 block, std::size_t shared, const std::function<void()>& thread) {
    const Flushing flush;
    Device& dev = device();
    const unsigned threads = block.x * block.y * block.z;
    const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
    std::vector<std::uint64_t> order(dev.late() ? count : 0);
    for (std::uint64_t i = 0; i < order.size(); ++i)
        order[i] = i;
    if (dev.late()) std::shuffle(order.begin(), order.end(), *dev.random());
    place.block_size = block;
    place.grid_size = grid;
    const std::function<void(unsigned)> enter = [block](unsigned i) {
        place.thread = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
    };
    for (std::uint64_t b = 0; b < count; ++b) {
        const std::uint64_t at = dev.late() ? order[b] : b;
        place.block = {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                       static_cast<unsigned>(at / (std::uint64_t{grid.x} * grid.y))};
        // exactly as large as asked for, and unwritten: what lies beyond is another's
        shared_room = std::vector<std::byte>(shared, std::byte{unwritten_byte});
        fibres().run(threads, thread, enter, dev.random());
    }
}

} // namespace

void* shared_memory() {
    return shared_room.data();
}

void barrier() {
    fibres().barrier();
}

cudaError_t allow_shared(const void* kernel, int bytes) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    if (bytes > most_shared) return dev.fail(cudaErrorInvalidValue);
    dev.shared_allowed[kernel] = bytes;
    return cudaSuccess;
}

cudaError_t enqueue_launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared, Stream* stream,
                           std::function<void()> thread) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    const auto allowed = dev.shared_allowed.find(kernel);
    const int most = allowed == dev.shared_allowed.end() ? default_shared : allowed->second;
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    if (threads == 0 || threads > 1024 || block.z > 64 || grid.y > 65535 || grid.z > 65535 || grid.x == 0 ||
        grid.x > 0x7fffffffu || grid.y == 0 || grid.z == 0 || shared > static_cast<std::size_t>(most))
        return dev.fail(cudaErrorInvalidConfiguration);
    return dev.add(stream, {[=, thread = std::move(thread)] { run_grid(grid, block, shared, thread); }});
}

} // namespace subsalt::emulation

using subsalt::emulation::device;
using subsalt::emulation::Event;
using subsalt::emulation::number_of;
using subsalt::emulation::Stream;

#define LOCKED                                                                                                         \
    auto& dev = device();                                                                                              \
    const std::lock_guard lock(dev.mutex)

namespace {

int gpus() {
    return static_cast<int>(number_of("SUBSALT_EMULATED_GPUS", 1));
}
int driver() {
    return static_cast<int>(number_of("SUBSALT_EMULATED_DRIVER", 13000));
}
thread_local int chosen = 0;

} // namespace

cudaError_t cudaDriverGetVersion(int* version) {
    *version = driver();
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    if (driver() < 13000) return device().fail(cudaErrorInsufficientDriver);
    if (gpus() < 1) return device().fail(cudaErrorNoDevice);
    *count = gpus();
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int number) {
    if (number < 0 || number >= gpus()) return device().fail(cudaErrorInvalidDevice);
    *p = {};
    std::snprintf(p->name, sizeof p->name, "emulated device %d", number);
    p->totalGlobalMem = device().total();
    p->major = 9, p->minor = 0, p->multiProcessorCount = 4, p->pciBusID = number + 1;
    p->l2CacheSize = 1 << 20;
    p->sharedMemPerBlockOptin = subsalt::emulation::most_shared;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? subsalt::emulation::most_shared
             : attribute == cudaDevAttrMultiProcessorCount        ? 4
                                                                  : 1 << 20;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int number) {
    if (driver() < 13000) return device().fail(cudaErrorInsufficientDriver);
    if (number < 0 || number >= gpus()) return device().fail(cudaErrorInvalidDevice);
    chosen = number;
    return device().sticky;
}
cudaError_t cudaGetDevice(int* number) {
    *number = chosen;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    LOCKED;
    dev.drain([] { return false; });
    dev.check_guards();
    return dev.fail(dev.sticky);
}
cudaError_t cudaGetLastError() {
    LOCKED;
    return std::exchange(dev.last, dev.sticky);
}
cudaError_t cudaPeekAtLastError() {
    return device().last;
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorDevicesUnavailable:
        return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorIllegalAddress:
        return device().complaint.empty() ? "an illegal memory access was encountered" : device().complaint.c_str();
    case cudaErrorHostMemoryAlreadyRegistered:
        return "part or all of the requested memory range is already mapped";
    default:
        return "unknown error";
    }
}
const char* cudaGetErrorName(cudaError_t error) {
    return cudaGetErrorString(error);
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
    LOCKED;
    *total = dev.total();
    *free_bytes = *total > dev.used ? *total - dev.used : 0;
    return dev.sticky;
}
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
    LOCKED;
    *p = nullptr;
    if (dev.sticky != cudaSuccess) return dev.fail(dev.sticky);
    if (bytes == 0) return cudaSuccess;
    if (dev.used + bytes > dev.total()) return dev.fail(cudaErrorMemoryAllocation);
    *p = dev.allocate(bytes);
    return *p != nullptr ? cudaSuccess : dev.fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* p) {
    LOCKED;
    if (p == nullptr) return dev.sticky;
    dev.drain([] { return false; }); // waits for the device
    if (!dev.release(p)) return dev.fail(cudaErrorInvalidValue);
    return dev.sticky;
}
cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) {
    LOCKED;
    *p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (*p == nullptr) return dev.fail(cudaErrorMemoryAllocation);
    std::memset(*p, subsalt::emulation::unwritten_byte, bytes);
    dev.locked[*p] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
    LOCKED;
    if (p == nullptr) return cudaSuccess;
    dev.drain([] { return false; });
    if (dev.locked.erase(p) == 0) return dev.fail(cudaErrorInvalidValue);
    std::free(p);
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned) {
    LOCKED;
    return dev.locked.emplace(p, bytes).second ? cudaSuccess : dev.fail(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* p) {
    LOCKED;
    return dev.locked.erase(p) == 1 ? cudaSuccess : dev.fail(cudaErrorInvalidValue);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
    LOCKED;
    const char* at = static_cast<const char*>(p);
    *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void*>(p)};
    for (const auto& [memory, block] : dev.blocks)
        if (at >= memory && at < memory + block.bytes)
            *attributes = {cudaMemoryTypeDevice, 0, const_cast<void*>(p), nullptr};
    for (const auto& [memory, bytes] : dev.locked)
        if (at >= memory && at < static_cast<const char*>(memory) + bytes)
            *attributes = {cudaMemoryTypeHost, 0, const_cast<void*>(p), const_cast<void*>(p)};
    return dev.sticky;
}
cudaError_t cudaHostGetDevicePointer(void** to, void* host, unsigned) {
    *to = host;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    LOCKED;
    return dev.add(stream, {[=] { std::memcpy(to, from, bytes); }});
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
    LOCKED;
    if (width > to_pitch || width > from_pitch) return dev.fail(cudaErrorInvalidValue);
    return dev.add(stream, {[=] {
                       for (std::size_t i = 0; i < height; ++i)
                           std::memcpy(static_cast<char*>(to) + i * to_pitch,
                                       static_cast<const char*>(from) + i * from_pitch, width);
                   }});
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
    LOCKED;
    return dev.add(stream, {[=] { std::memset(p, value, bytes); }});
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    LOCKED;
    dev.streams.insert(*stream = new Stream);
    return dev.sticky;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    LOCKED;
    dev.drain([] { return false; });
    if (dev.streams.erase(stream) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    LOCKED;
    if (dev.streams.count(stream) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    dev.drain([stream] { return stream->queue.empty(); });
    return dev.fail(dev.sticky);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    LOCKED;
    if (dev.sticky != cudaSuccess) return dev.sticky;
    dev.go_on([stream] { return stream->queue.empty(); });
    return stream->queue.empty() ? cudaSuccess : dev.fail(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    LOCKED;
    if (dev.events.count(event) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    return dev.add(stream, {{}, event, event->asked});
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
    LOCKED;
    return dev.add(stream, {[=] { function(argument); }});
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    LOCKED;
    dev.events.insert(*event = new Event);
    return dev.sticky;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    LOCKED;
    dev.drain([] { return false; });
    if (dev.events.erase(event) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    LOCKED;
    if (dev.events.count(event) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    const std::uint64_t ticket = ++event->asked;
    return dev.add(stream, {[=] {
                       event->done = ticket;
                       event->at = subsalt::emulation::now();
                   }});
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    LOCKED;
    const std::uint64_t ticket = event->asked;
    dev.drain([=] { return event->done >= ticket; });
    return dev.fail(dev.sticky);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    LOCKED;
    if (dev.sticky != cudaSuccess) return dev.sticky;
    dev.go_on([event] { return event->done >= event->asked; });
    return event->done >= event->asked ? cudaSuccess : dev.fail(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
    LOCKED;
    if (from->done < from->asked || to->done < to->asked) return cudaErrorNotReady;
    *ms = static_cast<float>((to->at - from->at) * 1e3);
    return cudaSuccess;
}
