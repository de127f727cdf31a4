"""Model arrays of a step as 16-bit numbers: half the bytes, at an error that is known beforehand.

A packed array holds u = 0 .. 65535 and stands for ``scale u + offset``:

- ``m`` = (vp dt)^2 has offset 0 and the scale of its maximum, so that halo, padding and a free surface stay exactly
  zero. Rounded to the nearest: velocity is off by at most ``scale / (4 m)`` of itself.
- ``e`` = 1 + 2 epsilon and ``s`` = sqrt(1 + 2 delta) have a power of two as scale and a multiple of it as offset. Their
  values are float32 numbers as they are, and 1 is one of them where the range holds it: isotropic nodes stay so. e is
  rounded up and s down: s^2 <= e, the condition of stability (delta <= epsilon), survives.

Unpacking gives the same float32 numbers in NumPy and in every compiled instruction set, so that the fields are those of
float32 storage on the unpacked model, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.kernels.problem import Problem

#: the largest 16-bit number
TOP = 65535

#: rounding of each array: m to the nearest number, e up, s down
ROUND = {"m": np.rint, "e": np.ceil, "s": np.floor}


@dataclass(frozen=True)
class Scale:
    """What the 16-bit numbers u of one array stand for: ``scale u + offset``; both are float32 numbers."""

    scale: float
    offset: float = 0.0

    @classmethod
    def from_zero(cls, largest: float) -> Scale:
        """Return the scale of values from 0 to `largest`, which is not exceeded."""
        scale = np.float32(largest / TOP)
        if float(scale * np.float32(TOP)) > largest:
            scale = np.nextafter(scale, np.float32(0))
        return cls(float(scale))

    @classmethod
    def between(cls, low: float, high: float) -> Scale:
        """Return the finest power of two whose 16-bit multiples hold [low, high] and are float32 numbers."""
        # one number less: low and high are rounded outwards to multiples of the scale
        finest = max((high - low) / (TOP - 1), max(abs(low), abs(high), 1.0) * 2.0**-23)
        scale = 2.0 ** math.ceil(math.log2(finest))
        return cls(scale, math.floor(low / scale) * scale)

    def pack(self, name: str, values: NDArray) -> NDArray[np.uint16]:
        """Return the 16-bit numbers of values of the array `name`; what is positive in m stays so."""
        u = ROUND[name]((np.asarray(values, dtype=np.float64) - self.offset) / self.scale)
        if name == "m":
            u = np.maximum(u, np.asarray(values) > 0)
        if not (u.min(initial=0) >= 0 and u.max(initial=0) <= TOP):
            raise ConfigError(
                f"values of {name} lie outside {self.offset:g} to {self.offset + TOP * self.scale:g}, which the "
                "16-bit numbers stand for",
                "make the scales from the whole model",
            )
        return u.astype(np.uint16)

    def unpack(self, u: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Return the values as float32: one rounding for m, none for e and s."""
        return np.float32(self.scale) * u.astype(np.float32) + np.float32(self.offset)


def pack(problem: Problem) -> None:
    """Pack the float32 parameters of a problem in place, with scales from its own values.

    For benchmarks and tests; a survey takes its scales from the whole model (`subsalt.physics.storage`).

    Raises
    ------
    ConfigError
        For TTI, whose step computes more than it reads.
    """
    if problem.medium == "tti":
        raise ConfigError("model_storage = 'u16' with a TTI medium", "use f32", code="E123")
    for name, padded in list(problem.params.items()):
        inner = problem.layout.view(padded).astype(np.float64)
        scale = (
            Scale.from_zero(inner.max())
            if name == "m"
            else Scale.between(float(inner.min()), float(inner.max()))
        )
        problem.scales[name] = scale
        problem.params[name] = problem.layout.pad(scale.pack(name, inner), np.uint16)
    problem.cache.clear()
