"""What the GPUs of a run have done: steps, launches, bytes over their links, snapshots, and the memory they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType


def counted(device: ModuleType) -> dict[str, int]:
    """Return what this process has done on its GPU so far; empty on processors."""
    if not device.OWN_MEMORY:
        return {}
    return {**device.counters(), "memory": device.allocated()["device_peak"]}


def since(device: ModuleType, before: Mapping[str, int]) -> dict[str, int]:
    """Return what it has done since `before`; memory is the most it had so far."""
    return {name: n - (before[name] if name != "memory" else 0) for name, n in counted(device).items()}


def over_gpus(told: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return sums over ranks, and the memory of the one that had most; empty on processors."""
    work = [one for one in told if one]
    if not work:
        return {}
    sums = {name: sum(one[name] for one in work) for name in work[0]}
    return {**sums, "memory": max(one["memory"] for one in work)}
