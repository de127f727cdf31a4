"""Time images and image gathers written as SEG-Y rev 1, some locations at a time, by any rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError
from subsalt.io.segy.rev1 import binary_header, choose_scalar, delay, microseconds, scaled, trace_rows
from subsalt.io.segy.samples import encode_text

SIGNATURE = "TIME VOLUME WRITTEN BY SUBSALT"
#: header values of 2 bytes
_MOST_FOLD = 32767


class TimeImageFile:
    """The content of the SEG-Y file of a time image: its head, and the traces of any locations.

    Parameters
    ----------
    time : TimeAxis
        Two-way time of the samples.
    positions : ndarray, (n, 2), float64
        Map position of all locations, m, in their order in the file.
    numbers : ndarray, (n, 2), int64
        Inline and crossline number of each.
    cdp : ndarray, (n,), int64
        CDP number of each.
    offsets : ndarray, (m,), float64
        Offset of each of the traces of a location, m; one 0 for an image.
    what : str
        For the textual header: ``"IMAGE"``, ``"GATHERS"``, ``"HITS"``.
    text : sequence of str
        Provenance for the textual header.
    datum : ndarray, (n,), float64, optional
        Elevation of time zero at all locations, m, for bytes 53 and 57; they are 0 when None.

    Raises
    ------
    DataError
        When SEG-Y cannot say sampling interval, first time, or number of samples.
    """

    def __init__(
        self,
        time: TimeAxis,
        positions: NDArray[np.float64],
        numbers: NDArray[np.int64],
        cdp: NDArray[np.int64],
        offsets: NDArray[np.float64],
        what: str,
        text: Sequence[str],
        datum: NDArray[np.float64] | None = None,
    ) -> None:
        if time.nt > 65535:
            raise DataError(
                f"{time.nt} samples per trace; SEG-Y rev 1 holds at most 65535",
                "use a coarser step, or a later first time",
                code="E273",
            )
        self.time, self.positions, self.numbers, self.cdp = time, positions, numbers, cdp
        self.datum = datum
        self.offsets = np.round(offsets).astype(np.int32)
        self.interval, self.delay = microseconds(time.dt), delay(time.t0)
        self.scalar = choose_scalar(positions.reshape(-1), "coordinates")
        many = len(offsets) > 1
        lines = [
            f"{SIGNATURE}: {what}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
            f"TWO-WAY TIME FROM {time.t0 * 1e3:g} MS, INTERVAL {time.dt * 1e3:g} MS, {time.nt} SAMPLES",
            f"{len(positions)} LOCATIONS, {len(offsets)} TRACE{'S' * many} EACH; INLINE 189, CROSSLINE 193, CDP 21",
            f"CDP X 181, CDP Y 185, SCALAR (71) {self.scalar}; TRACES SUMMED 33",
        ]
        if many:
            lines.append("OFFSET 37 (M), NUMBER IN THE GATHER 25; DEAD CLASSES ARE ZERO TRACES")
        head = binary_header(time.nt, self.interval, len(offsets), sorting=2 if many else 4)
        self.head = encode_text([*lines, *text]) + head
        self.location_bytes = len(offsets) * (240 + 4 * time.nt)
        self.size = len(self.head) + len(positions) * self.location_bytes

    @property
    def traces(self) -> int:
        """Traces of the whole file."""
        return len(self.positions) * len(self.offsets)

    def offset(self, location: int) -> int:
        """Return where a location begins in the file."""
        return len(self.head) + location * self.location_bytes

    def rows(
        self, first: int, values: NDArray[np.float32], fold: NDArray[Any] | None = None
    ) -> NDArray[np.uint8]:
        """Return the traces of some locations as bytes (n m, 240 + 4 nt).

        Parameters
        ----------
        first : int
            The first of them.
        values : ndarray, (n, m, nt), float32
            Samples.
        fold : ndarray, (n, m), optional
            Traces that were summed into each.
        """
        n, m, nt = values.shape
        raw, t = trace_rows(n * m, nt)
        some = slice(first, first + n)
        t["line_sequence"] = t["file_sequence"] = first * m + np.arange(1, n * m + 1)
        inline, crossline = (np.repeat(self.numbers[some, k], m) for k in (0, 1))
        t["inline"], t["crossline"], t["cdp"] = inline, crossline, np.repeat(self.cdp[some], m)
        t["ffid"], t["channel"] = inline, crossline if m == 1 else np.tile(np.arange(1, m + 1), n)
        t["ensemble_sequence"] = np.tile(np.arange(1, m + 1), n)
        t["trace_id"] = t["use"] = t["coordinate_units"] = t["elevation_scalar"] = 1
        t["offset"] = np.tile(self.offsets, n)
        xy = np.repeat(scaled(self.positions[some], self.scalar), m, axis=0)
        t["cdp_x"], t["cdp_y"] = xy[:, 0], xy[:, 1]
        t["source_x"], t["source_y"] = xy[:, 0], xy[:, 1]
        t["coordinate_scalar"] = self.scalar
        t["delay"], t["time_scalar"] = self.delay
        t["ns"], t["dt"] = nt, self.interval
        if fold is not None:
            # number of horizontally summed traces, bytes 33-34
            raw[:, 32:34] = (
                np.minimum(fold.reshape(-1), _MOST_FOLD).astype(">i2").view(np.uint8).reshape(-1, 2)
            )
        if self.datum is not None:
            # to a centimetre: datum elevations at receiver and source, bytes 53 and 57
            t["elevation_scalar"] = -100
            height = (
                np.repeat(np.round(100 * self.datum[some]), m).astype(">i4").view(np.uint8).reshape(-1, 4)
            )
            raw[:, 52:60] = np.tile(height, 2)
        t["samples"] = values.reshape(-1, nt)
        return raw
