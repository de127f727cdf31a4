/* What the audit keeps of barriers: audit.c fills it, audit_write.c adds it up over ranks. */
#ifndef SUBSALT_PMPI_AUDIT_ROWS_H
#define SUBSALT_PMPI_AUDIT_ROWS_H

#include <mpi.h>

/* barriers of a row whose times are kept one by one: 800 kB */
enum { AUDIT_INSTANCES = 100000 };
/* how the communicator of the next call stands to that of the barrier; a call that moves no byte waits for nobody */
enum { AUDIT_NONE, AUDIT_SAME, AUDIT_LARGER, AUDIT_SMALLER, AUDIT_OTHER, AUDIT_EMPTY };
/* why a barrier may be needed, as bits and as numbers of barriers; the names are in audit_write.c */
enum {
    AUDIT_FILE_BEFORE,
    AUDIT_FILE_AFTER,
    AUDIT_RMA,
    AUDIT_WINDOW,
    AUDIT_SHARED,
    AUDIT_WILDCARD,
    AUDIT_FINALIZE,
    AUDIT_FRESH,
    AUDIT_REASONS
};
/* communicators whose relation to another one is remembered */
enum { AUDIT_KNOWN = 8 };

struct audit_comm {
    struct audit_comm* next;
    const char* name;
    MPI_Group group;
    int size, is_inter;
    long long barriers; /* calls so far, those passed over included */
    struct {
        const char* name;
        int relation;
    } known[AUDIT_KNOWN];
    int next_known;
};

/* A call that came after barriers of a row. */
struct audit_follow {
    struct audit_follow* next;
    int function, relation;
    const char* site; /* of a barrier, else NULL */
    long long calls;
};

/* The barriers of one place, on one communicator, in one phase. */
struct audit_row {
    struct audit_row* next;
    const char* site;
    struct audit_comm* comm;
    int phase, function;
    long long calls, skipped, kept[AUDIT_REASONS];
    unsigned long long order;
    double seconds, stored_seconds;
    float *took, *gap; /* s, of the first barriers; the gap is that to the next call */
    int stored, room;
    struct audit_follow* follows;
};

extern struct audit_row* audit_rows;
extern struct audit_comm* audit_comms;
/* a receive or probe from any source was seen */
extern int audit_wildcard;
/* a ready send was seen */
extern int audit_ready;

#endif
