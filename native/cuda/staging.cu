// Buffers on the device for what travels to and from the host, and the events that order it (staging.hpp).
#include "staging.hpp"

#include <algorithm>

namespace subsalt::cuda {

Memory memory_of(const void* p) {
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, p) != cudaSuccess) {
        cudaGetLastError();
        return Memory::pageable;
    }
    switch (found.type) {
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
        return Memory::device;
    case cudaMemoryTypeHost:
        return Memory::locked;
    default:
        return Memory::pageable;
    }
}

Loans& Loans::of_process() {
    static Loans* const made = new Loans; // outlives segments that are freed at exit
    return *made;
}

Status Loans::take(void** out, std::int64_t bytes) {
    *out = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = idle_.find(bytes); found != idle_.end()) {
            *out = found->second;
            idle_.erase(found);
            return cudaSuccess;
        }
    }
    if (bytes > small) drop_idle(small);
    return allocate(out, bytes);
}

void Loans::give_back(void* p, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (p != nullptr) idle_.emplace(bytes, p);
}

void Loans::drop_idle(std::int64_t above) {
    const std::lock_guard lock(mutex_);
    for (auto found = idle_.upper_bound(above); found != idle_.end(); found = idle_.erase(found))
        release(found->second);
}

Status Staging::make(HostRows rows, Index room, int direction) {
    rows_ = std::move(rows);
    room_ = room;
    direction_ = direction;
    locked_ = true;
    for (std::size_t i = 0; i < std::max<std::size_t>(rows_.each.size(), 1); ++i)
        locked_ = locked_ && memory_of(rows_.at(static_cast<Index>(i))) == Memory::locked;
    for (Slot& slot : slots_) {
        void* memory = nullptr;
        SUBSALT_CHECK(Loans::of_process().take(&memory, room_ * rows_.bytes));
        slot.memory = static_cast<char*>(memory);
        SUBSALT_CHECK(cudaEventCreateWithFlags(&slot.computed, cudaEventDisableTiming));
        SUBSALT_CHECK(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming));
    }
    return cudaSuccess;
}

Staging::~Staging() {
    for (Slot& slot : slots_) {
        Loans::of_process().give_back(slot.memory, room_ * rows_.bytes);
        if (slot.computed != nullptr) cudaEventDestroy(slot.computed);
        if (slot.copied != nullptr) cudaEventDestroy(slot.copied);
    }
}

Status Inbound::fetch(Slot& slot, Index row, Index limit) {
    const Index count = std::max(Index{1}, std::min(room_, (limit - row) * direction_ + 1));
    slot.lo = direction_ > 0 ? row : row - count + 1;
    slot.hi = slot.lo + count;
    slot.base = slot.lo;
    const Context& c = context();
    SUBSALT_CHECK(cudaStreamWaitEvent(c.copy_in, slot.computed, 0));
    const Index bytes = count * rows_.bytes;
    SUBSALT_CHECK(copy_async(slot.memory, rows_.at(slot.lo), bytes, cudaMemcpyHostToDevice, c.copy_in));
    return cudaEventRecord(slot.copied, c.copy_in);
}

Status Inbound::take(Index row, Index limit, const float** out) {
    const Context& c = context();
    if (!slots_[now_].holds(row)) {
        Slot& left = slots_[now_];
        SUBSALT_CHECK(cudaEventRecord(left.computed, c.compute));
        now_ = 1 - now_;
        Slot& slot = slots_[now_];
        if (!slot.holds(row)) SUBSALT_CHECK(fetch(slot, row, limit));
        SUBSALT_CHECK(cudaStreamWaitEvent(c.compute, slot.copied, 0));
        const Index next = direction_ > 0 ? slot.hi : slot.lo - 1;
        if (locked_ && (limit - next) * direction_ >= 0 && !left.holds(next)) SUBSALT_CHECK(fetch(left, next, limit));
    }
    *out = pointer(slots_[now_], row);
    return cudaSuccess;
}

Status Inbound::finish() {
    if (slots_[0].copied == nullptr) return cudaSuccess; // never opened
    for (Slot& slot : slots_)
        slot.lo = slot.hi = 0;
    // kernels that still read a buffer are before all that will be asked for
    SUBSALT_CHECK(cudaEventRecord(slots_[now_].computed, context().compute));
    return cudaStreamSynchronize(context().copy_in);
}

Status Outbound::send(Slot& slot) {
    const Context& c = context();
    SUBSALT_CHECK(cudaStreamWaitEvent(c.copy_out, slot.computed, 0));
    const Index bytes = (slot.hi - slot.lo) * rows_.bytes;
    SUBSALT_CHECK(copy_async(rows_.at(slot.lo), pointer(slot, slot.lo), bytes, cudaMemcpyDeviceToHost, c.copy_out));
    slot.full = false;
    slot.lo = slot.hi = 0;
    return cudaEventRecord(slot.copied, c.copy_out);
}

Status Outbound::give(Index row, float** out) {
    Slot* slot = &slots_[now_];
    const bool goes_on = slot->lo < slot->hi && !slot->full && slot->hi - slot->lo < room_ &&
                         row == (direction_ > 0 ? slot->hi : slot->lo - 1);
    if (!goes_on) {
        SUBSALT_CHECK(close());
        now_ = 1 - now_;
        slot = &slots_[now_];
        if (slot->full) SUBSALT_CHECK(send(*slot));
        SUBSALT_CHECK(cudaStreamWaitEvent(context().compute, slot->copied, 0));
        slot->lo = slot->hi = direction_ > 0 ? row : row + 1;
        slot->base = direction_ > 0 ? row : row + 1 - room_;
    }
    (direction_ > 0 ? slot->hi : slot->lo) += direction_;
    *out = pointer(*slot, row);
    return cudaSuccess;
}

Status Outbound::close() {
    Slot& slot = slots_[now_];
    if (slot.lo == slot.hi || slot.full) return cudaSuccess;
    SUBSALT_CHECK(cudaEventRecord(slot.computed, context().compute));
    slot.full = true;
    return locked_ ? send(slot) : cudaSuccess;
}

Status Outbound::finish() {
    if (slots_[0].copied == nullptr) return cudaSuccess;
    SUBSALT_CHECK(close());
    // the older one first
    for (Slot* slot : {&slots_[1 - now_], &slots_[now_]})
        if (slot->full) SUBSALT_CHECK(send(*slot));
    return cudaStreamSynchronize(context().copy_out);
}

} // namespace subsalt::cuda
