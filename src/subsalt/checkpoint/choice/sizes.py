"""A shot as a schedule sees it: numbers of steps, and bytes of what can be kept of a wavefield."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.checkpoint.schedule.scheme import STATE_BUFFERS, Scheme
from subsalt.checkpoint.storage.pieces import cut
from subsalt.checkpoint.storage.record import Layout
from subsalt.checkpoint.storage.shell import FLOAT, Chunks, chunk_samples
from subsalt.checkpoint.storage.store import store_memory


@dataclass(frozen=True)
class Sizes:
    """A shot as a schedule sees it, on the rank that has most of it.

    Parameters
    ----------
    steps, image_step : int
        Time steps of the receiver wavefield, and from one imaged sample to the next.
    snapshot, state : int
        Bytes of one.
    shell : int
        Bytes that the boundary strategy saves of a time step; 0 where it cannot be used.
    level : int
        Bytes of one time level of all fields.
    no_boundary : str
        Why it cannot.
    on_device : bool
        Wavefields are in the memory of a GPU: what lies on the host or on disk goes over the link.
    state_held : int
        Bytes of memory that the arrays of a state take; as many as it has when 0.
    """

    steps: int
    image_step: int
    snapshot: int
    state: int
    shell: int = 0
    level: int = 0
    no_boundary: str = "there is no inner part of the wavefield to rebuild"
    on_device: bool = False
    state_held: int = 0

    @property
    def state_memory(self) -> int:
        """Bytes of memory of a state."""
        return self.state_held or self.state

    @property
    def samples(self) -> int:
        """Imaged samples, rest not counted."""
        return self.steps // self.image_step

    @property
    def snapshot_file(self) -> int:
        """Bytes of a snapshot on disk, header and checksums included."""
        return Layout(self.snapshot).total

    @property
    def state_file(self) -> int:
        """Bytes of a state on disk, which may be cut into several records."""
        count, record = cut(self.state // FLOAT)
        return count * Layout(FLOAT * record).total

    @property
    def state_buffers(self) -> int:
        """Bytes of the buffers of a store of states."""
        return store_memory(cut(self.state // FLOAT)[1], STATE_BUFFERS)


def chunks_of(scheme: Scheme, sizes: Sizes) -> Chunks:
    """Return how the steps of the boundary strategy are cut."""
    chunk = scheme.chunk or chunk_samples(scheme.samples, sizes.snapshot)
    return Chunks(scheme.image_step, scheme.samples, chunk)
