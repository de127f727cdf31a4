"""A shot in a uniform medium, recorded 40 shortest wavelengths away: its numbers, made from NumPy alone.

Both sides import this file. The box is closed, without an absorbing layer on either side: it is so large that nothing
comes back from its walls while the record is looked at.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

#: peak frequency of the wavelet, Hz; velocity along the axis of symmetry, m/s, which is the slowest
F0, VP = 20.0, 2000.0
#: wavelength at 2.5 F0, m, and distance of the receivers
SHORTEST = VP / (2.5 * F0)
FAR = 40 * SHORTEST
#: delay of the peak of the wavelet, and what is looked at of a record after the traveltime, s
DELAY, TAIL = 1.5 / F0, 2.4 / F0
#: sampling interval of the records, s
DT = 0.002
#: before the inverse transform of time dispersion waves of 2.5 F0 are early by this factor at the largest time step,
#: 2.8 ms: 1 / sqrt(1 - (2.5 pi F0 dt)^2)
EARLY = 1.12
#: from the source to the walls behind it, from the farthest receivers to those beyond, in shortest wavelengths along
#: the axis of symmetry. No echo comes before a modelling ends, which is 2 / F0 after the record, however early: what a
#: trace ends in is spread by the inverse transform
BEHIND, BEYOND = 20.0, 8.0
#: epsilon = delta, tilt and azimuth of the axis of symmetry: with another delta a source in an anisotropic medium emits
#: the slow mode of the equations too, which no exact solution of the P wave has
MEDIA = {
    "iso": (0.0, 0.0, 0.0),
    "vti": (0.1, 0.0, 0.0),
    "tti": (0.1, math.radians(40), math.radians(25)),
}
#: directions from the source to the receivers: axes, diagonals of faces and of the cube, and between them
WAYS = np.array(
    [
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 1, 0),
        (1, 0, 1),
        (0, 1, 1),
        (1, 1, 1),
        (2, 1, 1),
        (1, 2, 1),
        (1, 1, 2),
    ],
    dtype=np.float64,
)


def axis_of(medium: str) -> np.ndarray:
    """Return the axis of symmetry, a unit vector."""
    _, theta, phi = MEDIA[medium]
    return np.array([math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), math.cos(theta)])


def traveltimes(medium: str, offset: np.ndarray) -> np.ndarray:
    """Return the times, s, that waves take for vectors (n, 3), m: those of an ellipse."""
    along = (offset @ axis_of(medium)) ** 2
    across = (offset**2).sum(axis=1) - along
    return np.sqrt(across / (1 + 2 * MEDIA[medium][0]) + along) / VP


def offsets(medium: str) -> np.ndarray:
    """Return receiver minus source positions, m, (10, 3): 40 shortest wavelengths of every direction."""
    return WAYS * (FAR / VP / traveltimes(medium, WAYS))[:, None]


@dataclass(frozen=True)
class Setting:
    """How a side computes.

    Parameters
    ----------
    medium : str
        A name in `MEDIA`.
    order : int
        In space.
    spacing : float
        Of the grid, m.
    folder : str
        For the volumes of the model.
    scheme : str
        Of a tilted medium, by the peer.
    dt : float
        Of the peer, s; ours chooses its own.
    nt : int
        Steps of the peer.
    samples : int
        Of the records.
    """

    medium: str
    order: int
    spacing: float
    folder: str
    scheme: str = ""
    dt: float = 0.0
    nt: int = 0
    samples: int = 0

    @property
    def name(self) -> str:
        """What a worker is told."""
        return json.dumps(asdict(self))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Points of the grid along x, y, z."""
        far = offsets(self.medium).max(axis=0)
        nx, ny, nz = np.ceil((far + self._room() * (BEHIND + BEYOND)) / self.spacing).astype(int) + 1
        return int(nx), int(ny), int(nz)

    def _room(self) -> np.ndarray:
        """Return the shortest wavelength along x, y, z: what keeps echoes away grows with the velocity."""
        epsilon, theta, _ = MEDIA[self.medium]
        fast = math.sqrt(1 + 2 * epsilon)
        return SHORTEST * np.array([fast, fast, fast if theta else 1.0])

    @property
    def source(self) -> np.ndarray:
        """Position, m: off the nodes."""
        return BEHIND * self._room() + self.spacing * np.array([0.0, 0.3, 0.4])

    def on_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes next to source and receivers: (3,) and (10, 3), integers."""
        at = np.rint(self.source / self.spacing)
        return at.astype(int), (at + np.rint(offsets(self.medium) / self.spacing)).astype(int)

    def write_model(self) -> dict[str, Path]:
        """Write every volume of the model as float32, (nx, ny, nz), to a file without a header; return the files."""
        epsilon, theta, phi = MEDIA[self.medium]
        values = {"vp": VP}
        if self.medium != "iso":
            values |= {"epsilon": epsilon, "delta": epsilon}
        if self.medium == "tti":
            values |= {"theta": theta, "phi": phi}
        files = {name: Path(self.folder) / f"{name}.f32" for name in values}
        for name, value in values.items():
            plane = np.full(self.shape[1:], value, np.float32)
            with files[name].open("wb") as out:
                for _ in range(self.shape[0]):
                    plane.tofile(out)
        return files
