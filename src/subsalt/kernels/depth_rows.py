"""Rows of numbers along z that a stretched depth axis (`Problem.depth_scale`) brings into the time step.

Depth z is a smooth function of the coordinate zeta, in which nodes are equally far apart; a = dzeta/dz. What a device
keeps are not the pressures p but r = a^(1/2) p, in VTI and TTI of both fields. Then z derivatives become::

    D2_z -> a^2 D2 - e,   e = a^(3/2) D2 a^(1/2)          D1_z -> a^(3/2) D1 a^(-1/2)          (D1, D2 along zeta)

Both keep the symmetry of the uniform grid, now with the weight a^-2 at a node: a^-2 times the first is symmetric, and
the second is minus its own transpose. A constant p is r = a^(1/2) times a constant, whose derivatives vanish.

Where a is constant over a stencil e is exactly 0. It has to be so in the layers along z and in the `radius` cells
inside their edge: hence a is constant in the layers and 2 `radius` cells beyond. Below a free surface it is constant
over `radius` cells, so that the odd images above it have the numbers of the nodes below. The memory fields of the layer
along z then hold Psi / a and Zeta / a^2, whose recursions are those of the uniform grid, and what the layer adds is a^2
times what it adds there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.kernels.problem import Z_FRONT, Layout, Problem
from subsalt.numerics.depth_axis import potential

#: in the cache of a problem
_ROWS = "depth_rows"


@dataclass(frozen=True)
class DepthRows:
    """Numbers at the nz nodes of a stretched depth axis, rounded once from double to the dtype of the fields.

    Parameters
    ----------
    square : ndarray, (nz,)
        a^2.
    centre : tuple of ndarray, each (nz,)
        Weights of a node itself in the second derivatives. Isotropic: of the Laplacian. VTI: of a^2 D2 - e, on q.
        TTI: (1 - share) and share times that of the Laplacian, on p and q.
    root : ndarray, (nz,)
        a^(-1/2), by which a value is multiplied before D1.
    power : ndarray, (nz,)
        a^(3/2), by which D1 is multiplied.
    """

    square: NDArray
    centre: tuple[NDArray, ...]
    root: NDArray
    power: NDArray


def depth_rows(problem: Problem) -> DepthRows | None:
    """Return the rows of a problem, made once; None where the depth axis is uniform.

    Raises
    ------
    ConfigError
        When the depth scale does not fit the grid, its layers or its surface.
    """
    if problem.depth_scale is None:
        return None
    if _ROWS not in problem.cache:
        problem.cache[_ROWS] = _made(problem)
    rows = problem.cache[_ROWS]
    assert isinstance(rows, DepthRows)
    return rows


def padded_row(layout: Layout, row: NDArray) -> NDArray:
    """Return a row from `Z_FRONT` numbers before z = 0 on, its first and last number continued beyond both ends.

    It is as long as a row of a padded array and the `Z_FRONT` numbers that follow there.
    """
    return np.pad(row, (Z_FRONT, layout.row - len(row)), mode="edge")


def _made(problem: Problem) -> DepthRows:
    scale = np.asarray(problem.depth_scale, dtype=np.float64)
    _check(problem, scale)
    square = scale * scale
    bend = potential(scale, problem.weights.second(problem.tilted)) / problem.spacing3[2] ** 2
    centres = [problem.weights.second(problem.tilted)[0] / h**2 for h in problem.spacing3]
    flat = sum(centres[axis] for axis in problem.axes if axis != 2)
    deep = square * centres[2] - bend
    if problem.medium == "vti":
        of_field = [deep]
    else:
        share = problem.weights.tilt_share() if problem.tilted else 0.0
        of_field = [part * (flat + deep) for part in (1 - share, share)[: problem.n_fields]]

    def rounded(row: NDArray) -> NDArray:
        return row.astype(problem.dtype)

    return DepthRows(
        rounded(square),
        tuple(rounded(row) for row in of_field),
        rounded(1.0 / np.sqrt(scale)),
        rounded(scale * np.sqrt(scale)),
    )


def _check(problem: Problem, scale: NDArray[np.float64]) -> None:
    """Raise an error unless `scale` is one of this problem: positive, and constant where it has to be."""
    n, m = problem.layout.shape3[2], problem.radius
    if scale.shape != (n,) or not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ConfigError(
            f"the depth scale of {n} nodes has shape {scale.shape}", "give a positive number per node"
        )
    if problem.mirror is not None:
        raise ConfigError(
            "a stretched depth axis below a free surface inside the grid", "keep the axis uniform"
        )
    low, high = problem.widths[4:] if problem.boundary != "none" else (0, 0)
    top = max(low + 2 * m if low else 1, m + 1 if problem.free_surface else 1)
    bottom = high + 2 * m if high else 1
    if any((end != end[0]).any() for end in (scale[:top], scale[max(0, n - bottom) :])):
        raise ConfigError(
            f"the depth scale varies within {top} nodes of the top or {bottom} of the bottom",
            "keep it constant in the layers and two stencil radii beyond, and one below a free surface",
        )
