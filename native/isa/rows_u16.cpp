// Rows of packed models on a uniform depth axis.
#include "isa/row_kernels.hpp"

namespace subsalt::SUBSALT_NS {

template const StepKernels& step_kernels<Packed16, false>(int dim, int radius);

} // namespace subsalt::SUBSALT_NS
