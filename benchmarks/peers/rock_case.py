"""A shot in rock whose velocity grows with depth: its numbers, made from NumPy alone.

Both sides import this file. Lengths count in shortest wavelengths at the top. The velocity rises from 1500 to 4500 m/s
over 40 of them; a lens is 8 % faster, and at 28 the velocity rises by 10 % over a part of the local wavelength, so that
every grid that carries the waves holds the change. Anisotropy begins below source and upper receivers: a source in a
medium whose epsilon is not delta emits the slow mode of the equations too, which no grid of the P wave carries.

Source, receivers and sides of the box are multiples of `STEP` wavelengths, so that all of them are nodes of a grid of
``STEP / m`` wavelengths, m being an integer: a side that cannot record between nodes takes such a grid.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

#: peak frequency of the wavelet, Hz; velocities at the top and 40 wavelengths below, m/s
F0, TOP, BOTTOM = 10.0, 1500.0, 4500.0
#: wavelength at 2.5 F0 at the top, m; depth over which the velocity rises
SHORTEST = TOP / (2.5 * F0)
DEEP = 40.0
#: sampling interval of the records, and their number: the last arrival is the reflection at 40 wavelengths of offset,
#: after 1.7 s; the wavelet peaks at 1.5 / F0 and ends 1.2 / F0 later
DT, SAMPLES = 0.004, 501
#: what positions are multiples of, wavelengths
STEP = 4.0
#: sides of the box: low and high, of x, y, z. Along y it is as narrow as receivers off the line of the source allow
BOX = np.array([(-8.0, 48.0), (-8.0, 8.0), (0.0, DEEP)])
SOURCE = np.array([0.0, 0.0, 4.0])
#: receivers above, up to 40 wavelengths from the source, and at depth
UPPER = [
    (4, 0),
    (8, 0),
    (12, 4),
    (16, 0),
    (20, 0),
    (20, 4),
    (24, 0),
    (28, 0),
    (28, -4),
    (32, 0),
    (36, 4),
    (40, 0),
]
LOWER = [(8, 0, 20), (20, 4, 16), (24, 0, 24), (36, 0, 36)]
#: in 2-D
UPPER_2D = [(-4,), (4,), (8,), (12,), (16,), (20,), (24,), (28,), (32,), (36,), (40,)]
LOWER_2D = [(8, 20), (20, 16), (24, 24), (36, 36)]
#: lens: middle, radius at which exp(-1/2) of it is left, and its strength
LENS, LENS_RADIUS, LENS_STRENGTH = np.array([20.0, 0.0, 16.0]), 4.0, 0.08
#: reflector: depth, half width of its rise as a part of the local wavelength, and its strength
REFLECTOR, RISE, REFLECTOR_STRENGTH = 28.0, 0.3, 0.1
#: depths between which the anisotropy rises from nothing
ANISOTROPIC = (5.0, 9.0)
#: distances from the sides of the box between which the axis tilts: ours has it upright M + 10 cells inside too
TILTED = (6.0, 10.0)
#: epsilon, delta, tilt and azimuth of the axis of symmetry
MEDIA = {
    "iso": (0.0, 0.0, 0.0, 0.0),
    "vti": (0.2, 0.1, 0.0, 0.0),
    "tti": (0.2, 0.1, math.radians(30), math.radians(25)),
}


def name_of(medium: str, ndim: int) -> str:
    """Return what a case is called."""
    return f"rock{'2d' * (ndim == 2)}-{medium}"


def ramp(x: np.ndarray) -> np.ndarray:
    """Return 0 below 0, 1 above 1 and between them a polynomial with two continuous derivatives."""
    t = np.clip(x, 0.0, 1.0)
    return t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)


def background(z: np.ndarray) -> np.ndarray:
    """Return the velocity, m/s, at depths in wavelengths, without lens and reflector."""
    return TOP + (BOTTOM - TOP) * np.clip(z / DEEP, 0.0, 1.0)


def velocity(where: list[np.ndarray]) -> np.ndarray:
    """Return the velocity along the axis of symmetry, m/s, at positions x, (y,) z in wavelengths."""
    z = where[-1]
    middle = LENS if len(where) == 3 else LENS[[0, 2]]
    distance = sum((a - m) ** 2 for a, m in zip(where, middle, strict=True))
    lens = LENS_STRENGTH * np.exp(-0.5 * distance / LENS_RADIUS**2)
    local = float(background(np.array(REFLECTOR))) / TOP
    # an integrated Gaussian to 1e-3, from logarithms that NumPy has
    rise = 0.5 * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (z - REFLECTOR) / (RISE * local)))
    return np.asarray(background(z) * (1.0 + lens) * (1.0 + REFLECTOR_STRENGTH * rise))


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
    ndim : int
        2 or 3.
    beyond : tuple of float
        Wavelengths by which the box is larger at the sides, the top and the bottom.
    options : dict
        Of `subsalt.forward`.
    dt : float
        Of the peer, s; ours chooses its own.
    nt : int
        Steps of the peer.
    """

    medium: str
    order: int
    spacing: float
    folder: str = ""
    ndim: int = 3
    beyond: tuple[float, float, float] = (0.0, 0.0, 0.0)
    options: dict[str, object] | None = None
    dt: float = 0.0
    nt: int = 0

    @property
    def name(self) -> str:
        """What a worker is told."""
        return json.dumps(asdict(self))

    @property
    def points(self) -> float:
        """Points per shortest wavelength at the top."""
        return SHORTEST / self.spacing

    @property
    def axes(self) -> list[int]:
        """Axes of the box that there are."""
        return [0, 1, 2] if self.ndim == 3 else [0, 2]

    @property
    def box(self) -> np.ndarray:
        """Low and high sides, m."""
        sides, top, bottom = self.beyond
        more = np.array([(-sides, sides), (-sides, sides), (-top, bottom)])
        return np.asarray(((BOX + more) * SHORTEST)[self.axes])

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of the grid."""
        extent = self.box[:, 1] - self.box[:, 0]
        return tuple(int(n) for n in np.ceil(extent / self.spacing - 1e-6).astype(int) + 1)

    @property
    def source(self) -> np.ndarray:
        """Position, m."""
        return np.asarray(SOURCE[self.axes] * SHORTEST)

    @property
    def receivers(self) -> np.ndarray:
        """Positions, m, (n, ndim)."""
        if self.ndim == 2:
            return np.array([*((x, SOURCE[2]) for (x,) in UPPER_2D), *LOWER_2D], np.float64) * SHORTEST
        return np.array([*((x, y, SOURCE[2]) for x, y in UPPER), *LOWER], np.float64) * SHORTEST

    def volumes(self, x: float) -> dict[str, np.ndarray]:
        """Return the model's values at one x, m, on the other axes."""
        others = [
            (low + self.spacing * np.arange(n)) / SHORTEST
            for (low, _), n in zip(self.box[1:], self.shape[1:], strict=True)
        ]
        where = [np.array(x / SHORTEST), *np.meshgrid(*others, indexing="ij")]
        values = {"vp": velocity(where)}
        epsilon, delta, theta, phi = MEDIA[self.medium]
        low, high = ANISOTROPIC
        part = ramp((where[-1] - low) / (high - low))
        if self.medium != "iso":
            values |= {"epsilon": epsilon * part, "delta": delta * part}
        if self.medium == "tti":
            near, far = TILTED
            inside = ramp((self._from_sides(where) - near) / (far - near))
            values["theta"] = theta * inside
            if self.ndim == 3:
                values["phi"] = np.full_like(part, phi)
        return values

    def _from_sides(self, where: list[np.ndarray]) -> np.ndarray:
        """Return the distance from the nearest side of the box, in wavelengths as the positions are."""
        distance = np.full(np.broadcast_shapes(*(a.shape for a in where)), np.inf)
        for a, (low, high) in zip(where, BOX[self.axes], strict=True):
            distance = np.minimum(distance, np.minimum(a - low, high - a))
        return distance

    def write_model(self) -> dict[str, Path]:
        """Write every volume of the model as float32 to a file without a header; return the files."""
        files: dict[str, Path] = {}
        for i in range(self.shape[0]):
            for name, values in self.volumes(self.box[0, 0] + i * self.spacing).items():
                files[name] = Path(self.folder) / f"{name}.f32"
                with files[name].open("ab" if i else "wb") as out:
                    values.astype(np.float32).tofile(out)
        return files
