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

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

/// Nodes of a support along an axis that lie inside the grid.
inline Index count_of(const Points& pts, Index i, int axis, Index n) {
    const Index room = n - pts.base[3 * i + axis];
    return room < pts.width ? room : pts.width;
}

/// Add the samples of all points to x plane number `j` of the point set.
inline void inject_plane(const Problem& pb, float* const* fields, const Points& pts, const float* values, Index j) {
    const Index ix = pts.plane[j];
    for (Index a = pts.start[j]; a < pts.start[j + 1]; ++a) {
        const Index i = pts.item[a];
        const int32_t* base = pts.base + 3 * i;
        const float* w = pts.weights + 3 * i * pts.width;
        const float wx = w[ix - base[0]];
        const float value = values[i];
        const Index ny = count_of(pts, i, 1, pb.n[1]), nz = count_of(pts, i, 2, pb.n[2]);
        for (Index jy = 0; jy < ny; ++jy) {
            const float wxy = wx * w[pts.width + jy];
            const float* wz = w + 2 * pts.width;
            const Index at = (ix + pb.radius) * pb.plane + (base[1] + jy + pb.y_halo) * pb.row + z_front + base[2];
            if (!pb.vti) {
                for (Index k = 0; k < nz; ++k)
                    fields[0][at + k] += (pb.m[at + k] * (wxy * wz[k])) * value;
            } else {
                for (Index k = 0; k < nz; ++k) {
                    const float amount = (pb.m[at + k] * (wxy * wz[k])) * value;
                    fields[0][at + k] += (0.5f * (pb.e[at + k] + pb.s[at + k])) * amount;
                    fields[1][at + k] += (0.5f * (pb.s[at + k] + 1.0f)) * amount;
                }
            }
            if (pb.free_surface && base[2] <= pb.radius) {
                // the odd images above the surface follow what was added below it
                const Index row0 = at - base[2];
                for (int f = 0; f < (pb.vti ? 2 : 1); ++f) {
                    fields[f][row0] = 0.0f;
                    for (Index k = 1; k <= pb.radius && k < pb.n[2]; ++k)
                        fields[f][row0 - k] = -fields[f][row0 + k];
                }
            }
        }
    }
}

/// p or (p + q) / 2 at point i.
inline float record_point(const Problem& pb, const float* const* fields, const Points& pts, Index i) {
    const int32_t* base = pts.base + 3 * i;
    const float* w = pts.weights + 3 * i * pts.width;
    const Index nx = count_of(pts, i, 0, pb.n[0]), ny = count_of(pts, i, 1, pb.n[1]);
    const Index nz = count_of(pts, i, 2, pb.n[2]);
    float total = 0.0f;
    for (Index jx = 0; jx < nx; ++jx) {
        float plane = 0.0f;
        for (Index k0 = 0; k0 < nz; k0 += 8) {
            float t[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            const Index block = nz - k0 < 8 ? nz - k0 : 8;
            for (Index jy = 0; jy < ny; ++jy) {
                const float wxy = w[jx] * w[pts.width + jy];
                const float* wz = w + 2 * pts.width + k0;
                const Index at = (base[0] + jx + pb.radius) * pb.plane + (base[1] + jy + pb.y_halo) * pb.row + z_front +
                                 base[2] + k0;
                for (Index k = 0; k < block; ++k) {
                    const float u = pb.vti ? 0.5f * (fields[0][at + k] + fields[1][at + k]) : fields[0][at + k];
                    t[k] = fma1(wxy * wz[k], u, t[k]);
                }
            }
            plane += ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
        }
        total += plane;
    }
    return total;
}

} // namespace subsalt::SUBSALT_NS
