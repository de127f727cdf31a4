// Plain structs that every kernel receives: what stays constant over the time steps, and what a step changes.
// No code lives here, so the file may be compiled under any instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace subsalt {

using Index = std::ptrdiff_t;

constexpr int max_radius = 8;
constexpr Index z_front = 16; // floats before z = 0 in every padded row: one AVX-512 vector

/// A half-open range of grid indices per axis x, y, z. Any box is legal, also an empty one.
struct Box {
    Index lo[3];
    Index hi[3];
};

/// A half-open range of planes of x.
struct Span {
    Index lo, hi;
};

/// Of a step: the planes whose field is advanced, and those whose Psi of x is.
struct Planes {
    Span field, psi;
};

enum class Medium : int { isotropic = 0, vti = 1, tti = 2 };

/// What the TTI step needs beside m, e, s: the symmetry axis, and weights for unit spacing with their scales per axis.
struct Tilt {
    const float* axis[3];    // padded, components of the unit vector; null for y in 2-D
    float c[max_radius + 1]; // second derivative weights
    float d[max_radius + 1]; // first derivative weights; d[0] is not used
    float slope[3];          // 1 / h
    float share[3];          // 0.2 / h^2
    float second[2][3];      // 0.8 / h^2 of the operator on p, 0.2 / h^2 of the one on q
    float weight[2];         // 0.8 of the operator on p, 0.2 of the one on q
    float centre[2];         // c[0] times the sum of second[field] over the axes
};

enum class ModelStorage : int { f32 = 0, u16 = 1 };

/// A padded array of 16-bit numbers u; its values are fma(scale, u, offset).
struct PackedArray {
    const std::uint16_t* values;
    float scale, offset;
};

enum class Boundary : int { none = 0, pml = 1, damping = 2 };

/// The layer along z of one row: two windows, [0, front) and [n - back, n), both multiples of 16 floats, or 0 without a
/// layer. A window holds the layer and the `radius` cells inside its edge. All tables have front + back entries.
struct WindowsZ {
    Index front, back;
    Index stride;           // front + back: floats per row of the memory fields of z
    const float* b;         // exp(-sigma dt) in the layer, 1 elsewhere
    const float* in_layer;  // all bits set in the layer, else none
    const float* near_side; // all bits set in layer + radius cells; a cell near both sides belongs to the front window
};

/// What a stretched depth axis brings into the rows along z (src/subsalt/kernels/depth_rows.py says which equations
/// these are); all null on a uniform axis. Every row begins at z = 0, with its first number before it and its last one
/// behind it wherever a kernel reads.
struct Stretch {
    const float* square;    // a^2, a = dzeta/dz
    const float* centre[2]; // by field: weights of the point itself, with a^2 and -e; of q alone in VTI
    const float* root;      // a^(-1/2)
    const float* power;     // a^(3/2)
};

/// One medium on one grid, discretised. Arrays named `padded` have n[0] + 2 radius planes of at least n[1] + 2 y_halo
/// rows of `row` floats, with z = 0 at float 16 of a row; halo and padding of m are zero.
struct Problem {
    Index n[3];
    int radius;   // M, 1 to 8
    int dim;      // 2 or 3; in 2-D n[1] = 1 and there is no halo in y
    Index y_halo; // M in 3-D, 0 in 2-D
    Index row;    // floats between rows
    Index plane;  // floats between x planes
    Medium medium;
    int fields; // wavefields: p, or p and q
    bool free_surface;
    Boundary boundary;
    Index width[6];             // cells of the layer: x low, x high, y low, y high, z low, z high
    float c[3][max_radius + 1]; // second derivative weights / h^2; c[axis][0] is the centre
    float d[3][max_radius + 1]; // first derivative weights / h; d[axis][0] is not used
    float centre;               // sum of c[axis][0] over the axes that act on p
    const float* m;             // padded, (vp dt)^2
    const float* e;             // padded, 1 + 2 epsilon (VTI, TTI)
    const float* s;             // padded, sqrt(1 + 2 delta) (VTI, TTI)
    ModelStorage storage;       // u16: `packed` holds the model, and m, e, s are null
    PackedArray packed[3];      // m, e, s
    Tilt tilt;                  // TTI
    const float* b[3];          // n[axis], exp(-sigma dt) (PML)
    const float* t[3];          // n[axis], sigma dt (damping); t[2] is padded with 16 zeros behind
    WindowsZ wz;
    Stretch stretch;
    Index compact_row; // floats per row of the x and y memory fields: n[2] rounded up to 16
};

/// Two time levels and the memory of the layer. `prev` is overwritten by the next level. zeta2 (TTI): Zeta of the field
/// that has no Psi along the axis.
/// psi, zeta and zeta2: x (width[0] + width[1], n[1], compact_row); y (n[0], width[2] + width[3], compact_row);
/// z (n[0], n[1], wz.front + wz.back).
struct Levels {
    float* prev[2];
    const float* curr[2];
    float* psi[3];
    float* zeta[3];
    float* zeta2[3];
};

/// Points between nodes with separable weights, sorted by the x planes they touch.
struct Points {
    Index n;
    int width;            // nodes per axis of a support
    const int32_t* base;  // (n, 3), first node
    const float* weights; // (n, 3, width)
    Index n_planes;
    const int32_t* plane;  // (n_planes,) ascending x indices
    const int32_t* start;  // (n_planes + 1,) into item
    const int32_t* item;   // point numbers, ascending within a plane
    const int32_t* by_row; // the same, within a plane by the last row of their support
    const int32_t* ended;  // (nx + 1,) into `ending`
    const int32_t* ending; // point numbers by the last plane of their support, within a plane by its last row
};

} // namespace subsalt
