"""The interface of a device: the functions and constants that `reference`, `cpu` and `cuda` have in common.

A device is a module, obtained from `subsalt.kernels.get`. Callers ask for its properties, never for its name. Arrays
are NumPy's where the device computes in the memory of the host, else its own (`to_host`, `on_host`, `to_device`).

`InPlace` exchanges ghost planes for devices whose memory MPI reads and writes directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.kernels.mirror import MirrorStep
from subsalt.kernels.problem import Layout, Problem, State
from subsalt.kernels.shell import Shell
from subsalt.kernels.stepper import Sharing, Stepper
from subsalt.kernels.work import Work

if TYPE_CHECKING:
    from subsalt.acquisition.injection import Points


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
        """Begin to copy the planes to send to where MPI reads them, once all work begun so far is done."""

    def left(self) -> bool:
        """Return whether MPI may send the planes, and receive others."""

    def arrive(self) -> None:
        """Make the received planes visible to all work that begins from now on."""

    def free(self) -> None:
        """Free the memory that it holds."""


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


class RowProducts(Protocol):
    """Accumulates ``sums[k] += (scale u[i]) w[j]`` of every sample, with the bits of `Device.correlate` where i = j."""

    def __call__(
        self, sums: Any, u: Sequence[Any], w: Sequence[Any], rows: NDArray[np.int64], scale: float
    ) -> None:
        """Add the products of all samples.

        Parameters
        ----------
        sums : array, (rows, nz)
            Where products are added.
        u, w : sequence of array, (rows, nz)
            Samples of both wavefields, in the order in which they are added.
        rows : ndarray, (n, 3), int64
            Triples (k, i, j): a row of the sums, one of u, one of w. No k comes twice.
        scale : float
            Weight of a product.
        """


class Device(Protocol):
    """The kernels of one device; the formulas, shapes and units are those of `subsalt.kernels.reference`."""

    #: its name
    NAME: str
    #: whether kernels return before they have computed
    ASYNCHRONOUS: bool
    #: whether subnormal numbers are flushed to zero
    FLUSHES: bool
    #: whether it has its own memory, separate from that of the host
    OWN_MEMORY: bool
    #: whether ranks may cut a grid along y as well as along x
    CUTS_ROWS: bool
    #: whether memory fields of the absorbing layer have the size of wavefields instead of that of the layer
    WHOLE_MEMORY_FIELDS: bool
    #: step that maintains a free surface inside the grid; None: the device has no kernels for one
    mirror: MirrorStep | None
    #: products of rows of two wavefields, for gathers; None: the device has no kernels for them
    row_products: RowProducts | None

    def describe(self) -> dict[str, Any]:
        """Return the facts of the device: name, instruction set, numerics class, threads."""

    def work_done(self) -> dict[str, int]:
        """Return the work of this process on a device with its own memory so far; empty on others."""

    def set_threads(self, n: int) -> None:
        """Use `n` threads of the host."""

    # arrays

    def allocate(self, layout: Layout, dtype: type = ...) -> Any:
        """Return a padded array of zeros."""

    def reserve(self, size: int, dtype: type = ...) -> Any:
        """Return `size` numbers to be written."""

    def reserve_host(self, size: int, dtype: type = ...) -> NDArray:
        """Return `size` numbers in the memory of the host, from and to which the device copies fast."""

    def zeros(self, shape: Sequence[int], dtype: type = ...) -> Any:
        """Return an array of zeros for what the kernels add up."""

    def copy(self, target: Any, source: Any) -> None:
        """Copy an array into another one of the same size."""

    def to_host(self, array: Any) -> NDArray:
        """Return an array of the kernels as one of NumPy, a copy where the device has its own memory."""

    def to_device(self, array: Any) -> Any:
        """Return an array as one that the kernels use, a copy where the device has its own memory."""

    def on_host(self, array: Any) -> AbstractContextManager[NDArray]:
        """Lend an array of the kernels as one of NumPy, and bring back what is changed in it."""

    def lock(self, array: NDArray) -> object:
        """Let the device copy from and to an array of NumPy while it computes, as long as what is returned lives."""

    def ghost_planes(self, sent: Sequence[Any], received: Sequence[Any], by_mpi: bool) -> GhostPlanes:
        """Return the ghost planes of a level, for the exchange between the device and MPI."""

    # time steps

    def new_memory(self, problem: Problem) -> dict[str, Any]:
        """Return zeroed memory fields of the PML."""

    def new_state(self, problem: Problem) -> State:
        """Return a state at rest at time index 0."""

    def memory_step(self, problem: Problem, state: State, box: Box) -> None:
        """Advance Psi of every axis inside the layer; all boxes come before the first `field_step`."""

    def field_step(self, problem: Problem, state: State, box: Box) -> None:
        """Write the next time level over `state.prev` in `box`; `state.rotate` comes after all boxes."""

    def time_step(self, problem: Problem, state: State) -> None:
        """Do `memory_step` and `field_step` on the whole grid."""

    def stepper(self, problem: Problem, work: Work, sharing: Sharing | None = ...) -> Stepper | None:
        """Return the fastest stepper of a wavefield, or of its slab when it is shared; None: steps in Python.

        Asked only for work that compiled code can do (`Work.compiles`).
        """

    def is_finite(self, problem: Problem, fields: list[Any]) -> bool:
        """Return whether every point of every field is finite."""

    # what goes in and comes out

    def inject(self, problem: Problem, fields: list[Any], points: Points, values: NDArray) -> None:
        """Add a source sample at every point, through C."""

    def record(self, problem: Problem, fields: list[Any], points: Points) -> NDArray:
        """Return p, or (p + q) / 2, interpolated at every point, (n,)."""

    def keep_shell(self, problem: Problem, fields: list[Any], shell: Shell, out: Any) -> None:
        """Copy the shell of every field to `out` (fields, cells)."""

    def put_back_shell(self, problem: Problem, fields: list[Any], shell: Shell, record: Any) -> None:
        """Write `record` (fields, cells) over the shell of every field."""

    def imaged(self, problem: Problem, fields: list[Any], box: Box) -> Any:
        """Return the imaged field, p or (p + q) / 2, in `box`."""

    def snapshot(self, problem: Problem, fields: list[Any], out: Any, box: Box) -> None:
        """Write the imaged field in `box` to `out` (shape of the box), packed where that is int16 (`scaled16`)."""

    def apply_l(self, problem: Problem, fields: list[Any], box: Box) -> list[Any]:
        """Return L u in `box` without the layer."""

    def correlate(
        self, problem: Problem, image: Any, u: Any, fields: list[Any], box: Box, scale: float
    ) -> None:
        """Accumulate image += (scale u) w, with w the imaged field of `fields` in `box`; u may be packed."""

    def square(self, problem: Problem, illumination: Any, u: Any, scale: float) -> None:
        """Accumulate illumination += (scale u) u."""

    def product(self, image: Any, u: Any, w: Any, scale: float) -> None:
        """Accumulate image += (scale u) w of two snapshots."""
