"""The memory and disk that a scheme takes on a rank, by array; what `imaging` holds while it follows one."""

from __future__ import annotations

from dataclasses import dataclass, field

from subsalt.checkpoint.device_footprint import split
from subsalt.checkpoint.pieces import STAMP, cut, stored_bytes
from subsalt.checkpoint.scheme import Counts, Scheme
from subsalt.checkpoint.shell import FLOAT, reversal_disk, reversal_memory
from subsalt.checkpoint.sizes import Sizes, chunks_of

__all__ = ["Footprint", "Sizes", "disk_traffic", "footprint", "shell_traffic"]


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
    on_device : dict of str to int
        Bytes of the memory of a GPU by array.
    """

    arrays: dict[str, int]
    disk: int = 0
    kept: int = 0
    on_device: dict[str, int] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """Bytes of memory in all."""
        return sum(self.arrays.values())

    @property
    def device(self) -> int:
        """Bytes of the memory of a GPU in all."""
        return sum(self.on_device.values())


def footprint(scheme: Scheme, sizes: Sizes) -> Footprint:
    """Return the memory and disk of a scheme beyond one wavefield, the model and the image."""
    arrays: dict[str, int] = {}
    buffers = disk = 0
    if scheme.strategy == "boundary":
        on_disk = scheme.snapshots_on == "disk"
        arrays = reversal_memory(
            chunks_of(scheme, sizes),
            snapshot_bytes=sizes.snapshot,
            row_bytes=sizes.shell,
            level_bytes=sizes.level,
            on_disk=on_disk,
        )
        disk = reversal_disk(chunks_of(scheme, sizes), sizes.shell) if on_disk else 0
    elif scheme.strategy == "revolve":
        # both wavefields are under way at the same time
        arrays["second wavefield"] = sizes.state_memory
        moves = scheme.moves
        arrays["states"] = moves.memory * sizes.state_memory
        buffers += sizes.state_buffers if moves.disk else 0
        disk = moves.disk * sizes.state_file
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
    host, device = split(arrays, scheme, sizes) if sizes.on_device else (arrays, {})
    return Footprint(host, disk, kept, device)


def shell_traffic(scheme: Scheme, sizes: Sizes) -> int:
    """Return the bytes of shells that go to disk and come back."""
    chunks = chunks_of(scheme, sizes)
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
