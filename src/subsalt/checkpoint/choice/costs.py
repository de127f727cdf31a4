"""What a way to do a shot costs: bytes by kind of memory, and seconds, of steps and of what does not hide behind them.

::

    seconds = (source steps + receiver steps) step + copies state / copy + max(0, bytes / rate - what it hides behind)

On a GPU the samples that lie on the host go over the link while steps are done; states that lie there stop them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.footprint import Footprint, Sizes, disk_traffic, footprint, link_traffic
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Counts, counts_of


@dataclass(frozen=True)
class Limits:
    """What a rank may take for snapshots and states, bytes.

    Parameters
    ----------
    memory, disk : int
        For everything that a footprint counts.
    device : int
        Of the memory of a GPU.
    """

    memory: int
    disk: int
    device: int = 0


@dataclass(frozen=True)
class Rates:
    """How fast a rank is.

    Parameters
    ----------
    step : float
        Seconds of a time step of one wavefield.
    put, get : float
        Bytes per second to and from the folders of its snapshots.
    copy : float
        Bytes per second of a copy in memory, that of the GPU where wavefields are in it.
    kernels, storage : str
        Where the numbers come from: ``"measured"``, or ``"assumed"``.
    down, up : float
        Bytes per second over the link from a GPU to pinned memory and back.
    pin : float
        Bytes of pinned memory per second of a shot: of making it, over the shots that use it.
    """

    step: float
    put: float
    get: float
    copy: float = 4e9
    kernels: str = "assumed"
    storage: str = "assumed"
    down: float = math.inf
    up: float = math.inf
    pin: float = math.inf


@dataclass(frozen=True)
class Candidate:
    """One way to do a shot.

    Parameters
    ----------
    name : str
        Strategy and place.
    scheme : Scheme or None
        None when there is none at all.
    counts : Counts or None
        Of the scheme.
    need : Footprint
        Bytes of memory and disk.
    seconds : float
        Predicted, of time steps and what comes with snapshots and states.
    problem : str
        Why it is not possible; empty when it is.
    link : tuple of int
        Bytes of snapshots and states that go from a GPU to the host, and back.
    """

    name: str
    scheme: Scheme | None
    counts: Counts | None
    need: Footprint
    seconds: float
    problem: str = ""
    link: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "name": self.name,
            "possible": not self.problem,
            "problem": self.problem,
            "seconds": self.seconds if self.scheme else None,
            "memory_bytes": self.need.memory,
            "disk_bytes": self.need.disk,
            "device_bytes": self.need.device,
            "link_bytes": list(self.link),
            "scheme": scheme_facts(self.scheme) if self.scheme else None,
            "counts": vars(self.counts).copy() if self.counts else None,
        }


def name_of(scheme: Scheme) -> str:
    """Return strategy and place of a scheme, as candidates are called."""
    place: str = scheme.snapshots_on
    if scheme.strategy == "revolve":
        moves = scheme.moves
        if moves.disk:
            place = "both" if moves.memory else "disk"
        elif place == "device" and scheme.device_slots < scheme.memory_slots:
            place = "memory"
    return f"{scheme.strategy}, {place}"


def scheme_facts(scheme: Scheme) -> dict[str, Any]:
    """Return a scheme as plain values."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(scheme).items()}


def not_hidden(scheme: Scheme, sizes: Sizes, rates: Rates, rate: float) -> float:
    """Return the seconds of a state on its way at `rate` that are not hidden behind the steps of a block."""
    return max(0.0, sizes.state / rate - scheme.block * scheme.image_step * rates.step)


def costed(name: str, scheme: Scheme, sizes: Sizes, rates: Rates) -> Candidate:
    """Return a candidate with its counts, bytes and seconds."""
    counts = counts_of(scheme)
    source, receivers = counts.source_steps * rates.step, counts.receiver_steps * rates.step
    # states are another matter: their costs go with the schedule
    streams = replace(counts, states_stored_disk=0, states_loaded_disk=0)
    put, get = (
        b / r for b, r in zip(disk_traffic(scheme, streams, sizes), (rates.put, rates.get), strict=True)
    )
    link = link_traffic(scheme, counts, sizes)
    put, get = max(put, link.samples_down / rates.down), max(get, link.samples_up / rates.up)
    seconds = source + receivers + max(0.0, put - source) + max(0.0, get - receivers)
    copies = counts.states_stored_memory + counts.states_loaded_memory - link.host_states
    seconds += copies * sizes.state / rates.copy
    # nothing is computed meanwhile
    seconds += link.states_down / rates.down + link.states_up / rates.up
    write, read = (not_hidden(scheme, sizes, rates, rate) for rate in (rates.put, rates.get))
    seconds += counts.states_stored_disk * write + counts.states_loaded_disk * read
    need = footprint(scheme, sizes)
    seconds += sum(size for name, size in need.arrays.items() if name.startswith("pinned")) / rates.pin
    return Candidate(name, scheme, counts, need, seconds, link=(link.down, link.up))
