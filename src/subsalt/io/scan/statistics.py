"""Numbers of traces that rules compare: of single traces strength, largest sample, a line in the spectrum,
clipping; and of a bounded sample of a file its extremes, and whether its bits are what the header says.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.reading_progress import within
from subsalt.io.scan.sample_format import LOOKED_AT, NOISE, is_sensible, roughness, suspect, wrong_kind
from subsalt.io.segy.headers import FileLayout
from subsalt.io.segy.samples import decode

#: bytes of a file held at one time: few enough that the temporary arrays of `measure` stay in a core's cache
#: (0.96 s for 750 MB on a Zen 4; 1.6 s with pieces of 4 MB)
PIECE = 1 << 20
#: samples of a very long trace that are looked at, so that memory stays bounded whatever the header says
_LONGEST = 1 << 22
#: samples of the window whose spectrum is taken
_WINDOW = 2048
#: smallest over largest rms of the quarters of a trace that may hum: a hum is as strong at its end as at its begin
STEADY = 0.3
#: frequency below which swell lies, Hz; smallest `steady` of traces in which it has a tenth of the energy, or more
SWELL, _AUDIBLE = 5.0, 0.15
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
        RMS and largest absolute value of the finite samples.
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
    pitch : ndarray, float32
        Frequency of that line, Hz; 0 where there is none, or no interval to know it by.
    swell : ndarray, float32
        Share of the energy that lies below `SWELL` Hz, of traces in which that is as strong at the end as at the
        begin; 0 of others.
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
    pitch: NDArray[np.float32]
    swell: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: list[TraceMeasures]) -> TraceMeasures:
        """Return the measures of several pieces as one."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def take(self, rows: NDArray | slice) -> TraceMeasures:
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
    return wanted if most >= len(wanted) else wanted[evenly(len(wanted), most)]


def evenly(n: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` numbers below `n`, evenly spread."""
    return np.arange(n) if most >= n else np.unique(np.linspace(0, n - 1, most).astype(np.int64))


def read_bytes(file: InputFile, layout: FileLayout, index: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the bytes of the samples of some traces, (n, bytes); neighbours are one read."""
    width = (layout.trace_bytes - layout.header_bytes) // layout.ns
    size = layout.header_bytes + min(layout.ns, _LONGEST) * width
    raw = np.empty((len(index), size), np.uint8)
    if size == layout.trace_bytes and int(index[-1]) - int(index[0]) == len(index) - 1:
        file.read_into(layout.first_trace + int(index[0]) * layout.trace_bytes, raw_bytes(raw))
    else:
        file.read_rows((layout.first_trace + index * layout.trace_bytes).tolist(), raw)
    return raw[:, layout.header_bytes :]


def measure(x: NDArray[np.float32], number: NDArray[np.int64], dt: float = 0.0) -> TraceMeasures:
    """Return the measures of traces x, (n, ns), with samples every `dt` s; 0 where that is not known."""
    size = np.abs(x)
    peak = size.max(axis=1)
    bad = np.zeros(len(x), np.int32)
    flat = (x == x[:, :1]).all(axis=1)
    # the largest of samples that are not finite is not finite
    if not np.isfinite(peak).all():
        finite = np.isfinite(x)
        bad = np.count_nonzero(~finite, axis=1)
        x = np.where(finite, x, np.float32(0))
        size = np.abs(x)
        peak = size.max(axis=1)
    # differences of the largest numbers are none
    small = x if not peak.max(initial=0) > 1e30 else x * np.float32(0.25)
    energy = np.einsum("ij,ij->i", small, small, dtype=np.float64)
    difference = np.diff(small, axis=1)
    rough = np.einsum("ij,ij->i", difference, difference, dtype=np.float64) / np.where(energy > 0, energy, 1)
    rms = np.sqrt(energy / x.shape[1]) * (1.0 if small is x else 4.0)
    top = size == peak[:, None]
    clipped = np.count_nonzero(top[:, :-2] & top[:, 1:-1] & top[:, 2:], axis=1)
    clipped[flat] = 0
    line, steady, pitch = _line(x, peak)
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
        (pitch / dt if dt > 0 else np.zeros(len(x))).astype(np.float32),
        _swell(x, peak, steady, dt),
    )


def _line(
    x: NDArray[np.float32], peak: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    """Return the share of one line of the spectrum, how steady traces are, and the line in cycles per sample."""
    n, ns = x.shape
    pitch = np.zeros(n)
    if ns < _SHORTEST:
        return np.zeros(n, np.float32), np.zeros(n, np.float32), pitch
    quarter = ns // 4
    parts = x[:, : 4 * quarter].reshape(n, 4, quarter)
    rms = np.sqrt(np.einsum("ijk,ijk->ij", parts, parts, dtype=np.float64) / quarter)
    most = rms.max(axis=1)
    steady = rms.min(axis=1) / np.where(most > 0, most, 1)
    # only a steady trace can hum: the others need no spectrum
    line = np.zeros(n, np.float32)
    rows = np.flatnonzero(steady > STEADY)
    m = min(ns if ns < 2 * _SHORTEST else ns // 2, _WINDOW)
    window = np.hanning(m + 2)[1:-1].astype(np.float32)
    # scaled to one, so that squares neither overflow nor vanish
    unit = x[rows, ns - m :] / peak[rows, None]
    power = np.abs(np.fft.rfft(unit * window, axis=1)) ** 2
    # what has fewer than four periods here is a drift, or the lowest of a band
    power[:, :4] = np.where(np.argmax(power, axis=1)[:, None] < 4, 0.0, power[:, :4])
    if power.size:
        at = np.argmax(power, axis=1)
        ends = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(power, axis=1)], axis=1)
        low, high = np.maximum(at - 2, 0), np.minimum(at + 3, power.shape[1])
        band = np.take_along_axis(ends, high[:, None], 1) - np.take_along_axis(ends, low[:, None], 1)
        line[rows] = band[:, 0] / np.where(ends[:, -1] > 0, ends[:, -1], 1)
        # between two points of the spectrum lies the line of whose energy both have some
        beside = np.clip(at[:, None] + np.arange(-1, 2), 0, power.shape[1] - 1)
        near = np.take_along_axis(power, beside, 1)
        whole = near.sum(axis=1)
        pitch[rows] = (
            np.where(whole > 0, (near * beside).sum(axis=1) / np.where(whole > 0, whole, 1), 0.0) / m
        )
    return line, steady.astype(np.float32), pitch


def _swell(
    x: NDArray[np.float32], peak: NDArray[np.float32], steady: NDArray[np.float32], dt: float
) -> NDArray[np.float32]:
    """Return the share of the energy below `SWELL` Hz of traces in which it is there all along, 0 of others.

    Means of pieces of half a period of that frequency are the low frequencies, nearly: their first zero is at twice it.
    """
    swell = np.zeros(len(x), np.float32)
    piece = round(0.5 / (SWELL * dt)) if dt > 0 else 0
    # a quarter of a record has four of them, two periods at least
    count = x.shape[1] // piece // 4 * 4 if piece > 0 else 0
    rows = np.flatnonzero((steady > _AUDIBLE) & (peak > 0))
    if count < 16 or not len(rows):
        return swell
    unit = x[rows] / peak[rows, None]
    low = unit[:, : count * piece].reshape(len(rows), count, piece).mean(axis=2, dtype=np.float64)
    # an offset of the recorder is no swell
    low -= low.mean(axis=1, keepdims=True)
    parts = np.square(low).reshape(len(rows), 4, -1).mean(axis=2)
    energy = np.einsum("ij,ij->i", unit, unit, dtype=np.float64) / x.shape[1]
    calm = parts.min(axis=1) > STEADY**2 * parts.max(axis=1)
    swell[rows] = np.where(calm, parts.mean(axis=1) / np.where(energy > 0, energy, 1), 0.0)
    return swell


def measured(
    file: InputFile, layout: FileLayout, index: NDArray[np.int64]
) -> tuple[TraceMeasures, float, float, NDArray[np.uint8]]:
    """Return measures of the traces `index`, their smallest and largest sample, and the bytes of the first piece."""
    low, high = np.inf, -np.inf
    parts: list[TraceMeasures] = []
    first = np.empty((0, 0), np.uint8)
    step = max(1, PIECE // layout.trace_bytes)
    for a in range(0, len(index), step):
        b = min(a + step, len(index))
        raw = read_bytes(file, layout, index[a:b])
        if a == 0:
            first = raw
        x = decode(raw, layout.format, layout.sample_order)
        parts.append(measure(x, index[a:b], layout.dt))
        good = x if not parts[-1].bad.any() else x[np.isfinite(x)]
        within(b / len(index))
        if good.size:
            low, high = min(low, float(good.min())), max(high, float(good.max()))
    return TraceMeasures.joined(parts), low, high, first


@dataclass(frozen=True)
class SampleStatistics:
    """Statistics of the sampled traces.

    Parameters
    ----------
    complete : bool
        They are all traces of the file that count.
    first_not_finite : int
        The first of them with a sample that is not finite, counted in the file from 1; 0 when there is none.
    """

    traces: int
    complete: bool
    minimum: float
    maximum: float
    rms: float
    not_finite: int
    zero_traces: int
    constant_traces: int
    suspicion: str = ""
    remedy: str = ""
    first_not_finite: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


def sample_statistics(
    file: InputFile, layout: FileLayout, budget: int, use: NDArray[np.bool_] | None = None
) -> tuple[SampleStatistics, TraceMeasures]:
    """Return the statistics of traces that take at most `budget` bytes (at least one trace), and their measures.

    Parameters
    ----------
    use : ndarray, bool, optional
        Traces that count; all when left out.
    """
    index = pick_traces(layout, budget, use)
    m, low, high, raw = measured(file, layout, index)
    used = layout.n_traces if use is None or not use.any() else int(use.sum())
    complete = len(m) == used and raw.shape[1] + layout.header_bytes == layout.trace_bytes
    return statistics_of(m, (low, high), layout.ns, complete, suspect(raw, layout)), m


def statistics_of(
    m: TraceMeasures, extremes: tuple[float, float], ns: int, complete: bool, suspicion: tuple[str, str]
) -> SampleStatistics:
    """Return the statistics of traces of `ns` samples from their measures.

    Parameters
    ----------
    extremes : tuple of float
        Smallest and largest finite sample.
    suspicion : tuple of str
        Sentence and key of `sample_format.suspect`.
    """
    squares = float((m.rms**2).sum()) * ns
    broken = np.flatnonzero(m.bad > 0)
    not_finite = int(m.bad.sum()) if len(broken) else 0
    count = len(m) * ns - not_finite
    return SampleStatistics(
        traces=len(m),
        complete=complete,
        minimum=extremes[0] if count else math.nan,
        maximum=extremes[1] if count else math.nan,
        rms=math.sqrt(squares / count) if count else math.nan,
        not_finite=not_finite,
        zero_traces=int(np.count_nonzero(m.peak == 0)),
        constant_traces=int(np.count_nonzero(m.flat & (m.peak > 0))),
        suspicion=suspicion[0],
        first_not_finite=int(m.number[broken[0]]) + 1 if len(broken) else 0,
        remedy=suspicion[1],
    )


def likeliest_format(file: InputFile, trials: list[FileLayout]) -> int | None:
    """Return the sample format of that layout of a file under which its samples make sense; None when there is none.

    Floats that make sense and are smooth come first, since their bits are smooth as integers, too.
    """
    candidates: list[tuple[bool, float, int]] = []
    for layout in trials:
        raw = read_bytes(file, layout, pick_traces(layout, LOOKED_AT * layout.trace_bytes))
        x = decode(raw, layout.format, layout.sample_order)
        rough = roughness(x)
        wrong = wrong_kind(raw, layout.format, layout.sample_order)
        if not wrong and is_sensible(x) and np.isfinite(x).mean() > 0.5 and rough < NOISE:
            candidates.append((layout.format not in (1, 5, 6), rough, layout.format))
    return min(candidates)[2] if candidates else None
