"""The textual header of SEG-Y: 40 lines of 80 characters, in EBCDIC or ASCII."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

TEXT_HEADER = 3200
_LINES, _COLUMNS = 40, 80

#: what texts are made of, in the codes of either encoding
_USUAL = {
    name: (string.ascii_letters + string.digits + " .,:;-/()=+").encode(name) for name in ("cp037", "latin-1")
}


def _printable(text: str) -> str:
    """Return text in which nothing can steer a terminal: other characters become a dot."""
    return re.sub(r"[^ -~]", ".", text)


def _usual(raw: bytes, encoding: str) -> int:
    """Return how many characters are what texts are made of."""
    return len(raw) - len(raw.translate(None, _USUAL[encoding]))


def decode_text(raw: bytes) -> tuple[list[str], str]:
    """Return the 40 lines and the encoding, ``"EBCDIC"``, ``"ASCII"`` or ``"unreadable"``."""
    score, name, encoding = max(
        (_usual(raw, "cp037"), "EBCDIC", "cp037"),
        (_usual(raw, "latin-1"), "ASCII", "latin-1"),
        key=lambda s: s[0],
    )
    # NUL pads many headers and says nothing about the encoding
    if score + raw.count(b"\0") < 0.5 * max(len(raw), 1):
        name = "unreadable"
    text = _printable(raw.decode(encoding).replace("\0", " ")).ljust(TEXT_HEADER)
    return [text[i : i + _COLUMNS].rstrip() for i in range(0, TEXT_HEADER, _COLUMNS)], name


def encode_text(lines: Sequence[str]) -> bytes:
    """Return 3200 EBCDIC bytes of up to 39 lines, numbered C01 to C39; line 40 ends the header as rev 1 asks.

    Longer lines are wrapped by words; more than 38 lines of content are cut, and the last one says so.
    """
    out: list[str] = []
    for line in lines:
        words = _printable(line).split(" ")
        row = ""
        for word in words:
            while len(row) + len(word) + 1 > 76:
                if row:
                    out.append(row)
                    row, word = "", "  " + word
                else:
                    out.append(word[:76])
                    word = "  " + word[76:]
            row = f"{row} {word}" if row else word
        out.append(row)
    if len(out) > 38:
        out = [*out[:37], "... (cut: the header has room for 38 lines)"]
    out = out + [""] * (38 - len(out)) + ["SEG Y REV1", "END TEXTUAL HEADER"]
    return "".join(f"C{i + 1:2d} {line}".ljust(_COLUMNS)[:_COLUMNS] for i, line in enumerate(out)).encode(
        "cp037"
    )
