#include "snapshot/pool.hpp"

#include "snapshot/crc32c.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace subsalt {

namespace {

using Clock = std::chrono::steady_clock;

// The head of a trailer, checkpoint/record.py TAIL_HEAD; the numbers are little-endian.
constexpr char tail_magic[8] = {'S', 'U', 'B', 'S', 'N', 'A', 'P', 'T'};
constexpr std::int64_t tail_head = 32, sum_bytes = 4;

template <class T>
void put_number(char* at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
        at[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 255);
}

template <class T>
T number_at(const char* at) {
    T v = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        v |= static_cast<T>(static_cast<unsigned char>(at[i])) << 8 * i;
    return v;
}

void write_trailer(const Transfer& t) {
    const RecordLayout& lay = t.layout;
    char* const at = t.buffer->data + page + lay.padded();
    std::memset(at, 0, lay.trailer());
    std::memcpy(at, tail_magic, sizeof tail_magic);
    put_number<std::uint64_t>(at + 8, t.sequence);
    put_number<std::uint64_t>(at + 16, lay.payload);
    put_number<std::uint32_t>(at + 24, lay.blocks());
    put_number<std::uint32_t>(at + 28, lay.block);
    for (std::int64_t b = 0; b < lay.blocks(); ++b)
        put_number<std::uint32_t>(at + tail_head + sum_bytes * b, t.sums[b]);
    put_number<std::uint32_t>(at + lay.trailer() - sum_bytes, crc32c(at, lay.trailer() - sum_bytes));
}

void check_sums(const Transfer& t, bool blocks, Outcome& mine) {
    const RecordLayout& lay = t.layout;
    const char* const head = t.buffer->data;
    const char* const tail = head + page + lay.padded();
    const auto sealed = [](const char* at, std::int64_t n) {
        return crc32c(at, n - sum_bytes) == number_at<std::uint32_t>(at + n - sum_bytes);
    };
    // the sequence ties header and trailer of one put together; the caller compares the header's
    if (!sealed(head, page)) {
        mine.damage = Damage::header_sum;
        return;
    }
    if (!sealed(tail, lay.trailer()) || std::memcmp(tail, tail_magic, sizeof tail_magic) != 0 ||
        number_at<std::uint64_t>(tail + 8) != t.sequence ||
        number_at<std::uint64_t>(tail + 16) != static_cast<std::uint64_t>(lay.payload) ||
        number_at<std::uint32_t>(tail + 24) != lay.blocks() || number_at<std::uint32_t>(tail + 28) != lay.block) {
        mine.damage = Damage::trailer_sum;
        return;
    }
    for (std::int64_t b = 0; blocks && b < lay.blocks(); ++b)
        if (t.sums[b] != number_at<std::uint32_t>(tail + tail_head + sum_bytes * b)) {
            mine.damage = Damage::block_sum;
            mine.block = b;
            return;
        }
}

} // namespace

Buffer::Buffer(std::int64_t n) : data(nullptr), bytes(n), memory_(nullptr) {
    constexpr std::int64_t huge = std::int64_t{2} << 20, stagger = 37 * page;
    static std::atomic<std::int64_t> made{0};
    if (n < 1) throw std::invalid_argument("a buffer has at least one byte");
    const bool large = n >= 2 * huge;
    // buffers that are filled side by side must not fall into the same cache sets (see bindings/memory.cpp)
    const std::int64_t shift = large ? made++ % 8 * stagger : 0;
    const std::int64_t unit = large ? huge : page;
    const std::int64_t total = (n + shift + unit - 1) / unit * unit;
    memory_ = static_cast<char*>(std::aligned_alloc(unit, total));
    if (memory_ == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory_, total, MADV_HUGEPAGE);
#endif
    data = memory_ + shift;
}

Buffer::~Buffer() {
    std::free(memory_);
}

std::int64_t RecordLayout::trailer() const {
    return (tail_head + sum_bytes * (blocks() + 1) + page - 1) / page * page;
}

Pool::Pool(int threads, bool checksums) : checksums_(checksums) {
    if (threads < 1) throw std::invalid_argument("threads must be 1 or more");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); // threads inherit it
    try {
        for (int i = 0; i < threads; ++i)
            threads_.emplace_back([this] { work(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        stop();
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Pool::~Pool() {
    stop();
}

void Pool::stop() {
    std::vector<std::thread> ending;
    {
        const std::lock_guard<std::mutex> hold(mutex_);
        stopping_ = true;
        for (const auto& t : queue_) {
            t->outcome.error = ECANCELED;
            t->left -= t->layout.blocks() - t->next;
            t->next = t->layout.blocks();
            t->over = t->left == 0;
        }
        queue_.clear();
        ending.swap(threads_);
    }
    wake_.notify_all();
    done_.notify_all();
    for (std::thread& t : ending)
        t.join();
}

void Pool::submit(const std::shared_ptr<Transfer>& transfer, bool urgent) {
    Transfer& t = *transfer;
    if (t.layout.payload < 1 || t.layout.block < page || t.layout.block % page != 0 ||
        t.layout.total() > t.buffer->bytes)
        throw std::invalid_argument("the record does not fit into its buffer");
    const std::int64_t blocks = t.layout.blocks();
    t.left = blocks;
    t.sums.resize(blocks);
    {
        const std::lock_guard<std::mutex> hold(mutex_);
        if (stopping_) throw std::runtime_error("the threads of the store have ended");
        if (urgent)
            queue_.push_front(transfer);
        else
            queue_.push_back(transfer);
    }
    if (blocks > 1)
        wake_.notify_all();
    else
        wake_.notify_one();
}

bool Pool::wait(const Transfer& transfer, double seconds) {
    std::unique_lock<std::mutex> hold(mutex_);
    const auto over = [&] { return transfer.over; };
    if (seconds <= 0.0) return transfer.over;
    return done_.wait_for(hold, std::chrono::duration<double>(seconds), over);
}

void Pool::work() {
    std::unique_lock<std::mutex> hold(mutex_);
    while (true) {
        wake_.wait(hold, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const std::shared_ptr<Transfer> t = queue_.front();
        const std::int64_t block = t->next++;
        if (t->next == t->layout.blocks()) queue_.pop_front();
        const bool failed = t->outcome.error != 0 || t->outcome.damage != Damage::none;
        hold.unlock();

        Outcome mine;
        const auto begin = Clock::now();
        if (!failed) move_block(*t, block, mine);
        mine.seconds = std::chrono::duration<double>(Clock::now() - begin).count();

        hold.lock();
        const auto add = [&] {
            Outcome& all = t->outcome;
            all.moved += mine.moved;
            all.seconds += mine.seconds;
            if (all.error == 0 && all.damage == Damage::none) {
                all.error = mine.error;
                all.damage = mine.damage;
                all.offset = mine.offset;
                all.block = mine.block;
            }
        };
        add();
        if (--t->left > 0) continue;
        if (t->outcome.error == 0 && t->outcome.damage == Damage::none) {
            hold.unlock();
            mine = Outcome{};
            const auto start = Clock::now();
            finish(*t, mine);
            mine.seconds = std::chrono::duration<double>(Clock::now() - start).count();
            hold.lock();
            add();
        }
        t->over = true;
        done_.notify_all();
    }
}

// The header goes with the first block; the trailer of a read, and that of a write of one block, with the last.
void Pool::move_block(Transfer& t, std::int64_t block, Outcome& mine) {
    const RecordLayout& lay = t.layout;
    char* const data = t.buffer->data;
    const std::int64_t first = page + block * lay.block, last = page + std::min((block + 1) * lay.block, lay.padded());
    std::int64_t lo = block == 0 ? 0 : first, hi = last;
    if (block == lay.blocks() - 1 && (!t.write || block == 0)) hi += lay.trailer();
    if (t.write) {
        if (block == 0) put_number<std::uint32_t>(data + page - sum_bytes, crc32c(data, page - sum_bytes));
        if (const std::int64_t end = page + lay.payload; last > end) std::memset(data + end, 0, last - end);
        t.sums[block] = checksums_ ? crc32c(data + first, last - first) : 0;
        if (hi > last) write_trailer(t);
    }
    const Moved m = t.write ? write_at(t.fd, data + lo, hi - lo, t.offset + lo, t.direct)
                            : read_at(t.fd, data + lo, hi - lo, t.offset + lo, t.direct);
    mine.moved = m.bytes;
    mine.error = m.error;
    mine.offset = t.offset + lo + m.bytes;
    if (m.error != 0) return;
    if (m.bytes < hi - lo)
        mine.damage = lo + m.bytes < page ? Damage::header_cut : Damage::payload_cut;
    else if (!t.write && checksums_)
        t.sums[block] = crc32c(data + first, last - first);
}

void Pool::finish(Transfer& t, Outcome& mine) {
    const RecordLayout& lay = t.layout;
    if (!t.write) {
        check_sums(t, checksums_, mine);
        return;
    }
    if (lay.blocks() == 1) return; // it went with the block
    write_trailer(t);
    const std::int64_t at = page + lay.padded();
    const Moved m = write_at(t.fd, t.buffer->data + at, lay.trailer(), t.offset + at, t.direct);
    mine.moved = m.bytes;
    mine.error = m.error;
    mine.offset = t.offset + at + m.bytes;
}

} // namespace subsalt
