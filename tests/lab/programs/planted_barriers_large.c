/* The same with calls of large counts (MPI_Allreduce_c), where the MPI has them. */
#define LARGE
#include "planted_barriers.c"
