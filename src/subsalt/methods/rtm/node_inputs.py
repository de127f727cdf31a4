"""Inputs to the choices of a run: what is asked for, how fast a node and its folders are, and the disk there is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.plan.gpu import LAUNCHES, PlannedGpu
from subsalt.plan.rates import Parts, Rates, step_seconds
from subsalt.propagation.domain import Domain

#: bytes per second to and from a disk that was not measured: a slow one, so that it is not taken for memory
ASSUMED_DISK = 1.5e8


@dataclass(frozen=True)
class NodeInputs:
    """Inputs to the choices of a run by node, equal on all ranks; `for_shot` makes those of a rank of them."""

    #: `[checkpoint]`
    options: CheckpointOptions
    #: rates of a node, for time steps; those of `gpu` where there is one
    rates: Rates
    #: bytes per second of a node to and from the folders of its snapshots
    put: float = ASSUMED_DISK
    get: float = ASSUMED_DISK
    #: bytes of scratch that a rank may take
    disk: int = 0
    #: ranks of a node
    sharing: int = 1
    #: the folders, for messages
    where: tuple[str, ...] = ()
    #: computes, where there is one
    gpu: PlannedGpu | None = None

    def for_shot(
        self, parts: Sequence[Domain], memory: int = 0, device: int = 0, pin: float = math.inf
    ) -> ChoiceInputs:
        """Return the inputs of one rank for a shot of which ranks have these parts, and these bytes of room."""
        gpu, per_node = self.gpu, self.sharing
        sharing = per_node if gpu is None else gpu.sharing
        step, copy = sharing * step_seconds(parts, self.rates), self.rates.parts.copy / sharing
        inputs = ChoiceInputs(
            self.options,
            memory,
            self.disk,
            step,
            self.put / per_node,
            self.get / per_node,
            copy=copy,
            pin=pin,
        )
        if gpu is None:
            return inputs
        step = max(step, LAUNCHES * gpu.launch)
        return replace(inputs, step=step, device=device, down=gpu.down / sharing, up=gpu.up / sharing)

    def among(self, at_once: int) -> NodeInputs:
        """Return the inputs of one of the shots that a rank computes side by side."""
        if at_once == 1:
            return self
        memory = self.options.memory
        options = replace(self.options, memory=None if memory is None else memory // at_once)
        return replace(self, options=options, disk=self.disk // at_once, sharing=self.sharing * at_once)

    def settled(self, choice: Choice) -> NodeInputs:
        """Return this with one class of numerics: what the largest shot takes decides for all."""
        if self.options.strategy != "auto" or self.options.exact or not self.options.lossless:
            return self
        boundary = choice.scheme.strategy == "boundary"
        options = (
            replace(self.options, strategy="boundary") if boundary else replace(self.options, exact=True)
        )
        return replace(self, options=options)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for other ranks."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> NodeInputs:
        """Return the inputs that `to_dict` made plain."""
        rates, gpu = plain["rates"], plain["gpu"]
        whole = {
            "options": CheckpointOptions(**plain["options"]),
            "rates": Rates(**rates | {"parts": Parts(**rates["parts"])}),
            "where": tuple(plain["where"]),
            "gpu": None if gpu is None else PlannedGpu.from_dict(gpu),
        }
        return cls(**{**plain, **whole})
