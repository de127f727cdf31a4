// The launchers of all device kernels. Each starts its work on a stream and returns at once; pointers in `Problem`,
// `Levels` and all arrays are on the device, and have the layout of the CPU's.
#pragma once

#include "device.hpp"
#include "segment.hpp"

namespace subsalt::cuda {

/// A problem whose pointers are on the device, and what does not change of the cells of its layer.
struct DeviceProblem : Problem {
    /// Of an axis, for cells -8 .. n + 15: the row of the cell in the memory fields of the axis, along z its place in
    /// such a row; -1 outside the layer. Null without a PML.
    const int* layer_cell[3];
};

/// How a march over a grid is cut; changes speed, never bits.
struct Tuning {
    int rows;   // rows of y per block
    int planes; // planes of x per block; 0: chosen for the grid
};

/// Points on the device, with the lists by which they are injected (points.cu).
struct DevicePoints;

// Psi of all axes in the layer, inside the box (absorb.cu)
Status memory_step(const DeviceProblem& pb, const Levels& levels, const Box& box, cudaStream_t stream);

/// Whether the depth axis follows the rock.
inline bool is_stretched(const Problem& pb) {
    return pb.stretch.square != nullptr;
}

// The next time level over `levels.prev` (field_step.cu, tti_step.cu; on a stretched depth axis *_stretched.cu)
Status field_step_iso(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                      cudaStream_t stream);
Status field_step_vti(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                      cudaStream_t stream);
Status field_step_stretched(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                            cudaStream_t stream); // isotropic and VTI
Status field_step_tti(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                      cudaStream_t stream);
/// On a stretched depth axis; with `out` A and B instead of a step.
Status tti_stretched(const DeviceProblem& pb, const Levels& levels, const Box& box, float* const* out,
                     const Tuning& tuning, cudaStream_t stream);
/// Tunings worth trying on this grid, the usual one first; returns how many, at most `most`.
int tunings_field(const Problem& pb, Tuning* out, int most);
int tunings_tti(const Problem& pb, Tuning* out, int most);
Status apply_l_iso(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream);
Status apply_l_vti(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream);
Status apply_l_tti(const DeviceProblem& pb, float* const* fields, float* const* out, const Box& box,
                   cudaStream_t stream);

inline Status field_step(const DeviceProblem& pb, const Levels& levels, const Box& box, const Tuning& tuning,
                         cudaStream_t stream) {
    switch (pb.medium) {
    case Medium::isotropic:
        return field_step_iso(pb, levels, box, tuning, stream);
    case Medium::vti:
        return field_step_vti(pb, levels, box, tuning, stream);
    default:
        return field_step_tti(pb, levels, box, tuning, stream);
    }
}

inline int tunings(const Problem& pb, Tuning* out, int most) {
    return pb.medium == Medium::tti ? tunings_tti(pb, out, most) : tunings_field(pb, out, most);
}

// Points between nodes (points.cu). `host` has pointers on the host.
Status make_points(const Points& host, const Problem& pb, DevicePoints** out, cudaStream_t stream);
void free_points(DevicePoints* points);
Index count_of_points(const DevicePoints& points);
Index width_of_points(const DevicePoints& points);
/// The smallest box that holds all supports; empty without points.
Box touched_by_points(const DevicePoints& points);
/// values: (n); out: (n); shares: (n, width), what every plane of a support adds to a sample, 0 without weight
Status inject(const Problem& pb, float* const* fields, const DevicePoints& points, const float* values,
              cudaStream_t stream);
Status record(const Problem& pb, const float* const* fields, const DevicePoints& points, float* out,
              cudaStream_t stream);
Status record_shares(const Problem& pb, const float* const* fields, const DevicePoints& points, float* shares,
                     cudaStream_t stream);

// What imaging does (imaging.cu). Arrays other than fields have the shape of the box.
Status snapshot(const Problem& pb, const float* const* fields, float* out, const Box& box, cudaStream_t stream);
Status correlate(const Problem& pb, float* image, const float* u, const float* const* fields, const Box& box,
                 float scale, cudaStream_t stream);
Status energy(const Problem& pb, float* image, const float* const* fields, const Box& box, float scale,
              cudaStream_t stream);
Status square(float* image, const float* u, Index n, float scale, cudaStream_t stream);
Status product(float* image, const float* u, const float* w, Index n, float scale, cudaStream_t stream);
/// Sets *flag to 1 when a point of the grid is not finite; leaves it alone otherwise.
Status look_for_infinite(const Problem& pb, const float* const* fields, int* flag, cudaStream_t stream);

// The shell of a box (shell.cu): record (fields, cells)
Status keep_shell(const Problem& pb, const float* const* fields, const Shell& shell, float* record,
                  cudaStream_t stream);
Status put_back_shell(const Problem& pb, float* const* fields, const Shell& shell, const float* record,
                      cudaStream_t stream);

} // namespace subsalt::cuda
