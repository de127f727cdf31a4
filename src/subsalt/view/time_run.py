"""A run of time migration as pictures need it: its image and gathers, or what its blocks have summed so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.earth.planes import Planes
from subsalt.io.volumes.time_image import ImageTraces
from subsalt.methods import Method, method_of_run
from subsalt.view.run_image import job_of, run_facts

#: from inline and crossline index to offsets (n,) and image traces (n, nt) of a location
Gathers = Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.float32]]]


@dataclass
class TimeRun:
    """What there is to draw of a run.

    Parameters
    ----------
    grid : ImageGrid
        Locations and times of the image.
    image : ndarray or Planes, (ni, nj, nt)
        The image.
    gathers : callable, optional
        The image gather of a location; None when the run makes one image alone.
    offsets : ndarray, (n,)
        Of the offset classes, m.
    fold : ndarray, (ni, nj, n), optional
        Traces that reach a location, by offset class.
    hits : ndarray or Planes, (ni, nj, nt), optional
        Contributions to a sample.
    title, run_id : str
        Of the run; the title says what is missing.
    """

    grid: ImageGrid
    image: NDArray | Planes
    gathers: Gathers | None
    offsets: NDArray[np.float64]
    fold: NDArray | None = None
    hits: NDArray | Planes | None = None
    title: str = ""
    run_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict, repr=False)


def is_time_run(folder: Path) -> bool:
    """Return whether the image of a run directory is in two-way time."""
    return _method(folder).domain == "time"


def read_time_run(folder: Path) -> TimeRun:
    """Return what there is to draw of a run directory with an image in two-way time.

    Raises
    ------
    DataError
        When nothing is there yet.
    CorruptionError
        When run.json does not say the grid, or what was summed cannot be read.
    """
    found: TimeRun = _method(folder).read_image(folder)
    return found


def _method(folder: Path) -> Method:
    """Return the method of a run, as run.json or the resolved job names it."""
    facts = run_facts(folder)
    return method_of_run(facts if facts.get("method") else {"job": job_of(facts, folder)})


def by_offset(fold: NDArray, classes: dict[str, Any]) -> NDArray:
    """Return the fold (ni, nj, groups) summed over azimuth sectors, (ni, nj, offset classes)."""
    sectors = int(classes.get("sectors", 1))
    return fold.reshape(*fold.shape[:2], -1, sectors).sum(axis=3) if sectors > 1 else fold


def gathers_of(traces: ImageTraces, grid: ImageGrid) -> Gathers:
    """Return what reads the gather of a location, by its indices, from a file."""

    def read(i: int, j: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        inline = grid.inlines[0] + i * grid.inlines[2]
        return traces.gather(inline, grid.crosslines[0] + j * grid.crosslines[2])

    return read
