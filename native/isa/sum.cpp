// The sum of Kirchhoff migration.
#include "isa/kirchhoff.hpp"
