// The sum of Kirchhoff migration for the instruction set of v2.cpp.
#define SUBSALT_NS v2
#define SUBSALT_NAME "v2"
#define SUBSALT_LANES 4
#include "isa/kirchhoff.hpp"
