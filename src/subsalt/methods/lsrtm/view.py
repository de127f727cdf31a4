"""Pictures of a least-squares migration: image, misfit, images by iteration, what changed, an event's amplitude."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, SubsaltError
from subsalt.io.volumes.horizon import read_horizon
from subsalt.io.volumes.volume import open_volume, read
from subsalt.methods.lsrtm.course import KeptImage, history_of, kept_images, misfit_is_of, misfits_of
from subsalt.methods.rtm.view import view_run as view_image
from subsalt.view import sections, style
from subsalt.view.cuts import cuts_at
from subsalt.view.iterations import Panel, misfit_curve, section_panels
from subsalt.view.pages import Sheet
from subsalt.view.reading import RunStyle
from subsalt.view.reflector import along_horizon, draw_reflector, follow
from subsalt.view.run_image import job_of, run_facts

#: images of iterations on a page, at most
MOST_IMAGES = 6


@dataclass(frozen=True)
class Course:
    """Draws the course of a run.

    Parameters
    ----------
    folder : Path
        Run directory.
    at : sequence of float, (3,), optional
        Local point, m: a 3-D image is cut there, and the event through it is followed.
    clip : float
        Percentile of |a| at which scales end.
    along : str, optional
        Horizon of the event instead: a depth, m, or a text file of points (`read_horizon`).
    """

    folder: Path
    at: Sequence[float] | None = None
    clip: float = 99.0
    along: str | None = None

    def draw(self, sheet: Sheet) -> list[Path]:
        """Draw what there is so far, in pictures beside that of a sheet; return them."""
        made = []
        if len(misfits := misfits_of(self.folder)) > 1:
            of = misfit_is_of(history_of(self.folder))
            facts = f"{misfits[-1]:.3g} of the start after {len(misfits) - 1} iterations"
            if of:
                facts = f"misfit of {of}: {facts}"
            # the last count above; along the axis it may differ
            whose = "the shots drawn, before the step" if of else ""
            made.append(misfit_curve(sheet.named("_misfit").saying(facts), misfits, whose))
        by_iteration = kept_images(self.folder)
        if len(by_iteration) > 1:
            made += self._images(sheet, by_iteration)
        return made

    def _images(self, sheet: Sheet, by_iteration: Sequence[KeptImage]) -> list[Path]:
        """Draw images by iteration, the difference of the last and the first, and an event in both."""
        shown = chosen(by_iteration)
        cuts = [self._section(one.path) for one in shown]
        grid, last = cuts[-1]
        limit = style.clip_limit(style.below_surface(last), self.clip)
        scale = f"all at one scale (±{limit:.3g} s²/m²)"
        panels = [Panel(one.name, values) for one, (_, values) in zip(shown, cuts, strict=True)]
        first = cuts[0][1]
        names = (shown[0].name, shown[-1].name)
        change = [panels[0], panels[-1], Panel(f"{names[1]} - {names[0]}", last - first, "residual")]
        made = [
            section_panels(
                sheet.named("_iterations").saying(f"images by iteration · {scale}"), panels, grid, limit
            ),
            section_panels(sheet.named("_difference").saying(scale), change, grid, limit),
        ]
        before_and_after = dict(zip(names, (first, last), strict=True))
        return [*made, *self.amplitude(sheet, before_and_after, grid, limit)]

    def amplitude(self, sheet: Sheet, images: Mapping[str, NDArray], grid: Grid, limit: float) -> list[Path]:
        """Draw the amplitude along an event in sections, where the last has one."""
        last = list(images.values())[-1]
        if self.along is not None:
            event = along_horizon(last, self._horizon(self.along), grid)
            return [draw_reflector(sheet.named("_amplitude"), images, grid, event, limit)]
        try:
            event = follow(last, grid, None if self.at is None else (self.at[0], self.at[2]))
        except ConfigError:
            if self.at is not None:
                raise
            return []  # zero in the middle of the line, as below a mask
        return [draw_reflector(sheet.named("_amplitude"), images, grid, event, limit)]

    def _horizon(self, along: str) -> NDArray[np.float64]:
        """Return the depth of a horizon at every column of the section, (nx,), m."""
        grid = open_volume(kept_images(self.folder)[-1].path).grid
        depth = read_horizon(along, grid, "--along", "E833")
        return depth if grid.ndim == 2 else depth[:, cuts_at(grid, self.at)["inline"].index]

    def _section(self, path: Path) -> tuple[Grid, NDArray[np.float64]]:
        """Return the section of a volume along x, (nx, nz), and its grid."""
        opened = open_volume(path)
        return section_of(opened.planes, opened.grid, self.at)


def section_of(
    values: NDArray | Planes, grid: Grid, at: Sequence[float] | None = None
) -> tuple[Grid, NDArray[np.float64]]:
    """Return the section of an image along x, through a point or in the middle, (nx, nz), and its grid."""
    cut = cuts_at(grid, at)["section" if grid.ndim == 2 else "inline"]
    section = np.asarray(cut.values(values), dtype=np.float64).T
    if grid.ndim == 3:
        grid = Grid(grid.shape3[::2], grid.spacing3[::2], grid.origin3[::2])
    return grid, section


def draw_before_and_after(sheet: Sheet, images: Mapping[str, NDArray], grid: Grid) -> list[Path]:
    """Draw the amplitude along the strongest event of the last image in each of them, by name; return the pictures."""
    cuts = {name: section_of(values, grid) for name, values in images.items()}
    flat = list(cuts.values())[-1][0]
    shown = {name: section for name, (_, section) in cuts.items()}
    limit = style.clip_limit(style.below_surface(list(shown.values())[-1]))
    return Course(sheet.path.parent).amplitude(sheet, shown, flat, limit)


def chosen(by_iteration: Sequence[KeptImage]) -> list[KeptImage]:
    """Return the images that are drawn: the first and the last, and those between whose numbers double."""
    if len(by_iteration) <= MOST_IMAGES:
        return list(by_iteration)
    places = np.geomspace(1, len(by_iteration), MOST_IMAGES).round().astype(int) - 1
    return [by_iteration[i] for i in sorted(set(places.tolist()))]


def view_run(folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
    """Draw a run directory, finished or not: its image, or that of the last iteration, and its course."""
    facts = run_facts(folder)
    title = str(facts.get("title") or job_of(facts, folder).get("title") or folder.resolve().name)
    sheet = Sheet(path, title, str(facts.get("run_id") or ""))
    at, by_iteration = how.only_of_depth(folder), kept_images(folder)
    if len(by_iteration) < 2:
        how.refuse_horizon(folder)
    course, how = Course(folder, at, how.clip, how.along), replace(how, along=None)
    if "image" in facts or not by_iteration:
        made = view_image(folder, path, how, say)
    else:
        volume = read(by_iteration[-1].path)
        named: dict[str, Any] = {"title": f"{title}: {by_iteration[-1].name} so far", "run_id": sheet.run_id}
        drawn = sections(volume.values, volume.grid, path, frame=volume.frame, at=at, **named, **how.image)
        made = list(drawn.values())
    try:
        return [*made, *course.draw(sheet)]
    except (SubsaltError, OSError) as error:
        if at is not None or course.along is not None:
            raise
        say(f"no pictures of the iterations: {error}")
        return made
