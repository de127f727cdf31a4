// Rows of models in float32 on a stretched depth axis.
#include "isa/row_kernels.hpp"

namespace subsalt::SUBSALT_NS {

template const StepKernels& step_kernels<Floats, true>(int dim, int radius);

} // namespace subsalt::SUBSALT_NS
