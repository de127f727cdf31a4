// What the machine gives at best: bytes per second of plain sweeps, multiply-adds per second, and a time step without
// its stencil. Included once per instruction set, after the driver.
//
//   update        o = a p + (p - o)                     16 bytes per element: o, a, p read, o written
//   triad         o = a + scale p                       12 bytes per element: a, p read, o written
//   copy          o = a                                  8 bytes per element: a read, o written
//   multiply_add  x = factor x + term, `chains` vectors  2 operations per lane, chain and round; no memory
//   roof_step     the rows, tiles, arrays and prefetches of a time step; of the stencil the centre weight is left:
//                 isotropic  iso_step.hpp with lap p = c p            16 bytes per point, 14 with packed models
//                 VTI        vti_step.hpp with A = c p, B = c_z q     36 bytes per point, 30 with packed models
//                 TTI        the same with B = c_z q (n . n): 48 bytes per point
//
// Bytes are those the loop names; a store that first fetches its line moves 4 more in triad and copy.
#pragma once

#include "isa/driver.hpp"
#include "isa/lab_table.hpp"

namespace subsalt::SUBSALT_NS {

/// This thread's share of n floats, in whole vectors of 16.
SUBSALT_INLINE Range share(Index n) {
    const Range r = part(0, n / 16, omp_get_num_threads(), omp_get_thread_num());
    return {16 * r.lo, 16 * r.hi};
}

/// Floats ahead of a sweep whose cache lines are asked for.
constexpr Index lab_ahead = 1024;

void lab_update(float* o, const float* a, const float* p, Index n, int threads) {
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Range r = share(n);
        for (Index i = r.lo; i < r.hi; i += lanes) {
            prefetch(o + i + lab_ahead);
            prefetch(a + i + lab_ahead);
            prefetch(p + i + lab_ahead);
            const Vec v = load(p + i);
            store(o + i, fma(load(a + i), v, sub(v, load(o + i))));
        }
    }
}

void lab_triad(float* o, const float* a, const float* p, float scale, Index n, int threads) {
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Vec s = set1(scale);
        const Range r = share(n);
        for (Index i = r.lo; i < r.hi; i += lanes) {
            prefetch(a + i + lab_ahead);
            prefetch(p + i + lab_ahead);
            store(o + i, fma(s, load(p + i), load(a + i)));
        }
    }
}

void lab_copy(float* o, const float* a, Index n, int threads) {
#pragma omp parallel num_threads(threads)
    {
        const Range r = share(n);
        for (Index i = r.lo; i < r.hi; i += lanes) {
            prefetch(a + i + lab_ahead);
            store(o + i, load(a + i));
        }
    }
}

/// Two multiply-adds per cycle with a latency of 4 need 8 chains; 12 leave room and registers.
constexpr int lab_chains = 12;

/// Chain k of every thread starts at k; out holds lab_chains vectors per thread, so that no result can be dropped.
void lab_multiply_add(float* out, float factor, float term, Index rounds, int threads) {
#pragma omp parallel num_threads(threads)
    {
        Vec x[lab_chains];
        for (int k = 0; k < lab_chains; ++k)
            x[k] = set1(static_cast<float>(k));
        const Vec f = set1(factor), t = set1(term);
        for (Index i = 0; i < rounds; ++i)
            for (int k = 0; k < lab_chains; ++k)
                x[k] = fma(f, x[k], t);
        float* mine = out + omp_get_thread_num() * lab_chains * lanes;
        for (int k = 0; k < lab_chains; ++k)
            store(mine + k * lanes, x[k]);
    }
}

/// The row of iso_step.hpp without its stencil; `Array` is how the model lies in memory (model_storage.hpp).
template <class Array>
void roof_iso_row(const Problem& pb, const Levels& lv, Index at, Index skip) {
    const float* p = lv.curr[0] + at;
    const Array m(pb, Model::m, at);
    float* o = lv.prev[0] + at;
    const Vec two = set1(2.0f), centre = set1(pb.centre);
    const Index far = skip + pb.radius * pb.plane;
    for (Index z = 0; z < pb.n[2]; z += lanes) {
        prefetch(p + z + far);
        prefetch(o + z + skip);
        prefetch(m.address(z + skip));
        const Vec v = load(p + z);
        store(o + z, fma(m(z), mul(centre, v), fms(two, v, load(o + z))));
    }
}

/// The row of vti_step.hpp without its stencil; with a tilt its arrays are read as well.
template <class Array, bool Tilted>
void roof_two_row(const Problem& pb, const Levels& lv, Index at, Index skip) {
    const float *p = lv.curr[0] + at, *q = lv.curr[1] + at;
    const Array m(pb, Model::m, at), e(pb, Model::e, at), s(pb, Model::s, at);
    float *op = lv.prev[0] + at, *oq = lv.prev[1] + at;
    const Vec two = set1(2.0f), centre = set1(pb.centre), centre_z = set1(pb.c[2][0]);
    const Index far = skip + pb.radius * pb.plane;
    for (Index z = 0; z < pb.n[2]; z += lanes) {
        prefetch(p + z + far);
        prefetch(q + z + skip);
        prefetch(op + z + skip);
        prefetch(oq + z + skip);
        prefetch(m.address(z + skip));
        prefetch(e.address(z + skip));
        prefetch(s.address(z + skip));
        const Vec vp = load(p + z), vq = load(q + z), vm = m(z), vs = s(z);
        const Vec a = mul(centre, vp);
        Vec b = mul(centre_z, vq);
        if constexpr (Tilted) {
            Vec square = set1(0.0f);
            for (int axis = 0; axis < 3; ++axis) {
                prefetch(pb.tilt.axis[axis] + at + z + skip);
                const Vec n = load(pb.tilt.axis[axis] + at + z);
                square = fma(n, n, square);
            }
            b = mul(b, square);
        }
        store(op + z, fma(vm, fma(e(z), a, mul(vs, b)), fms(two, vp, load(op + z))));
        store(oq + z, fma(vm, fma(vs, a, b), fms(two, vq, load(oq + z))));
    }
}

/// The row of a medium and its storage.
inline auto roof_row(const Problem& pb) {
    const bool packed = pb.storage == ModelStorage::u16;
    if (pb.medium == Medium::tti) return roof_two_row<Floats, true>;
    if (pb.medium == Medium::vti) return packed ? roof_two_row<Packed16, false> : roof_two_row<Floats, false>;
    return packed ? roof_iso_row<Packed16> : roof_iso_row<Floats>;
}

/// A time step of the core without its derivatives, over the same rows and tiles.
void roof_step(const Problem& pb, const Levels& lv, int threads) {
    const Box whole{{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
    const auto tiles = tiles_of(pb, whole, threads);
    const auto row = roof_row(pb);
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
#pragma omp for schedule(static)
        for (Index t = 0; t < tiles.nx * tiles.ny; ++t) {
            const Range x = part(0, pb.n[0], tiles.nx, t / tiles.ny);
            const Range y = part(0, pb.n[1], tiles.ny, t % tiles.ny);
            for (Index ix = x.lo; ix < x.hi; ++ix)
                for (Index iy = y.lo; iy < y.hi; ++iy) {
                    const Index skip = iy + 1 < y.hi ? pb.row : pb.plane + (y.lo - y.hi + 1) * pb.row;
                    row(pb, lv, row_offset(pb, ix, iy), skip);
                }
        }
    }
}

const LabTable& lab_table() {
    static constexpr LabTable t{SUBSALT_LANES, lab_chains,       lab_update, lab_triad,
                                lab_copy,      lab_multiply_add, roof_step};
    return t;
}

} // namespace subsalt::SUBSALT_NS
