"""Both fields of an anisotropic medium at a perturbation of 1 / v^2: what scatters there, and what is imaged.

With m = 1 / v^2 the scheme of VTI and TTI media is ``m u_tt = A (L u + f)``, u = (p, q), A = [[e, s], [s, 1]],
e = 1 + 2 epsilon, s = sqrt(1 + 2 delta) (`subsalt.kernels.reference`). Its derivative with respect to m, with epsilon,
delta and the tilt held, is ::

    m w_tt = A L w - dm u_tt

so that each field scatters its own second derivative. The adjoint is ``- sum_n u_tt . A^-1 w``, with w the wavefield
that the records excite. Of the factors of A^-1 (Cholesky), with D = e - s^2 = 2 (epsilon - delta) >= 0, ::

    u . A^-1 w  =  q_u q_w + r_u r_w,      r = (p - s q) / sqrt(D),      p = s q + sqrt(D) r

an image is the sum of two products, of the pair (q, r) of both wavefields, and that pair is what a sample keeps. Where
D is 0 (isotropic and elliptical media) p is s q at every time, and one product is left. So it is where D is below
`LEAST`: there p differs from s q by D at most, and rounding of p - s q over sqrt(D) would be larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.problem import State
from subsalt.kernels.work import Hook
from subsalt.propagation.propagator import Propagator

#: least D at which p is taken apart from s q: epsilon - delta of 5e-5, a thousandth of what data can tell
LEAST = 1e-4

#: arrays of the size of a window that the pairs of a shot hold: s, sqrt(D) and its inverse, for what scatters and for
#: what is imaged, and a sample of the receivers
HELD = 8


class FieldPair:
    """The pair (q, r) of the wavefields of a shot.

    Parameters
    ----------
    prop : Propagator
        Propagator of a medium with two fields, in the memory of the host.
    """

    def __init__(self, prop: Propagator) -> None:
        self.prop = prop
        self._inside = prop.interior.slices
        s = self._parameter("s")
        d = self._parameter("e") - np.square(s)
        self._s: NDArray = s.astype(prop.dtype)
        del s  # of the size of the window in double precision
        apart = d >= LEAST
        root = np.sqrt(np.maximum(d, LEAST, out=d), out=d)
        self._root: NDArray = np.where(apart, root, 0.0).astype(prop.dtype)
        self._over: NDArray = np.where(apart, 1.0 / root, 0.0).astype(prop.dtype)
        self._product: NDArray | None = None
        self._room: NDArray | None = None

    def _parameter(self, name: str) -> NDArray[np.float64]:
        """Return a model array in the window."""
        view = self.prop.layout.view(self.prop.problem.param(name))
        return np.asarray(view[self._inside], dtype=np.float64)

    def write(self, state: State, out: NDArray) -> None:
        """Write the pair of a wavefield, as it stands, to `out`, (2, *window)."""
        levels = (self.prop.layout.view(self.prop.kernels.to_host(level)) for level in state.curr)
        inside_p, inside_q = (level[self._inside] for level in levels)
        out[0] = inside_q
        np.multiply(self._s, inside_q, out=out[1])
        np.subtract(inside_p, out[1], out=out[1])
        np.multiply(out[1], self._over, out=out[1])

    def add_products(self, image: Any, sample: NDArray, state: State, scale: float) -> None:
        """Accumulate ``image += scale (q_u q_w + r_u r_w)`` of a sample of the source and a wavefield as it stands."""
        if self._room is None:
            self._room = np.empty((2, *self.prop.interior.shape), self.prop.dtype)
        self.write(state, self._room)
        for u, w in zip(sample, self._room, strict=True):
            self.prop.kernels.product(image, u, w, scale)

    def writing(self, rooms: Mapping[int, NDArray]) -> Hook:
        """Return what writes the pair at the time indices of some arrays."""
        return lambda now: self.write(now, rooms[now.it])

    def adding(self, image: Any, samples: Mapping[int, NDArray], scale: float) -> Hook:
        """Return what adds the products with the samples that a wavefield meets at their time indices."""
        return lambda now: self.add_products(image, samples[now.it], now, scale)

    def scatter(self, sample: NDArray, amount: NDArray, level: int) -> NDArray:
        """Return ``amount p`` (level 0) or ``amount q`` (level 1) of a sample, in an array that the next call uses."""
        if self._product is None:
            self._product = np.empty(self.prop.interior.shape, self.prop.dtype)
        out = self._product
        if level == 1:
            return np.multiply(amount, sample[0], out=out)
        np.multiply(self._root, sample[1], out=out)
        out += self._s * sample[0]
        return np.multiply(amount, out, out=out)
