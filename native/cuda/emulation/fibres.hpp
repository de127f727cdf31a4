// The threads of a block, taken in turns on one processor. A thread that never meets a barrier runs through without a
// switch; one that does is left where it is until the others have come as far.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace subsalt::emulation {

class Fibres {
public:
    /// Run `thread(i)` for every i below n; `enter(i)` is called whenever thread i goes on. `random`: in any order.
    /// Returns whether threads that waited always waited at one barrier.
    bool run(unsigned n, const std::function<void()>& thread, const std::function<void(unsigned)>& enter,
             std::mt19937_64* random);
    /// Called by a thread: wait until all that still run have come here. `site` tells barriers apart.
    void barrier(int site);

private:
    struct Fibre {
        ucontext_t start;
        jmp_buf at;
        std::unique_ptr<char[]> stack;
        unsigned thread = 0;
        int site = 0;
        bool begun = false;
    };
    static constexpr std::size_t stack_size = 128 << 10;

    static void main(unsigned low, unsigned high);
    void work();
    void resume(Fibre& fibre);
    bool agreed() const;
    Fibre& fresh();

    std::vector<std::unique_ptr<Fibre>> idle_, waiting_;
    std::vector<unsigned> order_;
    std::size_t next_ = 0;
    Fibre* now_ = nullptr;
    bool finished_ = false;
    jmp_buf scheduler_;
    const std::function<void()>* thread_ = nullptr;
    const std::function<void(unsigned)>* enter_ = nullptr;
};

} // namespace subsalt::emulation
