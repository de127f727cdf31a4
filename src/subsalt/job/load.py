"""From the job to its objects: volumes read, model built, survey opened, wavelet made."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Parameter, slabs
from subsalt.earth import tilt
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Mapped, Planes
from subsalt.errors import ConfigError, ModelError
from subsalt.job import director, units
from subsalt.job.inputs import PARAMETERS, existing
from subsalt.job.regrid import resample, same_grid, smooth
from subsalt.job.volumes import Turned

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.acquisition.wavelet import Wavelet
    from subsalt.io.volumes.volume import OpenVolume
    from subsalt.job.job import Job
    from subsalt.job.model_sections import GridSection, ModelSection, ValueSection


def load_parameter(job: Job, name: str) -> Parameter | None:
    """Read one parameter of `[model]`, in SI (angles: degrees); None when the job does not give it.

    A job that streams its model (`Job.streaming`) gets the volume of a file as planes that are yet to be read.
    """
    section: ValueSection | None = getattr(job.model, name)
    if section is None:
        return None
    if section.file is None:
        if section.z is not None:
            return Parameter(
                name, np.array(section.value), depths=np.array(section.z), source=f"[model] {name}"
            )
        assert isinstance(section.value, float | int)
        return Parameter(name, float(section.value), source=f"[model] {name}")
    vol = job.remember(f"volume {name}", lambda: open_file(job, name))
    unit = section.unit or known_unit(vol.unit, PARAMETERS[name])
    planes, grid = turned(vol, section)
    convert = partial(_converted, unit=unit, kind=PARAMETERS[name], section=section)
    values: NDArray[Any] | Planes = Mapped(planes, convert)
    if not job.streaming:
        values = convert(planes.read(0, len(planes)))
    given = section.model_dump(exclude_none=True)
    return Parameter(
        name, values, grid, vol.frame, source=section.file, unit=unit, findings=vol.findings, given=given
    )


def open_file(job: Job, name: str) -> OpenVolume:
    """Open the file of one parameter of `[model]`."""
    from subsalt.io.volumes import volume

    section: ValueSection = getattr(job.model, name)
    path = existing(job.resolve(section.file or ""), f"model.{name}.file")
    return volume.open_volume(
        path,
        key=section.key or (name if path.suffix == ".npz" else None),
        spacing=section.spacing,
        origin=section.origin,
        last=volume.DEPTH if section.axes is None else ("x", "y", "inline", "crossline", *volume.DEPTH),
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
    planes = Turned(vol.planes, order, tuple(usual.index(letter) for letter in flip))
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


def known_unit(unit: str | None, kind: str) -> str | None:
    """Return the unit a file declares, when it can be converted; an odd one is left to the checks."""
    names = {n.lower(): n for n in units.file_units(kind)}
    return names.get(unit.strip().lower()) if unit else None


def to_si(values: NDArray[Any], unit: str | None, kind: str) -> NDArray[Any]:
    """Return values of a file in SI; without a unit they are taken as SI."""
    if unit is None:
        return values
    factor, power = units.conversion(unit, kind)
    if factor == 1.0 and power == 1.0:
        return values
    out = np.empty(values.shape, np.float32)
    # in float64, slab by slab: the volume may be most of the memory
    for start, part in slabs(values):
        v = part.astype(np.float64)
        if power == -0.5:
            v = np.sqrt(np.maximum(v, 0.0))
        if power < 0:
            v = np.divide(1.0, v, out=np.full_like(v, np.inf), where=v != 0)
        out[start : start + len(part)] = factor * v
    return out


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


def job_grid(job: Job) -> Grid | None:
    """Return the grid of `[grid]`; None when the job leaves it to the file of vp."""
    section = job.grid
    if section is None:
        return None
    if section.depth is not None:
        return survey_grid(section, job.acquisition_survey() if job.acquisition else job.load_survey())
    size = section.shape or section.extent
    assert size is not None
    h = section.spacing if isinstance(section.spacing, list) else [section.spacing] * len(size)
    if section.shape is not None:
        return Grid(tuple(section.shape), tuple(h), tuple(section.origin or ()))
    shape = tuple(1 + round(length / step) for length, step in zip(size, h, strict=True))
    return Grid(shape, tuple(h), tuple(section.origin or ()))


def on_grid(parameter: Parameter, grid: Grid, resampling: bool) -> NDArray[np.float32]:
    """Return the parameter as a volume on `grid`.

    Raises
    ------
    ModelError
        When a volume stands on another grid and the job gives no `[grid]` to interpolate on.
    """
    if parameter.depths is not None:
        z = grid.axis(-1)
        profile = np.interp(z, parameter.depths, np.asarray(parameter.values)).astype(np.float32)
        return np.ascontiguousarray(np.broadcast_to(profile, grid.shape))
    if parameter.grid is None:
        return np.full(grid.shape, parameter.values, dtype=np.float32)
    refuse_other_grids(parameter, grid, resampling)
    volume = np.asarray(parameter.values)
    if same_grid(parameter.grid, grid):
        return np.ascontiguousarray(volume, dtype=np.float32)
    return resample(volume, parameter.grid, grid)


def refuse_other_grids(parameter: Parameter, grid: Grid, resampling: bool) -> None:
    """Raise when a volume of a file cannot be had on `grid`."""
    assert parameter.grid is not None
    if parameter.grid.ndim != grid.ndim:
        raise ModelError(
            f"{parameter.name} has {parameter.grid.ndim} axes, the grid has {grid.ndim}",
            "use models of the same dimension",
            code="E401",
        )
    if resampling or same_grid(parameter.grid, grid):
        return
    if parameter.grid.shape != grid.shape:
        raise ModelError(
            f"{parameter.name} has shape {parameter.grid.shape}, the grid has {grid.shape}",
            f"resample {parameter.name} to the grid, or add [grid] to interpolate all on one",
            code="E401",
        )
    raise ModelError(
        f"{parameter.name} has spacing {parameter.grid.spacing} and origin {parameter.grid.origin}, "
        f"vp has {grid.spacing} and {grid.origin}",
        "mend the header, or add [grid] to interpolate all on one",
        code="E402",
    )


def axis_on_grid(given: dict[str, Parameter], grid: Grid, resampling: bool) -> dict[str, NDArray[np.float32]]:
    """Return theta and phi of the symmetry axis on `grid`, radians, as far as the job gives them.

    Notes
    -----
    Between grids the axis is interpolated and not its angles, see `subsalt.job.director`.
    """
    if "theta" not in given:
        return {}
    angles = [given[name] for name in ("theta", "phi") if name in given]
    homes = [p.grid for p in angles if p.grid is not None]
    home = homes[0] if resampling and homes else grid
    out = {p.name: _radians(p, home, resampling) for p in angles}
    if home is grid or home.ndim != grid.ndim or same_grid(home, grid):
        return out
    theta, phi = tilt.normalised(out["theta"], out.get("phi"), grid.ndim)
    if grid.ndim == 3 and phi is None:
        phi = np.zeros_like(theta)
    return director.to_angles([resample(part, home, grid) for part in director.of_angles(theta, phi)])


def _radians(parameter: Parameter, grid: Grid, resampling: bool) -> NDArray[np.float32]:
    """Return an angle on `grid`, radians; an azimuth from another grid by its direction on the map."""
    other = parameter.grid
    factor = math.pi / 180.0
    if not resampling or other is None or same_grid(other, grid) or other.ndim != grid.ndim:
        return (factor * on_grid(parameter, grid, resampling).astype(np.float64)).astype(np.float32)
    # half the angle: its director has the period of the angle itself
    half = 0.5 * factor * np.asarray(parameter.values, dtype=np.float64)
    found = director.to_angles([resample(part, other, grid) for part in director.of_angles(half, None)])
    return np.float32(2.0) * found["theta"]


def load_parameters(job: Job) -> dict[str, Parameter]:
    """Read all parameters of `[model]` that the job gives."""
    return {n: p for n in PARAMETERS if (p := load_parameter(job, n)) is not None}


def load_model(job: Job) -> EarthModel:
    """Return the earth model of a job, on one grid, smoothed when asked for."""
    return build_model(job, job.remember("parameters", lambda: load_parameters(job)))


def model_frame(job: Job) -> Frame | None:
    """Return the frame of the job's model files; None when they give none, so that the survey may choose its
    own.
    """
    sections = (getattr(job.model, name) for name in PARAMETERS)
    if all(s is None or s.file is None for s in sections):
        return None
    return frame_of(job.remember("parameters", lambda: load_parameters(job)))


def frame_of(given: dict[str, Parameter]) -> Frame | None:
    """Return the frame of the first parameter whose file has one; None when none has."""
    return next((p.frame for p in given.values() if p.frame is not None and p.frame != Frame()), None)


def frame_of_model(job: Job, given: dict[str, Parameter]) -> Frame:
    """Return the frame of a job's model: as the job says, or its files; for a line of which nothing says it, that of
    the survey counts, see `subsalt.earth.model_like.ModelLike.moved_to`.
    """
    from subsalt.job.data import frame_given

    return frame_given(job, frame_of(given))[0] or Frame()


def build_model(job: Job, given: dict[str, Parameter]) -> EarthModel:
    """Return the earth model from parameters that were read."""
    vp = given["vp"]
    grid = job_grid(job) or vp.grid
    assert grid is not None
    resampling = job.grid is not None
    volumes = {n: on_grid(p, grid, resampling) for n, p in given.items() if PARAMETERS[n] != "angle"}
    volumes |= axis_on_grid(given, grid, resampling)
    return smoothed(EarthModel(grid, frame=frame_of_model(job, given), **volumes), job.model)


def smoothed(model: EarthModel, section: ModelSection) -> EarthModel:
    """Return the model smoothed as `[model]` says; the same object when it says nothing."""
    grid, sigma, top = model.grid, section.smoothing, section.smoothing_top
    changes: dict[str, Any] = {}
    if sigma > 0:
        # slowness, not velocity: its average keeps traveltimes
        slow = smooth((1.0 / model.vp).astype(np.float32), grid, sigma, top)
        changes["vp"] = (np.float32(1.0) / slow).astype(np.float32)
        for name in ("epsilon", "delta"):
            values = getattr(model, name)
            changes[name] = None if values is None else smooth(values, grid, sigma, top)
    if model.theta is not None and (sigma := _either(section.tilt_smoothing, sigma)) > 0:
        changes |= director.smoothed(model.theta, model.phi, grid, sigma, top)
    return replace(model, **changes) if changes else model


def _either(own: float | None, common: float) -> float:
    return common if own is None else own


def load_survey(job: Job) -> Survey:
    """Return the recorded survey of a job in the frame of its model; see `subsalt.job.data`."""
    from subsalt.job.data import open_survey

    return open_survey(job, model_frame(job))


def load_wavelet(job: Job, dt: float, nt: int | None = None) -> Wavelet:
    """Return the wavelet of `[source]` at the sampling `dt`, s."""
    from subsalt.acquisition import wavelet

    s = job.source
    peak = None if s.t0 == "auto" else float(s.t0)
    if s.wavelet == "ricker":
        assert not isinstance(s.f0, str)
        made = wavelet.ricker(s.f0, dt, nt, peak)
    elif s.wavelet == "ormsby":
        f1, f2, f3, f4 = (float(f or 0.0) for f in (s.f1, s.f2, s.f3, s.f4))
        made = wavelet.ormsby(f1, f2, f3, f4, dt, nt, peak)
    else:
        assert s.file is not None
        made = wavelet.from_file(
            existing(job.resolve(s.file), "source.file"), None if s.dt == "auto" else s.dt
        )
        if peak is not None:
            made = replace(made, t0=made.t0 + (peak - made.peak_time), peak_time=peak)
    if s.fmax != "auto":
        made = replace(made, fmax=float(s.fmax))
    return made
