"""Notices a rank that stopped, names it and ends the run; passes Ctrl-C and SIGTERM on to rank 0.

One thread per rank counts heartbeats in a table in memory that the ranks of a host share (`RankTable`), and watches the
heartbeats of the others. A second thread on the first rank of every host sends them around a ring of hosts. Neither
waits for other ranks or runs inside a time step. A rank that computes still beats, since the kernels release Python's
lock; the table needs no MPI, so that a rank in a long read or a message still beats, too.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.errors import Finding, ParallelError, SubsaltError
from subsalt.parallel.comm import Comm
from subsalt.parallel.mpi_library import end_all, thread_multiple
from subsalt.parallel.notes import shown_on

#: a row of the table: beats so far, the signal this rank was asked to stop by, whether it is ending all ranks, what it
#: works on, and in which phase
ROW = np.dtype(
    [("beat", np.int64), ("signal", np.int64), ("ending", np.int64), ("note", "S192"), ("phase", "S40")]
)


@dataclass(frozen=True)
class RankPlace:
    """Host and process of a rank."""

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        """Return the text for messages."""
        return f"rank {self.rank} (host {self.host}, pid {self.pid})"


class RankTable:
    """Rows of the ranks of one host, in memory that they share; made collectively.

    Parameters
    ----------
    comm : Comm
        The ranks of one host, as `Comm.on_host` gives them.

    Raises
    ------
    OSError
        On all ranks, when one cannot reach the memory of the first (containers, another process space).
    """

    def __init__(self, comm: Comm) -> None:
        size, fd = ROW.itemsize * comm.size, -1
        where = ["", ""]
        with suppress(OSError):
            if comm.is_root:
                # a file without a name: nothing is left behind, whatever happens
                fd = os.memfd_create("subsalt-heartbeats")
                os.truncate(fd, size)
                where = [f"/proc/{os.getpid()}/fd/{fd}", os.urandom(8).hex()]
                os.pwrite(fd, where[1].encode(), 0)
        path, mark = comm.bcast(where)
        reached = False
        with suppress(OSError):
            if not comm.is_root:
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            # another process of the same number, in another process space, does not know the mark
            reached = bool(mark) and os.pread(fd, len(mark), 0) == mark.encode()
        try:
            if not all(comm.allgather(reached)):
                raise OSError("the ranks of this host share no memory")
            self._map = mmap.mmap(fd, size)
        finally:
            if fd >= 0:
                os.close(fd)
        self.rows = np.frombuffer(self._map, ROW)
        comm.allgather(None)  # all have looked at the mark
        self.rows[comm.rank] = (0, 0, 0, b"", b"")
        self.mine = comm.rank

    def beat(self) -> None:
        """Show that this rank lives."""
        self.rows["beat"][self.mine] += 1

    def note(self, text: str, column: str = "note") -> None:
        """Show the current work of this rank, or in column ``"phase"`` its phase."""
        self.rows[column][self.mine] = text.encode(errors="replace")[: ROW[column].itemsize]

    def ask_to_stop(self, number: int) -> None:
        """Note that this rank got a signal."""
        self.rows["signal"][self.mine] = number

    def end(self) -> None:
        """Note that this rank has reported why all ranks end."""
        self.rows["ending"][self.mine] = 1

    @property
    def ending(self) -> bool:
        """Whether a rank of the host has said why all end."""
        return bool(self.rows["ending"].any())

    def beats(self) -> list[int]:
        """Return the beats of all ranks of the host."""
        return [int(b) for b in self.rows["beat"]]

    def noted(self, index: int) -> str:
        """Return the last note of a rank."""
        said = [bytes(self.rows[c][index]).decode(errors="replace") for c in ("note", "phase")]
        return ", ".join(text for text in said if text)

    @property
    def signal(self) -> int:
        """The largest signal that a rank of the host got, 0 when none did."""
        return int(self.rows["signal"].max())


class Ring:
    """Messages from the first rank of every host to that of the next one.

    Parameters
    ----------
    heads : Comm
        The first ranks of all hosts, with messages of their own; more than one.
    """

    BEAT, BYE = 0, 1

    def __init__(self, heads: Comm) -> None:
        assert heads.mpi is not None
        self.mpi = heads.mpi
        self.next, self.before = (heads.rank + 1) % heads.size, (heads.rank - 1) % heads.size
        self._out, self._in = np.zeros(2, np.int64), np.zeros(2, np.int64)
        self._sending: Any = None
        self._receiving: Any = self.mpi.Irecv(self._in, self.before)
        self.signal = 0

    def beat(self, signal: int) -> bool:
        """Send a sign of life when the last one has left; return whether one has come.

        Parameters
        ----------
        signal : int
            The signal to tell the next host of, 0 for none.
        """
        if self._sending is None or self._sending.Test():
            self._out[:] = self.BEAT, signal
            self._sending = self.mpi.Isend(self._out, self.next)
        came = False
        while self._in[0] != self.BYE and self._receiving.Test():
            came = True
            self.signal = max(self.signal, int(self._in[1]))
            if self._in[0] != self.BYE:
                self._receiving = self.mpi.Irecv(self._in, self.before)
        return came or bool(self._in[0] == self.BYE)

    def close(self) -> None:
        """Take leave of both neighbours, so that no message is left over; collective over the ring."""
        if self._sending is not None:
            self._sending.Wait()
        leaving = self.mpi.Isend(np.array([self.BYE, 0], np.int64), self.next)
        while self._in[0] != self.BYE:
            self._receiving.Wait()
            if self._in[0] != self.BYE:
                self._receiving = self.mpi.Irecv(self._in, self.before)
        leaving.Wait()


def state_of(pid: int) -> str:
    """Return the state of a process of this host: stopped, dead, waiting for a device, or empty."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "gone"
    return {
        "T": "stopped by a signal",
        "t": "stopped by a debugger",
        "Z": "dead",
        "D": "waiting for a device",
    }.get(letter, "")


Say = Callable[[SubsaltError], None]

#: seconds of silence after which a rank counts as stopped, when the job does not say it
PATIENCE = 60.0
#: seconds that rank 0 has to stop by itself after a signal
GRACE = 15.0
#: signals that stop a run, and its exit code then: 75 says that the same command resumes it. A batch system sends
#: SIGUSR1 before the time is over, and SIGTERM when it ends the job
STOPPING = {signal.SIGINT: 130, signal.SIGTERM: 75, signal.SIGUSR1: 75}
#: ranks that notice a rank that stopped responding take turns, so that only the first one reports it
TURN = 1.5

_watching: Watchdog | None = None


@contextmanager
def watch(
    comm: Comm,
    patience: float | None = None,
    say: Say | None = None,
    warn: Callable[[Finding], None] | None = None,
) -> Iterator[None]:
    """Watch over all ranks of a communicator while the block runs; collective. Nothing happens in a world of one.

    Inside, SIGINT, SIGTERM and SIGUSR1 stop only rank 0 (KeyboardInterrupt, or what the handler of the signal raises).
    The others continue, so that rank 0 reaches a point where it can stop, and ends them.

    Parameters
    ----------
    comm : Comm
        All ranks of the run.
    patience : float, optional
        Seconds of silence after which a rank counts as stopped.
    say : callable, optional
        Shows an error; a line on standard error when left out.
    warn : callable, optional
        Shows a finding, on rank 0: that hosts cannot watch over each other.
    """
    global _watching
    if comm.size == 1 or _watching is not None:
        yield
        return
    dog = Watchdog(comm, PATIENCE if patience is None else patience, say)
    _watching = dog
    if dog.blind and comm.is_root and warn is not None:
        warn(dog.blind)
    ended_well = False
    try:
        with shown_on(dog.table), _signals(comm, dog):
            try:
                yield
                ended_well = True
            except BaseException as error:
                # an error that all ranks raise together ends like success: all ranks reach this point
                ended_well = getattr(error, "agreed_ranks", 0) >= comm.size
                raise
            finally:
                if ended_well:
                    # ranks that are ready early still beat, until all are
                    comm.agree()
    finally:
        _watching = None
        dog.stop(together=ended_well)


class Watchdog:
    """The threads that beat and watch; made collectively by `watch`.

    Parameters
    ----------
    comm : Comm
        All ranks.
    patience : float
        Seconds of silence after which a rank counts as stopped.
    say : callable, optional
        Shows an error.
    """

    def __init__(self, comm: Comm, patience: float, say: Say | None) -> None:
        self.comm, self.patience, self.say = comm, patience, say
        self.period = min(1.0, patience / 10)
        places = [RankPlace(*p) for p in comm.allgather([comm.rank, comm.host, os.getpid()])]
        host = comm.on_host()
        try:
            self.table = RankTable(host)
        except OSError:
            # ranks that cannot share memory are treated as on different hosts
            host.free()
            host = comm.split(comm.rank)
            self.table = RankTable(host)
        self.host = host
        ranks = host.allgather(comm.rank)
        self.mates = [places[r] for r in ranks]
        #: hosts in the order of their first ranks, each with its ranks
        self.hosts = [list(h) for h in sorted({tuple(r) for r in comm.allgather(ranks)})]
        self.places = places
        self.heads = comm.split(0 if host.is_root else 1)
        self._end = threading.Event()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._asked = 0.0
        #: whether the main thread has begun to stop
        self.stopping = False
        self._reported: set[int] = set()
        self._threads = [threading.Thread(target=self._guarded, args=(self._watch_host,), daemon=True)]
        self._ring: Ring | None = None
        #: why hosts cannot watch over each other
        self.blind: Finding | None = None
        if len(self.hosts) > 1 and not thread_multiple():
            self.blind = Finding(
                "W711",
                "warning",
                f"this MPI serves one thread only: the {len(self.hosts)} hosts do not watch over each other",
                "give the job a time limit, or use an MPI with MPI_THREAD_MULTIPLE (subsalt doctor)",
            )
        elif len(self.hosts) > 1 and host.is_root:
            self._ring = Ring(self.heads)
            self._threads.append(
                threading.Thread(target=self._guarded, args=(self._watch_ring,), daemon=True)
            )
        for thread in self._threads:
            thread.start()

    def stop(self, together: bool = True) -> None:
        """End the threads.

        Parameters
        ----------
        together : bool
            All ranks are here: neighbours in the ring take leave of each other, and communicators are given back.
        """
        self._end.set()
        self.wake(0)
        for thread in self._threads:
            thread.join()
        os.close(self._wake_read)
        os.close(self._wake_write)
        if together:
            if self._ring is not None:
                self._ring.close()
            self.heads.free()
            self.host.free()

    def wake(self, number: int) -> None:
        """Make the watching thread look at once, and tell it of a signal; safe in a handler.

        Parameters
        ----------
        number : int
            The signal, 0 for none.
        """
        with suppress(OSError):
            os.write(self._wake_write, bytes([number]))

    @property
    def wakeup_fd(self) -> int:
        """Where the system writes the number of a signal, also while the main thread sits in a call."""
        return self._wake_write

    # -- the threads -----------------------------------------------------------------------------------------------

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.comm.abort(error, self.say)

    def _watch_host(self) -> None:
        clock = _AwakeClock(self.period)
        beats = self.table.beats()
        heard = [clock.now] * len(beats)
        parent = os.getppid()
        while not self._end.is_set():
            self.table.beat()
            self._wait()
            now = clock.tick()
            for i, count in enumerate(self.table.beats()):
                if count != beats[i]:
                    beats[i], heard[i] = count, now
            silent = [i for i, t in enumerate(heard) if now - t > self.patience and i != self.table.mine]
            turn = sum(1 for i in range(self.table.mine) if i not in silent)
            if silent and now - min(heard[i] for i in silent) > self.patience + TURN * min(turn, 4):
                self._give_up([self.mates[i] for i in silent], now - min(heard[i] for i in silent))
            if os.getppid() != parent:
                self._launcher_gone()
            self._pass_signals_on()

    def _watch_ring(self) -> None:
        ring, clock = self._ring, _AwakeClock(self.period)
        assert ring is not None
        heard = clock.now
        while not self._end.wait(self.period):
            now = clock.tick()
            if ring.beat(self.table.signal):
                heard = now
            if ring.signal and not self.table.signal:
                self.table.ask_to_stop(ring.signal)
            # the ranks of that host speak of each other first
            if now - heard > self.patience + TURN * 2:
                here = next(i for i, ranks in enumerate(self.hosts) if self.comm.rank in ranks)
                self._give_up([self.places[r] for r in self.hosts[here - 1]], now - heard, host=True)

    def _wait(self) -> None:
        """Wait a period, or until something happens; take note of signals."""
        ready, _, _ = select.select([self._wake_read], [], [], self.period)
        numbers = os.read(self._wake_read, 64) if ready else b""
        number = max((n for n in numbers if n in STOPPING), default=0)
        if number:
            self.table.ask_to_stop(number)

    def _pass_signals_on(self) -> None:
        """Let rank 0 stop when any rank got a signal, and end all ranks when rank 0 does not stop in time."""
        number = self.table.signal
        if not number or self._end.is_set():
            return
        now = time.monotonic()
        if not self._asked:
            self._asked = now
        elif self.comm.is_root and not self.stopping and number not in self._reported:
            # another rank got it; a period later, for the handler of a signal of our own may be about to run
            self._reported.add(number)
            os.kill(os.getpid(), number)
        elif now - self._asked > GRACE + TURN * min(self.comm.rank, 4):
            error = SubsaltError(
                f"stopped by {signal.Signals(number).name}; what was finished is kept",
                "the same command resumes from there",
                code="E801",
            )
            error.exit_code = STOPPING[signal.Signals(number)]
            self.comm.abort(error, self.say)

    # -- the end ---------------------------------------------------------------------------------------------------

    def _give_up(self, lost: list[RankPlace], seconds: float, host: bool = False) -> None:
        """Report the ranks that stopped responding, and end all ranks."""
        if self._end.is_set():
            return
        if host:
            ranks = ", ".join(str(p.rank) for p in lost)
            who = f"host {lost[0].host} with rank{'s' * (len(lost) > 1)} {ranks}"
            doing = "no message arrives from there"
        else:
            who = ", ".join(map(str, lost))
            state = state_of(lost[0].pid)
            noted = self.table.noted(self.mates.index(lost[0]))
            doing = (
                ", ".join(t for t in (state, f"last at: {noted}" if noted else "") if t)
                or "it does not say why"
            )
        here = self.table.noted(self.table.mine)
        error = ParallelError(
            f"no sign of life from {who} for {seconds:.0f} s ({doing}); noticed by rank {self.comm.rank} on "
            f"{self.comm.host}{f', at: {here}' if here else ''}",
            "what was finished is kept; the same command resumes from there, on any number of ranks",
            code="E713",
        )
        self._speak_and_end(error)

    def _launcher_gone(self) -> None:
        self._speak_and_end(
            ParallelError(
                "the launcher that started the ranks has died",
                "what was finished is kept; the same command resumes from there",
                code="E715",
            )
        )

    def _speak_and_end(self, error: SubsaltError) -> None:
        self.table.end()
        if self.say is not None:
            self.say(error)
        else:
            print(f"error {error.code}  {error}", file=sys.stderr, flush=True)
        end_all(error.exit_code)


class _AwakeClock:
    """Seconds during which this process itself was awake.

    A machine that was suspended, or a job that the scheduler stopped and continued, must not find everyone silent.
    """

    def __init__(self, period: float) -> None:
        self.longest = 2 * period
        self.now = 0.0
        self._last = time.monotonic()

    def tick(self) -> float:
        """Return the time now."""
        clock = time.monotonic()
        self.now += min(clock - self._last, self.longest)
        self._last = clock
        return self.now


@contextmanager
def _signals(comm: Comm, dog: Watchdog) -> Iterator[None]:
    """Let the signals of `STOPPING` stop rank 0 alone, and once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {n: signal.getsignal(n) for n in STOPPING}

    def stop_once(number: int, frame: Any) -> None:
        # the launcher passes a signal on that its group got as well: a second one would disturb the clearing up
        if dog.stopping or not comm.is_root:
            return
        if dog.table.ending:
            # the others gave this rank up while it was stopped; launchers wake it to terminate it
            os._exit(1)
        dog.stopping = True
        if callable(before[number]):
            before[number](number, frame)
        raise KeyboardInterrupt

    for n in STOPPING:
        signal.signal(n, stop_once)
    fd = signal.set_wakeup_fd(dog.wakeup_fd, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(fd)
        for n in STOPPING:
            signal.signal(n, before[n])
