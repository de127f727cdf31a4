"""Lines that `net.c` prints: where the ranks are, and the seconds of every block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from subsalt.errors import SubsaltError
from subsalt_lab.topology import parse_list

MARK = "subsalt-net "


@dataclass(frozen=True)
class Rank:
    """Where one rank runs.

    Parameters
    ----------
    host : str
        Name of its node.
    online : int
        Hardware threads of the node.
    cpus : frozenset of int
        Those the rank may use; empty where the system does not say.
    sockets : tuple of int
        On which they lie; empty where the system does not say.
    """

    host: str
    online: int
    cpus: frozenset[int]
    sockets: tuple[int, ...]


@dataclass(frozen=True)
class MessageBlock:
    """One block of calls: seconds of one call on the slowest rank.

    Parameters
    ----------
    group : int
        Number of the set of pairs; -1 for an operation of all ranks.
    test : str
        ``"latency"`` (there and back), ``"stream"`` (a window of 64), ``"both"``, or the name of an operation.
    nbytes : int
        Bytes of a message.
    calls : int
        In the block.
    seconds : float
        Seconds of one call.
    """

    group: int
    test: str
    nbytes: int
    calls: int
    seconds: float


@dataclass(frozen=True)
class MessageTimes:
    """All that one run of the program said.

    Parameters
    ----------
    mpi : str
        Version of the library, in its own words.
    level : str
        ``"multiple"`` when any thread may call MPI.
    ranks : tuple of Rank
        By number.
    blocks : tuple of MessageBlock
        In the order of time.
    left : tuple
        (set, test, bytes) from where on messages were left out, for they take too long.
    """

    mpi: str
    level: str
    ranks: tuple[Rank, ...]
    blocks: tuple[MessageBlock, ...] = ()
    left: tuple[tuple[int, str, int], ...] = field(default=())


def read(text: str, ranks: int) -> MessageTimes:
    """Return what the program printed; lines of other programs are skipped.

    Parameters
    ----------
    text : str
        Standard output of the launcher.
    ranks : int
        Ranks that were to be started.

    Raises
    ------
    SubsaltError
        When ranks do not see each other (E782), or when the text is cut off (E951).
    """
    said = [line[len(MARK) :].split() for line in text.splitlines() if line.startswith(MARK)]
    ends = [words for words in said if words[:1] == ["end"]]
    if len(ends) > 1:
        raise SubsaltError(
            f"the launcher started {len(ends)} runs of one rank, not one of {ranks}",
            "use the launcher of the MPI that is loaded, or name it with --launcher",
            code="E782",
        )
    if not ends or [str(len(said) - 1)] != ends[0][1:]:
        raise _cut_off(
            f"{len(said)} lines came from the ranks, and no end" if not ends else "lines are missing"
        )
    mpi = level = ""
    by_rank: dict[int, Rank] = {}
    blocks: list[MessageBlock] = []
    left: list[tuple[int, str, int]] = []
    try:
        for word, *rest in said[:-1]:
            if word == "mpi":
                mpi = " ".join(rest)
            elif word == "level":
                (level,) = rest
            elif word == "rank":
                by_rank[int(rest[0])] = _rank(rest[1:])
            elif word == "left":
                left.append((int(rest[0]), rest[1], int(rest[2])))
            elif word == "block":
                group, test, nbytes, calls, seconds = rest
                blocks.append(MessageBlock(int(group), test, int(nbytes), int(calls), float(seconds)))
            else:
                raise ValueError(word)
    except (ValueError, IndexError) as error:
        raise _cut_off(f"a line is damaged ({error})") from None
    if sorted(by_rank) != list(range(ranks)):
        raise SubsaltError(
            f"{ranks} ranks were to be started, {len(by_rank)} answered",
            "let --launcher start as many as {ranks} says, or leave {ranks} out of it",
            code="E782",
        )
    return MessageTimes(mpi, level, tuple(by_rank[r] for r in range(ranks)), tuple(blocks), tuple(left))


def _rank(words: Sequence[str]) -> Rank:
    host, online, cpus, sockets = words
    return Rank(
        host,
        int(online),
        frozenset() if cpus == "-" else frozenset(parse_list(cpus)),
        () if sockets == "-" else tuple(sorted({int(s) for s in sockets.split(",")})),
    )


def _cut_off(why: str) -> SubsaltError:
    return SubsaltError(
        f"the output of the ranks cannot be used: {why}",
        "let the launcher pass on what rank 0 prints, and nothing else in its lines",
        code="E951",
    )


def name_of(version: str) -> str:
    """Return a short name from what a library says of itself, such as ``"MPICH 5.0.2"``."""
    for name, pattern in (
        ("Intel MPI", r"Intel\(R\) MPI Library ([\w.]+)"),
        ("Open MPI", r"Open MPI v?([\w.]+)"),
        ("MPICH", r"MPICH Version:?\s*([\w.]+)"),
    ):
        if match := re.search(pattern, version):
            return f"{name} {match[1]}"
    return version[:60]
