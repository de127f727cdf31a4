"""The job of Kirchhoff prestack time migration: its tables, and the objects that compute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from subsalt.errors import ConfigError
from subsalt.job.base import BaseJob
from subsalt.job.data_sections import PrestackDataSection
from subsalt.methods.kirchhoff.sections import (
    KirchhoffOutputSection,
    KirchhoffParallelSection,
    KirchhoffSection,
)
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.classes import Classes
    from subsalt.methods.kirchhoff.options import KirchhoffOptions
    from subsalt.methods.kirchhoff.setup import KirchhoffSetup
    from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
    from subsalt.parallel.comm import Comm


class KirchhoffJob(BaseJob):
    """A validated job of Kirchhoff prestack time migration.

    Examples
    --------
    >>> from subsalt.job.job import Job
    >>> job = Job.from_dict({"method": "kirchhoff", "data": {"files": ["shots.sgy"]}, "velocity": {"v": 2000}})
    >>> job.kirchhoff.bands
    10
    """

    method: Literal["kirchhoff"] = Field(  # type: ignore[misc]
        description="how the image is made: kirchhoff"
    )
    data: PrestackDataSection = Field(description="the recorded traces, in any order")
    velocity: VelocitySection = Field(description="rms velocity in two-way time")
    kirchhoff: KirchhoffSection = Field(
        default_factory=KirchhoffSection, description="output grid, gathers, and how traces are summed"
    )
    parallel: KirchhoffParallelSection = Field(
        default_factory=KirchhoffParallelSection, description="threads and device"
    )
    output: KirchhoffOutputSection = Field(
        default_factory=KirchhoffOutputSection, description="what is written"
    )

    # -- the objects that compute

    def open_table(self, comm: Comm | None = None) -> TraceTable:
        """Return the table of all usable traces; the first call reads their headers, on several ranks together."""
        from subsalt.job.data import open_prestack
        from subsalt.job.inputs import data_files

        table: TraceTable = self.remember("table", lambda: open_prestack(self.data, data_files(self), comm))
        return table

    def image_grid(self, table: TraceTable) -> ImageGrid:
        """Return where the image stands: as `[kirchhoff]` says, and as the traces do where it says nothing."""
        from subsalt.methods.kirchhoff.job_grid import image_grid

        grid: ImageGrid = self.remember("image grid", lambda: image_grid(self.kirchhoff, table))
        return grid

    @property
    def options(self) -> KirchhoffOptions:
        """`[kirchhoff]` in the form of the imaging code; ``amplitude = "auto"`` looks at the traces."""
        from subsalt.methods.kirchhoff.job_grid import is_line

        decided = self.kirchhoff.amplitude != "auto"
        return self.kirchhoff.options(not decided and is_line(self.open_table()))

    def open_velocity(self, grid: ImageGrid) -> FieldVelocity:
        """Return the rms velocity in time on the map; its files are placed by the numbers of `grid`."""
        from subsalt.methods.kirchhoff.velocity.load import open_velocity

        curved = self.kirchhoff.traveltime == "curved"
        made: FieldVelocity = self.remember(
            "velocity", lambda: open_velocity(self.velocity, self.resolve, grid, curved=curved)
        )
        return made

    def classes(self, table: TraceTable) -> Classes:
        """Return the image traces of a location: one, or one per offset class and azimuth sector."""
        from subsalt.methods.kirchhoff.job_grid import classes

        made: Classes = self.remember("classes", lambda: classes(self.kirchhoff, table))
        return made

    def setup(self, comm: Comm | None = None) -> KirchhoffSetup:
        """Return all that the imaging code needs; on several ranks the first call is collective."""
        from subsalt.methods.kirchhoff.setup import KirchhoffSetup
        from subsalt.methods.kirchhoff.weights import trace_weights

        def make() -> KirchhoffSetup:
            table = self.open_table(comm)
            grid, options = self.image_grid(table), self.options
            velocity, classes = self.open_velocity(grid), self.classes(table)
            weights = trace_weights(table, classes, grid, options, self.kirchhoff.weighting)
            return KirchhoffSetup(grid, velocity, table, options, classes, weights)

        made: KirchhoffSetup = self.remember("setup", make)
        return made

    def with_shots(self, selection: str) -> KirchhoffJob:
        """Refuse a selection of shots: a time migration takes all traces of its files."""
        raise ConfigError(
            f"--shots {selection} selects shots, and method kirchhoff takes all traces of [data]",
            "leave --shots out; [data] files selects files",
            code="E769",
        )

    # -- the job as a number

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them; patterns expanded and sorted."""
        from subsalt.job.inputs import data_files
        from subsalt.methods.kirchhoff.velocity.load import velocity_files

        return {"data.files": data_files(self)} | velocity_files(self.velocity, self.resolve)

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a bit of the image."""
        return super().of_the_image() | {"kirchhoff": self.kirchhoff.of_the_image()}
