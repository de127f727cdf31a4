/* What the files of the interposer share with each other, and wrappers do not see. */
#ifndef SUBSALT_PMPI_PRIVATE_H
#define SUBSALT_PMPI_PRIVATE_H

#include "core.h"

/* sizes 0, 1, 2-3, 4-7, ... 2^46 and more bytes */
enum { CORE_BINS = 48 };

struct core_bin {
    long long calls, bytes;
    double seconds;
};

/* Calls of one function with one call site, communicator and phase, of one thread. */
struct core_row {
    const char* site;
    int function, comm, phase;
    long long calls, bytes;
    double seconds, least, most;
    struct core_bin* bins; /* of functions that carry bytes */
};

/* What one thread did; threads are never forgotten. */
struct core_thread {
    struct core_thread* next;
    struct core_row** rows; /* open addressing */
    int room, used;
    int depth; /* inside a wrapper: what MPI calls of itself is not counted again */
    int is_main;
    int phase;
    /* the communicators seen last, so that most calls take no lock */
    MPI_Comm seen[4];
    int seen_index[4];
    unsigned seen_at;
    int seen_next;
};

/* core.c */
extern struct core_thread* core_threads;
struct core_thread* core_self(void);
/* the begin and the end of MPI, a phase, and an end that this rank forces */
void core_begin(double since);
void core_end(void);
void core_abort(int code);
void core_pcontrol(int level);
/* seconds of the main thread by phase; the last one begins anew */
int core_phases(const int** phases, const double** seconds);

/* clock.c: from here on the counter of the processor, where that is a clock */
void core_clock_begin(void);

/* comms.c */
extern unsigned core_comm_generation;
int core_comm_lookup(MPI_Comm comm);
int core_comm_count(void);
const char* core_comm_at(int index, int* size);
void core_comm_begin(void);

/* sites.c: the text of the place that made a call, interned */
const char* core_site(const void* caller);
/* the files that places of compiled code lie in; NULL after the last */
const char* core_object(int index);

/* other.c: ends the process when its MPI is another one than that of the interposer */
void core_check_library(void);

/* write.c: collective over `world`; `seconds` of each rank between the begin and the end of MPI */
void core_write(MPI_Comm world, double seconds, double init_seconds);
/* a rank that ends all others leaves this beside the file */
void core_write_abort(int code, double seconds);

#endif
