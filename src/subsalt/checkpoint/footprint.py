"""The memory and disk that a scheme takes on a rank, by array; what `imaging` holds while it follows one."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.checkpoint.record import Layout
from subsalt.checkpoint.scheme import Scheme, memory_of


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

    def shell_memory(self, scheme: Scheme) -> int:
        """Return the bytes of the shells that are in memory."""
        return 0 if scheme.snapshots_on == "disk" else self.shell * shell_steps(scheme)

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
    boundary = scheme.strategy == "boundary"
    arrays = memory_of(scheme, sizes.state, sizes.snapshot, sizes.shell_memory(scheme) if boundary else 0)
    disk = scheme.disk_slots * sizes.state_file
    if boundary and scheme.snapshots_on == "disk":
        disk += sizes.shell * shell_steps(scheme)
    files = scheme.samples * sizes.snapshot_file
    kept = {"none": 0, "source": 1, "both": 2}[scheme.keep] * files
    if scheme.writes_source and not kept and not boundary:
        disk += files
    if scheme.restart_every:
        # two generations of the state under way, and the states of memory slots
        disk += (2 + scheme.memory_slots) * sizes.state_file
    return Footprint(arrays, disk, kept)


def shell_steps(scheme: Scheme) -> int:
    """Return the time steps whose shells the boundary strategy saves: those it runs backwards."""
    return max(0, (scheme.samples - 1) * scheme.image_step - 1)
