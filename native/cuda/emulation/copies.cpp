#include "copies.hpp"

#include "memory.hpp"

#include <cstring>

namespace subsalt::emulation {

void Copies::begin(void* to, const void* from, std::size_t bytes) {
    make_unwritten(to, bytes);
    copies_.push_back({to, from, bytes});
}

void Copies::end_group(std::mt19937_64* random) {
    ends_.push_back(copies_.size());
    if (random != nullptr && (*random)() % 4 == 0) arrive();
}

void Copies::wait(int ahead) {
    while (ends_.size() - groups_ > static_cast<std::size_t>(ahead))
        arrive();
}

void Copies::arrive() {
    for (const std::size_t end = ends_[groups_++]; arrived_ < end; ++arrived_) {
        const Copy& copy = copies_[arrived_];
        std::memcpy(copy.to, copy.from, copy.bytes);
    }
    if (groups_ == ends_.size() && arrived_ == copies_.size()) clear();
    if (groups_ < 64) return;
    // forget what has arrived, now and then
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(arrived_));
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(groups_));
    for (std::size_t& end : ends_)
        end -= arrived_;
    arrived_ = groups_ = 0;
}

void Copies::clear() {
    copies_.clear();
    ends_.clear();
    arrived_ = groups_ = 0;
}

void BlockCopies::begin_block(unsigned threads) {
    if (of_thread_.size() < threads) of_thread_.resize(threads);
    for (Copies& copies : of_thread_)
        if (used_) copies.clear();
    used_ = false;
}

Copies& BlockCopies::of(unsigned thread) {
    used_ = true;
    return of_thread_[thread];
}

} // namespace subsalt::emulation
