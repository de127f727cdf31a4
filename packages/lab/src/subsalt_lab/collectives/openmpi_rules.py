"""Rules of Open MPI's component *tuned*, in the classic text that every version since 1.3 reads.

The file holds for some collectives, for some sizes of communicators, the smallest message size of each rule and what is
used from there: ``bytes algorithm fan-out segment``. The last rule that is not too large counts, for communicators as
for messages, and the first one counts also below itself: so the lists begin at 0, and every tuned range is closed by
a rule with algorithm 0, which is the choice of the library. Lines that begin with # are skipped. A file that cannot
be read, and one in JSON before version 6, is left aside without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from subsalt_lab.collectives.choice import AlgorithmChoice

FILE = "openmpi-collectives.rules"
#: numbers of the collectives in the file
IDS = {"allgather": 0, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7, "reduce": 11}
#: an algorithm that no version has: a call that reaches this rule raises MPI_ERR_ARG
MINE = 99
#: fan-out of trees and chains when a variable forces an algorithm and says nothing of it: what was measured
FAN_OUT = 4


@dataclass(frozen=True)
class SizeRule:
    """Algorithm that is used from some size on.

    Parameters
    ----------
    size : int
        Bytes as the library counts them: for allgather and alltoall those of all ranks together.
    algorithm : int
        0: the choice of the library.
    fan_out, segment : int
        Fan-out of trees and chains, and bytes of a segment (0: none).
    """

    size: int
    algorithm: int
    fan_out: int = 0
    segment: int = 0


Rules = dict[str, dict[int, list[SizeRule]]]


def factor(collective: str, ranks: int) -> int:
    """Return how many times the bytes of a choice the message size of a rule is."""
    return ranks if collective in ("allgather", "alltoall") else 1


def rules_of(choices: Sequence[AlgorithmChoice], mined: AlgorithmChoice | None = None) -> Rules:
    """Return the rules by collective and size of the communicator, every range closed.

    Parameters
    ----------
    choices : sequence of AlgorithmChoice
        Choices to write; ranges of one collective and size must not overlap.
    mined : AlgorithmChoice, optional
        The one that gets `MINE` for an algorithm.
    """
    out: Rules = {}
    for collective in sorted({c.collective for c in choices}, key=IDS.__getitem__):
        of_comm: dict[int, list[SizeRule]] = {0: [SizeRule(0, 0)]}
        for ranks in sorted({c.comm_size for c in choices if c.collective == collective}):
            here = [c for c in choices if (c.collective, c.comm_size) == (collective, ranks)]
            of_comm[ranks] = _messages(sorted(here, key=lambda c: c.bytes_from), ranks, mined)
            of_comm.setdefault(ranks + 1, [SizeRule(0, 0)])
        # a size that follows the one before it takes the place of its end
        out[collective] = dict(sorted(of_comm.items()))
    return out


def _messages(
    choices: Sequence[AlgorithmChoice], ranks: int, mined: AlgorithmChoice | None
) -> list[SizeRule]:
    rules: list[SizeRule] = []
    end: int | None = 0
    for c in choices:
        if end is None or c.bytes_from < end:
            raise ValueError(f"two choices for {c.collective} of {c.bytes_from} bytes on {ranks} ranks")
        times = factor(c.collective, ranks)
        if c.bytes_from > end or (not rules and c.bytes_from > 0):
            rules.append(SizeRule(end * times, 0))
        fan_out, segment = _shape(c.collective, c.algorithm.settings)
        number = MINE if c is mined else c.algorithm.number
        rules.append(SizeRule(c.bytes_from * times, number, fan_out, segment))
        end = c.bytes_below
    if end is not None:
        rules.append(SizeRule(end * factor(choices[0].collective, ranks), 0))
    return rules


def _shape(collective: str, settings: Mapping[str, str]) -> tuple[int, int]:
    """Return fan-out and segment with which an algorithm was measured."""
    bare = {name.removeprefix("OMPI_MCA_"): value for name, value in settings.items()}
    prefix = f"coll_tuned_{collective}_algorithm_"
    kind = "chain_fanout" if collective in ("bcast", "reduce") else "tree_fanout"
    return int(bare.get(prefix + kind, FAN_OUT)), int(bare.get(prefix + "segmentsize", 0))


def text_of(rules: Rules, remark: str = "") -> str:
    """Return the text of a file.

    Parameters
    ----------
    rules : dict
        Rules, as `rules_of` returns them.
    remark : str
        Lines that the library skips.
    """
    lines = [f"# {line}" for line in remark.splitlines()]
    lines.append(f"{len(rules)} # collectives")
    for collective, of_comm in rules.items():
        lines += [f"{IDS[collective]} # {collective}", f"{len(of_comm)} # communicator sizes"]
        for ranks, messages in of_comm.items():
            lines += [f"{ranks} # ranks and more", f"{len(messages)} # message sizes"]
            lines += [f"{r.size} {r.algorithm} {r.fan_out} {r.segment}" for r in messages]
    return "\n".join(lines) + "\n"


def read(text: str) -> Rules:
    """Return the rules of a text, as the library reads it.

    Raises
    ------
    ValueError
        When it ends too early, or has more than it says.
    """
    numbers = iter([int(w) for line in text.splitlines() for w in line.partition("#")[0].split()])
    names = {number: name for name, number in IDS.items()}
    out: Rules = {}
    try:
        for _ in range(next(numbers)):
            of_comm = out.setdefault(names[next(numbers)], {})
            for _ in range(next(numbers)):
                messages = of_comm.setdefault(next(numbers), [])
                for _ in range(next(numbers)):
                    messages.append(SizeRule(next(numbers), next(numbers), next(numbers), next(numbers)))
    except StopIteration:
        raise ValueError("the rules end too early") from None
    if next(numbers, None) is not None:
        raise ValueError("there is more behind the rules")
    return out


def chosen(rules: Rules, collective: str, ranks: int, nbytes: int) -> SizeRule:
    """Return the rule that the library takes for a call.

    Parameters
    ----------
    rules : dict
        Rules, as `rules_of` or `read` returns them.
    collective : str
        Collective operation of the call.
    ranks : int
        Ranks of its communicator.
    nbytes : int
        As `AlgorithmChoice` counts them.
    """
    of_comm = rules.get(collective)
    if not of_comm:
        return SizeRule(0, 0)
    sizes = list(of_comm)
    size = max((s for s in sizes if s <= ranks), default=sizes[0])
    messages = of_comm[size]
    total = nbytes * factor(collective, ranks)
    return next((r for r in reversed(messages) if r.size <= total), messages[0])
