// The functions of the CUDA runtime, on the emulated device.
#include "emulated.hpp"

#include <cstdio>
#include <cstdlib>

using subsalt::emulation::device;
using subsalt::emulation::Device;
using subsalt::emulation::device_in_use;
using subsalt::emulation::Event;
using subsalt::emulation::number_of;
using subsalt::emulation::Stream;

#define LOCKED                                                                                                         \
    auto& dev = device();                                                                                              \
    const std::lock_guard lock(dev.mutex)

/// The same for what makes a context on the device in use.
#define IN_USE                                                                                                         \
    LOCKED;                                                                                                            \
    dev.contexts.insert(device_in_use())

namespace {

int gpus() {
    return static_cast<int>(number_of("SUBSALT_EMULATED_GPUS", 1));
}
int driver() {
    return static_cast<int>(number_of("SUBSALT_EMULATED_DRIVER", 13000));
}

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
    device_in_use() = number;
    IN_USE;
    return dev.sticky;
}
cudaError_t cudaGetDevice(int* number) {
    *number = device_in_use();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    IN_USE;
    dev.drain_device(device_in_use());
    return dev.fail(dev.sticky);
}
cudaError_t cudaGetLastError() {
    LOCKED;
    return dev.take_last();
}
cudaError_t cudaPeekAtLastError() {
    return device().peek_last();
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInitializationError:
        return "initialization error";
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
    IN_USE;
    *total = dev.total();
    const std::size_t used = dev.memory.used(device_in_use());
    *free_bytes = *total > used ? *total - used : 0;
    return dev.sticky;
}
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
    IN_USE;
    *p = nullptr;
    if (dev.sticky != cudaSuccess) return dev.fail(dev.sticky);
    if (bytes == 0) return cudaSuccess;
    if (dev.memory.used(device_in_use()) + bytes > dev.total()) return dev.fail(cudaErrorMemoryAllocation);
    *p = dev.memory.allocate(bytes, device_in_use());
    return *p != nullptr ? cudaSuccess : dev.fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* p) {
    IN_USE;
    if (p == nullptr) return dev.sticky;
    const int owner = dev.memory.device_of(p, 0);
    if (owner >= 0) dev.drain_device(owner); // waits for it
    if (!dev.memory.release(p)) return dev.fail(cudaErrorInvalidValue);
    return dev.sticky;
}
cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) {
    IN_USE;
    *p = nullptr;
    if (dev.memory.locked() + bytes > dev.lockable()) return dev.fail(cudaErrorMemoryAllocation);
    *p = dev.memory.lock(bytes);
    return *p != nullptr ? cudaSuccess : dev.fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* p) {
    IN_USE;
    if (p == nullptr) return cudaSuccess;
    // CUDA does not promise to wait here for what still uses it
    return dev.memory.unlock(p) ? cudaSuccess : dev.fail(cudaErrorInvalidValue);
}
cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned) {
    IN_USE;
    if (dev.memory.locked() + bytes > dev.lockable()) return dev.fail(cudaErrorMemoryAllocation);
    return dev.memory.enlist(p, bytes, device_in_use()) ? cudaSuccess : dev.fail(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* p) {
    IN_USE;
    // nor here
    return dev.memory.strike(p) ? cudaSuccess : dev.fail(cudaErrorInvalidValue);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
    IN_USE;
    void* const at = const_cast<void*>(p);
    *attributes = {cudaMemoryTypeUnregistered, device_in_use(), nullptr, at};
    if (const int owner = dev.memory.device_of(p, 1); owner >= 0)
        *attributes = {cudaMemoryTypeDevice, owner, at, nullptr};
    else if (dev.memory.is_locked(p))
        *attributes = {cudaMemoryTypeHost, device_in_use(), at, at};
    return dev.sticky;
}
cudaError_t cudaHostGetDevicePointer(void** to, void* host, unsigned) {
    *to = host;
    return cudaSuccess;
}

namespace {

/// Whether a copy's side lies where its kind says: within one array of the device, or beside all of them.
bool fits(const Device& dev, const void* p, std::size_t bytes, bool on_device, bool either) {
    const bool there = dev.memory.holds(p, bytes);
    return there ? on_device || either : !dev.memory.touches(p, bytes) && (!on_device || either);
}

bool fits(const Device& dev, const void* to, std::size_t to_bytes, const void* from, std::size_t from_bytes,
          cudaMemcpyKind kind) {
    const bool either = kind == cudaMemcpyDefault;
    return fits(dev, to, to_bytes, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, either) &&
           fits(dev, from, from_bytes, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, either);
}

/// Whether the page-locked memory of a copy is still there when its turn comes: CUDA does not promise that freeing
/// waits for it. A copy without it is not made, and the device is lost, as it may be.
class StillLocked {
public:
    StillLocked(Device& dev, const void* to, const void* from)
        : dev_(dev), sides_{dev.memory.is_locked(to) ? to : nullptr, dev.memory.is_locked(from) ? from : nullptr} {}

    bool operator()() const {
        for (const void* side : sides_)
            if (side != nullptr && !dev_.memory.is_locked(side)) {
                dev_.die("page-locked memory was released while a copy was under way");
                return false;
            }
        return true;
    }

private:
    Device& dev_;
    const void* sides_[2];
};

/// With SUBSALT_EMULATED_SLIP = 1 the last bit of the number in the middle of what comes to the host is another one,
/// for those who must notice it. Short messages, such as whether a field is finite, arrive whole.
void slip(void* to, std::size_t bytes) {
    constexpr std::size_t shortest = 128;
    static const bool slips = number_of("SUBSALT_EMULATED_SLIP", 0) != 0;
    if (slips && bytes >= shortest) static_cast<unsigned char*>(to)[bytes / 2 / 4 * 4] ^= 1u;
}

constexpr const char* no_such_range = "a copy or fill reaches beyond a device array, or lies on the other side";

/// Whether one of two places lies on another device than that of the stream; if so the device has stopped.
bool out_of_reach(Device& dev, Stream* stream, const void* to, const void* from) {
    if (!dev.knows(stream)) return false; // that is said by who takes the work
    for (const void* side : {to, from})
        if (const int owner = dev.memory.device_of(side, 1); owner >= 0 && owner != stream->device) {
            dev.die("a copy or fill on device " + std::to_string(stream->device) + " has memory of device " +
                    std::to_string(owner));
            return true;
        }
    return false;
}

} // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    IN_USE;
    if (bytes == 0) return dev.sticky;
    if (!fits(dev, to, bytes, from, bytes, kind)) return dev.die(no_such_range);
    if (out_of_reach(dev, stream, to, from)) return dev.sticky;
    const StillLocked there(dev, to, from);
    const bool to_host = dev.memory.holds(from, bytes) && !dev.memory.holds(to, bytes);
    return dev.add(stream, {[=] {
                       if (!there()) return;
                       std::memcpy(to, from, bytes);
                       if (to_host) slip(to, bytes);
                   }});
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    IN_USE;
    if (width > to_pitch || width > from_pitch) return dev.fail(cudaErrorInvalidValue);
    if (width == 0 || height == 0) return dev.sticky;
    if (!fits(dev, to, (height - 1) * to_pitch + width, from, (height - 1) * from_pitch + width, kind))
        return dev.die(no_such_range);
    if (out_of_reach(dev, stream, to, from)) return dev.sticky;
    const StillLocked there(dev, to, from);
    return dev.add(stream, {[=] {
                       for (std::size_t i = 0; there() && i < height; ++i)
                           std::memcpy(static_cast<char*>(to) + i * to_pitch,
                                       static_cast<const char*>(from) + i * from_pitch, width);
                   }});
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
    IN_USE;
    if (bytes == 0) return dev.sticky;
    if (!fits(dev, p, bytes, true, false)) return dev.die(no_such_range);
    if (out_of_reach(dev, stream, p, p)) return dev.sticky;
    return dev.add(stream, {[=] { std::memset(p, value, bytes); }});
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    IN_USE;
    *stream = dev.new_stream();
    return dev.sticky;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    IN_USE;
    dev.drain();
    return dev.forget(stream) ? cudaSuccess : dev.fail(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    IN_USE;
    if (!dev.knows(stream)) return dev.fail(cudaErrorInvalidResourceHandle);
    dev.drain([stream] { return stream->queue.empty(); });
    return dev.fail(dev.sticky);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    IN_USE;
    if (dev.sticky != cudaSuccess) return dev.sticky;
    dev.go_on([stream] { return stream->queue.empty(); });
    return stream->queue.empty() ? cudaSuccess : dev.fail(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    IN_USE;
    if (dev.events.count(event) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    return dev.add(stream, {{}, event, event->asked});
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
    IN_USE;
    return dev.add(stream, {[=] { function(argument); }});
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    IN_USE;
    dev.events.insert(*event = new Event);
    (*event)->device = device_in_use();
    return dev.sticky;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    IN_USE;
    dev.drain();
    if (dev.events.erase(event) == 0) return dev.fail(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    IN_USE;
    if (dev.events.count(event) == 0 || !dev.knows(stream) || event->device != stream->device)
        return dev.fail(cudaErrorInvalidResourceHandle);
    const std::uint64_t ticket = ++event->asked;
    return dev.add(stream, {[=] {
                       event->done = ticket;
                       event->at = subsalt::emulation::now();
                   }});
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    IN_USE;
    const std::uint64_t ticket = event->asked;
    dev.drain([=] { return event->done >= ticket; });
    return dev.fail(dev.sticky);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    IN_USE;
    if (dev.sticky != cudaSuccess) return dev.sticky;
    dev.go_on([event] { return event->done >= event->asked; });
    return event->done >= event->asked ? cudaSuccess : dev.fail(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
    IN_USE;
    if (from->device != to->device) return dev.fail(cudaErrorInvalidResourceHandle);
    if (from->done < from->asked || to->done < to->asked) return cudaErrorNotReady;
    *ms = static_cast<float>((to->at - from->at) * 1e3);
    return cudaSuccess;
}
