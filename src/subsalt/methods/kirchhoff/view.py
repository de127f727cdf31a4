"""All pictures of a run of time migration: sections of the image, gathers, fold, hit count, velocity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, SubsaltError
from subsalt.methods.kirchhoff.image_fold import fold_map
from subsalt.methods.kirchhoff.midpoint_map import midpoint_map
from subsalt.methods.kirchhoff.time_run import TimeRun, read_time_run
from subsalt.view.gather_pages import draw_gathers, gather_at, locations_of
from subsalt.view.pages import Sheet, png_path
from subsalt.view.reading import RunStyle
from subsalt.view.records import TraceStyle
from subsalt.view.time_sections import time_sections

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import TimeVelocity
    from subsalt.job.checking import CheckResult
    from subsalt.methods.kirchhoff.job import KirchhoffJob


def draw_survey(job: KirchhoffJob, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
    """Draw midpoints, fold and sources on the image grid, and the offsets, into ``map.png``; None without traces."""
    context = result.context
    if context.table is None:
        return None
    title = job.title or job.name
    return midpoint_map(context.table, context.grid, place("map.png"), aperture=context.aperture, title=title)


def view_run(folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
    """Draw all there is of a run directory; see `subsalt.methods.Method.view`."""
    how.refuse_horizon(folder)
    run = read_time_run(folder)
    velocity = None if how.velocity == "none" else _velocity(folder, run, how.velocity == "overlay", say)
    return time_pictures(
        run,
        path,
        velocity=velocity,
        overlay=how.velocity == "overlay",
        places=how.places,
        every=how.every,
        gain=how.gain,
        whole=how.whole,
        **how.traces,
    )


def _velocity(folder: Path, run: TimeRun, needed: bool, say: Callable[[str], None]) -> TimeVelocity | None:
    """Return the velocity of the run; without it gathers are drawn, but not the moveout that is left."""
    if run.gathers is None and not needed:
        return None
    from subsalt.run.job_of_run import job_of_run

    try:
        job: Any = job_of_run(folder)
        made: TimeVelocity = job.open_velocity(run.grid)
        return made
    except (SubsaltError, OSError) as error:
        if needed:
            raise
        say(f"without the moveout that is left, since the velocity of the run cannot be had: {error}")
        return None


def time_pictures(
    run: TimeRun,
    path: str | Path,
    *,
    velocity: TimeVelocity | None = None,
    overlay: bool = False,
    places: Sequence[Sequence[float]] = (),
    every: int | None = None,
    **drawn: Any,
) -> list[Path]:
    """Draw all there is of a time migration.

    Parameters
    ----------
    run : TimeRun
        The run.
    path : path
        PNG of the image; the others lie beside it: ``NAME_gathers.png``, ``NAME_fold.png``, ``NAME_hits.png``, of a
        volume also its three planes. Of ``image.png`` they are called ``gathers.png`` and so on.
    velocity : TimeVelocity, optional
        That of the migration: shows the moveout that is left in the gathers.
    overlay : bool
        Lay it over the image too.
    places : sequence of places
        Where gathers are drawn, and (the first) where the image is cut; `GATHERS` of them along the middle inline when
        left out.
    every : int, optional
        Gathers at every so many locations of the inline of the first place; as many pages as they take.
    **drawn
        Fields of `TraceStyle`: ``draw``, ``clip`` and ``gain``; and ``whole``, to show all locations, also those
        without a trace.

    Returns
    -------
    list of Path
        The image first.
    """
    whole = drawn.pop("whole", False)
    out, how = png_path(path, "image.png"), TraceStyle(**drawn)
    at = places[0] if places else None
    if run.gathers is None and every is not None:
        raise ConfigError(
            "this run has no image gathers",
            'set [kirchhoff] gathers = "offset" or "full-offset" and migrate again',
            code="E833",
        )
    # what is not there is refused before anything is drawn
    chosen = [] if run.gathers is None else locations_of(run.grid, run.fold, places, every)
    over = VelocityVolume(velocity, run.grid) if velocity is not None and overlay else None
    lit: dict[str, Any] = {"fold": run.fold, "at": at, "whole": whole, "run_id": run.run_id}
    heads = lit | {"title": run.title, "clip": how.clip, "gain": how.gain}
    written = list(time_sections(run.image, run.grid, out, velocity=over, **heads).values())
    if run.gathers is not None:
        read = partial(gather_at, run.gathers, run.grid, image=run.image, velocity=velocity)
        beside = Sheet(_beside(out, "gathers"), f"{run.title}: image gathers", run.run_id)
        written += draw_gathers(beside, chosen, read, run.grid.time, how)
    if run.fold is not None:
        offsets = run.offsets if len(run.offsets) == run.fold.shape[2] else None
        title = f"{run.title}: fold"
        written.append(
            fold_map(
                run.fold, run.grid, _beside(out, "fold"), offsets=offsets, title=title, run_id=run.run_id
            )
        )
    if run.hits is not None:
        shown = time_sections(
            run.hits,
            run.grid,
            _beside(out, "hits"),
            palette="fold",
            label="traces in a sample",
            title=f"{run.title}: hit count",
            planes=False,
            **lit,
        )
        written += shown.values()
    return written


class VelocityVolume(Planes):
    """The rms velocity at all locations of an image, (ni, nj, nt), made by inlines."""

    def __init__(self, velocity: TimeVelocity, grid: ImageGrid) -> None:
        super().__init__((*grid.shape, grid.time.nt))
        self._velocity, self._grid = velocity, grid

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the inlines ``lo <= i < hi``."""
        _, nj, nt = self.shape
        points = self._grid.positions(LocationBox(lo, hi, 0, nj))
        return self._velocity.at(points, self._grid.time)[0].reshape(hi - lo, nj, nt)


def _beside(image: Path, what: str) -> Path:
    """Return the name of another picture beside that of the image."""
    return image.with_name(f"{what}.png" if image.stem == "image" else f"{image.stem}_{what}.png")
