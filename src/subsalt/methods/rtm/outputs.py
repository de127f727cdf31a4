"""Files of a finished run: the image in the formats that the job names, its illumination, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt import __version__
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Box, Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory
from subsalt.io.publish import make_folder, sha256_file
from subsalt.io.segy.rev1 import choose_scalar
from subsalt.io.volumes import volume
from subsalt.io.volumes.depth_gathers import GatherColumns, write_gathers
from subsalt.io.volumes.planes import OwnPlanes
from subsalt.io.volumes.rsf import RsfAxis, write_rsf
from subsalt.io.volumes.segy_image import map_image
from subsalt.io.volumes.volume import PLANE_FORMATS, write_planes
from subsalt.methods.rtm.earth_model import line_numbers
from subsalt.methods.rtm.facts import gathers_facts, grid_facts, topography_facts
from subsalt.methods.rtm.image import ImagePlanes, refuse_region
from subsalt.methods.rtm.image_sum import GatherPlanes
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.run.result import Written
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

SUFFIX = {
    "segy": ".sgy",
    "rsf": ".rsf",
    "npy": ".npy",
    "npz": ".npz",
    "vti": ".vti",
    "nc": ".nc",
    "zarr": ".zarr",
}


@dataclass(frozen=True)
class RunOutputs:
    """Files that a run writes at the end, and their places.

    Parameters
    ----------
    job : Job
        Names formats and pictures.
    setup : MigrationSetup
        Shared choices.
    survey : Survey
        That was migrated.
    folder : Path
        Run directory.
    run_id : str
        Hash of job and inputs; stands in the headers.
    world : Comm
        All ranks.
    region : Box, optional
        The part of the image that is wanted, on the model grid; all when None.
    made : mapping
        Lines of the headers in place of those of a migration, by name (`provenance_of`).
    """

    job: Job
    setup: MigrationSetup
    survey: Survey
    folder: Path
    run_id: str
    world: Comm
    region: Box | None = None
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def grid(self) -> Grid:
        """Grid of the image."""
        grid = self.setup.image_grid
        return grid if self.region is None else grid.window(self.region)

    def write(self, planes: ImagePlanes, clock: Phases) -> Written:
        """Write image and illumination; then pictures, when the job asks for them. Collective.

        Parameters
        ----------
        planes : ImagePlanes
            This rank's part of what the run made.
        clock : Phases
            Takes the seconds of ``output`` and ``pictures``.

        Notes
        -----
        The image file depends on job and inputs alone: not on time, host, path, threads, ranks, or on how often the run
        was stopped. SEG-Y, RSF and NPY are written by all ranks together, the other formats by rank 0 from the SEG-Y
        image.
        """
        world = self.world
        if self.region is not None:
            planes = planes.inside(self.region)
            refuse_region(planes.image, world)
        with clock("output"):
            written = self._volumes(planes)
            first = self.folder / f"image{SUFFIX['segy']}"
            with world.together():
                sha = sha256_file(first) if world.is_root else ""
        if self.job.output.pictures:
            with clock("pictures"), world.together():
                if world.is_root:
                    written += self._draw(self._whole(planes.image))
        files = [Path(f) for f in world.bcast([str(f) for f in written])]
        return Written(first, str(world.bcast(sha)), files)

    def _volumes(self, planes: ImagePlanes) -> list[Path]:
        """Write image and illumination; return their files. Collective."""
        grid, frame, world, written = self.grid, self.setup.model.frame, self.world, []
        lines = self._lines()
        text = [
            f"{k}: {v}"
            for k, v in {**provenance_of(self.setup, self.survey, self.run_id), **self.made}.items()
        ]
        names = list(dict.fromkeys(["segy", *self.job.output.formats]))
        for name in sorted(names, key=lambda n: SUFFIX[n] not in PLANE_FORMATS):
            path = self.folder / f"image{SUFFIX[name]}"
            if SUFFIX[name] in PLANE_FORMATS:
                own = OwnPlanes(planes.first, planes.image, world)
                write_planes(path, grid, own, frame, text=text, name="image", lines=lines)
            else:
                with world.together():
                    if world.is_root:
                        volume.write(path, grid, self._whole(planes.image), frame, text=text, name="image")
            written.append(path)
        if planes.illumination is not None:
            path = self.folder / "illumination.rsf"
            own = OwnPlanes(planes.first, planes.illumination, world)
            write_planes(path, grid, own, frame, text=text, name="illumination")
            written.append(path)
        for gathers in planes.gathers:
            written += self._gathers(gathers, frame, lines, text)
        return written

    def _gathers(
        self, gathers: GatherPlanes, frame: Frame, lines: LineNumbers | None, text: list[str]
    ) -> list[Path]:
        """Write the gathers along one direction; return their files. Collective."""
        grid, world, axis = self.grid, self.world, gathers.axis
        by_rank = world.allgather(list(gathers.columns[0]))
        along_x = [c for some in by_rank for c in some]
        own = OwnPlanes(sum(len(some) for some in by_rank[: world.rank]), gathers.values, world)
        if not along_x or not gathers.columns[1]:
            return []
        traces = gathers.traces
        places = GatherColumns(along_x, gathers.columns[1], traces, gathers.meaning)
        beside = self.setup.lags is not None and len(self.setup.lags.axes) > 1
        path = self.folder / f"gathers{f'_{axis.name}' if beside else ''}.sgy"
        write_gathers(path, own, grid, places, frame, text, lines)
        written = [path]
        if "rsf" in self.job.output.formats:
            (x, y, z), (dx, dy, dz) = grid.origin3, grid.spacing3
            xs, ys = along_x, gathers.columns[1]
            name, unit = ("angle", "degree") if gathers.angles else (axis.key.replace("_", " "), "m")
            axes = [
                RsfAxis(grid.shape3[2], dz, z, "z", "m"),
                RsfAxis(len(traces), traces[1] - traces[0], traces[0], name, unit),
                RsfAxis(len(ys), _distance(ys) * dy, y + ys[0] * dy, "y", "m"),
                RsfAxis(len(xs), _distance(xs) * dx, x + xs[0] * dx, "x", "m"),
            ]
            if grid.ndim == 2:
                del axes[2]
            write_rsf(path.with_suffix(".rsf"), own, axes, {"title": "gathers"}, text)
            written.append(path.with_suffix(".rsf"))
        return written

    def _lines(self) -> LineNumbers | None:
        """Return how the lines of the image are numbered; None: 1, 2, ... Collective."""
        with self.world.together():
            numbers = None
            if self.world.is_root:
                numbers = line_numbers(self.job, self.setup.image_grid)
                if numbers is not None and self.region is not None and self.grid.ndim == 3:
                    numbers = numbers.on(self.setup.image_grid, self.grid)
        shared = self.world.bcast(None if numbers is None else list(astuple(numbers)))
        return None if shared is None else LineNumbers(*shared)

    def _whole(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the whole image: what this process has, or the published file as far as it is looked at."""
        if self.world.size == 1:
            return own
        return map_image(self.folder / f"image{SUFFIX['segy']}", self.grid)

    def _draw(self, image: NDArray[np.float32]) -> list[Path]:
        """Draw the sections with the acquisition, and the survey map."""
        from subsalt import view
        from subsalt.view.run_image import illumination_of

        model, folder = self.setup.model, make_folder(self.folder / "pictures")
        out = view.sections(
            image,
            self.grid,
            folder / "image.png",
            survey=self.survey,
            frame=model.frame,
            illumination=illumination_of(self.folder, self.grid),
            title=self.job.title or self.job.name,
            run_id=self.run_id,
        )
        survey_map = view.survey_map(self.survey, model, folder / "survey_map.png", run_id=self.run_id)
        return [*out.values(), survey_map, *self._draw_gathers(image, folder)]

    def _draw_gathers(self, image: NDArray[np.float32], folder: Path) -> list[Path]:
        """Draw the gathers of a whole image beside its stack, and their flatness."""
        if self.region is not None or self.setup.gathers is None:
            return []
        from subsalt.methods.rtm.gather_view import draw_of_run
        from subsalt.view.pages import Sheet

        facts = gathers_facts(self.setup) | {"image_grid": grid_facts(self.grid)}
        sheet = Sheet(folder / "image.png", self.job.title or self.job.name, self.run_id)
        return draw_of_run(self.folder, facts, image, sheet)


def provenance_of(setup: MigrationSetup, survey: Survey, run_id: str) -> dict[str, str]:
    """Return what made the image, for the headers of its files: no time, host or path."""
    p, i = setup.propagation, setup.imaging
    layer = f"{p.boundary} {p.layer_cells} cells" if p.boundary != "none" else "no absorbing layer"
    return {
        "made_by": f"subsalt {__version__}, reverse time migration",
        "run": run_id[:24],
        "medium": f"{setup.model.medium}, {p.weights}, dt {setup.axis.dt * 1e3:.6f} ms",
        "boundary": f"{layer}, {p.top}",
        "time_dispersion": "corrected" if p.time_dispersion else "as is",
        "imaging": f"{i.mode}, {i.condition}, filter {i.filter}, step {setup.image_step}",
        "shots": str(len(survey)),
        "wavelet": setup.wavelet.name,
        **_topography_line(setup, survey),
    }


def _topography_line(setup: MigrationSetup, survey: Survey) -> dict[str, str]:
    """Return where the free surface lies, for the headers of the image; empty without topography."""
    facts = topography_facts(setup, survey).get("topography")
    if facts is None:
        return {}
    high, low = facts["depths"]
    return {
        "topography": f"z = 0 at elevation {facts.get('datum', 0.0):g} m, surface at z = {high:.6g} to {low:.6g} m, "
        "image zero above it"
    }


def _distance(columns: Sequence[int]) -> int:
    """Return how far columns lie apart, in points of the grid."""
    return columns[1] - columns[0] if len(columns) > 1 else 1


#: whole images that the writers of formats hold which ranks cannot write together
COPIES = 3


def check_formats(job: Job, grid: Grid, world: Comm, frame: Frame | None = None) -> None:
    """Refuse what could not be written in the end: formats that rank 0 would have to write alone and has no memory
    for, and map coordinates that are too large for SEG-Y.

    Raises
    ------
    GeometryError
        When the corners of the image do not fit.
    MemoryPlanError
        Naming them.
    """
    place, last = frame or Frame(), (np.array(grid.shape3) - 1) * np.array(grid.spacing3)
    corners = np.array(grid.origin3) + last * np.array([[x, y, 0.0] for x in (0, 1) for y in (0, 1)])
    choose_scalar(place.to_world(corners)[:, :2], "map coordinates of the image")
    alone = [n for n in job.output.formats if SUFFIX[n] not in PLANE_FORMATS]
    need = COPIES * 4 * grid.size
    if alone and world.is_root and need > available_memory():
        raise MemoryPlanError(
            f"[output] formats: {', '.join(alone)} take {need / 1e9:.2f} GB on one rank, "
            f"{available_memory() / 1e9:.2f} GB are available",
            'write segy and rsf, which all ranks write together, and convert them elsewhere with "subsalt export"',
            code="E831",
        )
