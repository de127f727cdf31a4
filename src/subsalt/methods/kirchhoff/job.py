"""The job of Kirchhoff prestack time migration: its tables, and the objects that compute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.errors import ConfigError
from subsalt.job.base import BaseJob
from subsalt.job.csv_tables import read_table
from subsalt.job.inputs import existing
from subsalt.job.signal import AnyStep
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.data_sections import PrestackDataSection
from subsalt.methods.kirchhoff.floating import HEIGHTS, FloatingDatum, FromFlatDatum, floating_datum
from subsalt.methods.kirchhoff.image_grid import classes, image_grid, is_line
from subsalt.methods.kirchhoff.sections import (
    KirchhoffOutputSection,
    KirchhoffParallelSection,
    KirchhoffSection,
)
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import TimeVelocity
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.options import KirchhoffOptions
    from subsalt.methods.kirchhoff.setup import KirchhoffSetup
    from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
    from subsalt.parallel.comm import Comm

#: columns of a file of elevations
COLUMNS = ("x", "y", "elevation")


class KirchhoffJob(BaseJob):
    """A validated job of Kirchhoff prestack time migration.

    Examples
    --------
    >>> from subsalt.methods.rtm.job import Job
    >>> job = Job.from_dict({"method": "kirchhoff", "data": {"files": ["shots.sgy"]}, "velocity": {"v": 2000}})
    >>> job.kirchhoff.bands
    10
    """

    method: Literal["kirchhoff"] = Field(  # type: ignore[misc]
        description="how the image is made: kirchhoff"
    )
    data: PrestackDataSection = Field(description="the recorded traces, in any order")
    signal: list[AnyStep] | None = Field(
        None, description="steps on the traces before they are summed, in order"
    )
    velocity: VelocitySection = Field(description="rms velocity in two-way time")
    kirchhoff: KirchhoffSection = Field(
        default_factory=KirchhoffSection, description="output grid, gathers and summation of a time migration"
    )
    parallel: KirchhoffParallelSection = Field(
        default_factory=KirchhoffParallelSection, description="threads and device"
    )
    output: KirchhoffOutputSection = Field(
        default_factory=KirchhoffOutputSection, description="what is written"
    )

    @model_validator(mode="before")
    @classmethod
    def _datum_is_for_the_processor(cls, raw: Any) -> Any:
        """Take the processor where a floating datum is asked for, and refuse a GPU by name."""
        section = raw.get("kirchhoff") if isinstance(raw, dict) else None
        if not isinstance(section, dict) or section.get("floating_datum") is None:
            return raw
        from subsalt.kernels.kirchhoff import BELOW_A_SURFACE, DEVICES

        parallel = raw.get("parallel") or {}
        device = parallel.get("device", "auto") if isinstance(parallel, dict) else None
        if device == "auto":
            return raw | {"parallel": parallel | {"device": BELOW_A_SURFACE[0]}}
        if device in DEVICES and device not in BELOW_A_SURFACE:
            raise ConfigError(
                f'floating_datum has no kernel for the device "{device}"',
                f'set [parallel] device = "{BELOW_A_SURFACE[0]}", or leave floating_datum out',
                code="E752",
            )
        return raw

    @model_validator(mode="after")
    def _one_way_to_a_datum(self) -> KirchhoffJob:
        if self.kirchhoff.floating_datum is not None:
            for place, step in enumerate(self.signal or [], 1):
                if getattr(step, "datum", None) is not None:
                    raise ConfigError(
                        f"[[signal]] step {place} shifts to a datum, and [kirchhoff.floating_datum] moves sources and "
                        "receivers as well",
                        "leave one of them out",
                        code="E752",
                    )
        return self

    # -- the objects that compute

    def open_table(self, comm: Comm | None = None) -> TraceTable:
        """Return the table of all usable traces; the first call reads their headers, on several ranks together."""
        from subsalt.methods.kirchhoff.data import open_prestack

        more = HEIGHTS if self.kirchhoff.floating_datum is not None else ()
        table: TraceTable = self.remember("table", lambda: open_prestack(self, comm, more))
        return table

    def signal_source(self) -> TraceTable:
        """Return the table of all usable traces."""
        return self.open_table()

    def image_grid(self, table: TraceTable) -> ImageGrid:
        """Return where the image stands: as `[kirchhoff]` says, and as the traces do where it says nothing."""
        grid: ImageGrid = self.remember("image grid", lambda: image_grid(self.kirchhoff, table))
        return grid

    @property
    def options(self) -> KirchhoffOptions:
        """`[kirchhoff]` in the form of the imaging code; ``amplitude = "auto"`` looks at the traces."""
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

    def floating_datum(self, table: TraceTable) -> FloatingDatum | None:
        """Return the datum of a survey on topography; None without `[kirchhoff.floating_datum]`."""
        section = self.kirchhoff.floating_datum
        if section is None:
            return None
        made: FloatingDatum = self.remember(
            "floating datum",
            lambda: floating_datum(
                section, table, None if (file := self._elevations()) is None else read_table(file, COLUMNS)
            ),
        )
        return made

    def _elevations(self) -> Path | None:
        """Return the file of elevations that the job names."""
        section = self.kirchhoff.floating_datum
        if section is None or section.elevations is None:
            return None
        return existing(self.resolve(section.elevations), "[kirchhoff.floating_datum] elevations")

    def classes(self, table: TraceTable) -> Classes:
        """Return the image traces of a location: one, or one per offset class and azimuth sector."""
        made: Classes = self.remember("classes", lambda: classes(self.kirchhoff, table))
        return made

    def setup(self, comm: Comm | None = None) -> KirchhoffSetup:
        """Return all that the imaging code needs; on several ranks the first call is collective."""
        from subsalt.methods.kirchhoff.setup import KirchhoffSetup
        from subsalt.methods.kirchhoff.weights import trace_weights

        def make() -> KirchhoffSetup:
            table = self.open_table(comm)
            grid, options = self.image_grid(table), self.options
            classes, datum = self.classes(table), self.floating_datum(table)
            if datum is not None and datum.plane:
                datum = None
            velocity: TimeVelocity = self.open_velocity(grid)
            if datum is not None and datum.flat is not None:
                velocity = FromFlatDatum(velocity, datum)
            weights = trace_weights(table, classes, grid, options, self.kirchhoff.weighting)
            return KirchhoffSetup(grid, velocity, table, options, classes, weights, datum)

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
        from subsalt.job.inputs import data_files, geometry_files, signal_files
        from subsalt.methods.kirchhoff.velocity.load import velocity_files

        files = {"data.files": data_files(self)} | geometry_files(self) | signal_files(self)
        if (elevations := self._elevations()) is not None:
            files["kirchhoff.floating_datum.elevations"] = [elevations]
        return files | velocity_files(self.velocity, self.resolve)

    @classmethod
    def accept_short_forms(cls, definitions: dict[str, Any]) -> None:
        """Add a number or text for velocities and lengths, one file for a list."""
        from subsalt.job.schema import SHORT, one_for_a_list

        one_for_a_list(definitions["PrestackDataSection"]["properties"], "files")
        velocity, eta = (definitions[name]["properties"] for name in ("VelocitySection", "EtaSection"))
        for key in ("v", "eta"):
            velocity[key]["anyOf"] = [*SHORT, *velocity[key]["anyOf"]]
        velocity["eta"]["anyOf"].append({"$ref": "#/$defs/FunctionSection"})
        for properties in (velocity, eta):
            properties["columns"]["anyOf"].append({"type": "string"})
            for key in ("spacing", "origin"):
                properties[key]["anyOf"][0]["items"] = {"anyOf": SHORT}
        values = definitions["FunctionSection"]["properties"]["value"]
        values["anyOf"] = [*SHORT, {"type": "array", "items": {"anyOf": SHORT}}]
        definitions["KirchhoffSection"]["properties"]["antialias_spacing"]["anyOf"] += SHORT[:1]

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a bit of the image."""
        return super().of_the_image() | {"kirchhoff": self.kirchhoff.of_the_image()}
