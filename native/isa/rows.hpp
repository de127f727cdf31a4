// One row of the grid: which kernels it needs, where the layer's terms go, and the free surface.
#pragma once

#include "isa/layer.hpp"
#include "kernels/iso_step.hpp"
#include "kernels/vti_step.hpp"

namespace subsalt::SUBSALT_NS {

using IsoKernel = void (*)(const Problem&, const IsoRow&, Index, Index);
using VtiKernel = void (*)(const Problem&, const VtiRow&, Index, Index);
using IsoPairKernel = void (*)(const Problem&, const IsoRow&, Index, Index, Kind ends);
using VtiPairKernel = void (*)(const Problem&, const VtiRow&, Index, Index, Kind ends);

/// The kernels of a row by kind (but Kind::laplacian); `_two`, for the row and the row beyond it, is null for radii
/// without it.
struct KindKernels {
    IsoKernel iso[3];
    VtiKernel vti[3];
    IsoPairKernel iso_two;
    VtiPairKernel vti_two;
};

/// The functions of a row for one medium's storage, depth axis, dimension and radius.
struct StepKernels {
    KindKernels fetching[3]; // by Fetch
    IsoKernel iso_laplacian;
    VtiKernel vti_laplacian;
};

/// The functions of the layer for one radius.
struct LayerKernels {
    decltype(&Layer<0>::psi) psi;
    decltype(&Layer<0>::psi_rows) psi_rows;
    decltype(&Layer<0>::psi_z) psi_z;
    decltype(&Layer<0>::terms) terms;
};

/// All functions of a row.
struct RowKernels : StepKernels, LayerKernels {};

/// Those of each storage (`S`: Floats or Packed16) and depth axis are compiled in a source of their own, as are those
/// of the layer: row_kernels.hpp, rows_*.cpp, layer.cpp. A radius of 0 asks for the kernels of a run-time radius.
template <class S, bool Stretched>
const StepKernels& step_kernels(int dim, int radius);
const LayerKernels& layer_kernels(int radius);

/// Orders 4, 8 and, with 8 or 16 lanes, 12 and 16 have kernels of their own; `generic_radius` asks for the run-time one
/// there too (tests).
inline RowKernels row_kernels(const Problem& pb, bool generic_radius) {
    const int radius = generic_radius ? 0 : pb.radius;
    const bool stretched = pb.stretch.square != nullptr, packed = pb.storage == ModelStorage::u16;
    const auto of = packed ? (stretched ? step_kernels<Packed16, true> : step_kernels<Packed16, false>)
                           : (stretched ? step_kernels<Floats, true> : step_kernels<Floats, false>);
    return {of(pb.dim, radius), layer_kernels(radius)};
}

/// Row z = 0 is zero, and odd images stand above it: u[-k] = -u[k], for the k in [z0, z1).
inline void reflect_row(float* u, int radius, Index z0, Index z1) {
    if (z0 == 0) u[0] = 0.0f;
    for (Index k = z0 > 1 ? z0 : 1; k <= radius && k < z1; ++k)
        u[-k] = -u[k];
}

/// Rows with their kernel by kind: the ends (where the layer along z is) and the middle.
struct RowPlan {
    IsoRow iso;
    VtiRow vti;
    Index front, back; // the ends are [.., front) and [back, ..)
    Kind ends, middle;
};

SUBSALT_INLINE void run_kind(const Problem& pb, const RowKernels& kernels, Kind kind, const RowPlan& row,
                             const RowTask& task, Index z0, Index z1) {
    if (z0 >= z1) return;
    const int k = static_cast<int>(kind);
    const KindKernels& of = kernels.fetching[static_cast<int>(task.fetch)];
    if (pb.medium == Medium::vti)
        task.planes == 2 ? of.vti_two(pb, row.vti, z0, z1, kind) : of.vti[k](pb, row.vti, z0, z1);
    else
        task.planes == 2 ? of.iso_two(pb, row.iso, z0, z1, kind) : of.iso[k](pb, row.iso, z0, z1);
}

/// Run the kernels on [za, zb), multiples of the lanes (or the end of the row).
SUBSALT_INLINE void run_row(const Problem& pb, const RowKernels& kernels, const RowPlan& row, const RowTask& task,
                            Index za, Index zb) {
    Index front = down(row.front + lanes - 1), back = down(row.back);
    const bool splits_itself = task.planes == 2;
    if (row.middle == row.ends || front >= back || splits_itself) {
        run_kind(pb, kernels, row.ends, row, task, za, zb);
        return;
    }
    front = front < za ? za : (front > zb ? zb : front);
    back = back > zb ? zb : (back < front ? front : back);
    run_kind(pb, kernels, row.ends, row, task, za, front);
    run_kind(pb, kernels, row.middle, row, task, front, back);
    run_kind(pb, kernels, row.ends, row, task, back, zb);
}

/// The damping term of the rows: all along where a layer of x or y is, else at the ends.
SUBSALT_INLINE void plan_damping(const Problem& pb, RowPlan& row, const RowTask& task) {
    bool all = false;
    for (int i = 0; i < task.planes; ++i) {
        const float t = pb.dim == 3 ? pb.t[0][task.ix + i] + pb.t[1][task.iy] : pb.t[0][task.ix + i];
        row.iso.t_xy[i] = row.vti.t_xy[i] = t;
        all = all || t != 0.0f;
    }
    row.iso.t = row.vti.t = pb.t[2];
    row.front = pb.width[4], row.back = pb.n[2] - pb.width[5];
    row.ends = Kind::damped;
    row.middle = all ? Kind::damped : Kind::plain;
    row.iso.front = row.vti.front = all ? pb.n[2] : down(row.front + lanes - 1);
    row.iso.back = row.vti.back = all ? pb.n[2] : down(row.back);
}

/// The extra terms of the layer (Layer::terms) for row j of a task, which is `near` a layer of x or y or not. A row
/// that has none reads -0.0.
SUBSALT_INLINE void plan_layer(const Problem& pb, const Scratch& scratch, RowPlan& row, int j, bool near) {
    const bool along_z = has_layer_z(pb);
    float* const* extra = near ? scratch.extra[j] : scratch.ends[j];
    for (int i = 0; i < 2; ++i) {
        row.iso.extra[i] = extra[i];
        row.vti.extra[0][i] = near ? extra[i] : scratch.none;
        row.vti.extra[1][i] = scratch.ends[j][i];
    }
    row.ends = row.middle = near || along_z ? Kind::extra : Kind::plain;
    row.iso.front = row.vti.front = near ? pb.n[2] : down(pb.wz.front + lanes - 1);
    row.iso.back = row.vti.back = near ? pb.n[2] : down(pb.n[2] - pb.wz.back);
}

/// A time step of row j of a task, in its planes.
SUBSALT_INLINE void field_row(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch,
                              const RowTask& task, int j, bool near) {
    const Index at = row_offset(pb, task.ix, task.iy), z0 = task.z0, z1 = task.z1;
    const Index za = down(z0), zb = z1 == pb.n[2] ? z1 : down(z1 + lanes - 1);
    RowPlan row;
    row.iso = {lv.curr[0] + at,
               lv.prev[0] + at,
               at,
               {scratch.none, scratch.none},
               scratch.none,
               {0.0f, 0.0f},
               nullptr,
               task.skip,
               0,
               0};
    row.front = za, row.back = zb;
    row.ends = row.middle = Kind::plain;
    if (pb.medium == Medium::vti)
        row.vti = {{lv.curr[0] + at, lv.curr[1] + at},
                   {lv.prev[0] + at, lv.prev[1] + at},
                   at,
                   {{scratch.none, scratch.none}, {scratch.none, scratch.none}},
                   scratch.none,
                   {0.0f, 0.0f},
                   {nullptr, nullptr},
                   task.skip,
                   0,
                   0};
    if (pb.boundary == Boundary::damping) plan_damping(pb, row, task);
    if (pb.boundary == Boundary::pml) plan_layer(pb, scratch, row, j, near);

    // what whole vectors overwrite beyond the ends of the box (behind the last point m = 0 keeps zeros anyway)
    float saved[4][2][SUBSALT_LANES];
    float* made[4]; // p and q of each row
    int count = 0;
    for (int f = 0; f < pb.fields && f < 2; ++f)
        for (int i = 0; i < task.planes && i < 2; ++i)
            made[count++] = lv.prev[f] + at + i * pb.plane;
    for (int r = 0; r < count; ++r) {
        for (Index z = za; z < z0; ++z)
            saved[r][0][z - za] = made[r][z];
        for (Index z = z1; z < zb; ++z)
            saved[r][1][z - z1] = made[r][z];
    }
    run_row(pb, kernels, row, task, za, zb);
    for (int r = 0; r < count; ++r) {
        for (Index z = za; z < z0; ++z)
            made[r][z] = saved[r][0][z - za];
        for (Index z = z1; z < zb; ++z)
            made[r][z] = saved[r][1][z - z1];
        if (pb.free_surface) reflect_row(made[r], pb.radius, z0, z1);
    }
}

/// A time step of the rows of a task.
inline void field_rows(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch,
                       const RowTask& task) {
    bool near[most_rows] = {};
    if (pb.boundary == Boundary::pml) kernels.terms(pb, lv, scratch, task, near);
    RowTask one = task;
    for (int j = 0; j < task.rows; ++j, ++one.iy) {
        one.skip = j + 1 < task.rows ? pb.row : task.skip;
        field_row(pb, lv, kernels, scratch, one, j, near[j]);
    }
}

/// How many planes, from ix on and before `end`, are best done together.
SUBSALT_INLINE int planes_at_once(const RowKernels& kernels, Index ix, Index end) {
    return kernels.fetching[0].iso_two != nullptr && ix + 1 < end ? 2 : 1;
}

/// (L u) of one row without the layer, into a (and b for VTI), whole vectors around [z0, z1).
inline void laplacian_row(const Problem& pb, const float* const* fields, const RowKernels& kernels, float* a, float* b,
                          Index ix, Index iy, Index z0, Index z1) {
    const Index at = row_offset(pb, ix, iy);
    const float* u = fields[0] + at;
    if (pb.medium == Medium::vti)
        kernels.vti_laplacian(pb, {{u, fields[1] + at}, {a, b}, at, {{u, u}, {u, u}}, u, {0.0f, 0.0f}, {a, b}, 0, 0, 0},
                              down(z0), z1);
    else
        kernels.iso_laplacian(pb, {u, a, at, {u, u}, u, {0.0f, 0.0f}, a, 0, 0, 0}, down(z0), z1);
}

} // namespace subsalt::SUBSALT_NS
