/* Tells the audit of barriers a made-up story, with times of its own, and writes what it makes of it.
 *
 * Usage: mpiexec -n 3 audit_harness STORY. A line of the story: RANKS CALL COMM FLAGS BYTES BEGIN [END SITE PHASE];
 * RANKS is a number or *, COMM is world, front (ranks 0 and 1), copy (all of world again), none.
 */
#include "audit.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

const char* const core_names[] = {"MPI_Barrier",
                                  "MPI_Ibarrier",
                                  "MPI_Allreduce_c",
                                  "MPI_Allgather",
                                  "MPI_Bcast",
                                  "MPI_Send",
                                  "MPI_Recv",
                                  "MPI_Comm_rank",
                                  "MPI_Comm_split",
                                  "MPI_Type_get_extent_c",
                                  "MPI_File_write_at_all",
                                  "MPI_Win_create",
                                  "MPI_Win_allocate_shared",
                                  "MPI_Win_free",
                                  "MPI_Put",
                                  "MPI_Finalize"};
const int core_functions = sizeof core_names / sizeof *core_names;
const unsigned char core_carries[] = {0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};

static struct core_thread me;
static MPI_Comm front, copy;
static char sites[64][64];

struct core_thread* core_self(void) {
    return &me;
}
int core_comm_lookup(MPI_Comm comm) {
    return comm == MPI_COMM_WORLD ? 1 : comm == front ? 2 : 3;
}
const char* core_comm_name(MPI_Comm comm, int* size) {
    static const char* const names[] = {"", "world", "world/0.0", "world/1.0"};
    PMPI_Comm_size(comm, size);
    return names[core_comm_lookup(comm)];
}

/* One pointer for equal texts, as sites.c gives it. */
static const char* interned(const char* text) {
    int i = 0;
    while (sites[i][0] && strcmp(sites[i], text) != 0)
        i++;
    strcpy(sites[i], text);
    return sites[i];
}

static int number_of(const char* call) {
    for (int i = 0; i < core_functions; i++)
        if (!strcmp(core_names[i] + 4, call)) return i;
    fprintf(stderr, "no call %s\n", call);
    exit(1);
}

static MPI_Comm comm_of(const char* name) {
    return !strcmp(name, "world")   ? MPI_COMM_WORLD
           : !strcmp(name, "front") ? front
           : !strcmp(name, "copy")  ? copy
                                    : MPI_COMM_NULL;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &front);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    FILE* story = fopen(argv[1], "r");
    if (!story) return 1;
    char line[256];
    while (fgets(line, sizeof line, story)) {
        char ranks[8], call[40], comm[16], site[64];
        unsigned flags;
        long long bytes;
        double begin, end;
        int phase;
        int n = sscanf(line, "%7s %39s %15s %u %lld %lf %lf %63s %d", ranks, call, comm, &flags, &bytes, &begin, &end,
                       site, &phase);
        if (n < 6 || (strcmp(ranks, "*") != 0 && atoi(ranks) != rank)) continue;
        if (comm_of(comm) == MPI_COMM_NULL && strcmp(comm, "none") != 0) continue;
        audit_next(number_of(call), comm_of(comm), flags, bytes, begin);
        if (n < 9) continue;
        me.phase = phase;
        /* as in the wrapper: Ibarrier is never passed over */
        if (!strcmp(call, "Barrier") && audit_skip(comm_of(comm), interned(site))) continue;
        audit_barrier(comm_of(comm), interned(site), phase, begin, end);
    }
    fclose(story);
    audit_write(rank == 0 ? stdout : NULL, MPI_COMM_WORLD);
    if (front != MPI_COMM_NULL) MPI_Comm_free(&front);
    MPI_Comm_free(&copy);
    return MPI_Finalize();
}
