"""The memory and disk that a scheme takes on a rank, by array; what `imaging` holds while it follows one."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.checkpoint.pieces import STAMP, cut, stored_bytes
from subsalt.checkpoint.record import Layout
from subsalt.checkpoint.scheme import STATE_BUFFERS, Counts, Scheme
from subsalt.checkpoint.shell import FLOAT, Chunks, chunk_samples, reversal_disk, reversal_memory
from subsalt.checkpoint.storage import store_memory
from subsalt.checkpoint.two_level import moves_of


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
    """

    steps: int
    image_step: int
    snapshot: int
    state: int
    shell: int = 0
    level: int = 0
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
        """Bytes of a state on disk, which may be cut into several records."""
        count, record = cut(self.state // FLOAT)
        return count * Layout(FLOAT * record).total

    @property
    def state_buffers(self) -> int:
        """Bytes of the buffers of a store of states."""
        return store_memory(cut(self.state // FLOAT)[1], STATE_BUFFERS)


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
    arrays: dict[str, int] = {}
    buffers = disk = 0
    if scheme.strategy == "boundary":
        on_disk = scheme.snapshots_on == "disk"
        arrays = reversal_memory(
            _chunks(scheme, sizes),
            snapshot_bytes=sizes.snapshot,
            row_bytes=sizes.shell,
            level_bytes=sizes.level,
            on_disk=on_disk,
        )
        disk = reversal_disk(_chunks(scheme, sizes), sizes.shell) if on_disk else 0
    elif scheme.strategy == "revolve":
        # both wavefields are under way at the same time
        arrays["second wavefield"] = sizes.state
        arrays["states"] = moves_of(scheme.blocks, scheme.slots).memory * sizes.state
        buffers += sizes.state_buffers if scheme.disk_slots else 0
        disk = scheme.disk_slots * sizes.state_file
    held = 0 if scheme.snapshots_on == "disk" else min(scheme.block, scheme.samples)
    files = scheme.samples * sizes.snapshot_file
    kept = {"none": 0, "source": 1, "both": 2}[scheme.keep] * files
    if scheme.strategy != "boundary":
        arrays["snapshots"] = held * sizes.snapshot
        buffers += (scheme.writes_source + (scheme.keep == "both")) * scheme.buffers * sizes.snapshot_file
        disk += files if scheme.writes_source and not kept else 0
    if scheme.restart_every:
        buffers += sizes.state_buffers
        # two points: the state under way with the accumulators, and the states of memory slots
        disk += (4 + 2 * scheme.memory_slots) * sizes.state_file
    if buffers:
        arrays["buffers of files"] = buffers
    return Footprint(arrays, disk, kept)


def _chunks(scheme: Scheme, sizes: Sizes) -> Chunks:
    chunk = scheme.chunk or chunk_samples(scheme.samples, sizes.snapshot)
    return Chunks(scheme.image_step, scheme.samples, chunk)


def shell_traffic(scheme: Scheme, sizes: Sizes) -> int:
    """Return the bytes of shells that go to disk and come back."""
    chunks = _chunks(scheme, sizes)
    return chunks.count * chunks.length * sizes.shell if scheme.snapshots_on == "disk" else 0


def disk_traffic(scheme: Scheme, counts: Counts, sizes: Sizes, sums: int = 0) -> tuple[int, int]:
    """Return the bytes that a rank writes to its scratch for a shot, and reads from it, before compression.

    Parameters
    ----------
    scheme : Scheme
        What is done.
    counts : Counts
        How often.
    sizes : Sizes
        Of this rank.
    sums : int
        Bytes of the image accumulators, which go with every restart point, in records of their own.
    """
    shells = shell_traffic(scheme, sizes) if scheme.strategy == "boundary" else 0
    state, record = stored_bytes(sizes.state), cut(sizes.state // FLOAT)[1]
    written = counts.states_stored_disk * state + counts.snapshots_written * sizes.snapshot
    read = counts.states_loaded_disk * state + counts.snapshots_read * sizes.snapshot
    pieces = state // (FLOAT * record)
    restart = pieces * counts.restart_states + counts.restart_points * max(1, -(-sums // (FLOAT * record)))
    return written + shells + restart * FLOAT * (record + STAMP), read + shells
