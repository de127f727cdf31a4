// Rows of packed models on a stretched depth axis.
#include "isa/row_kernels.hpp"

namespace subsalt::SUBSALT_NS {

template const StepKernels& step_kernels<Packed16, true>(int dim, int radius);

} // namespace subsalt::SUBSALT_NS
