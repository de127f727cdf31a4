// Loops of the kernels over rows, tiles and threads; included once per instruction set (SUBSALT_NS, _NAME, _LANES).
//
// Every point is computed by the same chain of operations whoever computes it, so threads, tiles and boxes change no
// bit. Schedules are static. A row belongs to one thread, so that whole vectors may be written at the ends of a box and
// the lanes outside it put back. No template of the standard library is used here: the linker would merge its code
// between instruction sets.
#pragma once

#include <omp.h>

#include "isa/advance.hpp"
#include "isa/fused.hpp"
#include "isa/rows.hpp"
#include "isa/table.hpp"
#include "isa/tti.hpp"
#include "kernels/imaging.hpp"
#include "kernels/mirror.hpp"
#include "kernels/plain.hpp"
#include "kernels/points.hpp"

namespace subsalt::SUBSALT_NS {

/// How a box is cut into tiles: `ny` along y, their number a multiple of the threads, or, when there are few rows, `nx`
/// along x.
struct BoxTiles {
    Index nx, ny;
};
inline BoxTiles tiles_of(const Problem& pb, const Box& box, Index threads) {
    const Index rows = box.hi[1] - box.lo[1];
    if (rows < 4 * threads) return {threads, 1};
    // rows per tile such that the planes of p within reach stay in L2; 32 to 128 rows differ little (256^3)
    const Index wanted = 12288 / pb.row < 32 ? 32 : (12288 / pb.row > 64 ? 64 : 12288 / pb.row);
    const Index per_thread = (rows + threads * wanted - 1) / (threads * wanted);
    return {1, threads * per_thread};
}

inline bool empty(const Box& b) {
    return b.lo[0] >= b.hi[0] || b.lo[1] >= b.hi[1] || b.lo[2] >= b.hi[2];
}

/// Psi of x and y in a box, and of z where that is asked for. Two neighbouring rows share what they read.
inline void psi_step(const Problem& pb, const Levels& lv, const Box& box, int threads, bool along_z) {
    if (pb.boundary != Boundary::pml || empty(box)) return;
    const RowKernels kernels = row_kernels(pb, false);
    const bool whole = box.lo[2] == 0 && box.hi[2] == pb.n[2];
    // two rows from (ix, iy) on along an axis, or the one that is left
    const auto psi = [&](int axis, Index ix, Index iy) {
        const Index left = box.hi[axis] - (axis == 0 ? ix : iy), count = left < 2 ? left : 2;
        if (whole) return kernels.psi_rows(pb, lv, axis, ix, iy, count, true);
        for (Index k = 0; k < count; ++k)
            kernels.psi(pb, lv, axis, ix + (axis == 0 ? k : 0), iy + (axis == 0 ? 0 : k), box.lo[2], box.hi[2], true);
    };
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
#pragma omp for schedule(static)
        for (Index ix = box.lo[0]; ix < box.hi[0]; ix += 2) {
            for (Index iy = box.lo[1]; iy < box.hi[1]; ++iy)
                psi(0, ix, iy);
            for (Index jx = ix; jx < ix + 2 && jx < box.hi[0]; ++jx) {
                for (Index iy = box.lo[1]; iy < box.hi[1] && pb.dim == 3; iy += 2)
                    psi(1, jx, iy);
                for (Index iy = box.lo[1]; iy < box.hi[1] && along_z; ++iy)
                    kernels.psi_z(pb, lv, jx, iy, box.lo[2], box.hi[2]);
            }
        }
    }
}

void memory_step(const Problem& pb, const Levels& lv, const Box& box, int threads) {
    psi_step(pb, lv, box, threads, true);
}

/// Psi of x and y on all rows, as far as the wavefield has come.
inline void front_psi_step(const Problem& pb, const Levels& lv, const TiltedEnds& ends, int threads) {
    const RowKernels kernels = row_kernels(pb, false);
    const std::int32_t* reach = ends.reaches.read;
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        Scratch scratch(pb);
#pragma omp for schedule(static)
        for (Index ix = 0; ix < pb.n[0]; ix += 2) {
            const Index end = ix + 2 < pb.n[0] ? ix + 2 : pb.n[0];
            for (Index iy = 0; iy < pb.n[1]; ++iy)
                front_psi_x(pb, lv, *ends.front, reach, kernels, scratch, ix, end, iy, true);
            for (Index jx = ix; jx < end && pb.dim == 3; ++jx)
                for (Index iy = 0; iy < pb.n[1]; ++iy)
                    front_psi(pb, lv, *ends.front, reach, kernels, scratch, 1, jx, iy, true);
        }
    }
}

/// A whole time step of a tilted medium; `rows` of a tile and `ends` as in TiltedWork. Returns the points of a step.
inline Index tilted_time_step(const Problem& pb, const Levels& lv, const Box& whole, Index rows, int threads,
                              const TiltedEnds* ends = nullptr) {
    if (ends == nullptr)
        psi_step(pb, lv, whole, threads, false);
    else if (pb.boundary == Boundary::pml)
        front_psi_step(pb, lv, *ends, threads);
    return tilted_step(pb, lv, {whole, nullptr, rows, true, ends}, threads, false);
}

void field_step(const Problem& pb, const Levels& lv, const Box& box, int threads, bool generic_radius) {
    if (empty(box)) return;
    if (pb.medium == Medium::tti) {
        tilted_step(pb, lv, {box, nullptr, 0, false}, threads, generic_radius);
        return;
    }
    const BoxTiles tiles = tiles_of(pb, box, threads);
    const RowKernels kernels = row_kernels(pb, generic_radius);
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        Scratch scratch(pb);
#pragma omp for schedule(static)
        for (Index t = 0; t < tiles.nx * tiles.ny; ++t) {
            const Range x = part(box.lo[0], box.hi[0], tiles.nx, t / tiles.ny);
            const Range y = part(box.lo[1], box.hi[1], tiles.ny, t % tiles.ny);
            for (Index ix = x.lo, planes; ix < x.hi; ix += planes) {
                planes = planes_at_once(kernels, ix, x.hi);
                for (Index iy = y.lo; iy < y.hi; ++iy) {
                    // the next row of this march, for the prefetch
                    const Index skip = iy + 1 < y.hi ? pb.row : planes * pb.plane + (y.lo - y.hi + 1) * pb.row;
                    field_rows(pb, lv, kernels, scratch,
                               {ix, iy, box.lo[2], box.hi[2], static_cast<int>(planes), 1, skip, Fetch::l1, false});
                }
            }
        }
    }
}

/// A whole time step: the same as memory_step and field_step over the whole grid, in one pass where that is faster.
void time_step(const Problem& pb, const Levels& lv, int threads) {
    const Box whole{{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
    const BoxTiles tiles = tiles_of(pb, whole, threads);
    if (pb.medium == Medium::tti) {
        tilted_time_step(pb, lv, whole, 0, threads);
        return;
    }
    if (pb.boundary != Boundary::pml || !fits_one_pass(pb, tiles.nx, tiles.ny)) {
        memory_step(pb, lv, whole, threads);
        field_step(pb, lv, whole, threads, false);
        return;
    }
    const RowKernels kernels = row_kernels(pb, false);
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        Scratch scratch(pb);
#pragma omp for schedule(static)
        for (Index t = 0; t < tiles.ny; ++t) {
            const Range y = part(0, pb.n[1], tiles.ny, t);
            one_pass_tile(pb, lv, kernels, scratch, y.lo, y.hi);
        }
    }
}

void apply_l(const Problem& pb, const float* const* fields, const Box& box, float* const* out, int threads) {
    if (empty(box)) return;
    if (pb.medium == Medium::tti) {
        Levels lv{};
        for (int f = 0; f < 2; ++f)
            lv.curr[f] = fields[f];
        tilted_step(pb, lv, {box, out, 0, false}, threads, false);
        return;
    }
    const RowKernels kernels = row_kernels(pb, false);
    const Index ny = box.hi[1] - box.lo[1], nz = box.hi[2] - box.lo[2];
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        Scratch scratch(pb);
#pragma omp for schedule(static)
        for (Index ix = box.lo[0]; ix < box.hi[0]; ++ix)
            for (Index iy = box.lo[1]; iy < box.hi[1]; ++iy) {
                float* a = scratch.extra[0][0];
                float* b = scratch.extra[0][1];
                laplacian_row(pb, fields, kernels, a, b, ix, iy, box.lo[2], box.hi[2]);
                const Index at = ((ix - box.lo[0]) * ny + (iy - box.lo[1])) * nz;
                for (Index k = 0; k < nz; ++k)
                    out[0][at + k] = a[box.lo[2] + k];
                if (pb.fields == 2)
                    for (Index k = 0; k < nz; ++k)
                        out[1][at + k] = b[box.lo[2] + k];
            }
    }
}

void inject(const Problem& pb, float* const* fields, const Points& pts, const float* values, int threads) {
    // a parallel region costs a few microseconds, a support about a tenth of one
    const int used = pts.n < 16 ? 1 : threads;
#pragma omp parallel num_threads(used) if (used > 1)
    {
        FlushDenormals flush;
#pragma omp for schedule(static)
        for (Index j = 0; j < pts.n_planes; ++j)
            inject_plane(pb, fields, pts, values, j, 0, pb.n[1]);
    }
}

void record(const Problem& pb, const float* const* fields, const Points& pts, float* out, int threads) {
    const int used = pts.n < 16 ? 1 : threads;
#pragma omp parallel num_threads(used) if (used > 1)
    {
        FlushDenormals flush;
#pragma omp for schedule(static)
        for (Index i = 0; i < pts.n; ++i)
            out[i] = record_point(pb, fields, pts, i);
    }
}

/// data[s, i] = the sum, in the order of x, of what the planes add to sample i in each of some steps: `record_point` of
/// shares that a pass over a slab has kept, which are flushed like everything else.
void add_shares(const Points& pts, const float* shares, float* data, Index steps) {
    FlushDenormals flush;
    for (Index i = 0; i < steps * pts.n; ++i) {
        const float *w = pts.weights + 3 * (i % pts.n) * pts.width, *of = shares + i * pts.width;
        float total = 0.0f;
        for (Index jx = 0; jx < pts.width; ++jx)
            if (w[jx] != 0.0f) total += of[jx];
        data[i] = total;
    }
}

void square(float* image, const float* u, Index n, float scale, int threads) {
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Range r = part(0, n, omp_get_num_threads(), omp_get_thread_num());
        square_row(image + r.lo, u + r.lo, scale, r.hi - r.lo);
    }
}

void product(float* image, const float* u, const float* w, Index n, float scale, int threads) {
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Range r = part(0, n, omp_get_num_threads(), omp_get_thread_num());
        product_row(image + r.lo, u + r.lo, w + r.lo, scale, r.hi - r.lo);
    }
}

template <int M>
void plain_rows(const Problem& pb, const Levels& lv, int threads) {
    const Index tile = 32, tiles = (pb.n[1] + tile - 1) / tile;
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
#pragma omp for schedule(static)
        for (Index t = 0; t < tiles; ++t)
            for (Index ix = 0; ix < pb.n[0]; ++ix)
                for (Index iy = t * tile; iy < pb.n[1] && iy < (t + 1) * tile; ++iy) {
                    const Index at = row_offset(pb, ix, iy);
                    if (pb.medium == Medium::vti)
                        plain_vti_row<M>(pb, lv.curr[0] + at, lv.curr[1] + at, lv.prev[0] + at, lv.prev[1] + at,
                                         pb.m + at, pb.e + at, pb.s + at, pb.n[2]);
                    else
                        plain_iso_row<M>(pb, lv.curr[0] + at, lv.prev[0] + at, pb.m + at, pb.n[2]);
                }
    }
}

void plain_step(const Problem& pb, const Levels& lv, int threads) {
    pb.radius == 2 ? plain_rows<2>(pb, lv, threads) : plain_rows<4>(pb, lv, threads);
}

/// A sample of a level that is complete.
void sample_all(const Problem& pb, const Sample& sample, const float* const* fields, int threads) {
    if (empty(sample.box)) return;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (Index ix = sample.box.lo[0]; ix < sample.box.hi[0]; ++ix) {
        FlushDenormals flush;
        sample_plane(pb, sample, fields, ix, sample.box.lo[1], sample.box.hi[1]);
    }
}

/// Keep or put back the shell of a level.
void shell(const Problem& pb, float* const* fields, const Shell& shell, float* record, bool put_back, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (Index ix = shell.box.lo[0]; ix < shell.box.hi[0]; ++ix)
        shell_plane(pb, shell, record, put_back, fields, ix, shell.box.lo[1], shell.box.hi[1]);
}

/// After a step and its sources: add to the level it has made what makes its operator symmetric, from the one it has
/// read, and give what lies above the surface its values.
void mirror(const Problem& pb, const Mirror& mirror, float* const* made, const float* const* read, int threads) {
    const SparseRows &odd = mirror.odd, &reach = mirror.reach;
    float* sums = nullptr;
    if (mirror.own.n > 0) {
        sums = static_cast<float*>(std::malloc(static_cast<std::size_t>(pb.fields * reach.n) * sizeof(float)));
        if (sums == nullptr) std::abort();
    }
#pragma omp parallel num_threads(threads)
    {
        FlushDenormals flush;
        const Index team = omp_get_num_threads(), thread = omp_get_thread_num();
        const Range ghosts = part(0, reach.n, team, thread), near = part(0, mirror.own.n, team, thread),
                    above = part(0, odd.n, team, thread);
        if (sums != nullptr) {
            for (int f = 0; f < pb.fields; ++f)
                reach_rows(reach, read[f], sums + f * reach.n, ghosts.lo, ghosts.hi);
#pragma omp barrier
            for (int f = 0; f < pb.fields; ++f)
                close_rows(mirror, read[f], sums + f * reach.n, made[f], near.lo, near.hi);
#pragma omp barrier
        }
        for (int f = 0; f < pb.fields; ++f)
            reflect_rows(odd, made[f], above.lo, above.hi);
    }
    std::free(sums);
}

/// The same steps one after the other: in a tilted medium, there as far as the wavefield has come, or below a free
/// surface inside the grid.
void step_by_step(const Problem& pb, const Segment& asked) {
    Segment seg = asked;
    if (seg.front != nullptr && (seg.mirror != nullptr || !leaves_out(pb, seg))) seg.front = nullptr;
    if (seg.front == nullptr) count_whole(pb, seg);
    const Index rows = pb.n[0] * pb.n[1];
    std::int32_t* ends = nullptr;
    if (seg.front != nullptr) {
        ends = static_cast<std::int32_t*>(std::malloc(static_cast<std::size_t>(3 * rows) * sizeof(std::int32_t)));
        if (ends == nullptr) std::abort();
    }
    for (Index s = 0; s < seg.steps; ++s) {
        const Step step = step_of(pb, seg, s);
        const Box box = seg.inner != nullptr ? *seg.inner : Box{{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
        if (seg.mirror != nullptr) {
            time_step(pb, step.levels, seg.threads);
        } else if (seg.front != nullptr) {
            const TiltedEnds as_far{ends, ends + rows, seg.front, step.reaches};
            find_ends(pb, as_far, ends + 2 * rows);
            const Index points = tilted_time_step(pb, step.levels, box, seg.cut.rows, seg.threads, &as_far);
            if (seg.advanced != nullptr) *seg.advanced += points;
        } else if (!empty(box)) {
            tilted_time_step(pb, step.levels, box, seg.cut.rows, seg.threads);
        }
        for (Index i = 0; i < seg.n_feeds; ++i)
            if (step.now < seg.feeds[i].nt)
                inject(pb, step.made(), *seg.feeds[i].points, seg.feeds[i].samples + step.now * seg.feeds[i].points->n,
                       seg.threads);
        if (seg.mirror != nullptr) mirror(pb, *seg.mirror, step.made(), step.levels.curr, seg.threads);
        if (float* record = shell_record(pb, seg, step); record != nullptr)
            shell(pb, step.made(), seg.shells->shell, record, seg.shells->put_back, seg.threads);
        for (Index i = 0; i < seg.n_taps; ++i)
            if (step.now + 1 < seg.taps[i].nt)
                record(pb, step.made(), *seg.taps[i].points, seg.taps[i].data + (step.now + 1) * seg.taps[i].points->n,
                       seg.threads);
        for (Index i = 0; i < step.n_samples; ++i)
            sample_all(pb, step.samples[i], step.made(), seg.threads);
    }
    std::free(ends);
    if (seg.front != nullptr) seg.front->at = seg.it + seg.steps;
}

void segment(const Problem& pb, const Segment& seg) {
    if (seg.steps < 1) return;
    if (pb.medium == Medium::tti || seg.mirror != nullptr)
        step_by_step(pb, seg);
    else
        run_segment(pb, seg);
}

bool is_finite(const Problem& pb, const float* const* fields, int threads) {
    bool finite = true;
    const Index rows = pb.n[0] * pb.n[1];
#pragma omp parallel for schedule(static) num_threads(threads) reduction(&& : finite)
    for (Index r = 0; r < rows; ++r)
        for (int f = 0; f < pb.fields; ++f)
            finite = finite && finite_row(fields[f] + row_offset(pb, r / pb.n[1], r % pb.n[1]), pb.n[2]);
    return finite;
}

Index kirchhoff_sum(const KirchhoffMedium&, const KirchhoffTraces&, const KirchhoffRules&, const KirchhoffImage&,
                    Index tile, int threads); // sum_*.cpp

const Table& table() {
    static constexpr Table t{SUBSALT_NAME,  SUBSALT_FUSED ? "fma" : "mul-add",
                             SUBSALT_LANES, memory_step,
                             time_step,     field_step,
                             apply_l,       inject,
                             record,        sample_all,
                             square,        product,
                             plain_step,    is_finite,
                             segment,       run_piece,
                             tiling,        add_shares,
                             shell,         mirror,
                             kirchhoff_sum};
    return t;
}

} // namespace subsalt::SUBSALT_NS
