"""The next shot, prepared on the host while a GPU steps through one.

Model arrays, samples to be injected and their places take the host longer than many a GPU takes for the time steps of
the shot. One shot is prepared ahead, in a thread of its own, where memory has room for it (`Needs`); what it is made of
depends on the shot alone, so no byte depends on when it is made.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from subsalt.acquisition.survey import Shot
from subsalt.methods.rtm.engine import ReadyShot, prepare_shot
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.shot_input import TracePrefetcher
from subsalt.parallel.comm import Comm
from subsalt.timing import Phases


class ShotsAhead:
    """Prepares shots for one group of ranks, one of them ahead; a context manager.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that all shots share.
    traces : TracePrefetcher
        Gives their traces.
    group : Comm
        The ranks that share a shot.
    wanted : bool
        A shot is prepared ahead; not for a group of several ranks, which prepare together.
    """

    def __init__(self, setup: MigrationSetup, traces: TracePrefetcher, group: Comm, *, wanted: bool) -> None:
        self._setup, self._traces, self._group = setup, traces, group
        self._wanted = wanted and group.size == 1
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="shots")
        self._next: tuple[int, Future[ReadyShot]] | None = None

    def __enter__(self) -> ShotsAhead:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        # an error need not wait before it is reported
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        self._next = None

    def take(self, shot: Shot, clock: Phases) -> ReadyShot:
        """Return a shot prepared, now or ahead; raises what preparing it raised. Collective over the group."""
        known, self._next = self._next, None
        if known is not None:
            with clock("setup"):
                made = known[1].exception()  # waits; that of another shot is not of this one
            if known[0] == shot.id:
                if made is not None:
                    raise made
                return known[1].result()
        with clock("trace input"), self._group.together():
            traces = self._traces.take(shot)
        group = self._group if self._group.size > 1 else None
        return prepare_shot(self._setup, shot, traces.data, rows=traces.rows, group=group, phases=clock)

    def begin(self, shot: Shot) -> None:
        """Begin with a shot that will be taken next: with its traces, or with all of it; returns at once."""
        self._traces.prepare(shot)
        if self._wanted and self._next is None:
            self._next = shot.id, self._pool.submit(self._prepared, shot)

    def _prepared(self, shot: Shot) -> ReadyShot:
        traces = self._traces.take(shot)
        return prepare_shot(self._setup, shot, traces.data, rows=traces.rows)
