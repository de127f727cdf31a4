"""The job of reverse time migration: a TOML file that describes a survey to be modelled or migrated, as an object.

`Job.from_toml` validates it and names everything that is wrong at once; `Job.load_model`, `Job.load_survey`,
`Job.wavelet`, `Job.propagation` and `Job.imaging_options` turn it into the objects that compute. What it shares with
jobs of other methods is `subsalt.job.base`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

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
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.acquisition.wavelet import Wavelet
    from subsalt.earth.model import EarthModel
    from subsalt.earth.model_like import ModelLike
    from subsalt.propagation.options import CheckpointOptions


class Job(BaseJob):
    """A validated job of reverse time migration, or of modelling.

    Examples
    --------
    >>> job = Job.from_dict({"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [101, 51]},
    ...                      "source": {"f0": 15}})
    >>> job.source.f0
    15.0
    """

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
    def _grid_is_known(self) -> Job:
        if self.model.vp.file is None and self.grid is None:
            raise ConfigError(
                "[grid] is missing: vp is not a file, so nothing says the grid",
                "add [grid] with spacing and one of shape, extent, depth",
                code="E102",
            )
        return self

    def with_shots(self, selection: str) -> Job:
        """Return the job with other shots selected, as in `[data] shots`."""
        if self.data is None:
            raise ConfigError("the job has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
        return self.changed("data", shots=selection)

    # -- the objects that compute

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

    def load_model(self) -> EarthModel:
        """Read or build the earth model, smoothed when the job says so; the same object at every call."""
        from subsalt.job.model import load_model

        model: EarthModel = self.remember("model", lambda: load_model(self))
        return model

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

    def open_model(self) -> ModelLike:
        """Return the earth model as a run uses it: numbers about the whole, values by window.

        On one process it is `load_model`, unless ``[parallel] stream_model`` asks otherwise. A job that streams reads
        planes when a window asks for them; then the call is collective over all ranks, which go through the model
        together to find the numbers.
        """
        if not self.streaming:
            return self.load_model()
        from subsalt.job.model import open_model
        from subsalt.parallel.comm import world

        model: ModelLike = self.remember("open model", lambda: open_model(self, world()))
        return model

    def load_survey(self) -> Survey:
        """Open the recorded shots of `[data]`; traces are read when they are asked for."""
        from subsalt.job.data import open_survey
        from subsalt.job.model import model_frame

        survey: Survey = self.remember("survey", lambda: open_survey(self, model_frame(self)))
        return survey

    def acquisition_survey(self) -> Survey:
        """Build the survey of `[acquisition]`, without data."""
        from subsalt.job.positions import build_survey

        return build_survey(self)

    def wavelet(self, dt: float, nt: int | None = None) -> Wavelet:
        """Return the source wavelet sampled at `dt` (s), `nt` samples when given."""
        from subsalt.job.inputs import existing

        name = self.source.file if self.source.wavelet == "file" else None
        file = None if name is None else existing(self.resolve(name), "source.file")
        return self.source.sampled(dt, nt, file)

    # -- the job as a number

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them; patterns expanded and sorted."""
        from subsalt.job.inputs import input_files

        return input_files(self)

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a bit of the image.

        Notes
        -----
        Of [checkpoint] that is all but the keys that lose digits.
        """
        job = {k: v for k, v in super().of_the_image().items() if k != "checkpoint"}
        lossy = self.checkpoint.of_the_image()
        return job | {"checkpoint": lossy} if lossy else job
