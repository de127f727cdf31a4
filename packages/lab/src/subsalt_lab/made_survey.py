"""A made-up survey as files, for ``lab scaling --whole``: its image means nothing, its cost is that of a real one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Grid
from subsalt.errors import DiskError
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume

#: m between grid points, and between receivers along x and y
SPACING, RECEIVERS = 10.0, (20.0, 40.0)
#: s between samples, peak frequency in Hz
DT, F0 = 0.004, 15.0
#: bytes of a trace header and of what other files take
HEADER, OTHER = 240, 1 << 20

JOB = """\
title = "a made-up survey for measurements"

[data]
files = ["shots.sgy"]
first_breaks = "ignore" # the traces are made to be moved, not to be imaged
fix = {{ format = 5 }} # and look like integers

[model]
{model}

[source]
f0 = {f0:g}

[propagation]
medium = "{medium}"

[imaging]
{aperture}

[output]
formats = ["rsf"]
pictures = false

[parallel]
threads = {threads}
ranks_per_shot = {ranks_per_shot}
"""


@dataclass(frozen=True)
class MadeSurvey:
    """What is made.

    Parameters
    ----------
    grid : tuple of int
        Points of the model along x, y, z; the absorbing layer comes around them.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    samples : int
        Of a trace.
    shots : int
        Along the middle line.
    spread : int
        Points along x over which the receivers of a shot lie, around it.
    aperture : bool
        A shot propagates around its spread only, not in the whole model.
    """

    grid: tuple[int, int, int]
    medium: str
    samples: int
    shots: int
    spread: int
    aperture: bool = False

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of the model volumes."""
        more = {"isotropic": (), "vti": ("epsilon", "delta"), "tti": ("epsilon", "delta", "theta", "phi")}
        return ("vp", *more[self.medium])

    @property
    def bytes_needed(self) -> int:
        """Bytes of all files, those of a run included: partial images and the image."""
        nodes = int(np.prod(self.grid))
        x, y = self._patch(0)
        traces = self.shots * len(x) * len(y) * (HEADER + 4 * self.samples)
        return 4 * nodes * (len(self.volumes) + 2 * self.shots + 2) + traces + OTHER

    def source(self, shot: int) -> NDArray[np.float64]:
        """Return the position of a shot, counted from 0."""
        nx, ny, _ = self.grid
        first, last = self.spread / 2, nx - 1 - self.spread / 2
        x = (
            first + (last - first) * (shot + 0.5) / self.shots
            if last > first
            else (nx - 1) * (shot + 0.5) / self.shots
        )
        return np.array([round(x * SPACING), round(ny / 2 * SPACING), 15.0])

    def receivers(self, shot: int) -> NDArray[np.float64]:
        """Return the positions of the receivers of a shot: a patch around it, at 10 m depth."""
        x, y = self._patch(shot)
        return np.array([(a, b, 10.0) for a in x for b in y])

    def _patch(self, shot: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the lines of receivers of a shot lie along x and y."""
        nx, ny, _ = self.grid
        middle = self.source(shot)[0] / SPACING
        low = min(max(0.0, middle - self.spread / 2), max(0.0, nx - 1.0 - self.spread))
        high = min(nx - 1.0, low + self.spread)
        x = np.arange(np.ceil(low), high + 0.5, RECEIVERS[0] / SPACING) * SPACING
        y = np.arange(1, ny - 1, RECEIVERS[1] / SPACING) * SPACING
        return x, y

    def survey(self) -> Survey:
        """Return the geometry."""
        return Survey.from_arrays(
            [self.source(k) for k in range(self.shots)],
            [self.receivers(k) for k in range(self.shots)],
            nt=self.samples,
            dt=DT,
        )

    def traces(self, shot: Shot) -> NDArray[np.float32]:
        """Return records with one pulse each, later with offset."""
        t = np.arange(self.samples, dtype=np.float32) * np.float32(DT)
        arrival = np.sqrt(0.3**2 + (shot.offset / 2000.0) ** 2).astype(np.float32)
        a = (np.pi * F0 * (t[None] - arrival[:, None])) ** 2
        return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)

    def plane(self, name: str) -> NDArray[np.float32]:
        """Return the values of a volume in one x plane, (ny, nz), angles in degrees: all planes are alike."""
        _, ny, nz = self.grid
        if name == "vp":
            return np.broadcast_to(2000.0 + 0.5 * SPACING * np.arange(nz), (ny, nz)).astype(np.float32)
        value = {"epsilon": 0.1, "delta": 0.05, "theta": 20.0, "phi": 25.0}[name]
        return np.full((ny, nz), value, np.float32)

    def write(self, folder: Path) -> list[Path]:
        """Write models and shots into a folder; return the files."""
        grid = Grid(self.grid, (SPACING,) * 3)
        for name in self.volumes:
            values = np.broadcast_to(self.plane(name), self.grid)
            volume.write(folder / f"{name}.rsf", grid, values)
        write_survey(folder / "shots.sgy", self.survey(), self.traces)
        return sorted(f for f in folder.iterdir() if f.is_file())

    def write_job(self, path: Path, threads: int, ranks_per_shot: int | str) -> Path:
        """Write the job file of one layout beside the survey's files."""
        group = f'"{ranks_per_shot}"' if isinstance(ranks_per_shot, str) else str(ranks_per_shot)
        text = JOB.format(
            model="\n".join(f'{name} = "{name}.rsf"' for name in self.volumes),
            f0=F0,
            medium=self.medium,
            aperture=f"aperture = {0.125 * self.spread * SPACING:g}" if self.aperture else "",
            threads=threads,
            ranks_per_shot=group,
        )
        publish_text(path, text)
        return path


@contextmanager
def folder_in(directory: Path | None, need: int, what: str) -> Iterator[Path]:
    """Make a folder with a name of its own, for `need` bytes; it is removed with all it holds.

    Raises
    ------
    DiskError
        When the file system has less room (E785).
    """
    parent = make_folder(directory) if directory is not None else Path(tempfile.gettempdir())
    free = shutil.disk_usage(parent).free
    if need > free:
        raise DiskError(
            f"{what} takes {need / 1e9:.2f} GB in {parent}, {free / 1e9:.2f} GB are free",
            "choose a smaller --grid or fewer --shots, or another --directory",
            code="E785",
        )
    made = Path(tempfile.mkdtemp(prefix="subsalt-scaling-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
