"""The functions of the package on NumPy arrays: model a survey, migrate it, linearise it. Named results throughout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.regrid import carried
from subsalt.errors import ConfigError, GeometryError
from subsalt.extensions import library
from subsalt.io.tile_cache import remember_tiles
from subsalt.methods.rtm.array_schemes import ArraySchemes
from subsalt.methods.rtm.engine import migrate_shot
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.image_sum import GatherPlanes, ImageSum
from subsalt.methods.rtm.linear_operator import dot_test
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.methods.rtm.offset_sum import gather_sum
from subsalt.methods.rtm.operators import RtmOperator, rtm_operator
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.survey_on_model import check_arguments
from subsalt.option_arguments import refuse_unknown, takes_options
from subsalt.parallel.comm import single
from subsalt.propagation.grid_choice import DepthSpacing, chosen_grid, trace_error, with_spacing
from subsalt.propagation.grid_warning import warn_of_waves
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.timing import Phases

if TYPE_CHECKING:
    import xarray

    from subsalt.option_keywords import ForwardKeywords, MigrateKeywords, PropagationKeywords

__all__ = [
    "BornResult",
    "ForwardResult",
    "MigrationResult",
    "born",
    "born_adjoint",
    "dot_test",
    "forward",
    "migrate",
    "rtm_operator",
]

# tiles found fastest serve the next process of this user, too
remember_tiles()

#: called with the shot number (from 0), the number of shots and the fraction of the shot done
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class WaveGrid:
    """The grid on which waves are computed; model and image keep theirs.

    Parameters
    ----------
    spacing : {"model", "auto"} or float
        That of the model; the coarsest that carries the band of the wavelet; or a spacing, m.
    accuracy : float
        With ``"auto"``: error of a direct wave and of a reflection, relative L2, after 40 of the shortest wavelengths.
    depth_axis : {"auto", "uniform"}
        With ``"auto"``: the spacing along z grows with the slowest velocity of each depth where that saves a tenth of
        the points; or it is one everywhere, as below a free surface inside the model.
    """

    spacing: str | float = "model"
    accuracy: float = 0.01
    depth_axis: DepthSpacing = "auto"

    def __post_init__(self) -> None:
        if self.spacing not in ("model", "auto") and not _is_positive(self.spacing):
            raise ConfigError(
                f"grid = {self.spacing!r}", 'use "model", "auto" or a spacing in m', code="E104"
            )
        if not (_is_positive(self.accuracy) and self.accuracy < 1):
            raise ConfigError(f"accuracy = {self.accuracy!r}", "use a number between 0 and 1", code="E104")
        if self.depth_axis not in get_args(DepthSpacing):
            raise ConfigError(f"depth_axis = {self.depth_axis!r}", 'use "auto" or "uniform"', code="E104")

    def options(self, options: PropagationOptions) -> PropagationOptions:
        """Return the options with what this grid makes of traces, unless they say so themselves."""
        given = options.trace_error
        return replace(
            options, trace_error=trace_error(self.spacing, self.accuracy) if given is None else given
        )

    def carry(
        self, model: EarthModel, options: PropagationOptions, wavelet: Wavelet, *, imaging: bool
    ) -> EarthModel:
        """Return a model on this grid; the same object where that is its own."""
        if self.spacing == "model":
            return model
        if self.spacing == "auto":
            even = options.topography is not None
            grid = chosen_grid(
                model,
                options,
                wavelet,
                self.accuracy,
                imaging=imaging,
                depth_axis="uniform" if even else self.depth_axis,
            )
        else:
            grid = with_spacing(model.grid, float(self.spacing))
        if grid == model.grid:
            return model
        return carried(model, grid, options.weights, single(), imaging=imaging).whole()


def _is_positive(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf


@dataclass(frozen=True)
class ForwardResult:
    """A modelled survey.

    Parameters
    ----------
    survey : Survey
        The survey with `data` in every shot.
    dt : float
        Time step of the propagation, s.
    phases : dict
        Seconds by phase; they sum to `wall`.
    point_steps : int
        Points that were computed, of all time steps: those that a wave has not reached are not.
    """

    survey: Survey
    dt: float
    phases: dict[str, float]
    point_steps: int

    @property
    def data(self) -> NDArray[np.float32]:
        """All traces, (ns, nr, nt), when every shot has the same receivers' number.

        Raises
        ------
        GeometryError
            When the numbers differ; `survey.shots` has the traces of every shot.
        """
        counts = {len(s.rcv) for s in self.survey.shots}
        if len(counts) > 1:
            raise GeometryError(
                f"shots have between {min(counts)} and {max(counts)} receivers: their traces make no array",
                "take `data` of each of `survey.shots`",
                code="E302",
            )
        return np.stack([np.asarray(s.data) for s in self.survey.shots])

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_modelled(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return the traces as a dataset of xarray, as `Survey.to_xarray`.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_surveys").of_modelled(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any) -> ForwardResult:
        """Return the result of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        result: ForwardResult = library("xarray_surveys").to_modelled(dataset)
        return result


@dataclass(frozen=True)
class MigrationResult:
    """An image.

    Parameters
    ----------
    image : ndarray, model shape, float32
        The image.
    illumination : ndarray or None
        Source illumination summed over shots.
    grid : Grid
        Grid of both.
    dt : float
        Time step, s.
    image_step : int
        Steps between imaged samples.
    repaired : int
        Nodes whose anisotropy the gate changed.
    phases : dict
        Seconds by phase; they sum to `wall`.
    point_steps : int
        Points of both wavefields that were computed, of all time steps: those that a wave has not reached are not.
    gathers : tuple of GatherPlanes
        Space-lag gathers, along x, along y, or both; empty where none were asked for.
    """

    image: NDArray[np.float32]
    illumination: NDArray[np.float32] | None
    grid: Grid
    dt: float
    image_step: int
    repaired: int
    phases: dict[str, float]
    point_steps: int
    gathers: tuple[GatherPlanes, ...] = ()

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_image(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return image, illumination and gathers as a dataset of xarray: x, (y,) z in m, z positive down.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_models").of_image(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any) -> MigrationResult:
        """Return the result of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        result: MigrationResult = library("xarray_models").to_image(dataset)
        return result


@dataclass(frozen=True)
class BornResult:
    """Linearised data or image, and the operator that made it."""

    values: NDArray[np.float64]
    operator: RtmOperator


def split_options(
    options: Mapping[str, Any], function: str, imaging_names: tuple[str, ...] | None = None
) -> tuple[PropagationOptions, ImagingOptions]:
    """Sort keyword arguments into options of propagation and imaging.

    Parameters
    ----------
    options : mapping
        By name.
    function : str
        Name of the function that takes them, for the message.
    imaging_names : tuple of str, optional
        The imaging options that have a meaning here; all when None.

    Raises
    ------
    UnknownOptionError
        For a name that has no meaning here, with the nearest one.
    """
    known: dict[str, type] = {
        f.name: kind
        for kind in (PropagationOptions, ImagingOptions)
        for f in fields(kind)
        if kind is PropagationOptions or imaging_names is None or f.name in imaging_names
    }
    refuse_unknown(options, known, function)
    propagation = PropagationOptions(**{k: v for k, v in options.items() if known[k] is PropagationOptions})
    imaging = ImagingOptions(**{k: v for k, v in options.items() if known[k] is ImagingOptions})
    return propagation, imaging


@takes_options(PropagationOptions, ImagingOptions, only={ImagingOptions: ("aperture",)})
def forward(
    model: EarthModel,
    survey: Survey,
    wavelet: Wavelet,
    *,
    progress: Progress | None = None,
    grid: str | float = "model",
    accuracy: float = 0.01,
    depth_axis: DepthSpacing = "auto",
    **options: Unpack[ForwardKeywords],
) -> ForwardResult:
    """Model the traces of a survey.

    Parameters
    ----------
    model : EarthModel
        Medium.
    survey : Survey
        Positions and time axis; existing data are replaced.
    wavelet : Wavelet
        Source signature; its sample times count from the time zero of the traces.
    progress : callable, optional
        ``progress(shot, shots, fraction)``.
    grid : {"model", "auto"} or float
        Where waves are computed: on the model's grid, on the coarsest that carries the band of the wavelet, or at a
        spacing, m. A job file has ``"auto"`` by default. `born` and its adjoint are linearised on the model's grid.
    accuracy : float
        With ``grid = "auto"``: error of a waveform, relative L2, after 40 of the shortest wavelengths.
    depth_axis : {"auto", "uniform"}
        With ``grid = "auto"``: whether the spacing along z may grow with the slowest velocity of each depth.
    **options
        Fields of `PropagationOptions`, and ``aperture``.

    Returns
    -------
    ForwardResult

    Raises
    ------
    ConfigError
        When no grid has the accuracy asked for; for arguments of another type (E777).
    GeometryError
        When a source or receiver lies outside the model.
    StabilityError
        When `dt` is above the stability bound.
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.

    Warns
    -----
    UserWarning
        When the grid has too few points for the shortest waves, or `vp` is likely in km/s.

    Notes
    -----
    Solves ``(1 / v^2) p_tt - lap p = f(t) delta(x - xs)``: in a constant 3-D medium p = f(t - r / v) / (4 pi r).
    """
    clock = Phases()
    propagation, imaging = split_options(options, "forward", ("aperture",))
    waves = WaveGrid(grid, accuracy, depth_axis)
    check_arguments(model, survey, wavelet, propagation)
    kernels.prepare_or_warn(propagation.device, propagation.threads)
    with clock("setup"):
        propagation = waves.options(propagation)
        used = waves.carry(model, propagation, wavelet, imaging=False)
        if grid != "auto":
            warn_of_waves(used, wavelet, propagation)
        setup = ModellingSetup.build(used, wavelet, survey.time, propagation, imaging.aperture)
    shots, count = [], 0
    for i, shot in enumerate(survey.shots):
        with clock("propagation"):
            modelled = model_shot(
                setup, shot, None if progress is None else _of_shot(progress, i, len(survey))
            )
        count += modelled.point_steps
        shots.append(replace(shot, data=modelled.traces))
    return ForwardResult(replace(survey, shots=shots, reader=None), setup.axis.dt, clock.table(), count)


@takes_options(PropagationOptions, ImagingOptions)
def migrate(
    model: EarthModel,
    survey: Survey,
    wavelet: Wavelet,
    *,
    progress: Progress | None = None,
    checkpoint: CheckpointOptions | None = None,
    grid: str | float = "model",
    accuracy: float = 0.01,
    depth_axis: DepthSpacing = "auto",
    **options: Unpack[MigrateKeywords],
) -> MigrationResult:
    """Migrate a survey by reverse time migration.

    Parameters
    ----------
    model : EarthModel
        Migration model.
    survey : Survey
        With data, or a reader.
    wavelet : Wavelet
        Source signature.
    progress : callable, optional
        ``progress(shot, shots, fraction)``.
    checkpoint : CheckpointOptions, optional
        How source wavefields are had again: all snapshots in memory where they fit, else some states. Files need
        `CheckpointOptions.directories`; nothing stays in them.
    grid : {"model", "auto"} or float
        Where waves are computed: on the model's grid, on the coarsest that carries the band of the wavelet, or at a
        spacing, m. The image is on the model's grid with any. A job file has ``"auto"`` by default.
    accuracy : float
        With ``grid = "auto"``: error of a waveform, relative L2, after 40 of the shortest wavelengths.
    depth_axis : {"auto", "uniform"}
        With ``grid = "auto"``: whether the spacing along z may grow with the slowest velocity of each depth.
    **options
        Fields of `PropagationOptions` and `ImagingOptions`.

    Returns
    -------
    MigrationResult

    Raises
    ------
    ConfigError
        When no grid has the accuracy asked for; for arguments of another type (E777).
    GeometryError
        When a source or receiver lies outside the model, or traces are missing.
    MemoryPlanError
        When a shot does not fit into the available memory; nothing was computed.
    StabilityError
        When `dt` is above the stability bound.
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.

    Warns
    -----
    UserWarning
        When the image is zero throughout; when the grid has too few points for the shortest waves, or `vp` is likely in
        km/s.
    """
    clock = Phases()
    propagation, imaging = split_options(options, "migrate")
    waves = WaveGrid(grid, accuracy, depth_axis)
    check_arguments(model, survey, wavelet, propagation)
    kernels.prepare_or_warn(propagation.device, propagation.threads)
    with clock("setup"):
        propagation = waves.options(propagation)
        used = waves.carry(model, propagation, wavelet, imaging=True)
        if grid != "auto":
            warn_of_waves(used, wavelet, propagation)
        setup = MigrationSetup.build(used, wavelet, survey.time, propagation, imaging, model.grid)
        setup = with_gathers(setup, survey.shots)
        schemes = ArraySchemes.of(setup, survey.shots, checkpoint or CheckpointOptions())
    total, pool, count = ImageSum(setup), SnapshotPool(), 0
    gathers = gather_sum(setup, total)
    for i, shot in enumerate(survey.shots):
        with clock("trace input"):
            traces = survey.traces(shot)
        report = None if progress is None else _of_shot(progress, i, len(survey))
        way = schemes.of_shot(shot)
        part = migrate_shot(setup, shot, traces, pool=pool, phases=clock, progress=report, **way)
        schemes.over(shot)
        with clock("image sum"):
            total.add(part)
            if gathers is not None:
                gathers.add(part)
        count += part.point_steps
    with clock("image sum"):
        image, illumination = total.finish(), total.illumination()
        made = () if gathers is None else tuple(gathers.finish(total.light()))
    if not image.any():
        warnings.warn(
            "the image is zero throughout: look at the traces, their mute, `top_mute` and the length of the record",
            stacklevel=2,
        )
    return MigrationResult(
        image,
        illumination,
        model.grid,
        setup.axis.dt,
        setup.image_step,
        setup.repaired,
        clock.table(),
        count,
        made,
    )


@takes_options(PropagationOptions)
def born(
    model: EarthModel,
    dm: ArrayLike,
    survey: Survey,
    wavelet: Wavelet,
    **options: Unpack[PropagationKeywords],
) -> BornResult:
    """Return linearised data (ns, nr, nt) for a perturbation of 1 / v^2.

    Parameters
    ----------
    model : EarthModel
        Background.
    dm : array_like, model shape
        Perturbation of 1 / v^2, s^2/m^2.
    survey : Survey
        Positions and time axis.
    wavelet : Wavelet
        Source signature.
    **options
        Fields of `PropagationOptions`.

    Returns
    -------
    BornResult

    Raises
    ------
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.
    """
    propagation = split_options(options, "born", ())[0]
    operator = rtm_operator(model, survey, wavelet, propagation)
    warn_of_waves(model, wavelet, propagation)
    return BornResult(operator.forward(np.asarray(dm)), operator)


@takes_options(PropagationOptions)
def born_adjoint(
    model: EarthModel,
    data: ArrayLike,
    survey: Survey,
    wavelet: Wavelet,
    **options: Unpack[PropagationKeywords],
) -> BornResult:
    """Return the adjoint of `born` applied to data: an image in model shape.

    Parameters
    ----------
    model : EarthModel
        Background.
    data : array_like, (ns, nr, nt)
        Traces of all shots, which have one number of receivers.
    survey : Survey
        Positions and time axis.
    wavelet : Wavelet
        Source signature.
    **options
        Fields of `PropagationOptions`.

    Returns
    -------
    BornResult

    Raises
    ------
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.
    """
    propagation = split_options(options, "born_adjoint", ())[0]
    operator = rtm_operator(model, survey, wavelet, propagation)
    warn_of_waves(model, wavelet, propagation)
    return BornResult(operator.adjoint(np.asarray(data)), operator)


def _of_shot(progress: Progress, i: int, n: int) -> Callable[[float], None]:
    """Return a progress function of one shot."""

    def call(fraction: float) -> None:
        progress(i, n, fraction)

    return call
