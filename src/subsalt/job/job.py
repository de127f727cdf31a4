"""The job of reverse time migration: a TOML file that describes a survey to be modelled or migrated, as an object.

`Job.from_toml` validates it and names everything that is wrong at once; `Job.load_model`, `Job.load_survey`,
`Job.wavelet`, `Job.propagation` and `Job.imaging_options` turn it into the objects that compute. What it shares with
jobs of other methods is `subsalt.job.base`.

`[acquisition]` gives the positions of a survey to be modelled as lines, patches, or CSV tables.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError, GeometryError
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
from subsalt.job.tables import read_table
from subsalt.job.types import auto_to_none
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.acquisition.wavelet import Wavelet
    from subsalt.earth.model import EarthModel
    from subsalt.earth.model_like import ModelLike
    from subsalt.job.acquisition_section import Positions
    from subsalt.propagation.options import CheckpointOptions


#: more positions than this in one line or patch are taken for a mistake in n or step
MOST_POINTS = 10_000_000


def expand(positions: Positions) -> NDArray[np.float64]:
    """Return the points (n, 3) of a line or patch, in metres, y = 0 where two coordinates are given.

    Raises
    ------
    ConfigError
        When `step` cannot lead from `first` to `last`.
    """
    assert positions.first is not None
    first = _xyz(positions.first)
    if isinstance(positions.n, list):
        return _patch(positions, first)
    step = None if positions.step is None else _step(positions, first)
    if positions.last is None:
        n = positions.n or 1
        along = np.zeros(3) if step is None else step
        return first + np.arange(n)[:, None] * along
    last = _xyz(positions.last)
    if positions.n is not None:
        n = positions.n
    else:
        assert step is not None
        length, h = float(np.linalg.norm(last - first)), float(np.linalg.norm(step))
        n = 1 + int(length / h + 1e-6) if h > 0 else 0
        last = first + (n - 1) * step
    if not 1 <= n <= MOST_POINTS:
        raise ConfigError(
            f"a line from {positions.first} to {positions.last} would have {n} points", "mend n or step"
        )
    if n == 1:
        return first[None]
    # weights i/(n-1) hit both ends exactly
    t = (np.arange(n) / (n - 1))[:, None]
    return first * (1 - t) + last * t


def _xyz(values: list[float]) -> NDArray[np.float64]:
    return np.array(values if len(values) == 3 else [values[0], 0.0, values[1]], dtype=np.float64)


def _step(positions: Positions, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step as a vector: a number goes along the line to `last`, or along x when there is no
    `last`.
    """
    if isinstance(positions.step, list):
        return _xyz(positions.step)
    assert positions.step is not None
    if positions.last is None:
        return np.array([positions.step, 0.0, 0.0])
    way = _xyz(positions.last) - first
    length = float(np.linalg.norm(way))
    return way * (abs(positions.step) / length) if length > 0 else np.zeros(3)


def _patch(positions: Positions, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of a patch, x fastest."""
    assert isinstance(positions.n, list)
    nx, ny = positions.n
    if nx * ny > MOST_POINTS:
        raise ConfigError(f"a patch of {nx} x {ny} points", "mend n")
    if positions.last is not None:
        last = _xyz(positions.last)
    else:
        step = positions.step
        if isinstance(step, list):
            vector = _xyz(step)
        else:
            vector = np.array([step or 0.0, step or 0.0, 0.0])
        last = first + vector * np.array([nx - 1, ny - 1, 0])
    x, y = np.linspace(first[0], last[0], nx), np.linspace(first[1], last[1], ny)
    out = np.empty((ny, nx, 3))
    out[..., 0], out[..., 1], out[..., 2] = x[None, :], y[:, None], first[2]
    return out.reshape(-1, 3)


def _sources(job: Job) -> list[tuple[int, NDArray[np.float64]]]:
    """Return id and position of every source."""
    assert job.acquisition is not None
    out: list[tuple[int, NDArray[np.float64]]] = []
    for item in job.acquisition.shots:
        if item.relative:
            raise ConfigError(
                "acquisition.shots: relative = true has no meaning for sources", "remove it", code="E104"
            )
        if item.file is not None:
            table = read_table(job.resolve(item.file), ("shot", "sx", "sy", "sz"))
            out += [(int(row[0]), row[1:]) for row in table]
        else:
            start = len(out) + 1
            out += [(start + i, p) for i, p in enumerate(expand(item))]
    return out


def build_survey(job: Job) -> Survey:
    """Return the survey of `[acquisition]`, without data.

    Raises
    ------
    ConfigError
        When the job has no `[acquisition]`, or a CSV is wrong.
    GeometryError
        When a shot has no receiver.
    """
    acq = job.acquisition
    if acq is None:
        raise ConfigError(
            "the job has no [acquisition]", "add shots, receivers, record_length and dt", code="E102"
        )
    sources = _sources(job)
    fixed: list[NDArray[np.float64]] = []
    moving: list[NDArray[np.float64]] = []
    by_shot: dict[int, list[NDArray[np.float64]]] = {}
    for item in acq.receivers:
        if item.file is not None:
            table = read_table(job.resolve(item.file), ("shot", "chan", "gx", "gy", "gz"))
            for shot in np.unique(table[:, 0]):
                mine = table[table[:, 0] == shot]
                by_shot.setdefault(int(shot), []).append(mine[np.argsort(mine[:, 1], kind="stable"), 2:])
        else:
            (moving if item.relative else fixed).append(expand(item))
    unknown = set(by_shot) - {i for i, _ in sources}
    if unknown:
        raise GeometryError(
            f"the receiver CSV names shots that do not exist: {sorted(unknown)[:5]}",
            "use the ids of the shots",
            code="E305",
        )
    shots = []
    for number, src in sources:
        # a relative spread moves sideways with the source; its depth is its own
        shift = np.array([src[0], src[1], 0.0])
        parts = fixed + [m + shift for m in moving] + by_shot.get(number, [])
        if not parts:
            raise GeometryError(
                f"shot {number} has no receiver", "add its lines to the receiver CSV", code="E306"
            )
        shots.append(Shot(number, src, np.concatenate(parts)))
    nt = round(acq.record_length / acq.dt) + 1
    is_line = all(not s.src[1] and not s.rcv[:, 1].any() for s in shots)
    return Survey(shots, TimeAxis(nt, acq.dt), 2 if _says_2d(job, is_line) else 3)


def _says_2d(job: Job, is_line: bool) -> bool:
    """Return whether the survey is 2-D: positions of two numbers, or a grid of two axes; else CSV tables with
    y = 0.
    """
    acq = job.acquisition
    assert acq is not None
    sizes = {len(p.first) for p in (*acq.shots, *acq.receivers) if p.first is not None}
    if len(sizes) > 1:
        raise ConfigError(
            "[acquisition] mixes positions (x, z) and (x, y, z)", "use one of both", code="E104"
        )
    if sizes:
        return sizes == {2}
    grid = job.grid
    for given in () if grid is None else (grid.shape, grid.extent, grid.spacing, grid.origin):
        if isinstance(given, list):
            return len(given) == 2
    return is_line


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
