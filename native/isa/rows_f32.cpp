// Rows of models in float32 on a uniform depth axis.
#include "isa/row_kernels.hpp"

namespace subsalt::SUBSALT_NS {

template const StepKernels& step_kernels<Floats, false>(int dim, int radius);

} // namespace subsalt::SUBSALT_NS
