"""The content of a movie of one shot: 8-bit frames of its wavefields and of the growing image, on a thinned grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: the largest level of a frame; levels run from -127 to 127
TOP = 127
#: percentiles of |a| at which a display may clip
PERCENTILES = (80.0, 90.0, 95.0, 97.0, 98.0, 99.0, 99.5, 99.9, 100.0)
#: names of the fields, in the order in which a page shows them
FIELDS = ("source", "receiver", "image")
#: a frame shows a wave when more than this part of its points is stronger than that part of the clip
WAVE_COVERS, WAVE_PLAIN, WAVE_CLIP = 0.1, 0.1, 99.0


def values_of(levels: NDArray, scale: Any) -> NDArray[np.float32]:
    """Return the values behind levels: ``sign(q) (q / 127)^2 scale``."""
    q = np.asarray(levels, dtype=np.float64) / TOP
    return np.asarray(np.sign(q) * q * q * scale, dtype=np.float32)


class Frames:
    """Values (frames, nx[, ny], nz), 8 bits each with a scale per frame.

    Parameters
    ----------
    count : int
        Frames.
    shape : tuple of int
        Shape of one frame, (nx, nz) or (nx, ny, nz).
    folder : path, optional
        Keep the levels in an unnamed file of this folder rather than in memory.

    Notes
    -----
    The levels are spaced as square roots, ``value = sign(q) (q / 127)^2 scale`` with `scale` the largest |value| of
    the frame. The direct wave is often a thousand times stronger than what a movie is watched for: evenly spaced
    levels would leave those waves none. Half a level is at most ``1 / (2 q)`` of a value, hence 2 % at a tenth of
    the scale, where the eye sees no step.
    """

    def __init__(self, count: int, shape: tuple[int, ...], folder: str | Path | None = None) -> None:
        self.shape = tuple(shape)
        self.scale = np.zeros(count, dtype=np.float32)
        #: how often each |level| occurs in each frame, which is all that percentiles need
        self.counts = np.zeros((count, TOP + 1), dtype=np.int64)
        self._written: set[int] = set()
        if folder is None:
            self.levels: NDArray[np.int8] = np.zeros((count, *self.shape), dtype=np.int8)
            self._file = None
        else:
            from subsalt.io.scratch import UnnamedFile

            self._file = UnnamedFile(folder)

    def __len__(self) -> int:
        return len(self.scale)

    @property
    def nbytes(self) -> int:
        """Bytes of the levels."""
        return len(self) * math.prod(self.shape)

    def put(self, i: int, values: NDArray) -> None:
        """Quantise `values`, of the shape of a frame, as frame `i`; what is not finite becomes 0."""
        a = np.asarray(values, dtype=np.float32)
        if a.shape != self.shape:
            raise ValueError(f"frame of shape {a.shape}, the movie has {self.shape}")
        size = np.abs(a)
        size[~np.isfinite(size)] = 0
        scale = float(size.max(initial=0.0))
        self.scale[i] = scale
        # square roots in float32, in place: quantising must not cost what propagating does
        if scale > 0:
            size /= np.float32(scale)
            np.sqrt(size, out=size)
            size *= TOP
            np.rint(size, out=size)
        level = size.astype(np.int8)
        self.counts[i] = np.bincount(level.ravel(), minlength=TOP + 1)
        np.negative(level, out=level, where=a < 0)
        if self._file is None:
            self.levels[i] = level
        else:
            self._file.write(level.tobytes(), i * level.size)
            self._written.add(i)

    def frame(self, i: int) -> NDArray[np.float32]:
        """Return the values of frame `i`."""
        return values_of(self.level(i), self.scale[i])

    def level(self, i: int) -> NDArray[np.int8]:
        """Return the levels of frame `i`."""
        return self._slab(i, 0, self.shape[0])

    def plane(self, i: int, axis: int, index: int) -> NDArray[np.int8]:
        """Return the levels of frame `i` at `index` along `axis`, as a picture has them: rows along the last axis.

        A frame in a file is not read whole: only the plane, or a slab at a time.
        """
        if len(self.shape) == 2:
            return np.ascontiguousarray(self.level(i).T)
        if axis == 0:
            return np.ascontiguousarray(self._slab(i, index, index + 1)[0].T)
        step = max(1, (1 << 22) // math.prod(self.shape[1:]))
        slabs = (self._slab(i, lo, min(lo + step, self.shape[0])) for lo in range(0, self.shape[0], step))
        return np.ascontiguousarray(np.concatenate([np.take(s, index, axis=axis) for s in slabs]).T)

    def _slab(self, i: int, lo: int, hi: int) -> NDArray[np.int8]:
        """Return the levels of frame `i` for ``lo <= ix < hi``."""
        if self._file is None:
            return self.levels[i, lo:hi]
        row = math.prod(self.shape[1:])
        if i not in self._written:
            return np.zeros((hi - lo, *self.shape[1:]), dtype=np.int8)
        data = self._file.read((hi - lo) * row, (i * self.shape[0] + lo) * row)
        return np.frombuffer(data, dtype=np.int8).reshape(hi - lo, *self.shape[1:])

    def clips(self) -> NDArray[np.uint8]:
        """Return the |level| at each of `PERCENTILES` in each frame, (frames, percentiles); zeros don't count."""
        counts = self.counts[:, 1:]
        below = np.cumsum(counts, axis=1)
        out = np.ones((len(self), len(PERCENTILES)), dtype=np.uint8)
        for j, p in enumerate(PERCENTILES):
            needed = np.ceil(below[:, -1] * (p / 100.0))
            out[:, j] = 1 + np.argmax(below >= needed[:, None], axis=1)
        return out

    def covered(self) -> NDArray[np.float64]:
        """Return the part of each frame, (frames,), that is no plain grey where the movie clips at `WAVE_CLIP`."""
        plain = WAVE_PLAIN * self.movie_clips()[PERCENTILES.index(WAVE_CLIP)]
        q = np.arange(TOP + 1) / TOP
        seen = q * q * self.scale[:, None].astype(np.float64) > plain
        return (self.counts * seen).sum(axis=1) / max(1, math.prod(self.shape))

    def movie_clips(self) -> NDArray[np.float64]:
        """Return the |value| at each of `PERCENTILES` over all frames; zeros don't count."""
        q = np.arange(1, TOP + 1) / TOP
        values = (q * q * self.scale[:, None].astype(np.float64)).ravel()
        counts = self.counts[:, 1:].ravel()
        order = np.argsort(values, kind="stable")
        below = np.cumsum(counts[order])
        if not below.size or below[-1] == 0:
            return np.ones(len(PERCENTILES))
        needed = np.ceil(below[-1] * np.array(PERCENTILES) / 100.0)
        return values[order][np.searchsorted(below, needed)]


def quantise(values: NDArray) -> Frames:
    """Return (frames, nx[, ny], nz) values as `Frames`."""
    out = Frames(len(values), values.shape[1:])
    for i, one in enumerate(values):
        out.put(i, one)
    return out


@dataclass(frozen=True)
class MovieAxis:
    """Places along one axis of a movie: ``origin + i spacing`` for ``0 <= i < n``, m in the model's local frame.

    Parameters
    ----------
    name : {"x", "y", "z"}
        Name of the axis, and key that moves along it.
    origin, spacing : float
        First place, and distance to the next.
    n : int
        Places.
    label, unit : str
        Text at the axis, the name when left out, and unit of its places; line numbers have none.
    long : float, optional
        Length at which the axis is drawn beside the others; ``n spacing`` when left out.
    """

    name: str
    origin: float
    spacing: float
    n: int
    label: str = ""
    unit: str = "m"
    long: float | None = None

    @property
    def last(self) -> float:
        """The last place, m."""
        return self.origin + (self.n - 1) * self.spacing


@dataclass
class Movie:
    """The content of a page about one shot.

    Parameters
    ----------
    shot : int
        Id of the shot.
    title, run_id : str
        Title and id of the run.
    axes : tuple of MovieAxis
        x, [y,] z of the frames: the shot's window, thinned.
    times : ndarray, (frames,)
        Time of each frame, s, ascending.
    samples : ndarray, (frames,), int
        Imaged samples behind the frames.
    velocity : ndarray, (nx[, ny], nz)
        Velocity on the same grid, m/s.
    fields : dict of str to Frames
        ``source``, ``receiver``, ``image``, or some of them, in this order. The frame of the image at time t
        holds what samples up to t have added, so that it grows as the movie runs.
    sources, receivers : ndarray, (n, 3)
        Local positions, m.
    reimage : str
        The command that a picked region is added to, such as ``subsalt reimage demo/run``; "" offers none.
    facts : dict of str to str
        More to say about the movie, by name.
    """

    shot: int
    title: str
    run_id: str
    axes: tuple[MovieAxis, ...]
    times: NDArray[np.float64]
    samples: NDArray[np.int64]
    velocity: NDArray[np.float32]
    fields: dict[str, Frames]
    sources: NDArray[np.float64]
    receivers: NDArray[np.float64]
    reimage: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one frame."""
        return tuple(a.n for a in self.axes)

    @property
    def opening(self) -> int:
        """The frame at which a player opens: the first that shows a wave in the first field, or one after a third."""
        shows = next(iter(self.fields.values())).covered() >= WAVE_COVERS if self.fields else np.zeros(0)
        return int(np.argmax(shows)) if shows.any() else len(self.times) // 3

    @property
    def nbytes(self) -> int:
        """Bytes of all levels: what a page holds once it is unpacked."""
        return sum(f.nbytes for f in self.fields.values())
