#include "snapshot/positioned.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

namespace subsalt {

namespace {

Faults store;
std::atomic<Faults*> current{nullptr};

constexpr std::int64_t largest = std::int64_t{1} << 30; // Linux moves at most 2 GiB less a page per call

// A call takes longer, until the faults are removed: tests hold transfers back as long as they need to.
void hold(const Faults* f) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(f->wait));
    for (auto now = Clock::now(); now < end && current.load(std::memory_order_acquire) == f; now = Clock::now())
        std::this_thread::sleep_for(std::min<Clock::duration>(end - now, std::chrono::milliseconds(2)));
}

// What a call may move: 0 with errno set when it is to fail.
std::int64_t allowed(std::int64_t n, bool write, bool direct) {
    Faults* const f = current.load(std::memory_order_acquire);
    if (f == nullptr) return n;
    if (!(write ? f->writes : f->reads)) return n;
    const std::int64_t call = ++f->calls;
    if (f->wait > 0.0) hold(f);
    if (f->fail_at > 0 && (call == f->fail_at || (f->forever && call > f->fail_at))) {
        ++f->hits;
        errno = f->error;
        return 0;
    }
    if (f->every > 0 && call % f->every == 0) {
        ++f->hits;
        errno = EINTR;
        return 0;
    }
    if (f->most == 0 || f->most >= n) return n;
    ++f->hits;
    return direct ? std::max(page, f->most / page * page) : f->most;
}

template <class Call>
Moved whole(std::int64_t n, bool write, bool direct, const Call& call) {
    Moved m;
    int again = 0;
    while (m.bytes < n) {
        const std::int64_t may = allowed(std::min(n - m.bytes, largest), write, direct);
        const std::int64_t got = may > 0 ? call(m.bytes, may) : -1;
        if (got < 0) {
            if (errno == EINTR) continue;
            m.error = errno;
            return m;
        }
        if (got == 0) {
            // the end of the file; a write that moves nothing, over and over, is an error
            if (!write || ++again > 100) {
                m.error = write ? EIO : 0;
                return m;
            }
            continue;
        }
        m.bytes += got;
        if (direct && m.bytes < n && m.bytes % page != 0) {
            const std::int64_t whole_pages = m.bytes / page * page;
            if (!write || ++again > 100) return m; // a read that ends within a page is at the end of the file
            m.bytes = whole_pages;
        }
    }
    return m;
}

} // namespace

void set_faults(const Faults* faults) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> hold(mutex);
    current.store(nullptr, std::memory_order_release);
    if (faults == nullptr) return;
    store.fail_at = faults->fail_at;
    store.error = faults->error;
    store.forever = faults->forever;
    store.most = faults->most;
    store.every = faults->every;
    store.reads = faults->reads;
    store.writes = faults->writes;
    store.wait = faults->wait;
    store.calls = 0;
    store.hits = 0;
    current.store(&store, std::memory_order_release);
}

std::int64_t fault_calls() {
    return store.calls;
}

std::int64_t fault_hits() {
    return store.hits;
}

Moved write_at(int fd, const char* from, std::int64_t n, std::int64_t offset, bool direct) {
    return whole(n, true, direct, [&](std::int64_t done, std::int64_t may) -> std::int64_t {
        return ::pwrite(fd, from + done, static_cast<std::size_t>(may), offset + done);
    });
}

Moved read_at(int fd, char* to, std::int64_t n, std::int64_t offset, bool direct) {
    return whole(n, false, direct, [&](std::int64_t done, std::int64_t may) -> std::int64_t {
        return ::pread(fd, to + done, static_cast<std::size_t>(may), offset + done);
    });
}

int reserve_at(int fd, std::int64_t offset, std::int64_t n) {
    while (::fallocate(fd, 0, offset, n) != 0) {
        if (errno == EINTR) continue;
        return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
    }
    return 0;
}

} // namespace subsalt
