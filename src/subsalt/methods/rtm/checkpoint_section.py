"""`[checkpoint]` of a job file: how the source wavefield is recovered, and where its snapshots and states lie."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, field_validator, model_validator

from subsalt.checkpoint.options import CheckpointOptions, Compression, Keep, Place, Strategy
from subsalt.errors import ConfigError
from subsalt.job.units import AutoInt, AutoMemory, Section, key, options_from


def _read_count(value: object) -> object:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigError(f'{value!r} is neither a number of states from 0 nor "auto"', code="E104")


def _read_steps(value: object) -> object:
    if value == "off" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ConfigError(f'{value!r} is neither a positive number of time steps nor "off"', code="E104")


AutoCount = Annotated[
    int | Literal["auto"],
    BeforeValidator(_read_count),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"const": "auto"}]}),
]
OffSteps = Annotated[
    int | Literal["off"],
    BeforeValidator(_read_steps),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "off"}]}),
]

#: key of the option of a name
_key = partial(key, CheckpointOptions)


class CheckpointSection(Section):
    """How the source wavefield is recovered when the receiver wavefield needs it."""

    strategy: Strategy = _key("strategy")
    place: Place = _key("place")
    slots: AutoCount = _key("slots", "auto")
    disk_slots: AutoCount = _key("disk_slots", "auto")
    block: AutoInt = _key("block", "auto")
    memory: AutoMemory = _key("memory", "auto")
    device_memory: AutoMemory | None = _key("device_memory")
    directories: list[str] = _key("directories", [])
    threads: AutoInt = _key("threads", "auto")
    direct: bool = _key("direct")
    compression: Compression = _key("compression")
    tolerance: float = _key("tolerance", gt=0, lt=1)
    exact: bool = _key("exact", True)
    restart_every: OffSteps = _key("restart_every", "off")
    keep: Keep = _key("keep")

    @model_validator(mode="before")
    @classmethod
    def _asking_for_rounding_is_enough(cls, given: Any) -> Any:
        """Boundary and zfp imply exact = false; f16 needs it in the job."""
        if isinstance(given, dict) and "exact" not in given:
            inexact = given.get("strategy") == "boundary" or given.get("compression") == "zfp"
            return {**given, "exact": not inexact}
        return given

    @field_validator("directories")
    @classmethod
    def _each_once(cls, value: list[str]) -> list[str]:
        twice = sorted({d for d in value if value.count(d) > 1})
        if twice:
            raise ConfigError(
                f"directories names {twice[0]!r} twice",
                "name every folder once: each gets its share",
                code="E104",
            )
        if any(not d.strip() for d in value):
            raise ConfigError(
                "directories names an empty text", 'write "." for the folder of the job', code="E104"
            )
        return value

    @model_validator(mode="after")
    def _nothing_contradicts(self) -> CheckpointSection:
        self.options(tuple(self.directories))
        return self

    def options(self, directories: tuple[str, ...]) -> CheckpointOptions:
        """Return the section in the form of the program; `directories` with the folder of the job before them."""
        steps = 0 if self.restart_every == "off" else self.restart_every
        return options_from(CheckpointOptions, self, directories=directories, restart_every=steps)

    def of_the_image(self) -> dict[str, object]:
        """Return the keys that bits of the image depend on; empty when everything comes back as it was."""
        lossy: dict[str, object] = {}
        if self.compression != "none":
            lossy["compression"] = self.compression
        if self.compression == "zfp":
            lossy["tolerance"] = self.tolerance
        if self.strategy == "boundary":
            lossy["strategy"] = self.strategy
        return lossy
