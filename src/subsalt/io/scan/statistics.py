"""Numbers of traces that rules compare: of single traces strength, largest sample, a line in the spectrum,
clipping; and of a bounded sample of a file the suspicion that the sample format is not what the header says.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.reading_progress import within
from subsalt.io.segy.headers import Endian, FileLayout, fix_text
from subsalt.io.segy.samples import FORMATS, decode

#: bytes of a file held at one time: few enough that the temporary arrays of `measure` stay in a core's cache
#: (0.96 s for 750 MB on a Zen 4; 1.6 s with pieces of 4 MB)
_PIECE = 1 << 20
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
    step = max(1, _PIECE // layout.trace_bytes)
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
    suspicion, remedy = _suspect(raw, layout)
    squares = float((m.rms**2).sum()) * layout.ns
    count = len(m) * layout.ns - int(m.bad.sum())
    broken = np.flatnonzero(m.bad > 0)
    used = layout.n_traces if use is None or not use.any() else int(use.sum())
    statistics = SampleStatistics(
        traces=len(m),
        complete=len(m) == used and raw.shape[1] + layout.header_bytes == layout.trace_bytes,
        minimum=low if count else math.nan,
        maximum=high if count else math.nan,
        rms=math.sqrt(squares / count) if count else math.nan,
        not_finite=int(m.bad.sum()),
        zero_traces=int(np.count_nonzero(m.peak == 0)),
        constant_traces=int(np.count_nonzero(m.flat & (m.peak > 0))),
        suspicion=suspicion,
        first_not_finite=int(m.number[broken[0]]) + 1 if len(broken) else 0,
        remedy=remedy,
    )
    return statistics, m


def _roughness(x: NDArray[np.float32]) -> float:
    """Return the energy of first differences over the energy: about 2 for noise, small for band-limited
    traces.
    """
    with np.errstate(invalid="ignore"):  # signalling NaN
        x64 = x.astype(np.float64)
    x64[~np.isfinite(x64) | (np.abs(x64) > 1e30)] = 1e30
    scale = np.abs(x64).max()
    if scale == 0 or x64.shape[1] < 8:
        return math.nan
    x64 /= scale
    return float((np.diff(x64, axis=1) ** 2).sum() / (x64**2).sum())


def _suspect(samples: NDArray[np.uint8], layout: FileLayout) -> tuple[str, str]:
    """Return a sentence, and the key that corrects it, when the bits look like another format or byte order than
    the declared one; else empty texts.

    The key was tried: under it the samples are smooth and have the digits of their format.
    """
    if layout.format not in _WORDS or not len(samples):
        return "", ""
    samples = _spot(samples[:_TRACES], FORMATS[layout.format].size)
    declared = (layout.format, layout.sample_order)
    # a few traces with NaN are bad traces; when most have some, it is the format
    x = decode(samples, *declared)
    finite = np.isfinite(x).all(axis=1)
    digits = _wrong_kind(samples if finite.all() else samples[finite], *declared)
    sensible = _sensible(x)
    if not digits and sensible and finite.all() and _digits_tell(samples, *declared):
        # floats of another format or order that are all finite, sensible and have the digits of this one: none of
        # 900 ways to write and misread records and noise
        return "", ""
    broken = finite.mean() <= 0.5
    samples = samples if broken else samples[finite]
    digits = _wrong_kind(samples, *declared)
    rough = _roughness(decode(samples, *declared))
    if not digits and (not math.isfinite(rough) or rough < 0.02):
        return "", ""
    sensible = _sensible(decode(samples, *declared))
    best, smoothest = None, math.inf
    for code, order in _others(*declared):
        x = decode(samples, code, order)
        # the bits of floats, read as integers, are their logarithms: smooth, but the floats make sense
        if _wrong_kind(samples, code, order) or not _sensible(x) or (code == 2 and sensible):
            continue
        smooth = _roughness(x)
        # digits tell IBM from IEEE whatever the traces hold; all else must be much smoother, or finite at last
        limit = NOISE if broken and np.isfinite(x).all() else SMOOTHER * rough
        by_digits = bool(digits) and order == declared[1] and code in (1, 5) and layout.format in (1, 5)
        if (by_digits or smooth < limit) and not smooth >= SMOOTHER * smoothest:
            best, smoothest = (code, order), smooth
    return _said(declared, best, layout.endian, digits) if best else ("", "")


def _spot(samples: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return the bytes of a few traces, evenly spread and of bounded length, that answer as all of them would.

    A file of a survey of many is looked at as closely as its share of the bytes allows; where most samples are zero,
    all traces are looked at.
    """
    n, ns = samples.shape[0], samples.shape[1] // width
    begin = max(0, min(ns // 4, ns - _SPOT))
    rows = np.unique(np.linspace(0, n - 1, min(n, max(_SPOT_TRACES, _SPOT // ns))).astype(np.int64))
    some = np.ascontiguousarray(samples[rows, width * begin : width * (begin + _SPOT)])
    full = np.count_nonzero(some[:, ::width]) + np.count_nonzero(some[:, width - 1 :: width])
    return some if full >= 0.25 * some.size / width else np.ascontiguousarray(samples)


def likeliest_format(file: InputFile, trials: list[FileLayout]) -> int | None:
    """Return the sample format of that layout of a file under which its samples make sense; None when there is none.

    Floats that make sense and are smooth come first, since their bits are smooth as integers, too.
    """
    candidates: list[tuple[bool, float, int]] = []
    for layout in trials:
        raw = read_bytes(file, layout, pick_traces(layout, _TRACES * layout.trace_bytes))
        x = decode(raw, layout.format, layout.sample_order)
        rough = _roughness(x)
        wrong = _wrong_kind(raw, layout.format, layout.sample_order)
        if not wrong and _sensible(x) and np.isfinite(x).mean() > 0.5 and rough < NOISE:
            candidates.append((layout.format not in (1, 5, 6), rough, layout.format))
    return min(candidates)[2] if candidates else None


def _sensible(x: NDArray[np.float32]) -> bool:
    """Return whether the typical sample is a plausible number for a trace."""
    size = np.abs(x[np.isfinite(x) & (x != 0)])
    return size.size > 0.5 * np.count_nonzero(x) and 1e-20 < float(np.median(size)) < 1e20


#: sample formats that are taken for one another, or read in the other byte order
_WORDS = {1: "IBM floats", 5: "IEEE floats", 2: "32-bit integers", 3: "16-bit integers"}
#: formats that are tried where the header names none that can be read, the usual ones first
USUAL_FORMATS = (5, 1, 3, 2, 8, 6)
#: traces that answer what the format is
_TRACES = 64
#: samples of a trace, and traces, that answer it where they are not mostly zero: 500 of them would do for the digits
_SPOT, _SPOT_TRACES = 4096, 6
#: roughness over that of the declared format below which another one is meant; roughness of what is noise, below 2
SMOOTHER, NOISE = 0.25, 1.0


def _others(code: int, order: Endian) -> list[tuple[int, Endian]]:
    """Return the formats and byte orders to try, one mistake before two."""
    swapped: Endian = "little" if order == "big" else "big"
    formats = [c for c in _WORDS if c != code and FORMATS[c].size == FORMATS[code].size]
    return [*((c, order) for c in formats), (code, swapped), *((c, swapped) for c in formats)]


def _said(
    declared: tuple[int, Endian], actual: tuple[int, Endian], headers: Endian, digits: str
) -> tuple[str, str]:
    """Return the sentence and the keys for samples that are `actual` and not as `declared`."""
    said: list[str] = []
    keys: list[tuple[str, object]] = []
    if actual[0] != declared[0]:
        said.append(
            f"like {_WORDS[actual[0]]}, the header says {_WORDS[declared[0]].removesuffix(' floats')}"
        )
        keys.append(("format", actual[0]))
    if actual[1] != declared[1]:
        said.append(f"{actual[1]}-endian, the headers are {headers}-endian")
        keys.append(("sample_endian", actual[1]))
    text = (
        digits
        if digits and len(said) == 1 and actual[1] == declared[1]
        else "samples look " + ", and ".join(said)
    )
    return text, fix_text(dict(keys))


def _wrong_kind(samples: NDArray[np.uint8], code: int, order: Endian) -> str:
    """Tell IBM from IEEE floats by the first hexadecimal digit of the fraction.

    IBM numbers are normalised: the digit is never 0. In IEEE numbers the same four bits are the last of the
    exponent and the first three of the mantissa, which are all zero in one number of twelve when the data
    span octaves.
    """
    if code not in (1, 5):
        return ""
    nonzero, judged = _digits(samples, order)
    if not judged:
        return ""
    share = float(np.count_nonzero((nonzero & np.uint32(0x00F00000)) == 0)) / nonzero.size
    if code == 5 and share == 0.0:
        return "samples look like IBM floats, the header says IEEE"
    if code == 1 and share > 0.02:
        return "samples look like IEEE floats, the header says IBM"
    return ""


def _digits_tell(samples: NDArray[np.uint8], code: int, order: Endian) -> bool:
    """Return whether `_wrong_kind` can tell what floats samples are."""
    return code in (1, 5) and _digits(samples, order)[1]


def _digits(samples: NDArray[np.uint8], order: Endian) -> tuple[NDArray[np.uint32], bool]:
    """Return the samples that are not zero as 32-bit words, and whether they are many and span octaves."""
    words = np.ascontiguousarray(samples).view(">u4" if order == "big" else "<u4").astype(np.uint32)
    nonzero = words[(words & np.uint32(0x7FFFFFFF)) != 0]
    if nonzero.size < 500:
        return nonzero, False
    return nonzero, bool(np.count_nonzero(np.bincount(nonzero >> np.uint32(24), minlength=256)) >= 6)
