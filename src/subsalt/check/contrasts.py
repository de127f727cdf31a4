"""Strong contrasts in the model on which waves are computed, and the imaging condition that bears them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, rule, warning
from subsalt.check.orientation import WATER
from subsalt.earth.model_like import ModelLike
from subsalt.errors import Finding

#: columns that are looked at along each horizontal axis, in 2-D and 3-D, and most nodes of each
COLUMNS, DEPTHS = {2: 128, 3: 16}, 1024
#: Reflection coefficient from which waves that are sent back from inside the model swamp an image. Salt in sediments
#: has 0.2 to 0.35; chalk in clay (2300 over 3300) 0.18, weathered rock on hard rock (1900 over 2800) 0.19.
STRONG = 0.22
#: share of the columns that cross such a contrast, from which it is more than an odd node
CROSSED = 0.05
#: conditions and filters that suppress what waves on one path leave
CLEAN, CLEAN_FILTER = ("inverse-scattering", "up-down"), "laplacian"


@rule("contrasts", "velocity", "wavelet", "survey")
def backscatter(context: Context) -> Iterator[Finding]:
    """Salt, basalt or carbonates under a condition that images the waves which they send back."""
    imaging = context.imaging
    if context.modelling or imaging.condition in CLEAN or imaging.filter == CLEAN_FILTER:
        return
    assert context.wavelet is not None
    assert context.model is not None
    model = context.computed or context.model
    if context.facts.get("_axes_wrong") or context.facts.get("_null_vp"):
        return
    strongest, depth, around = contrasts(model, context.wavelet.f0)
    crossed = float((strongest >= STRONG).mean())
    if crossed < CROSSED:
        return
    column = int(np.argmax(strongest))
    size = float(np.quantile(strongest[strongest >= STRONG], 0.5))
    yield warning(
        "W547",
        f"the model has strong contrasts in {crossed:.0%} of its columns: {around[column][0]:.0f} over "
        f"{around[column][1]:.0f} m/s at z = {depth[column]:.0f} m, for one (reflection coefficients of {size:.2f} and "
        f"more). Waves that come back from them are imaged along their whole way as broad noise by {imaging.condition}",
        f'[imaging] condition = "{CLEAN[0]}"; or [imaging] filter = "{CLEAN_FILTER}", which removes the same noise '
        "from the image; or a smoother model",
        crossed=crossed,
        strongest=float(strongest.max()),
    )


def contrasts(
    model: ModelLike, f0: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the strongest reflection coefficient of columns of a model, its depth, m, and the two velocities.

    Between nodes a quarter of a wavelength apart: what changes over more reflects less.

    Parameters
    ----------
    f0 : float
        Peak frequency, Hz.

    Returns
    -------
    strongest, depth : ndarray, (n,)
    around : ndarray, (n, 2)
        Velocities above and below, m/s.
    """
    grid = model.grid
    most = COLUMNS[grid.ndim]
    axes = [o + h * np.unique(np.linspace(0, n - 1, min(n, most)).round())
            for o, h, n in zip(grid.origin[:-1], grid.spacing[:-1], grid.shape[:-1], strict=True)]  # fmt: skip
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, grid.ndim - 1)
    z = grid.axis(-1)[:: -(-grid.shape[-1] // DEPTHS)]
    if len(z) < 2:
        return np.zeros(1), np.zeros(1), np.zeros((1, 2))
    points = np.zeros((len(places), len(z), 3))
    points[..., : places.shape[1]], points[..., 2] = places[:, None, :], z
    v = model.at(points.reshape(-1, 3)).astype(np.float64).reshape(len(places), len(z))
    usable = np.isfinite(v) & (v > 0)
    v = np.where(usable, v, 1.0)
    middle = float(np.median(v[usable])) if usable.any() else 0.0
    step = int(np.clip(round(0.25 * middle / f0 / float(z[1] - z[0])), 1, len(z) - 1))
    above, below = v[:, :-step], v[:, step:]
    # what comes back from a sea bed is imaged in the water
    rock = (above < WATER[0]) | (above > WATER[1])
    size = np.where(usable[:, :-step] & usable[:, step:] & rock, np.abs(below - above) / (below + above), 0.0)
    at = size.argmax(axis=1)
    rows = np.arange(len(v))
    depth = 0.5 * (z[at] + z[at + step])
    return size[rows, at], depth, np.stack([above[rows, at], below[rows, at]], axis=1)
