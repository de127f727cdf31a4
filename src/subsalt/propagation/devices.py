"""The device of each rank: all ranks choose it together, before anything is allocated.

A run is computed by one kind of device. Ranks on CPUs would get the same bits as ranks on GPUs, but the latter would
wait about fifty times longer than they compute. So the ranks use GPUs when every one of them has one, else the CPU,
unless the job names GPUs.

A rank takes the visible GPU that the fewest ranks before it on its node have taken: rank by rank where all see all
GPUs, its own where the launcher gives each rank one (CUDA_VISIBLE_DEVICES, Slurm's --gpus-per-task).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from subsalt import kernels
from subsalt.errors import DeviceError, Finding, SubsaltError
from subsalt.host import ALL_LEVELS
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels.device import Device
from subsalt.parallel.comm import Comm
from subsalt.parallel.mpi_library import reaches_gpus


@dataclass(frozen=True)
class Seat:
    """The GPU of a rank.

    Parameters
    ----------
    host : str
        Node of the rank.
    number : int
        Number of the GPU among those that the rank may see.
    bus : str
        PCI bus of the GPU, the same for all ranks of the node.
    name : str
        Name of the GPU, as its driver gives it.
    sharing : int
        Ranks of the node that use it.
    """

    host: str
    number: int
    bus: str
    name: str
    sharing: int = 1


@dataclass(frozen=True)
class Gpus:
    """The GPUs of a run.

    Parameters
    ----------
    seats : tuple of Seat
        GPU of every rank.
    idle : dict of int
        Number of unused GPUs, by node.
    """

    seats: tuple[Seat, ...]
    idle: dict[str, int]

    @classmethod
    def of(cls, by_rank: Sequence[dict[str, Any]]) -> Gpus:
        """Return them from what every rank says of its GPUs (`look`); each must have one."""
        taken: Counter[tuple[str, str]] = Counter()
        seen: dict[str, set[str]] = {}
        seats = []
        for one in by_rank:
            host, here = one["host"], one["gpus"]
            seen.setdefault(host, set()).update(bus for bus, _ in here)
            number = min(range(len(here)), key=lambda i: (taken[host, here[i][0]], i))
            bus, name = here[number]
            taken[host, bus] += 1
            seats.append(Seat(host, number, bus, name))
        shared = tuple(replace(s, sharing=taken[s.host, s.bus]) for s in seats)
        idle = {host: sum(not taken[host, bus] for bus in buses) for host, buses in seen.items()}
        return cls(shared, {host: n for host, n in idle.items() if n})

    def findings(self) -> list[Finding]:
        """Return findings on shared and on idle GPUs."""
        out = []
        taken = Counter((s.host, s.bus) for s in self.seats)
        for host in dict.fromkeys(s.host for s in self.seats):
            ranks = [n for (h, _), n in taken.items() if h == host]
            if max(ranks) > 1:
                said = f"{sum(ranks)} ranks share {_count(len(ranks), 'GPU')} of {host}, memory included"
                out.append(Finding("W992", "warning", said, f"start {_count(len(ranks), 'rank')} there"))
            if self.idle.get(host):
                gpus = len(ranks) + self.idle[host]
                said = f"{self.idle[host]} of {gpus} GPUs of {host} idle"
                out.append(Finding("W993", "warning", said, f"start {gpus} ranks there"))
        return out

    def facts(self) -> dict[str, Any]:
        """Return the facts of the GPUs for reports."""
        return {
            "gpus": [asdict(s) for s in self.seats],
            "idle_gpus": sum(self.idle.values()),
            "cuda_aware": reaches_gpus().yes,
        }


@dataclass
class _Settled:
    """The last decision of the ranks."""

    device: str = ""
    rank: int = 0
    gpus: Gpus | None = None
    error: DeviceError | None = None


_settled = _Settled()


def gpus() -> Gpus | None:
    """Return the GPUs of the run; None on CPUs, and before the ranks have decided."""
    return _settled.gpus


def seat() -> Seat | None:
    """Return the GPU of this rank; None on a CPU, and before the ranks have decided."""
    return None if _settled.gpus is None else _settled.gpus.seats[_settled.rank]


def findings() -> list[Finding]:
    """Return findings on shared and on idle GPUs of the run, equal on all ranks."""
    return [] if _settled.gpus is None else _settled.gpus.findings()


def no_gpu(device: str) -> list[Finding]:
    """Return why a job computes on the processor although there is something of a GPU; nothing where there is none."""
    try:
        choice = kernels.chosen(device)
    except SubsaltError:
        return []  # reported where the kernels are requested
    if not choice.note:
        return []
    return [
        Finding(
            "W980",
            "warning",
            f"no GPU is used: {choice.note}",
            f'{choice.fix}; [parallel] device = "cpu" silences this',
        )
    ]


def slower_kernels(device: str) -> list[Finding]:
    """Return that the kernels of this build use less than this processor has; nothing where they do not compute."""
    from subsalt.kernels import cpu

    try:
        said = cpu.is_slower() if kernels.is_cpu(device) else ""
    except SubsaltError:
        return []  # reported where the kernels are requested
    return [Finding("W707", "warning", said, ALL_LEVELS)] if said else []


def settle(world: Comm, device: str) -> None:
    """Decide where all ranks compute: what ``"auto"`` means here, and the GPU of each. Collective; raises nothing.

    Parameters
    ----------
    world : Comm
        All ranks.
    device : str
        Device of the job: ``"auto"``, ``"cuda"``, ``"cpu"`` or ``"reference"``.
    """
    global _settled
    _settled = _Settled(device, world.rank)
    kernels.decide(None)
    if not kernels.may_use_gpu(device):
        return
    by_rank = look(world, device)
    without = [r for r, one in enumerate(by_rank) if not one["gpus"]]
    if not without:
        from subsalt.kernels import cuda_library

        _settled.gpus = Gpus.of(by_rank)
        try:
            cuda_library.choose(_settled.gpus.seats[world.rank].number)
            cuda_library.begin()
        except DeviceError as error:  # one of an earlier run is in use
            _settled.error = error
    elif len(without) < world.size:
        first = by_rank[without[0]]
        said = (
            f"{len(without)} of {world.size} ranks without GPU: rank {without[0]} on {first['host']} "
            f"({first['why'] or 'switched off'})"
        )
        start = "start ranks only where there are GPUs (srun --gpus-per-task=1)"
        _settled.error = DeviceError(
            f"device = cuda, but {said}", f"{start}, or use device = auto", code="E991"
        )
        kernels.decide(kernels.Chosen("cpu", said, start))


def describe(device: str) -> dict[str, Any]:
    """Return the facts of the device from its kernels.

    Raises
    ------
    DeviceError
        When GPUs are requested and no rank has one (E980 to E983), or not every rank (E991); on all ranks.
    """
    if kernels.requires_gpu(device) and _settled.device == device and _settled.error is not None:
        raise _settled.error
    facts: dict[str, Any] = kernels.get(device).describe()
    return facts


def prepare(world: Comm, device: str, threads: int | None) -> Device:
    """Return the kernels that all ranks compute with; on GPUs, bound to the GPU of this rank. Collective.

    Parameters
    ----------
    world : Comm
        All ranks.
    device : str
        Device of the job.
    threads : int or None
        Threads, as for `kernels.prepare`.

    Raises
    ------
    DeviceError
        As `describe`, or when a GPU cannot be used, for example in exclusive mode.
    ParallelError
        When the setting of messages between GPUs is wrong (E992).
    """
    settle(world, device)
    remember_tiles()
    with world.together():
        describe(device)
        module = kernels.prepare(device, threads)
        if _settled.gpus is not None:
            from subsalt.kernels import cuda_library

            cuda_library.library()
            reaches_gpus()  # a wrong setting is said now
        return module


def look(world: Comm, device: str = "cuda") -> list[dict[str, Any]]:
    """Return the facts of the GPUs of every rank; collective.

    Parameters
    ----------
    device : {"auto", "cuda"}
        With "auto", a rank that would not use its GPU by itself has none.
    """
    from subsalt.kernels import cuda_library

    available = cuda_library.availability()
    seen = [[g.bus, g.name] for g in available.devices] if kernels.is_gpu(device) else []
    return world.allgather({"host": world.host, "gpus": seen, "why": available.why})


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
