"""Files and variables that MPICH reads to make choices of algorithms, by the level of its tables each belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import DeviceError
from subsalt_lab.collectives import mpich_table as table
from subsalt_lab.collectives.choice import Algorithm, AlgorithmChoice
from subsalt_lab.collectives.mpich_table import Place, Tree


@dataclass(frozen=True)
class MpichLibrary:
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
    def of(cls, library: Path, values: Mapping[str, str]) -> MpichLibrary:
        """Read a library.

        Parameters
        ----------
        library : path
            The libmpi in use.
        values : mapping of str to str
            Values of the control variables (`control.values`).
        """
        return cls(table.tables(library), library.read_bytes(), values)


def level_of(algorithm: Algorithm) -> str:
    """Return the level of tables that an algorithm is written in."""
    for name in algorithm.settings:
        if name.endswith("_COMPOSITION"):
            return "composition"
    intra = f"MPIR_CVAR_{algorithm.collective.upper()}_INTRA_ALGORITHM"
    return "general" if intra in algorithm.settings else "node"


def leaf_of(source: MpichLibrary, algorithm: Algorithm) -> Tree:
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
    source: MpichLibrary,
    choices: Sequence[AlgorithmChoice],
    threads: str,
    mined: AlgorithmChoice | None = None,
) -> dict[str, Tree]:
    """Return the whole tables by level, those that differ from the default ones.

    Parameters
    ----------
    source : MpichLibrary
        The library.
    choices : sequence of AlgorithmChoice
        Choices to write.
    threads : str
        ``"multiple"`` or ``"single"``: the level of thread support they were measured at, and hold for.
    mined : AlgorithmChoice, optional
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
    source: MpichLibrary,
    out: dict[str, Tree],
    level: str,
    choices: Sequence[AlgorithmChoice],
    threads: str,
    mined: AlgorithmChoice | None,
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


def _replace(source: MpichLibrary, out: dict[str, Tree], level: str, collective: str, intra: Tree) -> None:
    whole = dict(out.get(level, source.tables[level]))
    of = dict(whole[f"collective={collective}"])
    of["comm_type=intra"] = intra
    whole[f"collective={collective}"] = of
    out[level] = whole


def needed(choices: Sequence[AlgorithmChoice]) -> list[str]:
    """Return the control variables whose values the tables need."""
    out: list[str] = []
    for c in choices:
        name = c.algorithm.settings.get(f"MPIR_CVAR_{c.collective.upper()}_INTRA_ALGORITHM", "")
        pattern = re.compile(rf"MPIR_{c.collective.capitalize()}_(intra|allcomm)_{re.escape(name)}$")
        for full, parameters in table.PARAMETERS.items():
            if pattern.match(full):
                out += parameters.values()
    return list(dict.fromkeys(out))
