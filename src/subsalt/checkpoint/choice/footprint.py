"""The memory and disk that a scheme needs on a rank, by array, and its traffic to disk and over the link of a GPU.

`Sizes` is a shot as a schedule sees it: numbers of steps, and bytes of what can be kept of a wavefield.

On a GPU both wavefields, the snapshots of a block and what is on its way are in device memory. Snapshots and states
that do not fit lie in pinned memory, which the GPU reads and writes by itself; they go over the link once each way and
use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from subsalt.checkpoint.schedule.scheme import STATE_BUFFERS, Scheme
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.checkpoint.schedule.two_level import memory_uses
from subsalt.checkpoint.storage.record import RecordLayout
from subsalt.checkpoint.storage.shell import FLOAT, Chunks, chunk_samples, reversal_disk, reversal_memory
from subsalt.checkpoint.storage.states import STAMP, cut, stored_bytes
from subsalt.checkpoint.storage.store import store_memory


@dataclass(frozen=True)
class Sizes:
    """A shot as a schedule sees it, on the rank that has most of it."""

    #: time steps of the receiver wavefield, and from one imaged sample to the next
    steps: int
    image_step: int
    #: bytes of a snapshot, and of a state
    snapshot: int
    state: int
    #: bytes that the boundary strategy saves of a time step; 0 where it cannot be used
    shell: int = 0
    #: bytes of one time level of all fields
    level: int = 0
    #: why the boundary strategy cannot be used
    no_boundary: str = "there is no inner part of the wavefield to rebuild"
    #: wavefields are in the memory of a GPU: what lies on the host or on disk goes over the link
    on_device: bool = False
    #: bytes of memory that the arrays of a state take; as many as it has when 0
    state_held: int = 0
    #: another wavefield goes beside that of the source, from sample to sample
    scatters: bool = False

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
        return RecordLayout(self.snapshot).total

    @property
    def state_file(self) -> int:
        """Bytes of a state on disk, which may be cut into several records."""
        count, record = cut(self.state // FLOAT)
        return count * RecordLayout(FLOAT * record).total

    @property
    def state_buffers(self) -> int:
        """Bytes of the buffers of a store of states."""
        return store_memory(cut(self.state // FLOAT)[1], STATE_BUFFERS)


def chunks_of(scheme: Scheme, sizes: Sizes) -> Chunks:
    """Return how the steps of the boundary strategy are cut."""
    chunk = scheme.chunk or chunk_samples(scheme.samples, sizes.snapshot)
    return Chunks(scheme.image_step, scheme.samples, chunk)


@dataclass(frozen=True)
class Footprint:
    """Bytes of memory and disk that a scheme takes."""

    #: bytes of memory by array
    arrays: dict[str, int]
    #: bytes of scratch while a shot is done, without what stays
    disk: int = 0
    #: bytes of files that stay after it
    stays: int = 0
    #: bytes of the memory of a GPU by array
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
        # both wavefields are propagated at the same time
        arrays["second wavefield"] = sizes.state_memory
        moves = scheme.moves
        arrays["states"] = moves.memory * sizes.state_memory
        buffers += sizes.state_buffers if moves.disk else 0
        disk = moves.disk * sizes.state_file
    elif sizes.scatters and scheme.in_pieces:
        arrays["second wavefield"] = sizes.state_memory
    held = 0 if scheme.snapshots_on == "disk" else min(scheme.block, scheme.samples)
    files = scheme.samples * sizes.snapshot_file
    stays = {"none": 0, "source": 1, "both": 2}[scheme.keep] * files
    if scheme.strategy != "boundary":
        arrays["snapshots"] = held * sizes.snapshot
        buffers += (scheme.writes_source + (scheme.keep == "both")) * scheme.buffers * sizes.snapshot_file
        disk += files if scheme.writes_source and not stays else 0
    if scheme.restart_every:
        buffers += sizes.state_buffers
        # two points: the current state with the accumulators, and the states of memory slots
        disk += (4 + 2 * scheme.memory_slots) * sizes.state_file
    if buffers:
        arrays["buffers of files"] = buffers
    host, device = split(arrays, scheme, sizes) if sizes.on_device else (arrays, {})
    return Footprint(host, disk, stays, device)


def shell_traffic(scheme: Scheme, sizes: Sizes) -> int:
    """Return the bytes of shells that go to disk and come back."""
    chunks = chunks_of(scheme, sizes)
    return chunks.count * chunks.length * sizes.shell if scheme.snapshots_on == "disk" else 0


def disk_traffic(scheme: Scheme, counts: Counts, sizes: Sizes, sums: int = 0) -> tuple[int, int]:
    """Return the bytes that a rank writes to its scratch for a shot, and reads from it, before compression.

    Parameters
    ----------
    scheme : Scheme
        Scheme of the shot.
    counts : Counts
        How often.
    sizes : Sizes
        Sizes on this rank.
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


#: snapshots, or pieces of shells, that are on their way over the link: one is filled or imaged, another moves
STAGING = 2

#: bytes of shells that go over the link in one piece (native/cuda/staging.hpp)
ROWS = 4 << 20


def split(arrays: dict[str, int], scheme: Scheme, sizes: Sizes) -> tuple[dict[str, int], dict[str, int]]:
    """Return what lies on the host and what on the device, by array; the names of pinned memory say so.

    Parameters
    ----------
    arrays : dict of str to int
        Bytes by array, as if all were on the host.
    scheme : Scheme
        Its `snapshots_on` and `device_slots` decide.
    sizes : Sizes
        Sizes of the shot.
    """
    host = dict(arrays)
    device: dict[str, int] = {}
    for name in ("second wavefield", "source wavefield"):
        if name in host:
            device[name] = host.pop(name)
    if "states" in host:
        del host["states"]
        used = scheme.moves.memory
        there = min(scheme.device_slots, used)
        device["states"] = there * sizes.state
        host["pinned states"] = (used - there) * sizes.state
    if scheme.strategy == "boundary":
        device["snapshots"], shells = host.pop("snapshots"), host.pop("shells")
        if scheme.snapshots_on == "device":
            device["shells"] = shells
        else:
            rows = min(chunks_of(scheme, sizes).length, max(1, ROWS // sizes.shell))
            device["staged shells"] = STAGING * rows * sizes.shell
            host["pinned shells"] = shells
        return host, device
    snapshots = host.pop("snapshots")
    if scheme.snapshots_on == "device":
        device["snapshots"] = snapshots
    else:
        device["staged snapshots"] = STAGING * sizes.snapshot
        host["pinned snapshots"] = snapshots
    if "buffers of files" in host:
        host["pinned buffers of files"] = host.pop("buffers of files")
    return host, device


class LinkTraffic(NamedTuple):
    """Bytes between a GPU and its host: of samples and shells, of states; and how often states went."""

    samples_down: int = 0
    samples_up: int = 0
    states_down: int = 0
    states_up: int = 0
    host_states: int = 0

    @property
    def down(self) -> int:
        """Bytes to the host."""
        return self.samples_down + self.states_down

    @property
    def up(self) -> int:
        """Bytes to the device."""
        return self.samples_up + self.states_up


def link_traffic(scheme: Scheme, counts: Counts, sizes: Sizes, sums: int = 0) -> LinkTraffic:
    """Return what the snapshots and states of a shot move over the link; nothing without a GPU.

    Parameters
    ----------
    scheme : Scheme
        Scheme of the shot.
    counts : Counts
        How often.
    sizes : Sizes
        Sizes on this rank.
    sums : int
        Bytes of the image accumulators, which go down with every restart point.

    Notes
    -----
    Exact except for restart points, whose states are counted as if all came from the device.
    """
    if not sizes.on_device:
        return LinkTraffic()
    if scheme.strategy == "boundary":
        shells = 0 if scheme.snapshots_on == "device" else chunks_of(scheme, sizes).rows * sizes.shell
        return LinkTraffic(shells, shells)
    samples = counts.snapshots_written, counts.snapshots_read
    if scheme.snapshots_on == "memory":
        # they lie on the host before any file takes them
        files = scheme.samples if scheme.writes_source else 0
        samples = scheme.samples + samples[0] - files, scheme.samples
    stored = loaded = 0
    if scheme.strategy == "revolve":
        uses = memory_uses(scheme.blocks, scheme.slots)
        on_host = uses[: max(0, len(uses) - scheme.device_slots)]
        stored, loaded = (sum(use[i] for use in on_host) for i in (0, 1))
    down = stored + counts.states_stored_disk + counts.restart_states
    up = loaded + counts.states_loaded_disk
    return LinkTraffic(
        samples[0] * sizes.snapshot,
        samples[1] * sizes.snapshot,
        down * sizes.state + counts.restart_points * sums,
        up * sizes.state,
        stored + loaded,
    )
