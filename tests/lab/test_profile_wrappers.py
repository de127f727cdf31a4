"""Wrappers are made from prototypes as both families write them: which functions, and how bytes are counted."""

from __future__ import annotations

import pytest

from subsalt_lab.pmpi.generate import bytes_of, prototypes, source, wrapper

#: the ways of the families, in text of our own: attributes before and behind, one line or several, arrays and pointers
OPEN_MPI = """
typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_file_t *MPI_File;
typedef struct ompi_status_public_t { int MPI_SOURCE; } MPI_Status;
typedef long long MPI_Offset;
typedef int (MPI_Grequest_query_function)(void *, MPI_Status *);
__attribute__((visibility("default"))) int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
                                                     int tag, MPI_Comm comm);
extern __attribute__((visibility("default"))) int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
                                                     int tag, MPI_Comm comm);
__attribute__((visibility("default"))) int MPI_Alltoallw(const void *sendbuf, const int sendcounts[],
    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[],
    const MPI_Datatype recvtypes[], MPI_Comm comm);
__attribute__((visibility("default"))) int MPI_Errhandler_create(MPI_Handler_function *function, int *errhandler);
__attribute__((visibility("default"))) double MPI_Wtime(void);
__attribute__((visibility("default"))) MPI_Comm MPI_Comm_f2c(int comm);
__attribute__((visibility("default"))) int MPI_Pcontrol(const int level, ...);
__attribute__((visibility("default"))) int MPI_T_init_thread(int required, int *provided);
"""
MPICH = """
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef long long MPI_Count;
typedef struct MPI_Status { int count_lo; int MPI_SOURCE; } MPI_Status;
int MPI_DUP_FN(MPI_Comm oldcomm, int keyval, void *extra_state, void *in, void *out, int *flag)
    __attribute__((visibility("default")));
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
             __attribute__((pointer_with_type_tag(MPI,1,3))) __attribute__((visibility("default")));
int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) __attribute__((visibility("default")));
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm) __attribute__((visibility("default")));
int MPI_Cancel_all(void) __attribute__((visibility("default")));
"""

NAMES = ("Comm", "Datatype", "File", "Win", "Status", "Offset", "Aint", "Request", "Op", "Message")
TYPES = "".join(f"typedef int MPI_{name};" for name in NAMES)


def only(declaration: str):
    """Return the one prototype of a declaration."""
    (names,) = prototypes(TYPES + declaration)
    return names


def test_functions_of_open_mpi():
    assert [p.name for p in prototypes(OPEN_MPI)] == ["MPI_Send", "MPI_Alltoallw"]


def test_functions_of_mpich_plain_and_large():
    assert [p.name for p in prototypes(MPICH)] == [
        "MPI_Send",
        "MPI_Send_c",
        "MPI_Comm_split",
        "MPI_Cancel_all",
    ]


def test_a_function_is_wrapped_once_even_if_declared_twice():
    assert [p.name for p in prototypes(MPICH + MPICH)].count("MPI_Send") == 1


def test_arguments_keep_their_types_and_names():
    p = prototypes(OPEN_MPI)[1]
    assert [(a.type, a.name) for a in p.arguments[:4]] == [
        ("const void*", "sendbuf"),
        ("const int*", "sendcounts"),
        ("const int*", "sdispls"),
        ("const MPI_Datatype*", "sendtypes"),
    ]


def test_a_function_without_arguments():
    assert "PUBLIC int MPI_Cancel_all(void)" in wrapper(prototypes(MPICH)[-1])
    assert "PMPI_Cancel_all()" in wrapper(prototypes(MPICH)[-1])


SEND = "int {}(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);"
RECEIVE = "int {}(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);"
BLOCKS = (
    "int {}(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, "
    "MPI_Datatype recvtype, MPI_Comm comm);"
)


@pytest.mark.parametrize(
    ("declaration", "counted"),
    [
        (SEND.format("MPI_Send"), "core_bytes(count, datatype) * (dest != MPI_PROC_NULL)"),
        (SEND.format("MPI_Send_init"), "core_bytes(count, datatype) * (dest != MPI_PROC_NULL)"),
        (RECEIVE.format("MPI_Recv"), "core_bytes(count, datatype) * (source != MPI_PROC_NULL)"),
        (
            BLOCKS.format("MPI_Allgather"),
            "sendbuf == MPI_IN_PLACE ? core_bytes(recvcount, recvtype) : core_bytes(sendcount, sendtype)",
        ),
        (
            BLOCKS.format("MPI_Ialltoall"),
            "sendbuf == MPI_IN_PLACE ? core_bytes((long long)recvcount * core_partners(comm), recvtype) "
            ": core_bytes((long long)sendcount * core_partners(comm), sendtype)",
        ),
        (
            BLOCKS.format("MPI_Scatter"),
            "recvbuf == MPI_IN_PLACE ? core_bytes(sendcount, sendtype) : core_bytes(recvcount, recvtype)",
        ),
        (
            "int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], "
            "MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], "
            "MPI_Datatype recvtype, MPI_Comm comm);",
            "sendbuf == MPI_IN_PLACE ? core_sum(recvcounts, recvtype, comm) : core_sum(sendcounts, sendtype, comm)",
        ),
        (
            "int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, "
            "MPI_Op op, MPI_Comm comm);",
            "core_sum(recvcounts, datatype, comm)",
        ),
        (
            "int MPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, "
            "void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, "
            "int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);",
            "core_bytes(origin_count, origin_datatype) * (target_rank != MPI_PROC_NULL)",
        ),
        (
            "int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count, "
            "MPI_Datatype datatype, MPI_Status *status);",
            "core_bytes(count, datatype)",
        ),
        ("int MPI_File_set_size(MPI_File fh, MPI_Offset size);", None),
        ("int MPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count);", None),
        ("int MPI_Type_contiguous(int count, MPI_Datatype datatype, MPI_Datatype *newtype);", None),
        ("int MPI_Wait(MPI_Request *request, MPI_Status *status);", None),
    ],
)
def test_bytes_follow_from_counts_and_types(declaration, counted):
    assert bytes_of(only(declaration)) == counted


def test_a_wildcard_is_seen():
    assert "source == MPI_ANY_SOURCE ? CORE_ANY_SOURCE : 0" in wrapper(only(RECEIVE.format("MPI_Recv")))
    assert "ANY_SOURCE" not in wrapper(only(SEND.format("MPI_Send")))


@pytest.mark.parametrize("name", ["MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init", "MPI_Rsend_c"])
def test_a_ready_send_is_seen(name):
    assert "CORE_READY" in wrapper(only(SEND.format(name)))
    assert "CORE_READY" not in wrapper(only(SEND.format("MPI_Send")))


def test_a_new_communicator_is_named_and_a_freed_one_forgotten():
    made = wrapper(only("int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm);"))
    assert "core_comm_made(comm, *newcomm, NULL);" in made
    freed = wrapper(only("int MPI_Comm_free(MPI_Comm *comm);"))
    assert freed.index("core_comm_freed(*comm);") < freed.index("= PMPI_Comm_free(comm)")


def test_only_a_barrier_can_be_left_out():
    text = wrapper(only("int MPI_Barrier(MPI_Comm comm);"))
    assert text.index("audit_skip") < text.index("= PMPI_Barrier")
    assert "audit_skip" not in wrapper(only("int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);"))


def test_the_tables_have_one_entry_for_each_wrapper_and_one_for_finalize():
    text = source(prototypes(MPICH))
    assert text.count("PUBLIC int MPI_") == 4
    assert "const int core_functions = 5;" in text
    assert "const unsigned char core_carries[] = {1, 1, 0, 0, 0};" in text
