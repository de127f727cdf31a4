// The compiled module `subsalt._native`: one binding file per subject registers itself here.
#include <nanobind/nanobind.h>

#include "memory.hpp"

namespace nb = nanobind;

void bind_kernels(nb::module_& m);   // bindings/kernels.cpp: time step, injection, recording, imaging
void bind_segment(nb::module_& m);   // bindings/segment.cpp: many time steps in one call
void bind_mirror(nb::module_& m);    // bindings/mirror.cpp: a free surface inside the grid
void bind_slab(nb::module_& m);      // bindings/slab.cpp: passes on a slab, piece by piece
void bind_lab(nb::module_& m);       // bindings/lab.cpp: what the lab measures of the machine
void bind_signal(nb::module_& m);    // bindings/signal.cpp: wavelets, trace maps, sinc weights, profiles
void bind_samples(nb::module_& m);   // bindings/samples.cpp: bytes of SEG-Y traces
void bind_traces(nb::module_& m);    // bindings/traces.cpp: traces filtered and interpolated for time migration
void bind_rows(nb::module_& m);      // bindings/rows.cpp: products of rows of two wavefields, for gathers
void bind_snapshot(nb::module_& m);  // bindings/snapshot.cpp: threads that write and read snapshots
void bind_model(nb::module_& m);     // bindings/model.cpp: extremes of an earth model
void bind_weights(nb::module_& m);   // bindings/weights.cpp: weights along an axis, for volumes on another grid
void bind_kirchhoff(nb::module_& m); // bindings/kirchhoff.cpp: sum of time migration

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of subsalt.";
    subsalt::return_large_arrays();
    bind_kernels(m);
    bind_mirror(m);
    bind_segment(m);
    bind_slab(m);
    bind_lab(m);
    bind_signal(m);
    bind_samples(m);
    bind_traces(m);
    bind_rows(m);
    bind_snapshot(m);
    bind_model(m);
    bind_weights(m);
    bind_kirchhoff(m);
}
