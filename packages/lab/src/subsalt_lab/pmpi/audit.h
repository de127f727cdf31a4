/* The audit of barriers: what it wants to know of the calls. See audit.c. */
#ifndef SUBSALT_PMPI_AUDIT_H
#define SUBSALT_PMPI_AUDIT_H

#include <mpi.h>
#include <stdio.h>

/* At the entry of every recorded call; flags of core.h, `begin` is its clock. */
void audit_next(int function, MPI_Comm comm, unsigned flags, long long bytes, double begin);
/* Whether the barrier at this place is not to be called. */
int audit_skip(MPI_Comm comm, const char* site);
/* After a barrier that ran; of MPI_Ibarrier the posting. */
void audit_barrier(MPI_Comm comm, const char* site, int phase, double begin, double end);
/* Before MPI ends, on all ranks of `world`; rank 0 writes one JSON value to `out`, the others have NULL. */
void audit_write(FILE* out, MPI_Comm world);

#endif
