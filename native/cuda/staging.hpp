// What travels between host and device while steps are computed: rows of equal size, in order, through two device
// buffers, so that one travels while kernels read or write the other.
//
//   in    copy_in waits until the kernels that read the buffer are done, fills it, and says so; compute waits for that
//   out   compute waits until the buffer has been sent, and writes it; copy_out waits for that, sends it, and says so
//
// Page-locked memory of the host is copied while the host goes on, so its rows are asked for as early as there is a
// buffer. Other memory is copied by the driver while the host waits until the device has come as far: as late as
// possible, when the steps of the other buffer are already asked for, and the device has them to do meanwhile.
#pragma once

#include <map>
#include <mutex>

#include "context.hpp"

namespace subsalt::cuda {

enum class Memory { device, locked, pageable };

/// Where a pointer points to.
Memory memory_of(const void* p);

/// Device memory lent to segments and taken back. A run makes thousands of them, and cudaMalloc and cudaFree wait for
/// the device. Lent again without a wait: all that uses it runs in the order of the compute stream, or was waited for.
class Loans {
public:
    Status take(void** out, std::int64_t bytes);
    void give_back(void* p, std::int64_t bytes);
    /// Give the device back what is not lent and has more bytes than that.
    void drop_idle(std::int64_t above = -1);
    static Loans& of_process();

private:
    static constexpr std::int64_t small = 64 << 20; // larger ones are not kept beside others
    std::mutex mutex_;                              // Python frees segments in any thread
    std::multimap<std::int64_t, void*> idle_;       // by size
};

/// The host's side: rows of one array, or arrays of one size in a list.
struct HostRows {
    Index bytes = 0; // of a row
    char* first = nullptr;
    Index count = 0;
    std::vector<char*> each; // instead of `first`

    char* at(Index row) const { return each.empty() ? first + row * bytes : each[static_cast<std::size_t>(row)]; }
};

/// Two buffers of `room` rows, and which rows they hold.
class Staging {
public:
    Staging() = default;
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging();

protected:
    struct Slot {
        char* memory = nullptr;
        Index base = 0;                 // row at the start of the buffer
        Index lo = 0, hi = 0;           // rows it holds; none: lo = hi
        bool full = false;              // out: to be sent
        cudaEvent_t computed = nullptr; // in: kernels have read it; out: they have written it
        cudaEvent_t copied = nullptr;
        bool holds(Index row) const { return lo <= row && row < hi; }
    };
    Status make(HostRows rows, Index room, int direction);
    float* pointer(const Slot& slot, Index row) const {
        return reinterpret_cast<float*>(slot.memory + (row - slot.base) * rows_.bytes);
    }

    HostRows rows_;
    Index room_ = 1;
    int direction_ = 1; // in which rows are asked for
    bool locked_ = false;
    Slot slots_[2];
    int now_ = 0;
};

/// Rows from the host.
class Inbound : public Staging {
public:
    Status open(HostRows rows, Index room, int direction) { return make(std::move(rows), room, direction); }
    /// The row, for kernels started on the compute stream from now on until another is taken. Of the rows behind it in
    /// the direction, those up to `limit` may be read already.
    Status take(Index row, Index limit, const float** out);
    /// Nothing is read from the host any more, and what was is forgotten: it may change.
    Status finish();

private:
    Status fetch(Slot& slot, Index row, Index limit);
};

/// Rows to the host.
class Outbound : public Staging {
public:
    Status open(HostRows rows, Index room, int direction) { return make(std::move(rows), room, direction); }
    /// Where kernels on the compute stream write the row, until the next call.
    Status give(Index row, float** out);
    /// All rows given are written: they may be sent.
    Status close();
    /// Everything is on the host.
    Status finish();

private:
    Status send(Slot& slot);
};

/// Rows per buffer of `wanted` bytes: one at least, not more than there are.
inline Index rows_at_once(Index wanted, const HostRows& rows) {
    const Index n = rows.bytes > 0 ? wanted / rows.bytes : 1;
    return n < 1 ? 1 : (n > rows.count && rows.count > 0 ? rows.count : n);
}

} // namespace subsalt::cuda
