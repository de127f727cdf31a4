"""What MPICH needs of files and variables to make choices of algorithms, by the level of its tables each belongs to.

Rules of Open MPI's component *tuned*, in the classic text that every version since 1.3 reads.

The file holds for some collectives, for some sizes of communicators, the smallest message size of each rule and what is
used from there: ``bytes algorithm fan-out segment``. The last rule that is not too large counts, for communicators as
for messages, and the first one counts also below itself: so the lists begin at 0, and every tuned range is closed by
a rule with algorithm 0, which is the choice of the library. Lines that begin with # are skipped. A file that cannot
be read, and one in JSON before version 6, is left aside without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import DeviceError
from subsalt_lab.collectives import mpich_table as table
from subsalt_lab.collectives.choice import Algorithm, Choice
from subsalt_lab.collectives.mpich_table import Place, Tree


@dataclass(frozen=True)
class Source:
    """The library that choices are written for.

    Parameters
    ----------
    tables : dict
        Its default tables by level.
    text : bytes
        The library itself: every name it reads is in it.
    values : mapping of str to str
        Values of its control variables.
    """

    tables: Mapping[str, Tree]
    text: bytes
    values: Mapping[str, str]

    @classmethod
    def of(cls, library: Path, values: Mapping[str, str]) -> Source:
        """Read a library.

        Parameters
        ----------
        library : path
            The libmpi in use.
        values : mapping of str to str
            Of `control.values`.
        """
        return cls(table.tables(library), library.read_bytes(), values)


def level_of(algorithm: Algorithm) -> str:
    """Return the level of tables that an algorithm is written in."""
    for name in algorithm.settings:
        if name.endswith("_COMPOSITION"):
            return "composition"
    intra = f"MPIR_CVAR_{algorithm.collective.upper()}_INTRA_ALGORITHM"
    return "general" if intra in algorithm.settings else "node"


def leaf_of(source: Source, algorithm: Algorithm) -> Tree:
    """Return the node of an algorithm with its parameters.

    Raises
    ------
    DeviceError
        When it cannot be written into a table (E940).
    """
    level = level_of(algorithm)
    name = algorithm.collective.capitalize()
    settings = algorithm.settings
    if level not in source.tables:
        raise DeviceError(
            f"this MPICH has no table of algorithms in its library for {algorithm.collective} by {algorithm.name}",
            "write variables with --as-variables",
            code="E940",
        )
    if level == "composition":
        number = next(v for k, v in settings.items() if k.endswith("_COMPOSITION"))
        letter = table.COMPOSITIONS.get(number, number)
        key = f"composition=MPIDI_{name}_intra_composition_{letter}"
        if key.encode() + b"\0" not in source.text:
            raise DeviceError(
                f"{algorithm.collective} by {algorithm.name}: the tables of this MPICH know no {key}",
                "write it as a variable with --as-variables, or leave it out",
                code="E940",
            )
        return {key: {}}
    if level == "node":
        raise DeviceError(
            f"{algorithm.collective} by {algorithm.name}: the shared memory level takes that by itself",
            "nothing needs to be written for it",
            code="E940",
        )
    full = table.algorithm(
        algorithm.collective,
        settings[f"MPIR_CVAR_{algorithm.collective.upper()}_INTRA_ALGORITHM"],
        source.text,
    )
    return table.leaf(full, {**source.values, **settings})


def trees(
    source: Source, choices: Sequence[Choice], threads: str, mined: Choice | None = None
) -> dict[str, Tree]:
    """Return the whole tables by level, those that differ from the default ones.

    Parameters
    ----------
    source : Source
        The library.
    choices : sequence of Choice
        What is tuned.
    threads : str
        ``"multiple"`` or ``"single"``: the level of thread support they were measured at, and hold for.
    mined : Choice, optional
        The one that is replaced by a node which ends the program.
    """
    for c in choices:
        leaf_of(source, c.algorithm)  # whatever cannot be written is told before anything is
    out: dict[str, Tree] = {}
    for collective in dict.fromkeys(c.collective for c in choices):
        for level in ("composition", "general"):
            of = [c for c in choices if c.collective == collective and level_of(c.algorithm) == level]
            if of:
                _put(source, out, level, of, threads, mined)
    return out


def _put(
    source: Source,
    out: dict[str, Tree],
    level: str,
    choices: Sequence[Choice],
    threads: str,
    mined: Choice | None,
) -> None:
    """Splice the choices of one collective into the table of one level."""
    collective = choices[0].collective
    default = source.tables[level][f"collective={collective}"]["comm_type=intra"]
    nodes: dict[Place, Tree] = {}
    for c in choices:
        here = table.for_size(default, c.comm_size)
        leaf = leaf_of(source, c.algorithm)
        if c is mined:
            leaf = table.mine(collective, leaf)
        if level == "composition":
            wanted = table.conditions(default, next(iter(leaf_of(source, c.algorithm)))) or []
            node = table.under(wanted, leaf, here)
        else:
            node = table.guarded(collective, leaf, here)
        nodes[table.place(c)] = table.threaded(threads, node, here)
    _replace(source, out, level, collective, table.splice(default, choices, nodes))
    # a single-threaded program asks the level of the node first: it must let these sizes through
    path = source.tables.get("node", {}).get(f"collective={collective}")
    if level == "general" and threads == "single" and path is not None:
        release = path["comm_type=intra"]["is_multi_threaded=no"]
        through = {table.place(c): table.below_node(release) for c in choices}
        tree = {"is_multi_threaded=no": table.splice(release, choices, through)}
        _replace(source, out, "node", collective, tree)


def _replace(source: Source, out: dict[str, Tree], level: str, collective: str, intra: Tree) -> None:
    whole = dict(out.get(level, source.tables[level]))
    of = dict(whole[f"collective={collective}"])
    of["comm_type=intra"] = intra
    whole[f"collective={collective}"] = of
    out[level] = whole


def needed(choices: Sequence[Choice]) -> list[str]:
    """Return the control variables whose values the tables need."""
    out: list[str] = []
    for c in choices:
        name = c.algorithm.settings.get(f"MPIR_CVAR_{c.collective.upper()}_INTRA_ALGORITHM", "")
        pattern = re.compile(rf"MPIR_{c.collective.capitalize()}_(intra|allcomm)_{re.escape(name)}$")
        for full, parameters in table.PARAMETERS.items():
            if pattern.match(full):
                out += parameters.values()
    return list(dict.fromkeys(out))


FILE = "openmpi-collectives.rules"
#: numbers of the collectives in the file
IDS = {"allgather": 0, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7, "reduce": 11}
#: an algorithm that no version has: a call that comes to this rule raises MPI_ERR_ARG
MINE = 99
#: fan-out of trees and chains when a variable forces an algorithm and says nothing of it: what was measured
FAN_OUT = 4


@dataclass(frozen=True)
class Rule:
    """What is used from some size on.

    Parameters
    ----------
    size : int
        Bytes as the library counts them: for allgather and alltoall those of all ranks together.
    algorithm : int
        0: the choice of the library.
    fan_out, segment : int
        Of trees and chains, and bytes of a segment (0: none).
    """

    size: int
    algorithm: int
    fan_out: int = 0
    segment: int = 0


Rules = dict[str, dict[int, list[Rule]]]


def factor(collective: str, ranks: int) -> int:
    """Return how many times the bytes of a choice the message size of a rule is."""
    return ranks if collective in ("allgather", "alltoall") else 1


def rules_of(choices: Sequence[Choice], mined: Choice | None = None) -> Rules:
    """Return the rules by collective and size of the communicator, every range closed.

    Parameters
    ----------
    choices : sequence of Choice
        What is tuned; ranges of one collective and size must not overlap.
    mined : Choice, optional
        The one that gets `MINE` for an algorithm.
    """
    out: Rules = {}
    for collective in sorted({c.collective for c in choices}, key=IDS.__getitem__):
        of_comm: dict[int, list[Rule]] = {0: [Rule(0, 0)]}
        for ranks in sorted({c.comm_size for c in choices if c.collective == collective}):
            here = [c for c in choices if (c.collective, c.comm_size) == (collective, ranks)]
            of_comm[ranks] = _messages(sorted(here, key=lambda c: c.bytes_from), ranks, mined)
            of_comm.setdefault(ranks + 1, [Rule(0, 0)])
        # a size that follows the one before it takes the place of its end
        out[collective] = dict(sorted(of_comm.items()))
    return out


def _messages(choices: Sequence[Choice], ranks: int, mined: Choice | None) -> list[Rule]:
    rules: list[Rule] = []
    end: int | None = 0
    for c in choices:
        if end is None or c.bytes_from < end:
            raise ValueError(f"two choices for {c.collective} of {c.bytes_from} bytes on {ranks} ranks")
        times = factor(c.collective, ranks)
        if c.bytes_from > end or (not rules and c.bytes_from > 0):
            rules.append(Rule(end * times, 0))
        fan_out, segment = _shape(c.collective, c.algorithm.settings)
        number = MINE if c is mined else c.algorithm.number
        rules.append(Rule(c.bytes_from * times, number, fan_out, segment))
        end = c.bytes_below
    if end is not None:
        rules.append(Rule(end * factor(choices[0].collective, ranks), 0))
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
        Of `rules_of`.
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
                    messages.append(Rule(next(numbers), next(numbers), next(numbers), next(numbers)))
    except StopIteration:
        raise ValueError("the rules end too early") from None
    if next(numbers, None) is not None:
        raise ValueError("there is more behind the rules")
    return out


def chosen(rules: Rules, collective: str, ranks: int, nbytes: int) -> Rule:
    """Return the rule that the library takes for a call.

    Parameters
    ----------
    rules : dict
        Of `rules_of` or `read`.
    collective : str
        Of the call.
    ranks : int
        Of its communicator.
    nbytes : int
        As `Choice` counts them.
    """
    of_comm = rules.get(collective)
    if not of_comm:
        return Rule(0, 0)
    sizes = list(of_comm)
    size = max((s for s in sizes if s <= ranks), default=sizes[0])
    messages = of_comm[size]
    total = nbytes * factor(collective, ranks)
    return next((r for r in reversed(messages) if r.size <= total), messages[0])
