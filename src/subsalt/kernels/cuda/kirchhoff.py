"""The sum of Kirchhoff time migration on a GPU: the bytes of `subsalt.kernels.kirchhoff`, v3 and v4.

A block of locations stays on the GPU while blocks of traces are added to it. Two of them are in flight at a time: the
CPU prepares and copies one while the other is summed. Kernels: ``native/cuda/kirchhoff_sum.cu``.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import _native
from subsalt.errors import ConfigError
from subsalt.kernels import kirchhoff
from subsalt.kernels.cuda_library import OutOfDeviceMemory, call, library, pointers
from subsalt.kernels.kirchhoff import Where
from subsalt.kernels.kirchhoff_arguments import Medium, PreparedTraces, TraceGeometry, check_arguments

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.kernels.kirchhoff_arguments import SumOptions

#: orders of interpolation that are compiled for the GPU
ORDERS = (1, 4)
#: bytes of a pair of a trace and a location, locations of a group, and bytes of pairs that are made at a time
PAIR, GROUP, MOST_PAIRS = 48, 4, 128 << 20


class _Image(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("points", "image", "hits", "fold")] + [
        ("classes", ctypes.c_int64),
        ("groups", ctypes.c_int64),
    ]


class _Traces(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("n", "bands", "order", "ns", "ns_pad")),
        *((name, ctypes.c_void_p) for name in ("samples", "integrals", "slopes")),
        ("first", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("src", "rcv", "weight", "slot", "group")),
    ]


def sum_traces(
    image: NDArray[np.float32],
    hits: NDArray[np.int32],
    fold: NDArray[np.int32],
    points: NDArray[np.float64],
    axes: ArrayLike,
    medium: Medium,
    time: TimeAxis,
    prepared: PreparedTraces,
    geometry: TraceGeometry,
    options: SumOptions,
    spacing: Sequence[float],
    threads: int = 1,
    isa: str = "",
    tile: int = 0,
) -> int:
    """Add a block of traces to the image traces of a block of locations, as `subsalt.kernels.kirchhoff.sum_traces`."""
    lines = np.ascontiguousarray(axes, dtype=np.float64)
    check_arguments(image, hits, fold, points, lines, medium, time, prepared, geometry, options, spacing)
    where = Where(image, hits, fold, points, lines, medium, time, options, spacing)
    with BlockSum(where, prepared.dt, threads) as adder:
        adder.add(prepared, geometry)
        return adder.fetch()


def traces_bytes(traces: int, trace_bytes: int, options: SumOptions) -> tuple[int, int]:
    """Return the bytes of GPU memory that blocks of traces need, and the page-locked bytes of the host.

    Parameters
    ----------
    traces : int
        Traces of a block; two blocks are in flight.
    trace_bytes : int
        Bytes of one prepared trace.
    options : SumOptions
        Options of the sum: triangle antialiasing needs slopes as well as integrals.
    """
    # of a trace with the fewest coefficients, integrals and slopes are half
    whole = trace_bytes + (trace_bytes // 2 if options.antialias == "triangle" else 0)
    locked = 2 * (traces * (whole + 48) + 8 * 256)
    return locked + traces * trace_bytes, locked


def block_bytes(
    locations: int,
    classes: int,
    groups: int,
    nt: int,
    traces: int,
    options: SumOptions,
    eta: bool = False,
) -> int:
    """Return the bytes of GPU memory that a block of locations needs in addition to those of the traces.

    Parameters
    ----------
    locations, classes, groups, nt : int
        Sizes of the block.
    traces : int
        Traces that are summed at a time.
    options : SumOptions
        Options that decide which arrays of the medium exist.
    eta : bool
        Whether the medium has eta.
    """
    sums = 4 * locations * (classes * nt + nt + 1 + groups)
    medium = locations * (kirchhoff.medium_bytes(nt, options, eta) - 4 * nt * (1 + eta) + 16)
    below = 4 * locations * -(-nt // kirchhoff.BLOCK)
    return sums + medium + below + pairs_bytes(locations, traces)


def pairs_bytes(locations: int, traces: int) -> int:
    """Return the bytes of pairs of a trace and a location that are made at a time."""
    group = PAIR * GROUP * max(1, traces)
    return min(-(-locations // GROUP), max(1, MOST_PAIRS // group)) * group


class BlockSum:
    """The sums of a block of locations on the GPU.

    Parameters
    ----------
    where : Where
        The block; its arrays are read now, and written by `fetch`.
    dt : float
        Sample interval of the traces, s.
    threads : int
        Not needed here.

    Raises
    ------
    OutOfDeviceMemory
        E994, when the GPU has not the memory; also by `room` and `add`.
    """

    def __init__(self, where: Where, dt: float, threads: int = 1) -> None:
        self._where, self._dt = where, dt
        w, o = where, where.options
        if w.medium.below is not None:
            raise ConfigError(
                "the GPU has no kernel for legs from topography", 'set [parallel] device = "cpu"', code="E752"
            )
        medium = kirchhoff._derived(w.medium, w.time, dt, o)
        rules = kirchhoff._rules(o, w.axes, o.antialias_spacing or w.spacing)
        image = _Image(
            *(a.ctypes.data for a in (w.points, w.image, w.hits, w.fold)), w.image.shape[1], w.fold.shape[1]
        )
        out = pointers([None])
        sizes = _native.kirchhoff
        self._call(
            "open",
            medium.address,
            sizes.MEDIUM_SIZE,
            rules.address,
            sizes.RULES_SIZE,
            ctypes.byref(image),
            out,
        )
        self._pointer: int = out[0]
        self._close = weakref.finalize(self, library().subsalt_cuda_kirchhoff_close, self._pointer)
        self._close.atexit = False

    def _call(self, name: str, *arguments: Any) -> None:
        try:
            call(f"subsalt_cuda_kirchhoff_{name}", *arguments)
        except OutOfDeviceMemory as error:
            locations, classes, nt = self._where.image.shape
            raise OutOfDeviceMemory(
                f"{locations} locations with {classes} image traces of {nt} samples do not fit into the GPU: "
                + error.message,
                "let blocks be smaller: set [kirchhoff] memory lower; or use device = cpu",
                code="E994",
            ) from error

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return page-locked memory for the samples of the next block of traces; waits until it is free."""
        n, bands, coefficients, padded = shape
        sizes = _Traces(n=n, bands=bands, order=coefficients - 1, ns_pad=padded)
        if self._where.options.antialias == "triangle":
            sizes.integrals = self._pointer  # any address: there will be some
        out = pointers([None])
        self._call("room", self._pointer, ctypes.byref(sizes), out)
        if not out[0]:
            return np.empty(shape, np.float32)
        return np.asarray(_Locked(out[0], shape, self))

    def add(self, prepared: PreparedTraces, geometry: TraceGeometry) -> int:
        """Add a block of traces; return the contributions of those that are known to be done."""
        w, samples = self._where, prepared.samples
        check_arguments(
            w.image,
            w.hits,
            w.fold,
            w.points,
            w.axes,
            w.medium,
            w.time,
            prepared,
            geometry,
            w.options,
            w.spacing,
        )
        n, bands, coefficients, padded = samples.shape
        if coefficients - 1 not in ORDERS or prepared.dt != self._dt or samples[0:1].size >= 1 << 31:
            raise ConfigError(
                f"prepared traces of order {coefficients - 1}, {bands} bands, {padded} samples of {prepared.dt} s",
                f"on a GPU: order 1 or 4, samples of {self._dt} s, less than 2^31 coefficients a trace",
                code="E705",
            )
        integrals = slopes = None
        if w.options.antialias == "triangle" and prepared.integrals is not None:
            integrals = np.ascontiguousarray(prepared.integrals)
            slopes = np.empty_like(integrals)
            _native.kirchhoff.slopes(integrals, samples, slopes)
        group = geometry.slot if geometry.group is None else geometry.group
        traces = _Traces(n, bands, coefficients - 1, prepared.ns, padded, samples.ctypes.data)
        traces.first = prepared.t_first / prepared.dt
        arrays = {
            "integrals": integrals,
            "slopes": slopes,
            "src": geometry.src,
            "rcv": geometry.rcv,
            "weight": geometry.weight,
            "slot": geometry.slot,
            "group": group,
        }
        for name, array in arrays.items():
            setattr(traces, name, None if array is None else array.ctypes.data)
        done = ctypes.c_int64()
        self._call("add", self._pointer, ctypes.byref(traces), ctypes.byref(done))
        return done.value

    def fetch(self) -> int:
        """Wait for all that was added; bring image, hits and fold up to date; return the contributions."""
        w, done = self._where, ctypes.c_int64()
        arrays = (a.ctypes.data for a in (w.image, w.hits, w.fold))
        self._call("fetch", self._pointer, *arrays, ctypes.byref(done))
        return done.value

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the memory back."""
        self._close()


class _Locked:
    """Memory of a `BlockSum` as an array, which keeps it alive."""

    def __init__(self, pointer: int, shape: tuple[int, ...], owner: BlockSum) -> None:
        self._owner = owner
        self.__array_interface__ = {"shape": shape, "typestr": "<f4", "data": (pointer, False), "version": 3}
