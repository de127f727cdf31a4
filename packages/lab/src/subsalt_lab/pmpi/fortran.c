/* The begin and the end of MPI in a Fortran program, whose calls do not go through those of C.
 *
 * The functions of the library have the names of gfortran and most others: small letters and an underscore (mpif.h, use
 * mpi), with f08 before it (use mpi_f08), whose error code is optional. They are looked for when they are called:
 * programs in C have none of them.
 */
#include "private.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))

void* core_next(const char* name) {
    void* found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "subsalt: no library of this program has %s\n", name);
        abort();
    }
    return found;
}

static int is_good(const MPI_Fint* error) {
    return !error || *error == MPI_SUCCESS;
}

static void init(const char* name, MPI_Fint* error) {
    double since = core_now();
    core_check_library();
    ((void (*)(MPI_Fint*))core_next(name))(error);
    if (is_good(error)) core_begin(since);
}

static void init_thread(const char* name, MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
    double since = core_now();
    core_check_library();
    ((void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*))core_next(name))(required, provided, error);
    if (is_good(error)) core_begin(since);
}

static void finalize(const char* name, MPI_Fint* error) {
    core_end();
    ((void (*)(MPI_Fint*))core_next(name))(error);
}

static void leave(const char* name, MPI_Fint* comm, MPI_Fint* code, MPI_Fint* error) {
    core_abort((int)*code);
    ((void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*))core_next(name))(comm, code, error);
}

#define FORTRAN(end)                                                                                                   \
    PUBLIC void mpi_init##end(MPI_Fint* error) {                                                                       \
        init("mpi_init" #end, error);                                                                                  \
    }                                                                                                                  \
    PUBLIC void mpi_init_thread##end(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {                        \
        init_thread("mpi_init_thread" #end, required, provided, error);                                                \
    }                                                                                                                  \
    PUBLIC void mpi_finalize##end(MPI_Fint* error) {                                                                   \
        finalize("mpi_finalize" #end, error);                                                                          \
    }                                                                                                                  \
    PUBLIC void mpi_abort##end(MPI_Fint* comm, MPI_Fint* code, MPI_Fint* error) {                                      \
        leave("mpi_abort" #end, comm, code, error);                                                                    \
    }                                                                                                                  \
    PUBLIC void mpi_pcontrol##end(const MPI_Fint* level) {                                                             \
        core_pcontrol((int)*level);                                                                                    \
    }

FORTRAN(_)
FORTRAN(_f08_)
