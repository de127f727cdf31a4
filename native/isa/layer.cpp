// The layer's work on rows, by radius.
#include "isa/rows.hpp"

namespace subsalt::SUBSALT_NS {

namespace {

template <int M>
constexpr LayerKernels layer_for = {Layer<M>::psi, Layer<M>::psi_rows, Layer<M>::psi_z, Layer<M>::terms};

} // namespace

const LayerKernels& layer_kernels(int radius) {
    if (radius == 4) return layer_for<4>;
    if (radius == 2) return layer_for<2>;
#if SUBSALT_LANES >= 8
    if (radius == 6) return layer_for<6>;
    if (radius == 8) return layer_for<8>;
#endif
    return layer_for<0>;
}

} // namespace subsalt::SUBSALT_NS
