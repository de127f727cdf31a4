"""Inputs to the choice of a scheme: what is asked for, and the room and the speed of a rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import ConfigError


@dataclass(frozen=True)
class ChoiceInputs:
    """Inputs to the choice besides the sizes of the shot, equal on all ranks."""

    #: `[checkpoint]`
    options: CheckpointOptions
    #: bytes of memory and of scratch that snapshots and states of a rank may take
    memory: int
    disk: int
    #: seconds of a time step of one wavefield
    step: float
    #: bytes per second to and from the folders of snapshots
    put: float
    get: float
    #: bytes of the memory of a GPU that they may take
    device: int = 0
    #: bytes per second of a copy in memory, that of the GPU where wavefields are in it
    copy: float = 4e9
    #: bytes per second over the link from a GPU to pinned memory and back
    down: float = math.inf
    up: float = math.inf
    #: bytes of pinned memory per second of a shot: of making it, over the shots that use it
    pin: float = math.inf

    def within(self, *, on_device: bool) -> ChoiceInputs:
        """Return the inputs with the room that the options leave, and the place that they mean on this device.

        Raises
        ------
        ConfigError
            When snapshots in 16 bits are asked for on a GPU.
        """
        options, memory, device = self.options, self.memory, self.device
        if options.halved and on_device:
            raise ConfigError(
                'compression = "f16" is for snapshots that a processor makes, and the wavefields are on a GPU',
                'leave compression out, or set [parallel] device = "cpu"',
                code="E664",
            )
        if options.memory is not None:
            memory = min(memory, options.memory)
        if options.device_memory is not None:
            device = min(device, options.device_memory)
        if options.place == "device" and not on_device:
            # the same job on a processor: its memory is that of the host
            options = replace(options, place="memory")
        return replace(self, options=options, memory=memory, device=device)
