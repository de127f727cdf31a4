"""Linear operators with their exact adjoints: modelling (source to data) and Born (model to data).

`linear_operator.dot_test` proves a pair.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import kernels
from subsalt.acquisition.injection import Points
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError
from subsalt.extensions import library
from subsalt.kernels.problem import Z_FRONT, State
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.survey_on_model import check_arguments
from subsalt.methods.rtm.traces import propagation_axis, source_samples, to_record
from subsalt.option_arguments import refuse_unknown, takes_options
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

if TYPE_CHECKING:
    import pylops

    from subsalt.option_keywords import PropagationKeywords


class ModellingOperator:
    """Source samples to recorded samples, both on the propagation's time axis.

    Parameters
    ----------
    model : EarthModel
        Medium.
    src, rcv : array_like, (ns, d), (nr, d)
        Local positions, m.
    nt : int
        Samples.
    options : PropagationOptions
        Scheme; `dt` None takes 0.95 of the bound.
    """

    def __init__(
        self,
        model: EarthModel,
        src: ArrayLike,
        rcv: ArrayLike,
        nt: int,
        options: PropagationOptions | None = None,
    ) -> None:
        opts = options or PropagationOptions()
        kernels.prepare_or_warn(opts.device, opts.threads)
        gated, _ = gate(model, opts)
        survey = Survey.from_arrays(src, rcv, nt=nt, dt=1.0)
        self._src = np.stack([s.src for s in survey.shots])
        self._rcv = survey.shots[0].rcv
        positions = np.concatenate([self._src, self._rcv])
        dt = gated.choose_dt(opts.weights, opts.dt, opts.dt_reserve)
        self.propagator = Propagator(gated, opts, dt, points=positions, taper_at=positions)
        self.nt, self.dt = nt, dt
        self.domain_shape = (len(self._src), nt)
        self.range_shape = (len(self._rcv), nt)

    def forward(self, x: NDArray) -> NDArray:
        """Return the samples (nr, nt) recorded for the source samples x (ns, nt)."""
        _require("source samples", x, self.domain_shape)
        return self._run(self._src, x, self._rcv)

    def adjoint(self, y: NDArray) -> NDArray:
        """Return the transpose applied to y (nr, nt): the same code in reversed time, receivers emit."""
        _require("data", y, self.range_shape)
        return self._run(self._rcv, y[:, ::-1], self._src)[:, ::-1]

    def to_pylops(self) -> pylops.LinearOperator:
        """Return the operator for PyLops: of vectors of `domain_shape` and `range_shape`, with ``.H``.

        Raises
        ------
        MissingInputError
            When PyLops is not installed (E118).
        """
        operator: pylops.LinearOperator = library("pylops_operator").to_pylops(self, self.propagator.dtype)
        return operator

    def _run(self, at: NDArray, samples: NDArray, to: NDArray) -> NDArray:
        prop = self.propagator
        rec = prop.recorder(to, self.nt)
        prop.advance(prop.new_state(), self.nt - 1, sources=[prop.source(at, samples)], recorders=[rec])
        return prop.recorded(rec)[1]


class RtmOperator:
    """Linearised (Born) modelling of a survey and its adjoint, the kernel of least-squares migration.

    Maps a perturbation dm of m = 1 / v^2 (s^2/m^2, model shape) to scattered data (ns, nr, nt) on the
    survey's axis.

    Parameters
    ----------
    model : EarthModel
        Background.
    survey : Survey
        Shots with one number of receivers.
    wavelet : Wavelet
        Source signature.
    options : PropagationOptions
        Scheme.

    Notes
    -----
    du solves the scheme of the background with the secondary source ``-dm v^2 (L u + f)``; the adjoint is
    ``-sum_n v^2 (L u + f)[n] . w[N-1-n]`` times the cell volume, with w the same code run on the reversed
    data. Exact for a perturbation outside the absorbing layer, which dm is by construction. One field of
    every step is kept in memory, twice for VTI: this operator is for problems that fit.
    """

    def __init__(
        self, model: EarthModel, survey: Survey, wavelet: Wavelet, options: PropagationOptions | None = None
    ) -> None:
        self.options = options or PropagationOptions()
        check_arguments(model, survey, wavelet, self.options)
        if self.options.topography is not None:
            raise ConfigError(
                "the Born operator has no exact adjoint below a free surface inside the model",
                "leave topography out",
                code="E754",
            )
        kernels.prepare_or_warn(self.options.device, self.options.threads)
        self.model, _ = gate(model, self.options)
        self.survey = survey
        counts = {len(s.rcv) for s in survey.shots}
        if len(counts) != 1:
            raise ConfigError(
                f"shots have between {min(counts)} and {max(counts)} receivers", "use one number for all"
            )
        dt = self.model.choose_dt(self.options.weights, self.options.dt, self.options.dt_reserve)
        self.record: TimeAxis = survey.time
        # as in modelling: the inverse time-dispersion transform needs the whole event that the record cuts
        extra = 2.0 / wavelet.f0 if self.options.time_dispersion else 0.0
        self.axis = propagation_axis(self.record, wavelet, dt, extra)
        self.signature = source_samples(wavelet, self.axis, self.options.time_dispersion)
        self._to_record = to_record(self.axis, self.record, time_dispersion=self.options.time_dispersion)
        self.domain_shape = self.model.grid.shape
        self.range_shape = (len(survey.shots), counts.pop(), self.record.nt)

    def forward(self, x: NDArray) -> NDArray:
        """Return Born data (ns, nr, nt) for dm = x, model shape, s^2/m^2."""
        _require("dm", np.asarray(x), self.domain_shape)
        dm = np.asarray(x).reshape(self.model.grid.shape3)
        out = np.zeros(self.range_shape)
        for i, shot in enumerate(self.survey.shots):
            prop = self._propagator(shot)
            out[i] = self._to_record.apply(self._scatter(prop, shot, dm).astype(np.float64))
        return out

    def adjoint(self, y: NDArray) -> NDArray:
        """Return the adjoint image, model shape, of data y (ns, nr, nt)."""
        _require("data", np.asarray(y), self.range_shape)
        image = np.zeros(self.model.grid.shape3)
        for i, shot in enumerate(self.survey.shots):
            prop = self._propagator(shot)
            samples = self._to_record.apply_transpose(np.asarray(y[i], dtype=np.float64))
            image += self._back(prop, shot, samples)
        return image.reshape(self.model.grid.shape)

    def background(self) -> NDArray[np.float64]:
        """Return the data (ns, nr, nt) of the background, by the scheme that `forward` linearises."""
        out = np.zeros(self.range_shape)
        for i, shot in enumerate(self.survey.shots):
            prop = self._propagator(shot)
            recorder = prop.recorder(shot.rcv, self.axis.nt)
            source = prop.source(shot.src[None], self.signature[None])
            prop.advance(prop.new_state(), self.axis.nt - 1, sources=[source], recorders=[recorder])
            out[i] = self._to_record.apply(prop.recorded(recorder)[1].astype(np.float64))
        return out

    def to_pylops(self) -> pylops.LinearOperator:
        """Return the operator for PyLops: of vectors of `domain_shape` and `range_shape`, with ``.H``.

        Raises
        ------
        MissingInputError
            When PyLops is not installed (E118).
        """
        operator: pylops.LinearOperator = library("pylops_operator").to_pylops(self, np.float64)
        return operator

    def _propagator(self, shot: Shot) -> Propagator:
        positions = np.concatenate([shot.src[None], shot.rcv])
        return Propagator(self.model, self.options, self.axis.dt, points=positions, taper_at=positions)

    def _secondary(self, prop: Propagator, shot: Shot) -> list[list[NDArray]]:
        """Return v^2 (L u + f)[n] in the window for every step n, one array per field."""
        state = prop.new_state()
        source = prop.source(shot.src[None], self.signature[None])
        m = _window(prop, prop.problem.param("m"))
        v2 = m / prop.dtype(prop.dt**2)
        out = []
        for n in range(self.axis.nt - 1):
            lu = [
                prop.kernels.to_host(a) for a in prop.kernels.apply_l(prop.problem, state.curr, prop.interior)
            ]
            force = _spread(prop, source.points, source.samples[:, n] / prop.problem.n_fields)
            out.append([v2 * (a + force) for a in lu])
            prop.advance(state, 1, sources=[source])
        return out

    def _scatter(self, prop: Propagator, shot: Shot, dm: NDArray) -> NDArray:
        state = prop.new_state()
        receivers = prop.points(shot.rcv)
        data: NDArray = np.zeros((len(receivers), self.axis.nt), dtype=prop.dtype, order="F")
        dm = dm.astype(prop.dtype)
        secondary = self._secondary(prop, shot)

        def scatter(now: State) -> None:
            _add_through_c(prop, now, [-dm * g for g in secondary[now.it - 1]])
            data[:, now.it] = prop.kernels.record(prop.problem, now.curr, receivers)

        prop.advance(state, self.axis.nt - 1, hook=scatter)
        return data

    def _back(self, prop: Propagator, shot: Shot, samples: NDArray) -> NDArray:
        secondary = self._secondary(prop, shot)
        image = np.zeros(prop.interior.shape)
        last = self.axis.nt - 1

        def accumulate(now: State) -> None:
            n = last - now.it
            for g, w in zip(secondary[n], now.curr, strict=True):
                image[...] -= g.astype(np.float64) * _window(prop, prop.kernels.to_host(w))

        prop.advance(
            prop.new_state(), last, sources=[prop.source(shot.rcv, samples[:, ::-1])], hook=accumulate
        )
        weight = prop.comp_grid.cell_volume
        scale = prop.domain.depth_scale
        if scale is None:
            return image * weight
        # on a stretched axis the operator is symmetric with the weight a^-2 along z
        return image * (weight / np.square(scale[prop.interior.slices[2]]))


def _require(name: str, values: NDArray, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape, also one with as many values in another order."""
    if values.shape != shape:
        raise ConfigError(
            f"{name} has shape {values.shape}, the operator expects {shape}", "transpose or cut it"
        )


def _window(prop: Propagator, padded: NDArray) -> NDArray:
    """Return the model window of a padded array, without a copy."""
    return prop.layout.view(padded)[prop.interior.slices]


def _spread(prop: Propagator, points: Points, values: NDArray) -> NDArray:
    """Return R^T values: an array of the window with `values` spread by the weights of `points`."""
    out: NDArray = np.zeros(prop.layout.shape3, dtype=prop.dtype)
    for i, value in enumerate(values):
        w = [points.weights[i, axis].astype(prop.dtype) for axis in range(3)]
        cut, cw = [], []
        for axis in range(3):
            base = int(points.base[i, axis])
            count = min(len(w[axis]), out.shape[axis] - base)
            cut.append(slice(base, base + count))
            cw.append(w[axis][:count])
        weight = cw[0][:, None, None] * cw[1][None, :, None] * cw[2][None, None, :]
        out[tuple(cut)] += weight * prop.dtype(value)
    return out[prop.interior.slices]


def _add_through_c(prop: Propagator, state: State, force: list[NDArray]) -> None:
    """Add dt^2 C force to the current sample, in the window."""
    param = prop.problem.param
    m = _window(prop, param("m"))
    through = force
    if len(force) == 2:
        e, s = _window(prop, param("e")), _window(prop, param("s"))
        through = [e * force[0] + s * force[1], s * force[0] + force[1]]
    for field, c_force in zip(state.curr, through, strict=True):
        with prop.kernels.on_host(field) as u:
            _window(prop, u)[...] += m * c_force
            if prop.problem.free_surface:  # the next step reads the odd images above the surface
                for k in range(1, prop.layout.radius + 1):
                    u[..., Z_FRONT - k] = -u[..., Z_FRONT + k]


@takes_options(PropagationOptions)
def rtm_operator(
    model: EarthModel,
    survey: Survey,
    wavelet: Wavelet,
    options: PropagationOptions | None = None,
    **changes: Unpack[PropagationKeywords],
) -> RtmOperator:
    """Return the Born operator of a survey with its adjoint.

    Parameters
    ----------
    model : EarthModel
        Background.
    survey : Survey
        Shots with one number of receivers.
    wavelet : Wavelet
        Source signature.
    options : PropagationOptions, optional
        Scheme; the arguments below change single options of it.
    **changes
        Fields of `PropagationOptions`.

    Returns
    -------
    RtmOperator

    Raises
    ------
    ConfigError
        For a model, survey or wavelet of another type (E777), or topography (E754).
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.

    Examples
    --------
    >>> op = rtm_operator(model, survey, subsalt.ricker(15.0, 0.001))   # doctest: +SKIP
    >>> subsalt.dot_test(op).error < 1e-6                               # doctest: +SKIP
    True
    """
    refuse_unknown(changes, (f.name for f in fields(PropagationOptions)), "rtm_operator")
    return RtmOperator(model, survey, wavelet, replace(options or PropagationOptions(), **changes))
