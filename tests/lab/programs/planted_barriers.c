/* Barriers planted for the audit to find. Usage: planted_barriers plain | kept | late | needed | stuck FOLDER
 *
 * The order of the barriers in this text is that of the table: a compiler that keeps it (-O0) is asked for.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static double x[4], sum[4];
static MPI_Comm half;

#if defined(LARGE) && MPI_VERSION >= 4
#define ALLREDUCE(comm) MPI_Allreduce_c(x, sum, 4, MPI_DOUBLE, MPI_SUM, comm)
#define BCAST(comm) MPI_Bcast_c(sum, 4, MPI_DOUBLE, 0, comm)
#else
#define ALLREDUCE(comm) MPI_Allreduce(x, sum, 4, MPI_DOUBLE, MPI_SUM, comm)
#define BCAST(comm) MPI_Bcast(sum, 4, MPI_DOUBLE, 0, comm)
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void around(int to, int from) {
    MPI_Sendrecv(x, 1, MPI_DOUBLE, to, 1, sum, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* candidates and weak candidates */
static void plain(void) {
    int size_of_double;
    MPI_Request request;
    for (int i = 0; i < 7; i++) {
        MPI_Barrier(MPI_COMM_WORLD); /* 1: candidate, 7 times */
        MPI_Type_size(MPI_DOUBLE, &size_of_double);
        ALLREDUCE(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Barrier(MPI_COMM_WORLD); /* 2: weak, 3 times */
        BCAST(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Barrier(MPI_COMM_WORLD); /* 3: candidate, 4 times: no receive from any source */
        around((rank + 1) % size, (rank + size - 1) % size);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(half); /* 4: candidate, 2 times on each of two communicators */
        ALLREDUCE(half);
    }
    MPI_Barrier(half); /* 5: candidate: a larger communicator follows */
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 6: weak: a smaller communicator follows */
    ALLREDUCE(half);
    for (int i = 0; i < 5; i++) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request); /* 7: keep, 5 times */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* 8: keep: MPI_Finalize follows */
}

/* what is to be kept, each in its own way */
static void kept(const char* folder) {
    char name[4096], *memory;
    MPI_File file;
    MPI_Win window;
    MPI_Comm fresh;
    MPI_Barrier(MPI_COMM_WORLD); /* 1: keep: a message follows, and a receive from any source is in the run */
    around((rank + 1) % size, (rank + size - 1) % size);
    MPI_Barrier(MPI_COMM_WORLD); /* 2: candidate, whatever was received */
    ALLREDUCE(MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = 1; i < size; i++)
            MPI_Recv(sum, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(x, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 3: keep: right after a receive from any source */
    ALLREDUCE(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s/planted", folder);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 4: keep: a write to a file follows */
    MPI_File_write_at(file, 8 * rank, x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* 5: keep: right after a write to a file */
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_File_close(&file);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(fresh); /* 6: keep: the first call on its communicator */
    ALLREDUCE(fresh);
    MPI_Comm_free(&fresh);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 7: keep: a window is open */
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 8: candidate again: the window is gone */
    ALLREDUCE(MPI_COMM_WORLD);
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD); /* 9 and 10: keep: the ranks do not come through them together */
    if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, half, &memory, &window);
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* 11: keep: ranks share memory */
    ALLREDUCE(MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

/* Rank 0 comes late five times: it sleeps when the others have told it that they are about to come. */
static void late(double seconds) {
    double inside = 0.0;
    for (int i = 0; i < 5; i++) {
        if (rank == 0) {
            for (int r = 1; r < size; r++)
                MPI_Recv(x, 1, MPI_DOUBLE, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep((useconds_t)(1e6 * seconds));
        } else {
            MPI_Send(x, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        }
        double begin = now();
        MPI_Barrier(MPI_COMM_WORLD);
        inside += now() - begin;
        ALLREDUCE(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("inside %.9f\n", inside);
}

/* Rank 0 waits until rank 1 is about to enter the next barrier, or to go on without it, and a while longer; they tell
   each other by a file, since a message would be seen. */
static void come_late(const char* folder) {
    char name[4096];
    snprintf(name, sizeof name, "%s/here", folder);
    if (rank == 1) fclose(fopen(name, "w"));
    if (rank != 0) return;
    while (unlink(name) != 0)
        usleep(1000);
    usleep(400000);
}

/* A barrier that is needed, in a way that no audit of MPI can see: rank 1 reads what rank 0 writes. */
static void needed(const char* folder) {
    char name[4096], text[16] = "nothing\n";
    snprintf(name, sizeof name, "%s/message", folder);
    come_late(folder);
    if (rank == 0) {
        FILE* file = fopen(name, "w");
        fputs("written\n", file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        FILE* file = fopen(name, "r");
        if (file && !fgets(text, sizeof text, file)) strcpy(text, "empty\n");
        if (file) fclose(file);
        snprintf(name, sizeof name, "%s/answer", folder);
        file = fopen(name, "w");
        fputs(text, file);
        fclose(file);
    }
    ALLREDUCE(MPI_COMM_WORLD);
}

/* Without its barrier rank 1 looks for a file before it is there, and then waits for ever, or gives up. */
static void stuck(const char* folder, int gives_up) {
    char name[4096];
    snprintf(name, sizeof name, "%s/flag", folder);
    come_late(folder);
    if (rank == 0) fclose(fopen(name, "w"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && access(name, R_OK) != 0) {
        if (gives_up) MPI_Abort(MPI_COMM_WORLD, 3);
        for (;;)
            pause();
    }
    ALLREDUCE(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    ALLREDUCE(half);
    const char* what = argc > 1 ? argv[1] : "";
    const char* folder = argc > 2 ? argv[2] : ".";
    x[0] = rank + 1.0;
    if (!strcmp(what, "plain")) plain();
    if (!strcmp(what, "kept")) kept(folder);
    if (!strcmp(what, "late")) late(atof(folder));
    if (!strcmp(what, "needed")) needed(folder);
    if (!strcmp(what, "stuck")) stuck(folder, 0);
    if (!strcmp(what, "fails")) stuck(folder, 1);
    if (!strcmp(what, "end")) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("sum %g\n", sum[0]);
    if (strcmp(what, "plain") != 0 && strcmp(what, "end") != 0) MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
