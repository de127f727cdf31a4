"""The job: one TOML file that describes a survey to be modelled or migrated, as an object.

`Job.from_toml` validates it and names everything that is wrong at once; `Job.load_model`, `Job.load_survey`,
`Job.wavelet`, `Job.propagation` and `Job.imaging_options` turn it into the objects that compute.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from subsalt.errors import ConfigError, Finding, MissingInputError
from subsalt.job import errors as job_errors
from subsalt.job.acquisition_section import AcquisitionSection
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
from subsalt.job.types import Section, auto_to_none

if TYPE_CHECKING:
    from subsalt.model import EarthModel, ModelLike
    from subsalt.options import CheckpointOptions, ImagingOptions, PropagationOptions
    from subsalt.plan import Plan
    from subsalt.survey import Survey
    from subsalt.wavelet import Wavelet

#: tables that cannot change the image, hence are no part of the run id; lossy keys of [checkpoint] come back into it
WITHOUT_INFLUENCE = ("title", "output", "parallel", "checkpoint")


class Job(Section):
    """A validated job file.

    Examples
    --------
    >>> job = Job.from_dict({"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [101, 51]},
    ...                      "source": {"f0": 15}})
    >>> job.source.f0
    15.0
    """

    title: str = Field("", description="a name for pictures and the report")
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

    _path: Path | None = PrivateAttr(None)
    _base: Path = PrivateAttr(Path("."))
    _name: str = PrivateAttr("")
    _memory: dict[str, Any] = PrivateAttr(default_factory=dict)
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

    @classmethod
    def from_toml(cls, path: str | Path) -> Job:
        """Read and validate a job file.

        Parameters
        ----------
        path : str or Path
            The file; relative names in it count from its folder.

        Raises
        ------
        MissingInputError
            When there is no such file.
        ConfigError
            When it is no TOML.
        FindingsError
            With everything that is wrong in it, exit code 78.
        """
        path = Path(path)
        text = _read_text(path)
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(
                f"{path}: {error}", "texts need quotes, tables are [name], lists [1, 2]", code="E106"
            ) from None
        return cls._build(raw, text, path)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], base: str | Path = ".", *, name: str = "") -> Job:
        """Validate a job given as a dictionary; relative file names count from `base`; `name` is what it is called."""
        job = cls._build(dict(raw), "", None)
        job._base, job._name = Path(base), name
        return job

    def changed(self, section: str, **values: Any) -> Job:
        """Return the job with other values in one of its tables."""
        raw = self.model_dump(mode="json", exclude_none=True)
        raw[section] = {**raw.get(section, {}), **values}
        job = Job._build(raw, "", None)
        job._path, job._base, job._name = self._path, self._base, self._name
        return job

    def with_shots(self, selection: str) -> Job:
        """Return the job with other shots selected, as in `[data] shots`."""
        if self.data is None:
            raise ConfigError("the job has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102")
        return self.changed("data", shots=selection)

    @classmethod
    def _build(cls, raw: dict[str, Any], text: str, path: Path | None) -> Job:
        raw = {k: v for k, v in raw.items() if k != "$schema"}
        try:
            job = cls.model_validate(raw)
        except ValidationError as error:
            job_errors.raise_from(error, cls, text)
            raise AssertionError("unreachable") from error
        if path is not None:
            job._path = path
            job._base = path.parent
        return job

    @property
    def path(self) -> Path | None:
        """The job file, None for a job from a dictionary."""
        return self._path

    @property
    def name(self) -> str:
        """Name of the job: its file name without suffix."""
        return self._path.stem if self._path else self._name or "job"

    @property
    def base(self) -> Path:
        """Folder from which relative names count."""
        return self._base

    @property
    def default_run_dir(self) -> Path:
        """`NAME.run` beside the job file."""
        return self._base / f"{self.name}.run"

    def resolve(self, name: str) -> Path:
        """Return the path of a file named in the job."""
        return self._base / Path(name).expanduser()

    # -- the objects that compute

    @cached_property
    def propagation_options(self) -> PropagationOptions:
        """`[propagation]` and `[parallel]` in the form of the propagator."""
        from subsalt.options import PropagationOptions

        p = self.propagation
        return PropagationOptions(
            medium=p.medium,  # type: ignore[arg-type]
            order=p.order,
            dt=auto_to_none(p.dt),
            boundary=p.boundary,
            layer=auto_to_none(p.layer),
            free_surface=p.free_surface,
            time_dispersion=p.time_dispersion,
            source_taper=p.source_taper or None,
            anisotropy=p.anisotropy,
            model_storage=p.model_storage,
            device=self.parallel.device,
            threads=auto_to_none(self.parallel.threads),
        )

    @cached_property
    def imaging_options(self) -> ImagingOptions:
        """`[imaging]` in the form of the imaging code."""
        from subsalt.options import ImagingOptions

        i = self.imaging
        return ImagingOptions(
            mode=i.mode,
            condition=i.condition,
            aperture=None if i.aperture == "all" else float(i.aperture),
            filter=i.filter,
            top_mute=i.top_mute,
            image_step=auto_to_none(i.image_step),
            normalise=i.normalise,
            illumination=i.illumination,
        )

    @cached_property
    def checkpoint_options(self) -> CheckpointOptions:
        """`[checkpoint]` in the form of the imaging code; folders count from that of the job file."""
        section = self.checkpoint
        return section.options(tuple(str(self.resolve(d)) for d in section.directories))

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` made at the first call with this key: files are read once."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def knows(self, key: str) -> bool:
        """Return whether `remember` has something under this key."""
        return key in self._memory

    def forget(self) -> None:
        """Drop what was read, for example after a file has changed."""
        self._memory.clear()

    def load_model(self) -> EarthModel:
        """Read or build the earth model, smoothed when the job says so; the same object at every call."""
        from subsalt.job.load import load_model

        model: EarthModel = self.remember("model", lambda: load_model(self))
        return model

    @property
    def streaming(self) -> bool:
        """Whether the volumes of the model stay in their files, as they do in a run of several ranks, or when asked."""
        from subsalt.comm import world

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
        from subsalt.comm import world
        from subsalt.job.opening import open_model

        model: ModelLike = self.remember("open model", lambda: open_model(self, world()))
        return model

    def load_survey(self) -> Survey:
        """Open the recorded shots of `[data]`; traces are read when they are asked for."""
        from subsalt.job.load import load_survey

        survey: Survey = self.remember("survey", lambda: load_survey(self))
        return survey

    def acquisition_survey(self) -> Survey:
        """Build the survey of `[acquisition]`, without data."""
        from subsalt.job.positions import build_survey

        return build_survey(self)

    def wavelet(self, dt: float, nt: int | None = None) -> Wavelet:
        """Return the source wavelet sampled at `dt` (s), `nt` samples when given."""
        from subsalt.job.load import load_wavelet

        return load_wavelet(self, dt, nt)

    # -- what it does

    def check(self) -> list[Finding]:
        """Run every rule of `subsalt check` on the files as they are now, and return what was found."""
        from subsalt.job.checking import check_job

        self.forget()
        return check_job(self).findings

    def migrate(self, run_dir: str | Path | None = None, progress: Callable[..., None] | None = None) -> Any:
        """Migrate the shots of `[data]`; an existing run directory of the same job is continued.

        Returns
        -------
        RunResult
            Image, its hash, phases and counters.
        """
        from subsalt.run.migrate import migrate_job

        return migrate_job(self, Path(run_dir) if run_dir else self.default_run_dir, progress)

    def plan(
        self,
        ranks: int = 1,
        memory_per_rank: int | None = None,
        threads: int | None = None,
        machine: str | Path | None = None,
    ) -> Plan:
        """Say what a run would take on so many ranks; nothing is started.

        Parameters
        ----------
        ranks : int
            Ranks to be started.
        memory_per_rank : int, optional
            Bytes that each may take; what is free on this machine, over the ranks, when None.
        threads : int, optional
            Of each rank.
        machine : str or Path, optional
            machine.json of the machine that will run it; that of this one when None.

        Returns
        -------
        Plan
            `fits`, `error`, memory by array, reads, disk and time.
        """
        from subsalt.plan import plan_job

        return plan_job(self, ranks, memory_per_rank, threads, Path(machine) if machine else None)

    # -- the job as text and as a number

    def resolved(self) -> dict[str, Any]:
        """Return the job with every default, as plain values (SI); keys without a value are left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def resolved_toml(self) -> str:
        """Return the job with every default as TOML, each key with its meaning."""
        from subsalt.job.text import resolved_toml

        return resolved_toml(self)

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them; patterns expanded and sorted.

        Raises
        ------
        MissingInputError
            When a file is not there or a pattern matches nothing.
        """
        from subsalt.job.inputs import input_files

        return input_files(self)

    def inputs(self) -> list[dict[str, object]]:
        """Return path, size and SHA-256 of every input file; reads them all."""
        from subsalt.io.publish import sha256_file

        return [
            {"key": key, "path": str(path), "bytes": path.stat().st_size, "sha256": sha256_file(path)}
            for key, paths in self.input_files().items()
            for path in paths
        ]

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without what cannot change a bit of the image."""
        job = {k: v for k, v in self.resolved().items() if k not in WITHOUT_INFLUENCE}
        lossy = self.checkpoint.of_the_image()
        return job | {"checkpoint": lossy} if lossy else job

    def run_id(self, inputs: list[dict[str, object]] | None = None) -> str:
        """Return the hash of what determines the image: the job without `WITHOUT_INFLUENCE`, and its input
        bytes.

        Parameters
        ----------
        inputs : list of dict, optional
            What `inputs` returned; computed when left out.
        """
        job = self.of_the_image()
        hashes: dict[str, list[object]] = {}
        for item in self.inputs() if inputs is None else inputs:
            hashes.setdefault(str(item["key"]), []).append(item["sha256"])
        # contents count, names and places do not
        for key, values in hashes.items():
            _replace(job, key.split("."), values)
        text = json.dumps(job, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _replace(tree: Any, path: list[str], values: list[object]) -> None:
    """Set the value at a dotted path in nested dictionaries and lists."""
    for part in path[:-1]:
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    tree[path[-1]] = values


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise MissingInputError(
            f"{path} is a directory", "give the job file, for example survey.toml", code="E110"
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MissingInputError(
            f"{path} does not exist", "`subsalt init JOB.toml --from FILES` writes one", code="E110"
        ) from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check its permissions", code="E111"
        ) from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not a text: byte {error.start} is no UTF-8", "a job file is TOML text", code="E106"
        ) from None
