"""Whole depth migrations of a made-up survey: model input, traces, time steps, image, from one directory or two.

The image of the survey means nothing, its cost is that of a real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Grid
from subsalt.io.publish import publish_text
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.machine.stats import summary
from subsalt_lab.campaign import key_of
from subsalt_lab.layouts import RankLayout
from subsalt_lab.migrations import MigrationCase, MigrationResult, Migrations, written
from subsalt_lab.result import Say

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
grid = "model" # the size asked for

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
    """Survey to make.

    Parameters
    ----------
    grid : tuple of int
        Points of the model along x, y, z; the absorbing layer comes around them.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    samples : int
        Samples of a trace.
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
        receivers = sum(len(x) * len(y) for x, y in map(self._patch, range(self.shots)))
        traces = receivers * (HEADER + 4 * self.samples)
        return 4 * nodes * (len(self.volumes) + 2 * self.shots + 2) + traces + OTHER

    def __str__(self) -> str:
        return f"{self.bytes_needed / 1e6:.0f} MB or less"

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
        # a window between the edges holds one line of receivers more than one at an edge
        shots = [Shot(k + 1, self.source(k), self.receivers(k)) for k in range(self.shots)]
        return Survey(shots, TimeAxis(self.samples, DT), 3)

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
        """Write the job file of one layout beside the survey's files; return its path."""
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


@dataclass(frozen=True)
class Settings(Migrations):
    """Settings of the measurement.

    Parameters
    ----------
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    grid : tuple of int
        Points of the model; in weak scaling those of one rank.
    samples : int
        Samples of a trace.
    shots : int
        Shots of the survey; in weak scaling of each rank.
    ranks_per_shot : str
        ``"auto"``, ``"all"`` or a number.
    against : Path, optional
        A second place to compare with.
    """

    medium: str = "vti"
    grid: tuple[int, int, int] = (160, 96, 96)
    samples: int = 300
    shots: int = 4
    ranks_per_shot: str = "auto"
    against: Path | None = None

    what: ClassVar[str] = "whole"
    work: ClassVar[str] = "point_steps"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "init": ("check", "model input", "survey", "provenance"),
        "traces": ("trace input",),
        "kernel": ("source", "receivers"),
        "image": ("partial image", "image sum", "output"),
    }

    def survey_of(self, layout: RankLayout) -> MadeSurvey:
        """Return the survey that a layout migrates.

        In weak scaling it grows along x: more shots with windows of one size; where all ranks share every shot, the
        windows grow in place of their number.
        """
        nx, ny, nz = self.grid
        times = layout.ranks if self.weak else 1
        apart = self.weak and self.ranks_per_shot != "all"
        return MadeSurvey(
            (nx * times, ny, nz),
            self.medium,
            self.samples,
            self.shots * (times if apart else 1),
            nx if apart else nx * times,
            aperture=apart,
        )

    def group_of(self, layout: RankLayout) -> int | str:
        """Return the ranks per shot of a layout."""
        if self.ranks_per_shot == "auto":
            return "auto"
        return layout.ranks if self.ranks_per_shot == "all" else min(int(self.ranks_per_shot), layout.ranks)

    @contextmanager
    def cases(self, layouts: Sequence[RankLayout], say: Say) -> Iterator[list[MigrationCase]]:
        """Make the files of all layouts in all directories."""
        surveys = [self.survey_of(layout) for layout in layouts]
        places = {"": self.directory}
        if self.against is not None:
            places = {"directory A": self.directory, "directory B": self.against}
        with ExitStack() as made:
            out = []
            for side, place in places.items():
                _, files = made.enter_context(written(surveys, place, "the made-up survey", say))
                for k, (layout, survey, (folder, some)) in enumerate(
                    zip(layouts, surveys, files, strict=True)
                ):
                    job = folder / f"measure-{k}.toml"
                    survey.write_job(job, layout.threads, self.group_of(layout))
                    key = key_of(layout, survey.grid) | {"shots": survey.shots}
                    out.append(MigrationCase(layout, key, job, some, folder / "measure.run", side))
            yield out

    def beside(
        self,
        table: Sequence[dict[str, Any]],
        first: Sequence[list[MigrationResult]],
        second: Sequence[list[MigrationResult]],
    ) -> None:
        """Add the times of the second directory to the rows of the first."""
        for row, given in zip(table, second, strict=True):
            row |= {f"{name}_b": summary(self.seconds(name, given)).median for name in ("init", "traces")}
            row["total_b"] = summary([a.total for a in given]).median
            row["b_over_a"] = row["total_b"] / row["total"]

    @property
    def notes(self) -> list[str]:
        """Notes for the reader of the table."""
        return [
            "total: from the start of the command to its end; init: start of the ranks, checks, model input; "
            "kernel: time steps of the slowest rank; read: bytes read by all ranks",
            self.cache_note,
            *(["A is --directory, B is --against"] if self.against is not None else []),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a result, without folders."""
        return super().to_dict() | {"directories": 1 if self.against is None else 2}
