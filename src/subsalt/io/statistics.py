"""Statistics of a bounded sample of traces, and the suspicion that the sample format is not what the header
says.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.io.file_layout import FileLayout
from subsalt.io.files import InputFile
from subsalt.io.raw import raw_bytes
from subsalt.io.samples import decode


@dataclass(frozen=True)
class SampleStatistics:
    """What the sampled traces hold.

    Parameters
    ----------
    complete : bool
        They are all traces of the file.
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


def sample_traces(layout: FileLayout, budget: int) -> NDArray[np.int64]:
    """Return numbers of traces spread evenly over the file, so that their bytes stay within `budget`."""
    most = max(1, budget // layout.trace_bytes)
    if most >= layout.n_traces:
        return np.arange(layout.n_traces)
    return np.unique(np.linspace(0, layout.n_traces - 1, most).astype(np.int64))


def sample_statistics(file: InputFile, layout: FileLayout, budget: int) -> SampleStatistics:
    """Return the statistics of traces that take at most `budget` bytes (at least one trace, in pieces)."""
    index = sample_traces(layout, budget)
    low, high, squares, count = math.inf, -math.inf, 0.0, 0
    bad = zero = constant = first_bad = 0
    suspicion = remedy = ""
    step = max(1, (4 << 20) // layout.trace_bytes)
    # one very long trace is sampled by its beginning: memory stays bounded whatever the header says
    width = layout.header_bytes + min(layout.ns, 1 << 22) * (
        (layout.trace_bytes - layout.header_bytes) // layout.ns
    )
    for a in range(0, len(index), step):
        raw = np.empty((len(index[a : a + step]), width), np.uint8)
        for row, trace in zip(raw, index[a : a + step], strict=True):
            file.read_into(layout.first_trace + int(trace) * layout.trace_bytes, raw_bytes(row))
        samples = raw[:, layout.header_bytes :]
        x = decode(samples, layout.format, layout.endian)
        finite = np.isfinite(x)
        wrong = int(x.size - np.count_nonzero(finite))
        if wrong and not first_bad:
            first_bad = int(index[a + int(np.argmin(finite.all(axis=1)))]) + 1
        bad += wrong
        x64 = np.where(finite, x, 0.0).astype(np.float64)
        zero += int(np.count_nonzero(~(x != 0).any(axis=1)))
        constant += int(np.count_nonzero((x == x[:, :1]).all(axis=1) & (x[:, 0] != 0)))
        if finite.any():
            low, high = min(low, float(x[finite].min())), max(high, float(x[finite].max()))
        squares += float((x64 * x64).sum())
        count += int(np.count_nonzero(finite))
        if a == 0 and layout.format in (1, 5):
            suspicion, remedy = _suspect(samples, layout)
    return SampleStatistics(
        traces=len(index),
        complete=len(index) == layout.n_traces and width == layout.trace_bytes,
        minimum=low if count else math.nan,
        maximum=high if count else math.nan,
        rms=math.sqrt(squares / count) if count else math.nan,
        not_finite=bad,
        zero_traces=zero,
        constant_traces=constant,
        suspicion=suspicion,
        first_not_finite=first_bad,
        remedy=remedy,
    )


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
    """Return a sentence, and the key that mends it, when the bits look like another format or byte order than
    the declared one; else empty texts.
    """
    samples = np.ascontiguousarray(samples[:64])
    words = samples.view(">u4" if layout.endian == "big" else "<u4").astype(np.uint32)
    wrong_kind = _wrong_kind(words, layout.format)
    if wrong_kind:
        return wrong_kind, f"format = {6 - layout.format}"
    declared = _roughness(decode(samples, layout.format, layout.endian))
    if not math.isfinite(declared) or declared < 0.02:
        return "", ""
    swapped = "little" if layout.endian == "big" else "big"
    if _roughness(decode(samples, layout.format, swapped)) < 0.25 * declared:
        said = f"samples look {swapped}-endian, the headers are {layout.endian}-endian"
        return said, f'endian = "{swapped}"'
    return "", ""


def _wrong_kind(words: NDArray[np.uint32], code: int) -> str:
    """Tell IBM from IEEE floats by the first hexadecimal digit of the fraction.

    IBM numbers are normalised: the digit is never 0. In IEEE numbers the same four bits are the last of the
    exponent and the first three of the mantissa, which are all zero in one number of twelve when the data
    span octaves.
    """
    nonzero = words[(words & np.uint32(0x7FFFFFFF)) != 0]
    exponents = len(np.unique(nonzero >> np.uint32(24)))
    if nonzero.size < 500 or exponents < 6:
        return ""
    share = float(np.count_nonzero((nonzero >> np.uint32(20)) & np.uint32(0xF) == 0)) / nonzero.size
    if code == 5 and share == 0.0:
        return "samples look like IBM floats, the header says IEEE"
    if code == 1 and share > 0.02:
        return "samples look like IEEE floats, the header says IBM"
    return ""
