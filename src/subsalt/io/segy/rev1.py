"""SEG-Y rev 1 as we write it: scalars, binary header, trace headers; and how segyio reads each file back before it
gets its name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CorruptionError, DataError, GeometryError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.publish import atomic_write
from subsalt.io.segy.headers import TRACE_HEADER, HeaderBytes
from subsalt.parallel.comm import Comm

#: scalars to choose from, finest last: positions become exact, or at least exact to half a unit
_SCALARS = (-100, -1000, -10000)


def choose_scalar(values: NDArray[np.float64], what: str = "positions") -> int:
    """Return the coarsest SEG-Y scalar that stores `values` (m) exactly to a micrometre, else the finest that
    fits.

    Raises
    ------
    GeometryError
        When no scalar keeps them within a centimetre in 32 bits.
    """
    largest = float(np.abs(values).max()) if values.size else 0.0
    best = 0
    for scalar in _SCALARS:
        if largest * -scalar >= 2**31 - 1:
            break
        best = scalar
        scaled = values * -scalar
        if not values.size or float(np.abs(scaled - np.round(scaled)).max()) <= 1e-6 * -scalar:
            return scalar
    if best == 0:
        raise GeometryError(
            f"{what} reach {largest:,.0f} m, more than SEG-Y can hold to a centimetre",
            "use coordinates nearer to the survey",
            code="E324",
        )
    return best


def scaled(values: NDArray[np.float64], scalar: int) -> NDArray[np.int32]:
    """Return values (m) as header numbers under a negative (dividing) scalar."""
    return np.round(values * -scalar).astype(np.int32)


def microseconds(dt: float) -> int:
    """Return a sample interval (s) as the whole number of microseconds SEG-Y asks for, or say why not."""
    us = round(dt * 1e6)
    if us < 1 or us > 32767 or abs(us - dt * 1e6) > 1e-6 * us:
        raise DataError(
            f"dt = {dt * 1e3:.9g} ms is not a whole number of microseconds from 1 to 32767, which is all "
            "SEG-Y can say",
            f"record with dt = {min(max(us, 1), 32767) / 1e3:g} ms, or write RSF or NumPy",
            code="E270",
        )
    return us


def binary_header(ns: int, interval: int, per_ensemble: int, sorting: int, text_headers: int = 0) -> bytes:
    """Return the 400 bytes of a rev 1 binary header: IEEE floats, metres, traces of one length."""
    out = bytearray(400)

    def put(byte: int, kind: str, value: int) -> None:
        struct.pack_into(">" + kind, out, byte - 3201, value)

    for byte in (3201, 3205, 3209):
        put(byte, "i", 1)
    put(3213, "H", min(per_ensemble, 65535))
    put(3217, "H", interval)
    put(3219, "H", interval)
    put(3221, "H", ns)
    put(3223, "H", ns)
    put(3225, "h", 5)
    put(3227, "h", 1)
    put(3229, "h", sorting)
    put(3255, "h", 1)
    put(3501, "h", 0x0100)
    put(3503, "h", 1)
    put(3505, "h", text_headers)
    return bytes(out)


def trace_rows(n: int, ns: int, endian: Literal["big", "little"] = "big") -> tuple[NDArray, NDArray]:
    """Return zeroed traces as one array of bytes, and a view with the header values by name plus ``samples``.

    Returns
    -------
    raw : ndarray, (n, 240 + 4 ns), uint8
    view : structured ndarray, (n,)
        Fields of `HeaderBytes`, ``line_sequence`` (1), ``file_sequence`` (5), ``ensemble_sequence`` (25),
        ``use`` (35) and ``samples`` (ns floats).
    """
    order = ">" if endian == "big" else "<"
    base = HeaderBytes().dtype(endian)
    extra = {"line_sequence": 1, "file_sequence": 5, "ensemble_sequence": 25, "use": 35}
    names = [*(base.names or ()), *extra, "samples"]
    formats = [base[n] for n in base.names or ()] + [order + ("i2" if n == "use" else "i4") for n in extra]
    offsets = [base.fields[n][1] for n in base.names or ()] + [b - 1 for b in extra.values()]  # type: ignore[index]
    kind = np.dtype(
        {
            "names": names,
            "formats": [*formats, (order + "f4", (ns,))],
            "offsets": [*offsets, 240],
            "itemsize": 240 + 4 * ns,
        }
    )
    raw = np.zeros((n, 240 + 4 * ns), np.uint8)
    return raw, raw.reshape(-1).view(kind)


def delay(t0: float) -> tuple[int, int]:
    """Return delay (byte 109) and time scalar (215) for a first sample at `t0`, s."""
    for scalar in (1, -10, -100, -1000):
        value = t0 * 1000 * (-scalar if scalar < 0 else 1)
        if abs(value) < 32768 and abs(value - round(value)) < 1e-6 * max(1.0, abs(value)):
            return round(value), scalar
    raise DataError(
        f"the first sample lies at {t0 * 1e3:.9g} ms, which SEG-Y cannot say",
        "let traces start at a whole number of microseconds within 32 s of the shot",
        code="E271",
    )


#: header values that are compared: first byte of each
_BYTES = (9, 13, 37, 71, 73, 77, 81, 85, 115, 117)


@dataclass
class Expectation:
    """Headers and traces that segyio must read in a file.

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
        """Collect the first and the last trace on the first rank, from the ranks that have them. Collective."""
        gathered = comm.gather([None if row is None else row.tobytes().hex() for row in (first, last)])
        ends: list[NDArray[np.uint8] | None] = [None, None]
        for pair in gathered or []:
            for i, row in enumerate(pair):
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


def publish_traces(
    path: Path, head: bytes, blocks: Iterable[NDArray[np.uint8]], expected: Expectation
) -> None:
    """Publish a SEG-Y or SU file once segyio has read it back.

    Parameters
    ----------
    head : bytes
        Textual and binary header; empty for SU.
    blocks : iterable of ndarray, (n, 240 + 4 ns), uint8
        The traces, one block in memory at a time.
    expected : Expectation
        Headers and traces that must be read back.
    """
    size = len(head) + expected.n_traces * (TRACE_HEADER + 4 * expected.ns)
    with atomic_write(path, size=size, verify=expected.check) as f:
        f.write(head)
        for block in blocks:
            expected.note(block)
            f.write(raw_bytes(block))
