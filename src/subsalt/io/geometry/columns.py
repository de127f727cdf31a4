"""Text files of fixed columns, read a piece at a time: lines as rows of characters, fields as numbers.

A survey's files may hold 10^8 characters; a piece of them is held at one time, and what remains are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError, Finding
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile

#: bytes of a file that are read at one time
PIECE = 2 << 20
#: no number of a survey is larger
MOST = 1e12
#: a line of more bytes is no line of a text
LONGEST = 16 << 20
#: columns of a card; no record read here has characters beyond
CARD = 80
#: lines of a piece that are cards at one time
LINES = 1 << 15
#: lines of one kind of fault that are listed, and that are counted
LISTED, COUNTED = 5, 1000


@dataclass
class Cards:
    """Lines of a file, (n, 80) characters each padded with blanks, and their numbers from 1."""

    path: str
    text: NDArray[np.uint8]
    number: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.number)

    def of(self, kinds: bytes) -> Cards:
        """Return the lines whose first character is one of `kinds`."""
        rows = np.isin(self.text[:, 0], np.frombuffer(kinds, np.uint8))
        return Cards(self.path, self.text[rows], self.number[rows])

    def words(self, first: int, last: int) -> NDArray[np.bytes_]:
        """Return the characters of columns `first` to `last` (from 1) without blanks around them, (n,)."""
        part = np.ascontiguousarray(self.text[:, first - 1 : last])
        return np.strings.strip(part.view(f"S{last - first + 1}").reshape(-1))

    def numbers(
        self, first: int, last: int, faults: Faults, what: str, default: float | None = None
    ) -> NDArray[np.float64]:
        """Return columns `first` to `last` as numbers, (n,); NaN, and a fault, where they are none.

        Parameters
        ----------
        default : float, optional
            Value of blank columns; a fault when left out.
        """
        words = self.words(first, last)
        blank = words == b""
        if default is not None:
            words = np.where(blank, b"0", words)
        try:
            out = words.astype(np.float64)
        except ValueError:
            out = np.array([_number(w) for w in words])
        bad = ~(np.abs(out) < MOST)  # NaN, too
        if default is not None:
            out[blank] = default
            bad &= ~blank
        out[bad] = np.nan
        for row in np.flatnonzero(bad):
            faults.add(
                int(self.number[row]), f"{what} (columns {first}-{last}) is {words[row].decode('latin-1')!r}"
            )
        return out


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


class Faults:
    """Lines of a file that cannot be read, collected for one message."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind, self.cure = path, kind, "correct these lines"
        self.lines: dict[int, str] = {}

    def add(self, line: int, what: str) -> None:
        """Note what is wrong with a line; the first fault of a line counts."""
        if len(self.lines) < COUNTED:
            self.lines.setdefault(line, what)

    def add_unknown(self, line: int, text: bytes, kinds: bytes, what: str) -> None:
        """Note a line that is no record: one of `kinds` behind blanks, or `what`."""
        shift = shifted(text, kinds)
        if shift:
            what = f"{shift} blank{'s' * (shift > 1)} before the {chr(text[shift])}: all columns are shifted"
            self.cure = f"take the first {shift} column{'s' * (shift > 1)} of these lines away"
        self.add(line, what)

    def findings(self) -> Iterator[Finding]:
        """Yield one error for the file."""
        if not self.lines:
            return
        listed = "; ".join(f"line {n}: {what}" for n, what in list(self.lines.items())[:LISTED])
        most = "at least " * (len(self.lines) == COUNTED)
        more = f"; and {most}{len(self.lines) - LISTED} more lines" if len(self.lines) > LISTED else ""
        yield Finding(
            "E362",
            "error",
            f"{self.path} cannot be read as {self.kind}: {listed}{more}",
            f"{self.cure}; docs/reference/formats.md has the columns",
            {"file": self.path, "lines": list(self.lines)[:50]},
        )


def no_text(path: Path) -> DataError:
    """Return the error of a file that has no lines."""
    return DataError(
        f"{path} is no text of records: a line of it is longer than {LONGEST >> 20} MB",
        "name SPS, P1/90 or P1/11 files",
        code="E362",
    )


#: byte order marks: of UTF-8, which says nothing more, and of characters of 16 bits
MARK, WIDE_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


def text_begins(file: InputFile) -> int:
    """Return where the text of a file begins, behind the mark that editors put before it.

    Raises
    ------
    DataError
        E362, for characters of 16 bits: every other byte of them is outside of a record.
    """
    head = np.empty(min(file.size, 64), np.uint8)
    file.read_into(0, raw_bytes(head))
    start = head.tobytes()
    # letters and digits of 16 bits have a zero at every other byte
    if start[:2] in WIDE_MARKS or {start[0::2].count(0), start[1::2].count(0)} == {0, len(start) // 2} != {0}:
        raise DataError(
            f"{file.path} is a text of 16-bit characters (UTF-16), as editors and spreadsheets save it",
            "save it as plain text: ASCII or UTF-8",
            code="E362",
        )
    return len(MARK) if start.startswith(MARK) else 0


def shifted(text: bytes, kinds: bytes) -> int:
    """Return by how many blanks a record of one of some kinds is shifted; 0 for what is none."""
    bare = text.lstrip()
    shift = len(text) - len(bare)
    return shift if bare[:1] and bare[:1] in kinds else 0


def read_cards(path: Path) -> Iterator[Cards]:
    """Yield the lines of a file in pieces, in order; line ends of any system, blanks for control characters."""
    with InputFile(path) as file:
        at, line, rest = text_begins(file), 1, np.empty(0, np.uint8)
        while at < file.size or len(rest):
            piece = np.empty(min(PIECE, file.size - at), np.uint8)
            if len(piece):
                file.read_into(at, raw_bytes(piece))
            at += len(piece)
            data = np.concatenate([rest, piece])
            ends = np.flatnonzero(data == 10)
            if at >= file.size:  # the last line may have no end
                ends = np.append(ends, len(data)) if not len(ends) or ends[-1] != len(data) - 1 else ends
                rest = np.empty(0, np.uint8)
            elif not len(ends):
                rest = data
                if len(rest) > LONGEST:
                    raise no_text(path)
                continue
            else:
                rest = data[ends[-1] + 1 :]
            begins = np.concatenate([[0], ends[:-1] + 1])
            # a line of one byte becomes a card of `CARD`, with two indices for each of its columns
            for k in range(0, len(ends), LINES):
                yield _cards(str(path), data, (begins[k : k + LINES], ends[k : k + LINES]), line + k)
            line += len(ends)


def _cards(
    path: str, data: NDArray[np.uint8], lines: tuple[NDArray[np.int64], NDArray[np.int64]], first: int
) -> Cards:
    """Return the cards of lines, given by where they begin and end in `data`."""
    begins, ends = lines
    column = np.arange(CARD)
    at = begins[:, None] + column
    inside = at < ends[:, None]
    text = np.where(inside, data[np.minimum(at, len(data) - 1)] if len(data) else 32, 32).astype(np.uint8)
    text[text < 32] = 32
    return Cards(path, text, np.arange(first, first + len(ends), dtype=np.int64))
