#include "copies.hpp"

#include "memory.hpp"

#include <cstring>

namespace subsalt::emulation {

void Copies::begin(void* to, const void* from, std::size_t bytes) {
    make_unwritten(to, bytes);
    copies_.push_back({to, from, bytes});
    ++open_;
}

void Copies::end_group(std::mt19937_64* random) {
    groups_.push_back(open_);
    open_ = 0;
    if (random != nullptr && (*random)() % 4 == 0) arrive();
}

void Copies::wait(int ahead) {
    while (groups_.size() > static_cast<std::size_t>(ahead))
        arrive();
}

void Copies::arrive() {
    for (std::size_t left = groups_.front(); left > 0; --left) {
        const Copy& copy = copies_.front();
        std::memcpy(copy.to, copy.from, copy.bytes);
        copies_.pop_front();
    }
    groups_.pop_front();
}

} // namespace subsalt::emulation
