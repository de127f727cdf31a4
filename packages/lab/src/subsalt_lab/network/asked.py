"""What the options of `lab network` ask for: sizes of messages and numbers of ranks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from subsalt.host import usable_cores
from subsalt_lab.asked import words, wrong

#: counts of MPI are integers of 32 bits; larger messages say nothing new
LARGEST = 1 << 30
#: as many as `net.c` has room for
MOST = 64

_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def message(option: str, text: str) -> int:
    """Return the bytes of a message, such as ``0``, ``8``, ``64K`` or ``4MiB``: of messages K is 1024.

    Raises
    ------
    ConfigError
        When it is none, or larger than `LARGEST`.
    """
    found = re.fullmatch(r"\s*(\d+)\s*([kmg]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if found is None:
        raise wrong(
            f"{option} {text}: not a message size", f"use such as {option} 0:4M, or {option} 8,1K,64K"
        )
    nbytes = int(found[1]) * _BINARY[found[2].lower()]
    if nbytes > LARGEST:
        raise wrong(f"{option} {text}: larger than 1 GiB", "use smaller messages")
    return nbytes


def sizes(option: str, text: str, factor: int = 2) -> list[int]:
    """Return message sizes, ascending: of ``8:4M`` 8 times powers of `factor` up to 4 MiB, of ``8,1K`` those.

    Parameters
    ----------
    option : str
        How an error calls it.
    text : str
        Its value. A range that begins with 0 has 0, 1, and so on.
    factor : int
        From one size of a range to the next.

    Raises
    ------
    ConfigError
        When it is neither, or empty.
    """
    first, colon, last = text.partition(":")
    if not colon:
        found = sorted({message(option, w) for w in words([text])})
        if not 1 <= len(found) <= MOST:
            raise wrong(f"{option} {text!r}: {len(found)} sizes", f"give 1 to {MOST}")
        return found
    low, high = message(option, first), message(option, last)
    if low > high:
        raise wrong(f"{option} {text}: from large to small", f"use {option} {last}:{first}")
    found = [0] if low == 0 else []
    size = max(low, 1)
    while size <= high:
        found.append(size)
        size *= factor
    return found


def ranks(given: Sequence[str] | None) -> list[int]:
    """Return numbers of ranks, ascending: two, and as many as cores, when not given.

    Raises
    ------
    ConfigError
        When one is no number from 2 on.
    """
    if given is None:
        return sorted({2, max(2, usable_cores())})
    found = words(given)
    bad = [w for w in found if not w.isdecimal() or not 2 <= int(w) <= 100000]
    if bad or not found:
        what = f"--np {' '.join(bad)}: a message needs two ranks" if bad else "--np is empty"
        raise wrong(what, "use numbers from 2 on, such as --np 2,4")
    return sorted({int(w) for w in found})
