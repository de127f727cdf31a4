"""Arguments of the Kirchhoff sum: medium and traces, and the checks that kernels rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis

#: samples that a prepared trace holds behind its last one: what two of the longest vectors read beyond it
PAD = 32


class SumOptions(Protocol):
    """The options of the operator that the sum reads."""

    @property
    def amplitude(self) -> str:
        """The correction of amplitude and phase: 3d, 2.5d or none."""

    @property
    def aperture(self) -> float | None:
        """The largest distance of a midpoint, m; None: no limit."""

    @property
    def aperture_taper(self) -> float:
        """The last part of it over which traces fade."""

    @property
    def dip(self) -> float | None:
        """The largest dip, degrees; None: no limit."""

    @property
    def dip_taper(self) -> float:
        """The last part of its distance over which samples fade."""

    @property
    def antialias(self) -> str:
        """The antialias filter: bands, triangle or none."""

    @property
    def antialias_spacing(self) -> tuple[float, float] | None:
        """Distances of midpoints across inlines and crosslines, m; None: those of line numbers."""

    @property
    def bands(self) -> int:
        """The number of alias bands."""

    @property
    def band_choice(self) -> str:
        """Between two bands, interpolate, or the nearest below the limit."""

    @property
    def stretch_mute(self) -> float | None:
        """The largest stretch; None: no mute."""

    @property
    def stretch_taper(self) -> float:
        """The last part of it over which samples fade."""

    @property
    def interpolation(self) -> str:
        """Between the samples of a trace: sinc or linear."""


class PreparedTraces(Protocol):
    """A block of traces ready to be summed, as `subsalt.methods.kirchhoff.prepare` makes it.

    Parameters
    ----------
    samples : ndarray, (n, bands, order + 1, ns_pad), float32
        Coefficients of the piecewise polynomial through each trace: at t_first + (i + f) dt, 0 <= f < 1, the value is
        ``sum_k samples[trace, band, k, i] f^k``. Band j is low-passed at (bands - j) / bands of Nyquist.
    t_first, dt : float
        Time of sample 0 and sample interval, s.
    ns : int
        Samples of a trace; ``ns_pad >= ns + PAD``, zeros outside.
    integrals : ndarray, (n, ns_pad), float64, optional
        For the triangle filter: the curve that band 0 of `samples` describes, integrated twice from sample 0 to each
        sample, in units of samples; it continues in the margin as a straight line.
    """

    @property
    def samples(self) -> NDArray[np.float32]:
        """Coefficients."""
        ...

    @property
    def t_first(self) -> float:
        """Time of sample 0, s."""
        ...

    @property
    def dt(self) -> float:
        """Sample interval, s."""
        ...

    @property
    def ns(self) -> int:
        """Samples of a trace."""
        ...

    @property
    def integrals(self) -> NDArray[np.float64] | None:
        """Twice integrated traces."""
        ...


@dataclass(frozen=True)
class Below:
    """Heights at locations below a surface, as one-way times: elevation over the replacement velocity.

    Parameters
    ----------
    zero : ndarray, (nloc,), float64
        Height of time zero of the image trace, s.
    surface : ndarray, (nloc,), float64
        Height of the surface, from which t0 counts in the velocity and in the dip limit, s.
    """

    zero: NDArray[np.float64]
    surface: NDArray[np.float64]

    def t0(self, time: TimeAxis) -> NDArray[np.float64]:
        """Return two-way times from the surface, (nloc, nt), s, zero above it."""
        return np.maximum(time.values()[None] + 2 * (self.surface - self.zero)[:, None], 0.0)


class Medium:
    """Velocities below a block of locations; arrays that the kernel derives from them are computed once.

    Parameters
    ----------
    v : ndarray, (nloc, nt), float32
        Rms velocity at the samples of the image, m/s, positive.
    eta : ndarray, (nloc, nt), float32, optional
        Effective anisotropy of the moveout, above -0.5.
    below : Below, optional
        Heights for acquisition on a surface; acquisition on a plane when None.

    Raises
    ------
    ModelError
        For values that no velocity or eta can have.
    """

    def __init__(
        self, v: NDArray[np.float32], eta: NDArray[np.float32] | None = None, below: Below | None = None
    ) -> None:
        self.v = np.ascontiguousarray(v, dtype=np.float32)
        self.below = below
        self.eta = None if eta is None else np.ascontiguousarray(eta, dtype=np.float32)
        if self.v.ndim != 2:
            raise _misfit("medium.v", self.v.shape, "(locations, samples)")
        if below is not None and not below.zero.shape == below.surface.shape == self.v.shape[:1]:
            raise _misfit("medium.below", below.zero.shape, f"{self.v.shape[:1]}, as medium.v has")
        if self.eta is not None and self.eta.shape != self.v.shape:
            raise _misfit("medium.eta", self.eta.shape, f"the shape {self.v.shape} of medium.v")
        _refuse(self.v, (self.v > 0) & np.isfinite(self.v), "rms velocity", "m/s, which is not positive")
        if self.eta is not None:
            _refuse(self.eta, (self.eta > -0.5) & np.isfinite(self.eta), "eta", ", which is not above -0.5")
        #: arrays that a kernel derived, by the parameters that they depend on
        self.cache: dict[Any, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Locations and samples."""
        return self.v.shape[0], self.v.shape[1]


def _refuse(values: NDArray, good: NDArray, what: str, why: str) -> None:
    """Raise for the first value that is not good."""
    if not good.all():
        at, k = np.argwhere(~good)[0]
        raise ModelError(
            f"{what} at location {at}, sample {k} is {values[at, k]:g} {why}".replace(" ,", ","),
            "correct the velocity volume there",
            code="E706",
        )


@dataclass(frozen=True)
class TraceGeometry:
    """Where the traces of a block were recorded, and which image trace each adds to.

    Parameters
    ----------
    src, rcv : ndarray, (n, 2), float64
        Map positions, m.
    weight : ndarray, (n,), float32
        Midpoint area (3-D) or length (2.5-D) of the trace, with the normalisation of its class.
    slot : ndarray, (n,), int32
        Image trace, second index of the image; -1: the trace is left out.
    group : ndarray, (n,), int32, optional
        Offset class, second index of the fold; that of the image when None.
    height : ndarray, (n, 2), float64, optional
        Heights of the places above or below source and receiver where legs begin, one-way time, s; see `Below`.
    late : ndarray, (n,), float64, optional
        By how much a trace comes later than if it had been recorded from there, s.
    """

    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    weight: NDArray[np.float32]
    slot: NDArray[np.int32]
    group: NDArray[np.int32] | None = None
    height: NDArray[np.float64] | None = None
    late: NDArray[np.float64] | None = None

    def some(self, traces: slice) -> TraceGeometry:
        """Return that of some of the traces."""
        group = None if self.group is None else self.group[traces]
        height = None if self.height is None else self.height[traces]
        late = None if self.late is None else self.late[traces]
        return TraceGeometry(
            self.src[traces], self.rcv[traces], self.weight[traces], self.slot[traces], group, height, late
        )


def _misfit(name: str, actual: object, wanted: str) -> ConfigError:
    return ConfigError(f"{name} is {actual}, wanted: {wanted}", "make the arrays fit together", code="E705")


def check_arguments(
    image: NDArray,
    hits: NDArray,
    fold: NDArray,
    points: NDArray,
    axes: NDArray,
    medium: Medium,
    time: TimeAxis,
    prepared: PreparedTraces,
    geometry: TraceGeometry,
    options: SumOptions,
    spacing: Sequence[float],
) -> None:
    """Refuse arrays that do not fit together, and numbers that have no meaning.

    Raises
    ------
    ConfigError
        The first misfit, with its name, what it is and what it should be.
    """
    nloc, nt = medium.shape
    n = len(prepared.samples)
    group = geometry.slot if geometry.group is None else geometry.group
    wanted: list[tuple[str, NDArray, tuple[int | None, ...], type]] = [
        ("image", image, (nloc, None, nt), np.float32),
        ("hits", hits, (nloc, nt + 1), np.int32),
        ("fold", fold, (nloc, None), np.int32),
        ("points", points, (nloc, 2), np.float64),
        ("axes", axes, (2, 2), np.float64),
        ("prepared.samples", prepared.samples, (n, None, None, None), np.float32),
        ("geometry.src", geometry.src, (n, 2), np.float64),
        ("geometry.rcv", geometry.rcv, (n, 2), np.float64),
        ("geometry.weight", geometry.weight, (n,), np.float32),
        ("geometry.slot", geometry.slot, (n,), np.int32),
        ("geometry.group", group, (n,), np.int32),
    ]
    if medium.below is not None:
        if geometry.height is None or geometry.late is None:
            raise _misfit("geometry.height or late", None, "those of all traces, as the medium has `below`")
        wanted += [
            ("geometry.height", geometry.height, (n, 2), np.float64),
            ("geometry.late", geometry.late, (n,), np.float64),
        ]
    for name, array, shape, dtype in wanted:
        fits = array.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
        if not fits or array.dtype != dtype or not array.flags.c_contiguous:
            sizes = ", ".join("any" if s is None else str(s) for s in shape)
            order = "" if array.flags.c_contiguous else " (not contiguous)"
            actual = f"{array.dtype} of shape {array.shape}{order}"
            raise _misfit(name, actual, f"contiguous {np.dtype(dtype)} of shape ({sizes})")
    if time.nt != nt or time.dt <= 0 or time.t0 < 0:
        raise _misfit("time", time, f"{nt} samples as medium.v has, dt > 0, t0 >= 0")
    _check_traces(image, fold, prepared, geometry.slot, group, options)
    if not all(np.isfinite(a).all() for a in (points, axes, geometry.src, geometry.rcv, geometry.weight)):
        raise _misfit("a position, axis or weight", "not finite", "numbers")
    if len(spacing) != 2 or not all(np.isfinite(s) and s > 0 for s in spacing):
        raise _misfit("spacing", spacing, "two positive numbers, m")


def _check_traces(
    image: NDArray,
    fold: NDArray,
    prepared: PreparedTraces,
    slot: NDArray,
    group: NDArray,
    options: SumOptions,
) -> None:
    """Refuse prepared traces without margins or bands, and slots outside the image."""
    n, bands, _, padded = prepared.samples.shape
    if prepared.ns < 2 or padded < prepared.ns + PAD or prepared.dt <= 0:
        needed = f"at least ns + {PAD} = {prepared.ns + PAD} samples a row, ns >= 2, dt > 0"
        raise _misfit("prepared.samples", f"{padded} samples a row for ns = {prepared.ns}", needed)
    if prepared.samples.shape[2] < 2:
        raise _misfit("prepared.samples", f"of order {prepared.samples.shape[2] - 1}", "order 1 or more")
    if options.antialias == "bands" and bands != options.bands:
        raise _misfit("prepared.samples", f"of {bands} bands", f"{options.bands}, as bands says")
    if options.antialias == "triangle":
        integrals = prepared.integrals
        if integrals is None or integrals.shape != (n, padded) or integrals.dtype != np.float64:
            actual = None if integrals is None else f"{integrals.dtype} of shape {integrals.shape}"
            raise _misfit(
                "prepared.integrals", actual, f"float64 of shape ({n}, {padded}) for the triangle filter"
            )
    for name, index, end in (("slot", slot, image.shape[1]), ("group", group, fold.shape[1])):
        used = index[slot >= 0]
        if used.size and not 0 <= used.min() <= used.max() < end:
            raise _misfit(f"geometry.{name}", f"{used.min()} to {used.max()}", f"0 to {end - 1}, or slot -1")
