/* The begin and the end of MPI in a Fortran program (mpif.h, use mpi), whose calls do not go through those of C.
 *
 * The functions of the library have the names of gfortran and most others: small letters and an underscore. They are
 * weak: programs in C have none of them.
 */
#include "private.h"

#define PUBLIC __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

WEAK void pmpi_init_(MPI_Fint* error);
WEAK void pmpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error);
WEAK void pmpi_finalize_(MPI_Fint* error);
WEAK void pmpi_abort_(MPI_Fint* comm, MPI_Fint* code, MPI_Fint* error);

PUBLIC void mpi_init_(MPI_Fint* error) {
    double since = core_now();
    core_check_library();
    pmpi_init_(error);
    if (*error == MPI_SUCCESS) core_begin(since);
}

PUBLIC void mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
    double since = core_now();
    core_check_library();
    pmpi_init_thread_(required, provided, error);
    if (*error == MPI_SUCCESS) core_begin(since);
}

PUBLIC void mpi_finalize_(MPI_Fint* error) {
    core_end();
    pmpi_finalize_(error);
}

PUBLIC void mpi_abort_(MPI_Fint* comm, MPI_Fint* code, MPI_Fint* error) {
    core_abort((int)*code);
    pmpi_abort_(comm, code, error);
}

PUBLIC void mpi_pcontrol_(const MPI_Fint* level) {
    core_pcontrol((int)*level);
}
