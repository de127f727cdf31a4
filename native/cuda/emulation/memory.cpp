#include "memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace subsalt::emulation {

namespace {

/// As a float not a number, as an index far away.
constexpr std::uint32_t guard_word = 0x7fa5a5a5u;
constexpr int unwritten_byte = 0xff;
constexpr std::size_t alignment = 256;

std::size_t whole(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

unsigned char guard_at(const void* base, std::size_t i) {
    const auto word = (reinterpret_cast<std::uintptr_t>(base) + i) % 4;
    return static_cast<unsigned char>(guard_word >> (8 * word));
}

/// The first address that may be one of the host's arrays: numbers may look like lower ones, and what programs without
/// address randomisation, or the sanitizer, map there is taken for them.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uintptr_t lowest = 0x1000'0000'0000u;
#else
constexpr std::uintptr_t lowest = 0x1'0000'0000u;
#endif

/// Whether there is memory at an address: two numbers side by side may look like one.
bool mapped(std::uintptr_t address) {
#if defined(__linux__)
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char resident = 0;
    return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
#else
    return address == 0;
#endif
}

} // namespace

void make_guard(void* p, std::size_t bytes) {
    auto* const at = static_cast<unsigned char*>(p);
    for (std::size_t i = 0; i < bytes; ++i)
        at[i] = guard_at(p, i);
#if defined(__SANITIZE_ADDRESS__)
    ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}

bool guard_intact(const void* p, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    return p != nullptr || bytes == 0; // whoever wrote to it has been stopped
#else
    const auto* const at = static_cast<const unsigned char*>(p);
    for (std::size_t i = 0; i < bytes; ++i)
        if (at[i] != guard_at(p, i)) return false;
    return true;
#endif
}

void drop_guard(void* p, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#else
    static_cast<void>(p), static_cast<void>(bytes);
#endif
}

void make_unwritten(void* p, std::size_t bytes) {
    if (bytes > 0) std::memset(p, unwritten_byte, bytes);
}

void* Memory::allocate(std::size_t bytes, int device) {
    const std::size_t room = whole(bytes);
    auto* const raw = static_cast<char*>(std::aligned_alloc(alignment, room + 2 * guard_bytes));
    if (raw == nullptr) return nullptr;
    char* const p = raw + guard_bytes;
    make_guard(raw, guard_bytes);
    make_unwritten(p, bytes);
    make_guard(p + bytes, room - bytes + guard_bytes);
    arrays_[p] = {bytes, device};
    return p;
}

std::size_t Memory::used(int device) const {
    std::size_t out = 0;
    for (const auto& [p, range] : arrays_)
        out += range.device == device ? range.bytes : 0;
    return out;
}

std::string Memory::damage_of(const char* p, std::size_t bytes) {
    const bool before = guard_intact(p - guard_bytes, guard_bytes),
               behind = guard_intact(p + bytes, whole(bytes) - bytes + guard_bytes);
    if (before && behind) return "";
    return std::string("a kernel wrote ") + (before ? "behind" : "before") + " a device array of " +
           std::to_string(bytes) + " bytes";
}

bool Memory::release(void* p) {
    const auto at = arrays_.find(static_cast<const char*>(p));
    if (at == arrays_.end()) return false;
    const std::size_t bytes = at->second.bytes, room = whole(bytes);
    if (found_.empty()) found_ = damage_of(at->first, bytes);
    char* const raw = static_cast<char*>(p) - guard_bytes;
    drop_guard(raw, guard_bytes);
    drop_guard(raw + guard_bytes + bytes, room - bytes + guard_bytes);
    arrays_.erase(at);
    std::free(raw);
    return true;
}

void* Memory::lock(std::size_t bytes) {
    void* const p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (p == nullptr) return nullptr;
    make_unwritten(p, bytes);
    locked_[static_cast<const char*>(p)] = {bytes, everyone};
    return p;
}

bool Memory::unlock(void* p) {
    if (locked_.erase(static_cast<const char*>(p)) == 0) return false;
    std::free(p);
    return true;
}

bool Memory::enlist(void* p, std::size_t bytes, int device) {
    return !is_locked(p) && listed_.emplace(static_cast<const char*>(p), Range{bytes, device}).second;
}

bool Memory::strike(void* p) {
    return listed_.erase(static_cast<const char*>(p)) == 1;
}

bool Memory::is_locked(const void* p) const {
    const auto* const at = static_cast<const char*>(p);
    return holding(locked_, at, 1) != nullptr || holding(listed_, at, 1) != nullptr;
}

std::size_t Memory::bytes_of(const Ranges& ranges) {
    std::size_t out = 0;
    for (const auto& [p, range] : ranges)
        out += range.bytes;
    return out;
}

std::size_t Memory::locked() const {
    return bytes_of(locked_) + bytes_of(listed_);
}

const Memory::Range* Memory::holding(const Ranges& ranges, const char* p, std::size_t bytes) {
    auto after = ranges.upper_bound(p);
    if (after == ranges.begin()) return nullptr;
    --after;
    return p + bytes <= after->first + after->second.bytes ? &after->second : nullptr;
}

int Memory::device_of(const void* p, std::size_t bytes) const {
    const Range* const found = holding(arrays_, static_cast<const char*>(p), bytes);
    return found != nullptr ? found->device : -1;
}

bool Memory::touches(const void* p, std::size_t bytes) const {
    const auto* const from = static_cast<const char*>(p);
    const auto after = arrays_.lower_bound(from + bytes + guard_bytes);
    if (after == arrays_.begin()) return false;
    const auto& [first, range] = *std::prev(after);
    return from < first + whole(range.bytes) + guard_bytes;
}

std::string Memory::wrong_address_in(const void* argument, std::size_t bytes, int device) const {
    for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= bytes; i += sizeof(std::uintptr_t)) {
        std::uintptr_t word = 0;
        std::memcpy(&word, static_cast<const char*>(argument) + i, sizeof word);
        if (word < lowest) continue;
        const auto* const p = reinterpret_cast<const char*>(word);
        const std::string place = ", at byte " + std::to_string(i) + " of an argument of " + std::to_string(bytes);
        const Range* found = nullptr; // an array's end may be named, too
        for (const Ranges* ranges : {&arrays_, &locked_, &listed_})
            if (found == nullptr) found = holding(*ranges, p, 0);
        if (found != nullptr && found->device != everyone && found->device != device)
            return "a kernel of device " + std::to_string(device) + " was given the address of memory of device " +
                   std::to_string(found->device) + place;
        if (found == nullptr && mapped(word))
            return "a kernel was given the address of host memory that is not page-locked" + place;
    }
    return "";
}

std::string Memory::damage() const {
    if (!found_.empty()) return found_;
    for (const auto& [p, range] : arrays_)
        if (std::string said = damage_of(p, range.bytes); !said.empty()) return said;
    return "";
}

} // namespace subsalt::emulation
