// The memory of the emulated device, and page-locked memory of the host: what kernels and copies may touch.
//
// An array has guards before and behind it, of numbers that are not a number, and is filled with such until something
// is written: what reads beyond an array or before it is written computes nonsense that a test sees, what writes beyond
// it is found when the kernel has run. Under the address sanitizer the guards are poisoned instead.
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
    void* allocate(std::size_t bytes);
    /// False when `p` is not what `allocate` gave.
    bool release(void* p);
    std::size_t used() const { return used_; }

    /// Page-locked memory: allocated, or registered when it is there already.
    void* lock(std::size_t bytes);
    bool unlock(void* p);
    bool enlist(void* p, std::size_t bytes);
    bool strike(void* p);
    bool is_locked(const void* p) const;

    /// Whether an array of the device holds all of these bytes; some of them, guards included.
    bool holds(const void* p, std::size_t bytes) const;
    bool touches(const void* p, std::size_t bytes) const;
    /// Where in a kernel's argument, a number or a struct, the address of memory of the host stands that is not
    /// page-locked; -1: nowhere. What nobody set may look like one: arguments are made whole.
    std::ptrdiff_t host_address_in(const void* argument, std::size_t bytes) const;
    /// What was written beyond, or nothing.
    std::string damage() const;

private:
    using Ranges = std::map<const char*, std::size_t>; // by first byte: how many
    static bool inside(const Ranges& ranges, const char* p, std::size_t bytes);
    static std::string damage_of(const char* p, std::size_t bytes);

    Ranges arrays_, locked_, listed_;
    std::size_t used_ = 0;
    std::string found_; // damage of arrays that were released
};

} // namespace subsalt::emulation
