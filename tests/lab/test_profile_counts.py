"""What a rank counts of its own calls: by phase and thread, with times of a clock that the test sets."""

import threading

import numpy as np

from subsalt.timing import number_of
from subsalt_lab.pmpi.raw import SCHEMA, profile_of
from subsalt_lab.pmpi.records import SizeBin
from subsalt_lab.pmpi.wrapper import BLOCKING, POSTED, CallCounts, size_of

WORLD = ("world", 2)


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 50.0

    def __call__(self):
        return self.now


def counted():
    """Counts of a rank that was in three phases, for 2, 4 and 1 s."""
    clock = Clock()
    counts = CallCounts(clock)
    clock.now += 2.0
    counts.tell(number_of("source"))
    counts.add("MPI_Allreduce", WORLD, 0.5, 8)
    counts.add("MPI_Allreduce", WORLD, 0.25, 15)
    counts.add("MPI_Allreduce", WORLD, 0.125, 0)
    counts.tell(number_of("source"))  # no change
    clock.now += 4.0
    counts.tell(number_of("setup"))
    counts.add("MPI_Barrier", WORLD, 1.0)

    def background():
        counts.add("MPI_Send", WORLD, 0.5, 100)

    thread = threading.Thread(target=background)
    thread.start()
    thread.join()
    clock.now += 1.0
    return counts


def test_calls_and_phases_of_a_rank_become_a_profile():
    profiled = profile_of(
        {"schema": SCHEMA, "ranks": [counted().raw(0, "here")]}, "subsalt migrate", "an MPI"
    )
    assert profiled.wall == (7.0,)
    assert {p.phase: p.per_rank for p in profiled.phases} == {"": (2.0,), "source": (4.0,), "setup": (1.0,)}
    assert profiled.mpi_seconds == (1.875,)  # main thread alone
    barrier, allreduce = profiled.calls
    assert (barrier.call, barrier.phase, barrier.calls, barrier.seconds, barrier.sizes) == (
        "MPI_Barrier",
        "setup",
        1,
        1.0,
        (),
    )
    assert (allreduce.phase, allreduce.comm, allreduce.comm_size) == ("source", "world", 2)
    assert (allreduce.calls, allreduce.seconds, allreduce.bytes) == (3, 0.875, 23)
    assert (allreduce.least, allreduce.most) == (0.125, 0.5)
    assert allreduce.sizes == (SizeBin(0, 1, 0.125, 0), SizeBin(8, 2, 0.75, 23))
    (other,) = profiled.background
    assert (other.call, other.phase, other.calls, other.bytes) == ("MPI_Send", "", 1, 100)


def test_waiting_is_a_phase_of_its_own_and_on_top_of_the_time_in_mpi():
    clock = Clock()
    counts = CallCounts(clock)
    for seconds in (1.0, 2.0):
        counts.tell(number_of("source"))
        clock.now += seconds
        counts.tell(number_of("source") + 500)
        counts.add("MPI_Testall", ("", 0), 0.5)
        clock.now += 4 * seconds
    profiled = profile_of({"schema": SCHEMA, "ranks": [counts.raw(0, "here")]}, "", "")
    assert [(p.phase, p.per_rank, p.waiting) for p in profiled.phases] == [
        ("", (0.0,), False),
        ("source", (3.0,), False),
        ("source, waiting", (12.0,), True),
    ]
    assert (profiled.mpi_time, profiled.waiting) == (1.0, (11.0,))
    assert profiled.waiting_percent == 80.0


def test_probes_say_what_cold_calls_take_around_mpi():
    clock = Clock()
    counts = CallCounts(clock)
    for number in range(20):
        if number % 2:
            counts.probed("MPI_Testall", ("", 0), 2.0**-20)
        counts.add("MPI_Testall", ("", 0), 2.0**-18)
    # an interruption says nothing, nor does a probe alone
    counts.probed("MPI_Testall", ("", 0), 0.004)
    counts.add("MPI_Startall", ("", 0), 2.0**-18)
    counts.probed("MPI_Startall", ("", 0), 2.0**-20)
    calls_by_name = {c["call"]: c for c in counts.raw(0, "here")["calls"]}
    # the ten calls without a probe each owe what one took; the others were warm
    assert calls_by_name["MPI_Testall"]["seconds"] == 20 * 2.0**-18 - 10 * 2.0**-20
    assert calls_by_name["MPI_Testall"]["calls"] == 20
    assert calls_by_name["MPI_Startall"]["seconds"] == 2.0**-18


def test_bytes_of_buffers_as_mpi4py_takes_them():
    a = np.zeros(12, np.float32)
    assert size_of(a) == 48
    assert size_of(bytearray(5)) == 5
    assert size_of([a, 3]) == 12
    assert size_of([a, [1, 2, 3]]) == 24
    assert size_of([a, np.array([4, 4], np.int64)]) == 32
    assert size_of((a, ([1, 2], [0, 6]))) == 12
    assert size_of([a]) == 48
    assert size_of(None) == 0


class Place:
    """A communicator as far as a rule looks at it."""

    rank, size, nobody, in_place = 1, 3, -1, object()

    def is_in_place(self, given):
        return given is self.in_place


def test_bytes_of_calls():
    comm, a, b = Place(), np.zeros(6, np.float64), np.zeros(18, np.float64)
    assert BLOCKING["Send"](comm, a, 0) == 48
    assert BLOCKING["Send"](comm, a, dest=-1) == 0
    assert POSTED["Irecv"](comm, a, source=2) == 48
    assert POSTED["Irecv"](comm, a, -1) == 0
    assert BLOCKING["Bcast"](comm, a, 2) == 48
    assert BLOCKING["Gatherv"](comm, a, None, 0) == 48
    # in place: the block of this rank among those received
    assert BLOCKING["Allgather"](comm, comm.in_place, b) == 48
    assert BLOCKING["Allgatherv"](comm, comm.in_place, [b, [3, 4, 5]]) == 32
    assert BLOCKING["Allreduce"](comm, comm.in_place, a) == 48
    assert POSTED["Iallreduce"](comm, a, a) == 48
    assert BLOCKING["Scatter"](comm, None, a, 0) == 48
    assert BLOCKING["Alltoall"](comm, b, b) == 144
    assert BLOCKING["Barrier"] is None
