"""Surveys in order, in the layouts of the field: what `check` must find nothing wrong with."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planted.trace_files import Layout, TraceFile, write
from planted.worlds import World
from subsalt.earth.grid import Frame, Grid
from subsalt.io.volumes import volume
from subsalt.job import text


@dataclass
class Case:
    """A survey in a folder: files, job as tables, and what it was made of.

    Parameters
    ----------
    folder : Path
        Everything is in it.
    world : World
        What was modelled.
    layout : Layout
        How traces are written.
    job : dict
        Tables of the job file.
    files : list of Path
        Files of traces, in order.
    """

    folder: Path
    world: World
    layout: Layout
    job: dict
    files: list[Path]
    name: str = "survey.toml"
    clean: Path | None = None

    @property
    def path(self) -> Path:
        """The job file."""
        return self.folder / self.name

    def written(self) -> str:
        """Return the job as text."""
        plain = {k: v for k, v in self.job.items() if not isinstance(v, dict)}
        parts = [text.table("", plain)] if plain else []
        parts += [text.table(k, v) for k, v in self.job.items() if isinstance(v, dict)]
        return "\n".join(parts)

    def write_job(self) -> Path:
        """Write the job file as the tables are now."""
        self.path.write_text(self.written(), encoding="utf-8")
        return self.path

    def trace_file(self, which: int) -> TraceFile:
        """Open one of the files for editing."""
        return TraceFile(self.files[which], self.world, self.layout)

    def edit(self, change: Callable[[TraceFile], object], which=None) -> Case:
        """Change all files, or those of the given numbers."""
        for i in range(len(self.files)) if which is None else which:
            one = self.trace_file(i)
            change(one)
            one.save()
        return self

    def volume(self, name: str, change: Callable[[np.ndarray], np.ndarray], grid: Grid | None = None) -> Case:
        """Write a model volume again, its values changed."""
        values = change(self.world.model[name].astype(np.float64))
        write_volume(self.folder / f"{name}.rsf", grid or self.world.grid, values)
        return self

    def moved(self, folder: Path) -> Case:
        """Return this case in `folder`, which has copies of its files."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        files = [folder / p.name for p in self.files]
        return replace(self, folder=folder, job=copy.deepcopy(self.job), files=files)

    def restore(self, pattern: str = "*") -> Case:
        """Put back files of the clean survey: what one does who is told to write or copy a file again."""
        assert self.clean is not None
        for p in self.clean.glob(pattern):
            if p.suffix != ".toml":
                shutil.copy(p, self.folder / p.name)
        return self


def write_volume(path: Path, grid: Grid, values: np.ndarray, frame: Frame | None = None) -> None:
    """Write a volume in the format of its suffix."""
    volume.write(path, grid, np.ascontiguousarray(values, np.float32), frame or Frame(), name=path.stem)


def case(
    folder: Path, world: World, layout: Layout | None = None, *, suffix=".rsf", frame=None, **tables
) -> Case:
    """Write files and job of a survey to be migrated in depth; tables add to those of the default job."""
    layout = layout or Layout()
    files = write(world, folder, layout)
    for name, values in world.model.items():
        write_volume(folder / f"{name}{suffix}", world.grid, values, frame)
    pattern = sorted({p.name if len(files) == 1 else p.name.split("_")[0] + "_*" + p.suffix for p in files})
    job = {
        "data": {"files": pattern},
        "model": {name: f"{name}{suffix}" for name in world.model},
        "source": {"f0": world.f0},
        "propagation": dict(world.propagation),
        "output": {"pictures": False},
    }
    if layout.kind == "segy" and layout.preset != "rev1":
        job["data"]["preset"] = layout.preset
    for key, value in tables.items():
        job[key] = {**job.get(key, {}), **value} if isinstance(value, dict) else value
    out = Case(folder, world, layout, {k: v for k, v in job.items() if v != {}}, files)
    out.write_job()
    return out


def time_case(folder: Path, world: World, layout: Layout | None = None, **tables) -> Case:
    """Write files and job of a survey to be migrated in time, with an rms velocity of the model's middle."""
    layout = layout or Layout()
    files = write(world, folder, layout)
    names = sorted({p.name if len(files) == 1 else p.name.split("_")[0] + "_*" + p.suffix for p in files})
    middle = tuple(n // 2 for n in world.grid.shape[:-1])
    v = world.model["vp"][middle].astype(np.float64)
    t = np.concatenate([[0.0], np.cumsum(2 * world.grid.spacing[-1] / v)[:-1]])
    rms = np.sqrt(np.cumsum(v * v * np.diff(t, append=t[-1] + t[1])) / (t + np.diff(t, append=t[-1] + t[1])))
    at = np.linspace(0, t[-1], 12)
    job = {
        "method": "kirchhoff",
        "data": {"files": names},
        "velocity": {
            "v": {
                "t": [round(float(a), 3) for a in at],
                "value": [round(float(a), 1) for a in np.interp(at, t, rms)],
            }
        },
        "kirchhoff": {"aperture": 500.0},
        "output": {"pictures": False},
    }
    if layout.preset != "rev1" and layout.kind == "segy":
        job["data"]["preset"] = layout.preset
    for key, value in tables.items():
        job[key] = {**job.get(key, {}), **value} if isinstance(value, dict) else value
    out = Case(folder, world, layout, job, files)
    out.write_job()
    return out
