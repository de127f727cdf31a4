"""How fast the symmetry axis turns from cell to cell, and whether that is structure or noise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, ok, rule, warning
from subsalt.earth import tilt
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import first_index
from subsalt.errors import Finding

#: nodes whose axes are held at once
SLAB = 1 << 18


#: Degrees per cell above which the axis turns too fast for the grid. V = D n (n . D) multiplies the wave by n n, which
#: turns twice as fast as n: at 45 degrees per cell it has four nodes per period. A wave of five nodes per wavelength
#: times that reaches 0.9 of the Nyquist wavenumber, where a first derivative of order 8 has lost seven tenths of
#: itself; anything faster folds over. It stays stable, but what is propagated is no medium with these axes.
STEEPEST_TURN = 45.0


#: Degrees of `roughness` above which a whole tilt field is too noisy. Measured with axes random by node or over a few
#: cells (tests/physics/test_rough_tilt.py): after 3.6 wavelengths the P wave differs from that on a grid twice as fine
#: by one to three per cent for each degree.
NOISY = 2.5


def turn_per_cell(model: EarthModel) -> NDArray[np.float32]:
    """Return the largest angle, degrees, between the axis of a node and those of its neighbours along the grid.

    Notes
    -----
    An axis and its opposite are one, so that no angle exceeds 90. Between two nodes without anisotropy it is 0: no
    wave feels the axis there.
    """
    return np.concatenate([part for _, part in turns(model)])


def turns(model: ModelLike) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield (first plane, planes) of `turn_per_cell`, so that no copy of the axes of a whole 3-D model is made."""
    grid = model.grid
    for start, end in _cuts(grid):
        first = max(0, start - 1)
        n, felt = _axes(model, first, min(grid.shape[0], end + 1))
        out = np.zeros(felt.shape, np.float32)
        for axis in range(grid.ndim):
            here, there = _pair(axis, grid.ndim)
            along = sum(c[here] * c[there] for c in n)
            turn = np.degrees(np.arccos(np.minimum(np.abs(along), 1.0)))
            turn = np.where(felt[here] | felt[there], turn, 0.0).astype(np.float32)
            for side in (here, there):
                np.maximum(out[side], turn, out=out[side])
        yield start, out[start - first : end - first]


def _cuts(grid: Grid) -> Iterator[tuple[int, int]]:
    """Yield ranges of planes of about `SLAB` nodes."""
    step = max(1, SLAB // max(1, grid.size // grid.shape[0]))
    for start in range(0, grid.shape[0], step):
        yield start, min(grid.shape[0], start + step)


def _axes(model: ModelLike, lo: int, hi: int) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.bool_]]:
    """Return the axes of some planes, and where there is anisotropy that feels them."""
    grid = model.grid
    box = Box((lo, 0, 0), (hi, *grid.shape3[1:]))
    held = {
        name: model.values(name, box).reshape(hi - lo, *grid.shape[1:])
        for name in model.volumes
        if name != "vp"
    }
    felt = np.zeros((hi - lo, *grid.shape[1:]), bool)
    for name in ("epsilon", "delta"):
        if name in held:
            felt |= held[name] != 0
    return tilt.axis(held["theta"], held.get("phi"), grid.ndim), felt


def roughness(model: ModelLike) -> float:
    """Return the root mean square of the angle, degrees, between an axis and the mean of its two neighbours.

    Notes
    -----
    Along every line of the grid, over nodes with anisotropy. A fold, whose axis turns steadily, has none; noise from
    node to node of sigma degrees has 1.2 sigma.
    """
    grid = model.grid
    total, count = 0.0, 0
    for start, end in _cuts(grid):
        # one plane more on either side, for the lines along x alone
        first = max(0, start - 1)
        own = slice(start - first, end - first)
        n, felt = _axes(model, first, min(grid.shape[0], end + 1))
        for axis in range(grid.ndim):
            sides = [slice(None, -2), slice(1, -1), slice(2, None)]
            planes = slice(None) if axis == 0 else own
            before, here, after = (
                tuple(s if i == axis else planes if i == 0 else slice(None) for i in range(grid.ndim))
                for s in sides
            )
            # neighbours that point away from each other are turned before they are added
            arrow = np.where(sum(c[before] * c[after] for c in n) < 0, -1.0, 1.0)
            mean = [c[before] + arrow * c[after] for c in n]
            length = np.sqrt(sum(m * m for m in mean))
            along = np.abs(sum(c[here] * m for c, m in zip(n, mean, strict=True))) / length
            angle = np.degrees(np.arccos(np.minimum(along, 1.0)))[felt[here]]
            total += float(np.square(angle).sum())
            count += angle.size
    return math.sqrt(total / count) if count else 0.0


def _pair(axis: int, ndim: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the indices of all nodes but the last, and all but the first, along an axis."""
    first = tuple(slice(None, -1) if i == axis else slice(None) for i in range(ndim))
    second = tuple(slice(1, None) if i == axis else slice(None) for i in range(ndim))
    return first, second


@rule("tilt_turn", "model")
def turn(context: Context) -> Iterator[Finding]:
    """An axis that turns faster from node to node than the grid can carry."""
    assert context.model is not None
    model = context.model
    if "theta" not in model.volumes or context.propagation.medium in ("isotropic", "vti"):
        return
    most, count, worst, planes = -1.0, 0, (0,) * model.grid.ndim, []
    for start, angles in turns(model):
        count += int(np.count_nonzero(angles > STEEPEST_TURN))
        if float(angles.max()) > most:
            most = float(angles.max())
            worst = first_index(angles == angles.max(), start)
        if isinstance(model, EarthModel):
            planes.append(angles)
    if planes:  # of a model in memory a map is drawn
        context.facts["_turn"] = np.concatenate(planes)
    context.facts["tilt_turn"] = most
    high = math.degrees(max(map(abs, model.limits("theta"))))
    rough = roughness(model)
    if rough > NOISY:
        yield warning(
            "W543",
            f"the symmetry axis is noisy: {rough:.3g} degrees off the mean of its neighbours (root mean square); "
            "P waves lose some per cent of their waveform to what the grid does not resolve",
            f"smooth the axis alone: [model] tilt_smoothing = {3 * max(model.grid.spacing):g} or more",
            degrees=rough,
        )
    elif not count:
        yield ok(f"tilt up to {high:.3g} degrees, turning by at most {most:.3g} degrees per cell")
    if not count:
        return
    place = ", ".join(f"{x:g}" for x in model.grid.origin + np.multiply(worst, model.grid.spacing))
    yield warning(
        "W539",
        f"the symmetry axis turns by more than {STEEPEST_TURN:g} degrees per cell at {count} of {model.grid.size} "
        f"nodes (by up to {most:.3g}, at {'x, z' if model.grid.ndim == 2 else 'x, y, z'} = {place} m): kept as it is",
        f"smooth the axis alone: [model] tilt_smoothing = {max(model.grid.spacing):g} or more",
        count=count,
        most=most,
        worst=tuple(int(i) for i in worst),
    )
