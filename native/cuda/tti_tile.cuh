// How a block of the TTI step is laid out: which points its threads own, and what it keeps in shared memory.
//
// A block marches along x with a tile of `rows` by `columns` points in y and z. Its divergence along y and z needs the
// fluxes of M rows and columns beside the tile too, which are made here and in the neighbouring block. A thread owns
// one unit, a pair of points along z with all that is kept of it from plane to plane: of the tile (`inner`), beside it
// in y (where only F_y is made), or beside it in z (only F_z). What fluxes read further out, M more on each side,
// threads copy beside their own unit (`outer`).
//
//          z ->  outer | beside |  inner  | beside | outer
//
// Order 8: 16 x 32 points; 256 inner units, 128 beside in y, 64 beside in z: 448 threads. Three quarters more points
// have fluxes than are advanced; they cost 24 % more arithmetic, since no second derivatives and one flux are made
// there.
#pragma once

#include "device.hpp"

namespace subsalt::cuda {

enum class Role : int { inner, beside_y, beside_z, outer, none };

/// A pair of points at (y, z) from the first point of the tile.
struct Unit {
    Role role;
    int y, z;
};

/// `Plain`: the fields of a plane are read for fluxes alone, not by terms of the layer.
template <int M, int Dim, int Rows, bool Plain>
struct TiltedTile {
    static constexpr int radius = M;
    static constexpr int rows = Dim == 3 ? Rows : 1;
    static constexpr int columns = Dim == 3 ? 32 : 128;
    static constexpr int aligned = 8;           // columns: tiles start at whole sectors of 32 bytes
    static constexpr int my = Dim == 3 ? M : 0; // rows beside the tile
    static constexpr int mz = (M + 1) / 2 * 2;  // columns beside it, in whole pairs
    static constexpr int per_row = columns / 2; // pairs
    static constexpr int n_inner = rows * per_row;
    static constexpr int n_beside_y = 2 * my * per_row;
    static constexpr int n_beside_z = rows * mz;
    static constexpr int n_units = n_inner + n_beside_y + n_beside_z;
    static constexpr int n_outer_y = n_beside_y;
    static constexpr int n_outer_z = n_beside_z;
    static constexpr int n_corner = 2 * my * mz;
    static constexpr int n_outer = n_outer_y + n_outer_z + n_corner;
    static constexpr int threads = (n_units + 31) / 32 * 32;
    static constexpr int outer_each = (n_outer + threads - 1) / threads; // per thread

    // shared memory, in floats. Of fields there are several copies, for those of plane x + 2 are written while fluxes
    // of plane x + 1 are made and the layer still reads plane x; of F_y and F_z two, for those of plane x are read then
    static constexpr int copies = Plain ? 2 : 3;
    static constexpr int w_row = columns + 4 * mz + (mz == 4 ? 8 : 0); // + 8: beside_z without bank conflicts
    static constexpr int w_plane = (rows + 4 * my) * w_row;
    static constexpr int fy_plane = (rows + 2 * my) * columns;
    static constexpr int fz_row = columns + 2 * mz;
    static constexpr int fz_plane = rows * fz_row;
    static constexpr int slots = M == 1 ? 2 : M == 2 ? 4 : M <= 4 ? 8 : 16; // planes of F_x: 2 M, to a power of two
    static constexpr int fx_plane = rows * columns;
    static constexpr int at_fy = 2 * copies * w_plane;
    static constexpr int at_fz = at_fy + (Dim == 3 ? 4 * fy_plane : 0);
    static constexpr int at_fx = at_fz + 4 * fz_plane;
    static constexpr int at_point = at_fx + 2 * slots * fx_plane;
    static constexpr int floats = at_point + 5 * fx_plane;
    static constexpr std::size_t bytes = sizeof(float) * floats;
    static_assert(bytes <= 99 << 10, "more than a block has on 8.6 and 8.9");

    /// The unit that thread t owns.
    SUBSALT_DEVICE static Unit unit(int t) {
        if (t < n_inner) return {Role::inner, t / per_row, t % per_row * 2};
        t -= n_inner;
        if (t < n_beside_y) {
            const int row = t / per_row;
            return {Role::beside_y, row < my ? row - my : row - my + rows, t % per_row * 2};
        }
        t -= n_beside_y;
        if (t < n_beside_z) return {Role::beside_z, t / mz, beside_column(t % mz)};
        return {Role::none, 0, 0};
    }

    /// Number `count` of the units further out that thread t copies; threads that do least come first.
    SUBSALT_DEVICE static Unit outer(int t, int count) {
        int i = (count + 1) * threads - 1 - t;
        if (i >= n_outer) return {Role::none, 0, 0};
        if (i < n_outer_y) return {Role::outer, outer_row(i / per_row), i % per_row * 2};
        i -= n_outer_y;
        if (i < n_outer_z) {
            const int j = i % mz;
            return {Role::outer, i / mz, j < mz / 2 ? 2 * (j - mz) : columns + 2 * j};
        }
        i -= n_outer_z;
        const int row = i / mz; // beside the tile in both
        return {Role::outer, row < my ? row - my : row - my + rows, beside_column(i % mz)};
    }

    /// A field in plane x, and where in it a unit is.
    SUBSALT_DEVICE static float* plane(float* shared, int x, int field) {
        return shared + (2 * (copies == 2 ? x & 1 : x % copies) + field) * w_plane;
    }
    SUBSALT_DEVICE static int in_plane(int y, int z) { return (y + 2 * my) * w_row + z + 2 * mz; }

    /// Where a field, F_y, F_z and F_x of a unit are, the first three of plane x.
    SUBSALT_DEVICE static float* w(float* shared, int x, int field, int y, int z) {
        return plane(shared, x, field) + in_plane(y, z);
    }
    SUBSALT_DEVICE static float* fy(float* shared, int x, int field, int y, int z) {
        return shared + at_fy + (2 * (x & 1) + field) * fy_plane + (y + my) * columns + z;
    }
    SUBSALT_DEVICE static float* fz(float* shared, int x, int field, int y, int z) {
        return shared + at_fz + (2 * (x & 1) + field) * fz_plane + y * fz_row + z + mz;
    }
    SUBSALT_DEVICE static float* fx(float* shared, int field, int x, int y, int z) {
        const int slot = x * fx_plane & (slots * fx_plane - 1); // both are powers of two
        return shared + at_fx + field * slots * fx_plane + (slot | (y * columns + z));
    }
    /// m, e, s and the last level of both fields, of a point that only its thread reads.
    SUBSALT_DEVICE static float* point(float* shared, int which, int y, int z) {
        return shared + at_point + which * fx_plane + y * columns + z;
    }

private:
    SUBSALT_DEVICE static int beside_column(int j) { return j < mz / 2 ? 2 * j - mz : columns + 2 * j - mz; }
    SUBSALT_DEVICE static int outer_row(int row) { return row < my ? row - 2 * my : row + rows; }
};

} // namespace subsalt::cuda
