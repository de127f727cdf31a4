/* How many bytes a call moves, by its counts and types: what this rank gives, of a receive the room it has. */
#include "private.h"

static long long size_of(MPI_Datatype datatype) {
    if (datatype == MPI_DATATYPE_NULL) return 0;
    MPI_Count size = 0;
    PMPI_Type_size_x(datatype, &size);
    return size > 0 ? (long long)size : 0;
}

long long core_bytes(long long count, MPI_Datatype datatype) {
    return count > 0 ? count * size_of(datatype) : 0;
}

#define OWN(name, count_type)                                                                                          \
    long long name(const count_type* counts, MPI_Datatype datatype, MPI_Comm comm) {                                   \
        int rank = 0;                                                                                                  \
        PMPI_Comm_rank(comm, &rank);                                                                                   \
        return counts ? core_bytes(counts[rank], datatype) : 0;                                                        \
    }

OWN(core_own, int)
OWN(core_own_c, MPI_Count)

int core_partners(MPI_Comm comm) {
    int inter = 0, size = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

int core_neighbors(MPI_Comm comm) {
    int kind = MPI_UNDEFINED, n = 0, in = 0, weighted = 0, rank = 0;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        return 2 * n;
    }
    if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &n);
    }
    if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &in, &n, &weighted);
    return n;
}

#define SUM(name, count_type, how_many)                                                                                \
    long long name(const count_type* counts, MPI_Datatype datatype, MPI_Comm comm) {                                   \
        long long total = 0;                                                                                           \
        int n = counts ? how_many(comm) : 0;                                                                           \
        for (int i = 0; i < n; i++)                                                                                    \
            total += counts[i];                                                                                        \
        return core_bytes(total, datatype);                                                                            \
    }
#define SUM_TYPES(name, count_type, how_many)                                                                          \
    long long name(const count_type* counts, const MPI_Datatype* types, MPI_Comm comm) {                               \
        long long total = 0;                                                                                           \
        int n = counts ? how_many(comm) : 0;                                                                           \
        for (int i = 0; i < n; i++)                                                                                    \
            if (counts[i] > 0) total += core_bytes(counts[i], types[i]);                                               \
        return total;                                                                                                  \
    }

SUM(core_sum, int, core_partners)
SUM(core_sum_c, MPI_Count, core_partners)
SUM(core_sum_neighbors, int, core_neighbors)
SUM(core_sum_neighbors_c, MPI_Count, core_neighbors)
SUM_TYPES(core_sum_types, int, core_partners)
SUM_TYPES(core_sum_types_c, MPI_Count, core_partners)
SUM_TYPES(core_sum_neighbor_types, int, core_neighbors)
SUM_TYPES(core_sum_neighbor_types_c, MPI_Count, core_neighbors)
