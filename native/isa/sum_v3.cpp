// The sum of Kirchhoff migration for the instruction set of v3.cpp.
#define SUBSALT_NS v3
#define SUBSALT_NAME "v3"
#define SUBSALT_LANES 8
#include "isa/kirchhoff.hpp"
