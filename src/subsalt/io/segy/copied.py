"""Damage that copying did to a file: a byte order mark before it, bytes replaced as text, an end at a limit of size."""

from __future__ import annotations

from subsalt.errors import SegyError
from subsalt.io.input_file import InputFile

#: marks of byte order before texts, and the encoding that they say
_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
#: what UTF-8 puts where bytes are no text
_REPLACED = b"\xef\xbf\xbd"
#: bytes at which file systems and programs end a file, and whose limit they are: signed and unsigned 32-bit numbers
_LIMITS = {1 << 31: "2 GiB", 1 << 32: "4 GiB"}
#: a program that copies pieces stops with the last whole one: one of them, or a page as one call of Linux does
_PIECE = 1 << 16


def refuse_text_copy(file: InputFile) -> None:
    """Raise `SegyError` when a program for texts has written a file: a mark before it, or bytes replaced.

    Raises
    ------
    SegyError
        E291.
    """
    head = file.read_at(0, min(file.size, 3600))
    for mark, encoding in _MARKS.items():
        # little-endian SU may begin with a trace number that ends in the two bytes of a UTF-16 mark
        if head.startswith(mark) and (
            len(mark) > 2 or head[1:64:2].count(0) > 24 or head[0:64:2].count(0) > 24
        ):
            name = file.path.name
            cure = (
                f"copy the file again as binary data, or remove the mark: tail -c +{len(mark) + 1} {name} > new-{name}"
                if len(mark) > 2
                else "copy the file again as binary data: its bytes were written as text"
            )
            raise SegyError(
                f"{file.path} begins with a byte order mark ({encoding}, {len(mark)} bytes), as programs for texts "
                f"write it: all headers and samples lie {len(mark)} bytes later than they should",
                cure,
                code="E291",
            )
    if (replaced := head.count(_REPLACED)) > 3:
        raise SegyError(
            f"{file.path}: {replaced} of the first {len(head)} bytes were replaced by the mark of UTF-8 for what is no "
            "text: a program for texts has copied it, and every byte above 127 is lost",
            "copy the file again as binary data",
            code="E291",
        )


def limit_of_size(size: int) -> str:
    """Return the limit at which a file of so many bytes ends, in words; empty when it is none."""
    for limit, words in _LIMITS.items():
        if limit - _PIECE <= size <= limit:
            return words
    return ""


def ends_at_limit(path: str, size: int, cure: str) -> SegyError | None:
    """Return the error of a file that ends inside a trace at a limit of size; None where there is no such limit."""
    words = limit_of_size(size)
    if not words:
        return None
    return SegyError(
        f"{path} ends inside a trace at {size} bytes, {words}"
        + (f" less {n}" if (n := (1 << 31 if words[0] == "2" else 1 << 32) - size) else "")
        + ": this is the limit of a file system or of the program that copied it, and the rest of the file is missing",
        cure,
        code="E292",
    )
