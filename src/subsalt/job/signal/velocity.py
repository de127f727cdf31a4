"""A velocity that grows with time, as steps of `[[signal]]` take it: a number, or times and rms velocities."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from subsalt.errors import ConfigError
from subsalt.job import units
from subsalt.job.units import Section, Time, Velocity


class RmsVelocitySection(Section):
    """Rms velocity over two-way time, linear between its times and constant outside."""

    t: list[Time] = Field(min_length=1, description="times, growing")
    v: list[Velocity] = Field(min_length=1, description="rms velocity at these times")

    @model_validator(mode="after")
    def _of_one_length(self) -> RmsVelocitySection:
        if len(self.t) != len(self.v):
            raise ConfigError(
                f"{len(self.t)} times t, but {len(self.v)} velocities v",
                "give one velocity per time",
                code="E104",
            )
        if any(b <= a for a, b in zip(self.t, self.t[1:], strict=False)):
            raise ConfigError(f"times t = {self.t} do not grow", "sort them", code="E104")
        return self

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the velocity, m/s, at times, s."""
        # as products and sums in one order: np.interp may differ in the last bit from one processor to another
        knots, values = np.array(self.t), np.array(self.v)
        if len(knots) == 1:
            return np.full(len(t), values[0])
        i = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
        part = np.clip((t - knots[i]) / (knots[i + 1] - knots[i]), 0.0, 1.0)
        return values[i] + part * (values[i + 1] - values[i])

    def __str__(self) -> str:
        low, high = min(self.v), max(self.v)
        return f"{low:g} m/s" if low == high else f"{low:g} to {high:g} m/s"


def _read(value: Any) -> Any:
    if isinstance(value, dict | RmsVelocitySection):
        return value
    speed = units.parse(value, "velocity")
    if speed <= 0:
        raise ConfigError(f"{value!r} must be above 0", "give a velocity in m/s", code="E104")
    return {"t": [0.0], "v": [speed]}


#: a number, or a table of times and velocities
AnyVelocity = Annotated[RmsVelocitySection, BeforeValidator(_read)]
