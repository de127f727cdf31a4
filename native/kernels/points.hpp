// Injection and recording at points between nodes, with separable weights (Hicks, 2002, Geophysics 67, 156).
//
//   inject   u += C w value:   amount = (m ((w_x w_y) w_z)) value;   p += amount                     isotropic
//            p += (0.5 (e + s)) amount;  q += (0.5 (s + 1)) amount                                   VTI
//   record   sum over planes in x order of the sum of a plane; lanes t_k = fma(w, u, t_k) over y, then
//            ((t_0 + t_1) + (t_2 + t_3)) + ((t_4 + t_5) + (t_6 + t_7)), per block of eight z nodes
//
// A thread owns x planes, and takes the points of a plane in ascending order: neither threads nor slabs change a bit.
// No multiply-add in `inject`: it equals the NumPy reference bit for bit.
#pragma once

#include "formulas.hpp"
#include "kernels/model_storage.hpp"

namespace subsalt::SUBSALT_NS {

/// Nodes of a support along an axis that lie inside the grid.
inline Index count_of(const Points& pts, Index i, int axis, Index n) {
    const Index room = n - pts.base[3 * i + axis];
    return room < pts.width ? room : pts.width;
}

/// Rows of 8 nodes, the usual support, have loops of known length, which the compiler turns into vectors (W = 8, else
/// 0).
template <int W, class Storage>
SUBSALT_INLINE void inject_iso_row(float* __restrict p, const Storage& m, const float* __restrict wz, float wxy,
                                   float value, Index nz) {
    const Index n = W > 0 ? W : nz;
    for (Index k = 0; k < n; ++k)
        p[k] += injected(m.one(k), wxy * wz[k], value);
}

template <int W, class Storage>
SUBSALT_INLINE void inject_vti_row(float* __restrict p, float* __restrict q, const Storage& m, const Storage& e,
                                   const Storage& s, const float* __restrict wz, float wxy, float value, Index nz) {
    const Index n = W > 0 ? W : nz;
    for (Index k = 0; k < n; ++k) {
        const float amount = injected(m.one(k), wxy * wz[k], value);
        p[k] += share_of_p(e.one(k), s.one(k)) * amount;
        q[k] += share_of_q(s.one(k)) * amount;
    }
}

/// Ask for the rows in [y0, y1) that point i touches in plane ix: points lie scattered, each row is a miss otherwise.
template <class Storage>
SUBSALT_INLINE void prefetch_rows(const Problem& pb, float* const* fields, const Points& pts, Index i, Index ix,
                                  Index y0, Index y1) {
    const int32_t* base = pts.base + 3 * i;
    const Index ny = count_of(pts, i, 1, pb.n[1]);
    const Index from = y0 > base[1] ? y0 - base[1] : 0, to = y1 - base[1] < ny ? y1 - base[1] : ny;
    for (Index jy = from; jy < to; ++jy) {
        const Index at = (ix + pb.radius) * pb.plane + (base[1] + jy + pb.y_halo) * pb.row + z_front + base[2];
        prefetch(fields[0] + at);
        prefetch(Storage(pb, Model::m, at).address(0));
        if (pb.fields == 1) continue;
        prefetch(fields[1] + at);
        prefetch(Storage(pb, Model::e, at).address(0));
        prefetch(Storage(pb, Model::s, at).address(0));
    }
}

/// Number of x plane ix in the list of planes that the points touch, or -1.
inline Index plane_number(const Points& pts, Index ix) {
    if (pts.n_planes == 0 || ix < pts.plane[0] || ix > pts.plane[pts.n_planes - 1]) return -1;
    Index lo = 0, hi = pts.n_planes;
    while (lo < hi) {
        const Index mid = (lo + hi) / 2;
        if (pts.plane[mid] < ix)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < pts.n_planes && pts.plane[lo] == ix ? lo : -1;
}

/// Let the odd images above a free surface follow the row that begins at `row0`, of every field.
SUBSALT_INLINE void reflect_injected(const Problem& pb, float* const* fields, Index row0) {
    for (int f = 0; f < pb.fields; ++f) {
        fields[f][row0] = 0.0f;
        for (Index k = 1; k <= pb.radius && k < pb.n[2]; ++k)
            fields[f][row0 - k] = -fields[f][row0 + k];
    }
}

/// Add the samples of all points to the rows [y0, y1) of x plane number `j` of the point set. Rows of zero weight are
/// left alone.
template <class Storage>
inline void inject_plane_of(const Problem& pb, float* const* fields, const Points& pts, const float* values, Index j,
                            Index y0, Index y1) {
    const Index ix = pts.plane[j];
    // in 2-D all points of a plane share one row: its images follow once, behind the last point
    const bool one_row = pb.n[1] == 1;
    bool row_touched = false;
    for (Index a = pts.start[j]; a < pts.start[j + 1]; ++a) {
        if (a + 1 < pts.start[j + 1]) prefetch_rows<Storage>(pb, fields, pts, pts.item[a + 1], ix, y0, y1);
        const Index i = pts.item[a];
        const int32_t* base = pts.base + 3 * i;
        const float* w = pts.weights + 3 * i * pts.width;
        const float* wz = w + 2 * pts.width;
        const float wx = w[ix - base[0]], value = values[i];
        if (wx == 0.0f || value == 0.0f) continue;
        const Index ny = count_of(pts, i, 1, pb.n[1]), nz = count_of(pts, i, 2, pb.n[2]);
        const Index from = y0 > base[1] ? y0 - base[1] : 0, to = y1 - base[1] < ny ? y1 - base[1] : ny;
        for (Index jy = from; jy < to; ++jy) {
            const float wxy = wx * w[pts.width + jy];
            if (wxy == 0.0f) continue;
            const Index at = (ix + pb.radius) * pb.plane + (base[1] + jy + pb.y_halo) * pb.row + z_front + base[2];
            float *p = fields[0] + at, *q = pb.fields == 2 ? fields[1] + at : nullptr;
            const Storage m(pb, Model::m, at);
            if (pb.fields == 2) {
                const Storage e(pb, Model::e, at), s(pb, Model::s, at);
                if (nz == 8)
                    inject_vti_row<8>(p, q, m, e, s, wz, wxy, value, nz);
                else
                    inject_vti_row<0>(p, q, m, e, s, wz, wxy, value, nz);
            } else if (nz == 8)
                inject_iso_row<8>(p, m, wz, wxy, value, nz);
            else
                inject_iso_row<0>(p, m, wz, wxy, value, nz);
            if (pb.free_surface && base[2] <= pb.radius) {
                if (one_row)
                    row_touched = true;
                else
                    reflect_injected(pb, fields, at - base[2]);
            }
        }
    }
    if (row_touched) reflect_injected(pb, fields, (ix + pb.radius) * pb.plane + pb.y_halo * pb.row + z_front);
}

inline void inject_plane(const Problem& pb, float* const* fields, const Points& pts, const float* values, Index j,
                         Index y0, Index y1) {
    if (pb.storage == ModelStorage::u16)
        inject_plane_of<Packed16>(pb, fields, pts, values, j, y0, y1);
    else
        inject_plane_of<Floats>(pb, fields, pts, values, j, y0, y1);
}

/// t_k = fma(w, u, t_k) for a row of at most 8 nodes; q is null for isotropic media.
template <int W>
SUBSALT_INLINE void record_row(float* __restrict t, const float* __restrict p, const float* __restrict q,
                               const float* __restrict wz, float wxy, Index block) {
    const Index n = W > 0 ? W : block;
    if (q == nullptr)
        for (Index k = 0; k < n; ++k)
            t[k] = add_product(wxy, wz[k], p[k], t[k]);
    else
        for (Index k = 0; k < n; ++k)
            t[k] = add_product(wxy, wz[k], mean_of(p[k], q[k]), t[k]);
}

/// The share of plane number jx of the support of point i. Rows of zero weight are left out.
inline float plane_sum(const Problem& pb, const float* const* fields, const Points& pts, Index i, Index jx) {
    const int32_t* base = pts.base + 3 * i;
    const float* w = pts.weights + 3 * i * pts.width;
    const Index ny = count_of(pts, i, 1, pb.n[1]), nz = count_of(pts, i, 2, pb.n[2]);
    float plane = 0.0f;
    for (Index k0 = 0; k0 < nz; k0 += 8) {
        float t[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        const Index block = nz - k0 < 8 ? nz - k0 : 8;
        const float* wz = w + 2 * pts.width + k0;
        for (Index jy = 0; jy < ny; ++jy) {
            const float wxy = w[jx] * w[pts.width + jy];
            if (wxy == 0.0f) continue;
            const Index at =
                (base[0] + jx + pb.radius) * pb.plane + (base[1] + jy + pb.y_halo) * pb.row + z_front + base[2] + k0;
            const float *p = fields[0] + at, *q = pb.fields == 2 ? fields[1] + at : nullptr;
            if (block == 8)
                record_row<8>(t, p, q, wz, wxy, block);
            else
                record_row<0>(t, p, q, wz, wxy, block);
        }
        plane += ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
    }
    return plane;
}

/// p or (p + q) / 2 at point i. Planes of zero weight are left out.
inline float record_point(const Problem& pb, const float* const* fields, const Points& pts, Index i) {
    const float* w = pts.weights + 3 * i * pts.width;
    const Index nx = count_of(pts, i, 0, pb.n[0]);
    float total = 0.0f;
    for (Index jx = 0; jx < nx; ++jx)
        if (w[jx] != 0.0f) total += plane_sum(pb, fields, pts, i, jx);
    return total;
}

} // namespace subsalt::SUBSALT_NS
