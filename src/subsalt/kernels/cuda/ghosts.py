"""Ghost planes between a GPU and MPI: straight from and to its memory, or through page-locked memory of the host."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

from subsalt.kernels.cuda.arrays import DeviceArray, address, locked
from subsalt.kernels.cuda.library import call, library, pointers


class GhostPlanes:
    """The blocks of planes of one time level on a GPU that are exchanged (`subsalt.kernels.ghosts.GhostPlanes`).

    Nothing here waits: `leave` and `arrive` ask for copies that run beside the kernels, `left` looks.

    Parameters
    ----------
    sent, received : sequence of DeviceArray
        Contiguous blocks of planes, by link.
    by_mpi : bool
        Whether MPI reads and writes them on the GPU itself.
    """

    def __init__(self, sent: Sequence[DeviceArray], received: Sequence[DeviceArray], by_mpi: bool) -> None:
        self.on_host = not by_mpi
        self._planes = [*sent, *received]  # what is copied must not go away before
        self.sent: Sequence[Any] = sent if by_mpi else [_room(a) for a in sent]
        self.received: Sequence[Any] = received if by_mpi else [_room(a) for a in received]
        out = pointers([None])
        call(
            "subsalt_cuda_halo",
            len(sent),
            pointers([a.pointer for a in sent]),
            pointers([a.pointer for a in received]),
            None if by_mpi else pointers([address(a) for a in self.sent]),
            None if by_mpi else pointers([address(a) for a in self.received]),
            _sizes(sent),
            _sizes(received),
            out,
        )
        self.pointer = out[0]
        # before the rooms go: copies that are under way end first
        self.free = weakref.finalize(self, library().subsalt_cuda_free_halo, self.pointer)
        self.free.atexit = False

    def leave(self) -> None:
        """Bring what is sent to page-locked memory, once all kernels asked for so far are done."""
        call("subsalt_cuda_halo_leave", self.pointer)

    def left(self) -> bool:
        """Return whether it is there; raises when the GPU has failed."""
        there = ctypes.c_int32()
        call("subsalt_cuda_halo_left", self.pointer, ctypes.byref(there))
        return bool(there.value)

    def arrive(self) -> None:
        """Bring what was received to the GPU; kernels asked for from now on wait for it there."""
        call("subsalt_cuda_halo_arrive", self.pointer)


def _room(planes: DeviceArray) -> Any:
    """Return page-locked memory for some planes."""
    return locked(planes.size, planes.dtype).reshape(planes.shape)


def _sizes(arrays: Sequence[DeviceArray]) -> Any:
    """Return the bytes of arrays as the plug-in takes them."""
    return (ctypes.c_int64 * max(1, len(arrays)))(*(a.nbytes for a in arrays))
