"""The gathers that a run has written, read from its SEG-Y file; and their flatness along the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import CorruptionError, MissingInputError
from subsalt.extensions import library
from subsalt.io.regular_files import read_json
from subsalt.methods.rtm.flatness import GatherAxes, LineFlatness, flatness_of_line, windows_for

#: bytes of the textual and the binary header of SEG-Y
SEGY_HEAD = 3600


@dataclass(frozen=True)
class StoredGathers:
    """Gathers of a depth image, along one direction of the half offsets.

    Parameters
    ----------
    grid : Grid
        Grid of the image.
    columns : tuple of tuple of int
        Numbers of the columns of the image along x, and along y.
    traces : tuple of float
        Half offsets or offsets in m, or half opening angles in degrees.
    axis : str
        ``"angle"``, ``"half_offset_x"``, ``"half_offset_y"``, or ``"offset"`` of source and receiver.
    values : ndarray, (columns along x, columns along y, traces, nz), float32
        The gathers; of a file only what is looked at is read.
    along : str
        Direction of the half offsets that they are made of: ``"x"`` or ``"y"``.
    """

    grid: Grid
    columns: tuple[tuple[int, ...], tuple[int, ...]]
    traces: tuple[float, ...]
    axis: str
    values: NDArray[np.float32]
    along: str = "x"

    @property
    def x(self) -> NDArray[np.float64]:
        """Positions along x, m."""
        return self.grid.origin3[0] + self.grid.spacing3[0] * np.array(self.columns[0], np.float64)

    @property
    def y(self) -> NDArray[np.float64]:
        """Positions along y, m."""
        return self.grid.origin3[1] + self.grid.spacing3[1] * np.array(self.columns[1], np.float64)

    @property
    def of_angles(self) -> bool:
        """Whether they are angle gathers."""
        return self.axis == "angle"

    @property
    def shows_moveout(self) -> bool:
        """Whether events lie flat over their traces where the velocity is right."""
        return self.of_angles or self.axis == "offset"

    @property
    def unit(self) -> str:
        """Unit of `traces`."""
        return "degree" if self.of_angles else "m"

    @property
    def axes(self) -> GatherAxes:
        """Axes of angle gathers, with depths below z = 0, where sources are."""
        return GatherAxes(np.radians(self.traces), self.grid.origin3[2], self.grid.spacing3[2])

    def nearest(self, x: float, y: float = 0.0) -> tuple[int, int]:
        """Return the numbers, among those that have gathers, of the columns nearest to a place, m."""
        return int(np.argmin(np.abs(self.x - x))), int(np.argmin(np.abs(self.y - y)))

    def flatness(self, image: NDArray[np.floating], row: int = 0) -> LineFlatness:
        """Return the flatness of gathers by angle or offset along x.

        Parameters
        ----------
        image : ndarray, (..., nz)
            The image, whose wavelengths the windows of depth suit.
        row : int
            Number of the line among those along y.
        """
        windows = windows_for(image, self.grid.spacing3[2])
        return flatness_of_line((self.values[i, row] for i in range(len(self.x))), windows)

    def to_xarray(self) -> Any:
        """Return them as a dataset of xarray: ``gathers`` on x, (y,) angle or half offset, z.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        return library("xarray_gathers").of_gathers(self)


@dataclass(frozen=True)
class PlacedGathers:
    """The angle gathers of a run at all its places: of half offsets along x, along y, or of both together.

    Parameters
    ----------
    stored : sequence of StoredGathers
        One, or two of the same places.
    """

    stored: Sequence[StoredGathers]

    @property
    def grid(self) -> Grid:
        """Grid of the image."""
        return self.stored[0].grid

    @property
    def lines(self) -> int:
        """Lines of places along x; 1 of a section."""
        return len(self.stored[0].y)

    @property
    def places(self) -> list[tuple[float, float]]:
        """Positions x and y, m: all lines of the first x, then those of the next."""
        return [(float(x), float(y)) for x in self.stored[0].x for y in self.stored[0].y]

    @property
    def axes(self) -> GatherAxes:
        """Angles of all traces of a place, and depths."""
        first = self.stored[0].axes
        return GatherAxes(np.concatenate([s.axes.angles for s in self.stored]), first.z0, first.dz)

    def of_place(self, number: int) -> NDArray[np.float32]:
        """Return the traces of a place, (traces, nz); one direction of the half offsets after the other."""
        at = divmod(number, self.lines)
        return np.concatenate([np.asarray(s.values[at]) for s in self.stored])


def read_gathers(folder: Path) -> list[StoredGathers]:
    """Return the gathers of a finished run, one for each direction of the half offsets; none of a run without any.

    Raises
    ------
    MissingInputError
        E110: the folder has no run.json, or a file of gathers is missing.
    CorruptionError
        E641: such a file is not as long as run.json says.
    """
    try:
        facts = read_json(folder / "run.json")
    except FileNotFoundError as error:
        raise MissingInputError(
            f"{folder} has no run.json: its run has not finished",
            "finish it with `subsalt resume`",
            code="E110",
        ) from error
    return gathers_of_run(folder, facts)


def gathers_of_run(folder: Path, facts: Mapping[str, Any]) -> list[StoredGathers]:
    """Return the gathers of a run from its facts; see `read_gathers`."""
    said, grid = facts.get("gathers"), facts.get("image_grid")
    if not isinstance(said, Mapping) or not isinstance(grid, Mapping):
        return []
    image = Grid(tuple(grid["shape"]), tuple(grid["spacing"]), tuple(grid["origin"]))
    columns = tuple(said["columns"][0]), tuple(said["columns"][1])
    if "offsets_m" in said:
        offsets = tuple(said["offsets_m"])
        shape = (len(columns[0]), len(columns[1]), len(offsets), image.shape3[2])
        return [StoredGathers(image, columns, offsets, "offset", _mapped(folder / "gathers.sgy", shape))]
    lags, angles = said["half_offsets_m"], said.get("angles_deg")
    out = []
    for name, offsets in lags.items():
        traces = tuple(angles or offsets)
        path = folder / f"gathers{f'_{name}' if len(lags) > 1 else ''}.sgy"
        shape = (len(columns[0]), len(columns[1]), len(traces), image.shape3[2])
        axis = "angle" if angles else f"half_offset_{name}"
        out.append(StoredGathers(image, columns, traces, axis, _mapped(path, shape), name))
    return out


def _mapped(path: Path, shape: tuple[int, int, int, int]) -> NDArray[np.float32]:
    """Return the samples of a file that `write_gathers` wrote; only what is looked at is read."""
    kind = np.dtype([("head", "V240"), ("samples", ">f4", (shape[-1],))])
    count = shape[0] * shape[1] * shape[2]
    if not path.is_file():
        raise MissingInputError(
            f"{path} is not there", "migrate the job again: its partial images are used", code="E110"
        )
    if path.stat().st_size != SEGY_HEAD + count * kind.itemsize:
        raise CorruptionError(
            f"{path} has {path.stat().st_size} bytes, not those of {count} traces that run.json says",
            "remove it, and migrate the job again: its partial images are used",
            code="E641",
        )
    rows = np.memmap(path, kind, mode="r", offset=SEGY_HEAD, shape=(count,))
    samples: NDArray[np.float32] = rows["samples"].reshape(shape)
    return samples
