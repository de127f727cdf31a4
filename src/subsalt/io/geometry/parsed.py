"""The content of one file of positions, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.geometry.headers import MapFacts
from subsalt.io.geometry.spreads import Relations
from subsalt.io.geometry.stations import Stations


@dataclass
class ReceiverGroups:
    """Receivers listed under the shot that they recorded, as P1/90 and P1/11 have them.

    Parameters
    ----------
    shot : ndarray, (n,), int64
        Row of the source in the same file.
    streamer : ndarray, (n,), int32
        Number of the streamer.
    group : ndarray, (n,), int32
        Receiver group of the streamer.
    xyz : ndarray, (n, 3), float64
        Map coordinates, z positive down, m.
    number : ndarray, (n,), int64
        Line of the file.
    """

    shot: NDArray[np.int64]
    streamer: NDArray[np.int32]
    group: NDArray[np.int32]
    xyz: NDArray[np.float64]
    number: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.shot)

    @classmethod
    def join(cls, parts: list[ReceiverGroups]) -> ReceiverGroups:
        """Return the receivers of several tables, in order; of one at least."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


@dataclass
class Parsed:
    """Points, relations and receiver groups of one file, and what is wrong with it."""

    facts: MapFacts
    sources: Stations
    receivers: Stations
    relations: Relations | None
    groups: ReceiverGroups | None
    findings: list[Finding] = field(default_factory=list)
