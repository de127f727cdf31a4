// Bindings of the kernels: the time step, injection, recording, imaging.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "isa/dispatch.hpp"

namespace nb = nanobind;

void bind_kernels(nb::module_& m) {
    m.def("isa", [] { return std::string(subsalt::kernels().name); });
    m.def("numerics", [] { return std::string(subsalt::kernels().numerics); });
    m.def("available_isas", &subsalt::available);
}
