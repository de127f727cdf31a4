/* Calls of every kind, in numbers that can be told in advance; test_interposer.py has them. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm other;

static void* in_background(void* unused) {
    for (int i = 0; i < 4; i++)
        MPI_Barrier(other);
    return unused;
}

int main(int argc, char** argv) {
    int rank, size, granted, ints[64] = {0}, more[64], counts[64], places[64];
    double given[8] = {1}, sums[8];
    static char bytes[4096], room[4096];
    MPI_Request requests[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    for (int i = 0; i < 5; i++)
        MPI_Allreduce(given, sums, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(ints, more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);

    MPI_Pcontrol(7);
    for (int i = 0; i < 2; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(bytes, 100, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Irecv(room, 1500, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(bytes, 1000, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Send(bytes, 50, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Sendrecv(ints, 10, MPI_INT, right, 2, more, 20, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Alltoall(ints, 2, MPI_INT, more, 2, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        counts[i] = i + 1, places[i] = 8 * i;
    MPI_Gatherv(ints, rank + 1, MPI_INT, more, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(ints, more, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scatter(ints, 4, MPI_INT, rank ? (void*)more : MPI_IN_PLACE, 4, MPI_INT, 0, MPI_COMM_WORLD);

    MPI_Pcontrol(8);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Barrier(half);
    MPI_Allreduce(given, sums, 2, MPI_DOUBLE, MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    pthread_t thread;
    pthread_create(&thread, NULL, in_background, NULL);
    pthread_join(thread, NULL);
    MPI_Send_init(bytes, 16, MPI_CHAR, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(room, 16, MPI_CHAR, left, 3, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    MPI_Pcontrol(9);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 256 * rank, bytes, 256, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 256 * rank, room, 32, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
#if MPI_VERSION >= 4
    MPI_Allreduce_c(given, sums, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv_c(bytes, 20, MPI_CHAR, right, 2, room, 20, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
    MPI_Comm_free(&other);
    printf("rank %d of %d: %g\n", rank, size, sums[0]);
    MPI_Finalize();
    return 0;
}
