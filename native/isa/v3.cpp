// x86-64-v3: 8 floats per vector, fused multiply-add.
#define SUBSALT_NS v3
#define SUBSALT_NAME "v3"
#define SUBSALT_LANES 8
#include "isa/lab.hpp"
