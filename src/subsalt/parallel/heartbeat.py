"""Signs of life between ranks: a table in memory that the ranks of a host share, and a ring of messages between hosts.

Neither waits for anyone. The table needs no MPI, so that a rank that sits in a long read or a message still beats.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.parallel.comm import Comm

#: a row of the table: beats so far, the signal this rank was asked to stop by, whether it is ending all ranks, what it
#: works on, and in which phase
ROW = np.dtype(
    [("beat", np.int64), ("signal", np.int64), ("ending", np.int64), ("note", "S192"), ("phase", "S40")]
)


@dataclass(frozen=True)
class Place:
    """Where a rank runs."""

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        """Return the place for people."""
        return f"rank {self.rank} (host {self.host}, pid {self.pid})"


class Table:
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
        """Tell what this rank works on, or in which ``"phase"`` it is."""
        self.rows[column][self.mine] = text.encode(errors="replace")[: ROW[column].itemsize]

    def ask_to_stop(self, number: int) -> None:
        """Tell that this rank got a signal."""
        self.rows["signal"][self.mine] = number

    def end(self) -> None:
        """Tell that this rank has said why all end."""
        self.rows["ending"][self.mine] = 1

    @property
    def ending(self) -> bool:
        """Whether a rank of the host has said why all end."""
        return bool(self.rows["ending"].any())

    def beats(self) -> list[int]:
        """Return the beats of all ranks of the host."""
        return [int(b) for b in self.rows["beat"]]

    def noted(self, index: int) -> str:
        """Return what a rank said last."""
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
    """Return what the system says of a process of this host: stopped, dead, waiting for a device, or nothing."""
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
