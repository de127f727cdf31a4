"""What a plan knows of snapshots and states: what is asked for, how fast a node is, and the disk there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from subsalt.checkpoint.choice.choose import Choice
from subsalt.checkpoint.choice.footprint import Rates as ShotRates
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.plan.gpu import LAUNCHES, Gpu
from subsalt.plan.rates import Parts, Rates, step_seconds
from subsalt.propagation.domain import Domain

#: bytes per second to and from a disk that was not measured: a slow one, so that it is not taken for memory
ASSUMED_DISK = 1.5e8


@dataclass(frozen=True)
class Checkpointing:
    """What decides between strategies, alike on all ranks.

    Parameters
    ----------
    options : CheckpointOptions
        `[checkpoint]`.
    rates : Rates
        Of a node, for time steps.
    put, get : float
        Bytes per second of a node to and from the folders of its snapshots.
    disk : int
        Bytes of scratch that a rank may take.
    sharing : int
        Ranks of a node.
    storage : str
        ``"measured"`` or ``"assumed"``.
    where : tuple of str
        The folders, for messages.
    gpu : Gpu or None
        What computes; `rates` are its own then.
    """

    options: CheckpointOptions
    rates: Rates
    put: float = ASSUMED_DISK
    get: float = ASSUMED_DISK
    disk: int = 0
    sharing: int = 1
    storage: str = "assumed"
    where: tuple[str, ...] = ()
    gpu: Gpu | None = None

    def of_shot(self, parts: Sequence[Domain]) -> ShotRates:
        """Return the rates of one rank for a shot of which ranks have these parts."""
        sharing = self.sharing if self.gpu is None else self.gpu.sharing
        step = sharing * step_seconds(parts, self.rates)
        kernels = "measured" if self.rates.n else "assumed"
        put, get, copy = self.put / self.sharing, self.get / self.sharing, self.rates.parts.copy / sharing
        rates = ShotRates(step, put, get, copy, kernels=kernels, storage=self.storage)
        if self.gpu is None:
            return rates
        step = max(step, LAUNCHES * self.gpu.launch)
        return replace(rates, step=step, down=self.gpu.down / sharing, up=self.gpu.up / sharing)

    def settled(self, choice: Choice) -> Checkpointing:
        """Return this with one class of numerics: what the largest shot takes decides for all."""
        if self.options.strategy != "auto" or self.options.exact or not self.options.lossless:
            return self
        boundary = choice.scheme.strategy == "boundary"
        options = (
            replace(self.options, strategy="boundary") if boundary else replace(self.options, exact=True)
        )
        return replace(self, options=options)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for other ranks and for what is kept of a run."""
        return {
            "options": {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self.options).items()},
            "rates": asdict(self.rates),
            **{k: getattr(self, k) for k in ("put", "get", "disk", "sharing", "storage", "where")},
            "gpu": None if self.gpu is None else self.gpu.to_dict(),
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Checkpointing:
        """Return what `to_dict` told, for the other ranks."""
        options: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in told["options"].items()
        }
        rest = {k: told[k] for k in ("put", "get", "disk", "sharing", "storage")}
        rates = Rates(**{**told["rates"], "parts": Parts(**told["rates"]["parts"])})
        gpu = None if told["gpu"] is None else Gpu.from_dict(told["gpu"])
        return cls(CheckpointOptions(**options), rates, **rest, where=tuple(told["where"]), gpu=gpu)
