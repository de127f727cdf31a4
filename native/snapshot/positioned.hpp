// Whole reads and writes at a position of a file, whatever the system splits them into.
//
// EINTR is tried again. A file opened with O_DIRECT moves whole pages only: after a part of a page it goes on from the
// start of that page. Every call asks the faults first, which tests set; without them that is a branch on a null
// pointer.
#pragma once

#include <atomic>
#include <cstdint>

namespace subsalt {

constexpr std::int64_t page = 4096;

// Failures on demand, counted over all threads.
struct Faults {
    std::int64_t fail_at = 0; // number of the first call that fails, from 1; 0: none
    int error = 0;            // the errno it fails with
    bool forever = false;     // every later call fails too
    std::int64_t most = 0;    // bytes moved by one call at most; 0: as asked
    std::int64_t every = 0;   // every so many calls one is interrupted (EINTR); 0: none
    bool reads = true, writes = true;
    double wait = 0.0; // seconds that every call takes longer, or until the faults are removed
    std::atomic<std::int64_t> calls{0}, hits{0};
};
void set_faults(const Faults* faults); // copied; null removes them
std::int64_t fault_calls();
std::int64_t fault_hits();

struct Moved {
    std::int64_t bytes = 0; // moved altogether; fewer than asked at the end of a file, or with an error
    int error = 0;          // errno, 0: none
};
Moved write_at(int fd, const char* from, std::int64_t n, std::int64_t offset, bool direct);
Moved read_at(int fd, char* to, std::int64_t n, std::int64_t offset, bool direct);

// Asks the file system for room, and makes the file as long; errno, 0 when it is there. A file system that cannot
// reserve is left alone: posix_fallocate would write every block in its place.
int reserve_at(int fd, std::int64_t offset, std::int64_t n);

} // namespace subsalt
