#include "signal/trace_map.hpp"

#include "signal/fixed_math.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace subsalt::signal {
namespace {

constexpr int64_t kLanes = 8;   // traces of a panel, side by side
constexpr int64_t kTile = 4;    // outputs of one inner loop
constexpr int64_t kBand = 32;   // frequencies whose tables are alive at a time
constexpr int64_t kChunk = 512; // traces transformed together
constexpr int64_t kFine = 32;   // samples between exact evaluations of a table

// Two doubles are what the baseline instruction set of x86-64 and of ARM holds, four what AVX2 does. Members of
// structs, since a template argument loses the attributes.
struct Pair {
    typedef double Vector __attribute__((vector_size(16), aligned(8), may_alias));
};
struct Quad {
    typedef double Vector __attribute__((vector_size(32), aligned(8), may_alias));
};

int64_t tiles(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

// Folded samples of an axis: index 0 is the middle one (odd nt) or half an interval beside it (even nt).
struct Fold {
    int64_t nt, half;
    double offset; // distance of index 0 from the middle, in intervals

    explicit Fold(int64_t n) : nt(n), half((n + 1) / 2), offset(n % 2 == 0 ? 0.5 : 0.0) {}
    int64_t after(int64_t i) const { return nt / 2 + i; }             // sample at +t
    int64_t before(int64_t i) const { return (nt - 1) / 2 - i; }      // sample at -t
    bool is_middle(int64_t i) const { return nt % 2 == 1 && i == 0; } // both are the same sample
    int64_t padded() const { return kTile * tiles(half, kTile); }
};

// acc[j][lane] += sum_k x[k][lane] t[k][j], k upwards, one rounded product and one rounded sum each: a lane's bits do
// not depend on how many lanes a vector holds. Two vectors of lanes at a time: eight sums fit the registers.
template <class Lanes>
__attribute__((always_inline)) inline void accumulate_in(const double* __restrict x, const double* __restrict t,
                                                         double* __restrict acc, int64_t nk) {
    using Vector = typename Lanes::Vector;
    constexpr int64_t width = sizeof(Vector) / sizeof(double);
    for (int64_t lane = 0; lane < kLanes; lane += 2 * width) {
        Vector sum[kTile][2];
        for (int64_t j = 0; j < kTile; ++j) {
            for (int64_t h = 0; h < 2; ++h)
                sum[j][h] = *reinterpret_cast<const Vector*>(acc + j * kLanes + lane + h * width);
        }
        for (int64_t k = 0; k < nk; ++k) {
            const Vector x0 = *reinterpret_cast<const Vector*>(x + k * kLanes + lane);
            const Vector x1 = *reinterpret_cast<const Vector*>(x + k * kLanes + lane + width);
            for (int64_t j = 0; j < kTile; ++j) {
                sum[j][0] += x0 * t[k * kTile + j];
                sum[j][1] += x1 * t[k * kTile + j];
            }
        }
        for (int64_t j = 0; j < kTile; ++j) {
            for (int64_t h = 0; h < 2; ++h)
                *reinterpret_cast<Vector*>(acc + j * kLanes + lane + h * width) = sum[j][h];
        }
    }
}

void accumulate_baseline(const double* x, const double* t, double* acc, int64_t nk) {
    accumulate_in<Pair>(x, t, acc, nk);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void accumulate_avx2(const double* x, const double* t, double* acc, int64_t nk) {
    accumulate_in<Quad>(x, t, acc, nk);
}

void accumulate(const double* x, const double* t, double* acc, int64_t nk) {
    static const bool wide = __builtin_cpu_supports("avx2");
    (wide ? accumulate_avx2 : accumulate_baseline)(x, t, acc, nk);
}
#else
void accumulate(const double* x, const double* t, double* acc, int64_t nk) {
    accumulate_baseline(x, t, acc, nk);
}
#endif

// cos and sin of w dt (i + offset) for i below `count`, each from one exact coarse and one exact fine angle.
template <class Store>
void trigonometric_row(double w, double dt, const Fold& fold, int64_t count, Store store) {
    const double angle = w * dt;
    fixed::SinCos fine[kFine];
    for (int64_t b = 0; b < kFine; ++b)
        fine[b] = fixed::sincos(angle * static_cast<double>(b));
    for (int64_t i = 0; i < count; i += kFine) {
        const fixed::SinCos coarse = fixed::sincos(angle * (static_cast<double>(i) + fold.offset));
        for (int64_t b = 0; b < std::min(kFine, count - i); ++b) {
            const double c = coarse.cos * fine[b].cos - coarse.sin * fine[b].sin;
            const double s = coarse.sin * fine[b].cos + coarse.cos * fine[b].sin;
            store(i + b, c, s);
        }
    }
}

struct Tables {
    std::vector<double> cos, sin;
    explicit Tables(size_t n) : cos(n), sin(n) {}
};

// Layout [frequency tile][sample][frequency in tile]: what the analysis reads in order.
void fill_analysis(Tables& table, const Side& side, const Fold& fold, int64_t k0, int64_t k, int64_t nk) {
    const int64_t at = (k / kTile) * fold.padded() * kTile + k % kTile;
    if (k0 + k >= nk) { // behind the last frequency: a zero column
        for (int64_t i = 0; i < fold.padded(); ++i) {
            table.cos[static_cast<size_t>(at + i * kTile)] = table.sin[static_cast<size_t>(at + i * kTile)] = 0.0;
        }
        return;
    }
    trigonometric_row(side.w[k0 + k], side.dt, fold, fold.half, [&](int64_t i, double c, double s) {
        table.cos[static_cast<size_t>(at + i * kTile)] = c;
        table.sin[static_cast<size_t>(at + i * kTile)] = s;
    });
}

// Layout [sample tile][frequency][sample in tile]: what the synthesis reads in order.
void fill_synthesis(Tables& table, const Side& side, const Fold& fold, int64_t k0, int64_t k, int64_t nk) {
    const auto place = [&](int64_t i) {
        return static_cast<size_t>((i / kTile) * kBand * kTile + k * kTile + i % kTile);
    };
    if (k0 + k >= nk) return; // not read: the synthesis stops at the last frequency
    trigonometric_row(side.w[k0 + k], side.dt, fold, fold.half, [&](int64_t i, double c, double s) {
        table.cos[place(i)] = c;
        table.sin[place(i)] = s;
    });
}

// Even and odd parts of up to kLanes traces, [sample][trace]; missing traces are zero.
template <class T>
void fold_panel(const T* x, int64_t count, const Fold& fold, double* even, double* odd) {
    for (int64_t i = 0; i < fold.half; ++i) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            double e = 0.0, o = 0.0;
            if (lane < count) {
                const double after = static_cast<double>(x[lane * fold.nt + fold.after(i)]);
                const double before = static_cast<double>(x[lane * fold.nt + fold.before(i)]);
                e = fold.is_middle(i) ? after : after + before;
                o = before - after; // exactly zero in the middle unless the sample is not finite
            }
            even[i * kLanes + lane] = e;
            odd[i * kLanes + lane] = o;
        }
    }
}

template <class T>
void unfold_panel(T* y, int64_t count, const Fold& fold, const double* even, const double* odd) {
    for (int64_t i = 0; i < fold.half; ++i) {
        for (int64_t lane = 0; lane < count; ++lane) {
            const double e = even[i * kLanes + lane], o = odd[i * kLanes + lane];
            y[lane * fold.nt + fold.before(i)] = static_cast<T>(e + o);
            y[lane * fold.nt + fold.after(i)] = static_cast<T>(e - o); // in the middle o is zero
        }
    }
}

// Working arrays of one panel, views into the buffers of a chunk.
struct Panel {
    double *even_in, *odd_in, *even_out, *odd_out;
};

// One band of frequencies of one panel: analysis, multiplication by q, synthesis added to the output.
void transform_panel(const Panel& p, const Fold& in, const Fold& out, const Tables& analysis, const Tables& synthesis,
                     const Spectrum& spectrum, int64_t k0) {
    const int64_t nk = std::min(kBand, spectrum.nk - k0);
    double real[kBand * kLanes], imag[kBand * kLanes];
    for (int64_t k = 0; k < nk; k += kTile) {
        double* c = real + k * kLanes;
        double* s = imag + k * kLanes;
        std::fill_n(c, kTile * kLanes, 0.0);
        std::fill_n(s, kTile * kLanes, 0.0);
        const size_t at = static_cast<size_t>(k * in.padded());
        accumulate(p.even_in, analysis.cos.data() + at, c, in.half);
        accumulate(p.odd_in, analysis.sin.data() + at, s, in.half);
    }
    for (int64_t k = 0; k < nk; ++k) {
        const double qr = spectrum.q_real[k0 + k], qi = spectrum.q_imag[k0 + k];
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            const double c = real[k * kLanes + lane], s = imag[k * kLanes + lane];
            real[k * kLanes + lane] = qr * c - qi * s;
            imag[k * kLanes + lane] = qi * c + qr * s;
        }
    }
    for (int64_t i = 0; i < out.half; i += kTile) {
        const size_t at = static_cast<size_t>(i * kBand);
        accumulate(real, synthesis.cos.data() + at, p.even_out + i * kLanes, nk);
        accumulate(imag, synthesis.sin.data() + at, p.odd_out + i * kLanes, nk);
    }
}

} // namespace

template <class T>
void map_traces(const T* x, T* y, int64_t n, Side in, Side out, Spectrum spectrum) {
    const Fold fold_in(in.nt), fold_out(out.nt);
    const int64_t size_in = fold_in.padded() * kLanes, size_out = fold_out.padded() * kLanes;
    const int64_t panels_max = tiles(std::min(n, kChunk), kLanes);
    Tables analysis(static_cast<size_t>(kBand * fold_in.padded()));
    Tables synthesis(static_cast<size_t>(kBand * fold_out.padded()));
    std::vector<double> buffer(static_cast<size_t>(panels_max * 2 * (size_in + size_out)));

    for (int64_t first = 0; first < n; first += kChunk) {
        const int64_t count = std::min(kChunk, n - first);
        const int64_t panels = tiles(count, kLanes);
        const auto panel = [&](int64_t i) {
            double* at = buffer.data() + i * 2 * (size_in + size_out);
            return Panel{at, at + size_in, at + 2 * size_in, at + 2 * size_in + size_out};
        };
        // traces are independent, and so are the rows of the tables: nothing is summed across threads
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < panels; ++i) {
                const Panel p = panel(i);
                const int64_t lanes = std::min(kLanes, count - i * kLanes);
                fold_panel(x + (first + i * kLanes) * in.nt, lanes, fold_in, p.even_in, p.odd_in);
                std::fill_n(p.even_out, 2 * size_out, 0.0);
            }
            for (int64_t k0 = 0; k0 < spectrum.nk; k0 += kBand) {
#pragma omp for schedule(static)
                for (int64_t k = 0; k < kBand; ++k) {
                    fill_analysis(analysis, in, fold_in, k0, k, spectrum.nk);
                    fill_synthesis(synthesis, out, fold_out, k0, k, spectrum.nk);
                }
#pragma omp for schedule(static)
                for (int64_t i = 0; i < panels; ++i) {
                    transform_panel(panel(i), fold_in, fold_out, analysis, synthesis, spectrum, k0);
                }
            }
#pragma omp for schedule(static)
            for (int64_t i = 0; i < panels; ++i) {
                const Panel p = panel(i);
                const int64_t lanes = std::min(kLanes, count - i * kLanes);
                unfold_panel(y + (first + i * kLanes) * out.nt, lanes, fold_out, p.even_out, p.odd_out);
            }
        }
    }
}

template void map_traces<float>(const float*, float*, int64_t, Side, Side, Spectrum);
template void map_traces<double>(const double*, double*, int64_t, Side, Side, Spectrum);

} // namespace subsalt::signal
