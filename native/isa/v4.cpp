// x86-64-v4: 16 floats per vector, fused multiply-add.
#define SUBSALT_NS v4
#define SUBSALT_NAME "v4"
#define SUBSALT_LANES 16
#include "isa/lab.hpp"
