// The kernels of rows for one storage and depth axis, by dimension and radius: included by rows_*.cpp alone, each of
// which compiles a part, so that no processor core waits for one long source.
#pragma once

#include "isa/rows.hpp"

namespace subsalt::SUBSALT_NS {

/// The widest radius whose single rows have kernels of their own. Nearly all rows are done in pairs, and every kernel
/// costs a second to compile, so single rows of wider stencils, and of a stretched axis, take the kernel of a run-time
/// radius.
constexpr int widest_single = 4;

template <int M, bool Stretched>
constexpr int single = M > widest_single || Stretched ? 0 : M;

template <int M, int Dim, Fetch F, class S, bool Stretched>
constexpr KindKernels kinds_for() {
    constexpr int One = single<M, Stretched>;
    KindKernels out = {
        {iso_row<One, Dim, Kind::plain, F, S, Stretched>, iso_row<One, Dim, Kind::extra, F, S, Stretched>,
         iso_row<One, Dim, Kind::damped, F, S, Stretched>},
        {vti_row<One, Dim, Kind::plain, F, S, Stretched>, vti_row<One, Dim, Kind::extra, F, S, Stretched>,
         vti_row<One, Dim, Kind::damped, F, S, Stretched>},
        nullptr,
        nullptr};
    if constexpr (M > 0) {
        out.iso_two = iso_row_two_planes<M, Dim, F, S, Stretched>;
        out.vti_two = vti_row_two_planes<M, Dim, F, S, Stretched>;
    }
    return out;
}

template <int M, int Dim, class S, bool Stretched>
constexpr StepKernels kernels_for = {{kinds_for<M, Dim, Fetch::none, S, Stretched>(),
                                      kinds_for<M, Dim, Fetch::l1, S, Stretched>(),
                                      kinds_for<M, Dim, Fetch::l2, S, Stretched>()},
                                     iso_row<single<M, Stretched>, Dim, Kind::laplacian, Fetch::none, S, Stretched>,
                                     vti_row<single<M, Stretched>, Dim, Kind::laplacian, Fetch::none, S, Stretched>};

template <int Dim, class S, bool Stretched>
inline const StepKernels& kernels_of(int radius) {
    if (radius == 4) return kernels_for<4, Dim, S, Stretched>;
    if (radius == 2) return kernels_for<2, Dim, S, Stretched>;
#if SUBSALT_LANES >= 8
    if (radius == 6) return kernels_for<6, Dim, S, Stretched>;
    if (radius == 8) return kernels_for<8, Dim, S, Stretched>;
#endif
    return kernels_for<0, Dim, S, Stretched>;
}

template <class S, bool Stretched>
const StepKernels& step_kernels(int dim, int radius) {
    return dim == 3 ? kernels_of<3, S, Stretched>(radius) : kernels_of<2, S, Stretched>(radius);
}

} // namespace subsalt::SUBSALT_NS
