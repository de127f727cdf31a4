// Threads that move records between buffers and files, block by block, with a checksum of every block.
//
// A record is a header page, a payload padded to whole pages, and a trailer of whole pages
// (docs/theory/checkpoints.md). The payload is cut into blocks; threads take block after block, so that all of them
// work on one large record. The first block travels with the header. Who finishes the last block of a write writes the
// trailer, which holds the checksums; a record of one block leaves in one call. Who finishes the last block of a read
// compares them.
//
// Threads sleep while there is nothing to do. They take no signals: those are the main thread's.
#pragma once

#include "snapshot/positioned.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace subsalt {

// Memory of one record, page-aligned, on huge pages when large; its pages are there once they are touched.
class Buffer {
public:
    explicit Buffer(std::int64_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    char* data;
    const std::int64_t bytes;

private:
    char* memory_;
};

// Where the parts of a record lie; checkpoint/record.py has the same sizes.
struct RecordLayout {
    std::int64_t payload, block;

    std::int64_t padded() const { return (payload + page - 1) / page * page; }
    std::int64_t blocks() const { return (padded() + block - 1) / block; }
    std::int64_t trailer() const;
    std::int64_t total() const { return page + padded() + trailer(); }
};

enum class Damage { none, header_cut, payload_cut, header_sum, trailer_sum, block_sum };

struct Outcome {
    std::int64_t moved = 0;
    double seconds = 0.0;    // busy, over all threads
    int error = 0;           // errno
    std::int64_t offset = 0; // of the error or the end, in the file
    Damage damage = Damage::none;
    std::int64_t block = 0; // the damaged one
};

// One record on its way. Its buffer must be left alone until it is over.
struct Transfer {
    int fd;
    std::int64_t offset;
    std::shared_ptr<Buffer> buffer;
    RecordLayout layout;
    bool write, direct;
    std::uint64_t sequence; // of the put: goes into the trailer, or is compared with that of the trailer

    // under the lock of the pool
    std::int64_t next = 0, left = 0;
    bool over = false;
    Outcome outcome;
    std::vector<std::uint32_t> sums; // each element belongs to the thread of its block
};

class Pool {
public:
    // Without checksums blocks are neither summed nor compared: for measuring what that costs.
    explicit Pool(int threads, bool checksums = true);
    ~Pool();

    // An urgent transfer goes before all others that wait.
    void submit(const std::shared_ptr<Transfer>& transfer, bool urgent);
    // Whether a transfer is over, at the latest after so many seconds.
    bool wait(const Transfer& transfer, double seconds);
    // Ends the threads. What has begun is finished, what has not ends with ECANCELED.
    void stop();

private:
    void work();
    void move_block(Transfer& t, std::int64_t block, Outcome& mine);
    void finish(Transfer& t, Outcome& mine);

    const bool checksums_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::deque<std::shared_ptr<Transfer>> queue_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace subsalt
