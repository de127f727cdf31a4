"""The GPU that a plan is made for: the one that is there, or one that is named to size a job elsewhere.

Its speed is what ``subsalt lab machine`` knows of it, else what is assumed of its kind; a plan says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import ConfigError
from subsalt.machine.machine_file import Machine

if TYPE_CHECKING:
    from subsalt.parallel.comm import Comm

GIB = 1 << 30

#: bytes that the driver takes of a GPU for a process, before its first array (assumed; what is free already lacks it)
CONTEXT = 500_000_000

#: part of the memory that is left alone: allocations are rounded, and other programs take a little
MARGIN = 0.02

#: seconds of starting a kernel, where it was not measured
LAUNCH = 4e-6

#: kernels of a time step: memory of three axes, fields, injection, recording, a snapshot
LAUNCHES = 8

#: bytes per second at which memory of the host is locked
PIN = 4e9


@dataclass(frozen=True)
class PlannedGpu:
    """A GPU, as a rank sees it.

    Parameters
    ----------
    name : str
        As its driver gives it, or as it was asked for.
    memory : int
        Bytes that processes may take.
    copy : float
        Bytes per second of a copy in its memory, read and written ones together.
    down, up : float
        Bytes per second to pinned memory of the host, and back.
    launch : float
        Seconds of starting a kernel.
    sharing : int
        Ranks that share it.
    context : int
        Bytes of `memory` that the driver will take for each of them; 0 when it has.
    measured : str
        Date of the figures; empty when they are assumed.
    there : bool
        It is in this machine.
    bus : str
        Its address there.
    """

    name: str
    memory: int
    copy: float
    down: float
    up: float
    launch: float = LAUNCH
    sharing: int = 1
    context: int = CONTEXT
    measured: str = ""
    there: bool = False
    bus: str = ""

    @property
    def limit(self) -> int:
        """Bytes that a rank may take, the driver's included."""
        return int((1 - MARGIN) * self.memory) // self.sharing

    def agreed(self, comm: Comm) -> PlannedGpu:
        """Return the GPU that all ranks plan with: the least memory, as many ranks on it as any has. Collective."""
        places = comm.allgather((comm.host, self.bus))
        shared = PlannedGpu.from_dict(comm.bcast(self.to_dict()))
        return replace(shared, memory=int(comm.min(self.memory)), sharing=max(map(places.count, places)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PlannedGpu:
        """Return what `to_dict` told."""
        return cls(**values)


def _kind(gib: float, copy: float, link: float) -> PlannedGpu:
    return PlannedGpu("", int(gib * GIB), copy, link, link)


#: memory that is free on an empty GPU, GiB; bytes per second of a copy: 88 % of the data sheet's, of the H200 as it was
#: measured; and of its link
KNOWN: dict[str, PlannedGpu] = {
    "b200": _kind(178, 7.0e12, 55e9),
    "h200": _kind(139, 4.3e12, 55e9),
    "h100": _kind(79, 2.9e12, 55e9),
    "h100-pcie": _kind(79, 1.76e12, 55e9),
    "a100": _kind(79, 1.8e12, 25e9),
    "a100-40": _kind(39, 1.37e12, 25e9),
    "l40s": _kind(44, 0.76e12, 25e9),
    "rtx-4090": _kind(23.5, 0.89e12, 25e9),
}

#: the GPU that is assumed when its name is not known: slow enough that no plan promises too much
UNKNOWN = _kind(16, 0.3e12, 12e9)


def named(name: str | None, memory: int | None = None, machine: Machine | None = None) -> PlannedGpu:
    """Return a GPU that need not be here.

    Parameters
    ----------
    name : str, optional
        One of `KNOWN`, or as machine.json calls it.
    memory : int, optional
        Its bytes; those of its kind when None.
    machine : Machine, optional
        With what was measured.

    Raises
    ------
    ConfigError
        When the name is not known and no memory is given (E989).
    """
    text = name or ""
    key = kind_of(text)
    measured = machine is not None and bool(machine.find("device", device=text))
    if key is None and memory is None:
        what = f"GPU {text!r} is not known" if text else "no GPU is named, and this machine has none"
        raise ConfigError(
            what, f"--gpu {', '.join(KNOWN)}; or give --gpu-memory, such as --gpu-memory 80GiB", code="E989"
        )
    like = replace(KNOWN[key] if key else UNKNOWN, name=text or "GPU")
    if memory is not None:
        like = replace(like, memory=memory)
    return with_rates(like, machine) if measured else like


def kind_of(name: str) -> str | None:
    """Return which of `KNOWN` a name such as ``NVIDIA H100 PCIe`` means; None when none."""
    words = name.lower().replace("nvidia", " ").replace("geforce", " ").replace("-", " ").split()
    for key in sorted(KNOWN, key=len, reverse=True):
        if all(part in words for part in key.split("-")):
            return key
    return None


def here(machine: Machine | None = None, sharing: int = 1) -> PlannedGpu:
    """Return the GPU of this process, whose context is made if it is not.

    Parameters
    ----------
    machine : Machine, optional
        With what was measured of it.
    sharing : int
        Ranks that use it.

    Raises
    ------
    DeviceError
        When there is none.
    """
    from subsalt.kernels import cuda_library

    device = cuda_library.chosen()
    free, _ = cuda_library.free_memory()
    key = kind_of(device.name)
    like = KNOWN[key] if key else UNKNOWN
    # what the driver has taken for this process is gone from what is free
    gpu = replace(like, name=device.name, memory=free, context=0, sharing=sharing, there=True, bus=device.bus)
    return with_rates(gpu, machine)


def of_run(device: str, machine: Machine | None = None) -> PlannedGpu | None:
    """Return the GPU that a run with ``[parallel] device`` uses in this process; None for the processor.

    Raises
    ------
    DeviceError
        When a GPU is asked for and cannot be used.
    """
    return here(machine) if kernels.is_gpu(device) else None


def with_rates(gpu: PlannedGpu, machine: Machine | None) -> PlannedGpu:
    """Return a GPU with the figures that were measured on one of its name."""
    if machine is None:
        return gpu

    def measured(what: str) -> tuple[float, str] | None:
        rows = machine.find("device", device=gpu.name, what=what)
        return (float(rows[0]["rate"]), str(rows[0].get("date", ""))) if rows else None

    copy, down, up, launch = map(measured, ("copy", "down", "up", "launch"))
    if copy is None or down is None or up is None:
        return gpu
    return replace(
        gpu,
        copy=copy[0] * 1e9,
        down=down[0] * 1e9,
        up=up[0] * 1e9,
        launch=launch[0] * 1e-6 if launch else gpu.launch,
        measured=copy[1] or "at an unknown time",
    )


@dataclass(frozen=True)
class PlannedDevice:
    """A device as it is asked for.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda", "reference"}
        As in `[parallel] device`.
    gpu : str, optional
        A GPU that need not be here (`KNOWN`).
    memory : int, optional
        Its bytes.
    """

    name: str = "cpu"
    gpu: str | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.is_elsewhere and not kernels.may_use_gpu(self.name):
            raise ConfigError(
                f"device = {self.name} and a GPU to plan for", "leave --gpu and --gpu-memory out", code="E989"
            )

    @property
    def is_elsewhere(self) -> bool:
        """Whether a GPU is named, here or not."""
        return self.gpu is not None or self.memory is not None

    def gpu_for(self, machine: Machine | None, ranks: int = 1) -> PlannedGpu | None:
        """Return the GPU to plan for, None for the processor.

        Parameters
        ----------
        machine : Machine, optional
            With what was measured.
        ranks : int
            To be started: those of one machine share its GPUs; of GPUs elsewhere every rank has one.

        Raises
        ------
        ConfigError
            When a GPU is asked for, and none is here or named (E989).
        """
        if self.is_elsewhere:
            return named(self.gpu, self.memory, machine)
        if not kernels.is_gpu(self.name):
            return None
        from subsalt.kernels import cuda_library

        there = cuda_library.availability()
        if not there.devices:
            raise ConfigError(
                f"device = cuda, but {there.why}: nothing says for which GPU to plan",
                f"name one with --gpu ({', '.join(KNOWN)}), or plan for the processor with --device cpu",
                code="E989",
            )
        return here(machine, -(-ranks // len(there.devices)))
