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
    mutable Problem cut; // rows that end before the back window of the layer along z; n[2] is set by who uses it

    std::int32_t* ends_of_rows; // room for a number per row of y
    mutable Index advanced = 0; // points that this thread advanced behind a front

    explicit Scratch(const Problem& pb) : cut(pb) {
        cut.width[5] = cut.wz.back = 0;
        constexpr int count = 7;
        const Index room = 64, length = (pb.n[2] + 15) / 16 * 16 + 2 * room;
        const std::size_t bytes = static_cast<std::size_t>(count * length + pb.n[1]) * sizeof(float);
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
        ends_of_rows = reinterpret_cast<std::int32_t*>(memory_ + count * length);
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
    return (ix * pb.n[1] + iy) * pb.wz.stride;
}

/// Which rows, and how: `planes` rows at (ix, iy), (ix + 1, iy), whose next level is made in [z0, z1).
struct RowTask {
    Index ix, iy, z0, z1;
    int planes;     // 1 or 2
    Index skip;     // floats to the row that comes next, for the prefetch
    Fetch fetch;    // where what comes next is fetched to
    bool advance_z; // Psi of z is advanced here too (else memory_step has done it)
};

/// The layer's work on a row, for one radius (M) or any (0).
template <int M>
struct Layer {
    /// Psi of x or y on one row, if the row lies in the layer of that axis. `cold`: its memory is not in cache.
    static void psi(const Problem& pb, const Levels& lv, int axis, Index ix, Index iy, Index z0, Index z1, bool cold) {
        const Index i = axis == 0 ? ix : iy, r = layer_row(pb, axis, i);
        if (r < 0) return;
        const Index stride = axis == 0 ? pb.plane : pb.row;
        const Next next{cold ? next_memory(pb, axis) : 0, cold && axis == 0 ? pb.radius * pb.plane + pb.row : 0};
        float* row = lv.psi[axis] + memory_offset(pb, axis, r, ix, iy);
        (z0 == 0 && z1 == pb.n[2] ? psi_row<M, true> : psi_row<M, false>)(row, lv.curr[0] + row_offset(pb, ix, iy),
                                                                          stride, pb.d[axis], pb.radius, pb.b[axis][i],
                                                                          z0, z1, next);
    }

    /// Psi of x on a whole row, and on the rows beyond it up to plane `end`.
    static void psi_x(const Problem& pb, const Levels& lv, Index ix, Index end, Index iy, bool cold) {
        if constexpr (M > 0) {
            const Index r = layer_row(pb, 0, ix), r2 = layer_row(pb, 0, ix + 1);
            if (ix + 2 == end && r >= 0 && r2 == r + 1) {
                float* row = lv.psi[0] + memory_offset(pb, 0, r, ix, iy);
                const Next next{cold ? next_memory(pb, 0) : 0, M * pb.plane + pb.row};
                psi_two_planes<M>(row, row + pb.n[1] * pb.compact_row, lv.curr[0] + row_offset(pb, ix, iy), pb.plane,
                                  pb.d[0], pb.b[0] + ix, pb.n[2], next);
                return;
            }
        }
        for (; ix < end; ++ix)
            psi(pb, lv, 0, ix, iy, 0, pb.n[2], cold);
    }

    /// Psi of z on one row.
    static void psi_z(const Problem& pb, const Levels& lv, Index ix, Index iy, Index z0, Index z1) {
        if (!has_layer_z(pb)) return;
        psi_row_z<M>(lv.psi[2] + memory_offset_z(pb, ix, iy),
                     lv.curr[pb.medium == Medium::isotropic ? 0 : 1] + row_offset(pb, ix, iy), pb.wz, pb.n[2], pb.d[2],
                     pb.radius, z0, z1);
    }

    /// The terms of x and y, written to the rows scratch.extra; false when there are none. Rows near no layer get -0.0.
    static bool terms_xy(const Problem& pb, const Levels& lv, const Scratch& scratch, const RowTask& task) {
        const bool near_y = pb.dim == 3 && near_layer(pb, 1, task.iy);
        const bool near_x = near_layer(pb, 0, task.ix), near_x2 = task.planes == 2 && near_layer(pb, 0, task.ix + 1);
        if (!near_y && !near_x && !near_x2) return false;
        const bool whole = task.z0 == 0 && task.z1 == pb.n[2];
        bool done = false;
        if constexpr (M > 0)
            done = near_x && near_x2 && whole &&
                   terms_x_two_planes(pb, lv, scratch, task.ix, task.iy, task.fetch != Fetch::none);
        for (int i = 0; i < task.planes; ++i) {
            const bool near = i == 0 ? near_x : near_x2;
            if (near && !done) term<false>(pb, lv, scratch, i, 0, task, whole);
            if (near_y && near) term<true>(pb, lv, scratch, i, 1, task, whole);
            if (near_y && !near) term<false>(pb, lv, scratch, i, 1, task, whole);
            if (!near_y && !near)
                for (Index z = 0; z < pb.n[2]; z += lanes)
                    store(scratch.extra[i] + z, set1(-0.0f));
        }
        return true;
    }

    /// The term of z on the rows of a task: added to the windows of `extra`, or (not `onto`) written there. With
    /// `advance_z` Psi of the rows is advanced first.
    static void term_z(const Problem& pb, const Levels& lv, const Scratch& scratch, float* const* extra, bool onto,
                       const RowTask& task) {
        const float* field = lv.curr[pb.medium == Medium::isotropic ? 0 : 1];
        EndsZ rows[2];
        for (int i = 0; i < task.planes; ++i) {
            const Index at = memory_offset_z(pb, task.ix + i, task.iy);
            rows[i] = {field + row_offset(pb, task.ix + i, task.iy), lv.psi[2] + at, lv.zeta[2] + at, extra[i]};
        }
#if SUBSALT_LANES == 16
        const Index total = pb.wz.front + pb.wz.back;
        const bool whole = task.z0 == 0 && task.z1 == pb.n[2];
        if constexpr (M > 0) {
            if (task.advance_z && whole && pb.wz.front == 16 && pb.wz.back == 16 && total <= pb.n[2]) {
                const Index next = task.fetch != Fetch::none ? 2 * pb.n[1] * total : 0; // two planes on
                (onto ? add_term_z_in_registers<M, true>
                      : add_term_z_in_registers<M, false>)(rows, task.planes, pb.wz, pb.n[2], pb.c[2], pb.d[2], next);
                return;
            }
            if (task.advance_z && whole && pb.wz.front == 16 && pb.wz.back == 0) { // a row that ends before it
                (onto ? add_front_term_z_in_registers<M, true>
                      : add_front_term_z_in_registers<M, false>)(rows, task.planes, pb.wz, pb.c[2], pb.d[2]);
                return;
            }
        }
#endif
        for (int i = 0; i < task.planes; ++i) {
            if (!onto) clear_windows(pb, extra[i]);
            if (task.advance_z) psi_z(pb, lv, task.ix + i, task.iy, task.z0, task.z1);
            add_term_z<M>(extra[i], rows[i].psi, rows[i].zeta, scratch.work, rows[i].u, pb.wz, pb.n[2], pb.c[2],
                          pb.d[2], pb.radius, task.z0, task.z1);
        }
    }

private:
    /// Where the memory comes from that is needed next: x the next row, y the same row two planes on, since the march
    /// leaves the layer of y in every plane.
    static Index next_memory(const Problem& pb, int axis) {
        return axis == 0 ? pb.compact_row : 2 * (pb.width[2] + pb.width[3]) * pb.compact_row;
    }

    /// What `planes` rows from (ix, iy) on need along an axis.
    static LayerRow row_of(const Problem& pb, const Levels& lv, const Scratch& scratch, int axis, Index ix, Index iy,
                           int planes) {
        const Index i = axis == 0 ? ix : iy;
        LayerRow row;
        for (Index k = -pb.radius; k < pb.radius + planes; ++k) {
            const Index r = layer_row(pb, axis, i + k);
            row.psi[pb.radius + k] = r < 0 ? scratch.zeros : lv.psi[axis] + memory_offset(pb, axis, r, ix, iy);
        }
        for (int k = 0; k < planes; ++k) {
            const Index r = layer_row(pb, axis, i + k);
            row.zeta[k] = r < 0 ? nullptr : lv.zeta[axis] + memory_offset(pb, axis, r, ix, iy);
            row.b[k] = pb.b[axis][i + k];
        }
        row.u = lv.curr[0] + row_offset(pb, ix, iy);
        row.stride = axis == 0 ? pb.plane : pb.row;
        return row;
    }

    /// The term of one axis on row i of a task.
    template <bool Add>
    static void term(const Problem& pb, const Levels& lv, const Scratch& scratch, int i, int axis, const RowTask& task,
                     bool whole) {
        const LayerRow row = row_of(pb, lv, scratch, axis, task.ix + i, task.iy, 1);
        (whole ? layer_row_term<M, Add, true>
               : layer_row_term<M, Add, false>)(scratch.extra[i], row, pb.c[axis], pb.d[axis], pb.radius, task.z0,
                                                task.z1, {task.fetch != Fetch::none ? next_memory(pb, axis) : 0, 0});
    }

    /// The terms of x on a row and the row beyond it; false if one lies in the layer and the other does not.
    static bool terms_x_two_planes(const Problem& pb, const Levels& lv, const Scratch& scratch, Index ix, Index iy,
                                   bool cold) {
        const LayerRow row = row_of(pb, lv, scratch, 0, ix, iy, 2);
        if ((row.zeta[0] == nullptr) != (row.zeta[1] == nullptr)) return false;
        (row.zeta[0] != nullptr ? layer_two_plane_terms<M, true>
                                : layer_two_plane_terms<M, false>)(scratch.extra[0], scratch.extra[1], row, pb.c[0],
                                                                   pb.d[0], pb.n[2],
                                                                   {cold ? next_memory(pb, 0) : 0, 0});
        return true;
    }

public:
    /// Make the windows of the layer along z neutral, and the vectors they share with the middle of the row.
    static void clear_windows(const Problem& pb, float* extra) {
        for (Index z = 0; z < pb.wz.front; z += lanes)
            store(extra + z, set1(-0.0f));
        for (Index z = down(pb.n[2] - pb.wz.back); z < pb.n[2]; z += lanes)
            store(extra + z, set1(-0.0f));
    }
};

} // namespace subsalt::SUBSALT_NS
