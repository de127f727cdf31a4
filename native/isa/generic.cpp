// Any processor: one float at a time, std::fma.
#define SUBSALT_NS generic
#define SUBSALT_NAME "generic"
#define SUBSALT_LANES 1
#include "isa/lab.hpp"
