"""The earth model of a job as a streamed model: the steps of `subsalt.job.load.build_model`, on planes.

What is read stays in the files; what has to be known of the whole (does any axis need turning, speeds, limits, nodes to
repair) is found in passes that the ranks share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from subsalt.earth import tilt
from subsalt.earth.grid import Grid
from subsalt.earth.model import angle_problems, raise_problems, value_problems
from subsalt.earth.planes import Constant, Held, Mapped, Planes
from subsalt.earth.streamed import Files, Form, StreamedModel
from subsalt.io.traffic import COUNTED
from subsalt.io.volumes.volume import packed, suffix_of, unpacked
from subsalt.job import director
from subsalt.job.inputs import PARAMETERS
from subsalt.job.load import frame_of_model, job_grid, load_parameters, open_file, refuse_other_grids
from subsalt.job.regrid import same_grid
from subsalt.job.volumes import Angles, Axis, Part, Resampled, Smoothed
from subsalt.parallel.comm import Comm, single

if TYPE_CHECKING:
    from subsalt.check.context import Parameter
    from subsalt.job.job import Job
    from subsalt.job.model_sections import ModelSection
    from subsalt.propagation.options import PropagationOptions

#: one degree, radians
DEGREE = math.pi / 180.0


def open_model(job: Job, comm: Comm) -> StreamedModel:
    """Return the model of a job that streams; collective over `comm`.

    The facts of the model as the files give it, and past the gate as `[propagation]` asks for, are found in one pass.
    """
    share_headers(job, comm)
    with comm.together():
        given = job.remember("parameters", lambda: load_parameters(job))
        grid = job_grid(job) or given["vp"].grid
        assert grid is not None
        resampling, section = job.grid is not None, job.model
        volumes = _scalars(given, grid, resampling, section)
        angles = AnglesGiven.all_of(given, grid, resampling)
    if angles is not None:
        axis = _axis(angles, grid, comm)
        sigma = section.smoothing if section.tilt_smoothing is None else section.tilt_smoothing
        if sigma > 0:
            axis = _axis_averaged(axis, grid, sigma, section.smoothing_top)
        volumes |= {"theta": axis.theta} | ({} if axis.phi is None else {"phi": axis.phi})
    frame, options = frame_of_model(job, given), job.propagation_options
    files = Files(grid, frame, volumes, comm, options.order, note=lambda nbytes: COUNTED.add(wanted=nbytes))
    model = StreamedModel(files)
    asked = options.medium if options.medium != "auto" else _likely(volumes)
    files.learn(*_forms(asked, options, volumes))
    if options.medium == "auto" and model.medium != asked:  # all of theta is zero
        files.learn(*_forms(model.medium, options, volumes))
    # what is asked for beyond this, a rank finds for itself: the others would not know that they are needed
    files.comm = single()
    return model


def _forms(medium: str, options: PropagationOptions, volumes: dict[str, Planes]) -> list[tuple[Form, int]]:
    """Return the forms of a model that checks and runs ask about: as given, as a medium, and past the gate."""
    used = Form().as_medium(medium, tuple(volumes))
    forms = [Form(), used]
    if "epsilon" in volumes and medium != "isotropic":
        # of a model that is refused the checks still say the time step
        rule = "lower-delta" if options.anisotropy == "reject" else options.anisotropy
        forms.append(Form(used.medium, rule))
    return [(form, options.order) for form in forms]


def share_headers(job: Job, comm: Comm) -> None:
    """Let rank 0 read the trace headers of SEG-Y models for all; collective.

    For traces of a few kilobytes reading the headers means to read the file.
    """
    for name in PARAMETERS:
        section, key = getattr(job.model, name), f"volume {name}"
        if section is None or section.file is None or suffix_of(section.file) != ".sgy":
            continue
        if comm.min(int(job.knows(key))):
            continue
        found = None
        with comm.together():
            if comm.is_root:
                found = job.remember(key, partial(open_file, job, name))
        told, order = packed(found) if found is not None else (None, np.empty(0, np.int64))
        told = comm.bcast(told)
        if not comm.is_root:
            order = np.empty(told["traces"], np.int64)
        comm.bcast_array(order)
        job.remember(key, partial(unpacked, told, order))


def _scalars(
    given: dict[str, Parameter], grid: Grid, resampling: bool, section: ModelSection
) -> dict[str, Planes]:
    """Return vp, epsilon and delta on `grid`, smoothed when the job says so; of the last two both or none."""
    volumes = {n: on_grid(p, grid, resampling) for n, p in given.items() if PARAMETERS[n] != "angle"}
    if "epsilon" in volumes or "delta" in volumes:
        zero = Constant(grid.shape, 0.0)
        volumes |= {n: volumes.get(n, zero) for n in ("epsilon", "delta")}
    if section.smoothing > 0:
        volumes = {n: _averaged(n, p, grid, section) for n, p in volumes.items()}
    return volumes


def _likely(volumes: dict[str, Planes]) -> str:
    """Return the medium that these volumes make, unless all of theta is zero."""
    if "epsilon" not in volumes:
        return "isotropic"
    return "tti" if "theta" in volumes else "vti"


def on_grid(parameter: Parameter, grid: Grid, resampling: bool) -> Planes:
    """Return a parameter as planes of `grid`; as `subsalt.job.load.on_grid`."""
    if parameter.depths is not None:
        profile = np.interp(grid.axis(-1), parameter.depths, np.asarray(parameter.values))
        return Constant(grid.shape, profile.astype(np.float32))
    if parameter.grid is None:
        assert isinstance(parameter.values, float)
        return Constant(grid.shape, parameter.values)
    refuse_other_grids(parameter, grid, resampling)
    values = _planes(parameter)
    return values if same_grid(parameter.grid, grid) else Resampled([values], parameter.grid, grid)


def _planes(parameter: Parameter) -> Planes:
    values = parameter.values
    return values if isinstance(values, Planes) else Held(np.asarray(values, dtype=np.float32))


def limits_of(planes: Planes, comm: Comm) -> tuple[float, float]:
    """Return the smallest and largest value of a volume; collective, every rank reads its share."""
    nx, low, high = len(planes), math.inf, -math.inf
    with comm.together():
        for _, part in planes.slabs(nx * comm.rank // comm.size, nx * (comm.rank + 1) // comm.size):
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return comm.min(low), comm.max(high)


def _averaged(name: str, volume: Planes, grid: Grid, section: ModelSection) -> Planes:
    """Return a volume smoothed as `[model]` says: vp by its slowness; as `subsalt.job.load.smoothed`."""

    def valid(a: Part) -> list[Part]:
        raise_problems(list(value_problems(name, a)))
        return [(1.0 / a).astype(np.float32) if name == "vp" else a]

    def back(averages: list[Part]) -> Part:
        return (np.float32(1.0) / averages[0]).astype(np.float32) if name == "vp" else averages[0]

    return Smoothed([volume], grid, section.smoothing, section.smoothing_top, valid, back)


# -- the symmetry axis -------------------------------------------------------------------------------------------------


@dataclass
class AnglesGiven:
    """theta and, where it is given, phi, in radians on the grid of the first of them."""

    read: list[Planes]
    home: Grid

    @classmethod
    def all_of(cls, given: dict[str, Parameter], grid: Grid, resampling: bool) -> AnglesGiven | None:
        """Return the angles of a job; None without theta."""
        if "theta" not in given:
            return None
        angles = [given[name] for name in ("theta", "phi") if name in given]
        homes = [p.grid for p in angles if p.grid is not None]
        home = homes[0] if resampling and homes else grid
        return cls([_radians(p, home, resampling) for p in angles], home)


def _axis(angles: AnglesGiven, grid: Grid, comm: Comm) -> Axis:
    """Return the axis on `grid`, in the one form of `tilt.normalised`; as `subsalt.job.load.axis_on_grid`."""
    read, home = angles.read, angles.home
    turned = grid.ndim == 3 and tilt.needs_turning(*limits_of(read[0], comm))

    def normalised(theta: Part, phi: Part | None = None) -> Angles:
        raise_problems(list(angle_problems(theta, phi, grid.ndim)))
        return tilt.normalised(theta, phi, grid.ndim, turned)

    if home is grid or home.ndim != grid.ndim or same_grid(home, grid):
        step = max(p.step for p in read)
        azimuth = grid.ndim == 3 and (len(read) > 1 or turned)
        return Axis(
            lambda lo, hi: normalised(*(p.read(lo, hi) for p in read)), grid.shape, read, step, azimuth
        )
    between = Resampled(read, home, grid, lambda *parts: _director(*normalised(*parts), grid.ndim))

    def make(lo: int, hi: int) -> Angles:
        found = director.to_angles(list(between.fields(lo, hi)))
        return tilt.normalised(found["theta"], found.get("phi"), grid.ndim, False)

    return Axis(make, grid.shape, read, between.step, grid.ndim == 3)


def _axis_averaged(axis: Axis, grid: Grid, sigma: float, top: float | None) -> Axis:
    """Return the axis smoothed; as `director.smoothed`."""
    read = [axis.theta] if axis.phi is None else [axis.theta, axis.phi]
    average = Smoothed(read, grid, sigma, top, lambda theta, phi=None: _director(theta, phi, grid.ndim))

    def make(lo: int, hi: int) -> Angles:
        found = director.to_angles(average.fields(lo, hi))
        return tilt.normalised(found["theta"], found.get("phi"), grid.ndim, False)

    return Axis(make, grid.shape, read, average.step, grid.ndim == 3)


def _director(theta: Part, phi: Part | None, ndim: int) -> list[director.Field]:
    if ndim == 3 and phi is None:
        phi = np.zeros_like(theta)
    return director.of_angles(theta, phi)


def _radians(parameter: Parameter, grid: Grid, resampling: bool) -> Planes:
    """Return an angle on `grid`, radians; as `subsalt.job.load._radians`."""
    other = parameter.grid
    if not resampling or other is None or same_grid(other, grid) or other.ndim != grid.ndim:
        return Mapped(
            on_grid(parameter, grid, resampling), lambda a: (DEGREE * a.astype(np.float64)).astype(np.float32)
        )

    def halved(a: Part) -> list[director.Field]:
        return director.of_angles(0.5 * DEGREE * a.astype(np.float64), None)

    def doubled(parts: list[Part]) -> Part:
        return np.float32(2.0) * director.to_angles(list(parts))["theta"]

    return Resampled([_planes(parameter)], other, grid, halved, doubled)
