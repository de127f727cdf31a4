// The memory of the emulated device, and page-locked memory of the host: what kernels and copies may touch.
//
// An array has guards before and behind it, of numbers that are not a number, and is filled with such until something
// is written: what reads beyond an array or before it is written computes nonsense that a test sees, what writes beyond
// it is found when the kernel has run. Under the address sanitizer the guards are poisoned instead.
//
// Every array belongs to a device: there may be several, and none reaches the memory of another.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace subsalt::emulation {

/// Fill memory with what a guard holds, and look whether it still does.
void make_guard(void* p, std::size_t bytes);
bool guard_intact(const void* p, std::size_t bytes);
/// Let a guard go: the memory is used otherwise from here on.
void drop_guard(void* p, std::size_t bytes);
/// Fill memory with what nobody has written.
void make_unwritten(void* p, std::size_t bytes);

constexpr std::size_t guard_bytes = 1024;

class Memory {
public:
    /// Null when the host has none left. Aligned as cudaMalloc's is.
    void* allocate(std::size_t bytes, int device);
    /// False when `p` is not what `allocate` gave.
    bool release(void* p);
    std::size_t used(int device) const;

    /// Page-locked memory: allocated, or registered when it is there already. Allocated memory is so for all devices
    /// (CUDA: unified addressing), registered memory for the one that it was registered with.
    void* lock(std::size_t bytes);
    bool unlock(void* p);
    bool enlist(void* p, std::size_t bytes, int device);
    bool strike(void* p);
    bool is_locked(const void* p) const;
    std::size_t locked() const;

    /// The device whose array holds all of these bytes; -1: none.
    int device_of(const void* p, std::size_t bytes) const;
    bool holds(const void* p, std::size_t bytes) const { return device_of(p, bytes) >= 0; }
    /// Whether arrays hold some of them, guards included.
    bool touches(const void* p, std::size_t bytes) const;
    /// What is wrong with a kernel's argument, a number or a struct, or nothing: it holds the address of memory of the
    /// host that is not page-locked, or of memory that only another device reaches. What nobody set may look like one:
    /// arguments are made whole.
    std::string wrong_address_in(const void* argument, std::size_t bytes, int device) const;
    /// What was written beyond, or nothing.
    std::string damage() const;

private:
    /// How many bytes, and which device reaches them; `everyone`: all.
    struct Range {
        std::size_t bytes;
        int device;
    };
    static constexpr int everyone = -1;
    using Ranges = std::map<const char*, Range>; // by first byte
    static const Range* holding(const Ranges& ranges, const char* p, std::size_t bytes);
    static std::size_t bytes_of(const Ranges& ranges);
    static std::string damage_of(const char* p, std::size_t bytes);

    Ranges arrays_, locked_, listed_;
    std::string found_; // damage of arrays that were released
};

} // namespace subsalt::emulation
