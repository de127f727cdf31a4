// The device of this process, its memory, and what is said of errors.
#include "staging.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

namespace subsalt::cuda {

namespace {

thread_local std::string message;

constexpr auto no_locked_memory = static_cast<Status>(SUBSALT_CUDA_NO_LOCKED_MEMORY);
thread_local std::int64_t refused = 0; // bytes of page-locked memory, last

/// What an error number means.
std::string meaning(Status status) {
    if (status != no_locked_memory) return cudaGetErrorString(status);
    char text[128];
    std::snprintf(text, sizeof text, "%.3f MB of page-locked memory wanted beside %.3f MB of this process",
                  static_cast<double>(refused) * 1e-6, static_cast<double>(allocated().host) * 1e-6);
    return text;
}

/// What asking for page-locked memory of the host ran into.
Status of_host(Status status, std::int64_t bytes) {
    if (status != cudaErrorMemoryAllocation) return status;
    cudaGetLastError();
    refused = bytes;
    return no_locked_memory;
}

/// Sizes of what is allocated, by pointer: cudaFree does not tell.
struct Sizes {
    std::mutex mutex;
    std::map<void*, std::int64_t> device, host;
};
Sizes& sizes() {
    static Sizes* const made = new Sizes; // outlives what is freed at exit
    return *made;
}

void add(std::atomic<std::int64_t>& now, std::atomic<std::int64_t>& peak, std::int64_t bytes) {
    const std::int64_t after = now += bytes;
    std::int64_t most = peak;
    while (after > most && !peak.compare_exchange_weak(most, after)) {
    }
}

std::int64_t forget(std::map<void*, std::int64_t>& known, void* p) {
    const std::lock_guard lock(sizes().mutex);
    const auto at = known.find(p);
    if (at == known.end()) return 0;
    const std::int64_t bytes = at->second;
    known.erase(at);
    return bytes;
}

void remember(std::map<void*, std::int64_t>& known, void* p, std::int64_t bytes) {
    const std::lock_guard lock(sizes().mutex);
    known[p] = bytes;
}

/// What releasing memory ran into. Finalizers have nobody to tell: the next call says it.
struct Unsaid {
    std::mutex mutex;
    std::atomic<bool> there{false};
    Status status = cudaSuccess;
    const char* what = "";
};
Unsaid& unsaid() {
    static Unsaid* const made = new Unsaid; // outlives what is freed at exit
    return *made;
}

void keep(Status status, const char* what) {
    if (status == cudaSuccess || status == cudaErrorCudartUnloading) return; // at exit the driver frees everything
    cudaGetLastError();
    const std::lock_guard lock(unsaid().mutex);
    if (unsaid().there) return; // the first is the cause
    unsaid().status = status, unsaid().what = what, unsaid().there = true;
}

/// Take what was kept.
Status take(const char** what) {
    if (!unsaid().there) return cudaSuccess;
    const std::lock_guard lock(unsaid().mutex);
    unsaid().there = false;
    *what = unsaid().what;
    return unsaid().status;
}

} // namespace

Context& context() {
    static Context made;
    return made;
}

Status enter() {
    const Context& c = context();
    if (!c.ready) return cudaErrorInitializationError;
    int in_use = -1; // asked every time: it costs nothing beside a call, and others may have chosen since
    SUBSALT_CHECK(cudaGetDevice(&in_use));
    return in_use == c.device ? cudaSuccess : cudaSetDevice(c.device);
}

void enter_to_free() {
    keep(enter(), "releasing what is on the GPU");
}

Allocated& allocated() {
    static Allocated made;
    return made;
}

int said(Status status, const char* what) {
    if (status == cudaSuccess) status = take(&what);
    if (status != cudaSuccess) {
        message = std::string(what) + ": " + meaning(status);
        cudaGetLastError(); // an error that can be mended does not stay
    }
    return static_cast<int>(status);
}

Status allocate(void** out, std::int64_t bytes) {
    *out = nullptr;
    if (bytes == 0) return cudaSuccess;
    Status status = cudaMalloc(out, static_cast<std::size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        Loans::of_process().drop_idle(); // what segments keep for others
        status = cudaMalloc(out, static_cast<std::size_t>(bytes));
    }
    SUBSALT_CHECK(status);
    remember(sizes().device, *out, bytes);
    add(allocated().device, allocated().device_peak, bytes);
    return cudaSuccess;
}

void release(void* p) {
    if (p == nullptr) return;
    allocated().device -= forget(sizes().device, p);
    keep(cudaFree(p), "releasing memory on the GPU");
}

Status allocate_host(void** out, std::int64_t bytes) {
    *out = nullptr;
    if (bytes == 0) return cudaSuccess;
    SUBSALT_CHECK(of_host(cudaHostAlloc(out, static_cast<std::size_t>(bytes), cudaHostAllocDefault), bytes));
    remember(sizes().host, *out, bytes);
    add(allocated().host, allocated().host_peak, bytes);
    return cudaSuccess;
}

Status copy_async(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    if (kind == cudaMemcpyDeviceToHost) counters().to_host += bytes;
    if (kind == cudaMemcpyHostToDevice) counters().to_device += bytes;
    return cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream);
}

void release_host(void* p) {
    if (p == nullptr) return;
    allocated().host -= forget(sizes().host, p);
    keep(cudaFreeHost(p), "releasing page-locked memory");
}

Status lock_host(void* p, std::int64_t bytes) {
    if (bytes == 0) return cudaSuccess;
    SUBSALT_CHECK(of_host(cudaHostRegister(p, static_cast<std::size_t>(bytes), cudaHostRegisterDefault), bytes));
    remember(sizes().host, p, bytes);
    add(allocated().host, allocated().host_peak, bytes);
    return cudaSuccess;
}

void unlock_host(void* p) {
    allocated().host -= forget(sizes().host, p);
    keep(cudaHostUnregister(p), "unlocking memory of the host");
}

} // namespace subsalt::cuda

using namespace subsalt::cuda;

int subsalt_cuda_abi() {
    return SUBSALT_CUDA_ABI;
}

const char* subsalt_cuda_version() {
    return SUBSALT_VERSION;
}

int subsalt_cuda_emulated() {
#if defined(SUBSALT_EMULATED)
    return 1;
#else
    return 0;
#endif
}

const char* subsalt_cuda_message() {
    return message.c_str();
}

int subsalt_cuda_versions(int32_t* driver, int32_t* runtime) {
    *driver = *runtime = 0;
    cudaRuntimeGetVersion(runtime);
    return said(cudaDriverGetVersion(driver), "asking for the driver's version");
}

int subsalt_cuda_count(int32_t* count) {
    *count = 0;
    return said(cudaGetDeviceCount(count), "counting GPUs");
}

int subsalt_cuda_facts(int32_t device, SubsaltCudaFacts* facts) {
    cudaDeviceProp p;
    const Status status = cudaGetDeviceProperties(&p, device);
    if (status != cudaSuccess) return said(status, "asking what the GPU is");
    *facts = {};
    std::snprintf(facts->name, sizeof facts->name, "%.127s", p.name);
    const auto* const uuid = reinterpret_cast<const unsigned char*>(p.uuid.bytes);
    // parts of a GPU (MIG) have one address
    std::snprintf(facts->bus, sizeof facts->bus, "%04x:%02x:%02x/%02x%02x%02x%02x", p.pciDomainID, p.pciBusID,
                  p.pciDeviceID, uuid[0], uuid[1], uuid[2], uuid[3]);
    facts->memory = static_cast<std::int64_t>(p.totalGlobalMem);
    facts->major = p.major, facts->minor = p.minor;
    facts->processors = p.multiProcessorCount, facts->integrated = p.integrated;
    return 0;
}

int subsalt_cuda_use(int32_t device) {
    Context& c = context();
    if (c.ready && c.device == device) return said(enter(), "using the GPU");
    if (c.ready) return said(cudaErrorInvalidDevice, "using a second GPU in one process");
    const auto make = [&]() -> Status {
        SUBSALT_CHECK(cudaSetDevice(device));
        SUBSALT_CHECK(cudaStreamCreateWithFlags(&c.compute, cudaStreamNonBlocking));
        SUBSALT_CHECK(cudaStreamCreateWithFlags(&c.copy_out, cudaStreamNonBlocking));
        SUBSALT_CHECK(cudaStreamCreateWithFlags(&c.copy_in, cudaStreamNonBlocking));
        return cudaSuccess;
    };
    const Status status = make();
    c.device = device;
    c.ready = status == cudaSuccess;
    return said(status, "using the GPU");
}

int subsalt_cuda_free_memory(int64_t* free_bytes, int64_t* total) {
    *free_bytes = *total = 0;
    return entered("asking for the GPU's free memory", [&]() -> Status {
        std::size_t f = 0, t = 0;
        SUBSALT_CHECK(cudaMemGetInfo(&f, &t));
        *free_bytes = static_cast<int64_t>(f), *total = static_cast<int64_t>(t);
        return cudaSuccess;
    });
}

int subsalt_cuda_allocate(void** out, int64_t bytes, int32_t zeroed) {
    *out = nullptr;
    return entered("allocating memory on the GPU", [&]() -> Status {
        SUBSALT_CHECK(allocate(out, bytes));
        if (zeroed == 0 || bytes == 0) return cudaSuccess;
        return cudaMemsetAsync(*out, 0, static_cast<std::size_t>(bytes), context().compute);
    });
}

int subsalt_cuda_release(void* p) {
    enter_to_free();
    release(p);
    return 0;
}

int subsalt_cuda_allocate_host(void** out, int64_t bytes) {
    *out = nullptr;
    return entered("allocating page-locked memory", [&] { return allocate_host(out, bytes); });
}

int subsalt_cuda_release_host(void* p) {
    enter_to_free();
    release_host(p);
    return 0;
}

int subsalt_cuda_lock_host(void* p, int64_t bytes) {
    return entered("page-locking memory", [&] { return lock_host(p, bytes); });
}

int subsalt_cuda_unlock_host(void* p) {
    enter_to_free();
    unlock_host(p);
    return 0;
}

int subsalt_cuda_allocated(int64_t* device, int64_t* device_peak, int64_t* host, int64_t* host_peak) {
    const Allocated& a = allocated();
    *device = a.device, *device_peak = a.device_peak, *host = a.host, *host_peak = a.host_peak;
    return 0;
}

int subsalt_cuda_copy(void* to, const void* from, int64_t bytes) {
    return entered("copying", [&]() -> Status {
        if (bytes == 0) return cudaSuccess;
        const bool to_device = memory_of(to) == Memory::device, from_device = memory_of(from) == Memory::device;
        if (from_device && !to_device) counters().to_host += bytes;
        if (to_device && !from_device) counters().to_device += bytes;
        SUBSALT_CHECK(copy_async(to, from, bytes, cudaMemcpyDefault, context().compute));
        return cudaStreamSynchronize(context().compute);
    });
}

int subsalt_cuda_zero(void* p, int64_t bytes) {
    return entered("clearing memory", [&] {
        return bytes == 0 ? cudaSuccess : cudaMemsetAsync(p, 0, static_cast<std::size_t>(bytes), context().compute);
    });
}

int subsalt_cuda_synchronize() {
    return entered("waiting for the GPU", [] { return cudaStreamSynchronize(context().compute); });
}
