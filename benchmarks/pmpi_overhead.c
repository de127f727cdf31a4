/* Nanoseconds of a call through the interposer beside the same call without it, in blocks that take turns. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 200000, ROUNDS = 41 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BLOCK(call)                                                                                                    \
    do {                                                                                                               \
        double begin = now();                                                                                          \
        for (int i = 0; i < CALLS; i++)                                                                                \
            call;                                                                                                      \
        printf(" %.3f", 1e9 * (now() - begin) / CALLS);                                                                \
    } while (0)

int main(int argc, char** argv) {
    int rank;
    char byte = 0;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        printf("%d", round);
        BLOCK(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
        BLOCK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
        BLOCK(PMPI_Send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
        BLOCK(MPI_Send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
