"""The job of least-squares migration: that of reverse time migration, with the iteration in place of the image."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from subsalt.errors import ConfigError
from subsalt.inversion.options import LeastSquaresOptions
from subsalt.job.inputs import existing, with_payload
from subsalt.job.units import options_from
from subsalt.kernels import requires_gpu
from subsalt.methods.lsrtm.sections import InversionSection, LinearImagingSection
from subsalt.methods.rtm.data_sections import DataSection
from subsalt.methods.rtm.job import Job
from subsalt.propagation.options import ImagingOptions

#: keys of [inversion] that change no state: how far the iteration goes, and what is shown of it
FAR = ("iterations", "misfit", "noise", "noise_factor", "keep_images", "compare_shots")


class LeastSquaresJob(Job):
    """A validated job of least-squares migration."""

    method: ClassVar[str] = "lsrtm"

    data: DataSection = Field(description="recorded shots")  # type: ignore[assignment]
    imaging: LinearImagingSection = Field(  # type: ignore[assignment]
        default_factory=LinearImagingSection, description="the part of the model that a shot images"
    )
    inversion: InversionSection = Field(
        default_factory=InversionSection, description="the iteration of a least-squares migration"
    )

    @model_validator(mode="before")
    @classmethod
    def _where_it_can(cls, raw: Any) -> Any:
        """Let the job run where its adjoint is exact: on a processor."""
        if not isinstance(raw, dict):
            return raw
        raw = {k: v for k, v in raw.items() if (k, v) != ("method", cls.method)}
        parallel = raw.get("parallel") or {}
        if not isinstance(parallel, dict):
            return raw
        given = {k: v for k, v in parallel.items() if v != "auto"}
        return raw | {"parallel": {"device": "cpu"} | given}

    @model_validator(mode="after")
    def _gathers_go_with_the_rest(self) -> LeastSquaresJob:
        # takes the place of the rule on gathers, of which this method has none
        keep, checkpoint = self.checkpoint.keep != "none", self.checkpoint_options
        excluded = {
            "[propagation.topography]": self.propagation.topography is not None,
            f'[parallel] device = "{self.parallel.device}"': requires_gpu(self.parallel.device),
            "[data] slices": self.data.slices is not None,
            f'[checkpoint] strategy = "{checkpoint.strategy}"': checkpoint.strategy == "boundary",
            f'[checkpoint] compression = "{checkpoint.compression}"': not checkpoint.lossless,
            "[checkpoint] exact = false": self.checkpoint.exact is False,
            f'[checkpoint] keep = "{self.checkpoint.keep}"': keep,
            "[checkpoint] restart_every": bool(checkpoint.restart_every),
        }
        if wrong := [what for what, so in excluded.items() if so]:
            raise ConfigError(
                f"least-squares migration does not go with {', '.join(wrong)}: its adjoint must be exact, on "
                "processors",
                'leave these out; or migrate without least squares: method = "rtm"',
                code="E897",
            )
        return self

    def model_dump(self, **how: Any) -> dict[str, Any]:
        """Return the content of the file, its method first."""
        return {"method": self.method, **super().model_dump(**how)}

    @property
    def imaging_options(self) -> ImagingOptions:  # type: ignore[override]
        """`[imaging]` in the form of the imaging code: the adjoint of modelling."""
        return options_from(
            ImagingOptions, self.imaging, mode="adjoint", condition="source-normalised", filter="none"
        )

    @cached_property
    def inversion_options(self) -> LeastSquaresOptions:
        """`[inversion]` in the form of the iteration."""
        return self.inversion.options()

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them."""
        out = super().input_files()
        for name in ("start", "mask"):
            file = getattr(self.inversion, name)
            if file is not None:
                key = f"inversion.{name}"
                out[key] = with_payload(existing(self.resolve(file), key, stored=True))
        return out

    @classmethod
    def accept_short_forms(cls, definitions: dict[str, Any]) -> None:
        """Add nothing: its tables with short forms are those of reverse time migration."""

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a state."""
        job = super().of_the_image()
        # the word of an estimate stays: the first round makes it
        far = [k for k in FAR if k != "noise" or not isinstance(job["inversion"][k], str)]
        # an image is deconvolved when it is written
        far += ["damping"] * (self.inversion.domain == "image")
        inversion = {k: v for k, v in job["inversion"].items() if k not in far}
        return job | {"inversion": inversion}
