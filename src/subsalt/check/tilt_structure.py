"""The symmetry axis against the layers of vp: angles in radians, of the other sign, or measured from the horizontal.

In most rocks the axis is the normal of the layers. Where vp shows layers that dip, the direction in which it changes
most (its structure tensor) is compared with the axis as it is given, and as it would be under each of these mistakes.
Of the Marmousi TTI model the median angle is 9 degrees as it should be, and 30 to 80 degrees under every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, error, rule, warning
from subsalt.earth.building import azimuths_on_grid
from subsalt.earth.planes import Parameter, Planes
from subsalt.errors import Finding

#: planes of a window of a volume, values of one in all, and windows that are looked at
PLANES, VALUES, WINDOWS = 11, 1 << 20, 3
#: nodes over which the tensor is averaged, and nodes that are compared
AVERAGE, NODES = 9, 20_000
#: a layer is coherent above, and dips by more than, degrees; so many nodes must have one
COHERENT, DIPPING, FEWEST = 0.8, 5.0, 200
#: degrees: the axis fits the layers below; a mistake must be worse than twice the fit by so much
FITS, WORSE = 12.0, 5.0

Array = NDArray[np.float64]

#: what may be wrong with theta, as a function that corrects it, in degrees
MISTAKES: dict[str, Callable[[Array], Array]] = {
    "radians": np.degrees,
    "sign": np.negative,
    "horizontal": lambda theta: 90.0 - theta,
}


@rule("tilt_structure", "parameters")
def axis_against_layers(context: Context) -> Iterator[Finding]:
    """Tilts that do not fit the layers of vp, but do when they are read in another way."""
    theta, vp = context.parameters.get("theta"), context.parameters.get("vp")
    if (
        theta is None
        or vp is None
        or theta.grid is None
        or vp.grid is None
        or theta.grid.shape != vp.grid.shape
    ):
        return
    if (
        any(p.summary.bad for p in (theta, vp))
        or vp.summary.low <= 0
        or theta.summary.low == theta.summary.high
    ):
        return
    if context.facts.get("_vp_wrong") or context.facts.get("_axes_wrong") or context.facts.get("_null_vp"):
        return
    phi = context.parameters.get("phi")
    if phi is not None and context.model is not None:
        phi = azimuths_on_grid(phi, context.model.frame)
    angles = misfits(theta, vp, phi)
    if angles is None:
        return
    given = angles.pop("given")
    best = min(angles, key=lambda name: angles[name])
    if angles[best] > FITS or given < 2 * angles[best] + WORSE:
        return
    evidence = {"given": given, best: angles[best]}
    text = (
        f"theta runs from {theta.summary.low:.4g} to {theta.summary.high:.4g} degrees and is {given:.0f} degrees off "
        f"the normals of the layers of vp (median); {angles[best]:.0f} degrees when it is"
    )
    factor, shift = float(theta.given.get("scale", 1.0)), float(theta.given.get("shift", 0.0))
    if best == "radians":
        if not context.facts.get("_radians"):
            yield error(
                "E421",
                f"{text} taken in radians: looks like radians",
                f'[model] {theta.table(unit="radians")}; if these are degrees, say so: unit = "degrees"'
                if theta.unit is None
                else f"[model] {theta.table(unit='radians')}",
                **evidence,
            )
        return
    if best == "sign":
        what, cure = "of the other sign", theta.table(scale=-factor, shift=-shift or None)
    else:
        what, cure = "counted from the horizontal", theta.table(scale=-factor, shift=90.0 - shift)
    yield warning("W432", f"{text} {what}", f"if it is: [model] {cure}", **evidence)


def misfits(theta: Parameter, vp: Parameter, phi: Parameter | None) -> dict[str, float] | None:
    """Return the median angle, degrees, between axes and normals of layers, as given and with each mistake corrected.

    None where vp shows too few dipping layers.
    """
    assert vp.grid is not None
    angles: dict[str, list[Array]] = {"given": [], **{name: [] for name in MISTAKES}}
    for window in _windows(vp.grid.shape):
        t = _cut(theta.volume, window)
        p = (
            None
            if phi is None
            else _cut(phi.volume, window)
            if phi.grid is not None
            else np.full_like(t, phi.values)
        )
        normals, where = _normals(_cut(vp.volume, window), vp.grid.spacing)
        if not where.any():
            continue
        t, p = t[where], None if p is None else p[where]
        for name in angles:
            mended = MISTAKES[name](t) if name in MISTAKES else t
            azimuth = None if p is None else np.radians(np.degrees(p) if name == "radians" else p)
            axis = _axis(np.radians(mended), azimuth, len(vp.grid.shape))
            along = np.abs(sum(a * b for a, b in zip(axis, normals.T, strict=True)))
            angles[name].append(np.degrees(np.arccos(np.minimum(along, 1.0))))
    if sum(map(len, angles["given"])) < FEWEST:
        return None
    return {name: float(np.median(np.concatenate(parts))) for name, parts in angles.items()}


def _axis(theta: Array, phi: Array | None, ndim: int) -> tuple[Array, ...]:
    """Return the components of axes, for a comparison: no image depends on their last bits."""
    if ndim == 2:
        return np.sin(theta), np.cos(theta)
    east = np.zeros_like(theta) if phi is None else phi
    return np.sin(theta) * np.cos(east), np.sin(theta) * np.sin(east), np.cos(theta)


def _windows(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield parts of a volume, all of a small one."""
    wide = max(PLANES, VALUES // int(np.prod(shape[1:]))) if len(shape) == 2 else PLANES
    n = shape[0]
    for centre in (0.5,) if n <= WINDOWS * wide else np.linspace(0, 1, WINDOWS + 2)[1:-1]:
        length = n if n <= WINDOWS * wide else wide
        first = int(min(max(0, centre * n - length / 2), n - length))
        across: tuple[slice, ...] = ()
        if len(shape) == 3:
            most = max(PLANES, VALUES // (length * shape[-1]))
            a = max(0, (shape[1] - most) // 2)
            across = (slice(a, a + most),)
        yield slice(first, first + length), *across


def _cut(values: NDArray[np.float32] | Planes, window: tuple[slice, ...]) -> Array:
    return np.asarray(values[window], np.float64)


def _normals(vp: Array, spacing: tuple[float, ...]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the normals (n, ndim) of dipping layers, pointing down, and the mask of their nodes."""
    from scipy.ndimage import (
        uniform_filter,  # takes as long to import as a small check; only tilted media come here
    )

    grad = np.gradient(np.log(vp), *spacing)
    tensor = np.empty((*vp.shape, vp.ndim, vp.ndim))
    for i in range(vp.ndim):
        for j in range(i, vp.ndim):
            tensor[..., i, j] = tensor[..., j, i] = uniform_filter(grad[i] * grad[j], AVERAGE, mode="nearest")
    energy = np.trace(tensor, axis1=-2, axis2=-1)
    layered = energy > 0.1 * np.median(energy[energy > 0]) if (energy > 0).any() else energy > 0
    chosen = np.flatnonzero(layered)
    chosen = chosen[:: max(1, len(chosen) // NODES)]
    values, vectors = np.linalg.eigh(tensor.reshape(-1, vp.ndim, vp.ndim)[chosen])
    normals = vectors[..., -1]
    coherence = (values[:, -1] - values[:, -2]) / np.maximum(values[:, -1] + values[:, -2], 1e-300)
    steep = np.abs(normals[:, -1]) < np.cos(np.radians(DIPPING))
    good = (coherence > COHERENT) & steep
    mask = np.zeros(vp.size, bool)
    mask[chosen[good]] = True
    return normals[good], mask.reshape(vp.shape)
