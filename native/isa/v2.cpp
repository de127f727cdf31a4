// x86-64-v2: 4 floats per vector; no fused multiply-add, hence a numerics class of its own.
#define SUBSALT_NS v2
#define SUBSALT_NAME "v2"
#define SUBSALT_LANES 4
#include "isa/lab.hpp"
