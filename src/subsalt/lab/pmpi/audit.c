/* The audit of barriers; nothing is recorded yet. */
#include "audit.h"

void audit_next(int function, MPI_Comm comm, unsigned flags, long long bytes, double begin) {
    (void)function, (void)comm, (void)flags, (void)bytes, (void)begin;
}

int audit_skip(MPI_Comm comm, const char* site) {
    (void)comm, (void)site;
    return 0;
}

void audit_barrier(MPI_Comm comm, const char* site, int phase, double begin, double end) {
    (void)comm, (void)site, (void)phase, (void)begin, (void)end;
}

void audit_write(FILE* out, MPI_Comm world) {
    (void)world;
    if (out) fputs("{}", out);
}
