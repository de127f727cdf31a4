"""Ghost planes between the memory that computes and MPI, for devices whose memory MPI reads and writes where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class GhostPlanes(Protocol):
    """The blocks of planes of one time level that are sent, and those that are received, by link.

    An exchange is: `leave`, then `left` until it is true, then MPI, from `sent` into `received`; at last `arrive`.
    """

    #: what MPI sends, and what it receives into
    sent: Sequence[Any]
    received: Sequence[Any]
    #: whether these are in memory that the host reads and writes
    on_host: bool

    def leave(self) -> None:
        """Begin to bring what is sent to where MPI sends it from, once all work begun so far is done."""

    def left(self) -> bool:
        """Return whether MPI may send it, and receive."""

    def arrive(self) -> None:
        """Let work begun from now on find what was received."""

    def free(self) -> None:
        """Give back what is held."""


class InPlace:
    """Planes in the memory of the host: MPI takes them where they are.

    Parameters
    ----------
    sent, received : sequence of ndarray
        Contiguous blocks of planes, by link.
    by_mpi : bool
        Without a meaning here.
    """

    on_host = True

    def __init__(
        self, sent: Sequence[NDArray[Any]], received: Sequence[NDArray[Any]], by_mpi: bool = True
    ) -> None:
        self.sent, self.received = sent, received

    def leave(self) -> None:
        """Do nothing: kernels have written the planes when they return."""

    def left(self) -> bool:
        """Return True."""
        return True

    def arrive(self) -> None:
        """Do nothing: the planes are where they belong."""

    def free(self) -> None:
        """Do nothing."""
