// Loops over rows and tiles, the step of tilted media, and the table of an instruction set.
#include "isa/lab.hpp"
