"""The interposer counts exactly: calls, bytes, sizes, communicators, phases, places, threads, files; with both MPIs.

The expected numbers follow from programs/profiled.c and from what bytes mean: what a rank gives, of a receive the room
it has (docs/reference/lab-profile.md).
"""

from __future__ import annotations

import shutil
import textwrap

import pytest
from mpis import mpi, openmpi  # noqa: F401

RANKS = 3
pytestmark = pytest.mark.mpi

#: call, phase -> calls and bytes of all ranks
EXPECTED = {
    ("MPI_Allreduce", ""): (8 * RANKS, RANKS * (5 * 64 + 3 * 4)),
    ("MPI_Barrier", "phase 7"): (3 * RANKS, 0),
    ("MPI_Bcast", "phase 7"): (RANKS, 100 * RANKS),
    ("MPI_Irecv", "phase 7"): (RANKS, 1500 * RANKS),
    ("MPI_Isend", "phase 7"): (RANKS, 1000 * RANKS),
    ("MPI_Waitall", "phase 7"): (RANKS, 0),
    ("MPI_Send", "phase 7"): (RANKS, 0),
    ("MPI_Sendrecv", "phase 7"): (RANKS, 40 * RANKS),
    ("MPI_Alltoall", "phase 7"): (RANKS, RANKS * (2 * 4 * RANKS)),
    ("MPI_Gatherv", "phase 7"): (RANKS, 4 * sum(range(1, RANKS + 1))),
    ("MPI_Allgatherv", "phase 7"): (RANKS, 4 * sum(range(1, RANKS + 1))),
    ("MPI_Reduce_scatter_block", "phase 7"): (RANKS, RANKS * (3 * 4 * RANKS)),
    ("MPI_Scatter", "phase 7"): (RANKS, 16 * RANKS),
    ("MPI_Comm_split", "phase 8"): (RANKS, 0),
    ("MPI_Barrier", "phase 8"): (RANKS, 0),
    ("MPI_Allreduce", "phase 8"): (RANKS, 16 * RANKS),
    ("MPI_Send_init", "phase 8"): (RANKS, 16 * RANKS),
    ("MPI_Recv_init", "phase 8"): (RANKS, 16 * RANKS),
    ("MPI_Startall", "phase 8"): (3 * RANKS, 0),
    ("MPI_Waitall", "phase 8"): (3 * RANKS, 0),
    ("MPI_File_write_at_all", "phase 9"): (RANKS, 256 * RANKS),
    ("MPI_File_read_at", "phase 9"): (RANKS, 128 * RANKS),
    ("MPI_File_open", "phase 9"): (RANKS, 0),
    ("MPI_File_close", "phase 9"): (RANKS, 0),
}
#: of MPI-4, counted under the plain names
LARGE = {
    ("MPI_Allreduce", "phase 9"): (RANKS, 64 * RANKS),
    ("MPI_Sendrecv", "phase 9"): (RANKS, 20 * RANKS),
}


@pytest.fixture(scope="module")
def ran(mpi, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("profiled")
    program = mpi.compile("profiled.c", folder)
    return mpi, mpi.profile(RANKS, [program, folder / "file"], sites=True).profile


def test_calls_and_bytes_by_phase(ran):
    mpi, profile = ran  # noqa: F811
    counts = {(r.call, r.phase): (r.calls, r.bytes) for r in profile.by_phase()}
    expected = EXPECTED | (LARGE if mpi.mpi.family == "mpich" else {})
    assert {key: counts.get(key) for key in expected} == expected


def test_a_size_lies_in_its_bin(ran):
    _, profile = ran
    first = next(r for r in profile.by_phase() if (r.call, r.phase) == ("MPI_Allreduce", ""))
    assert [(b.bytes_from, b.calls, b.bytes) for b in first.sizes] == [
        (4, 3 * RANKS, 12 * RANKS),
        (64, 5 * RANKS, 320 * RANKS),
    ]
    # sums of the same numbers in another order: at most one rounding for each of the eight calls of a rank and two bins
    assert sum(b.seconds for b in first.sizes) == pytest.approx(first.seconds, rel=1e-8)
    nothing = next(r for r in profile.by_call() if r.call == "MPI_Send")
    assert [(b.bytes_from, b.calls) for b in nothing.sizes] == [(0, RANKS)]


def test_communicators_have_names_that_all_members_agree_on(ran):
    _, profile = ran
    halves = [r for r in profile.by_comm() if r.call == "MPI_Barrier" and r.comm != "world"]
    # ranks 0 and 2 by the first, rank 1 by itself
    assert sorted((r.comm, r.comm_size, r.calls) for r in halves) == [
        ("world/0.0", 2, 2),
        ("world/0.1", 1, 1),
    ]
    world = next(r for r in profile.by_comm() if r.call == "MPI_Barrier" and r.comm == "world")
    assert (world.comm_size, world.calls) == (RANKS, 3 * RANKS)


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line")
def test_places_are_lines_of_the_program(ran):
    _, profile = ran
    text = __file__.rsplit("/", 1)[0] + "/programs/profiled.c"
    with open(text) as file:
        lines = [n for n, line in enumerate(file, 1) if "MPI_Barrier" in line]
    calls_by_place = {profile.places[r.site]: r.calls for r in profile.by_site() if r.call == "MPI_Barrier"}
    assert calls_by_place == {
        f"profiled.c:{line}": calls for line, calls in zip(lines[1:], (2 * RANKS, RANKS, RANKS), strict=True)
    }


def test_threads_in_the_background_are_counted_apart(ran):
    _, profile = ran
    assert [(r.call, r.comm, r.calls) for r in profile.background] == [
        ("MPI_Barrier", "world/1.0", 4 * RANKS)
    ]


def test_times_add_up(ran):
    _, profile = ran
    assert len(profile.wall) == len(profile.mpi_seconds) == RANKS == profile.ranks
    for rank in range(RANKS):
        # rows are written with nine digits, and one rank has fewer than a hundred of them
        rows = sum(r.per_rank[rank] for r in profile.calls)
        assert rows == pytest.approx(profile.mpi_seconds[rank], rel=1e-7)
        phases = sum(p.per_rank[rank] for p in profile.phases)
        assert phases == pytest.approx(profile.wall[rank], rel=1e-7)
        assert 0 < profile.mpi_seconds[rank] <= profile.wall[rank]
    assert [p.phase for p in profile.phases] == ["", "phase 7", "phase 8", "phase 9"]


def test_all_ranks_share_a_node(ran):
    _, profile = ran
    assert profile.hosts == ("node 1",) * RANKS


def test_a_program_in_python_is_told_by_its_lines(mpi, tmp_path):  # noqa: F811
    script = tmp_path / "waves.py"
    script.write_text(
        textwrap.dedent("""\
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        for _ in range(3):
            world.Barrier()
        world.Bcast(bytearray(100))
        world.Allreduce(MPI.IN_PLACE, bytearray(80), op=MPI.BOR)
        world.Barrier()
        """)
    )
    profile = mpi.profile(2, [mpi.python, script]).profile
    counts = {r.call: (r.calls, r.bytes) for r in profile.by_call()}
    # under MPICH mpi4py calls the forms with large counts, under Open MPI the plain ones
    assert counts["MPI_Bcast"] == (2, 200)
    assert counts["MPI_Allreduce"] == (2, 160)
    barriers = {r.site: r.calls for r in profile.by_site() if r.call == "MPI_Barrier"}
    assert barriers == {f"{script}:4": 6, f"{script}:7": 2}


SESSIONS = r"""
#include <mpi.h>
int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "waves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    for (int i = 0; i < 7; i++) MPI_Barrier(comm);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
"""


def test_a_program_with_sessions_and_without_init(mpi, tmp_path):  # noqa: F811
    (tmp_path / "sessions.c").write_text(SESSIONS)
    program = mpi.compile(tmp_path / "sessions.c", tmp_path)
    profile = mpi.profile(2, [program]).profile
    barrier = next(r for r in profile.by_comm() if r.call == "MPI_Barrier")
    assert (barrier.calls, barrier.comm_size, profile.ranks) == (14, 2, 2)
    assert "waves" in barrier.comm
