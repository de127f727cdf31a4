"""What a scheme holds and moves when wavefields are in the memory of a GPU: there, in pinned memory, on disk.

Both wavefields, the snapshots of a block and what is on its way are in device memory. Snapshots and states that do not
fit lie in pinned memory, which the GPU reads and writes by itself, and go over the link once each way and use.
"""

from __future__ import annotations

from typing import NamedTuple

from subsalt.checkpoint.scheme import Counts, Scheme
from subsalt.checkpoint.sizes import Sizes, chunks_of
from subsalt.checkpoint.two_level import memory_uses

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
        Of the shot.
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
        What is done.
    counts : Counts
        How often.
    sizes : Sizes
        Of this rank.
    sums : int
        Bytes of the image accumulators, which go down with every restart point.

    Notes
    -----
    Exact but for restart points, whose states are counted as if all came from the device.
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
