// Kernels: the blocks of a grid one after the other, the threads of a block in turns, shared memory and its guards.
#include "copies.hpp"
#include "emulated.hpp"
#include "fibres.hpp"

#include <algorithm>
#include <list>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace subsalt::emulation {

Place place;

namespace {

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

/// Shared memory of the block that is computed: unwritten when it begins, with a guard behind it.
class Shared {
public:
    explicit Shared(std::size_t bytes) { set(bytes); }
    ~Shared() { drop_guard(room_.data() + bytes_, room_.size() - bytes_); }
    Shared(const Shared&) = delete;
    void* data() { return room_.data(); }
    std::size_t bytes() const { return bytes_; }
    void clear() { make_unwritten(room_.data(), bytes_); }
    bool intact() const { return guard_intact(room_.data() + bytes_, room_.size() - bytes_); }

    const void* site = nullptr;

private:
    struct alignas(128) Line {
        unsigned char bytes[128];
    };
    void set(std::size_t bytes) {
        bytes_ = bytes;
        lines_.resize((bytes + guard_bytes) / sizeof(Line) + 1);
        room_ = {lines_.front().bytes, lines_.size() * sizeof(Line)};
        make_guard(room_.data() + bytes_, room_.size() - bytes_);
        clear();
    }
    /// The bytes of the lines.
    struct Bytes {
        unsigned char* first = nullptr;
        std::size_t count = 0;
        unsigned char* data() const { return first; }
        std::size_t size() const { return count; }
    };
    std::vector<Line> lines_;
    Bytes room_;
    std::size_t bytes_ = 0;
};

/// Of the kernel that is computed: dynamic shared memory, and its arrays.
struct Kernel {
    Shared dynamic;
    std::list<Shared> arrays;
    bool aligned = true;
    explicit Kernel(std::size_t shared) : dynamic(shared) {}
};
Kernel* computed = nullptr;

BlockCopies& copies() {
    static BlockCopies* const made = new BlockCopies;
    return *made;
}

Fibres& fibres() {
    static Fibres* const made = new Fibres;
    return *made;
}

std::string run_blocks(dim3 grid, dim3 block, Kernel& kernel, const std::function<void()>& thread) {
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
        copies().begin_block(threads);
        kernel.dynamic.clear();
        for (Shared& array : kernel.arrays)
            array.clear();
        if (!fibres().run(threads, thread, enter, dev.random()))
            return "threads of a block waited at different barriers";
        if (!kernel.dynamic.intact())
            return "a kernel wrote behind its " + std::to_string(kernel.dynamic.bytes()) + " bytes of shared memory";
        for (const Shared& array : kernel.arrays)
            if (!array.intact())
                return "a kernel wrote behind a shared array of " + std::to_string(array.bytes()) + " bytes";
        if (!kernel.aligned) return "a kernel read or wrote a vector that does not lie on a multiple of its size";
    }
    return dev.memory.damage();
}

void run_grid(dim3 grid, dim3 block, std::size_t shared, const std::function<void()>& thread) {
    const Flushing flush;
    Kernel kernel(shared);
    computed = &kernel;
    const std::string wrong = run_blocks(grid, block, kernel, thread);
    computed = nullptr;
    if (!wrong.empty()) device().die(wrong);
}

} // namespace

void* shared_memory() {
    return computed->dynamic.data();
}

void* shared_array(const void* site, std::size_t bytes) {
    for (Shared& array : computed->arrays)
        if (array.site == site) return array.data();
    Shared& made = computed->arrays.emplace_back(bytes);
    made.site = site;
    return made.data();
}

namespace {

Copies& copies_of_thread() {
    const uint3& t = place.thread;
    return copies().of(t.x + place.block_size.x * (t.y + place.block_size.y * t.z));
}

} // namespace

void start_copy(void* to, const void* from, std::size_t bytes) {
    if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % bytes != 0)
        complain_of_alignment();
    copies_of_thread().begin(to, from, bytes);
}

void commit_copies() {
    copies_of_thread().end_group(device().random());
}

void wait_for_copies(int ahead) {
    copies_of_thread().wait(ahead);
}

void barrier(int site) {
    fibres().barrier(site);
}

void complain_of_alignment() {
    if (computed != nullptr) computed->aligned = false;
}

bool may_launch_on(Stream* stream) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    dev.contexts.insert(device_in_use());
    const bool may = dev.knows(stream) && stream->device == device_in_use();
    if (!may) dev.fail(cudaErrorInvalidResourceHandle);
    return may;
}

bool names_wrong_memory(const void* argument, std::size_t bytes) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    const std::string wrong = dev.memory.wrong_address_in(argument, bytes, device_in_use());
    if (!wrong.empty()) dev.die(wrong);
    return !wrong.empty();
}

cudaError_t allow_shared(const void* kernel, int bytes) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    if (bytes > most_shared) return dev.fail(cudaErrorInvalidValue);
    dev.contexts.insert(device_in_use());
    dev.shared_allowed[{device_in_use(), kernel}] = bytes;
    return cudaSuccess;
}

cudaError_t blocks_at_once(int* blocks, int threads, std::size_t shared) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    dev.contexts.insert(device_in_use());
    ++dev.occupancy_questions;
    const int by_threads = 2048 / threads, by_shared = shared > 0 ? most_shared / static_cast<int>(shared) : by_threads;
    const int usual = dev.late() ? 1 + static_cast<int>((*dev.random())() % 16) : std::min(by_threads, by_shared);
    *blocks = static_cast<int>(number_of("SUBSALT_EMULATED_BLOCKS", usual));
    return dev.fail(dev.sticky);
}

cudaError_t enqueue_launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared, Stream* stream,
                           std::function<void()> thread) {
    Device& dev = device();
    const std::lock_guard lock(dev.mutex);
    const auto allowed = dev.shared_allowed.find({device_in_use(), kernel});
    const int most = allowed == dev.shared_allowed.end() ? default_shared : allowed->second;
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    if (threads == 0 || threads > 1024 || block.z > 64 || grid.y > 65535 || grid.z > 65535 || grid.x == 0 ||
        grid.x > 0x7fffffffu || grid.y == 0 || grid.z == 0 || shared > static_cast<std::size_t>(most))
        return dev.fail(cudaErrorInvalidConfiguration);
    return dev.add(stream, {[=, thread = std::move(thread)] { run_grid(grid, block, shared, thread); }});
}

} // namespace subsalt::emulation
