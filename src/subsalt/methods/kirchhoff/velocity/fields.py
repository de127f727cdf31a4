"""A quantity of two-way time anywhere on the map: what velocities and eta are made of.

A field is pure: its value at a point depends on the point and on the time axis alone, not on the other points that are
asked for with it, so that blocks of output of any shape see the same bits. All are float64 and built of ``+ - * /`` and
square roots, which are exactly rounded everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.rms import CONVERSIONS

Array = NDArray[np.float64]


class Field(ABC):
    """Values by point and two-way time."""

    #: where it comes from, for messages
    source: str = ""

    @abstractmethod
    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt) at map positions (n, 2), m, and the times of the axis."""

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {"source": self.source}


class Constant(Field):
    """One value everywhere.

    Parameters
    ----------
    value : float
        The value.
    """

    def __init__(self, value: float, source: str = "the job") -> None:
        self.value, self.source = float(value), source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        return np.full((len(points), time.nt), self.value)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {"form": "constant", "value": self.value, "source": self.source}


class Profile(Field):
    """One function of time for the whole map.

    Parameters
    ----------
    times : ndarray, (m,)
        Nodes, s, ascending.
    values : ndarray, (m,)
        Values there; linear in between, constant beyond.
    kind : str
        A key of `velocity.rms.CONVERSIONS`: what the values are; "rms" takes them as they are.
    """

    def __init__(self, times: Array, values: Array, kind: str = "rms", source: str = "the job") -> None:
        self.times = np.array(times, dtype=np.float64)
        self.values = np.array(values, dtype=np.float64)
        self.kind, self.source = kind, source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        row = CONVERSIONS[self.kind](self.times, self.values, time.values())
        return np.repeat(row[None], len(points), axis=0)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return {
            "form": "function of time",
            "times": self.times.size,
            "kind": self.kind,
            "source": self.source,
        }


class Scaled(Field):
    """Another field times a number.

    Parameters
    ----------
    field : Field
        The other field.
    factor : float
        The number.
    """

    def __init__(self, field: Field, factor: float) -> None:
        self.field, self.factor, self.source = field, float(factor), field.source

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        return self.field.sample(points, time) * self.factor

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        return self.field.describe() | {"scale": self.factor}
