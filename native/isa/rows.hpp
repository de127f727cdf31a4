// One row of the grid: which kernels it needs, where the layer's terms go, and the free surface.
#pragma once

#include "isa/layer.hpp"
#include "kernels/iso_step.hpp"
#include "kernels/vti_step.hpp"

namespace subsalt::SUBSALT_NS {

/// The functions of a row for one dimension and radius; the row kernels by kind.
struct RowKernels {
    void (*iso[4])(const Problem&, const IsoRow&, Index, Index);
    void (*vti[4])(const Problem&, const VtiRow&, Index, Index);
    decltype(&Layer<0>::psi) psi;
    decltype(&Layer<0>::psi_z) psi_z;
    decltype(&Layer<0>::terms_xy) terms_xy;
    decltype(&Layer<0>::term_z) term_z;
};

template <int M, int Dim>
constexpr RowKernels kernels_for = {{iso_row<M, Dim, Kind::plain>, iso_row<M, Dim, Kind::extra>,
                                     iso_row<M, Dim, Kind::damped>, iso_row<M, Dim, Kind::laplacian>},
                                    {vti_row<M, Dim, Kind::plain>, vti_row<M, Dim, Kind::extra>,
                                     vti_row<M, Dim, Kind::damped>, vti_row<M, Dim, Kind::laplacian>},
                                    Layer<M>::psi,
                                    Layer<M>::psi_z,
                                    Layer<M>::terms_xy,
                                    Layer<M>::term_z};

/// Orders 4 and 8 have kernels of their own; `generic_radius` asks for the run-time one there too (tests).
inline const RowKernels& row_kernels(const Problem& pb, bool generic_radius) {
    const int radius = generic_radius ? 0 : pb.radius;
    if (pb.dim == 3) return radius == 4 ? kernels_for<4, 3> : radius == 2 ? kernels_for<2, 3> : kernels_for<0, 3>;
    return radius == 4 ? kernels_for<4, 2> : radius == 2 ? kernels_for<2, 2> : kernels_for<0, 2>;
}

/// Row z = 0 is zero, and odd images stand above it: u[-k] = -u[k], for the k in [z0, z1).
inline void reflect_row(float* u, int radius, Index z0, Index z1) {
    if (z0 == 0) u[0] = 0.0f;
    for (Index k = z0 > 1 ? z0 : 1; k <= radius && k < z1; ++k)
        u[-k] = -u[k];
}

/// A row with its kernel by kind: the ends (where the layer along z is) and the middle.
struct RowPlan {
    IsoRow iso;
    VtiRow vti;
    Index front, back; // the ends are [.., front) and [back, ..)
    Kind ends, middle;
};

SUBSALT_INLINE void run_kind(const Problem& pb, const RowKernels& kernels, Kind kind, const RowPlan& row, Index z0,
                             Index z1) {
    if (z0 >= z1) return;
    if (pb.medium == Medium::vti)
        kernels.vti[static_cast<int>(kind)](pb, row.vti, z0, z1);
    else
        kernels.iso[static_cast<int>(kind)](pb, row.iso, z0, z1);
}

/// Run the kernels on [za, zb), multiples of the lanes (or the end of the row).
SUBSALT_INLINE void run_row(const Problem& pb, const RowKernels& kernels, const RowPlan& row, Index za, Index zb) {
    Index front = down(row.front + lanes - 1), back = down(row.back);
    if (row.middle == row.ends || front >= back) {
        run_kind(pb, kernels, row.ends, row, za, zb);
        return;
    }
    front = front < za ? za : (front > zb ? zb : front);
    back = back > zb ? zb : (back < front ? front : back);
    run_kind(pb, kernels, row.ends, row, za, front);
    run_kind(pb, kernels, row.middle, row, front, back);
    run_kind(pb, kernels, row.ends, row, back, zb);
}

/// The layer's share of a row: extra terms (computed here) or the damping term.
inline void plan_layer(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch,
                       RowPlan& row, Index ix, Index iy, Index z0, Index z1, bool advance_z) {
    if (pb.boundary == Boundary::damping) {
        row.iso.t = row.vti.t = pb.t[2];
        row.iso.t_xy = row.vti.t_xy = pb.dim == 3 ? pb.t[0][ix] + pb.t[1][iy] : pb.t[0][ix];
        row.front = pb.width[4], row.back = pb.n[2] - pb.width[5];
        row.ends = Kind::damped;
        row.middle = row.iso.t_xy != 0.0f ? Kind::damped : Kind::plain;
        return;
    }
    const bool xy = kernels.terms_xy(pb, lv, scratch, scratch.extra[0], ix, iy, z0, z1);
    if (has_layer_z(pb)) {
        float* extra = scratch.extra[pb.medium == Medium::vti ? 1 : 0];
        if (pb.medium == Medium::vti || !xy) clear_windows(pb, extra);
        kernels.term_z(pb, lv, scratch, extra, ix, iy, z0, z1, advance_z);
    }
    row.front = pb.wz.front, row.back = pb.n[2] - pb.wz.back;
    row.ends = has_layer_z(pb) || xy ? Kind::extra : Kind::plain;
    row.middle = xy ? Kind::extra : Kind::plain;
    row.iso.extra = scratch.extra[0];
    row.vti.extra[0] = xy ? scratch.extra[0] : scratch.none;
    row.vti.extra[1] = scratch.extra[1];
}

/// A time step of one row, in [z0, z1). `skip`: floats to the row that comes next, for the prefetch.
/// `advance_z`: Psi of z is advanced here too (else memory_step has done it).
inline void field_row(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch, Index ix,
                      Index iy, Index z0, Index z1, Index skip, bool advance_z) {
    const Index at = row_offset(pb, ix, iy);
    const Index za = down(z0), zb = z1 == pb.n[2] ? z1 : down(z1 + lanes - 1);
    RowPlan row{{lv.curr[0] + at, lv.prev[0] + at, pb.m + at, scratch.none, nullptr, 0.0f, nullptr, skip},
                {},
                za,
                zb,
                Kind::plain,
                Kind::plain};
    if (pb.medium == Medium::vti)
        row.vti = {{lv.curr[0] + at, lv.curr[1] + at},
                   {lv.prev[0] + at, lv.prev[1] + at},
                   pb.m + at,
                   pb.e + at,
                   pb.s + at,
                   {scratch.none, scratch.none},
                   nullptr,
                   0.0f,
                   {nullptr, nullptr},
                   skip};
    if (pb.boundary != Boundary::none) plan_layer(pb, lv, kernels, scratch, row, ix, iy, z0, z1, advance_z);

    // what whole vectors overwrite beyond the ends of the box (behind the last point m = 0 keeps zeros anyway)
    float saved[2][2][SUBSALT_LANES];
    const int fields = pb.fields == 2 ? 2 : 1; // not more than `saved` holds
    for (int f = 0; f < fields; ++f) {
        for (Index z = za; z < z0; ++z)
            saved[f][0][z - za] = lv.prev[f][at + z];
        for (Index z = z1; z < zb; ++z)
            saved[f][1][z - z1] = lv.prev[f][at + z];
    }
    run_row(pb, kernels, row, za, zb);
    for (int f = 0; f < fields; ++f) {
        for (Index z = za; z < z0; ++z)
            lv.prev[f][at + z] = saved[f][0][z - za];
        for (Index z = z1; z < zb; ++z)
            lv.prev[f][at + z] = saved[f][1][z - z1];
        if (pb.free_surface) reflect_row(lv.prev[f] + at, pb.radius, z0, z1);
    }
}

/// (L u) of one row without the layer, into a (and b for VTI), whole vectors around [z0, z1).
inline void laplacian_row(const Problem& pb, const float* const* fields, const RowKernels& kernels, float* a, float* b,
                          Index ix, Index iy, Index z0, Index z1) {
    const Index at = row_offset(pb, ix, iy);
    const float* u = fields[0] + at;
    // prev and the models serve as targets of the prefetch alone
    RowPlan row{{u, a, u, nullptr, nullptr, 0.0f, a, 0}, {}, 0, 0, Kind::laplacian, Kind::laplacian};
    if (pb.medium == Medium::vti)
        row.vti = {{u, fields[1] + at}, {a, b}, u, u, u, {nullptr, nullptr}, nullptr, 0.0f, {a, b}, 0};
    run_kind(pb, kernels, Kind::laplacian, row, down(z0), z1);
}

} // namespace subsalt::SUBSALT_NS
