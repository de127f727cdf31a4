"""A model that one rank of a group reads and sends to all: what `[parallel] io = "broadcast"` makes of any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.io.strategy import Broadcast


@dataclass(frozen=True)
class _Values:
    """All parameters of some planes of a model, (planes, parameters, ny, nz), for `Broadcast.planes`."""

    model: ModelLike
    first: int
    last: int

    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        _, ny, nz = self.model.grid.shape3
        return self.last - self.first, len(self.model.volumes), ny, nz

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes lo ... hi - 1, counted from the first."""
        _, ny, nz = self.model.grid.shape3
        box = Box((self.first + lo, 0, 0), (self.first + hi, ny, nz))
        return np.stack([self.model.values(name, box) for name in self.model.volumes], axis=1)


class SharedModel:
    """A model whose windows one rank of a group reads for all; everything else is the model's own.

    Parameters
    ----------
    model : ModelLike
        Past `anisotropy_gate` and `as_medium`: what those return is not shared.
    reading : Broadcast
        Of the group that makes the windows.
    """

    def __init__(self, model: ModelLike, reading: Broadcast) -> None:
        self._model, self._reading = model, reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def window(self, box: Box) -> EarthModel:
        """Return the model in `box`; outside the grid the nearest value is continued. Collective over the group."""
        grid = self._model.grid
        nx, ny, nz = grid.shape3
        # what lies outside continues the first or last plane: at least that one is needed
        lo = min(max(box.lo[0], 0), nx - 1)
        hi = max(min(box.hi[0], nx), lo + 1)
        # everything that the windows of the group hold is sent to all of it
        group = self._reading.comm
        first, last = group.min(lo), group.max(hi)
        values = _Values(self._model, first, last)
        planes = self._reading.planes(values, lo - first, hi - first)
        held = grid.window(Box((lo, 0, 0), (hi, ny, nz)))
        parts = {
            name: np.ascontiguousarray(planes[:, k]).reshape(held.shape)
            for k, name in enumerate(self._model.volumes)
        }
        whole = EarthModel(held, **parts, frame=self._model.frame)  # type: ignore[arg-type]
        return whole.window(Box((box.lo[0] - lo, *box.lo[1:]), (box.hi[0] - lo, *box.hi[1:])))
