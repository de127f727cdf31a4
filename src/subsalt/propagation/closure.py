"""A term that makes the operator below a free surface inside the grid symmetric, so that no wave can grow.

With A the stencil, i the nodes that carry the field and g the ghosts, whose values are R u, the step has the operator
A_ii + B, B = A_ig R. Interpolation leaves B unlike its transpose. A term added here makes the operator symmetric::

    K = A_ii + (B + B^T) / 2 + D,      D = (B - B^T) phi / (2 phi) on the diagonal

with phi the distance to the surface: K phi = (A_ii + B) phi, so that a field which is linear near the surface has the
Laplacian that the ghosts give it, zero. ``m K`` is then similar to a symmetric matrix, whatever the velocities, and
leapfrog steps with it conserve an energy as long as the eigenvalues of K lie between zero and those of the stencil.
They do where no node that carries the field lies nearer to the surface than `topography.NEAREST`
(`benchmarks/prove_topography.py` finds them for random surfaces).

References
----------
Gibou, F., Fedkiw, R. P., Cheng, L.-T., Kang, M. (2002), A second-order-accurate symmetric discretization of the Poisson
equation on irregular domains, Journal of Computational Physics 176: exactness for linear fields by the diagonal alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Closure:
    """K less A_ii + B, in parts of few entries: ``own u + spread (reach u)``, of all values u, ghosts included.

    Parameters
    ----------
    near : ndarray, (m,)
        Flat indices of the nodes that are changed.
    reach : csr_array, (k, points)
        A_gi: what the stencil at a ghost takes from nodes that carry the field. Ghosts without such nodes have no row.
    own : csr_array, (m, points)
        D less A_ig / 2.
    spread : csr_array, (m, k)
        R^T / 2.
    """

    near: NDArray[np.intp]
    reach: csr_array
    own: csr_array
    spread: csr_array


def no_closure(points: int) -> Closure:
    """Return that of a surface whose mirror points are all nodes: its operator is symmetric."""
    from scipy.sparse import csr_array

    nothing = csr_array((0, points), dtype=np.float64)
    return Closure(np.zeros(0, np.intp), nothing, nothing, csr_array((0, 0), dtype=np.float64))


def stencil_at(
    ghost: NDArray[np.intp], below: NDArray[np.bool_], second: Sequence[tuple[int, Sequence[float]]]
) -> csr_array:
    """Return A_gi, (ghosts, points): the weights with which stencils of ghosts read nodes that carry the field.

    Parameters
    ----------
    ghost : ndarray, (n,)
        Flat indices in an array of the shape of `below`.
    below : ndarray, (nx, ny, nz), bool
        The nodes that carry the field.
    second : sequence of (axis, weights)
        c_0 .. c_M over h^2 of every axis.
    """
    from scipy.sparse import coo_array

    number = np.full(below.shape, -1, np.int32)
    number.reshape(-1)[ghost] = np.arange(len(ghost), dtype=np.int32)
    place = np.arange(below.size, dtype=np.int64).reshape(below.shape)
    rows, columns, values = [], [], []
    for axis, c in second:
        for k in range(1, min(len(c), below.shape[axis])):
            lo, hi = [slice(None)] * 3, [slice(None)] * 3
            lo[axis], hi[axis] = slice(k, None), slice(None, -k)
            for here, there in ((tuple(lo), tuple(hi)), (tuple(hi), tuple(lo))):
                both = (number[here] >= 0) & below[there]
                rows.append(number[here][both])
                columns.append(place[there][both])
                values.append(np.full(len(rows[-1]), c[k]))
    parts = (np.concatenate(part) for part in (rows, columns))
    made = coo_array((np.concatenate(values), tuple(parts)), shape=(len(ghost), below.size))
    return made.tocsr()


def closure_of(
    ghost: NDArray[np.intp],
    odd: csr_array,
    stencil: csr_array,
    near: NDArray[np.intp],
    distance: NDArray[np.float64],
) -> Closure:
    """Return the correction that makes the operator symmetric.

    Parameters
    ----------
    ghost : ndarray, (n,)
        Flat indices.
    odd : csr_array, (n, points)
        R.
    stencil : csr_array, (n, points)
        A_gi (`stencil_at`).
    near : ndarray, (m,)
        Every node that R or A_gi reads (`nodes_read`).
    distance : ndarray, (m,)
        Theirs to the surface, above 0.
    """
    from scipy.sparse import csr_array

    points = odd.shape[1]
    phi = np.zeros(points)
    phi[near] = distance
    there = np.flatnonzero(np.diff(stencil.indptr))
    reach, mirrored = csr_array(stencil[there]), csr_array(odd[there])
    back, spread = csr_array(reach[:, near].T), csr_array(mirrored[:, near].T)
    diagonal = 0.5 * (back @ (mirrored @ phi) - spread @ (reach @ phi)) / distance
    # columns of ghosts and of the nodes themselves
    m = len(near)
    taken = csr_array((-0.5 * back.data, ghost[there][back.indices], back.indptr), shape=(m, points))
    itself = csr_array((diagonal, near, np.arange(m + 1)), shape=(m, points))
    return Closure(near, reach, csr_array(taken + itself), csr_array(0.5 * spread))


def nodes_read(odd: csr_array, stencil: csr_array) -> NDArray[np.intp]:
    """Return the nodes, by flat index, that R or A_gi reads, of ghosts that stencils read."""
    there = np.flatnonzero(np.diff(stencil.indptr))
    read = np.zeros(odd.shape[1], bool)
    read[stencil.indices] = True
    read[odd[there].indices] = True
    return np.flatnonzero(read)
