"""Which algorithms the MPI in use has for each collective, and which of its control variables choose them.

Names and numbers come from the library itself (`mpit`), so that a new release brings its own; only the names of the
variables are known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from subsalt_lab.collectives.choice import Algorithm
from subsalt_lab.collectives.mpit import Variable

Family = Literal["mpich", "openmpi", "intel"]
Threads = Literal["multiple", "single"]

#: values that leave the choice to the library, or to another level of it
_NOBODY = ("auto", "ignore", "mpir")

#: patterns of the names of the variables that are read, by family; {} stands for a collective
_PATTERNS: Mapping[Family, tuple[str, ...]] = {
    "mpich": (
        "MPIR_CVAR_{}_INTRA_ALGORITHM",
        "MPIR_CVAR_{}_POSIX_INTRA_ALGORITHM",
        "MPIR_CVAR_{}_COMPOSITION",
    ),
    "openmpi": ("coll_tuned_{}_algorithm", "coll_tuned_use_dynamic_rules", "coll_han_priority"),
    "intel": ("MPIR_CVAR_(?:USE|ADJUST)_{}",),
}


def patterns(family: Family, collectives: Sequence[str]) -> list[str]:
    """Return the names of the variables to be read, as regular expressions."""
    names = [c if family == "openmpi" else c.upper() for c in collectives]
    return list(dict.fromkeys(p.format(n) for p in _PATTERNS[family] for n in names))


def algorithms(
    family: Family,
    variables: Sequence[Variable],
    collective: str,
    *,
    threads: Threads = "multiple",
    nodes: int = 1,
) -> list[Algorithm]:
    """Return the algorithms of one collective, without the one that the library takes by itself.

    Parameters
    ----------
    family : str
        ``"mpich"``, ``"openmpi"`` or ``"intel"``.
    variables : sequence of Variable
        Control variables of this library.
    collective : str
        One of `choice.COLLECTIVES`.
    threads : str
        ``"multiple"`` when the program asks MPI for MPI_THREAD_MULTIPLE, as mpi4py does.
    nodes : int
        Nodes that the ranks are on.
    """
    by_name = {v.name: v for v in variables}
    find = {"mpich": _mpich, "openmpi": _openmpi, "intel": _intel}[family]
    return find(by_name, collective, threads, nodes)


def _mpich(by_name: Mapping[str, Variable], collective: str, threads: Threads, nodes: int) -> list[Algorithm]:
    """Return those of MPICH: of all ranks, of the shared memory of a node, and how the two are combined."""
    upper = collective.upper()
    posix = by_name.get(f"MPIR_CVAR_{upper}_POSIX_INTRA_ALGORITHM")
    # with threads the shared-memory level leaves the call to the level asked for here; without, it takes it away
    aside = {posix.name: "mpir"} if posix is not None and threads == "single" else {}
    out = []
    intra = by_name.get(f"MPIR_CVAR_{upper}_INTRA_ALGORITHM")
    if intra is not None:
        out += [
            Algorithm(collective, name, number, {intra.name: name} | aside)
            for name, number in intra.values.items()
            if name not in _NOBODY
        ]
    if posix is not None and threads == "single":
        out += [
            Algorithm(collective, name, number, {posix.name: name})
            for name, number in posix.values.items()
            if name not in _NOBODY
        ]
    composition = by_name.get(f"MPIR_CVAR_{upper}_COMPOSITION")
    # "0 Auto selection 1 NM + SHM 2 NM only": numbers before a capital letter
    numbers = re.findall(r"(?<!\S)(\d+)\s+(?=[A-Z])", composition.about) if composition is not None else []
    if composition is not None:
        out += [
            Algorithm(collective, f"composition {n}", int(n), {composition.name: n})
            for n in numbers
            if n != "0"
        ]
    return out


def _openmpi(
    by_name: Mapping[str, Variable], collective: str, threads: Threads, nodes: int
) -> list[Algorithm]:
    """Return those of coll/tuned; on several nodes coll/han takes the call before it, so han is disabled."""
    han = {"coll_han_priority": "0"} if nodes > 1 and "coll_han_priority" in by_name else {}
    variable = by_name.get(f"coll_tuned_{collective}_algorithm")
    without_han = [Algorithm(collective, "without han", 0, han)] if han else []
    if variable is None or "coll_tuned_use_dynamic_rules" not in by_name:
        return without_han
    return without_han + [
        Algorithm(collective, name, number, {"coll_tuned_use_dynamic_rules": "1", variable.name: name} | han)
        for name, number in variable.values.items()
        if name not in _NOBODY
    ]


def _intel(by_name: Mapping[str, Variable], collective: str, threads: Threads, nodes: int) -> list[Algorithm]:
    """Return the presets of Intel MPI: numbers without names, chosen by I_MPI_ADJUST_... before the start."""
    for variable in by_name.values():
        alias = re.search(r"@Alias:#\s*(I_MPI_ADJUST_\w+)", variable.about)
        numbers = re.search(r"range:\s*(\d+)-(\d+)", variable.about)
        if alias and numbers and alias[1] == f"I_MPI_ADJUST_{collective.upper()}":
            # 0 lets the library choose
            return [
                Algorithm(collective, f"preset {n}", n, {alias[1]: str(n)})
                for n in range(max(1, int(numbers[1])), int(numbers[2]) + 1)
            ]
    return []


def switches_while_running(
    family: Family, variables: Sequence[Variable], algorithms: Iterable[Algorithm]
) -> bool:
    """Return whether the library takes other algorithms in a running program.

    Intel MPI and Open MPI 4 read their variables at the start only.
    """
    used = {name for a in algorithms for name in a.settings}
    return family != "intel" and all(v.settable for v in variables if v.name in used)


def environment(family: Family, settings: Mapping[str, str]) -> dict[str, str]:
    """Return control variables as the environment of the ranks names them."""
    prefix = "OMPI_MCA_" if family == "openmpi" else ""
    return {name if name.startswith(prefix) else prefix + name: value for name, value in settings.items()}
