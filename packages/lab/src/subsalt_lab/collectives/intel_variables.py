"""Variables of Intel MPI that choose algorithms: ``I_MPI_ADJUST_<COLL>=n:low-high@p-p;...``.

Its tuning files are documented for its own tuner only. The variable takes ranges of message sizes and of ranks,
both ends included.
"""

from __future__ import annotations

from collections.abc import Sequence

from subsalt_lab.collectives.choice import Choice

#: largest size that a range can name
NO_END = 2**31 - 1


def name(collective: str) -> str:
    """Return the variable of a collective."""
    return f"I_MPI_ADJUST_{collective.upper()}"


def variables(choices: Sequence[Choice]) -> dict[str, str]:
    """Return the variables that bring choices about.

    Parameters
    ----------
    choices : sequence of Choice
        Sizes that no choice covers are left to the library.
    """
    out: dict[str, list[str]] = {}
    for c in sorted(choices, key=lambda c: (c.collective, c.comm_size, c.bytes_from)):
        last = NO_END if c.bytes_below is None else c.bytes_below - 1
        condition = f"{c.algorithm.number}:{c.bytes_from}-{last}@{c.comm_size}-{c.comm_size}"
        out.setdefault(name(c.collective), []).append(condition)
    return {key: ";".join(conditions) for key, conditions in out.items()}
