// The sum of Kirchhoff migration for the instruction set of generic.cpp.
#define SUBSALT_NS generic
#define SUBSALT_NAME "generic"
#define SUBSALT_LANES 1
#include "isa/kirchhoff.hpp"
