"""The tables of a job of reverse time migration, and the options of the program that they stand for."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pydantic import Field, PrivateAttr, model_validator

from subsalt.errors import ConfigError
from subsalt.job.acquisition_section import AcquisitionSection
from subsalt.job.base import BaseJob
from subsalt.job.checkpoint_section import CheckpointSection
from subsalt.job.data_sections import DataSection
from subsalt.job.model_sections import GridSection, ModelSection
from subsalt.job.sections import (
    ImagingSection,
    OutputSection,
    ParallelSection,
    PropagationSection,
    SourceSection,
)
from subsalt.job.types import auto_to_none
from subsalt.propagation.options import CheckpointOptions, ImagingOptions, PropagationOptions


class RtmTables(BaseJob):
    """What a job of reverse time migration says; `subsalt.job.job.Job` opens what it names."""

    method: ClassVar[str] = "rtm"

    data: DataSection | None = Field(None, description="recorded shots (migrate)")
    acquisition: AcquisitionSection | None = Field(None, description="positions of a survey (model)")
    model: ModelSection = Field(description="the earth model")
    grid: GridSection | None = Field(None, description="model grid, where no file brings it")
    source: SourceSection = Field(description="the source wavelet")
    propagation: PropagationSection = Field(
        default_factory=PropagationSection, description="how wavefields are computed"
    )
    imaging: ImagingSection = Field(default_factory=ImagingSection, description="how the image is made")
    checkpoint: CheckpointSection = Field(
        default_factory=CheckpointSection, description="how the source wavefield is kept or computed again"
    )
    parallel: ParallelSection = Field(default_factory=ParallelSection, description="threads and device")
    output: OutputSection = Field(default_factory=OutputSection, description="what is written")

    _streaming: bool | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _grid_is_known(self) -> RtmTables:
        if self.model.vp.file is None and self.grid is None:
            raise ConfigError(
                "[grid] is missing: vp is not a file, so nothing says the grid",
                "add [grid] with spacing and one of shape, extent, depth",
                code="E102",
            )
        return self

    @cached_property
    def propagation_options(self) -> PropagationOptions:
        """`[propagation]` and `[parallel]` in the form of the propagator."""
        return self.propagation.as_options(
            PropagationOptions,
            source_taper=self.propagation.source_taper or None,
            device=self.parallel.device,
            threads=auto_to_none(self.parallel.threads),
        )

    @cached_property
    def imaging_options(self) -> ImagingOptions:
        """`[imaging]` in the form of the imaging code."""
        return self.imaging.as_options(ImagingOptions)

    @cached_property
    def checkpoint_options(self) -> CheckpointOptions:
        """`[checkpoint]` in the form of the imaging code; folders count from that of the job file."""
        section = self.checkpoint
        return section.options(tuple(str(self.resolve(d)) for d in section.directories))

    @property
    def streaming(self) -> bool:
        """Whether the volumes of the model stay in their files, as they do in a run of several ranks, or when asked."""
        from subsalt.parallel.comm import world

        if self._streaming is not None:
            return self._streaming
        return self.parallel.stream_model or world().size > 1

    def stream(self, streaming: bool = True) -> None:
        """Say whether the volumes of the model stay in their files; what was read is dropped."""
        self._streaming = streaming
        self.forget()
