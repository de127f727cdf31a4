"""A second wavefield of the receivers, driven by other traces, that meets the samples of the source beside the first.

Two images need one:

- *Offset gathers* by attribute migration: the traces are multiplied by their offsets. The quotient of both correlations
  is the offset that lights a point (`subsalt.methods.rtm.offset_classes`).
- *Down-going times up-going*: the traces are replaced by their Hilbert transforms in time. With the analytic signal in
  time, the sign of the wavenumber in depth says which way a wave goes, so that transforms in depth of the fields at
  imaged samples separate them, and nothing is stored over time.

Notes
-----
H_t, H_z are Hilbert transforms in time and depth (of a cosine the sine). A wave that goes down has ``H_z H_t f = f``,
one that goes up -f. With the source field u and the field w of the receivers, both in forward time, ::

    u_down = (u + H_z H_t u) / 2,   w_up = (w - H_z H_t w) / 2

Summed over time, H_t is antisymmetric and keeps products, so that it is wanted of the receivers alone: with q the field
that H_t of the traces makes, which is ``H_t w``, ::

    4 sum u_down w_up = sum u p - (H_z u) (H_z p),      p = w - H_z q

Beyond the ends of the window fields are continued by their mirror image with the other sign, which fades far away. Of a
wave with the wavenumber k in depth that leaves 1 / (pi k^2 z^2) at the distance z from an end; the mirror image itself
would leave 2 / (pi k z), and nothing at all 1 / (pi k z).

References
----------
Giboli, M., Baina, R., Nicoletis, L., Duquet, B. (2012), Reverse time migration surface offset gathers part 1: a new
method to produce classical common image gathers, SEG Expanded Abstracts. Liu, F., Zhang, G., Morton, S. A., Leveille,
J. P. (2011), An effective imaging condition for reverse-time migration using wavefield decomposition, Geophysics 76,
S29-S39. Shen, P., Albertin, U. (2015), Up-down separation using Hilbert transformed source for causal imaging
condition, SEG Expanded Abstracts, 4175-4179.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.problem import State
from subsalt.kernels.scaled16 import unpack16
from subsalt.kernels.work import Correlation, Snapshots, Source
from subsalt.methods.rtm.conditions import condition_of, refuse_own_memory
from subsalt.methods.rtm.offset_classes import WEIGHTED, offsets_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.numerics.fixedmath import ramp
from subsalt.numerics.side_by_side import cuts, each
from subsalt.propagation.propagator import Propagator

#: points of a part of a field that a thread separates: its transforms stay in a cache
PART = 1 << 14

#: bytes of temporary arrays for each of these points: fields twice as deep, their spectra, and what is made of them
PER_POINT = 80


class Companion:
    """Base: injected samples and state of the second wavefield.

    Parameters
    ----------
    prop : Propagator
        Propagator of both wavefields.
    source : Source
        Samples injected at the receivers, in reversed time.
    sums : ndarray, shape of the window
        Accumulator.
    scale : float
        k dt, the time that a sample stands for.
    """

    def __init__(self, prop: Propagator, source: Source, sums: NDArray, scale: float) -> None:
        self.prop, self.source, self.sums, self.scale = prop, source, sums, scale
        self.state: State = prop.new_state()

    def advance(
        self,
        until: int,
        *,
        snapshots: Snapshots | None = None,
        correlation: Correlation | None = None,
        check_last: bool = False,
    ) -> None:
        """Advance the wavefield to a time index. Collective over the group."""
        if until > self.state.it:
            self.prop.advance(
                self.state,
                until - self.state.it,
                sources=[self.source],
                snapshots=snapshots,
                correlation=correlation,
                check_last=check_last,
            )

    def through(
        self,
        first: State,
        fields: Mapping[int, NDArray],
        at: Mapping[int, int],
        snapshots: Snapshots,
        advance: Callable[[int, Snapshots], None],
    ) -> None:
        """Take the wavefield through samples of the source, and add what they make.

        Parameters
        ----------
        first : State
            The first wavefield of the receivers.
        fields : mapping of int to ndarray
            Samples of the source wavefield, the first one that the receivers meet first.
        at : mapping of int to int
            Time index of both wavefields of the receivers at each.
        snapshots : Snapshots
            Those that are taken of the first one anyway.
        advance : callable
            Takes the first one to a time index, with snapshots.
        """
        raise NotImplementedError


class WeightedReceivers(Companion):
    """Traces times their offsets: their correlation with the source is summed beside the image."""

    def through(
        self,
        first: State,
        fields: Mapping[int, NDArray],
        at: Mapping[int, int],
        snapshots: Snapshots,
        advance: Callable[[int, Snapshots], None],
    ) -> None:
        """See `Companion.through`; the first wavefield goes its own way."""
        if fields:
            met = Correlation(snapshots.box, {at[i]: u for i, u in fields.items()}, self.sums, self.scale)
            self.advance(max(met.fields), correlation=met)


class UpGoingReceivers(Companion):
    """Traces in quadrature: at a sample both wavefields make the up-going one, which meets the source going down."""

    def __init__(self, prop: Propagator, source: Source, sums: NDArray, scale: float) -> None:
        super().__init__(prop, source, sums, scale)
        self._rooms: tuple[NDArray, NDArray] = (
            np.zeros(sums.shape, prop.dtype),
            np.zeros(sums.shape, prop.dtype),
        )

    def through(
        self,
        first: State,
        fields: Mapping[int, NDArray],
        at: Mapping[int, int],
        snapshots: Snapshots,
        advance: Callable[[int, Snapshots], None],
    ) -> None:
        """See `Companion.through`; both wavefields go from sample to sample."""
        prop, taken, box = self.prop, snapshots.fields, snapshots.box
        # a snapshot that goes into 16 bits is not what the image sees: of such the wavefield itself is read
        packed = any(room is not None and room.dtype == np.int16 for room in taken.values())
        for i, u in fields.items():
            it = at[i]
            w, q = self._rooms
            own = None if packed else taken.get(it)
            w = w if own is None else own
            if it == 0:  # at rest, before any step
                w[...] = q[...] = 0
            advance(it, snapshots if packed else Snapshots(box, {**taken, it: w}))
            if packed and it and w.size:
                prop.kernels.snapshot(prop.problem, first.curr, w, prop.interior)
            self.advance(it, snapshots=Snapshots(box, {it: q}))
            source = unpack16(u, w.shape[-1]) if u.dtype == np.int16 else u
            add_separated(self.sums, source.reshape(w.shape), w, q, self.scale)


def accumulators_of(setup: MigrationSetup) -> tuple[str, ...]:
    """Return the names of the sums of a shot, those of half offsets aside."""
    names = condition_of(setup.imaging.condition).accumulators
    return names if setup.offsets is None else (*names, WEIGHTED)


def sums_per_point(setup: MigrationSetup) -> int:
    """Return the numbers that the sums of a shot have for a point of its window, those of half offsets aside."""
    return condition_of(setup.imaging.condition).per_point() + int(setup.offsets is not None)


def companions(setup: MigrationSetup) -> int:
    """Return the wavefields of the receivers that an image needs beside the first one: none or one."""
    return int(setup.offsets is not None or condition_of(setup.imaging.condition).separates)


def companion_of(
    setup: MigrationSetup, prop: Propagator, source: Source | None, sums: dict[str, NDArray], scale: float
) -> Companion | None:
    """Return the second wavefield of the receivers that an image needs; None where it needs none.

    Parameters
    ----------
    source : Source or None
        Samples that it injects (`second_samples`).
    sums : dict of ndarray
        Accumulators of the shot; that of weighted traces is added.
    """
    if source is None:
        return None
    if setup.offsets is not None:
        refuse_own_memory(prop.kernels, '[imaging.gathers] kind = "offset"')
        sums[WEIGHTED] = prop.kernels.zeros(prop.interior.shape, prop.dtype)
        return WeightedReceivers(prop, source, sums[WEIGHTED], scale)
    condition = condition_of(setup.imaging.condition)
    refuse_own_memory(prop.kernels, f'[imaging] condition = "{condition.name}"')
    return UpGoingReceivers(prop, source, sums[condition.product], scale)


def second_samples(
    setup: MigrationSetup, shot: Shot, samples: NDArray[np.float64], rows: NDArray[np.intp] | None = None
) -> NDArray[np.float64] | None:
    """Return what the second wavefield injects at the receivers, or at some `rows`; None where there is none.

    Parameters
    ----------
    samples : ndarray, (nr, nt)
        Samples that the first one injects, in reversed time.
    """
    if setup.offsets is not None:
        offsets = offsets_of(shot, setup.model.grid.ndim)
        return samples * (offsets if rows is None else offsets[rows])[:, None]
    if condition_of(setup.imaging.condition).separates:
        return hilbert_in_time(samples[:, ::-1])[:, ::-1]
    return None


def hilbert_in_time(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Hilbert transform of traces (n, nt), of a cosine the sine; silence is assumed around them."""
    n = samples.shape[1]
    size = 1 << (2 * n - 1).bit_length()
    out = np.empty_like(samples)
    for row, trace in enumerate(samples):
        spectrum = -1j * np.fft.rfft(trace, size)
        spectrum[[0, -1]] = 0
        out[row] = np.fft.irfft(spectrum, size)[:n]
    return out


def hilbert_in_depth(field: NDArray) -> NDArray:
    """Return the Hilbert transform along the last axis, of a cosine the sine; both ends are mirrored with a minus."""
    n = field.shape[-1]
    below, above = _continuation(n)
    size, end = n + len(below) + len(above), n + len(below)
    wide: NDArray = np.empty((*field.shape[:-1], size), field.dtype)
    wide[..., :n] = field
    np.multiply(field[..., ::-1][..., : len(below)], below, out=wide[..., n:end], casting="same_kind")
    np.multiply(field[..., : len(above)][..., ::-1], above, out=wide[..., end:], casting="same_kind")
    spectrum = np.fft.rfft(wide, axis=-1)
    spectrum *= -1j
    spectrum[..., [0, -1]] = 0
    out: NDArray = np.fft.irfft(spectrum, size, axis=-1)[..., :n]
    return out


@cache
def _continuation(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the mirror images of `n` samples: below them, and above them from far to near.

    They fade over their outer halves, so that the period of a transform may be an even number of small factors.
    """
    size = 2 * n
    while not _is_smooth(size):
        size += 2
    below, above = (
        -ramp(2.0 * (1.0 - (np.arange(m) + 0.5) / m)) for m in ((size - n) // 2, size - n - (size - n) // 2)
    )
    return below, np.ascontiguousarray(above[::-1])


def _is_smooth(size: int) -> bool:
    for factor in (2, 3, 5):
        while size % factor == 0:
            size //= factor
    return size == 1


def add_separated(sums: NDArray, u: NDArray, w: NDArray, q: NDArray, scale: float) -> None:
    """Add to `sums` the down-going source times the up-going receivers at a sample.

    Parameters
    ----------
    sums, u, w, q : ndarray, (nx, ny, nz)
        Accumulator; source, receivers, and receivers in quadrature.
    scale : float
        k dt.
    """
    if sums.size:
        weight = sums.dtype.type(0.25 * scale)
        each(partial(_add_part, sums, u, w, q, weight), cuts(len(sums), sums.size, PART))


def _add_part(sums: NDArray, u: NDArray, w: NDArray, q: NDArray, weight: np.floating, some: slice) -> None:
    up = w[some] - hilbert_in_depth(q[some])
    down = u[some]
    sums[some] += weight * (down * up - hilbert_in_depth(down) * hilbert_in_depth(up))
