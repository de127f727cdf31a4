// Arrays for wavefields: aligned to cache lines, on huge pages when large, and their bases a few dozen cache
// lines apart: with equal offsets from a huge page all streams of a kernel would fall into the same cache sets (x layer
// 2.4 steps instead of 1.0, Zen 4).
//
// The threads first touch the pages in turn. They march through x side by side, each on rows of its own, and a huge
// page holds rows of all of them: on a machine with several memory nodes every plane then lies on all nodes, and the
// threads draw on all of them at any time.
#include "memory.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace subsalt {

namespace {

constexpr std::size_t line = 64, huge_page = std::size_t{2} << 20, small_page = 4096, stagger = 37 * line,
                      staggers = 64;

} // namespace

nanobind::ndarray<nanobind::numpy, float> allocate(const std::vector<std::size_t>& shape, int threads, bool zeroed) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    std::size_t count = 1;
    for (std::size_t n : shape)
        if (__builtin_mul_overflow(count, n, &count)) throw std::bad_alloc();
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(float), &bytes)) throw std::bad_alloc();

    static std::atomic<std::size_t> arrays{0};
    const bool large = bytes >= 2 * huge_page;
    const std::size_t offset = large ? arrays++ % staggers * stagger : 0;
    const std::size_t alignment = large ? huge_page : line;
    // a line behind the last float, so that a vector that starts at the last rows may be read whole
    const std::size_t total = (bytes + offset + line + alignment - 1) / alignment * alignment;
    char* memory = static_cast<char*>(std::aligned_alloc(alignment, total));
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory, total, MADV_HUGEPAGE);
#endif
    char* first = memory + offset;
    const std::size_t used = large ? threads : 1;
    {
        nanobind::gil_scoped_release release;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast<int>(used))
        for (std::size_t page = 0; page < total; page += huge_page) {
            const std::size_t size = std::min(huge_page, total - page);
            if (zeroed) {
                std::memset(memory + page, 0, size);
                continue;
            }
            for (std::size_t at = 0; at < size; at += small_page) // the system clears what is touched
                static_cast<volatile char*>(memory)[page + at] = 0;
        }
    }
    nanobind::capsule owner(memory, [](void* p) noexcept { std::free(p); });
    return nanobind::ndarray<nanobind::numpy, float>(first, shape.size(), shape.data(), owner);
}

void copy(const nanobind::ndarray<float, nanobind::c_contig, nanobind::device::cpu>& target,
          const nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>& source, int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    if (target.size() != source.size()) throw std::invalid_argument("target and source differ in size");
    const std::size_t total = source.size() * sizeof(float);
    char* to = reinterpret_cast<char*>(target.data());
    const char* from = reinterpret_cast<const char*>(source.data());
    // with pieces of 2 MiB one of two threads was idle for part of an array of 5 MB: 1.25 ms for four instead of 0.58
    constexpr std::size_t piece = std::size_t{256} << 10;
    const int used = total >= 4 * piece ? threads : 1;
    nanobind::gil_scoped_release release;
#pragma omp parallel for schedule(static) num_threads(used)
    for (std::size_t at = 0; at < total; at += piece)
        std::memcpy(to + at, from + at, std::min(piece, total - at));
}

void return_large_arrays() {
#ifdef __GLIBC__
    // glibc raises this limit to the size of what was freed last, up to 32 MiB. Model arrays below it then share the
    // heap with passing copies, and the holes these leave are kept: a second shot took up to 25 % more than the first.
    mallopt(M_MMAP_THRESHOLD, static_cast<int>(2 * huge_page));
    // the limit above being set, glibc would give back the top of the heap at every free of 128 KiB, and have it
    // cleared again for the next passing array: work in blocks of half a megabyte took 3.4 s instead of 0.6
    mallopt(M_TRIM_THRESHOLD, static_cast<int>(8 * huge_page));
#endif
}

} // namespace subsalt
