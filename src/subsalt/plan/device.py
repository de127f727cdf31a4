"""What a plan is asked to compute on: the device of the job, another one, or a GPU of some machine elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt import kernels
from subsalt.errors import ConfigError
from subsalt.machine.machine_file import Machine
from subsalt.plan import gpu as gpus
from subsalt.plan.gpu import Gpu


@dataclass(frozen=True)
class Device:
    """A device as it is asked for.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda", "reference"}
        As in `[parallel] device`.
    gpu : str, optional
        A GPU that need not be here (`subsalt.plan.gpu.KNOWN`).
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

    def gpu_for(self, machine: Machine | None, ranks: int = 1) -> Gpu | None:
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
            return gpus.named(self.gpu, self.memory, machine)
        if not kernels.is_gpu(self.name):
            return None
        from subsalt.kernels.cuda import library

        there = library.availability()
        if not there.devices:
            raise ConfigError(
                f"device = cuda, but {there.why}: nothing says for which GPU to plan",
                f"name one with --gpu ({', '.join(gpus.KNOWN)}), or plan for the processor with --device cpu",
                code="E989",
            )
        return gpus.here(machine, -(-ranks // len(there.devices)))
