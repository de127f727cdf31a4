"""MPICH's tables of algorithms: read out of its library, changed at the tuned sizes only, and written whole.

MPICH chooses the algorithm of a collective call by walking a tree of conditions. The tree is JSON text inside the
library; a file named by a control variable replaces it whole. There are three levels, each with a table: how a call
is composed of steps within nodes and between them; what the shared memory of a node does by itself, which only
programs without MPI_THREAD_MULTIPLE take, after a few calls; and the general one, where the algorithms are.

A node is an object whose keys are conditions, tried in order; the first that holds is entered permanently. What this
rests on, read in MPICH's parser and tried:

- every chain of conditions on sizes must end with ``any``; a search that finds nothing leaves the level to the one
  below;
- ``comm_size<N`` below a condition on the message is taken as ``<=``: only ``comm_size<=N`` is written, and what stands
  below a tuned size has its conditions on the communicator answered here (`for_size`);
- ``avg_msg_size`` is not defined for allgather, conditions on operations only for reductions: asking ends the program.
  A mine (`MINES`) asks on purpose: where it lies, the call that reaches it says so;
- the file is mapped into memory and read up to a zero byte: a file that fills its last page has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt_lab.collectives.choice import AlgorithmChoice

Tree = dict[str, Any]
#: ranks and smallest size of a choice: what tells it from the others of its collective
Place = tuple[int, int]

#: variables that name a table, by level
VARIABLES = {
    "composition": "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
    "general": "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
    "node": "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE",
}
#: files of them
FILES = {
    "composition": "mpich-compositions.json",
    "general": "mpich-collectives.json",
    "node": "mpich-collectives-node.json",
}
#: compositions by the number that the control variable gives them
COMPOSITIONS = {"1": "alpha", "2": "beta", "3": "gamma", "4": "delta"}
#: smallest pages there are; a file of whole pages is not closed by a zero byte
PAGE = 4096

#: a question that is not defined for the collective, and so ends the call that reaches it
MINES = {
    "bcast": "is_op_built_in",
    "allgather": "is_op_built_in",
    "alltoall": "is_op_built_in",
    "barrier": "is_op_built_in",
    "allreduce": "is_sendbuf_inplace",
    "reduce": "is_sendbuf_inplace",
}

#: parameters that an algorithm must be given in the table, and the control variables with their values
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "MPIR_Allreduce_intra_recursive_multiplying": {"k": "MPIR_CVAR_ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL"},
    "MPIR_Allreduce_intra_tree": {
        "tree_type": "MPIR_CVAR_ALLREDUCE_TREE_TYPE",
        "k": "MPIR_CVAR_ALLREDUCE_TREE_KVAL",
        "chunk_size": "MPIR_CVAR_ALLREDUCE_TREE_PIPELINE_CHUNK_SIZE",
    },
    "MPIR_Allreduce_intra_recexch": {
        "k": "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL",
        "single_phase_recv": "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV",
    },
    "MPIR_Allreduce_intra_k_reduce_scatter_allgather": {
        "k": "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL",
        "single_phase_recv": "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV",
    },
    "MPIR_Bcast_intra_tree": {
        "tree_type": "MPIR_CVAR_BCAST_TREE_TYPE",
        "k": "MPIR_CVAR_BCAST_TREE_KVAL",
        "is_non_blocking": "MPIR_CVAR_BCAST_IS_NON_BLOCKING",
    },
    "MPIR_Bcast_intra_pipelined_tree": {
        "tree_type": "MPIR_CVAR_BCAST_TREE_TYPE",
        "k": "MPIR_CVAR_BCAST_TREE_KVAL",
        "is_non_blocking": "MPIR_CVAR_BCAST_IS_NON_BLOCKING",
        "chunk_size": "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE",
        "recv_pre_posted": "MPIR_CVAR_BCAST_RECV_PRE_POST",
    },
    "MPIR_Allgather_intra_k_brucks": {"k": "MPIR_CVAR_ALLGATHER_BRUCKS_KVAL"},
    "MPIR_Allgather_intra_recexch_doubling": {
        "k": "MPIR_CVAR_ALLGATHER_RECEXCH_KVAL",
        "single_phase_recv": "MPIR_CVAR_ALLGATHER_RECEXCH_SINGLE_PHASE_RECV",
    },
    "MPIR_Allgather_intra_recexch_halving": {
        "k": "MPIR_CVAR_ALLGATHER_RECEXCH_KVAL",
        "single_phase_recv": "MPIR_CVAR_ALLGATHER_RECEXCH_SINGLE_PHASE_RECV",
    },
    "MPIR_Alltoall_intra_k_brucks": {"k": "MPIR_CVAR_ALLTOALL_BRUCKS_KVAL"},
    "MPIR_Barrier_intra_k_dissemination": {"k": "MPIR_CVAR_BARRIER_DISSEM_KVAL"},
    "MPIR_Barrier_intra_recexch": {
        "k": "MPIR_CVAR_BARRIER_RECEXCH_KVAL",
        "single_phase_recv": "MPIR_CVAR_BARRIER_RECEXCH_SINGLE_PHASE_RECV",
    },
}


def tables(library: Path) -> dict[str, Tree]:
    """Return the default tables of a library by level; empty when it has none.

    Parameters
    ----------
    library : path
        The libmpi in use.
    """
    level: dict[str, Tree] = {}
    for tree in _texts(library.read_bytes()):
        text = json.dumps(tree)
        of = "node" if "MPIDI_POSIX" in text else "composition" if "composition=" in text else "general"
        # of tables for other hardware, the one that knows more collectives
        if len(level.get(of, ())) < len(tree):
            level[of] = tree
    return level if "general" in level else {}


def _texts(binary: bytes) -> Iterator[Tree]:
    """Yield the tables among the strings of a library."""
    for match in re.finditer(rb"\{\s*\"collective=[\t\n\r -~]+", binary):
        try:
            yield json.loads(match[0], object_pairs_hook=_unique)
        except ValueError:
            continue


def _unique(pairs: Sequence[tuple[str, Any]]) -> Tree:
    """Return an object in the order of the text; one with a key twice would lose half of its meaning."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)


def text_of(tree: Tree) -> str:
    """Return the text of a table, with at least one zero byte behind it when it is mapped."""
    text = json.dumps(tree, separators=(",", ":")) + "\n"
    return text if len(text) % PAGE else text + "\n"


def algorithm(collective: str, name: str, known: bytes) -> str:
    """Return the name of an algorithm in the tables.

    Parameters
    ----------
    collective, name : str
        Such as ``"allreduce"``, ``"ring"``.
    known : bytes
        The library: it holds the text of every name that it reads.

    Raises
    ------
    SubsaltError
        When the library reads none of that name (E940).
    """
    for kind in ("intra", "allcomm"):
        full = f"MPIR_{collective.capitalize()}_{kind}_{name}"
        if f"algorithm={full}\0".encode() in known:
            return full
    raise _unwritable(
        f"{collective} by {name}: the tables of this MPICH know no such algorithm",
        "write it as a variable with --as-variables, or leave it out",
    )


def _unwritable(what: str, fix: str) -> SubsaltError:
    return DeviceError(what, fix, code="E940")


def leaf(full: str, values: Mapping[str, str]) -> Tree:
    """Return the node that takes an algorithm, with the parameters that its control variables have.

    Parameters
    ----------
    full : str
        Its name in the tables.
    values : mapping of str to str
        Values of control variables by name.
    """
    parameters = PARAMETERS.get(full, {})
    missing = [v for v in parameters.values() if v not in values]
    if missing:
        raise _unwritable(
            f"{full} needs {', '.join(missing)}, which this MPICH does not have",
            "write it as a variable with --as-variables, or leave it out",
        )
    return {f"algorithm={full}": {f"{key}={values[v]}": {} for key, v in parameters.items()}}


def for_size(tree: Tree, ranks: int) -> Tree:
    """Return a tree with its conditions on the number of ranks answered.

    Parameters
    ----------
    tree : dict
        Any node.
    ranks : int
        Ranks of the communicator.
    """
    out: Tree = {}
    for key, below in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return tree
        if not key.startswith("comm_size") or key == "comm_size=node_comm_size":
            out[key] = for_size(below, ranks)
            continue
        if _holds(key, ranks):
            # chosen permanently: what comes after it is not looked at
            chosen = for_size(below, ranks)
            return chosen if not out else {**out, "any": chosen}
    return out


def _holds(key: str, ranks: int) -> bool:
    match = re.fullmatch(r"comm_size(<=|<|=)(\w+)", key)
    if match is None:
        raise _unwritable(f"the table of this MPICH has a condition {key}", "write with --as-variables")
    sign, value = match.groups()
    if value == "any":
        return True
    if value == "pow2":
        return ranks & (ranks - 1) == 0
    return ranks <= int(value) if sign == "<=" else ranks < int(value)


def place(choice: AlgorithmChoice) -> Place:
    """Return what tells a choice from the others of its collective."""
    return choice.comm_size, choice.bytes_from


def splice(tree: Tree, choices: Sequence[AlgorithmChoice], nodes: Mapping[Place, Tree]) -> Tree:
    """Return the tree of one collective with other nodes at the tuned ranks and sizes.

    Parameters
    ----------
    tree : dict
        Tree below ``comm_type=intra``.
    choices : sequence of AlgorithmChoice
        Choices for this collective.
    nodes : mapping
        Nodes that replace those of the tree, by `place`.
    """
    out: Tree = {}
    for ranks in sorted({c.comm_size for c in choices}):
        here = sorted((c for c in choices if c.comm_size == ranks), key=lambda c: c.bytes_from)
        if ranks > 1 and f"comm_size<={ranks - 1}" not in out:
            out[f"comm_size<={ranks - 1}"] = tree
        out[f"comm_size<={ranks}"] = _sizes(for_size(tree, ranks), ranks, here, nodes)
    return {**out, "comm_size=any": tree}


def _sizes(
    default: Tree, ranks: int, choices: Sequence[AlgorithmChoice], nodes: Mapping[Place, Tree]
) -> Tree:
    if choices[0].collective == "barrier":
        return nodes[place(choices[0])]
    # of the allgather, MPICH tells only the bytes of all ranks
    name, factor = ("total_msg_size", ranks) if choices[0].collective == "allgather" else ("avg_msg_size", 1)
    out: Tree = {}
    end: int | None = 0
    for c in choices:
        if end is None or c.bytes_from < end:
            raise ValueError(f"two choices for {c.collective} of {c.bytes_from} bytes on {ranks} ranks")
        if c.bytes_from > end:
            out[f"{name}<={c.bytes_from * factor - 1}"] = default
        end = c.bytes_below
        if end is None:
            out[f"{name}=any"] = nodes[place(c)]
        else:
            out[f"{name}<={end * factor - 1}"] = nodes[place(c)]
    return out if end is None else {**out, f"{name}=any": default}


def guarded(collective: str, node: Tree, default: Tree) -> Tree:
    """Return a node that takes an algorithm only where it may be taken, and the default elsewhere.

    Parameters
    ----------
    collective : str
        Collective operation of the node.
    node, default : dict
        The algorithm, and the tree of the library for this number of ranks.

    Notes
    -----
    Reductions: operations of the user, which may not commute, and vectors shorter than the ranks go the library's way,
    as in its own table. An alltoall in place has one algorithm only. What works on communicators with a hierarchy of
    nodes (``smp``) is taken there only.
    """
    if any(key.endswith("_smp") for key in node):
        node = {"comm_hierarchy=parent": node, "comm_hierarchy=any": default}
    if collective in ("allreduce", "reduce"):
        long = {"count<pow2": default, "count=any": node}
        return {"is_op_built_in=no": default, "is_op_built_in=yes": long}
    if collective == "alltoall":
        return {"is_sendbuf_inplace=yes": default, "is_sendbuf_inplace=no": node}
    return node


def conditions(tree: Tree, key: str) -> list[str] | None:
    """Return the fewest conditions, except for sizes, on a way to a leaf of a tree; None when it is not there.

    Parameters
    ----------
    tree : dict
        Any node.
    key : str
        Key of the leaf, such as ``"composition=MPIDI_Allreduce_intra_composition_alpha"``.
    """
    if key in tree:
        return []
    paths = []
    for condition, below in tree.items():
        deeper = conditions(below, key)
        if deeper is not None:
            sized = "size" in condition.partition("=")[0] and condition != "comm_size=node_comm_size"
            paths.append(deeper if sized or condition.endswith("any") else [condition, *deeper])
    return min(paths, key=len, default=None)


def under(wanted: Sequence[str], node: Tree, default: Tree) -> Tree:
    """Return a node that is taken when all of some conditions hold, and the default otherwise."""
    for condition in reversed(wanted):
        node = {condition: node, f"{condition.partition('=')[0]}=any": default}
    return node


def threaded(threads: str, node: Tree, default: Tree) -> Tree:
    """Return a node for programs of one level of thread support, ``"multiple"`` or ``"single"``, and the default."""
    yes, no = (node, default) if threads == "multiple" else (default, node)
    return {"is_multi_threaded=yes": yes, "is_multi_threaded=no": no}


def below_node(release: Tree) -> Tree:
    """Return a node of the table of a node that finds nothing: the call continues to the general table.

    Its only condition does not hold in programs that look here.
    """
    return {"is_multi_threaded=yes": release}


def mine(collective: str, node: Tree) -> Tree:
    """Return a node that ends every call that reaches it."""
    return {f"{MINES[collective]}=yes": node, f"{MINES[collective]}=no": node}
