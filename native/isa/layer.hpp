// Where the layer's memory of a row lies, and the rows of the layer by radius.
#pragma once

#include <cstdlib>

#include "kernels/absorb.hpp"

namespace subsalt::SUBSALT_NS {

/// Offset of the point (ix, iy, 0) in a padded array.
SUBSALT_INLINE Index row_offset(const Problem& pb, Index ix, Index iy) {
    return (ix + pb.radius) * pb.plane + (iy + pb.y_halo) * pb.row + z_front;
}

/// Rows along y whose terms of the layer are made together: at most, and of those near a layer of x or y.
constexpr int most_rows = 8, most_rows_xy = 2;

/// Rows of one thread, each with room on both sides.
class Scratch {
public:
    float* extra[most_rows_xy][2]; // extra terms of x and y, by row of y, of a row and of the row beyond it in x
    float* ends[most_rows][2];     // extra terms of z likewise; -0.0 outside the windows of the layer along z
    float* none;                   // -0.0 everywhere
    float* work;                   // zeros outside the windows
    const float* zeros;
    mutable Problem cut; // rows that end before the back window of the layer along z; n[2] is set by who uses it

    std::int32_t* ends_of_rows; // room for a number per row of y
    mutable Index advanced = 0; // points that this thread advanced behind a front

    explicit Scratch(const Problem& pb) : cut(pb) {
        cut.width[5] = cut.wz.back = 0;
        constexpr int count = 2 * (most_rows_xy + most_rows) + 3;
        const Index room = 64, length = (pb.n[2] + 15) / 16 * 16 + 2 * room;
        const std::size_t bytes = static_cast<std::size_t>(count * length + pb.n[1]) * sizeof(float);
        memory_ = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        float* free = memory_ + room;
        const auto row_of = [&](float value) {
            float* row = free;
            for (Index z = -room; z < length - room; ++z)
                row[z] = value;
            free += length;
            return row;
        };
        for (auto& rows : extra)
            rows[0] = row_of(-0.0f), rows[1] = row_of(-0.0f);
        for (auto& rows : ends)
            rows[0] = row_of(-0.0f), rows[1] = row_of(-0.0f);
        none = row_of(-0.0f);
        work = row_of(0.0f);
        zeros = row_of(0.0f);
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

/// Which rows, and how: the `rows` rows from iy on of the planes ix and, if there are two, ix + 1, whose next level is
/// made in [z0, z1).
struct RowTask {
    Index ix, iy, z0, z1;
    int planes;     // 1 or 2
    int rows;       // as many as `rows_at_once` allows
    Index skip;     // floats from the last row to the one that comes next, for the prefetch
    Fetch fetch;    // where what comes next is fetched to
    bool advance_z; // Psi of z is advanced here too (else memory_step has done it)
};

/// How many of the rows [iy, y1) are best done together, so that the layer's terms of one row need not wait for each
/// other: all that are near no layer of x or y, or two of those.
SUBSALT_INLINE int rows_at_once(const Problem& pb, Index ix, int planes, Index iy, Index y1) {
    const auto near_y = [&](Index jy) { return pb.dim == 3 && near_layer(pb, 1, jy); };
    const bool layer = pb.boundary == Boundary::pml;
    const bool near = layer && (near_layer(pb, 0, ix) || near_layer(pb, 0, ix + planes - 1) || near_y(iy));
    int rows = 1;
    while (rows < (near ? most_rows_xy : most_rows) && iy + rows < y1 && (near || !layer || !near_y(iy + rows)))
        ++rows;
    return rows;
}

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

    /// Psi of x or y on `count` whole rows, one after the other along the axis: one or two.
    static void psi_rows(const Problem& pb, const Levels& lv, int axis, Index ix, Index iy, Index count, bool cold) {
        const Index i = axis == 0 ? ix : iy;
        if constexpr (M > 0) {
            const Index r = layer_row(pb, axis, i), r2 = layer_row(pb, axis, i + 1);
            if (count == 2 && r >= 0 && r2 == r + 1) {
                float *row = lv.psi[axis] + memory_offset(pb, axis, r, ix, iy),
                      *row2 = lv.psi[axis] + memory_offset(pb, axis, r2, ix, iy);
                const Next next{cold ? next_memory(pb, axis) : 0, cold && axis == 0 ? M * pb.plane + pb.row : 0};
                psi_two_rows<M>(row, row2, lv.curr[0] + row_offset(pb, ix, iy), axis == 0 ? pb.plane : pb.row,
                                pb.d[axis], pb.b[axis] + i, pb.n[2], next);
                return;
            }
        }
        for (Index k = 0; k < count; ++k)
            psi(pb, lv, axis, ix + (axis == 0 ? k : 0), iy + (axis == 0 ? 0 : k), 0, pb.n[2], cold);
    }

    /// Psi of z on one row.
    static void psi_z(const Problem& pb, const Levels& lv, Index ix, Index iy, Index z0, Index z1) {
        if (!has_layer_z(pb)) return;
        psi_row_z<M>(lv.psi[2] + memory_offset_z(pb, ix, iy),
                     lv.curr[pb.medium == Medium::isotropic ? 0 : 1] + row_offset(pb, ix, iy), pb.wz, pb.n[2], pb.d[2],
                     pb.radius, z0, z1);
    }

    /// What the layer adds to the rows of a task: in scratch.extra the terms of x and y, for the rows j with near[j],
    /// in scratch.ends that of z. In isotropic media the term of z is added to those of x and y instead, where there
    /// are any.
    static void terms(const Problem& pb, const Levels& lv, const Scratch& scratch, const RowTask& task, bool* near) {
        const bool near_x[2] = {near_layer(pb, 0, task.ix), near_layer(pb, 0, task.ix + task.planes - 1)};
        bool any = false;
        for (int j = 0; j < task.rows; ++j) {
            near[j] = near_x[0] || near_x[1] || (pb.dim == 3 && near_layer(pb, 1, task.iy + j));
            if (near[j]) terms_x(pb, lv, scratch, task, j, near_x);
            any = any || near[j];
        }
        for (int i = 0; i < task.planes && any && pb.dim == 3; ++i)
            terms_y(pb, lv, scratch, task, i, near_x[i]);
        for (int j = 0; j < task.rows && has_layer_z(pb); ++j) {
            const bool onto = near[j] && pb.medium == Medium::isotropic;
            term_z(pb, lv, scratch, onto ? scratch.extra[j] : scratch.ends[j], onto, task, task.iy + j);
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

    /// The terms of x on row j of a task. A row near the layer of y alone is left to it; others get -0.0.
    static void terms_x(const Problem& pb, const Levels& lv, const Scratch& scratch, const RowTask& task, int j,
                        const bool* near_x) {
        float* const* extra = scratch.extra[j];
        if (task.planes == 2 && near_x[0] && near_x[1] &&
            two_terms(pb, lv, scratch, 0, task, task.ix, task.iy + j, extra[0], extra[1], false))
            return;
        const bool near_y = pb.dim == 3 && near_layer(pb, 1, task.iy + j);
        for (int i = 0; i < task.planes; ++i) {
            if (near_x[i]) term(pb, lv, scratch, 0, task, task.ix + i, task.iy + j, extra[i], false);
            if (!near_x[i] && !near_y)
                for (Index z = 0; z < pb.n[2]; z += lanes)
                    store(extra[i] + z, set1(-0.0f));
        }
    }

    /// The terms of y on the rows of a task in plane i, added to those of x where there are any.
    static void terms_y(const Problem& pb, const Levels& lv, const Scratch& scratch, const RowTask& task, int i,
                        bool near_x) {
        const Index ix = task.ix + i;
        if (task.rows == 2 && near_layer(pb, 1, task.iy) && near_layer(pb, 1, task.iy + 1) &&
            two_terms(pb, lv, scratch, 1, task, ix, task.iy, scratch.extra[0][i], scratch.extra[1][i], near_x))
            return;
        for (int j = 0; j < task.rows; ++j)
            if (near_layer(pb, 1, task.iy + j))
                term(pb, lv, scratch, 1, task, ix, task.iy + j, scratch.extra[j][i], near_x);
    }

    /// The term of one axis on row (ix, iy), written to `extra` or added to it.
    static void term(const Problem& pb, const Levels& lv, const Scratch& scratch, int axis, const RowTask& task,
                     Index ix, Index iy, float* extra, bool onto) {
        const LayerRow row = row_of(pb, lv, scratch, axis, ix, iy, 1);
        const Next next{task.fetch != Fetch::none ? next_memory(pb, axis) : 0, 0};
        const bool whole = task.z0 == 0 && task.z1 == pb.n[2];
        const auto of = onto ? (whole ? layer_row_term<M, true, true> : layer_row_term<M, true, false>)
                             : (whole ? layer_row_term<M, false, true> : layer_row_term<M, false, false>);
        of(extra, row, pb.c[axis], pb.d[axis], pb.radius, task.z0, task.z1, next);
    }

    /// The terms of one axis on the whole row (ix, iy) and the one after it along the axis; false where these have to
    /// be done one by one: not whole, or one in the layer and the other not.
    static bool two_terms(const Problem& pb, const Levels& lv, const Scratch& scratch, int axis, const RowTask& task,
                          Index ix, Index iy, float* extra, float* extra2, bool onto) {
        if constexpr (M > 0) {
            const LayerRow row = row_of(pb, lv, scratch, axis, ix, iy, 2);
            const bool whole = task.z0 == 0 && task.z1 == pb.n[2], inside = row.zeta[0] != nullptr;
            if (!whole || inside != (row.zeta[1] != nullptr)) return false;
            const Next next{task.fetch != Fetch::none ? next_memory(pb, axis) : 0, 0};
            const auto of = onto
                                ? (inside ? layer_two_row_terms<M, true, true> : layer_two_row_terms<M, true, false>)
                                : (inside ? layer_two_row_terms<M, false, true> : layer_two_row_terms<M, false, false>);
            of(extra, extra2, row, pb.c[axis], pb.d[axis], pb.n[2], next);
            return true;
        }
        return false;
    }

#if SUBSALT_SHIFTS
    /// The visit of windows that fit registers: its term added or written, with one vector or two.
    template <bool Stretched>
    static auto in_registers(bool onto, bool two) {
        return onto ? (two ? add_term_z_in_registers<M, true, true, Stretched>
                           : add_term_z_in_registers<M, true, false, Stretched>)
                    : (two ? add_term_z_in_registers<M, false, true, Stretched>
                           : add_term_z_in_registers<M, false, false, Stretched>);
    }
#endif

    /// The term of z on the rows (task.ix, iy) and beyond: added to the windows of `extra`, or (not `onto`) written
    /// there. With `advance_z` Psi of the rows is advanced first.
    static void term_z(const Problem& pb, const Levels& lv, const Scratch& scratch, float* const* extra, bool onto,
                       const RowTask& task, Index iy) {
        const float* field = lv.curr[pb.medium == Medium::isotropic ? 0 : 1];
        EndsZ rows[2];
        for (int i = 0; i < task.planes; ++i) {
            const Index at = memory_offset_z(pb, task.ix + i, iy);
            rows[i] = {field + row_offset(pb, task.ix + i, iy), lv.psi[2] + at, lv.zeta[2] + at, extra[i],
                       pb.stretch.square};
        }
#if SUBSALT_SHIFTS
        if constexpr (M > 0) {
            const bool whole = task.z0 == 0 && task.z1 == pb.n[2];
            if (task.advance_z && whole && windows_fit_registers(pb.wz, pb.width, pb.n[2])) {
                const bool two = pb.wz.front > wide_lanes || pb.wz.back > wide_lanes;
                const Index next = task.fetch != Fetch::none ? 2 * pb.n[1] * pb.wz.stride : 0; // two planes on
                const auto of =
                    pb.stretch.square != nullptr ? in_registers<true>(onto, two) : in_registers<false>(onto, two);
                of(rows, task.planes, pb.wz, pb.n[2], pb.c[2], pb.d[2], next);
                return;
            }
        }
#endif
        for (int i = 0; i < task.planes; ++i) {
            if (!onto) clear_windows(pb, extra[i]);
            if (task.advance_z) psi_z(pb, lv, task.ix + i, iy, task.z0, task.z1);
            const auto of = pb.stretch.square != nullptr ? add_term_z<M, true> : add_term_z<M, false>;
            of(extra[i], rows[i].psi, rows[i].zeta, scratch.work, rows[i].u, pb.wz, pb.n[2], pb.c[2], pb.d[2],
               pb.radius, task.z0, task.z1, pb.stretch.square);
        }
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
