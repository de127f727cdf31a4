// Kirchhoff time migration on the device, first kernel: which samples of which location does each trace reach?
//
// A thread takes a pair of a trace and a location: its geometry in double precision (kirchhoff_pair.hpp), then the last
// live sample, looked for from below, and the first, from above, as native/kernels/kirchhoff_sum.hpp finds them. A
// block of 16 samples that lies behind the end of the trace for certain is passed over by one test: with the least s /
// (1 + 2 eta) in it (`slow`), t^2 >= h^2 + q / (1 + 2 eta); 1e-4 of t is far beyond any rounding of the sum.
//
// Arrays: reached (location groups, traces, in_group) of 48 bytes, which the sum reads; hits and fold are added to by
// atomic operations on integers, whose order changes nothing. About 1000 operations per pair of some 400 samples, which
// take 120 each; 48 bytes written per pair and read by every run of samples: 0.5 bytes per contribution.
#include "kirchhoff_sum.hpp"

#include "kirchhoff_operator.cuh"

namespace subsalt::cuda {
namespace migration {

constexpr int block = static_cast<int>(kirchhoff_block);
constexpr int threads = 128;
/// Part of a traveltime by which no rounding moves it, and the largest eta for which that is so.
constexpr float nearly = 0.9999f, most_eta = 10.0f;

/// The least s / (1 + 2 eta) of every block of 16 samples.
SUBSALT_GLOBAL void slowest(KirchhoffMedium m, float* slow) {
    const Index i = static_cast<Index>(blockIdx.x) * threads + static_cast<Index>(threadIdx.x);
    if (i >= m.nloc * m.blocks) return;
    const Index at = i / m.blocks * m.row + i % m.blocks * block;
    float least = m.slowness2[at];
    for (Index k = at; k < at + block; ++k) {
        float s = m.slowness2[k];
        if (m.eta != nullptr && m.eta[k] > 0.0f) s = m.eta[k] > most_eta ? 0.0f : s / (1.0f + 2.0f * m.eta[k]);
        least = fminf(least, s);
    }
    slow[i] = least;
}

/// Blocks of samples whose entry is below `depth`; the entries do not fall.
SUBSALT_DEVICE int blocks_below(const float* entry, int blocks, float depth) {
    int lo = 0, hi = blocks;
    while (lo < hi) {
        const int middle = (lo + hi) / 2;
        if (__ldg(entry + middle) < depth)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/// Everything that a pair needs to find its samples.
template <bool with_eta>
struct Column {
    const KirchhoffMedium& m;
    const KirchhoffRules& rules;
    const Pair& pair;
    Index loc;
    float first, last;

    SUBSALT_DEVICE bool live(int k) const {
        Below at;
        at.half2 = __ldg(m.half2 + k);
        at.slowness2 = __ldg(m.slowness2 + loc * m.row + k);
        if constexpr (with_eta) at.eta = __ldg(m.eta + loc * m.row + k);
        const Legs<float> l = legs_at<with_eta>(pair, at);
        const float position = l.both - first;
        const Room room = room_at<with_eta>(rules, pair, l, m.quarter + k, m.depth + loc * m.row + k);
        return 0.0f <= position && position <= last && 0.0f < room.stretch && 0.0f < room.dip;
    }

    /// Whether all samples of a block lie behind the end of the trace; they may also when this does not say so.
    SUBSALT_DEVICE bool beyond(const float* slow, int b) const {
        const float s = __ldg(slow + b), h2 = __ldg(m.half2 + b * block);
        const float t = sqrtf(fma1(pair.src2, s, h2)) + sqrtf(fma1(pair.rcv2, s, h2));
        return t * nearly - first > last;
    }
};

/// From the first live sample to behind the last one of [start, end), both 0 when there is none.
struct Reach {
    int lo, hi;
};

template <bool with_eta>
SUBSALT_DEVICE Reach reach_of(const Column<with_eta>& column, const float* slow, int start, int end) {
    int hi = end;
    while (hi > start) {
        if (hi % block == 0 || hi == end) {
            const int b = (hi - 1) / block;
            if (column.beyond(slow, b)) {
                hi = b * block;
                continue;
            }
        }
        if (column.live(hi - 1)) break;
        --hi;
    }
    if (hi <= start) return {0, 0};
    int lo = start;
    while (lo < hi - 1 && !column.live(lo))
        ++lo;
    return {lo, hi};
}

/// Fill `reached` for the locations [from, from + count) and count hits, fold and contributions.
template <bool with_eta>
SUBSALT_GLOBAL void find_pairs(KirchhoffMedium m, KirchhoffTraces traces, KirchhoffRules rules, KirchhoffImage out,
                               const float* slow, int end, Index from, Index count, Reached* reached,
                               unsigned long long* contributions) {
    SUBSALT_SHARED_ARRAY(int, counted, threads);
    const Index i = static_cast<Index>(blockIdx.x) * threads + static_cast<Index>(threadIdx.x);
    const Index many = (count + in_group - 1) / in_group * in_group * traces.n;
    int samples = 0;
    if (i < many) {
        const Index trace = i / in_group % traces.n;
        const Index loc = from + i / (in_group * traces.n) * in_group + i % in_group;
        Reached r;
        r.pair = Pair{};
        r.lo = r.hi = r.open = 0;
        r.slot = __ldg(traces.slot + trace);
        if (loc < from + count && r.slot >= 0 &&
            pair_at(out.points + 2 * loc, traces.src + 2 * trace, traces.rcv + 2 * trace, traces.weight[trace], rules,
                    r.pair)) {
            const MuteDepths depths = mutes_of(r.pair, rules, m.bounds + 4 * loc);
            const int blocks = static_cast<int>(m.blocks);
            const int start = block * blocks_below(m.up + loc * m.blocks, blocks, depths.muted);
            r.open = block * blocks_below(m.down + loc * m.blocks, blocks, depths.whole);
            const Column<with_eta> column{m, rules, r.pair, loc, traces.first, static_cast<float>(traces.ns - 1)};
            const Reach reach = reach_of(column, slow + loc * m.blocks, start, end);
            r.lo = reach.lo;
            r.hi = reach.hi;
            samples = r.hi - r.lo;
            if (samples > 0) {
                atomicAdd(out.hits + loc * (m.nt + 1) + r.lo, 1);
                atomicAdd(out.hits + loc * (m.nt + 1) + r.hi, -1);
                atomicAdd(out.fold + loc * out.ngroup + __ldg(traces.group + trace), 1);
            }
        }
        reached[i] = r;
    }
    counted[threadIdx.x] = samples;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < half) counted[threadIdx.x] += counted[static_cast<int>(threadIdx.x) + half];
    }
    // thread 0 wrote it last
    if (threadIdx.x == 0 && counted[0] > 0) atomicAdd(contributions, static_cast<unsigned long long>(counted[0]));
}

} // namespace migration

Status kirchhoff_slowest(const KirchhoffMedium& m, float* slow, cudaStream_t stream) {
    using namespace migration;
    const Index n = m.nloc * m.blocks;
    if (n == 0) return cudaSuccess;
    return launch(slowest, dim3(static_cast<unsigned>((n + threads - 1) / threads)), dim3(threads), 0, stream, m, slow);
}

Status kirchhoff_pairs(const KirchhoffMedium& m, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                       const KirchhoffImage& out, const float* slow, int end, Index from, Index count, void* reached,
                       unsigned long long* contributions, cudaStream_t stream) {
    using namespace migration;
    const Index many = (count + in_group - 1) / in_group * in_group * traces.n;
    if (many == 0) return cudaSuccess;
    const auto kernel = m.eta == nullptr ? find_pairs<false> : find_pairs<true>;
    return launch(kernel, dim3(static_cast<unsigned>((many + threads - 1) / threads)), dim3(threads), 0, stream, m,
                  traces, rules, out, slow, end, from, count, static_cast<Reached*>(reached), contributions);
}

} // namespace subsalt::cuda
