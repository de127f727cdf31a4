// Where the layer's memory of a row lies, and the rows of the layer by radius.
#pragma once

#include <cstdlib>

#include "kernels/absorb.hpp"

namespace subsalt::SUBSALT_NS {

/// Offset of the point (ix, iy, 0) in a padded array.
SUBSALT_INLINE Index row_offset(const Problem& pb, Index ix, Index iy) {
    return (ix + pb.radius) * pb.plane + (iy + pb.y_halo) * pb.row + z_front;
}

/// Rows of one thread, each with room on both sides.
class Scratch {
public:
    float* extra[2]; // extra terms of x and y, of a row and of the row beyond it in x
    float* ends[2];  // extra terms of z likewise; -0.0 outside the windows of the layer along z
    float* none;     // -0.0 everywhere
    float* work;     // zeros outside the windows
    const float* zeros;

    explicit Scratch(const Problem& pb) {
        constexpr int count = 7;
        const Index room = 64, length = (pb.n[2] + 15) / 16 * 16 + 2 * room;
        const std::size_t bytes = static_cast<std::size_t>(count * length) * sizeof(float);
        memory_ = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        float* rows[count];
        for (int i = 0; i < count; ++i) {
            rows[i] = memory_ + i * length + room;
            for (Index z = -room; z < length - room; ++z)
                rows[i][z] = i < 5 ? -0.0f : 0.0f;
        }
        extra[0] = rows[0], extra[1] = rows[1];
        ends[0] = rows[2], ends[1] = rows[3];
        none = rows[4];
        work = rows[5];
        zeros = rows[6];
    }
    ~Scratch() { std::free(memory_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

private:
    float* memory_;
};

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

/// Offset of row number r of the layer of x (at iy) or y (at ix) in its memory fields.
SUBSALT_INLINE Index memory_offset(const Problem& pb, int axis, Index r, Index ix, Index iy) {
    return axis == 0 ? (r * pb.n[1] + iy) * pb.compact_row : (ix * (pb.width[2] + pb.width[3]) + r) * pb.compact_row;
}

SUBSALT_INLINE bool has_layer_z(const Problem& pb) {
    return pb.wz.front + pb.wz.back > 0;
}

/// Offset of row (ix, iy) in the memory fields of z.
SUBSALT_INLINE Index memory_offset_z(const Problem& pb, Index ix, Index iy) {
    return (ix * pb.n[1] + iy) * (pb.wz.front + pb.wz.back);
}

/// The layer's work on a row, for one radius (M) or any (0).
template <int M>
struct Layer {
    /// Psi of x or y on one row, if the row lies in the layer of that axis.
    static void psi(const Problem& pb, const Levels& lv, int axis, Index ix, Index iy, Index z0, Index z1) {
        const Index i = axis == 0 ? ix : iy, r = layer_row(pb, axis, i);
        if (r < 0) return;
        psi_row<M>(lv.psi[axis] + memory_offset(pb, axis, r, ix, iy), lv.curr[0] + row_offset(pb, ix, iy),
                   axis == 0 ? pb.plane : pb.row, pb.d[axis], pb.radius, pb.b[axis][i], z0, z1, pb.compact_row,
                   axis == 0 ? pb.radius * pb.plane + pb.row : (pb.radius + 1) * pb.row);
    }

    /// Psi of z on one row.
    static void psi_z(const Problem& pb, const Levels& lv, Index ix, Index iy, Index z0, Index z1) {
        if (!has_layer_z(pb)) return;
        psi_row_z<M>(lv.psi[2] + memory_offset_z(pb, ix, iy), lv.curr[pb.fields == 2 ? 1 : 0] + row_offset(pb, ix, iy),
                     pb.wz, pb.n[2], pb.d[2], pb.radius, z0, z1);
    }

    /// The terms of x and y on one row, written to `extra`; false when there are none.
    static bool terms_xy(const Problem& pb, const Levels& lv, const Scratch& scratch, float* extra, Index ix, Index iy,
                         Index z0, Index z1) {
        bool any = false;
        for (int axis = 0; axis < (pb.dim == 3 ? 2 : 1); ++axis) {
            const Index i = axis == 0 ? ix : iy;
            if (!near_layer(pb, axis, i)) continue;
            LayerRow row;
            for (int k = -pb.radius; k <= pb.radius; ++k) {
                const Index r = layer_row(pb, axis, i + k);
                row.psi[pb.radius + k] = r < 0 ? scratch.zeros : lv.psi[axis] + memory_offset(pb, axis, r, ix, iy);
            }
            const Index r = layer_row(pb, axis, i);
            row.zeta = r < 0 ? nullptr : lv.zeta[axis] + memory_offset(pb, axis, r, ix, iy);
            row.u = lv.curr[0] + row_offset(pb, ix, iy);
            row.stride = axis == 0 ? pb.plane : pb.row;
            row.b = pb.b[axis][i];
            if (any)
                layer_row_term<M, true>(extra, row, pb.c[axis], pb.d[axis], pb.radius, z0, z1, pb.compact_row);
            else
                layer_row_term<M, false>(extra, row, pb.c[axis], pb.d[axis], pb.radius, z0, z1, pb.compact_row);
            any = true;
        }
        return any;
    }

    /// The term of z on one row: added to the windows of `extra`, or (not `onto`) written there. With `advance` Psi of
    /// the row is advanced first.
    static void term_z(const Problem& pb, const Levels& lv, const Scratch& scratch, float* extra, bool onto, Index ix,
                       Index iy, Index z0, Index z1, bool advance) {
        const Index at = memory_offset_z(pb, ix, iy);
        const float* u = lv.curr[pb.fields == 2 ? 1 : 0] + row_offset(pb, ix, iy);
        float *psi = lv.psi[2] + at, *zeta = lv.zeta[2] + at;
#if SUBSALT_LANES == 16
        const Index total = pb.wz.front + pb.wz.back;
        if constexpr (M > 0) {
            if (advance && pb.wz.front <= 16 && pb.wz.back <= 16 && total <= pb.n[2]) {
                (onto ? add_term_z_in_registers<M, true>
                      : add_term_z_in_registers<M, false>)(extra, psi, zeta, u, pb.wz, pb.n[2], pb.c[2], pb.d[2]);
                return;
            }
        }
#endif
        if (!onto) clear_windows(pb, extra);
        if (advance) psi_z(pb, lv, ix, iy, z0, z1);
        add_term_z<M>(extra, psi, zeta, scratch.work, u, pb.wz, pb.n[2], pb.c[2], pb.d[2], pb.radius, z0, z1);
    }

    /// Make the windows of the layer along z neutral, and the vectors they share with the middle of the row.
    static void clear_windows(const Problem& pb, float* extra) {
        for (Index z = 0; z < pb.wz.front; z += lanes)
            store(extra + z, set1(-0.0f));
        for (Index z = down(pb.n[2] - pb.wz.back); z < pb.n[2]; z += lanes)
            store(extra + z, set1(-0.0f));
    }
};

} // namespace subsalt::SUBSALT_NS
