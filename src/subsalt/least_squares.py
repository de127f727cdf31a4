"""Least-squares migration of NumPy arrays: `lsrtm` and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.api import WaveGrid
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.extensions import library
from subsalt.inversion.bregman import Bregman
from subsalt.inversion.cgls import Scalars, State, refuse_preconditioner
from subsalt.inversion.drawn import solve_drawn
from subsalt.inversion.draws import Draws, refuse_large_subset
from subsalt.inversion.least_squares import Solution, solve
from subsalt.inversion.noise import AboveBand
from subsalt.inversion.options import LeastSquaresOptions
from subsalt.inversion.preconditioner import masked
from subsalt.methods.lsrtm.operator import BornOperator, Progress
from subsalt.methods.lsrtm.outcome import on_image_grid
from subsalt.methods.lsrtm.precondition import cgls_of, weights_of
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.methods.rtm.survey_on_model import check_arguments
from subsalt.option_arguments import refuse_unknown, takes_options
from subsalt.propagation.grid_choice import DepthSpacing
from subsalt.propagation.grid_warning import warn_of_waves
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    import xarray

    from subsalt.option_keywords import LeastSquaresKeywords


@dataclass(frozen=True)
class LeastSquaresResult:
    """The image of a least-squares migration.

    Parameters
    ----------
    image : ndarray, model shape, float32
        Perturbation of 1 / v^2 that explains the data, s^2/m^2; above zero where waves are slower than in the model.
    grid : Grid
        Its grid.
    history : list of Scalars
        Misfit, length of the step and so on, before the first iteration and after each.
    reason : str
        Why the iteration ended.
    dm : ndarray, float64
        The same perturbation on the grid on which waves are computed, as the iteration has it.
    operator : BornOperator
        J, which takes `dm` to data, with its adjoint.
    """

    image: NDArray[np.float32]
    grid: Grid
    history: list[Scalars]
    reason: str
    dm: NDArray[np.float64]
    operator: BornOperator

    @property
    def misfit(self) -> list[float]:
        """Misfit before the first iteration and after each, over that of the start.

        With `subset` that of the shots that an iteration has drawn, before its step.
        """
        return [s.relative for s in self.history]

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_least_squares(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return image, `dm` and the numbers of each iteration as a dataset of xarray: x, (y,) z in m, z positive down.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_least_squares").of_image(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any, operator: BornOperator) -> LeastSquaresResult:
        """Return the result of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Parameters
        ----------
        dataset : xarray.Dataset
            As `to_xarray` makes it.
        operator : BornOperator
            J of the same model, survey and wavelet, which no dataset holds: `subsalt.born_operator` makes it.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing, or the operator is that of another grid (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        result: LeastSquaresResult = library("xarray_least_squares").to_image(dataset, operator)
        return result


@dataclass(frozen=True)
class _Task:
    """An inversion of arrays: over all shots in each iteration, or over those it draws."""

    operator: BornOperator
    data: NDArray[np.float64]
    options: LeastSquaresOptions
    mask: ArrayLike | None
    weights: NDArray | None
    start: NDArray[np.float64] | None

    def solved(
        self, noise: Callable[[NDArray[np.float64]], float] | None, on_state: Callable[[State], None]
    ) -> Solution:
        """Return the end of the iteration."""
        operator, options = self.operator, self.options
        grid = operator.setup.model.grid

        def light() -> NDArray[np.float64]:
            assert operator.illumination is not None
            return operator.illumination

        if options.subset is None:
            return solve(
                operator,
                self.data,
                lambda: cgls_of(options, grid, light(), self.mask),
                options.rules,
                weights=self.weights,
                start=self.start,
                noise=noise,
                on_state=on_state,
            )
        draws = Draws(tuple(shot.id for shot in operator.survey.shots), options.subset, options.seed)
        return solve_drawn(
            operator,
            self.data,
            lambda: Bregman(weights_of(options, grid, light(), self.mask), options.threshold),
            options.rules,
            draws,
            weights=self.weights,
            start=self.start,
            on_state=on_state,
        )


@takes_options(LeastSquaresOptions, PropagationOptions, ImagingOptions, only={ImagingOptions: ("aperture",)})
def lsrtm(
    model: EarthModel,
    survey: Survey,
    wavelet: Wavelet,
    *,
    start: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    grid: str | float = "model",
    accuracy: float = 0.01,
    depth_axis: DepthSpacing = "auto",
    checkpoint: CheckpointOptions | None = None,
    progress: Progress | None = None,
    on_iteration: Callable[[Scalars, NDArray[np.float64]], None] | None = None,
    **options: Unpack[LeastSquaresKeywords],
) -> LeastSquaresResult:
    """Migrate a survey by least squares: the perturbation of 1 / v^2 whose linearised data are nearest to the traces.

    Parameters
    ----------
    model : EarthModel
        Migration model.
    survey : Survey
        With data, or a reader. What the model itself predicts, direct waves above all, must not be in them.
    wavelet : Wavelet
        Source signature of the traces.
    start : array_like, shape of the grid of the waves, optional
        Perturbation to start from; 0 when left out.
    mask : array_like, shape of the grid of the waves, optional
        0 where nothing changes, 1 where it may.
    weights : array_like, optional
        Weights of the samples; they broadcast to (shots, receivers, samples).
    grid : {"model", "auto"} or float
        Where waves are computed and the unknown lives: on the model's grid, on the coarsest that carries the band of
        the wavelet, or at a spacing, m. The image is on the model's grid with any.
    accuracy : float
        With ``grid = "auto"``: error of a waveform, relative L2, after 40 of the shortest wavelengths.
    depth_axis : {"auto", "uniform"}
        With ``grid = "auto"``: whether the spacing along z may grow with the slowest velocity of each depth.
    checkpoint : CheckpointOptions, optional
        How source wavefields are had again, without a loss.
    progress : callable, optional
        ``progress(shot, shots, fraction)``, in each product with J and with its adjoint.
    on_iteration : callable, optional
        ``on_iteration(numbers, dm)`` before the first iteration and after each.
    **options
        Fields of `LeastSquaresOptions` and `PropagationOptions`, and ``aperture``.

    Returns
    -------
    LeastSquaresResult

    Raises
    ------
    ConfigError
        For topography (E754), a checkpoint with a loss or options that do not go with `subset` (E897), a preconditioner
        that is zero (E894), arrays of another shape (E896), a `subset` of more shots than there are (E104), or
        arguments of another type (E777).
    NumericalFailure
        When a number is not finite (E895).
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.
    """
    kinds = (LeastSquaresOptions, PropagationOptions)
    names = {kind: {f.name for f in fields(kind)} for kind in kinds}
    given: dict[str, Any] = dict(options)
    refuse_unknown(given, [*names[kinds[0]], *names[kinds[1]], "aperture"], "lsrtm")
    inversion, propagation = (kind(**{k: v for k, v in given.items() if k in names[kind]}) for kind in kinds)
    assert isinstance(inversion, LeastSquaresOptions)
    assert isinstance(propagation, PropagationOptions)
    waves = WaveGrid(grid, accuracy, depth_axis)
    check_arguments(model, survey, wavelet, propagation)
    kernels.prepare_or_warn(propagation.device, propagation.threads)
    if inversion.subset is not None:
        refuse_large_subset(inversion.subset, len(survey))
    propagation = waves.options(propagation)
    used = waves.carry(model, propagation, wavelet, imaging=True)
    if grid != "auto":
        warn_of_waves(used, wavelet, propagation)
    if mask is not None:  # what the first product with J^T would find out too late
        refuse_preconditioner(masked(np.ones(used.grid.shape), mask))
    setup = linear_setup(used, wavelet, survey.time, propagation, given.get("aperture"), model.grid)
    operator = BornOperator(setup, survey, checkpoint, progress)
    data = np.stack([survey.traces(shot) for shot in survey.shots]).astype(np.float64)

    noise = None
    if inversion.noise_estimate is not None:
        noise = AboveBand(survey.time.nt, survey.time.dt, wavelet.fmax).energy
    first = np.zeros(used.grid.shape) if start is None else np.asarray(start, dtype=np.float64)
    task = _Task(
        operator,
        data,
        inversion,
        mask,
        None if weights is None else np.asarray(weights),
        None if start is None else first,
    )
    solved = task.solved(noise, lambda s: on_iteration(s.scalars, first + s.x) if on_iteration else None)
    dm = first + solved.state.x
    image = on_image_grid(setup, dm)
    return LeastSquaresResult(image, model.grid, solved.history, solved.reason, dm, operator)
