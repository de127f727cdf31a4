"""The job of reverse time migration: a TOML file that describes a survey to be modelled or migrated, as an object.

`Job.from_toml` validates it and names everything that is wrong at once; `Job.load_model`, `Job.load_survey`,
`Job.wavelet`, `Job.propagation` and `Job.imaging_options` turn it into the objects that compute. What it shares with
jobs of other methods is `subsalt.job.base`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import ConfigError
from subsalt.job.inputs import data_files, existing, geometry_files, signal_files, with_payload
from subsalt.methods.rtm.model_sections import PARAMETERS
from subsalt.methods.rtm.sections import RtmTables

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.acquisition.wavelet import Wavelet
    from subsalt.earth.model import EarthModel
    from subsalt.earth.model_like import ModelLike


#: keys of [propagation] that a resolved job may lack, with what it then stands for: the only way there was
FORMER: dict[str, Any] = {"stencil": "taylor", "grid": "model", "depth_axis": "uniform"}


class Job(RtmTables):
    """A validated job of reverse time migration, or of modelling.

    Examples
    --------
    >>> job = Job.from_dict({"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [101, 51]},
    ...                      "source": {"f0": 15}})
    >>> job.source.f0
    15.0
    """

    def with_shots(self, selection: str) -> Job:
        """Return the job with other shots selected, as in `[data] shots`."""
        if self.data is None:
            raise ConfigError("the job has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
        return self.changed("data", shots=selection)

    # -- the objects that compute

    def load_model(self) -> EarthModel:
        """Read or build the earth model, smoothed when the job says so; the same object at every call."""
        from subsalt.methods.rtm.earth_model import load_model

        model: EarthModel = self.remember("model", lambda: load_model(self))
        return model

    def open_model(self) -> ModelLike:
        """Return the earth model as a run uses it: numbers about the whole, values by window.

        On one process it is `load_model`, unless ``[parallel] stream_model`` asks otherwise. A job that streams reads
        planes when a window asks for them; then the call is collective over all ranks, which go through the model
        together to find the numbers.
        """
        if not self.streaming:
            return self.load_model()
        from subsalt.methods.rtm.earth_model import open_model
        from subsalt.parallel.comm import world

        model: ModelLike = self.remember("open model", lambda: open_model(self, world()))
        return model

    def open_propagation_model(self) -> ModelLike:
        """Return `open_model` on the grid on which waves are computed (``[propagation] grid``); the same object when
        that is its own. Of a job that streams the first call is collective.
        """
        from subsalt.methods.rtm.earth_model import propagation_model
        from subsalt.parallel.comm import single, world

        model = self.open_model()
        comm = world() if self.streaming else single()
        opened: ModelLike = self.remember("propagation model", lambda: propagation_model(self, model, comm))
        return opened

    def load_survey(self) -> Survey:
        """Open the recorded shots of `[data]`; traces are read when they are asked for."""
        from subsalt.methods.rtm.earth_model import load_survey

        return load_survey(self)

    def signal_source(self) -> Survey:
        """Return the recorded survey, which must be there."""
        if self.data is None:
            raise ConfigError("the job has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
        return self.load_survey()

    def acquisition_survey(self) -> Survey:
        """Build the survey of `[acquisition]`, without data."""
        from subsalt.methods.rtm.earth_model import model_frame
        from subsalt.methods.rtm.positions import build_survey
        from subsalt.methods.rtm.topography import on_topography

        survey = build_survey(self)
        if self.propagation.topography is None:
            return survey
        return on_topography(self, survey, model_frame(self))

    def wavelet(self, dt: float, nt: int | None = None) -> Wavelet:
        """Return the source wavelet sampled at `dt` (s), `nt` samples when given."""
        name = self.source.file if self.source.wavelet == "file" else None
        file = None if name is None else existing(self.resolve(name), "source.file")
        return self.source.sampled(dt, nt, file)

    # -- the job as a number

    @classmethod
    def upgrade_resolved(cls, resolved: dict[str, Any]) -> dict[str, Any]:
        """Return the resolved job of an older version with the keys that it lacks: it had Taylor's weights."""
        return resolved | {"propagation": FORMER | resolved.get("propagation", {})}

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them; patterns expanded and sorted."""
        out: dict[str, list[Path]] = {}
        if self.data is not None:
            traces = data_files(self)
            # the samples of time slices lie beside their headers
            slices = self.data.slices is not None
            out["data.files"] = [f for p in traces for f in (with_payload(p) if slices else [p])]
            out |= geometry_files(self)
        out |= signal_files(self)
        for name in PARAMETERS:
            section = getattr(self.model, name)
            if section is not None and section.file is not None:
                key = f"model.{name}.file"
                path = existing(self.resolve(section.file), key, stored=True)
                if section.data is None:
                    out[key] = with_payload(path)
                else:
                    out[key] = [path]
                    out[f"model.{name}.data"] = [existing(self.resolve(section.data), f"model.{name}.data")]
        if self.source.file is not None:
            out["source.file"] = [existing(self.resolve(self.source.file), "source.file")]
        section = self.propagation.topography
        if section is not None and section.elevations is not None:
            key = "propagation.topography.elevations"
            out[key] = [existing(self.resolve(section.elevations), key)]
        if self.acquisition is not None:
            for group in ("shots", "receivers"):
                for i, item in enumerate(getattr(self.acquisition, group)):
                    if item.file is not None:
                        key = f"acquisition.{group}.{i}.file"
                        out[key] = [existing(self.resolve(item.file), key)]
        return out

    @classmethod
    def accept_short_forms(cls, definitions: dict[str, Any]) -> None:
        """Add a number or text for a parameter of the model, one file or group of positions for a list."""
        from subsalt.job.schema import SHORT, one_for_a_list, value_or_text

        value_or_text(definitions["ModelSection"]["properties"], *PARAMETERS)
        one_for_a_list(definitions["AcquisitionSection"]["properties"], "shots", "receivers")
        one_for_a_list(definitions["DataSection"]["properties"], "files")
        value = definitions["ValueSection"]["properties"]["value"]
        value["anyOf"] = [*SHORT, {"type": "array", "items": {"anyOf": SHORT}}]

    def former_choices(self, begun: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return by table what a run of the job in `begun` has, an older version's, and this job leaves open."""
        then, mine = begun.get("propagation"), self.propagation
        if then is None:
            return {}
        left_open = {k: v for k, v in FORMER.items() if k not in then and k not in mine.model_fields_set}
        if left_open.get("grid", mine.grid) != "auto" or mine.topography is not None:
            left_open.pop("depth_axis", None)
        differing = {k: v for k, v in left_open.items() if getattr(mine, k) != v}
        return {"propagation": differing} if differing else {}

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a bit of the image.

        Notes
        -----
        Of [checkpoint] that is all but the keys that lose digits. A job with what was the only way once is the same as
        one of that time, which has no key for it.
        """
        job = {k: v for k, v in super().of_the_image().items() if k != "checkpoint"}
        tables = job["propagation"]
        # what a given grid would choose by does not matter, nor what an axis below topography would do elsewhere
        without = ("accuracy", "depth_axis") if tables["grid"] != "auto" else ()
        if tables.get("topography") is not None:
            without = (*without, "depth_axis")
        tables = {k: v for k, v in tables.items() if k not in without}
        job["propagation"] = {k: v for k, v in tables.items() if FORMER.get(k) != v}
        job["imaging"] = {k: v for k, v in job["imaging"].items() if k != "gathers" or v is not None}
        lossy = self.checkpoint.of_the_image()
        return job | {"checkpoint": lossy} if lossy else job
