"""All sources and receivers of a survey against the box of a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid

Points = NDArray[np.float64]

#: positions this far outside, in cells, still count as on the edge: coordinates are rounded to centimetres
SLACK = 1e-3


@dataclass
class Layout:
    """All sources and receivers of a survey against the box of a grid; `slack` in m counts as on the edge."""

    src: Points
    rcv: Points
    shot_ids: NDArray[np.int64]
    rcv_shot: NDArray[np.int64]
    low: Points
    high: Points
    slack: Points
    axes: tuple[int, ...]

    @classmethod
    def of(cls, survey: Survey, grid: Grid) -> Layout:
        """Collect the positions; `axes` are the horizontal ones."""
        ids = np.array([s.id for s in survey.shots], dtype=np.int64)
        counts = [len(s.rcv) for s in survey.shots]
        src = np.stack([s.src for s in survey.shots])
        rcv = np.concatenate([s.rcv for s in survey.shots]) if sum(counts) else np.zeros((0, 3))
        spacing = np.array(grid.spacing3)
        first = np.array(grid.origin3)
        last = first + (np.array(grid.shape3) - 1) * spacing
        axes = (0,) if grid.ndim == 2 else (0, 1)
        return cls(src, rcv, ids, np.repeat(ids, counts), first, last, SLACK * spacing, axes)

    def outside(self, points: Points) -> NDArray[np.bool_]:
        """Return which points lie outside horizontally."""
        out = np.zeros(len(points), bool)
        for i in self.axes:
            under, over = self.low[i] - points[:, i], points[:, i] - self.high[i]
            out |= (under > self.slack[i]) | (over > self.slack[i])
        return out

    def inside_share(self, points: Points) -> float:
        """Return the share of points inside horizontally."""
        return 1.0 - float(self.outside(points).mean()) if len(points) else 0.0

    def edge(self, points: Points) -> str:
        """Return how far points reach beyond which edges, such as ``beyond x_max by 640 m``."""
        parts = []
        for i in self.axes:
            under, over = (
                float((self.low[i] - points[:, i]).max()),
                float((points[:, i] - self.high[i]).max()),
            )
            if under > self.slack[i]:
                parts.append(f"beyond {'xy'[i]}_min by up to {under:.4g} m")
            if over > self.slack[i]:
                parts.append(f"beyond {'xy'[i]}_max by up to {over:.4g} m")
        return ", ".join(parts)
