"""The grid on which waves are computed: the coarsest that carries their band with the requested accuracy.

Three things need points per shortest wavelength. The need of a direct wave depends on the weights in space. A modelled
reflection needs the model at twice the wavenumber, and an image contains twice the wavenumber
(`subsalt.propagation.folding`): at an accuracy of 0.01 about 4.4 and 3.5 points, whatever the order. The grid has as
many points as the most demanding part of the job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import physics
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.tilt import TAPER_CELLS
from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.depth_axis import Demand, stretched
from subsalt.numerics.stencil import FITTED_ORDERS, LEAST_POINTS, Stencil
from subsalt.propagation.folding import PART, WAVELENGTHS, Waves, points_of_image, reflection_error, symbol
from subsalt.propagation.options import PropagationOptions

#: part of the requested accuracy that frequencies may have which traces lose between records and time steps
TRACE_SHARE = 0.01
#: the accuracy for which the points of fitted weights are tabulated
TABULATED = 0.01
#: examined range of points per shortest wavelength
FEWEST, MOST = 2.2, 12.0
_POINTS = np.linspace(FEWEST, MOST, 981)
#: how the computational grid is spaced along z
DepthSpacing = Literal["auto", "uniform"]
#: share of the accuracy that a reflection may use: on fine grids fitted weights use all of it, aliasing a last digit
_MISS = 1.01
#: a grid coarser than the model's by less than this is not worth carrying the model to it
WORTH = 1.1


@dataclass(frozen=True)
class Needed:
    """Points per shortest wavelength, by purpose.

    Parameters
    ----------
    direct : float
        A direct wave, after `WAVELENGTHS` of the shortest wavelengths.
    reflection : float, optional
        A reflection, after as many; None where none is modelled.
    image : float, optional
        An image; None where none is made.
    """

    direct: float
    reflection: float | None
    image: float | None

    @property
    def points(self) -> float:
        """Points of the most demanding of the three."""
        return max(self._by_name().values())

    @property
    def decided_by(self) -> str:
        """The most demanding of the three: "direct wave", "reflection" or "image"."""
        named = self._by_name()
        return max(named, key=lambda name: named[name])

    def _by_name(self) -> dict[str, float]:
        named = {"direct wave": self.direct, "reflection": self.reflection, "image": self.image}
        return {name: points for name, points in named.items() if points is not None}


def waveform_error(stencil: Stencil, points: ArrayLike) -> NDArray[np.float64]:
    """Return the error of a Ricker wavelet, relative L2, after `WAVELENGTHS` wavelengths in the worst direction.

    Parameters
    ----------
    stencil : Stencil
        Stencil, whose weights for upright media are used; the medium is isotropic.
    points : array_like, (n,)
        Per shortest wavelength, that of 2.5 times the peak frequency.
    """
    x = PART[PART <= 1.0]
    power = Waves.ricker().power[: len(x)]
    c = stencil.second()
    kh = 2.0 * np.pi * x / np.atleast_1d(np.asarray(points, dtype=np.float64))[:, None]
    worst = np.zeros(len(kh))
    for axes in (1, 2, 3):
        # along an axis, the diagonal of a face, that of the cube
        total = axes * symbol(c, kh / math.sqrt(axes))
        phase = 2.0 * np.pi * WAVELENGTHS * x * (np.sqrt(total) / kh - 1.0)
        error = (power * (2.0 * fixedmath.sin(0.5 * phase)) ** 2).sum(axis=1) / power.sum()
        worst = np.maximum(worst, error)
    return np.sqrt(worst)


def points_needed(
    stencil: Stencil, tilted: bool, accuracy: float, wavelet: Wavelet, *, imaging: bool
) -> Needed:
    """Return the points per shortest wavelength that this accuracy takes, by what takes them.

    Parameters
    ----------
    stencil : Stencil
        Weights in space. Their table holds for a direct wave and for `TABULATED` in the worst medium; other accuracies
        scale it as they do in an isotropic one.
    tilted : bool
        The medium is.
    accuracy : float
        Relative L2.
    wavelet : Wavelet
        Wavelet, whose spectrum decides the aliasing.
    imaging : bool
        Images are made; else reflections are modelled.

    Raises
    ------
    ConfigError
        When no grid of up to `MOST` points reaches it, with weights that do.
    """
    needed = _points_needed(stencil, tilted, accuracy, wavelet, imaging)
    if isinstance(needed, Needed):
        return needed
    what, best = needed
    others = _that_reach(stencil, tilted, accuracy, wavelet, imaging)
    raise ConfigError(
        f"[propagation] accuracy = {accuracy:g} cannot be reached with {stencil}: its smallest error of a {what} after "
        f"{WAVELENGTHS:g} wavelengths is {best:.2g}",
        f"use {others}, or a larger accuracy" if others else "use a larger accuracy",
        code="E546",
    )


def _points_needed(
    stencil: Stencil, tilted: bool, accuracy: float, wavelet: Wavelet, imaging: bool
) -> Needed | tuple[str, float]:
    """Return the points of weights in space; where no grid has the accuracy, for what, and the smallest error."""
    errors = {"direct wave": _direct_errors(stencil)}
    if not imaging:
        errors["reflection"] = _reflection_errors(stencil, tilted, Waves.of(wavelet).power.tobytes())
    points = {what: _coarsest(error, accuracy) for what, error in errors.items()}
    for what, reach in points.items():
        if reach is None:
            return what, float(errors[what].min())
    direct, standard = points["direct wave"], _coarsest(errors["direct wave"], TABULATED)
    assert direct is not None
    # Taylor weights of order 2 reach what is tabulated on no grid
    scaled = direct if standard is None else stencil.points(tilted) * direct / standard
    return Needed(scaled, points.get("reflection"), points_of_image(wavelet, accuracy) if imaging else None)


def _that_reach(stencil: Stencil, tilted: bool, accuracy: float, wavelet: Wavelet, imaging: bool) -> str:
    """Return the weights with the least work among those that reach an accuracy, as keys of a job; empty for none."""
    reached: dict[Stencil, float] = {}
    for order in FITTED_ORDERS:
        for other in (Stencil(order, "fitted"), Stencil(order, "taylor")):
            needed = _points_needed(other, tilted, accuracy, wavelet, imaging)
            if isinstance(needed, Needed):
                # points and steps, and about the time of one in proportion to its neighbours
                reached[other] = needed.points**4 * math.sqrt(other.nyquist(tilted)) * order
    if not reached:
        return ""
    fitted = [s for s in reached if s.kind == "fitted"]
    best = min(fitted or reached, key=lambda s: reached[s])
    return f"order = {best.order}" + ("" if best.kind == stencil.kind else f' and stencil = "{best.kind}"')


def trace_error(grid: str | float, accuracy: float) -> float | None:
    """Return the part of the wavelet that traces may lose with the end of its band on this grid; None: nothing.

    Notes
    -----
    On the grid of the model all frequencies pass, with the bytes of versions before 0.8.
    """
    return None if grid == "model" else TRACE_SHARE * accuracy


@cache
def _direct_errors(stencil: Stencil) -> NDArray[np.float64]:
    return waveform_error(stencil, _POINTS)


@lru_cache(maxsize=64)
def _reflection_errors(stencil: Stencil, tilted: bool, power: bytes) -> NDArray[np.float64]:
    """Return the errors of a reflection at `_POINTS`: check, plan and run of a job ask for the same ones."""
    return reflection_error(stencil, tilted, Waves(np.frombuffer(power)), _POINTS) / _MISS


def _coarsest(errors: NDArray[np.float64], accuracy: float) -> float | None:
    """Return the fewest points whose error is below the accuracy; None when no number of points has it."""
    good = np.flatnonzero(errors <= accuracy)
    if not len(good):
        return None
    # from the finest grid that has it on, as long as all have it
    steps = np.flatnonzero(np.diff(good[::-1]) != -1)
    return float(_POINTS[good[::-1][steps[0] if len(steps) else -1]])


def chosen_grid(
    model: ModelLike,
    options: PropagationOptions,
    wavelet: Wavelet,
    accuracy: float,
    *,
    imaging: bool,
    depth_axis: DepthSpacing = "auto",
) -> Grid:
    """Return the grid that carries the band of a wavelet through a model; the model's own when it is about as coarse.

    Parameters
    ----------
    model : ModelLike
        Model as it is given.
    options : PropagationOptions
        Medium, and weights in space.
    wavelet : Wavelet
        Wavelet, whose band matters.
    accuracy : float
        Error of a waveform, relative L2, after `WAVELENGTHS` shortest wavelengths in the slowest part.
    imaging : bool
        Images are summed on the grid; else reflections are modelled.
    depth_axis : {"auto", "uniform"}
        Whether the spacing along z may grow with the slowest velocity of each depth.

    Raises
    ------
    ConfigError
        When no grid has this accuracy, or when the model's own has hardly two points per shortest wavelength: the unit
        of its velocity or spacing is wrong, or images on it are of no use.
    """
    medium = physics.medium_of(model, options.medium)
    points = points_needed(options.weights, medium == "tti", accuracy, wavelet, imaging=imaging).points
    shortest, own = model.as_medium(medium).slowest / wavelet.fmax, model.grid.spacing
    spacing = _rounded(shortest / points)
    if shortest < LEAST_POINTS * max(own):
        raise ConfigError(
            f"{shortest / max(own):.3g} points per shortest wavelength ({shortest:.4g} m, spacing {max(own):g} m): "
            "the grid of the model cannot carry the wavelet",
            f"lower the frequencies (band-pass the traces, lower f0), or take a finer grid: grid = {spacing:g}",
            code="E531",
        )
    as_coarse = all(h <= spacing < WORTH * h for h in own)
    grid = model.grid if as_coarse else with_spacing(model.grid, spacing)
    if depth_axis == "uniform":
        return grid
    slowest = model.as_medium(medium).slowest_by_depth
    return _stretched(grid, model.grid.axis(-1), slowest, wavelet.fmax * points, options, medium == "tti")


def _stretched(
    grid: Grid,
    depths: NDArray[np.float64],
    slowest: NDArray[np.float64],
    resolution: float,
    options: PropagationOptions,
    tilted: bool,
) -> Grid:
    """Return a grid whose depth axis follows the slowest velocity at `depths`; as it is where that gains little."""
    bottom, finest = max(grid.last[-1], float(depths[-1])), grid.spacing[-1]
    if tilted:
        # the cells in front of the layer that lose their tilt are thicker here: no more of the model loses it
        widest = min(Demand.coarsest * finest, float(slowest[-1]) / resolution)
        bottom += (options.weights.order // 2 + TAPER_CELLS) * max(0.0, widest - finest)
    demand = Demand(
        grid.origin[-1],
        bottom,
        finest,
        resolution,
        max(options.weights.order // 2, (options.support + 1) // 2),
    )
    axis = stretched(depths, slowest, demand, options.weights, tilted, free_surface=options.free_surface)
    if axis is None:
        return grid
    return Grid((*grid.shape[:-1], axis.count), grid.spacing, grid.origin, axis)


def with_spacing(grid: Grid, spacing: float) -> Grid:
    """Return the grid of one spacing along all axes that begins where another does and covers it."""
    shape = [
        1 + math.ceil((n - 1) * h / spacing - 1e-9) for n, h in zip(grid.shape, grid.spacing, strict=True)
    ]
    return Grid(tuple(shape), (spacing,) * grid.ndim, grid.origin)


def _rounded(spacing: float) -> float:
    """Return three digits of a spacing, not more than it is: its last bits are no choice."""
    digits = 2 - math.floor(math.log10(spacing))
    scale = 10.0**digits
    return float(f"{math.floor(spacing * scale * (1 + 1e-9)) / scale:.6g}")
