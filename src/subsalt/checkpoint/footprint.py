"""The memory and disk that a scheme takes on a rank, by array; what `imaging` holds while it follows one."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.checkpoint.record import Layout
from subsalt.checkpoint.scheme import Scheme

#: pieces of samples that a store of files holds: one in hand, one on its way
FILES_SECOND = 2

#: states that a store of files holds likewise
STATE_BUFFERS = 2


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
    no_boundary : str
        Why it cannot.
    """

    steps: int
    image_step: int
    snapshot: int
    state: int
    shell: int = 0
    no_boundary: str = "there is no inner part of the wavefield to rebuild"

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
        """Bytes of a state on disk."""
        return Layout(self.state).total


@dataclass(frozen=True)
class Footprint:
    """What a scheme takes.

    Parameters
    ----------
    arrays : dict of str to int
        Bytes of memory by array.
    disk : int
        Bytes of scratch while a shot is done, without what stays.
    kept : int
        Bytes of files that stay after it.
    """

    arrays: dict[str, int]
    disk: int = 0
    kept: int = 0

    @property
    def memory(self) -> int:
        """Bytes of memory in all."""
        return sum(self.arrays.values())


def footprint(scheme: Scheme, sizes: Sizes) -> Footprint:
    """Return the memory and disk of a scheme beyond one wavefield, the model and the image."""
    samples, arrays, disk = scheme.samples, {}, 0
    on_disk = scheme.snapshots_on == "disk"
    if scheme.strategy == "store":
        arrays["snapshots"] = 0 if on_disk else samples * sizes.snapshot
    elif scheme.strategy == "revolve":
        # both wavefields are under way at the same time
        arrays["second wavefield"] = sizes.state
        arrays["snapshots"] = min(scheme.block, samples) * sizes.snapshot
        arrays["states"] = scheme.memory_slots * sizes.state
        if scheme.disk_slots:
            arrays["buffers of files"] = STATE_BUFFERS * sizes.state_file
            disk += scheme.disk_slots * sizes.state_file
    kept = {"none": 0, "source": 1, "both": 2}[scheme.keep] * samples * sizes.snapshot_file
    if scheme.writes_source:
        fields = 2 if scheme.keep == "both" else 1
        buffers = FILES_SECOND * scheme.piece * sizes.snapshot_file * fields
        arrays["buffers of files"] = arrays.get("buffers of files", 0) + buffers
        if scheme.keep == "none":
            disk += samples * sizes.snapshot_file
    return Footprint(arrays, disk, kept)
