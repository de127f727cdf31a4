"""What single traces hold, in numbers that rules compare: strength, largest sample, a line in the spectrum, clipping.

One pass over a file in pieces; some 30 bytes per trace stay.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from subsalt.io.file_layout import FileLayout
from subsalt.io.files import InputFile
from subsalt.io.raw import raw_bytes
from subsalt.io.samples import decode

#: bytes of a file held at one time
_PIECE = 4 << 20
#: samples of a very long trace that are looked at, so that memory stays bounded whatever the header says
_LONGEST = 1 << 22
#: samples of the window whose spectrum is taken
_WINDOW = 2048
#: smallest over largest rms of the quarters of a trace that may hum: a hum is as strong at its end as at its begin
STEADY = 0.3
#: fewer samples have no spectrum worth a word
_SHORTEST = 128


@dataclass
class TraceMeasures:
    """Measures of some traces of a file, one value per trace.

    Parameters
    ----------
    number : ndarray, int64
        Trace in the file, from 0.
    rms, peak : ndarray
        Of the finite samples.
    bad : ndarray, int32
        Samples that are not finite.
    flat : ndarray, bool
        All samples are equal.
    line : ndarray, float32
        Share of the energy in one line of the spectrum, of the later half of the trace; 0 where there is nothing.
    steady : ndarray, float32
        Smallest over largest rms of the quarters of the trace.
    rough : ndarray, float32
        Energy of first differences over the energy: about 2 for noise.
    clipped : ndarray, int32
        Samples in the middle of three at the trace's largest value.
    """

    number: NDArray[np.int64]
    rms: NDArray[np.float64]
    peak: NDArray[np.float32]
    bad: NDArray[np.int32]
    flat: NDArray[np.bool_]
    line: NDArray[np.float32]
    steady: NDArray[np.float32]
    rough: NDArray[np.float32]
    clipped: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: list[TraceMeasures]) -> TraceMeasures:
        """Return the measures of several pieces as one."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def take(self, rows: NDArray) -> TraceMeasures:
        """Return the measures of some rows."""
        return TraceMeasures(*(getattr(self, f.name)[rows] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.number)


def pick_traces(layout: FileLayout, budget: int, use: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return numbers of traces spread evenly over the file, so that their bytes stay within `budget`.

    Parameters
    ----------
    use : ndarray, bool, optional
        Traces that count; all when left out, or when none does.
    """
    wanted = np.arange(layout.n_traces) if use is None or not use.any() else np.flatnonzero(use)
    most = max(1, budget // layout.trace_bytes)
    if most >= len(wanted):
        return wanted
    return wanted[np.unique(np.linspace(0, len(wanted) - 1, most).astype(np.int64))]


def read_bytes(file: InputFile, layout: FileLayout, index: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the bytes of the samples of some traces, (n, bytes); neighbours are one read."""
    width = (layout.trace_bytes - layout.header_bytes) // layout.ns
    size = layout.header_bytes + min(layout.ns, _LONGEST) * width
    raw = np.empty((len(index), size), np.uint8)
    if size == layout.trace_bytes and int(index[-1]) - int(index[0]) == len(index) - 1:
        file.read_into(layout.first_trace + int(index[0]) * layout.trace_bytes, raw_bytes(raw))
    else:
        for row, trace in zip(raw, index, strict=True):
            file.read_into(layout.first_trace + int(trace) * layout.trace_bytes, raw_bytes(row))
    return raw[:, layout.header_bytes :]


def measure(x: NDArray[np.float32], number: NDArray[np.int64]) -> TraceMeasures:
    """Return the measures of traces x, (n, ns)."""
    finite = np.isfinite(x)
    bad = x.shape[1] - np.count_nonzero(finite, axis=1)
    flat = (x == x[:, :1]).all(axis=1)
    if bad.any():
        x = np.where(finite, x, np.float32(0))
    size = np.abs(x)
    peak = size.max(axis=1)
    # scaled to one, so that squares neither overflow nor vanish
    unit = x / np.where(peak > 0, peak, np.float32(1))[:, None]
    exact = x.astype(np.float64)
    rms = np.sqrt(np.einsum("ij,ij->i", exact, exact) / x.shape[1])
    energy = np.einsum("ij,ij->i", unit, unit)
    difference = np.diff(unit, axis=1)
    rough = np.einsum("ij,ij->i", difference, difference) / np.where(energy > 0, energy, 1)
    top = size == peak[:, None]
    clipped = np.count_nonzero(top[:, :-2] & top[:, 1:-1] & top[:, 2:], axis=1)
    clipped[flat] = 0
    line, steady = _line(unit)
    return TraceMeasures(
        number.astype(np.int64),
        rms,
        peak.astype(np.float32),
        bad.astype(np.int32),
        flat,
        line,
        steady,
        rough.astype(np.float32),
        clipped.astype(np.int32),
    )


def _line(unit: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the share of one line of the spectrum, and how steady traces are."""
    n, ns = unit.shape
    if ns < _SHORTEST:
        return np.zeros(n, np.float32), np.zeros(n, np.float32)
    quarter = ns // 4
    parts = unit[:, : 4 * quarter].reshape(n, 4, quarter)
    rms = np.sqrt(np.einsum("ijk,ijk->ij", parts, parts) / quarter)
    most = rms.max(axis=1)
    steady = rms.min(axis=1) / np.where(most > 0, most, 1)
    # only a steady trace can hum: the others need no spectrum
    line = np.zeros(n, np.float32)
    rows = np.flatnonzero(steady > STEADY)
    m = min(ns if ns < 2 * _SHORTEST else ns // 2, _WINDOW)
    window = np.hanning(m + 2)[1:-1].astype(np.float32)
    # what has fewer than four periods here is a drift, or the lowest of a band
    power = np.abs(np.fft.rfft(unit[rows, ns - m :] * window, axis=1)) ** 2
    power[:, :4] = np.where(np.argmax(power, axis=1)[:, None] < 4, 0.0, power[:, :4])
    if power.size:
        at = np.argmax(power, axis=1)
        ends = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(power, axis=1)], axis=1)
        low, high = np.maximum(at - 2, 0), np.minimum(at + 3, power.shape[1])
        band = np.take_along_axis(ends, high[:, None], 1) - np.take_along_axis(ends, low[:, None], 1)
        line[rows] = band[:, 0] / np.where(ends[:, -1] > 0, ends[:, -1], 1)
    return line, steady.astype(np.float32)


def measured(
    file: InputFile, layout: FileLayout, index: NDArray[np.int64]
) -> tuple[TraceMeasures, float, float, NDArray[np.uint8]]:
    """Return measures of the traces `index`, their smallest and largest sample, and the bytes of the first piece."""
    low, high = np.inf, -np.inf
    parts: list[TraceMeasures] = []
    first = np.empty((0, 0), np.uint8)
    step = max(1, _PIECE // layout.trace_bytes)
    for a in range(0, len(index), step):
        b = min(a + step, len(index))
        raw = read_bytes(file, layout, index[a:b])
        if a == 0:
            first = raw
        x = decode(raw, layout.format, layout.sample_order)
        parts.append(measure(x, index[a:b]))
        good = x if not parts[-1].bad.any() else x[np.isfinite(x)]
        if good.size:
            low, high = min(low, float(good.min())), max(high, float(good.max()))
    return TraceMeasures.joined(parts), low, high, first
