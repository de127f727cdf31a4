"""The warning of functions on arrays before they compute: a grid that is too coarse for a wavelet, or vp in km/s.

`subsalt check` reports the same for a job, with more evidence. Here messages name arguments, and the arrays are used
unchanged: a model in other units is correct where wavelengths and spacing agree.
"""

from __future__ import annotations

import warnings

from subsalt import physics
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.model_like import ModelLike
from subsalt.numerics.stencil import LEAST_POINTS
from subsalt.propagation.options import PropagationOptions

#: velocities below which a model in m/s is one in km/s, and which these are then
KM_PER_S, FASTEST = 20.0, 20_000.0


def warn_of_waves(model: ModelLike, wavelet: Wavelet, options: PropagationOptions, level: int = 3) -> None:
    """Warn where the grid on which waves are computed has too few points for the shortest of them.

    Parameters
    ----------
    model : ModelLike
        Model on that grid.
    wavelet : Wavelet
        Wavelet, whose highest frequency matters.
    options : PropagationOptions
        Medium, and weights in space.
    level : int
        Stack frames from here to the caller that the warning names.

    Warns
    -----
    UserWarning
        With the points per shortest wavelength, those that the weights need, and what would have them.
    """
    medium = physics.medium_of(model, options.medium)
    slowest, h = model.as_medium(medium).slowest, max(model.grid.spacing)
    points = slowest / wavelet.fmax / h
    need = options.weights.points(medium == "tti")
    if points >= (need if options.weights.kind == "fitted" else 0.9 * need):
        return
    low, high = (float(v) for v in model.limits("vp"))
    text = (
        f"{points:.3g} points per shortest wavelength ({slowest:.4g} m/s, {wavelet.fmax:.4g} Hz, spacing {h:g} m); "
        f"{options.weights} needs {need:.3g}"
    )
    if high < KM_PER_S and 1e3 * points >= LEAST_POINTS:
        cure = f"vp lies between {low:.4g} and {high:.4g}: if that is km/s, give m/s, 1000 times as much"
    else:
        cure = f"use a spacing <= {slowest / (need * wavelet.fmax):.3g} m, or lower frequencies"
    what = "the grid cannot carry the wavelet" if points < LEAST_POINTS else "waveforms will be dispersed"
    warnings.warn(f"{text}: {what}; {cure}", stacklevel=level)
