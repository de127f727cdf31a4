"""Born modelling of a survey and its exact adjoint, as an operator on arrays: what least-squares migration inverts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError
from subsalt.extensions import library
from subsalt.methods.rtm.array_schemes import ArraySchemes
from subsalt.methods.rtm.born import back, scattered
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.linear_setup import linear_setup, refuse_pairs_on_gpu, sums_to_gradient
from subsalt.methods.rtm.normal import normal_product
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.survey_on_model import check_arguments
from subsalt.option_arguments import of_kind, refuse_unknown, takes_options
from subsalt.propagation.options import ImagingOptions, PropagationOptions

if TYPE_CHECKING:
    import pylops

    from subsalt.option_keywords import LinearKeywords

#: called with the shot number (from 0), the number of shots and the fraction of the shot that is done
Progress = Callable[[int, int, float], None]


class BornOperator:
    """A perturbation of 1 / v^2 to the scattered data of a survey, and back.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup` makes; the perturbation is on the grid of its model.
    survey : Survey
        Shots with one number of receivers.
    checkpoint : CheckpointOptions, optional
        How the adjoint has its source wavefields again, without a loss.
    progress : callable, optional
        ``progress(shot, shots, fraction)``.

    Attributes
    ----------
    domain_shape, range_shape : tuple of int
        Shape of the model, and (shots, receivers, samples).
    illumination : ndarray or None
        Sum over shots and time of the squared wavefield that scatters, of the last `adjoint`.
    applied : tuple of int
        How often `forward` and `adjoint` were applied.
    """

    def __init__(
        self,
        setup: MigrationSetup,
        survey: Survey,
        checkpoint: CheckpointOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.setup, self.survey = setup, survey
        counts = {len(s.rcv) for s in survey.shots}
        if len(counts) != 1:
            raise ConfigError(
                f"shots have between {min(counts, default=0)} and {max(counts, default=0)} receivers",
                "use one number for all, or a job with the shots in files",
                code="E302",
            )
        options = of_kind("checkpoint", checkpoint or CheckpointOptions(), CheckpointOptions)
        refuse_lossy(options)
        refuse_pairs_on_gpu(setup)
        self._schemes = ArraySchemes.of(setup, survey.shots, options)
        self._pool = SnapshotPool()
        self._progress = progress or (lambda shot, shots, fraction: None)
        self.domain_shape: tuple[int, ...] = setup.model.grid.shape
        self.range_shape: tuple[int, ...] = (len(survey), counts.pop(), setup.record.nt)
        self.illumination: NDArray[np.float64] | None = None
        self.applied = (0, 0)

    def forward(self, x: ArrayLike, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return scattered data of a perturbation of 1 / v^2, s^2/m^2.

        Parameters
        ----------
        x : array_like, `domain_shape`
            Perturbation.
        places : sequence of int, optional
            Places in the survey of the shots that are modelled; all when left out.

        Returns
        -------
        ndarray, (shots, receivers, samples)
            Data of these shots, in the order of `places`.
        """
        dm = _of_shape("dm", x, self.domain_shape)
        chosen = range(len(self.survey)) if places is None else places
        out = np.empty((len(chosen), *self.range_shape[1:]))
        for row, i in enumerate(chosen):
            out[row] = scattered(self.setup, self.survey.shots[i], dm, progress=self._of_shot(i))
        self.applied = (self.applied[0] + 1, self.applied[1])
        return out

    def adjoint(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the adjoint image of data."""
        data = _of_shape("data", y, self.range_shape)
        shape = self.setup.model.grid.shape3
        total, light = np.zeros(shape), np.zeros(shape)
        for i, shot in enumerate(self.survey.shots):
            way = self._schemes.of_shot(shot)
            prop = propagator_of(self.setup, shot)
            part = back(
                self.setup, shot, data[i], prop=prop, pool=self._pool, progress=self._of_shot(i), **way
            )
            self._schemes.over(shot)
            total[part.box.slices] += part.sums["correlation"]
            light[part.box.slices] += part.sums["illumination"]
        self.applied = (self.applied[0], self.applied[1] + 1)
        self.illumination = light.reshape(self.domain_shape)
        return sums_to_gradient(self.setup, total).reshape(self.domain_shape)

    def normal(
        self,
        x: ArrayLike,
        between: Callable[[int, NDArray[np.float64]], NDArray[np.float64]],
        places: Sequence[int] | None = None,
    ) -> NDArray[np.float64]:
        """Return J^T B J x, with the bits of `forward` and `adjoint` one after the other.

        Parameters
        ----------
        x : array_like, `domain_shape`
            Perturbation of 1 / v^2, s^2/m^2.
        between : callable
            B: takes the place of a shot in the survey and its scattered data, (receivers, samples), to the data that go
            back.
        places : sequence of int, optional
            Places of the shots that are taken; all when left out.

        Notes
        -----
        One source wavefield of each shot serves both products, and no data of other shots are held.
        """
        dm = _of_shape("dm", x, self.domain_shape)
        total = np.zeros(self.setup.model.grid.shape3)
        for i in range(len(self.survey)) if places is None else places:
            shot = self.survey.shots[i]
            way = self._schemes.of_shot(shot)
            part = normal_product(
                self.setup,
                shot,
                dm,
                partial(between, i),
                pool=self._pool,
                progress=self._of_shot(i),
                **way,
            )
            self._schemes.over(shot)
            total[part.box.slices] += part.sums["correlation"]
        self.applied = (self.applied[0] + 1, self.applied[1] + 1)
        return sums_to_gradient(self.setup, total).reshape(self.domain_shape)

    def to_pylops(self) -> pylops.LinearOperator:
        """Return the operator for PyLops: of vectors of `domain_shape` and `range_shape`, with ``.H``.

        Raises
        ------
        MissingInputError
            When PyLops is not installed (E118).
        """
        operator: pylops.LinearOperator = library("pylops_operator").to_pylops(self, np.float64)
        return operator

    def _of_shot(self, shot: int) -> Callable[[float], None]:
        return lambda fraction: self._progress(shot, len(self.survey), fraction)


def refuse_lossy(options: CheckpointOptions) -> None:
    """Raise when wavefields that come back would not be those that went: J and J^T would be no pair.

    Raises
    ------
    ConfigError
        E897.
    """
    lossy = [
        f'compression = "{options.compression}"' * (not options.lossless),
        'strategy = "boundary"' * (options.strategy == "boundary"),
        "exact = false" * (options.exact is False and options.lossless and options.strategy != "boundary"),
    ]
    if wrong := [word for word in lossy if word]:
        raise ConfigError(
            f"[checkpoint] {', '.join(wrong)}: the source wavefield comes back with other digits, and the adjoint of "
            "least-squares migration must be exact",
            "leave it out",
            code="E897",
        )
    if options.keep != "none" or options.restart_every:
        raise ConfigError(
            "[checkpoint] keep and restart_every belong to a migration: the wavefields of an iteration serve no other",
            "leave them out",
            code="E897",
        )


def _of_shape(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an array of a shape in double precision, or refuse it."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ConfigError(
            f"{name} has shape {array.shape}, the operator expects {shape}",
            "transpose or cut it",
            code="E896",
        )
    return array


@takes_options(PropagationOptions, ImagingOptions, only={ImagingOptions: ("aperture",)})
def born_operator(
    model: EarthModel,
    survey: Survey,
    wavelet: Wavelet,
    *,
    checkpoint: CheckpointOptions | None = None,
    progress: Progress | None = None,
    **options: Unpack[LinearKeywords],
) -> BornOperator:
    """Return linearised modelling of a survey with its exact adjoint, by compiled time steps.

    Unlike `rtm_operator` it samples the source wavefield as a migration does, and takes no more memory than that.

    Parameters
    ----------
    model : EarthModel
        Background; `carry` it to another grid first where waves are to be computed on one.
    survey : Survey
        Shots with one number of receivers.
    wavelet : Wavelet
        Source signature.
    checkpoint : CheckpointOptions, optional
        How the adjoint has its source wavefields again.
    progress : callable, optional
        ``progress(shot, shots, fraction)``.
    **options
        Fields of `PropagationOptions`, and ``aperture``.

    Returns
    -------
    BornOperator

    Raises
    ------
    ConfigError
        For a model, survey or wavelet of another type (E777), topography (E754), or a checkpoint with a loss (E897).
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.

    Examples
    --------
    >>> op = subsalt.born_operator(model, survey, subsalt.ricker(15.0, 0.001))   # doctest: +SKIP
    >>> subsalt.dot_test(op).error < 1e-6                                        # doctest: +SKIP
    True
    """
    given = dict(options)
    aperture: Any = given.pop("aperture", None)
    refuse_unknown(given, [*(f.name for f in fields(PropagationOptions)), "aperture"], "born_operator")
    propagation = PropagationOptions(**given)  # type: ignore[arg-type]
    check_arguments(model, survey, wavelet, propagation)
    kernels.prepare_or_warn(propagation.device, propagation.threads)
    setup = linear_setup(model, wavelet, survey.time, propagation, aperture)
    return BornOperator(setup, survey, checkpoint, progress)
