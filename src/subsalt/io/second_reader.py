"""Every SEG-Y or SU file we write is read back by segyio before it gets its name.

A second, independent implementation sees the temporary file: number of traces and samples, format, interval,
and the first and last trace with their headers. What it cannot read the same way is not published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CorruptionError
from subsalt.io.headers import TRACE_HEADER
from subsalt.parallel.comm import Comm

#: header values that are compared: first byte of each
_BYTES = (9, 13, 37, 71, 73, 77, 81, 85, 115, 117)


@dataclass
class Expectation:
    """What segyio must find in a file.

    Parameters
    ----------
    su : bool
        The file is SU, little-endian; SEG-Y, big-endian, otherwise.
    """

    su: bool
    n_traces: int
    ns: int
    interval: int
    first: NDArray[np.uint8] | None = field(default=None, repr=False)
    last: NDArray[np.uint8] | None = field(default=None, repr=False)

    def note(self, rows: NDArray[np.uint8]) -> None:
        """Remember the first and last of traces (n, 240 + 4 ns) that are being written."""
        if len(rows):
            self.first = rows[0].copy() if self.first is None else self.first
            self.last = rows[-1].copy()

    def gather(self, first: NDArray[np.uint8] | None, last: NDArray[np.uint8] | None, comm: Comm) -> None:
        """Collect the first and the last trace on the first rank, from whoever has them. Collective."""
        told = comm.gather([None if row is None else row.tobytes().hex() for row in (first, last)])
        ends: list[NDArray[np.uint8] | None] = [None, None]
        for found in told or []:
            for i, row in enumerate(found):
                if row is not None:
                    ends[i] = np.frombuffer(bytes.fromhex(row), np.uint8)
        self.first, self.last = ends

    def check(self, path: Path) -> None:
        """Read the file at `path` with segyio; raise `CorruptionError` on any difference."""
        import segyio

        reader = segyio.su.open if self.su else segyio.open
        endian = "little" if self.su else "big"
        try:
            with reader(str(path), ignore_geometry=True, endian=endian) as f:
                wrong = self._differences(f)
        except (RuntimeError, ValueError, OSError) as e:
            wrong = [str(e)]
        if wrong:
            raise CorruptionError(
                f"a file that was just written reads back differently: {'; '.join(wrong)}",
                "check the disk; if it happens again, report it with the job file",
                code="E642",
            )

    def _differences(self, f: Any) -> list[str]:
        wrong = []
        facts = {"traces": (f.tracecount, self.n_traces), "samples": (len(f.samples), self.ns)}
        if not self.su:
            facts["format"] = (int(f.format), 5)
            facts["interval"] = (int(f.bin[3217]) & 0xFFFF, self.interval)
        wrong += [f"{name} {got} instead of {want}" for name, (got, want) in facts.items() if got != want]
        if wrong:
            return wrong
        order = "<" if self.su else ">"
        for number, row in ((0, self.first), (self.n_traces - 1, self.last)):
            if row is None:
                continue
            samples = row[TRACE_HEADER:].view(order + "f4").astype(np.float32)
            if not np.array_equal(f.trace[number], samples, equal_nan=True):
                wrong.append(f"samples of trace {number + 1}")
            for byte in _BYTES:
                kind = "i2" if byte in (71, 115, 117) else "i4"
                want = int(row[byte - 1 : byte - 1 + int(kind[1])].view(order + kind)[0])
                if (int(f.header[number][byte]) - want) & 0xFFFF:
                    wrong.append(f"byte {byte} of trace {number + 1}")
        return wrong
