// Traces filtered by all bands and turned into polynomials between their samples.
//
//   X = F x,   y_b = F^-1 (H_b X),   c_k[i] = sum_m taps_k[m] y_b[i + m - 7],   m = 0 ... 15
//
// F has n >= nt + reach + 15 points, so that no filter wraps around into the record. Two bands go through one transform
// back: with Y_k = X_k (H_a + i H_b)_k and Y_{n-k} = conj(X_k) (conj H_a + i conj H_b)_k the real part is band a, the
// imaginary part band b.
//
// Polynomials of order 4: with u = f - 1/2, s_p = y[i+1+p] + y[i-p] and d_p = y[i+1+p] - y[i-p], p = 0 ... 7, the even
// powers of u are sums over s, the odd ones over d; then the powers of u are sorted by powers of f. In order 1:
// c = (y_i, y_{i+1} - y_i).
//
// One trace per lane in the transforms, samples in the lanes in the polynomials; one order of operations for a trace,
// whatever lanes and threads there are. Rows of output: all coefficients for i < nt - 1, c_0 at nt - 1, zero behind.
// Memory of a thread: 4 n + 1 rows of nt floats per lane. Bytes written per trace: 4 bands (order + 1) row, past the
// caches where rows are aligned. Cost per band and sample: about 20 log2(n) operations of the transform at half price,
// 66 of the polynomials.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include <omp.h>

#include "kernels/lane_fft.hpp"
#include "trace_work.hpp"

namespace subsalt::SUBSALT_NS {

/// Before the samples of a row: room for the taps, and then some, to start at a cache line.
constexpr Index row_margin = 16;

/// Memory of one thread.
class TraceScratch {
public:
    float *spectrum, *pair, *rows;
    Index row; // from one trace to the next

    explicit TraceScratch(const TraceWork& work) : row(row_margin + (work.nt + 15) / 16 * 16 + 2 * 16) {
        const Index points = work.plan != nullptr ? 2 * work.plan->n * lanes : 0;
        const Index floats = 2 * points + lanes * row;
        const size_t bytes = (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
        memory_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
        if (!memory_) return;
        spectrum = memory_.get();
        pair = spectrum + points;
        rows = pair + points;
        std::fill_n(rows, lanes * row, 0.0f);
    }
    bool there() const { return memory_ != nullptr; }

private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> memory_;
};

/// Samples of `count` traces into the lanes of points, imaginary parts and all behind zero; then the spectrum.
inline void analyse(const TraceWork& work, const float* traces, Index count, float* spectrum) {
    const Index n = work.plan->n;
    std::fill_n(spectrum, 2 * n * lanes, 0.0f);
    for (Index lane = 0; lane < count; ++lane) {
        const float* x = traces + lane * work.nt;
        for (Index i = 0; i < work.nt; ++i)
            spectrum[2 * i * lanes + lane] = x[i];
    }
    transform<false>(*work.plan, spectrum, n);
}

/// Y_k and Y_{n-k} of a pair of bands from X_k.
inline void filter_pair(const TraceWork& work, const float* spectrum, const float* factors, float* pair) {
    const Index n = work.plan->n;
    const int64_t* place = work.plan->place.data();
    for (Index k = 0; k <= n / 2; ++k, factors += 4) {
        const Complex x = load_point(spectrum, place[k]);
        store_point(pair, place[k], turn(x, factors));
        // the spectrum of a real trace: X_{n-k} = conj(X_k)
        const Complex y{x.re, sub(set1(0.0f), x.im)};
        if (k > 0 && 2 * k < n) store_point(pair, place[n - k], turn(y, factors + 2));
    }
}

/// Rows of one band out of the lanes: samples -taps_before ... nt - 1 + taps_after; part 0 real, 1 imaginary.
inline void unload(const TraceWork& work, const float* pair, Index part, Index count, const TraceScratch& scratch) {
    const Index n = work.plan->n, end = work.nt + taps_after;
    for (Index i = -taps_before; i < end; ++i) {
        const float* from = pair + (2 * (i < 0 ? i + n : i) + part) * lanes;
        for (Index lane = 0; lane < count; ++lane)
            scratch.rows[lane * scratch.row + row_margin + i] = from[lane];
    }
}

template <bool past_caches>
SUBSALT_INLINE void put(float* p, Vec a) {
    if constexpr (past_caches)
        stream(p, a);
    else
        store(p, a);
}

/// Coefficients of order 4 at i ... i + lanes - 1.
SUBSALT_INLINE void polynomial(const float* y, const float* taps, Vec* c) {
    Vec m[5];
    for (int p = 0; p < 8; ++p) {
        const Vec a = load(y + 1 + p), b = load(y - p);
        const Vec s = add(a, b), d = sub(a, b);
        for (int k = 0; k < 5; ++k) {
            const Vec tap = set1(taps[8 * k + p]), from = k % 2 == 0 ? s : d;
            m[k] = p == 0 ? mul(tap, from) : fma(tap, from, m[k]);
        }
    }
    // sum_k m_k (f - 1/2)^k, highest power first
    c[4] = m[4];
    c[3] = fma(set1(-2.0f), m[4], m[3]);
    c[2] = fma(set1(1.5f), m[4], fma(set1(-1.5f), m[3], m[2]));
    c[1] = fma(set1(-0.5f), m[4], fma(set1(0.75f), m[3], sub(m[1], m[2])));
    c[0] = fma(set1(0.0625f), m[4], fma(set1(-0.125f), m[3], fma(set1(0.25f), m[2], fma(set1(-0.5f), m[1], m[0]))));
}

SUBSALT_INLINE void straight(const float* y, const float*, Vec* c) {
    c[0] = load(y);
    c[1] = sub(load(y + 1), c[0]);
}

/// All coefficients of one trace and band: order + 1 rows of `work.row`.
template <int order, bool past_caches>
inline void write_rows(const TraceWork& work, const float* y, float* out) {
    const Vec zero = set1(0.0f);
    for (Index i = 0; i < work.row; i += lanes) {
        Vec c[order + 1];
        if (i >= work.nt) {
            std::fill_n(c, order + 1, zero);
        } else {
            if constexpr (order == 1)
                straight(y + i, work.taps, c);
            else
                polynomial(y + i, work.taps, c);
            if (i + lanes >= work.nt) {
                for (int k = 0; k <= order; ++k)
                    c[k] = within(i, 0, work.nt - (k > 0), c[k], zero);
            }
        }
        for (int k = 0; k <= order; ++k)
            put<past_caches>(out + k * work.row + i, c[k]);
    }
}

template <int order, bool past_caches>
inline void prepare_group(const TraceWork& work, Index first, const TraceScratch& scratch) {
    const Index count = std::min(lanes, work.n - first), band_size = (order + 1) * work.row;
    const float* traces = work.traces + first * work.nt;
    float* out = work.out + first * work.bands * band_size;
    const auto write = [&](Index band) {
        for (Index lane = 0; lane < count; ++lane)
            write_rows<order, past_caches>(work, scratch.rows + lane * scratch.row + row_margin,
                                           out + (lane * work.bands + band) * band_size);
    };
    if (work.plan == nullptr) {
        for (Index lane = 0; lane < count; ++lane)
            std::copy_n(traces + lane * work.nt, work.nt, scratch.rows + lane * scratch.row + row_margin);
        write(0);
        return;
    }
    analyse(work, traces, count, scratch.spectrum);
    const Index factors = 4 * (work.plan->n / 2 + 1);
    for (Index band = 0; band < work.bands; band += 2) {
        filter_pair(work, scratch.spectrum, work.pairs + band / 2 * factors, scratch.pair);
        transform<true>(*work.plan, scratch.pair, work.plan->n);
        for (Index part = 0; part < std::min<Index>(2, work.bands - band); ++part) {
            unload(work, scratch.pair, part, count, scratch);
            write(band + part);
        }
    }
}

/// Throws std::bad_alloc when a thread finds no memory.
inline void prepare_traces(const TraceWork& work, int threads) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(work.out) % 64 == 0;
    const auto group = work.order == 1 ? (aligned ? prepare_group<1, true> : prepare_group<1, false>)
                                       : (aligned ? prepare_group<4, true> : prepare_group<4, false>);
    bool failed = false;
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const TraceScratch scratch(work);
        if (!scratch.there()) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp barrier
        bool stop;
#pragma omp atomic read
        stop = failed;
        if (!stop) {
#pragma omp for schedule(dynamic, 1)
            for (Index first = 0; first < work.n; first += lanes)
                group(work, first, scratch);
        }
        end_streams();
    }
    if (failed) throw std::bad_alloc();
}

} // namespace subsalt::SUBSALT_NS
