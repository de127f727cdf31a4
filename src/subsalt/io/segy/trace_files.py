"""The samples of traces, read by trace number from the files they are in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError, ResourceError, SegyError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.input_traffic import COUNTED, TRACES
from subsalt.io.segy.headers import FileLayout
from subsalt.io.segy.samples import decode_traces

#: bytes of a file held at one time
PIECE = 8 << 20
#: what lies between two wanted traces is read too when it is not more than this: one read costs more
GAP = 16 << 10


@dataclass
class TraceFiles:
    """Reads traces by number; opens a file for the time of a call only.

    Parameters
    ----------
    layouts : list of FileLayout
        The files, in the order of trace numbers; of equal samples.
    stamps : list of int, or None
        When each was changed last, ns, as it was when its headers were read; None: only their sizes are compared.
    first : ndarray, (n files + 1,), int64
        Number of the first trace of each file.
    time : TimeAxis
        Samples of what is returned.
    shift : ndarray, (n traces,), int32, or None
        Samples by which each trace begins after `time.t0`.
    dead : ndarray, int64
        Numbers, ascending, of traces to be returned as zeros.
    nan : {"error", "zero"}
        Refuse samples that are not finite, or set them to zero.
    polarity : {1, -1}
        -1 changes the sign of every sample.
    gap : int, optional
        Bytes between two wanted traces up to which they are read too; `GAP` when left out.
    """

    layouts: list[FileLayout]
    stamps: list[int] | None
    first: NDArray[np.int64]
    time: TimeAxis
    shift: NDArray[np.int32] | None
    dead: NDArray[np.int64]
    nan: Literal["error", "zero"] = "error"
    polarity: int = 1
    gap: int | None = None

    @property
    def paths(self) -> list[str]:
        """The files."""
        return [lay.path for lay in self.layouts]

    @property
    def trace_bytes(self) -> int:
        """Bytes of the longest trace with its headers."""
        return max(lay.trace_bytes for lay in self.layouts)

    def where(self, number: int) -> tuple[str, int]:
        """Return the file of a trace and its place in it, from 1, for a message."""
        f = int(np.searchsorted(self.first, number, side="right")) - 1
        return self.layouts[f].path, int(number - self.first[f]) + 1

    def read(self, number: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return traces, (len(number), time.nt) float32.

        Parameters
        ----------
        number : ndarray, (m,), int64
            Trace numbers, ascending.

        Raises
        ------
        SegyError
            A file was changed since its headers were read, or ends early.
        DataError
            Samples are not finite and `nan` is ``error``.
        ResourceError
            A file cannot be read.
        """
        out = np.empty((len(number), self.time.nt), np.float32)
        self.read_into(number, out)
        return out

    def read_into(self, number: NDArray[np.int64], out: NDArray[np.float32]) -> int:
        """Fill `out`, (len(number), time.nt), as `read` does; return the bytes read from files."""
        number = np.asarray(number, dtype=np.int64)
        if len(number) and (
            number[0] < 0
            or number[-1] >= self.first[-1]
            or (len(number) > 1 and (np.diff(number) <= 0).any())
        ):
            raise ValueError(f"trace numbers must ascend from 0 to {int(self.first[-1]) - 1}")
        ends = np.searchsorted(number, self.first)
        read = 0
        for f in np.flatnonzero(np.diff(ends)):
            own = slice(int(ends[f]), int(ends[f + 1]))
            read += self._read_file(int(f), number[own], out[own])
        if self.polarity == -1:
            np.negative(out, out=out)
        return read

    def _read_file(self, f: int, number: NDArray[np.int64], out: NDArray[np.float32]) -> int:
        lay = self.layouts[f]
        place = number - self.first[f]
        gap = GAP if self.gap is None else self.gap
        read = 0
        with InputFile(lay.path) as file:
            self._refuse_changed(f, file)
            for lo, hi in _pieces(place, lay.trace_bytes, gap):
                raw, at = _read_piece(file, lay, place[lo:hi], gap)
                self._decode(lay, raw, at, number[lo:hi], out[lo:hi])
                read += raw.nbytes
        wanted = len(number) * lay.ns * 4
        TRACES.add(wanted=wanted, read=read)
        COUNTED.add(wanted=wanted)
        out[np.isin(number, self.dead, assume_unique=True)] = 0.0
        return read

    def _refuse_changed(self, f: int, file: InputFile) -> None:
        lay = self.layouts[f]
        if file.size != lay.size:
            raise SegyError(
                f"{lay.path} had {lay.size} bytes when its headers were read, now {file.size}",
                "do not change the files of a running survey; start again",
                code="E218",
            )
        if self.stamps is not None and file.stamp != self.stamps[f]:
            raise SegyError(
                f"{lay.path} was written to after its headers were read",
                "do not change the files of a running survey; start again",
                code="E218",
            )

    def _decode(
        self,
        lay: FileLayout,
        raw: NDArray[np.uint8],
        at: NDArray[np.int64],
        number: NDArray[np.int64],
        out: NDArray[np.float32],
    ) -> None:
        """Turn the bytes of traces, beginning at `at` in `raw`, into rows of `out`."""
        late = None if self.shift is None else self.shift[number]
        bad = decode_traces(
            raw,
            at + lay.sample_offset,
            lay.ns,
            lay.format,
            lay.sample_order,
            out,
            late=late,
            zero_bad=self.nan == "zero",
        )
        if self.nan == "error" and bad.any():
            row = int(np.flatnonzero(bad)[0])
            sample = int(np.flatnonzero(~np.isfinite(out[row]))[0]) - (0 if late is None else int(late[row]))
            path, trace = self.where(int(number[row]))
            raise DataError(
                f"{path}: {int(bad.sum())} samples are not finite, the first in trace {trace}, sample {sample + 1}",
                'correct the data, or set such samples to zero: [data] bad_traces = "zero"',
                code="E250",
            )


def _pieces(place: NDArray[np.int64], size: int, gap: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that are read at one time: about `PIECE` bytes, at most a trace and a gap more."""
    step = np.diff(place, prepend=place[0] - 1) * size
    # what lies between two traces is read where the gap is small, and left out where it is not
    read = np.cumsum(np.where(step - size > gap, size, step))
    cuts = np.flatnonzero(np.diff(read // PIECE)) + 1
    yield from pairwise([0, *cuts.tolist(), len(place)])


def _read_piece(
    file: InputFile, lay: FileLayout, place: NDArray[np.int64], gap: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of some traces, and where in them each trace begins; neighbours are one read."""
    size = lay.trace_bytes
    far = np.flatnonzero((np.diff(place) - 1) * size > gap) + 1
    begin, end = place[np.r_[0, far]], place[np.r_[far - 1, len(place) - 1]] + 1
    base = np.concatenate([[0], np.cumsum((end - begin) * size)])
    raw = np.empty(int(base[-1]), np.uint8)
    outs = [raw_bytes(raw[lo:hi]) for lo, hi in pairwise(base.tolist())]
    if file.is_remote:
        file.read_ranges((lay.first_trace + begin * size).tolist(), outs)
    else:
        for a, b, out in zip(begin.tolist(), end.tolist(), outs, strict=True):
            try:
                file.read_into(lay.first_trace + a * size, out)
            except (ResourceError, SegyError) as e:
                raise type(e)(f"{e.message} (traces {a + 1} to {b})", e.fix, e.code) from e
    run = np.searchsorted(begin, place, side="right") - 1
    return raw, base[run] + (place - begin[run]) * size
