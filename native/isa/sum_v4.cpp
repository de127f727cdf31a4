// The sum of Kirchhoff migration for the instruction set of v4.cpp.
#define SUBSALT_NS v4
#define SUBSALT_NAME "v4"
#define SUBSALT_LANES 16
#include "isa/kirchhoff.hpp"
