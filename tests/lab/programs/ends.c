/* A program that ends in the way that its argument says. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const char* how = argc > 1 ? argv[1] : "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) puts("hello");
    fflush(stdout);
    if (!strcmp(how, "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "signal")) raise(SIGSEGV);
    if (!strcmp(how, "leave")) _exit(0);
    if (!strcmp(how, "sleep")) sleep(600);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(how, "five") ? 0 : 5;
}
