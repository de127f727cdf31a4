"""What the GPUs of a run have done: steps, launches, bytes over their links, snapshots, and the memory they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from subsalt.kernels.device import Device


def since(device: Device, before: Mapping[str, int]) -> dict[str, int]:
    """Return what a device has done since `before` (`Device.work_done`); memory is the most it had so far."""
    return {name: n - (before[name] if name != "memory" else 0) for name, n in device.work_done().items()}


def over_gpus(ranks: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return sums over ranks, and the memory of the one that had most; empty on processors."""
    work = [one for one in ranks if one]
    if not work:
        return {}
    sums = {name: sum(one[name] for one in work) for name in work[0]}
    return {**sums, "memory": max(one["memory"] for one in work)}
