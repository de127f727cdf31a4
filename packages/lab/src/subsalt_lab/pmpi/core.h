/* What every wrapper of an MPI function calls, and what the audit of barriers asks. See core.c. */
#ifndef SUBSALT_PMPI_CORE_H
#define SUBSALT_PMPI_CORE_H

#include <mpi.h>
#include <stdio.h>

/* bits of core_call.flags */
enum {
    CORE_ANY_SOURCE = 1, /* the source asked for is MPI_ANY_SOURCE */
    CORE_READY = 2       /* a ready send: its receive must have been posted before */
};

/* One call on its way through a wrapper. */
struct core_call {
    int function; /* number of the function: core_names[function] */
    unsigned flags;
    MPI_Comm comm; /* MPI_COMM_NULL where the function has none */
    int comm_index;
    int phase;        /* of the calling thread */
    const char* site; /* NULL where call sites are not told apart */
    long long bytes;
    double begin; /* s, any origin */
    struct core_thread* thread;
};

/* made by generate.py */
extern const char* const core_names[];
extern const int core_functions;
/* whether a function carries bytes and has a histogram of sizes */
extern const unsigned char core_carries[];

double core_now(void);
/* The function of that name in the libraries behind this one; ends the program where there is none. */
void* core_next(const char* name);

/* Returns 0 when the call is not to be recorded: before MPI runs, after it, and inside another MPI call. */
int core_enter(struct core_call* call, int function, const void* caller, MPI_Comm comm, unsigned flags);
void core_start(struct core_call* call);
void core_leave(struct core_call* call);
/* Forgets a call that is not made after all; returns MPI_SUCCESS. */
int core_drop(struct core_call* call);

/* Bytes of `count` elements; 0 when nothing is sent to or from MPI_PROC_NULL. */
long long core_bytes(long long count, MPI_Datatype datatype);
long long core_sum(const int* counts, MPI_Datatype datatype, MPI_Comm comm);
long long core_sum_types(const int* counts, const MPI_Datatype* types, MPI_Comm comm);
long long core_sum_c(const MPI_Count* counts, MPI_Datatype datatype, MPI_Comm comm);
long long core_sum_types_c(const MPI_Count* counts, const MPI_Datatype* types, MPI_Comm comm);
/* Bytes of this rank's own block. */
long long core_own(const int* counts, MPI_Datatype datatype, MPI_Comm comm);
long long core_own_c(const MPI_Count* counts, MPI_Datatype datatype, MPI_Comm comm);
/* Ranks that a collective call of this communicator exchanges with: the size, of an intercommunicator the remote one.
 */
int core_partners(MPI_Comm comm);
/* The neighbours that a neighbourhood collective sends to. */
int core_neighbors(MPI_Comm comm);
long long core_sum_neighbors(const int* counts, MPI_Datatype datatype, MPI_Comm comm);
long long core_sum_neighbors_c(const MPI_Count* counts, MPI_Datatype datatype, MPI_Comm comm);
long long core_sum_neighbor_types(const int* counts, const MPI_Datatype* types, MPI_Comm comm);
long long core_sum_neighbor_types_c(const MPI_Count* counts, const MPI_Datatype* types, MPI_Comm comm);

/* A communicator was made from `parent` by a call that is collective over it, or, with `tag`, by a part of it. */
void core_comm_made(MPI_Comm parent, MPI_Comm made, const char* tag);
void core_comm_freed(MPI_Comm comm);
/* The name that all its members agree on, such as "world/1.0", and its size; valid for ever. */
const char* core_comm_name(MPI_Comm comm, int* size);

#endif
