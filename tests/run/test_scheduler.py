"""Who does which shot, in which group, with which cores; and traces read ahead."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from patience import PATIENCE
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid
from subsalt.errors import CannotCreateError, DataError, MemoryPlanError
from subsalt.methods.rtm import outputs
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.shot_input import TracePrefetcher
from subsalt.parallel.comm import single
from subsalt.plan.world import group_sizes
from subsalt.run import lock
from subsalt.run import scheduler as scheduling
from subsalt.run.lock import RunLock
from subsalt.run.scheduler import (
    MESSAGE,
    REASON,
    Scheduler,
    UnitQueue,
    Worker,
    _pack,
    _unpack,
    form,
    share_of_cores,
)


def test_shots_are_dealt_in_order_and_one_ahead_while_there_are_plenty():
    started, order = [], []
    queue = UnitQueue(
        [7, 3, 5, 9, 1], groups=2, on_start=lambda shot, rank: started.append(shot), on_outcome=order.append
    )
    assert queue.next() == {"unit": 7, "next": 3}
    assert queue.next() == {"unit": 5, "next": 9}
    # one shot is left for two groups: whoever is free first has it
    assert queue.next({"unit": 7, "sha256": "a"}, ready=3) == {"unit": 3, "next": None}
    assert started == [7, 5, 3]
    assert queue.next({"unit": 3, "sha256": "b"}) == {"unit": 1, "next": None}
    assert queue.next({"unit": 5, "reason": "c"}, ready=9) == {"unit": 9, "next": None}
    assert queue.next({"unit": 1, "sha256": "d"}) == {"unit": None, "next": None}
    assert queue.finished == 4
    assert [t["unit"] for t in order] == [7, 3, 5, 1]


class Wire:
    """MPI between a worker and the scheduler in one process: what is sent lies there until it is asked for."""

    def __init__(self):
        self.sent, self.answers, self.into = [], [], None

    def Isend(self, data, rank):
        self.sent.append(data)
        return self

    def Send(self, data, rank):
        (self.sent if rank == 0 else self.answers).append(data)

    def Irecv(self, into, *source):
        self.into = into
        return self

    def Test(self):
        return True


def test_groups_tell_how_far_their_shots_are(monkeypatch):
    """Now and then, without an answer, and before the message that asks for the next shot."""
    heard, now = [], [100.0]
    monkeypatch.setattr(scheduling.time, "monotonic", lambda: now[0])
    channel = SimpleNamespace(mpi=Wire(), rank=3, host="node2")
    worker = Worker(channel)
    for fraction in (0.1, 0.2, 0.3):
        worker.tell(7, fraction, "source")
    now[0] += scheduling.TELL
    worker.tell(7, 0.5, "receivers", 12)
    assert len(channel.mpi.sent) == 2
    queue = UnitQueue([], groups=2)
    queue.on_heard = lambda *said: heard.append(said)
    scheduler = Scheduler(queue, channel, 1)
    for message in channel.mpi.sent:
        scheduler._request, scheduler._buffer = channel.mpi, message
        assert scheduler._answer()
        assert scheduler._asking == 1
    scheduler.tell(8, 0.9, "source")
    assert heard == [
        (7, 0.1, "source", "node2", 0),
        (7, 0.5, "receivers", "node2", 12),
        (8, 0.9, "source", "node2", 0),
    ]
    assert not channel.mpi.answers


def test_a_queue_that_was_halted_gives_out_no_more():
    queue = UnitQueue([1, 2, 3, 4], groups=1)
    assert queue.next() == {"unit": 1, "next": 2}
    queue.halt()
    assert queue.next({"unit": 1}, ready=2) == {"unit": None, "next": None}
    assert queue.finished == 1


def test_a_shot_that_is_tried_again_comes_last():
    order = []
    queue = UnitQueue([1, 2], on_outcome=lambda t: order.append(t) or len(order) == 1)
    assert queue.next() == {"unit": 1, "next": 2}
    assert queue.next({"unit": 1, "reason": "x"}, ready=2) == {"unit": 2, "next": 1}
    assert queue.next({"unit": 2}, ready=1) == {"unit": 1, "next": None}
    assert queue.next({"unit": 1}) == {"unit": None, "next": None}
    assert queue.finished == 2


def test_a_reason_of_any_letters_fits_into_a_message():
    for letter in ("a", "\u00e9", "\u65e5", "\0", '"', "\U0001f600"):
        message = {
            "rank": 10**6,
            "outcome": {"unit": 2**31, "reason": letter * REASON},
            "ready": 1,
            "last": False,
        }
        packed = _pack(message)
        assert packed.nbytes == MESSAGE
        assert _unpack(packed) == message
    with pytest.raises(ValueError, match="longer"):
        _pack({"x": "y" * MESSAGE})


@pytest.mark.parametrize(
    ("ranks", "wanted", "largest", "shots", "sizes"),
    [
        (1, 1, None, None, [1]),
        (1, 4, None, None, [1]),
        (8, 2, None, None, [2, 2, 2, 2]),
        (7, 2, None, None, [3, 2, 2]),  # the rank that is left over joins a group
        (5, 3, None, None, [5]),
        (5, 3, 4, None, [4]),  # slabs of five would be too thin: one rank is idle
        (7, 2, 2, None, [2, 2, 2]),
        (8, 1, None, 3, [3, 3, 2]),  # more groups than shots would have nothing to do
        (8, 1, 2, 3, [2, 2, 2]),
        (2, 4, None, None, [2]),
    ],
)
def test_groups_share_all_ranks_that_slabs_allow(ranks, wanted, largest, shots, sizes):
    assert group_sizes(ranks, wanted, largest, shots) == sizes


def test_a_process_alone_is_one_group():
    groups = form(single(), 1)
    assert (groups.sizes, groups.index, groups.idle) == ([1], 0, False)
    assert groups.facts() == {"ranks": 1, "nodes": 1, "groups": [1], "idle_ranks": 0}
    groups.rest()
    groups.free()


def test_ranks_share_the_cores_that_they_have_in_common():
    every = list(range(8))
    unbound = [["a", every]] * 4 + [["b", every]] * 2
    assert [share_of_cores(unbound, r, 8) for r in range(6)] == [2, 2, 2, 2, 4, 4]
    # a launcher that binds gives every rank its own
    bound = [["a", [0, 1, 2, 3]], ["a", [4, 5, 6, 7]]]
    assert [share_of_cores(bound, r, 4) for r in range(2)] == [4, 4]
    crowded = [["a", [0, 1]]] * 5
    assert share_of_cores(crowded, 3, 2) == 1
    # where nobody can say which cores they are, they are shared
    assert share_of_cores([["a", []], ["a", []]], 0, 6) == 3


def line(n=3):
    """Return a survey whose reader waits until it is let go, and the events of that."""
    survey = Survey.from_arrays(np.zeros((n, 2)), np.zeros((4, 2)), nt=5, dt=0.001)
    log, go = [], threading.Event()

    def read(shot, rows=None):
        log.append((shot.id, None if rows is None else list(rows), threading.current_thread().name))
        go.wait(PATIENCE)
        if shot.id == 3:
            raise DataError("bad traces")
        rows = np.arange(4) if rows is None else rows
        return np.full((len(rows), 5), shot.id, np.float32)

    survey.reader = read
    return survey, log, go


def test_traces_are_read_ahead_by_another_thread():
    survey, log, go = line()
    rows = np.array([1, 3])
    with TracePrefetcher(survey, lambda shot: rows) as reader:
        for shot in survey.shots:
            reader.prepare(shot)
            reader.prepare(shot)  # once is enough
        go.set()
        for shot in survey.shots[:2]:
            got = reader.take(shot)
            assert got.rows is rows
            np.testing.assert_array_equal(got.data, np.full((2, 5), shot.id))
        with pytest.raises(DataError, match="bad traces"):
            reader.take(survey.shots[2])
    assert [entry[:2] for entry in log] == [(1, [1, 3]), (2, [1, 3]), (3, [1, 3])]
    assert all(entry[2].startswith("traces") for entry in log)


def test_a_feed_that_is_left_does_not_wait_for_shots_that_were_not_begun():
    survey, log, go = line(50)
    with TracePrefetcher(survey) as reader:
        for shot in survey.shots:
            reader.prepare(shot)
        while not log:
            pass
        go.set()
    assert len(log) < 50


def test_formats_that_one_rank_has_no_memory_for_are_refused(monkeypatch):
    job = Job.from_dict(
        {
            "model": {"vp": 2000},
            "grid": {"spacing": 10, "shape": [101, 51]},
            "source": {"f0": 15},
            "output": {"formats": ["rsf", "npz", "vti"]},
        }
    )
    grid = Grid((101, 51), (10.0, 10.0))
    need = outputs.COPIES * 4 * grid.size
    monkeypatch.setattr(outputs, "available_memory", lambda: need)
    outputs.check_formats(job, grid, single())
    monkeypatch.setattr(outputs, "available_memory", lambda: need - 1)
    with pytest.raises(MemoryPlanError, match="npz, vti") as caught:
        outputs.check_formats(job, grid, single())
    assert caught.value.code == "E831"


def test_a_folder_that_is_another_one_elsewhere_is_refused(tmp_path):
    class TwoNodes:
        """What a rank on another node sees: the lease of rank 0, which its own folder has not."""

        is_root = False

        def bcast(self, value):
            return {"pid": 1, "host": "a", "boot": "b"}

        def agree(self, error):
            if error is not None:
                raise error

    with RunLock(tmp_path):
        lock.check_shared(tmp_path, single())
        with pytest.raises(CannotCreateError, match="same folder on all nodes") as caught:
            lock.check_shared(tmp_path, TwoNodes())
    assert caught.value.code == "E830"
