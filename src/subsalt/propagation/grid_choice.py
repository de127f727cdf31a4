"""The grid on which waves are computed: the coarsest that carries their band with the accuracy asked for.

A wave of the highest frequency takes a number of points per wavelength that the weights in space decide. An image is
a product of two waves and has twice their wavenumbers; it is summed on the same grid, which must carry it too:
what of its spectrum would fold back stays below the accuracy as well.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import physics
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.stencil import Stencil
from subsalt.propagation.options import PropagationOptions

#: order of waves whose grid is chosen and of which no image is made: the cheapest for a waveform, in time and memory
#: (`benchmarks/accuracy.py`). An image is summed on the grid of its waves and binds it at about the points of order 8,
#: where a higher order costs more; in tilted media high orders let the slow mode catch up (`subsalt.physics.slow_mode`)
MODELLING_ORDER = 12
#: part of the accuracy asked for that frequencies may have which traces lose between records and time steps
TRACE_SHARE = 0.01
#: wavelengths after which the accuracy holds, of the shortest wave
WAVELENGTHS = 40.0
#: the accuracy for which the points of fitted weights are tabulated
TABULATED = 0.01
#: points per shortest wavelength that are looked at
FEWEST, MOST = 2.2, 12.0
_POINTS = np.linspace(FEWEST, MOST, 981)
#: a grid coarser than the model's by less than this is not worth carrying the model to it
WORTH = 1.1
#: points per shortest wavelength below which a grid does not carry a wave
LEAST = 2.2


def waveform_error(stencil: Stencil, points: ArrayLike) -> NDArray[np.float64]:
    """Return the error of a Ricker wavelet, relative L2, after `WAVELENGTHS` wavelengths in the worst direction.

    Parameters
    ----------
    stencil : Stencil
        Its weights for upright media; the medium is isotropic.
    points : array_like, (n,)
        Per shortest wavelength, that of 2.5 times the peak frequency.
    """
    x = np.linspace(0.02, 1.0, 50)
    power = ((2.5 * x) ** 2 * fixedmath.exp(-((2.5 * x) ** 2))) ** 2
    c = stencil.second()
    kh = 2.0 * np.pi * x / np.atleast_1d(np.asarray(points, dtype=np.float64))[:, None]
    worst = np.zeros(len(kh))
    for axes in (1, 2, 3):
        # along an axis, the diagonal of a face, that of the cube
        symbol = axes * _symbol(c, kh / math.sqrt(axes))
        phase = 2.0 * np.pi * WAVELENGTHS * x * (np.sqrt(symbol) / kh - 1.0)
        error = (power * (2.0 * fixedmath.sin(0.5 * phase)) ** 2).sum(axis=1) / power.sum()
        worst = np.maximum(worst, error)
    return np.sqrt(worst)


def _symbol(c: tuple[float, ...], kh: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symbol of -D2 on a unit grid."""
    total = np.full_like(kh, -c[0])
    for k, ck in enumerate(c[1:], 1):
        total = total - 2.0 * ck * fixedmath.cos(k * kh)
    return np.maximum(total, 0.0)


def points_needed(stencil: Stencil, tilted: bool, accuracy: float) -> float:
    """Return the points per shortest wavelength for a waveform of this accuracy after `WAVELENGTHS` of them.

    The table of the weights holds for `TABULATED` in the worst medium; other accuracies scale it as they do in an
    isotropic one.

    Raises
    ------
    ConfigError
        When no grid of up to `MOST` points reaches it.
    """
    found = _coarsest(stencil, accuracy)
    if found is None:
        best = float(waveform_error(stencil, _POINTS).min())
        raise ConfigError(
            f"[propagation] accuracy = {accuracy:g} cannot be reached with {stencil}: its smallest error after "
            f"{WAVELENGTHS:g} wavelengths is {best:.2g}",
            'use a larger accuracy, a higher order, or stencil = "taylor" with a spacing of your own',
            code="E546",
        )
    standard = _coarsest(stencil, TABULATED)
    assert standard is not None
    return stencil.points(tilted) * found / standard


def trace_error(grid: str | float, accuracy: float) -> float | None:
    """Return the part of the wavelet that traces may lose with the end of its band on this grid; None: nothing.

    Notes
    -----
    On the grid of the model all frequencies pass, with the bytes of versions before 0.8.
    """
    return None if grid == "model" else TRACE_SHARE * accuracy


@cache
def _coarsest(stencil: Stencil, accuracy: float) -> float | None:
    """Return the fewest points whose error is below the accuracy; None when no number of points has it."""
    good = np.flatnonzero(waveform_error(stencil, _POINTS) <= accuracy)
    if not len(good):
        return None
    # from the finest grid that has it on, as long as all have it
    steps = np.flatnonzero(np.diff(good[::-1]) != -1)
    return float(_POINTS[good[::-1][steps[0] if len(steps) else -1]])


def points_of_image(wavelet: Wavelet, accuracy: float) -> float:
    """Return the points per shortest wavelength of waves whose product folds back by less than the accuracy.

    At normal incidence a frequency f images at the wavenumber 2 f / v, with the square of the wavelet's spectrum; on a
    grid of spacing h it folds back above f = v / (4 h).
    """
    spectrum = np.abs(np.fft.rfft(wavelet.samples, 4 * len(wavelet.samples))) ** 4
    above = np.sqrt(np.cumsum(spectrum[::-1])[::-1] / spectrum.sum())
    f = np.fft.rfftfreq(4 * len(wavelet.samples), wavelet.dt)
    return 4.0 * float(f[int(np.argmax(above <= accuracy))]) / wavelet.fmax


def chosen_grid(
    model: ModelLike, options: PropagationOptions, wavelet: Wavelet, accuracy: float, *, imaging: bool
) -> Grid:
    """Return the grid that carries the band of a wavelet through a model; the model's own when it is about as coarse.

    Parameters
    ----------
    model : ModelLike
        As given.
    options : PropagationOptions
        Medium, and weights in space.
    wavelet : Wavelet
        Its band.
    accuracy : float
        Error of a waveform, relative L2, after `WAVELENGTHS` shortest wavelengths in the slowest part.
    imaging : bool
        Images are summed on the grid.

    Raises
    ------
    ConfigError
        When no grid has this accuracy, or when the model's own has hardly two points per shortest wavelength: the unit
        of its velocity or spacing is wrong, or images on it are of no use.
    """
    medium = physics.medium_of(model, options.medium)
    points = points_needed(options.weights, medium == "tti", accuracy)
    if imaging:
        points = max(points, points_of_image(wavelet, accuracy))
    shortest, own = model.as_medium(medium).slowest / wavelet.fmax, model.grid.spacing
    spacing = _rounded(shortest / points)
    if shortest < LEAST * max(own):
        raise ConfigError(
            f"{shortest / max(own):.3g} points per shortest wavelength ({shortest:.4g} m, spacing {max(own):g} m): "
            "the grid of the model cannot carry the wavelet",
            f"use a spacing <= {spacing:g} m or lower frequencies; or name the grid of the waves: grid = {spacing:g}",
            code="E531",
        )
    if all(h <= spacing < WORTH * h for h in own):
        return model.grid
    return with_spacing(model.grid, spacing)


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
