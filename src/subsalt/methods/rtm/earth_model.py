"""The earth model of a job: parameters in SI, grid and frame, the model in memory or in its files."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.earth.building import Builder, Smoothing, azimuths_on_grid
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import MappedPlanes, Parameter, Planes
from subsalt.earth.regrid import carried
from subsalt.earth.streamed import Files, Form, StreamedModel
from subsalt.earth.volumes import ReorientedPlanes
from subsalt.errors import ConfigError
from subsalt.io.input_traffic import COUNTED
from subsalt.io.volumes.volume import DEPTH, open_volume, packed, suffix_of, unpacked
from subsalt.job.inputs import existing
from subsalt.job.units import known_unit, to_si
from subsalt.methods.rtm.data import frame_given, open_survey
from subsalt.methods.rtm.model_sections import PARAMETERS
from subsalt.methods.rtm.positions import build_survey
from subsalt.parallel.comm import Comm, single

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.earth.model_like import ModelLike
    from subsalt.io.segy.kept_headers import KeptHeaders
    from subsalt.io.volumes.volume import OpenVolume
    from subsalt.methods.rtm.job import Job
    from subsalt.methods.rtm.model_sections import GridSection, ValueSection
    from subsalt.methods.rtm.sections import RtmTables
    from subsalt.numerics.stencil import Stencil
from subsalt.propagation.grid_choice import chosen_grid, with_spacing
from subsalt.propagation.options import PropagationOptions

Made = TypeVar("Made")
#: bytes of a carried model up to which a process alone keeps what it has made: windows of all shots are cut from it
KEPT = 1 << 29
#: grid, whether volumes are interpolated, smoothing, and place on the map
Way = tuple[Grid, bool, Smoothing, Frame]


def load_parameter(job: RtmTables, name: str) -> Parameter | None:
    """Read one parameter of `[model]`, in SI (angles: degrees); None when the job does not give it.

    A job that streams its model (`RtmTables.streaming`) gets the volume of a file as planes that are yet to be read.
    """
    section: ValueSection | None = getattr(job.model, name)
    if section is None:
        return None
    if section.file is None:
        source, given = f"[model] {name}", section.model_dump(include={"counted_from"}, exclude_none=True)
        if section.z is not None:
            depths = np.array(section.z)
            return Parameter(name, np.array(section.value), depths=depths, source=source, given=given)
        assert isinstance(section.value, float | int)
        return Parameter(name, float(section.value), source=source, given=given)
    vol = job.remember(f"volume {name}", lambda: open_file(job, name))
    unit = section.unit or known_unit(vol.unit, PARAMETERS[name])
    planes, grid = turned(vol, section)
    convert = partial(_converted, unit=unit, kind=PARAMETERS[name], section=section)
    values: NDArray[Any] | Planes = MappedPlanes(planes, convert)
    if not job.streaming:
        values = convert(planes.read(0, len(planes)))
    given = section.model_dump(exclude_none=True)
    return Parameter(
        name,
        values,
        grid,
        vol.frame,
        source=section.file,
        unit=unit,
        findings=vol.findings,
        given=given,
        place=vol.place,
    )


def open_file(job: RtmTables, name: str) -> OpenVolume:
    """Open the file of one parameter of `[model]`."""
    section: ValueSection = getattr(job.model, name)
    path = existing(job.resolve(section.file or ""), f"model.{name}.file", stored=True)
    return open_volume(
        path,
        key=section.key or (name if path.suffix == ".npz" else None),
        spacing=section.spacing,
        origin=section.origin,
        data=None if section.data is None else existing(job.resolve(section.data), f"model.{name}.data"),
        last=DEPTH if section.axes is None else ("x", "y", "inline", "crossline", *DEPTH),
    )


def turned(vol: OpenVolume, section: ValueSection) -> tuple[Planes, Grid]:
    """Return the planes of a file and their grid with the axes as the job says that they are in the file.

    Raises
    ------
    ConfigError
        When `axes` or `flip` name other axes than the file has.
    """
    usual = "xz" if len(vol.grid.shape) == 2 else "xyz"
    axes, flip = section.axes or usual, section.flip or ""
    if sorted(axes) != sorted(usual) or not set(flip) <= set(usual):
        raise ConfigError(
            f"{section.file} has {len(usual)} axes; axes = {axes!r}, flip = {flip!r}",
            f"name {', '.join(usual)}, slowest in the file first",
            code="E104",
        )
    if axes == usual and not flip:
        return vol.planes, vol.grid
    order = tuple(axes.index(letter) for letter in usual)
    planes = ReorientedPlanes(vol.planes, order, tuple(usual.index(letter) for letter in flip))
    # a spacing or an origin of the job is that of the model; one of the file goes with its axes
    own = tuple(range(len(usual)))
    spacing = tuple(vol.grid.spacing[i] for i in (own if section.spacing else order))
    origin = tuple(vol.grid.origin[i] for i in (own if section.origin else order))
    return planes, Grid(planes.shape, spacing, origin)


def _converted(values: NDArray[Any], unit: str | None, kind: str, section: ValueSection) -> NDArray[Any]:
    """Return values of a file in SI, times `scale`, plus `shift`."""
    out = to_si(values, unit, kind)
    if section.scale is None and section.shift is None:
        return out
    factor, more = 1.0 if section.scale is None else section.scale, section.shift or 0.0
    return (factor * out.astype(np.float64) + more).astype(np.float32)


def survey_grid(section: GridSection, survey: Survey) -> Grid:
    """Return the grid that covers the survey to the asked-for depth, nodes at multiples of the spacing."""
    assert section.depth is not None
    h = section.spacing if isinstance(section.spacing, list) else [section.spacing] * survey.ndim
    if len(h) != survey.ndim:
        raise ConfigError(
            f"[grid] spacing has {len(h)} values, the survey is {survey.ndim}-D",
            f"give {survey.ndim}",
            code="E104",
        )
    low, high = survey.bounds
    axes = (0,) if survey.ndim == 2 else (0, 1)
    origin, shape = [], []
    for axis, step in zip(axes, h, strict=False):
        first = math.floor((low[axis] - section.margin) / step + 1e-9)
        last = math.ceil((high[axis] + section.margin) / step - 1e-9)
        origin.append(first * step)
        shape.append(max(2, last - first + 1))
    top = section.origin[-1] if section.origin else 0.0
    return Grid((*shape, 1 + round(section.depth / h[-1])), tuple(h), (*origin, top))


def job_grid(job: RtmTables) -> Grid | None:
    """Return the grid of `[grid]`; None when the job leaves it to the file of vp."""
    section = job.grid
    if section is None:
        return None
    if section.depth is not None:
        return survey_grid(section, build_survey(job) if job.acquisition else load_survey(job))
    size = section.shape or section.extent
    assert size is not None
    h = section.spacing if isinstance(section.spacing, list) else [section.spacing] * len(size)
    if section.shape is not None:
        return Grid(tuple(section.shape), tuple(h), tuple(section.origin or ()))
    shape = tuple(1 + round(length / step) for length, step in zip(size, h, strict=True))
    return Grid(shape, tuple(h), tuple(section.origin or ()))


def load_parameters(job: RtmTables) -> dict[str, Parameter]:
    """Read all parameters of `[model]` that the job gives."""
    return {n: p for n in PARAMETERS if (p := load_parameter(job, n)) is not None}


def model_frame(job: RtmTables) -> Frame | None:
    """Return the frame of the job's model files; None when they give none, so that the survey may choose its
    own.
    """
    sections = (getattr(job.model, name) for name in PARAMETERS)
    if all(s is None or s.file is None for s in sections):
        return None
    return frame_of(job.remember("parameters", lambda: load_parameters(job)))


def load_survey(job: RtmTables, headers: KeptHeaders | None = None) -> Survey:
    """Open the recorded shots of `[data]` in the frame of the model; the same object at every call.

    `headers` are headers that have been read already.
    """
    survey: Survey = job.remember("survey", lambda: open_survey(job, model_frame(job), headers=headers))
    return survey


def frame_of(given: dict[str, Parameter]) -> Frame | None:
    """Return the frame of the first parameter whose file has one; None when none has."""
    return next((p.frame for p in given.values() if p.frame is not None and p.frame != Frame()), None)


def frame_of_model(job: RtmTables, given: dict[str, Parameter]) -> Frame:
    """Return the frame of a job's model: as the job says, or its files; for a line of which nothing says it, that of
    the survey counts, see `subsalt.earth.model_like.ModelLike.moved_to`.
    """
    return frame_given(job, frame_of(given))[0] or Frame()


def line_numbers(job: RtmTables, grid: Grid) -> LineNumbers | None:
    """Return how the lines of an image on `grid` are numbered; None where no numbers are given.

    `[output]` says it for an axis, or the SEG-Y file of vp for both, where the nodes of `grid` lie on its lines.
    """
    section, vp, numbers = job.output, job.model.vp, None
    if grid.ndim == 3 and vp.file is not None and suffix_of(vp.file) == ".sgy" and not (vp.axes or vp.flip):
        vol = job.remember("volume vp", partial(open_file, job, "vp"))
        numbers = None if vol.lines is None else vol.lines.on(vol.grid, grid)
    if section.inline is None and section.crossline is None:
        return numbers
    numbers = numbers or LineNumbers()
    inline = section.inline or [numbers.first_inline, numbers.inline_step]
    crossline = section.crossline or [numbers.first_crossline, numbers.crossline_step]
    return LineNumbers(*inline, *crossline)


def _of_grid(given: dict[str, Parameter], grid: Grid, frame: Frame) -> dict[str, Parameter]:
    """Return the parameters with the azimuth of the tilt as it is counted on the grid."""
    phi = given.get("phi")
    if phi is None or phi.given.get("counted_from", "x") == "x":
        return given
    if grid.ndim == 2:
        raise ConfigError(
            f"phi is counted from {phi.given['counted_from']}, and the model is 2-D: its axis leans along the line",
            "leave phi out and give theta a sign, positive towards +x",
            code="E104",
        )
    return given | {"phi": azimuths_on_grid(phi, frame)}


def load_model(job: RtmTables) -> EarthModel:
    """Return the earth model of a job in memory, on one grid, smoothed when asked for."""
    return _once(job, ("whole", *_way(job)), lambda: model_files(job, single()).whole())


def open_model(job: RtmTables, comm: Comm) -> StreamedModel:
    """Return the model of a job that streams; collective over `comm`.

    The facts of the model as the files give it, and past the gate as `[propagation]` asks for, are found in one pass.
    """
    share_headers(job, comm)
    options = job.propagation_options
    with comm.together():
        way = _way(job)
    files = _once(job, ("files", *way, options.weights), lambda: model_files(job, comm))
    model = StreamedModel(files)
    medium = options.medium if options.medium != "auto" else _likely(files.volumes)
    files.learn(*_forms(medium, options, files.volumes))
    if options.medium == "auto" and model.medium != medium:  # all of theta is zero
        files.learn(*_forms(model.medium, options, files.volumes))
    # what is asked for beyond this, a rank finds for itself: the others would not know that they are needed
    files.comm = single()
    return model


def model_files(job: RtmTables, comm: Comm) -> Files:
    """Return the volumes of a job's model as planes; collective over `comm`."""
    with comm.together():
        given = job.remember("parameters", lambda: load_parameters(job))
        grid, resampling, smoothing, frame = _way(job)
        builder = Builder(grid, resampling, smoothing)
        volumes, angles = builder.scalars(given), builder.angles(_of_grid(given, grid, frame))
    volumes |= builder.axis(angles, comm)
    return Files(grid, frame, volumes, comm, job.propagation_options.weights, note=_noted)


def _way(job: RtmTables) -> Way:
    """Return the way in which the files of a job become its model."""

    def read() -> Way:
        given = job.remember("parameters", lambda: load_parameters(job))
        grid = job_grid(job) or given["vp"].grid
        assert grid is not None
        section = job.model
        axis = section.smoothing if section.tilt_smoothing is None else section.tilt_smoothing
        smoothing = Smoothing(section.smoothing, axis, section.smoothing_top)
        return grid, job.grid is not None, smoothing, frame_of_model(job, given)

    way: Way = job.remember("way to the model", read)
    return way


def _once(job: RtmTables, key: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
    """Return what is made of the volumes of a job; a job that tries a cure (`cures.cured`) has what the other had."""
    models = job.remember("models", dict)
    if key not in models:
        models[key] = make()
    made: Made = models[key]
    return made


def propagation_model(job: Job, model: ModelLike, comm: Comm) -> ModelLike:
    """Return a job's model on the grid on which its waves are computed; the same one when that is its own.

    Collective over `comm` for a job that streams.

    Raises
    ------
    ConfigError
        When no grid has the accuracy that the job asks for.
    """
    grid = propagation_grid(job, model)
    if grid == model.grid:
        return model
    options = job.propagation_options
    imaging = job.data is not None
    key = (*_way(job), grid, options.weights, imaging)

    def made() -> Files:
        files = replace(carried(model, grid, options.weights, comm, imaging=imaging), note=_noted)
        small = sum(planes.nbytes for planes in files.volumes.values()) <= KEPT
        return files.keeping() if small and job.streaming and comm.size == 1 else files

    if not job.streaming:
        return _once(job, ("whole", *key), lambda: made().whole())
    files = _once(job, ("files", *key), made)
    files.learn(*_forms(physics.medium_of(model, options.medium), options, files.volumes))
    files.comm = single()
    return StreamedModel(files)


def propagation_grid(job: Job, model: ModelLike) -> Grid:
    """Return the grid on which the waves of a job are computed, by ``[propagation] grid``."""
    section, options = job.propagation, job.propagation_options
    if section.grid == "model":
        return model.grid
    if section.grid != "auto":
        same = all(abs(h - section.grid) < 1e-9 * h for h in model.grid.spacing)
        return model.grid if same else with_spacing(model.grid, section.grid)
    used = model.as_medium(physics.medium_of(model, options.medium))
    # fine enough for the spectrum of what the model's own grid could not carry either, and where velocities are wrong
    wavelet = job.wavelet(min(0.002, 0.25 * used.choose_dt(options.weights, None, options.dt_reserve)))
    return chosen_grid(
        model,
        options,
        wavelet,
        section.accuracy,
        imaging=job.data is not None,
        depth_axis="uniform" if section.topography is not None else section.depth_axis,
    )


def _noted(nbytes: int) -> None:
    COUNTED.add(wanted=nbytes)


def _likely(volumes: Mapping[str, Planes]) -> str:
    """Return the medium that these volumes make, unless all of theta is zero."""
    if "epsilon" not in volumes:
        return "isotropic"
    return "tti" if "theta" in volumes else "vti"


def _forms(
    medium: str, options: PropagationOptions, volumes: Mapping[str, Planes]
) -> list[tuple[Form, Stencil]]:
    """Return the forms of a model that checks and runs ask about: as given, as a medium, and past the gate."""
    used = Form().as_medium(medium, tuple(volumes))
    forms = [Form(), used]
    if "epsilon" in volumes and medium != "isotropic":
        # of a model that is refused the checks still say the time step
        rule = "lower-delta" if options.anisotropy == "reject" else options.anisotropy
        forms.append(Form(used.medium, rule))
    return [(form, options.weights) for form in forms]


def share_headers(job: RtmTables, comm: Comm) -> None:
    """Let rank 0 read the trace headers of SEG-Y models for all; collective.

    For traces of a few kilobytes reading the headers means to read the file.
    """
    for name in PARAMETERS:
        section, key = getattr(job.model, name), f"volume {name}"
        if section is None or section.file is None or suffix_of(section.file) != ".sgy":
            continue
        if comm.min(int(job.knows(key))):
            continue
        opened = None
        with comm.together():
            if comm.is_root:
                opened = job.remember(key, partial(open_file, job, name))
        facts, order = packed(opened) if opened is not None else (None, np.empty(0, np.int64))
        facts = comm.bcast(facts)
        if not comm.is_root:
            order = np.empty(facts["traces"], np.int64)
        comm.bcast_array(order)
        job.remember(key, partial(unpacked, facts, order))
