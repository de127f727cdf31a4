"""What the Intel MPI Benchmarks print: tables of one benchmark each, by message size."""

from __future__ import annotations

import re
from dataclasses import dataclass

from subsalt.errors import SubsaltError

#: columns of a table: of what is timed, and of what counts bytes
TIMED = ["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"]
COUNTED = ["#bytes", "#repetitions", "Mbytes/sec", "Msg/sec"]
SPREAD = ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"]


@dataclass(frozen=True)
class Line:
    """One line of a table.

    Parameters
    ----------
    benchmark : str
        Such as ``"PingPong"``.
    ranks : int
        That take part.
    nbytes : int
        Of a message.
    seconds : float, optional
        Of one call; of PingPong half a round trip, of operations of all ranks that of the slowest.
    rate : float, optional
        Bytes per second; of Uniband and Biband those of all messages.
    """

    benchmark: str
    ranks: int
    nbytes: int
    seconds: float | None
    rate: float | None


def read(text: str) -> list[Line]:
    """Return the lines of all tables; a size that ran out of time ends its table.

    Parameters
    ----------
    text : str
        What IMB-MPI1 printed.

    Raises
    ------
    SubsaltError
        When it is no output of IMB-MPI1, has columns that are not known, or is cut off (E957).
    """
    if "Intel(R) MPI Benchmarks" not in text:
        raise _unusable("its first lines do not name the Intel(R) MPI Benchmarks")
    found: list[Line] = []
    benchmark, ranks = "", 0
    columns: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if begin := re.match(r"# Benchmarking (\w+)", line):
            benchmark, ranks, columns = begin[1], 0, []
        elif count := re.match(r"# #processes = (\d+)", line):
            ranks = int(count[1])
        elif words[:1] == ["#bytes"]:
            columns = words
            if columns not in (TIMED, COUNTED, SPREAD):
                raise _unusable(f"{benchmark} has columns {' '.join(columns)}")
        elif columns and words and words[0].isdecimal():
            if "time-out" in line:
                columns = []
                continue
            found.append(_line(benchmark, ranks, columns, words))
    if not found:
        raise _unusable("it has no figures")
    if "# All processes entering MPI_Finalize" not in text:
        raise _unusable("it is cut off")
    return found


def _line(benchmark: str, ranks: int, columns: list[str], words: list[str]) -> Line:
    try:
        if len(words) != len(columns) or not ranks:
            raise ValueError
        nbytes = int(words[0])
        value = {c: float(w) for c, w in zip(columns[2:], words[2:], strict=True)}
    except ValueError:
        raise _unusable(f"{benchmark} has the line {' '.join(words)!r}") from None
    micro = value.get("t_max[usec]", value.get("t[usec]"))
    rate = value.get("Mbytes/sec")
    return Line(
        benchmark,
        ranks,
        nbytes,
        None if micro is None else micro * 1e-6,
        # 10^6 bytes since IMB 2018
        rate * 1e6 if rate else None,
    )


def _unusable(why: str) -> SubsaltError:
    return SubsaltError(
        f"the output of IMB-MPI1 cannot be used: {why}",
        "use IMB-MPI1 of 2018 or later, and let it come to its end",
        code="E957",
    )
