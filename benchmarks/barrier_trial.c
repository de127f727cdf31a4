/* Barriers in a loop of steps, for barrier_trial.py. Usage: barrier_trial even|uneven|messages STEPS
 *
 * even: each step is a barrier and an Allreduce. uneven: before the barrier one rank works 0.1 ms, in turn; what waits
 * in the barrier waits in the Allreduce without it. messages: the same work, and a message to the next rank follows.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
    int rank, size, steps = argc > 2 ? atoi(argv[2]) : 1000;
    const char* how = argc > 1 ? argv[1] : "even";
    double x[8], sum[8] = {0}, all = 0.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int works = strcmp(how, "even") != 0, sends = !strcmp(how, "messages");
    for (int i = 0; i < 8; i++)
        x[i] = rank + i;
    MPI_Allreduce(x, sum, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double begin = now();
    for (int k = 0; k < steps; k++) {
        if (works && k % size == rank)
            for (double until = now() + 1e-4; now() < until;) {
            }
        MPI_Barrier(MPI_COMM_WORLD);
        if (sends)
            MPI_Sendrecv(x, 8, MPI_DOUBLE, (rank + 1) % size, 0, sum, 8, MPI_DOUBLE, (rank + size - 1) % size, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Allreduce(x, sum, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        all += sum[0];
    }
    double seconds = now() - begin;
    if (rank == 0) printf("sum %.17g\nelapsed %.6f s\n", all, seconds);
    MPI_Finalize();
    return 0;
}
