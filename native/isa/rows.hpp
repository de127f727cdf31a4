// One row of the grid: which kernels it needs, from where the layer's terms come, and the free surface.
#pragma once

#include <cstdlib>

#include "kernels/absorb.hpp"
#include "kernels/iso_step.hpp"
#include "kernels/vti_step.hpp"

namespace subsalt::SUBSALT_NS {

/// Offset of the point (ix, iy, 0) in a padded array.
SUBSALT_INLINE Index row_offset(const Problem& pb, Index ix, Index iy) {
    return (ix + pb.radius) * pb.plane + (iy + pb.y_halo) * pb.row + z_front;
}

SUBSALT_INLINE Index rounded(Index n) {
    return (n + 15) / 16 * 16;
}

/// Rows of one thread: two rows of extra terms, a row of zeros, a row for Psi of z; each with room on both sides.
class Scratch {
public:
    float* extra[2];
    float* none; // -0.0 everywhere
    float* work; // zeros outside the windows of the layer along z
    const float* zeros;

    explicit Scratch(const Problem& pb) {
        const Index room = 64, length = rounded(pb.n[2]) + 2 * room;
        const std::size_t bytes = static_cast<std::size_t>(5 * length) * sizeof(float);
        memory_ = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        float* rows[5];
        for (int i = 0; i < 5; ++i) {
            rows[i] = memory_ + i * length + room;
            for (Index z = -room; z < length - room; ++z)
                rows[i][z] = i < 3 ? -0.0f : 0.0f;
        }
        extra[0] = rows[0];
        extra[1] = rows[1];
        none = rows[2];
        work = rows[3];
        zeros = rows[4];
    }
    ~Scratch() { std::free(memory_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

private:
    float* memory_;
};

/// Row kernels by kind, for one medium, dimension and radius.
struct RowKernels {
    void (*iso[4])(const Problem&, const IsoRow&, Index, Index);
    void (*vti[4])(const Problem&, const VtiRow&, Index, Index);
};

template <int M, int Dim>
constexpr RowKernels kernels_for = {{iso_row<M, Dim, Kind::plain>, iso_row<M, Dim, Kind::extra>,
                                     iso_row<M, Dim, Kind::damped>, iso_row<M, Dim, Kind::laplacian>},
                                    {vti_row<M, Dim, Kind::plain>, vti_row<M, Dim, Kind::extra>,
                                     vti_row<M, Dim, Kind::damped>, vti_row<M, Dim, Kind::laplacian>}};

/// Orders 4 and 8 have kernels of their own; `generic_radius` asks for the run-time one there too (tests).
inline const RowKernels& row_kernels(const Problem& pb, bool generic_radius) {
    const int radius = generic_radius ? 0 : pb.radius;
    if (pb.dim == 3) return radius == 4 ? kernels_for<4, 3> : radius == 2 ? kernels_for<2, 3> : kernels_for<0, 3>;
    return radius == 4 ? kernels_for<4, 2> : radius == 2 ? kernels_for<2, 2> : kernels_for<0, 2>;
}

/// Row number of a cell in the compact memory fields of one axis, -1 outside its layer.
SUBSALT_INLINE Index layer_row(const Problem& pb, int axis, Index i) {
    const Index lo = pb.width[2 * axis], hi = pb.width[2 * axis + 1], n = pb.n[axis];
    if (i >= 0 && i < lo) return i;
    if (i >= n - hi && i < n) return lo + i - (n - hi);
    return -1;
}

/// Whether a cell lies in the layer of an axis or within M cells of it.
SUBSALT_INLINE bool near_layer(const Problem& pb, int axis, Index i) {
    const Index lo = pb.width[2 * axis], hi = pb.width[2 * axis + 1];
    return (lo > 0 && i < lo + pb.radius) || (hi > 0 && i >= pb.n[axis] - hi - pb.radius);
}

/// Row (layer row `r`, other index `j`) of a memory field of x or y; `r` counts along the layer.
SUBSALT_INLINE Index memory_offset(const Problem& pb, int axis, Index r, Index ix, Index iy) {
    return axis == 0 ? (r * pb.n[1] + iy) * pb.compact_row : (ix * (pb.width[2] + pb.width[3]) + r) * pb.compact_row;
}

/// Psi of all axes on one row.
inline void memory_row(const Problem& pb, const Levels& lv, Index ix, Index iy, Index z0, Index z1) {
    const Index at = row_offset(pb, ix, iy);
    for (int axis = 0; axis < (pb.dim == 3 ? 2 : 1); ++axis) {
        const Index i = axis == 0 ? ix : iy, r = layer_row(pb, axis, i);
        if (r < 0) continue;
        psi_row(lv.psi[axis] + memory_offset(pb, axis, r, ix, iy), lv.curr[0] + at, axis == 0 ? pb.plane : pb.row,
                pb.d[axis], pb.radius, pb.b[axis][i], z0, z1);
    }
    const Index total = pb.wz.front + pb.wz.back;
    if (total > 0)
        psi_row_z(lv.psi[2] + (ix * pb.n[1] + iy) * total, lv.curr[pb.vti ? 1 : 0] + at, pb.wz, pb.n[2], pb.d[2],
                  pb.radius, z0, z1);
}

/// Extra terms of x and y on one row, into `extra`; false when there are none.
inline bool extra_row_xy(const Problem& pb, const Levels& lv, const Scratch& scratch, float* extra, Index ix, Index iy,
                         Index z0, Index z1) {
    bool any = false;
    for (int axis = 0; axis < (pb.dim == 3 ? 2 : 1); ++axis) {
        const Index i = axis == 0 ? ix : iy;
        if (!near_layer(pb, axis, i)) continue;
        if (!any)
            for (Index z = down(z0); z < z1; z += lanes)
                store(extra + z, set1(-0.0f));
        any = true;
        const float* psi[2 * max_radius + 1];
        for (int k = -pb.radius; k <= pb.radius; ++k) {
            const Index r = layer_row(pb, axis, i + k);
            psi[pb.radius + k] =
                r < 0 ? scratch.zeros : lv.psi[axis] + memory_offset(pb, axis, r, axis == 0 ? i + k : ix, iy);
        }
        const Index r = layer_row(pb, axis, i);
        float* zeta = r < 0 ? nullptr : lv.zeta[axis] + memory_offset(pb, axis, r, ix, iy);
        add_layer_row(extra, psi, zeta, lv.curr[0] + row_offset(pb, ix, iy), axis == 0 ? pb.plane : pb.row, pb.c[axis],
                      pb.d[axis], pb.radius, pb.b[axis][i], z0, z1);
    }
    return any;
}

/// Extra terms along z of one row, added to the windows of `extra`.
inline void extra_row_z(const Problem& pb, const Levels& lv, const Scratch& scratch, float* extra, Index ix, Index iy,
                        Index z0, Index z1) {
    const Index total = pb.wz.front + pb.wz.back, at = (ix * pb.n[1] + iy) * total;
    add_layer_row_z(extra, lv.psi[2] + at, lv.zeta[2] + at, scratch.work,
                    lv.curr[pb.vti ? 1 : 0] + row_offset(pb, ix, iy), pb.wz, pb.n[2], pb.c[2], pb.d[2], pb.radius, z0,
                    z1);
}

/// Make the windows of the layer along z neutral, and the vectors they share with the middle of the row.
SUBSALT_INLINE void clear_windows(const Problem& pb, float* extra) {
    for (Index z = 0; z < pb.wz.front; z += lanes)
        store(extra + z, set1(-0.0f));
    for (Index z = down(pb.n[2] - pb.wz.back); z < pb.n[2]; z += lanes)
        store(extra + z, set1(-0.0f));
}

/// Row z = 0 is zero, and odd images stand above it: u[-k] = -u[k], for the k in [z0, z1).
inline void reflect_row(float* u, int radius, Index z0, Index z1) {
    if (z0 == 0) u[0] = 0.0f;
    for (Index k = z0 > 1 ? z0 : 1; k <= radius && k < z1; ++k)
        u[-k] = -u[k];
}

/// Call a row kernel of one kind on [z0, z1), rounded outwards to whole vectors; the caller keeps what lies outside.
SUBSALT_INLINE void run_kind(const Problem& pb, const RowKernels& kernels, Kind kind, const IsoRow& iso,
                             const VtiRow& vti, Index z0, Index z1) {
    if (z0 >= z1) return;
    if (pb.vti)
        kernels.vti[static_cast<int>(kind)](pb, vti, z0, z1);
    else
        kernels.iso[static_cast<int>(kind)](pb, iso, z0, z1);
}

/// A time step of one row, in [z0, z1). `skip`: floats to the row that is computed two rows later.
inline void field_row(const Problem& pb, const Levels& lv, const RowKernels& kernels, const Scratch& scratch, Index ix,
                      Index iy, Index z0, Index z1, Index skip) {
    const Index at = row_offset(pb, ix, iy);
    const Index za = down(z0), zb = z1 == pb.n[2] ? z1 : down(z1 + lanes - 1);
    IsoRow iso{lv.curr[0] + at, lv.prev[0] + at, pb.m + at, scratch.none, nullptr, 0.0f, nullptr, skip};
    VtiRow vti{};
    if (pb.vti)
        vti = {{lv.curr[0] + at, lv.curr[1] + at},
               {lv.prev[0] + at, lv.prev[1] + at},
               pb.m + at,
               pb.e + at,
               pb.s + at,
               {scratch.none, scratch.none},
               nullptr,
               0.0f,
               {nullptr, nullptr},
               skip};

    // what whole vectors overwrite beyond the ends of the box (behind the last point m = 0 keeps zeros anyway)
    float saved[2][2][SUBSALT_LANES];
    const int fields = pb.vti ? 2 : 1;
    for (int f = 0; f < fields; ++f) {
        for (Index z = za; z < z0; ++z)
            saved[f][0][z - za] = lv.prev[f][at + z];
        for (Index z = z1; z < zb; ++z)
            saved[f][1][z - z1] = lv.prev[f][at + z];
    }

    // the row is cut into a front, a middle and a back: the layer along z needs its kernel only at the ends
    Index front = za, back = zb;
    Kind ends = Kind::plain, middle = Kind::plain;
    if (pb.boundary == Boundary::pml) {
        const bool xy = extra_row_xy(pb, lv, scratch, scratch.extra[0], ix, iy, z0, z1);
        const bool has_z = pb.wz.front + pb.wz.back > 0;
        float* extra_z = pb.vti ? scratch.extra[1] : scratch.extra[0];
        front = pb.wz.front, back = pb.n[2] - pb.wz.back;
        if (has_z) {
            if (pb.vti || !xy) clear_windows(pb, extra_z);
            extra_row_z(pb, lv, scratch, extra_z, ix, iy, z0, z1);
        }
        ends = has_z || xy ? Kind::extra : Kind::plain;
        middle = xy ? Kind::extra : Kind::plain;
        iso.extra = scratch.extra[0];
        vti.extra[0] = xy ? scratch.extra[0] : scratch.none;
        vti.extra[1] = scratch.extra[1];
    } else if (pb.boundary == Boundary::damping) {
        iso.t = vti.t = pb.t[2];
        iso.t_xy = vti.t_xy = pb.dim == 3 ? pb.t[0][ix] + pb.t[1][iy] : pb.t[0][ix];
        front = pb.width[4], back = pb.n[2] - pb.width[5];
        ends = Kind::damped;
        middle = iso.t_xy != 0.0f ? Kind::damped : Kind::plain;
    }
    front = down(front + lanes - 1), back = down(back);
    if (middle == ends || front >= back) {
        run_kind(pb, kernels, ends, iso, vti, za, zb);
    } else {
        const Index f = front < za ? za : (front > zb ? zb : front), b = back > zb ? zb : (back < f ? f : back);
        run_kind(pb, kernels, ends, iso, vti, za, f);
        run_kind(pb, kernels, middle, iso, vti, f, b);
        run_kind(pb, kernels, ends, iso, vti, b, zb);
    }

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
    // prev and the models serve as targets of the prefetch alone
    const IsoRow iso{fields[0] + at, a, fields[0] + at, nullptr, nullptr, 0.0f, a, 0};
    VtiRow vti{};
    if (pb.vti) {
        vti = {{fields[0] + at, fields[1] + at},
               {a, b},
               fields[0] + at,
               fields[0] + at,
               fields[0] + at,
               {nullptr, nullptr},
               nullptr,
               0.0f,
               {a, b},
               0};
    }
    run_kind(pb, kernels, Kind::laplacian, iso, vti, down(z0), z1);
}

} // namespace subsalt::SUBSALT_NS
