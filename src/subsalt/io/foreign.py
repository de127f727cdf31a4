"""Files of other formats under the names of SEG-Y and SU: recognised by their first bytes, and refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from subsalt.errors import SegyError

#: format codes of SEG-D (bytes 3 and 4 of its first general header), as hexadecimal digits
_SEGD_CODES = {
    "0015", "0022", "0024", "8015", "8022", "8024", "8036", "8038", "8042", "8044", "8048", "8058", "8080",
}  # fmt: skip
_CONVERT = "convert it to SEG-Y first, with the contractor's software, SU (segdread), or another reader of the format"


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise `SegyError` when the first bytes of a file are those of SEG-D or SEG-2."""
    name = _segd(head) or _seg2(head)
    if name:
        raise SegyError(f"{path} is {name}, not SEG-Y or SU", _CONVERT, code="E248")


def _seg2(head: bytes) -> str:
    """Return the name of SEG-2 when its file descriptor block begins here."""
    if head[:2] not in (b"\x55\x3a", b"\x3a\x55") or len(head) < 8:
        return ""
    order: Literal["little", "big"] = "little" if head[:2] == b"\x55\x3a" else "big"
    revision, size, traces = (int.from_bytes(head[i : i + 2], order) for i in (2, 4, 6))
    return "SEG-2" if revision <= 2 and 0 < traces <= size else ""


def _segd(head: bytes) -> str:
    """Return the name of SEG-D when a storage label or its first general header begins here."""
    label = head[:128].decode("latin-1")
    if label[4:7] in ("SD1", "SD2", "SD3") and label[:4].strip().isdigit():
        return f"SEG-D (rev {label[6]}, with a storage label)"
    if len(head) < 32:
        return ""
    digits = head[:32].hex()
    if digits[4:8] not in _SEGD_CODES:
        return ""
    # file number and time of the shot are digits, or all ones where the extended header says them
    number, year, day = digits[0:4], digits[20:22], digits[23:26]
    plain = (number.isdigit() or number == "ffff") and year.isdigit() and day.isdigit()
    return f"SEG-D (format code {digits[4:8]})" if plain and 1 <= int(day) <= 366 else ""
