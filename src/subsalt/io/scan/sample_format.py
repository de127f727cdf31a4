"""The suspicion that samples have another format or byte order than the header says, from the bits of a few traces."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from subsalt.io.segy.headers import Endian, FileLayout, fix_text
from subsalt.io.segy.samples import FORMATS, decode

#: sample formats that are taken for one another, or read in the other byte order
_WORDS = {1: "IBM floats", 5: "IEEE floats", 2: "32-bit integers", 3: "16-bit integers"}
#: formats that are tried where the header names none that can be read, the usual ones first
USUAL_FORMATS = (5, 1, 3, 2, 8, 6)
#: traces that answer what the format is
LOOKED_AT = 64
#: samples of a trace, and traces, that answer it where they are not mostly zero: 500 of them would do for the digits
_SPOT, _SPOT_TRACES = 4096, 6
#: share of samples that are not zero below which all traces are looked at
_FULL = 0.25
#: size of the typical sample that makes sense
_SMALLEST, _LARGEST = 1e-20, 1e20
#: samples that are not zero, and octaves that they span, by which digits tell what floats they are
_TOLD_BY, _OCTAVES = 500, 6
#: share of IBM floats whose first digit may be 0: none is, but a writer may not have normalised all
_NOT_NORMALISED = 0.02
#: roughness over that of the declared format below which another one is meant; roughness of what is noise, below 2
SMOOTHER, NOISE = 0.25, 1.0


def suspect(samples: NDArray[np.uint8], layout: FileLayout) -> tuple[str, str]:
    """Return a sentence, and the key that corrects it, when the bits look like another format or byte order than
    the declared one; else empty texts.

    The key was tried: under it the samples are smooth and have the digits of their format.
    """
    if layout.format not in _WORDS or not len(samples):
        return "", ""
    samples = _spot(samples[:LOOKED_AT], FORMATS[layout.format].size)
    declared = (layout.format, layout.sample_order)
    # a few traces with NaN are bad traces; when most have some, it is the format
    x = decode(samples, *declared)
    finite = np.isfinite(x).all(axis=1)
    digits = wrong_kind(samples if finite.all() else samples[finite], *declared)
    sensible = is_sensible(x)
    if not digits and sensible and finite.all() and _digits_tell(samples, *declared):
        # floats of another format or order that are all finite, sensible and have the digits of this one: none of
        # 900 ways to write and misread records and noise
        return "", ""
    broken = finite.mean() <= 0.5
    samples = samples if broken else samples[finite]
    digits = wrong_kind(samples, *declared)
    rough = roughness(decode(samples, *declared))
    if not digits and (not math.isfinite(rough) or rough < 0.02):
        return "", ""
    sensible = is_sensible(decode(samples, *declared))
    best, smoothest = None, math.inf
    for code, order in _others(*declared):
        x = decode(samples, code, order)
        # the bits of floats, read as integers, are their logarithms: smooth, but the floats make sense
        if wrong_kind(samples, code, order) or not is_sensible(x) or (code == 2 and sensible):
            continue
        smooth = roughness(x)
        # digits tell IBM from IEEE whatever the traces hold; all else must be much smoother, or finite at last
        limit = NOISE if broken and np.isfinite(x).all() else SMOOTHER * rough
        by_digits = bool(digits) and order == declared[1] and code in (1, 5) and layout.format in (1, 5)
        if (by_digits or smooth < limit) and not smooth >= SMOOTHER * smoothest:
            best, smoothest = (code, order), smooth
    return _said(declared, best, layout.endian, digits) if best else ("", "")


def as_declared(spots: NDArray[np.uint8], code: int, order: Endian) -> NDArray[np.bool_]:
    """Return of which files the bits are floats of the declared format and order beyond doubt: `suspect` is silent.

    Parameters
    ----------
    spots : ndarray, (n files, traces, bytes), uint8
        The traces and bytes of each file that `spot_of` chooses.

    Returns
    -------
    ndarray, (n files,), bool
    """
    n = len(spots)
    if code not in (1, 5):
        return np.zeros(n, bool)
    spots = np.ascontiguousarray(spots)
    words = spots.view(">u4" if order == "big" else "<u4").astype(np.uint32).reshape(n, -1)
    ends = np.count_nonzero(spots[..., ::4], axis=(1, 2)) + np.count_nonzero(spots[..., 3::4], axis=(1, 2))
    used = (words & np.uint32(0x7FFFFFFF)) != 0
    count = np.count_nonzero(used, axis=1)
    # octaves without that of zero of either sign
    of = 256 * np.arange(n)[:, None] + (words >> np.uint32(24))
    octaves = np.bincount(of.reshape(-1), minlength=256 * n).reshape(n, 256) > 0
    octaves[:, [0, 128]] = False
    zeros = np.count_nonzero(used & ((words & np.uint32(0x00F00000)) == 0), axis=1)
    share = zeros / np.maximum(count, 1)
    digits = share > 0.0 if code == 5 else share <= _NOT_NORMALISED
    x = decode(spots.reshape(-1, spots.shape[2]), code, order).reshape(n, -1)
    size = np.abs(x)
    # where more than half of the samples are of that size, so is their median
    inside = np.count_nonzero((size > _SMALLEST) & (size < _LARGEST), axis=1)
    sensible = inside > 0.5 * np.count_nonzero(x != 0, axis=1)
    tell = (count >= _TOLD_BY) & (np.count_nonzero(octaves, axis=1) >= _OCTAVES)
    return (ends >= _FULL * words.shape[1]) & tell & digits & sensible & np.isfinite(x).all(axis=1)


def roughness(x: NDArray[np.float32]) -> float:
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


def spot_of(n: int, ns: int, code: int) -> tuple[NDArray[np.int64], slice]:
    """Return which of `n` traces, and which bytes of their samples, answer as all of them would."""
    width = FORMATS[code].size
    begin = max(0, min(ns // 4, ns - _SPOT))
    rows = np.unique(np.linspace(0, n - 1, min(n, max(_SPOT_TRACES, _SPOT // ns))).astype(np.int64))
    return rows, slice(width * begin, width * min(begin + _SPOT, ns))


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
    return some if full >= _FULL * some.size / width else np.ascontiguousarray(samples)


def is_sensible(x: NDArray[np.float32]) -> bool:
    """Return whether the typical sample is a plausible number for a trace."""
    size = np.abs(x[np.isfinite(x) & (x != 0)])
    return size.size > 0.5 * np.count_nonzero(x) and _SMALLEST < float(np.median(size)) < _LARGEST


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


def wrong_kind(samples: NDArray[np.uint8], code: int, order: Endian) -> str:
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
    if code == 1 and share > _NOT_NORMALISED:
        return "samples look like IEEE floats, the header says IBM"
    return ""


def _digits_tell(samples: NDArray[np.uint8], code: int, order: Endian) -> bool:
    """Return whether `wrong_kind` can tell what floats samples are."""
    return code in (1, 5) and _digits(samples, order)[1]


def _digits(samples: NDArray[np.uint8], order: Endian) -> tuple[NDArray[np.uint32], bool]:
    """Return the samples that are not zero as 32-bit words, and whether they are many and span octaves."""
    words = np.ascontiguousarray(samples).view(">u4" if order == "big" else "<u4").astype(np.uint32)
    nonzero = words[(words & np.uint32(0x7FFFFFFF)) != 0]
    if nonzero.size < _TOLD_BY:
        return nonzero, False
    used = np.bincount(nonzero >> np.uint32(24), minlength=256)
    return nonzero, bool(np.count_nonzero(used) >= _OCTAVES)
