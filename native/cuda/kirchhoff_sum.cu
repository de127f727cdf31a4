// Kirchhoff time migration on the device, second kernel: traces added to the image.
//
//   image[location, slot, k] += (weight) (value),   trace by trace, in their order
//
// Formulas and order of operations: native/kernels/kirchhoff_sum.hpp; the bytes are those of v3 and v4. A thread owns
// one sample k of `in_group` neighbouring locations and keeps their sums in registers while it goes through the traces;
// they go to memory where the image trace changes. A block is 128 samples; pairs (kirchhoff_pairs.cu) come through
// shared memory, 32 traces at a time, and a warp passes over those that reach none of its 32 samples. Blocks of the
// deepest samples, which most traces reach, are started first.
//
// Neighbouring threads read neighbouring samples of a trace (kirchhoff_arrange.cu), so that a load of 32 coefficients
// is one or two lines of the cache. Per contribution with bands and order 4: 120 operations, counted in the code for
// sm_90; 20 or 40 bytes of coefficients from L1 and, by the four locations, a quarter of that from L2; from memory next
// to nothing, since 32 MB of prepared traces stay in L2. An H200 (132 processors, 128 operations a clock, 1.75 GHz)
// could do 245e9 contributions/s by operations, 320e9 by the lines of L1: operations bound it. Expected: 150e9 to
// 200e9.
#include "kirchhoff_sum.hpp"

#include "kirchhoff_operator.cuh"

namespace subsalt::cuda {
namespace migration {

constexpr int threads = 128, warp = 32;
constexpr int at_once = 32; // traces whose pairs are in shared memory
constexpr int group = static_cast<int>(in_group);
static_assert(sizeof(Reached) == pair_bytes);

/// Blocks of a processor: 64 registers a thread, or 80 where fewer would be spilled.
constexpr int resident(bool with_eta, Antialias antialias) {
    return !with_eta && antialias == Antialias::interpolate ? 8 : 6;
}

/// What is the same for all pairs of a block. `depth`: of the medium at its first location.
struct Shared {
    float first, last, bands;
    const float *quarter, *depth;
};

/// The image at one sample after one trace. `factor`: of the weight; `below`: place of the sample in rows of the block.
template <bool with_eta, Antialias antialias, int fixed>
SUBSALT_DEVICE float add_sample(const KirchhoffRules& rules, const Shared& shared, const Trace& trace, const Reached& r,
                                const Below& at, float factor, int k, int below, float image) {
    const Legs<float> l = legs_at<with_eta>(r.pair, at);
    const float position = l.both - shared.first;
    const float inside = fminf(fmaxf(position, 0.0f), shared.last);
    float inverse = 0.0f;
    if (antialias == Antialias::triangle || rules.amplitude != Amplitude::none) inverse = inverse_of(l.product);
    float weight = r.pair.weight;
    if (rules.amplitude != Amplitude::none) weight = weight_of(rules.amplitude, weight, l, inverse, factor);
    if (k < r.open) {
        const Room room = room_at<with_eta>(rules, r.pair, l, shared.quarter + k, shared.depth + below);
        weight = weight * (taper(room.stretch) * taper(room.dip));
    }
    if (!(position == inside)) weight = 0.0f;
    float value;
    if constexpr (antialias == Antialias::none) {
        value = banded<fixed, antialias>(trace, 0.0f, Window(inside));
    } else {
        const float slope = at.slowness2 * steepness<with_eta>(r.pair.src, r.pair.rcv, l);
        if constexpr (antialias == Antialias::triangle) {
            value = triangle<fixed>(trace, inside, fminf(fmaxf(slope * inverse, least_half), most_half));
        } else {
            float b = fminf(fmaxf(shared.bands - ratio(shared.bands * l.product, slope), 0.0f), shared.bands - 1.0f);
            if constexpr (antialias == Antialias::nearest) b = ceilf(b);
            value = banded<fixed, antialias>(trace, b, Window(inside));
        }
    }
    return fma1(weight, value, image);
}

template <bool with_eta, Antialias antialias, int fixed>
__launch_bounds__(threads, resident(with_eta, antialias)) SUBSALT_GLOBAL
    void sum_traces(KirchhoffMedium m, KirchhoffTraces traces, KirchhoffRules rules, KirchhoffImage out,
                    const Reached* reached, Index from, Index count) {
    SUBSALT_SHARED_ARRAY(Reached, pairs, at_once * group);
    const int thread = static_cast<int>(threadIdx.x), n = static_cast<int>(traces.n), nt = static_cast<int>(m.nt);
    const int k = static_cast<int>(gridDim.y - 1 - blockIdx.y) * threads + thread, of_warp = k - thread % warp;
    const int row = static_cast<int>(m.row), row_k = k < row ? k : row - 1;
    const Index loc = from + static_cast<Index>(blockIdx.x) * group;
    const int here = static_cast<int>(from + count - loc < group ? from + count - loc : group); // locations

    Below at[group];
    float factor[group], sum[group];
#pragma unroll
    for (int j = 0; j < group; ++j) {
        const Index in_rows = loc * m.row + (j < here ? j * row : 0) + row_k;
        at[j].half2 = __ldg(m.half2 + row_k);
        at[j].slowness2 = __ldg(m.slowness2 + in_rows);
        if constexpr (with_eta) at[j].eta = __ldg(m.eta + in_rows);
        factor[j] = __ldg(m.factor + (loc + (j < here ? j : 0)) * m.factor_step + row_k);
        sum[j] = 0.0f;
    }
    const Shared shared{traces.first, static_cast<float>(traces.ns - 1), static_cast<float>(traces.bands), m.quarter,
                        m.depth + loc * m.row};
    Trace trace;
    trace.ns_pad = static_cast<int>(traces.ns_pad);
    trace.band = static_cast<unsigned>((fixed + 1) * arranged_row(trace.ns_pad));
    const Index whole = traces.bands * static_cast<Index>(trace.band);

    // the sums of an image trace, between memory and registers
    int slot = -1;
    float* const image = out.image + loc * out.nclass * m.nt;
    const int classes = static_cast<int>(out.nclass);
    const auto keep = [&] {
        if (slot < 0 || k >= nt) return;
#pragma unroll
        for (int j = 0; j < group; ++j)
            if (j < here) image[(j * classes + slot) * nt + k] = sum[j];
    };
    const Reached* source = reached + static_cast<Index>(blockIdx.x) * n * group;
    for (int begin = 0; begin < n; begin += at_once) {
        const int some = n - begin < at_once ? n - begin : at_once;
        __syncthreads(); // nobody reads the pairs before these any more
        for (int i = thread; i < some * group; i += threads)
            pairs[i] = source[static_cast<Index>(begin) * group + i];
        __syncthreads();
        for (int i = 0; i < some; ++i) {
            bool any = false;
#pragma unroll
            for (int j = 0; j < group; ++j)
                any = any || (pairs[i * group + j].lo < of_warp + warp && of_warp < pairs[i * group + j].hi);
            if (!any) continue;
            if (pairs[i * group].slot != slot) {
                keep();
                slot = pairs[i * group].slot;
#pragma unroll
                for (int j = 0; j < group; ++j)
                    if (j < here && k < nt) sum[j] = image[(j * classes + slot) * nt + k];
            }
            const Index of_trace = begin + i;
            trace.samples = traces.samples + of_trace * whole;
            if constexpr (antialias == Antialias::triangle) {
                trace.integrals = traces.integrals + of_trace * traces.ns_pad;
                trace.slopes = traces.slopes + of_trace * traces.ns_pad;
            }
#pragma unroll
            for (int j = 0; j < group; ++j) {
                const Reached& r = pairs[i * group + j];
                if (r.lo <= k && k < r.hi)
                    sum[j] = add_sample<with_eta, antialias, fixed>(rules, shared, trace, r, at[j], factor[j], k,
                                                                    j * row + k, sum[j]);
            }
        }
    }
    keep();
}

using SumTraces = void (*)(KirchhoffMedium, KirchhoffTraces, KirchhoffRules, KirchhoffImage, const Reached*, Index,
                           Index);

template <bool with_eta, Antialias antialias>
SumTraces sum_of_order(Index order) {
    if (order == 1) return sum_traces<with_eta, antialias, 1>;
    return order == 4 ? sum_traces<with_eta, antialias, 4> : nullptr;
}

template <bool with_eta>
SumTraces sum_for(Antialias antialias, Index order) {
    switch (antialias) {
    case Antialias::interpolate:
        return sum_of_order<with_eta, Antialias::interpolate>(order);
    case Antialias::nearest:
        return sum_of_order<with_eta, Antialias::nearest>(order);
    case Antialias::triangle:
        return sum_of_order<with_eta, Antialias::triangle>(order);
    default:
        return sum_of_order<with_eta, Antialias::none>(order);
    }
}

} // namespace migration

Status kirchhoff_sum(const KirchhoffMedium& medium, const KirchhoffTraces& traces, const KirchhoffRules& rules,
                     const KirchhoffImage& out, const void* reached, Index from, Index count, cudaStream_t stream) {
    using namespace migration;
    if (count == 0 || traces.n == 0) return cudaSuccess;
    const SumTraces kernel = medium.eta == nullptr ? sum_for<false>(rules.antialias, traces.order)
                                                   : sum_for<true>(rules.antialias, traces.order);
    if (kernel == nullptr) return cudaErrorInvalidValue;
    const dim3 grid(static_cast<unsigned>((count + in_group - 1) / in_group),
                    static_cast<unsigned>((medium.nt + threads - 1) / threads));
    return launch(kernel, grid, dim3(threads), 0, stream, medium, traces, rules, out,
                  static_cast<const Reached*>(reached), from, count);
}

} // namespace subsalt::cuda
