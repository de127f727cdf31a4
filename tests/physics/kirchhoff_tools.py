"""What the proofs of Kirchhoff time migration share: small surveys, a migration of arrays, measures of an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet, ricker
from subsalt.analytic import Diffractor, Plane, primaries
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import prepare

#: traces that are prepared and summed at a time
BLOCK = 2048

#: no filter, limit or mute: what the weights alone do
BARE = {"antialias": "none", "stretch_mute": None, "aperture_taper": 0.5}


@dataclass(frozen=True)
class Line:
    """Traces of one offset: sources, receivers (n, 2), and the area or length of line of one midpoint."""

    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    measure: float

    def traces(
        self, reflectors: Sequence[Plane | Diffractor], v: float, wavelet: Wavelet, time: TimeAxis
    ) -> NDArray[np.float32]:
        """Return the exact reflections."""
        return primaries(self.src, self.rcv, reflectors, v, wavelet, time).astype(np.float32)


def common_offset(
    midpoints: NDArray[np.float64], offset: float, measure: float, azimuth: float = np.pi / 2
) -> Line:
    """Return the traces of one offset, its azimuth clockwise from north (pi / 2: along x)."""
    half = 0.5 * offset * np.array([np.sin(azimuth), np.cos(azimuth)])
    return Line(midpoints - half, midpoints + half, measure)


def disc(centre: ArrayLike, radius: float, step: float) -> NDArray[np.float64]:
    """Return the midpoints of a square lattice within a circle; none of them at its centre."""
    x = np.arange(-np.ceil(radius / step), np.ceil(radius / step)) * step + 0.5 * step
    a, b = (p.ravel() for p in np.meshgrid(x, x, indexing="ij"))
    inside = a * a + b * b <= radius * radius
    return np.stack([a[inside], b[inside]], axis=1) + np.asarray(centre, dtype=np.float64)


def on_x(centre: float, half: float, step: float) -> NDArray[np.float64]:
    """Return midpoints along the x axis."""
    x = np.arange(-np.ceil(half / step), np.ceil(half / step)) * step + 0.5 * step + centre
    return np.stack([x, np.zeros_like(x)], axis=1)


def migrate(
    traces: NDArray[np.float32],
    time: TimeAxis,
    line: Line,
    points: ArrayLike,
    v: float | NDArray[np.float32],
    options: KirchhoffOptions,
    image_time: TimeAxis,
    *,
    eta: float | None = None,
    slot: NDArray[np.int32] | None = None,
    spacing: tuple[float, float] = (20.0, 20.0),
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """Return image (nloc, nclass, nt), hit count (nloc, nt) and fold (nloc, nclass) at map positions `points`."""
    at = np.atleast_2d(np.asarray(points, dtype=np.float64))
    slot = np.zeros(len(traces), np.int32) if slot is None else slot
    shape = len(at), image_time.nt
    medium = Medium(
        np.broadcast_to(np.float32(v), shape),
        None if eta is None else np.full(shape, eta, np.float32),
    )
    image = np.zeros((len(at), int(slot.max()) + 1, image_time.nt), np.float32)
    hits = np.zeros((len(at), image_time.nt + 1), np.int32)
    fold = np.zeros((len(at), image.shape[1]), np.int32)
    for a in range(0, len(traces), BLOCK):
        b = slice(a, a + BLOCK)
        n = len(traces[b])
        src, rcv = (np.ascontiguousarray(p[b]) for p in (line.src, line.rcv))
        geometry = TraceGeometry(src, rcv, np.full(n, line.measure, np.float32), slot[b])
        prepared = prepare(traces[b], time, options, 1)
        # inline numbers grow along y, crossline numbers along x, as on a map
        axes = np.array([[0.0, 1.0], [1.0, 0.0]])
        sum_traces(image, hits, fold, at, axes, medium, image_time, prepared, geometry, options, spacing, 1)
    return image, np.cumsum(hits, axis=1, dtype=np.int32)[:, :-1], fold


def finer(trace: NDArray, dt: float, t0: float, times: int = 16) -> tuple[NDArray, NDArray]:
    """Return times and values of a band-limited trace, `times` as dense."""
    n = len(trace)
    # zero at both ends is assumed: what is asked for stands in the middle
    values = np.fft.irfft(np.fft.rfft(np.asarray(trace, np.float64)), n * times) * times
    return t0 + dt / times * np.arange(n * times), values


def envelope(trace: NDArray) -> NDArray:
    """Return the absolute value of the analytic signal."""
    n = len(trace)
    spectrum = np.fft.fft(np.asarray(trace, np.float64))
    spectrum[(n + 1) // 2 :] = 0
    spectrum[1 : (n + 1) // 2] *= 2
    return np.abs(np.fft.ifft(spectrum))


def peak(trace: NDArray, axis: TimeAxis, near: float, within: float = 0.06) -> tuple[float, float]:
    """Return time (s) and value of the largest absolute value within `within` seconds of `near`."""
    t, values = finer(trace, axis.dt, axis.t0)
    window = np.abs(t - near) <= within
    i = int(np.flatnonzero(window)[np.argmax(np.abs(values[window]))])
    a, b, c = values[i - 1 : i + 2]
    shift = 0.5 * (a - c) / (a - 2 * b + c)
    return float(t[i] + shift * axis.dt / 16), float(b - 0.25 * (a - c) * shift)


@dataclass(frozen=True)
class Plan:
    """A plane reflector migrated to one location: what A14 asks.

    Parameters
    ----------
    amplitude : str
        ``"3d"`` (midpoints over an area) or ``"2.5d"`` (along a line).
    dip, azimuth : float
        Degrees; the azimuth down dip and that of the offset.
    offset : float
        Of all traces, m.
    """

    amplitude: str
    dip: float
    azimuth: float
    offset: float
    offset_azimuth: float = 90.0

    def __str__(self) -> str:
        turned = f" azimuth {self.azimuth:g}/{self.offset_azimuth:g}" if self.amplitude == "3d" else ""
        return f"{self.amplitude} dip {self.dip:g}{turned} offset {self.offset:g}"

    def image(self, **changed: object) -> tuple[float, float]:
        """Return time (s) and value of the reflector at map position (0, 0), `DEPTH` above it.

        Midpoints lie around the one whose normal ray meets the reflector there, as far as `APERTURE`; their end is
        600 m and more outside the Fresnel zone, so that what it adds arrives elsewhere.
        """
        line, traces = recorded(self)
        options = KirchhoffOptions(amplitude=self.amplitude, **{**BARE, **changed})  # type: ignore[arg-type]
        image, _, _ = migrate(traces, TRACE_TIME, line, (0.0, 0.0), V, options, IMAGE_TIME)
        return peak(image[0, 0], IMAGE_TIME, 2 * DEPTH / V)

    def record(self) -> tuple[Line, NDArray[np.float32]]:
        """Return the traces of the plane and where they lie."""
        plane = Plane(DEPTH, REFLECTIVITY, np.radians(self.dip), np.radians(self.azimuth))
        down_dip = np.array([np.sin(plane.azimuth), np.cos(plane.azimuth)])
        centre = DEPTH * np.tan(plane.dip) * down_dip
        if self.amplitude == "3d":
            midpoints, measure = disc(centre, APERTURE, STEP), STEP**2
        else:
            midpoints, measure = on_x(centre[0], APERTURE, STEP / 2), STEP / 2
        line = common_offset(midpoints, self.offset, measure, np.radians(self.offset_azimuth))
        return line, line.traces([plane], V, WAVELET, TRACE_TIME)


@lru_cache(maxsize=8)
def recorded(plan: Plan) -> tuple[Line, NDArray[np.float32]]:
    """Return what a plan records: the same for all options."""
    return plan.record()


V, DEPTH, REFLECTIVITY = 2000.0, 1000.0, 0.2
#: m between midpoints of an area (of a line: half of it): operators of 45 degrees alias above
#: v / (4 sin(45 degrees) STEP) = 35 Hz, and only far from the events do they get that steep
STEP, APERTURE = 20.0, 900.0
F0 = 20.0
WAVELET = ricker(F0, 0.002, delay=0.0)
TRACE_TIME, IMAGE_TIME = TimeAxis(400, 0.004), TimeAxis(60, 0.004, 0.9)

#: flat and dipping, at the offsets of the physics page
PLANS = [
    *(Plan("3d", 0, 0, h, 35.0) for h in (0.0, 400.0, 1000.0, 1600.0)),
    *(Plan("3d", 25, 90, h) for h in (600.0, 1200.0)),
    *(Plan("3d", 25, 30, h, 80.0) for h in (600.0, 1200.0)),
    *(Plan("2.5d", 0, 90, h) for h in (0.0, 600.0, 1200.0)),
    *(Plan("2.5d", 25, 90, h) for h in (600.0, 1200.0)),
    *(Plan("2.5d", -25, 90, h) for h in (600.0,)),
]
