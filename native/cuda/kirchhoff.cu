// The sum of one block of locations on the device: what stays there, and traces that come while others are summed.
//
// Prepared traces come in turns of two: page-locked memory of the host, and as much on the device. The copy of a block
// of traces runs on its own stream while the block before is summed; the host meanwhile prepares the one after. Who
// writes to the host's memory of a turn has waited until the sum two blocks ago was done.
#include <cstring>
#include <memory>
#include <vector>

#include "context.hpp"
#include "kirchhoff_sum.hpp"

namespace subsalt::cuda {

namespace {

/// Bytes of pairs that are made at a time: enough locations to fill all processors several times over.
constexpr Index most_pairs = 128 << 20;
constexpr Index alignment = 256;

Index aligned(Index bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Where the parts of a block of traces lie in its memory, the same on host and device.
struct Places {
    Index integrals, slopes, src, rcv, weight, slot, group, bytes; // samples are first

    explicit Places(const KirchhoffTraces& t) {
        Index at = aligned(4 * t.n * t.bands * (t.order + 1) * t.ns_pad);
        const auto next = [&at](Index size) {
            const Index here = at;
            at += aligned(size);
            return here;
        };
        const Index doubles = t.integrals == nullptr ? 0 : 8 * t.n * t.ns_pad;
        integrals = next(doubles), slopes = next(doubles);
        src = next(16 * t.n), rcv = next(16 * t.n);
        weight = next(4 * t.n), slot = next(4 * t.n), group = next(4 * t.n);
        bytes = at;
    }
};

/// One of the two blocks of traces that are under way.
struct Turn {
    char *host = nullptr, *device = nullptr;
    char* smaller = nullptr; // of the host, outgrown: traces may still be in it
    Index room = 0;
    unsigned long long* contributions = nullptr; // page-locked: after this turn
    cudaEvent_t copied = nullptr, summed = nullptr;
    bool busy = false;
};

/// Memory of the device for one block of traces after the other.
struct Room {
    char* memory = nullptr;
    Index bytes = 0;

    Status grow(Index wanted) {
        if (bytes >= wanted) return cudaSuccess;
        bytes = 0;
        release(memory); // waits for the kernels that use it
        memory = nullptr;
        void* p = nullptr;
        SUBSALT_CHECK(allocate(&p, wanted));
        memory = static_cast<char*>(p);
        bytes = wanted;
        return cudaSuccess;
    }
};

/// A block of locations on the device.
struct Sum {
    KirchhoffMedium m{};
    KirchhoffRules rules{};
    KirchhoffImage out{};
    std::vector<float> quarter; // of the medium, on the host
    float* slow = nullptr;
    unsigned long long* contributions = nullptr;
    Room pairs, arranged;
    Turn turns[2];
    int turn = 0;
    std::int64_t counted = 0; // contributions of turns that are done
    std::vector<void*> owned;

    ~Sum() {
        cudaStreamSynchronize(context().compute);
        for (void* p : owned)
            release(p);
        release(pairs.memory);
        release(arranged.memory);
        for (Turn& t : turns) {
            release(t.device);
            release_host(t.host);
            release_host(t.smaller);
            release_host(t.contributions);
            if (t.copied != nullptr) cudaEventDestroy(t.copied);
            if (t.summed != nullptr) cudaEventDestroy(t.summed);
        }
    }

    Status make(void** p, Index bytes) {
        SUBSALT_CHECK(allocate(p, bytes));
        owned.push_back(*p);
        return cudaSuccess;
    }

    /// Make `array` point to a copy of it on the device; null where there is nothing.
    template <class T>
    Status bring(T*& array, Index n) {
        if (n == 0) array = nullptr;
        if (array == nullptr) return cudaSuccess;
        void* made = nullptr;
        SUBSALT_CHECK(make(&made, n * static_cast<Index>(sizeof(T))));
        SUBSALT_CHECK(cudaMemcpyAsync(made, array, static_cast<std::size_t>(n) * sizeof(T), cudaMemcpyHostToDevice,
                                      context().compute));
        array = static_cast<T*>(made);
        counters().to_device += n * static_cast<Index>(sizeof(T));
        return cudaSuccess;
    }

    Status open() {
        quarter.assign(m.quarter, m.quarter + m.row);
        const Index rows = m.nloc * m.row;
        SUBSALT_CHECK(bring(m.half2, m.row));
        SUBSALT_CHECK(bring(m.quarter, m.row));
        SUBSALT_CHECK(bring(m.slowness2, rows));
        SUBSALT_CHECK(bring(m.factor, m.factor_step == 0 ? m.row : rows));
        SUBSALT_CHECK(bring(m.depth, rows));
        SUBSALT_CHECK(bring(m.eta, rows));
        SUBSALT_CHECK(bring(m.up, m.nloc * m.blocks));
        SUBSALT_CHECK(bring(m.down, m.nloc * m.blocks));
        SUBSALT_CHECK(bring(m.bounds, 4 * m.nloc));
        SUBSALT_CHECK(bring(out.points, 2 * m.nloc));
        SUBSALT_CHECK(bring(out.image, m.nloc * out.nclass * m.nt));
        SUBSALT_CHECK(bring(out.hits, m.nloc * (m.nt + 1)));
        SUBSALT_CHECK(bring(out.fold, m.nloc * out.ngroup));
        void* p = nullptr;
        SUBSALT_CHECK(make(&p, 4 * m.nloc * m.blocks));
        slow = static_cast<float*>(p);
        SUBSALT_CHECK(kirchhoff_slowest(m, slow, context().compute));
        SUBSALT_CHECK(make(&p, sizeof *contributions));
        contributions = static_cast<unsigned long long*>(p);
        SUBSALT_CHECK(cudaMemsetAsync(contributions, 0, sizeof *contributions, context().compute));
        for (Turn& t : turns) {
            SUBSALT_CHECK(cudaEventCreateWithFlags(&t.copied, cudaEventDisableTiming));
            SUBSALT_CHECK(cudaEventCreateWithFlags(&t.summed, cudaEventDisableTiming));
            SUBSALT_CHECK(allocate_host(&p, sizeof *contributions));
            t.contributions = static_cast<unsigned long long*>(p);
        }
        return cudaStreamSynchronize(context().compute); // the arrays of the host may go
    }

    /// Wait until the memory of this turn is free, and make it as large as asked.
    Status free_turn(Index bytes) {
        Turn& t = turns[turn];
        if (t.busy) {
            SUBSALT_CHECK(cudaEventSynchronize(t.summed));
            counted = static_cast<std::int64_t>(*t.contributions);
            t.busy = false;
        }
        if (t.room >= bytes) return cudaSuccess;
        t.room = 0;
        release(t.device);
        release_host(t.smaller);
        t.smaller = t.host;
        t.device = t.host = nullptr;
        void* p = nullptr;
        SUBSALT_CHECK(allocate(&p, bytes));
        t.device = static_cast<char*>(p);
        SUBSALT_CHECK(allocate_host(&p, bytes));
        t.host = static_cast<char*>(p);
        t.room = bytes;
        return cudaSuccess;
    }

    /// Copy the traces to this turn's memory of the host, but for samples that were prepared there.
    void gather(const KirchhoffTraces& t, const Places& at) {
        char* const host = turns[turn].host;
        const auto put = [host](Index place, const void* from, Index bytes) {
            if (from != host + place && bytes > 0) std::memcpy(host + place, from, static_cast<std::size_t>(bytes));
        };
        put(0, t.samples, 4 * t.n * t.bands * (t.order + 1) * t.ns_pad);
        if (t.integrals != nullptr) {
            put(at.integrals, t.integrals, 8 * t.n * t.ns_pad);
            put(at.slopes, t.slopes, 8 * t.n * t.ns_pad);
        }
        put(at.src, t.src, 16 * t.n);
        put(at.rcv, t.rcv, 16 * t.n);
        put(at.weight, t.weight, 4 * t.n);
        put(at.slot, t.slot, 4 * t.n);
        put(at.group, t.group, 4 * t.n);
    }

    static KirchhoffTraces placed(KirchhoffTraces t, const Places& at, const char* base) {
        const auto floats = [base](Index place) { return reinterpret_cast<const float*>(base + place); };
        const auto doubles = [base](Index place) { return reinterpret_cast<const double*>(base + place); };
        const auto numbers = [base](Index place) { return reinterpret_cast<const std::int32_t*>(base + place); };
        t.samples = floats(0);
        if (t.integrals != nullptr) t.integrals = doubles(at.integrals), t.slopes = doubles(at.slopes);
        t.src = doubles(at.src), t.rcv = doubles(at.rcv), t.weight = floats(at.weight);
        t.slot = numbers(at.slot), t.group = numbers(at.group);
        return t;
    }

    /// Locations whose pairs are made at a time, whole groups of them; their memory is made as large.
    Status pairs_for(Index traces, Index& locations) {
        const Index per_group = in_group * traces * pair_bytes, groups = (m.nloc + in_group - 1) / in_group;
        const Index some = most_pairs / per_group < 1 ? 1 : most_pairs / per_group;
        locations = (some < groups ? some : groups) * in_group;
        return pairs.grow((some < groups ? some : groups) * per_group);
    }

    /// Samples of the image whose t0 does not lie behind the traces, whole blocks of them but for the last.
    int end_of(const KirchhoffTraces& t) const {
        const float last = t.first + static_cast<float>(t.ns - 1);
        Index end = m.nt;
        while (end > 0 && 3.9999f * quarter[static_cast<std::size_t>(end - 1)] > last)
            --end;
        end = (end + kirchhoff_block - 1) / kirchhoff_block * kirchhoff_block;
        return static_cast<int>(end < m.nt ? end : m.nt);
    }

    Status add(const KirchhoffTraces& traces) {
        if (traces.n == 0 || m.nloc == 0) return cudaSuccess;
        const Places at(traces);
        SUBSALT_CHECK(free_turn(at.bytes));
        Index locations = 0;
        SUBSALT_CHECK(pairs_for(traces.n, locations));
        SUBSALT_CHECK(arranged.grow(arranged_bytes(traces)));
        gather(traces, at);
        Turn& t = turns[turn];
        const cudaStream_t compute = context().compute, copies = context().copy_in;
        SUBSALT_CHECK(
            cudaMemcpyAsync(t.device, t.host, static_cast<std::size_t>(at.bytes), cudaMemcpyHostToDevice, copies));
        counters().to_device += at.bytes;
        SUBSALT_CHECK(cudaEventRecord(t.copied, copies));
        SUBSALT_CHECK(cudaStreamWaitEvent(compute, t.copied, 0));
        t.busy = true;
        turn = 1 - turn;
        KirchhoffTraces there = placed(traces, at, t.device);
        float* const samples = reinterpret_cast<float*>(arranged.memory);
        SUBSALT_CHECK(kirchhoff_arrange(there, samples, compute));
        there.samples = samples;
        const int end = end_of(traces);
        for (Index from = 0; from < m.nloc; from += locations) {
            const Index count = m.nloc - from < locations ? m.nloc - from : locations;
            SUBSALT_CHECK(
                kirchhoff_pairs(m, there, rules, out, slow, end, from, count, pairs.memory, contributions, compute));
            SUBSALT_CHECK(kirchhoff_sum(m, there, rules, out, pairs.memory, from, count, compute));
        }
        SUBSALT_CHECK(
            cudaMemcpyAsync(t.contributions, contributions, sizeof *contributions, cudaMemcpyDeviceToHost, compute));
        return cudaEventRecord(t.summed, compute);
    }

    Status fetch(float* image, std::int32_t* hits, std::int32_t* fold) {
        const auto down = [](void* to, const void* from, Index bytes) -> Status {
            if (bytes == 0) return cudaSuccess;
            counters().to_host += bytes;
            return cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost,
                                   context().compute);
        };
        unsigned long long done = 0;
        SUBSALT_CHECK(down(image, out.image, 4 * m.nloc * out.nclass * m.nt));
        SUBSALT_CHECK(down(hits, out.hits, 4 * m.nloc * (m.nt + 1)));
        SUBSALT_CHECK(down(fold, out.fold, 4 * m.nloc * out.ngroup));
        SUBSALT_CHECK(down(&done, contributions, sizeof done));
        SUBSALT_CHECK(cudaStreamSynchronize(context().compute));
        counted = static_cast<std::int64_t>(done);
        return cudaSuccess;
    }
};

KirchhoffTraces traces_of(const SubsaltCudaTraces& t) {
    return {t.n,     t.bands, t.order, t.ns,     t.ns_pad, t.samples, t.integrals, t.slopes,
            t.first, t.src,   t.rcv,   t.weight, t.slot,   t.group,   nullptr,     nullptr};
}

Sum& sum_of(void* sum) {
    return *static_cast<Sum*>(sum);
}

} // namespace

} // namespace subsalt::cuda

using namespace subsalt;
using namespace subsalt::cuda;

int subsalt_cuda_kirchhoff_open(const void* medium, int64_t medium_size, const void* rules, int64_t rules_size,
                                const SubsaltCudaKirchhoffImage* image, void** sum) {
    *sum = nullptr;
    if (medium_size != static_cast<int64_t>(sizeof(KirchhoffMedium)) ||
        rules_size != static_cast<int64_t>(sizeof(KirchhoffRules)))
        return said(cudaErrorInvalidValue, "a time migration of another build");
    return entered("bringing a block of locations to the GPU", [&]() -> Status {
        auto made = std::make_unique<Sum>();
        made->m = *static_cast<const KirchhoffMedium*>(medium);
        made->rules = *static_cast<const KirchhoffRules*>(rules);
        made->out = {image->points, image->image, image->hits, image->fold, image->classes, image->groups};
        SUBSALT_CHECK(made->open());
        *sum = made.release();
        return cudaSuccess;
    });
}

int subsalt_cuda_kirchhoff_room(void* sum, const SubsaltCudaTraces* sizes, void** memory) {
    *memory = nullptr;
    Sum& s = sum_of(sum);
    return entered("making room for prepared traces", [&]() -> Status {
        SUBSALT_CHECK(s.free_turn(Places(traces_of(*sizes)).bytes));
        *memory = s.turns[s.turn].host;
        return cudaSuccess;
    });
}

int subsalt_cuda_kirchhoff_add(void* sum, const SubsaltCudaTraces* t, int64_t* contributions) {
    Sum& s = sum_of(sum);
    const int code = entered("summing traces", [&] { return s.add(traces_of(*t)); });
    *contributions = s.counted;
    return code;
}

int subsalt_cuda_kirchhoff_fetch(void* sum, float* image, int32_t* hits, int32_t* fold, int64_t* contributions) {
    Sum& s = sum_of(sum);
    const int code = entered("fetching the sums of a block", [&] { return s.fetch(image, hits, fold); });
    *contributions = s.counted;
    return code;
}

int subsalt_cuda_kirchhoff_close(void* sum) {
    enter_to_free();
    delete static_cast<Sum*>(sum);
    return 0;
}
