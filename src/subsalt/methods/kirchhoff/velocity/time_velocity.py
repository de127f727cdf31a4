"""The velocity that a time migration asks for: rms velocity and effective eta of every output sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ModelError
from subsalt.methods.kirchhoff.velocity.fields import ConstantField, Profile, ScaledField, TimeField
from subsalt.methods.kirchhoff.velocity.rms import layer_eta

__all__ = ["ConstantVelocity", "FieldVelocity", "VelocityFunction"]

Part = NDArray[np.float32]


class FieldVelocity:
    """A `TimeVelocity` made of fields.

    Parameters
    ----------
    v : TimeField
        Rms velocity, m/s.
    eta : TimeField, optional
        Effective eta of the medium itself (VTI); none: isotropic.
    curved : bool
        Rays bend in the layers that the rms velocity implies (Dix): their effective eta is added.
    """

    def __init__(self, v: TimeField, eta: TimeField | None = None, curved: bool = False) -> None:
        self.v, self.eta, self.curved = v, eta, curved

    def at(self, points: NDArray[np.float64], time: TimeAxis) -> tuple[Part, Part | None]:
        """Return velocity and eta, see `TimeVelocity.at`."""
        pts = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        v, eta = self._sample(pts, time)
        self._refuse_impossible(v, eta, pts, time)
        return v.astype(np.float32), None if eta is None else eta.astype(np.float32)

    def clamped(self, points: NDArray[np.float64], time: TimeAxis) -> int:
        """Return how many interval velocities at these points are clamped for curved rays; 0 for straight ones."""
        if not self.curved:
            return 0
        axis, _ = from_zero(time)
        return layer_eta(axis.values(), self.v.sample(points, axis))[1]

    def scaled(self, factor: float) -> FieldVelocity:
        """Return this velocity times a number; eta stays what it is."""
        return FieldVelocity(ScaledField(self.v, factor), self.eta, self.curved)

    def describe(self) -> dict[str, Any]:
        """Return where it comes from, as plain values for reports."""
        out = {"v": self.v.describe(), "rays": "curved" if self.curved else "straight"}
        return out | ({} if self.eta is None else {"eta": self.eta.describe()})

    def _refuse_impossible(
        self,
        v: NDArray[np.float64],
        eta: NDArray[np.float64] | None,
        points: NDArray[np.float64],
        time: TimeAxis,
    ) -> None:
        """Raise where velocities are no velocities, which would make holes in the image, with the first place."""
        for name, values, low, of in (("velocity", v, 0.0, self.v), ("eta", eta, -0.5, self.eta)):
            if values is None or of is None:
                continue
            bad = ~((values > low) & (values < np.inf))
            if bad.any():
                i, k = (int(n) for n in np.unravel_index(int(np.argmax(bad)), bad.shape))
                raise ModelError(
                    f"{of.source}: {name} {values[i, k]:g} at x {points[i, 0]:,.1f} m, y {points[i, 1]:,.1f} m, "
                    f"{time.t0 + k * time.dt:g} s ({np.count_nonzero(bad)} samples of {len(points)} traces)",
                    f"{name} must be finite and above {low:g}; replace nulls by the values around them",
                    code="E740",
                )

    def _sample(
        self, points: NDArray[np.float64], time: TimeAxis
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        given = None if self.eta is None else self.eta.sample(points, time)
        if not self.curved:
            return self.v.sample(points, time), given
        # layers above the first output sample bend rays, too
        axis, first = from_zero(time)
        v = self.v.sample(points, axis)
        eta, _ = layer_eta(axis.values(), v)
        eta = eta[:, first:]
        return v[:, first:], eta if given is None else eta + given


def from_zero(time: TimeAxis) -> tuple[TimeAxis, int]:
    """Return the axis continued upwards to the first sample that is not before time zero, and the samples added."""
    n = max(0, int(time.t0 / time.dt + 1e-9))
    t0 = time.t0 - n * time.dt
    # what subtraction leaves of zero is zero
    return TimeAxis(time.nt + n, time.dt, t0 if t0 > 1e-9 * time.dt else 0.0), n


class ConstantVelocity(FieldVelocity):
    """One velocity everywhere.

    Parameters
    ----------
    v : float
        Velocity, m/s.
    eta : float, optional
        Effective eta.
    """

    def __init__(self, v: float, eta: float | None = None) -> None:
        super().__init__(ConstantField(v), None if eta is None else ConstantField(eta))


class VelocityFunction(FieldVelocity):
    """One function of two-way time for the whole map.

    Parameters
    ----------
    t : array_like, (m,)
        Times, s, ascending.
    v : array_like, (m,)
        Rms velocities there, m/s; linear in between, constant beyond.
    eta : array_like, (m,), or float, optional
        Effective eta, at the same times or everywhere.
    curved : bool
        See `FieldVelocity`.
    """

    def __init__(
        self, t: ArrayLike, v: ArrayLike, eta: ArrayLike | None = None, curved: bool = False
    ) -> None:
        times, values = np.asarray(t, dtype=np.float64), np.asarray(v, dtype=np.float64)
        second: TimeField | None = None
        if eta is not None:
            e = np.asarray(eta, dtype=np.float64)
            second = ConstantField(float(e)) if e.ndim == 0 else Profile(times, e)
        super().__init__(Profile(times, values), second, curved)
