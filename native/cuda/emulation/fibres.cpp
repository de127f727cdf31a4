#include "fibres.hpp"

#include <algorithm>
#include <numeric>

namespace subsalt::emulation {

void Fibres::main(unsigned low, unsigned high) {
    const auto bits = (static_cast<std::uintptr_t>(high) << 32) | low;
    reinterpret_cast<Fibres*>(bits)->work();
}

/// A fibre takes threads as long as they run through; then, and at a barrier, the scheduler takes over.
void Fibres::work() {
    for (;;) {
        while (next_ < order_.size()) {
            now_->thread = order_[next_++];
            (*enter_)(now_->thread);
            (*thread_)();
        }
        finished_ = true;
        Fibre* const self = now_;
        if (_setjmp(self->at) == 0) _longjmp(scheduler_, 1);
    }
}

void Fibres::barrier(int site) {
    finished_ = false;
    Fibre* const self = now_;
    self->site = site;
    if (_setjmp(self->at) == 0) _longjmp(scheduler_, 1);
    (*enter_)(self->thread);
}

void Fibres::resume(Fibre& fibre) {
    now_ = &fibre;
    if (_setjmp(scheduler_) != 0) return;
    if (fibre.begun) _longjmp(fibre.at, 1);
    fibre.begun = true;
    setcontext(&fibre.start);
}

Fibres::Fibre& Fibres::fresh() {
    if (idle_.empty()) {
        auto made = std::make_unique<Fibre>();
        made->stack = std::make_unique_for_overwrite<char[]>(stack_size);
        getcontext(&made->start);
        made->start.uc_stack.ss_sp = made->stack.get();
        made->start.uc_stack.ss_size = stack_size;
        made->start.uc_link = nullptr;
        const auto bits = reinterpret_cast<std::uintptr_t>(this);
        makecontext(&made->start, reinterpret_cast<void (*)()>(&Fibres::main), 2, static_cast<unsigned>(bits),
                    static_cast<unsigned>(bits >> 32));
        idle_.push_back(std::move(made));
    }
    return *idle_.back();
}

bool Fibres::agreed() const {
    return std::all_of(waiting_.begin(), waiting_.end(),
                       [this](const auto& fibre) { return fibre->site == waiting_.front()->site; });
}

bool Fibres::run(unsigned n, const std::function<void()>& thread, const std::function<void(unsigned)>& enter,
                 std::mt19937_64* random) {
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0u);
    if (random != nullptr) std::shuffle(order_.begin(), order_.end(), *random);
    next_ = 0;
    thread_ = &thread;
    enter_ = &enter;
    // to the first barrier: a fibre that stops there keeps its thread, another takes the rest
    while (next_ < order_.size()) {
        Fibre& fibre = fresh();
        resume(fibre);
        if (finished_) break;
        waiting_.push_back(std::move(idle_.back()));
        idle_.pop_back();
    }
    // from barrier to barrier
    bool all_agreed = true;
    while (!waiting_.empty()) {
        all_agreed = all_agreed && agreed();
        std::vector<std::unique_ptr<Fibre>> phase;
        phase.swap(waiting_);
        if (random != nullptr) std::shuffle(phase.begin(), phase.end(), *random);
        for (auto& fibre : phase) {
            resume(*fibre);
            (finished_ ? idle_ : waiting_).push_back(std::move(fibre));
        }
    }
    return all_agreed;
}

} // namespace subsalt::emulation
