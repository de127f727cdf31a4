"""The text of the wrappers, from the prototypes of an installed mpi.h: one per function, plain and ``_c`` forms.

What mpi.h says after the preprocessor is all that there is: attributes, line breaks and conditions of the families are
gone then. A function whose types the header does not know is left out, and so is one that takes no fixed arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: written by hand in core.c
BY_HAND = {
    "MPI_Pcontrol",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Abort",
    "MPI_Session_init",
    "MPI_Session_finalize",
}
#: callbacks that a program may pass by name, and functions of the tool interface, which may run at any time
LEFT_OUT = re.compile(
    r"MPI_(T_\w+|\w+_FN|DUP_FN|NULL_\w+|\w+_(f2c|c2f|f082c|c2f08|f082f|f2f08|fromint|toint))$"
)
PLAIN_TYPES = {
    "const",
    "struct",
    "unsigned",
    "signed",
    "int",
    "char",
    "long",
    "short",
    "double",
    "float",
    "void",
}


@dataclass(frozen=True)
class Argument:
    """One argument of a prototype: its declaration, its type without the name, its name."""

    text: str
    type: str
    name: str


@dataclass(frozen=True)
class Prototype:
    """One function of MPI.

    Parameters
    ----------
    name : str
        Such as ``"MPI_Allreduce_c"``.
    arguments : tuple of Argument
        In order; none for ``(void)``.
    """

    name: str
    arguments: tuple[Argument, ...]

    def first(self, type_: str, *names: str) -> Argument | None:
        """Return the argument of a type with one of some names; with no names the first of that type."""
        for a in self.arguments:
            if a.type == type_ and (not names or a.name in names):
                return a
        return None

    def named(self, *names: str) -> Argument | None:
        """Return the first argument with one of some names."""
        return next((a for n in names for a in self.arguments if a.name == n), None)


def prototypes(text: str) -> list[Prototype]:
    """Return the functions of MPI that can be wrapped, in the order of the header.

    Parameters
    ----------
    text : str
        mpi.h after the preprocessor; fragments of it will do.
    """
    text = _without_attributes(re.sub(r"^\s*#.*$", "", text, flags=re.M))
    known = set(PLAIN_TYPES)
    for statement in re.findall(r"\btypedef\b(?:[^;{}]|\{[^{}]*\})*;", text):
        known |= set(re.findall(r"\w+", statement))
    by_name: dict[str, Prototype] = {}
    for name, inside in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;", text):
        if name in by_name or LEFT_OUT.match(name):
            continue
        arguments = _arguments(inside)
        if arguments is None or any(not set(re.findall(r"\w+", a.type)) <= known for a in arguments):
            continue
        by_name[name] = Prototype(name, tuple(arguments))
    return list(by_name.values())


def _without_attributes(text: str) -> str:
    """Return a text without ``__attribute__((...))``, whose parentheses may nest."""
    out, i = [], 0
    for m in re.finditer(r"__attribute__\s*\(|\b_Static_assert\s*\(", text):
        if m.start() < i:
            continue
        out.append(text[i : m.start()])
        depth, i = 1, m.end()
        while depth and i < len(text):
            depth += {"(": 1, ")": -1}.get(text[i], 0)
            i += 1
    out.append(text[i:])
    return "".join(out).replace("extern ", " ").replace("__extension__", " ")


def _arguments(inside: str) -> list[Argument] | None:
    """Return the arguments of a prototype, None when they are not plain ones with names."""
    if inside.strip() == "void":
        return []
    arguments = []
    for part in inside.split(","):
        text = " ".join(part.split())
        m = re.fullmatch(r"(.*?[\s*])(\w+)((?:\s*\[[^\]]*\])*)", text)
        if m is None or "(" in text:
            return None
        type_ = (m[1].strip() + ("*" if m[3] else "")).replace(" *", "*")
        arguments.append(Argument(text, type_, m[2]))
    return arguments


def comm_of(p: Prototype) -> str:
    """Return the expression of the communicator that a call is about."""
    if p.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        return "*comm"
    given = p.first("MPI_Comm", "comm", "parentcomm", "comm_old") or p.first("MPI_Comm")
    if given is not None:
        return given.name
    return "MPI_COMM_NULL"


def made_by(p: Prototype) -> Argument | None:
    """Return the argument through which a communicator is made, None when none is."""
    if p.name in ("MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Comm_get_parent"):
        return None
    return next((a for a in p.arguments if a.type == "MPI_Comm*"), None)


def flags_of(p: Prototype) -> str:
    """Return the expression of the flags of a call."""
    if re.match(r"MPI_(Rsend|Irsend|Rsend_init)(_c)?$", p.name):
        return "CORE_READY"
    source = p.named("source", "src")
    if source is not None and source.type == "int" and re.search(r"recv|probe", p.name, re.IGNORECASE):
        return f"{source.name} == MPI_ANY_SOURCE ? CORE_ANY_SOURCE : 0"
    return "0"


def bytes_of(p: Prototype) -> str | None:
    """Return the expression of the bytes of a call, None for functions that carry none.

    What this rank gives; of a receive the room it has; nothing to or from MPI_PROC_NULL. The rules are in
    docs/reference/lab-profile.md.
    """
    name = p.name.removesuffix("_c").removesuffix("_init")
    c = "_c" if p.name.endswith("_c") else ""
    by_name = {a.name for a in p.arguments}
    if "origin_count" in by_name:
        return "core_bytes(origin_count, origin_datatype)" + _unless_null(p, "target_rank")
    if name in ("MPI_Fetch_and_op", "MPI_Compare_and_swap"):
        return "core_bytes(1, datatype)" + _unless_null(p, "target_rank")
    if re.match(
        r"MPI_(Type|Pack|Unpack|Get_|Status|Op|Register|Buffer|Address|Win_|Comm_|Reduce_local)", p.name
    ):
        return None
    if name.startswith("MPI_File_"):
        return "core_bytes(count, datatype)" if {"count", "datatype"} <= by_name else None
    if re.match(r"MPI_I?neighbor_", name, re.IGNORECASE):
        return _neighbor_bytes(by_name, c)
    if {"sendcounts", "sendtypes"} <= by_name:
        return _in_place(
            f"core_sum_types{c}(sendcounts, sendtypes, comm)",
            f"core_sum_types{c}(recvcounts, recvtypes, comm)",
        )
    if {"sendcounts", "sendtype", "recvcounts"} <= by_name:
        return _in_place(
            f"core_sum{c}(sendcounts, sendtype, comm)", f"core_sum{c}(recvcounts, recvtype, comm)"
        )
    if {
        "sendcounts",
        "sendtype",
    } <= by_name:  # scatterv: every rank has its receive side, the root in place none
        return "recvbuf == MPI_IN_PLACE ? 0 : core_bytes(recvcount, recvtype)"
    if {"recvcounts", "sendcount"} <= by_name:  # gatherv, allgatherv
        return _in_place("core_bytes(sendcount, sendtype)", f"core_own{c}(recvcounts, recvtype, comm)")
    if "recvcounts" in by_name and "datatype" in by_name:  # reduce_scatter
        return f"core_sum{c}(recvcounts, datatype, comm)"
    if {"recvcount", "datatype"} <= by_name:  # reduce_scatter_block
        return "core_bytes((long long)recvcount * core_partners(comm), datatype)"
    if {"sendcount", "sendtype", "recvcount", "recvtype"} <= by_name:
        if re.match(r"MPI_(Is|S)endrecv", name):
            return "core_bytes(sendcount, sendtype)" + _unless_null(p, "dest")
        if re.match(r"MPI_I?scatter", name, re.IGNORECASE):
            return _in_place("core_bytes(recvcount, recvtype)", "core_bytes(sendcount, sendtype)", "recvbuf")
        if re.match(r"MPI_I?alltoall", name, re.IGNORECASE):
            n = "core_partners(comm)"
            return _in_place(
                f"core_bytes((long long)sendcount * {n}, sendtype)",
                f"core_bytes((long long)recvcount * {n}, recvtype)",
            )
        return _in_place("core_bytes(sendcount, sendtype)", "core_bytes(recvcount, recvtype)")
    if re.match(r"MPI_P(send|recv)$", name) and {"partitions", "count", "datatype"} <= by_name:
        peer = "dest" if "send" in name.lower() else "source"
        return "core_bytes((long long)partitions * count, datatype)" + _unless_null(p, peer)
    if {"count", "datatype"} <= by_name:
        return "core_bytes(count, datatype)" + _unless_null(p, "dest", "source")
    return None


def _unless_null(p: Prototype, *peers: str) -> str:
    peer = p.named(*peers)
    return f" * ({peer.name} != MPI_PROC_NULL)" if peer is not None and peer.type == "int" else ""


def _in_place(otherwise: str, in_place: str, buffer: str = "sendbuf") -> str:
    return f"{buffer} == MPI_IN_PLACE ? {in_place} : {otherwise}"


def _neighbor_bytes(by_name: set[str], c: str) -> str | None:
    if {"sendcounts", "sendtypes"} <= by_name:
        return f"core_sum_neighbor_types{c}(sendcounts, sendtypes, comm)"
    if {"sendcounts", "sendtype"} <= by_name:
        return f"core_sum_neighbors{c}(sendcounts, sendtype, comm)"
    if {"sendcount", "sendtype"} <= by_name:
        return "core_bytes((long long)sendcount * core_neighbors(comm), sendtype)"
    return None


def wrapper(p: Prototype) -> str:
    """Return the C text of one wrapper."""
    declared = ", ".join(a.text for a in p.arguments) or "void"
    given = ", ".join(a.name for a in p.arguments)
    enter = f"core_enter(&call, k{p.name}, __builtin_return_address(0), {comm_of(p)}, {flags_of(p)})"
    lines = [
        f"#undef {p.name}",
        # weak: the library may be older than the header
        f"#pragma weak P{p.name}",
        f"PUBLIC int {p.name}({declared}) {{",
        "    struct core_call call;",
        f"    if (!{enter}) return P{p.name}({given});",
    ]
    if (size := bytes_of(p)) is not None:
        lines.append(f"    call.bytes = {size};")
    made = made_by(p)
    lines.append("    core_start(&call);")
    if p.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        lines.append("    core_comm_freed(*comm);")
    if p.name == "MPI_Barrier":
        lines.append("    if (audit_skip(comm, call.site)) return core_drop(&call);")
    if made is not None and re.search(r"idup", p.name):
        # until the call has come to its end some libraries have nothing there
        lines.append(f"    *{made.name} = MPI_COMM_NULL;")
    lines.append(f"    int code = P{p.name}({given});")
    lines.append("    core_leave(&call);")
    if made is not None:
        tag = _tag_of(p)
        parent = "MPI_COMM_NULL" if comm_of(p) == "MPI_COMM_NULL" else comm_of(p)
        lines += [
            *([tag[0]] if tag[0] else []),
            f"    if (code == MPI_SUCCESS) core_comm_made({parent}, *{made.name}, {tag[1]});",
        ]
    return "\n".join([*lines, "    return code;", "}"])


def _tag_of(p: Prototype) -> tuple[str, str]:
    """Return the statement that makes the tag of a group that makes a communicator by itself, and its expression."""
    if p.name == "MPI_Comm_create_group":
        return '    char by[32];\n    snprintf(by, sizeof by, "group %d", tag);', "by"
    if p.name == "MPI_Comm_create_from_group":
        text = p.first("const char*")
        return "", text.name if text is not None else '"group"'
    if comm_of(p) == "MPI_COMM_NULL":
        return "", f'"{p.name[4:]}"'
    return "", "NULL"


#: the functions of the module mpi_f08: plain, with descriptors of buffers (MPICH; "ts": TS 29113), with large counts
FORTRAN_2008 = ("_f08_", "_f08ts_")
FORTRAN_2008_LARGE = ("_f08_large_", "_f08ts_large_", "_c_f08_", "_c_f08ts_")


def fortran_names(p: Prototype) -> list[str]:
    """Return the names that a function has for linkers in Fortran: of mpif.h and `use mpi`, and of `use mpi_f08`."""
    if p.name.endswith("_c"):
        return [p.name.lower().removesuffix("_c") + end for end in FORTRAN_2008_LARGE]
    return [p.name.lower() + end for end in ("_", *FORTRAN_2008)]


def fortran_wrapper(p: Prototype, name: str) -> str | None:
    """Return the C text of the wrapper of a Fortran function; None where it has other arguments.

    Arguments are addresses, in the order of C, with the error code behind them, which the functions of mpi_f08 may
    lack; what C takes by value is read through them under its own name, so that bytes are counted by the same
    expression. A handle of mpi_f08 is a structure of one integer, so its address is that of the integer. Texts have
    hidden lengths: left out.

    Parameters
    ----------
    p : Prototype
        The function in C.
    name : str
        One of `fortran_names`.
    """
    if any(re.search(r"char|function|\*\*", a.type + a.name) for a in p.arguments):
        return None
    names = [f"f_{a.name}" for a in p.arguments] + ["f_ierror"]
    declared, given = ", ".join(f"void* {n}" for n in names), ", ".join(names)
    size, made = bytes_of(p) or "0", made_by(p)
    enter = f"core_enter(&call, k{p.name}, __builtin_return_address(0), {comm_of(p)}, {flags_of(p)})"
    # an array of types has other handles in Fortran
    size = "0" if re.search(r"types\b", size) else size
    used = set(re.findall(r"\w+", f"{size} {enter}"))
    lines = [
        f"PUBLIC void {name}({declared}) {{",
        # the library's own: MPICH names the profiling interface of mpi_f08 in a way of its own
        f"    static void (*next)({declared});",
        f'    if (!next) *(void**)&next = core_next("{name}");',
        "    struct core_call call;",
        *(f"    {_read(a)}" for a in p.arguments if a.name in used),
        f"    if (!{enter}) {{",
        f"        next({given});",
        "        return;",
        "    }",
        f"    call.bytes = {size};",
        "    core_start(&call);",
    ]
    if p.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        lines.append("    core_comm_freed(*comm);")
    if p.name == "MPI_Barrier":
        lines += [
            "    if (audit_skip(comm, call.site)) {",
            "        int code = core_drop(&call);",
            "        if (f_ierror) *(MPI_Fint*)f_ierror = code;",
        ]
        lines += ["        return;", "    }"]
    lines += [f"    next({given});", "    core_leave(&call);"]
    if made is not None and comm_of(p) != "MPI_COMM_NULL" and "group" not in p.name and "idup" not in p.name:
        new = f"PMPI_Comm_f2c(*(MPI_Fint*)f_{made.name})"
        lines.append(
            f"    if (!f_ierror || *(MPI_Fint*)f_ierror == MPI_SUCCESS) core_comm_made({comm_of(p)}, {new}, NULL);"
        )
    return "\n".join([*lines, "}"])


def _read(a: Argument) -> str:
    """Return the declaration of a C variable with the value of a Fortran argument."""
    if a.type == "MPI_Comm*":
        return f"MPI_Comm one = PMPI_Comm_f2c(*(MPI_Fint*)f_{a.name}), *{a.name} = &one;"
    for type_, short in (("MPI_Comm", "Comm"), ("MPI_Datatype", "Type")):
        if a.type == type_:
            return f"{type_} {a.name} = PMPI_{short}_f2c(*(MPI_Fint*)f_{a.name});"
    if a.type.endswith("*"):
        return f"{a.type} {a.name} = f_{a.name};"
    return f"{a.type} {a.name} = *({'MPI_Fint' if a.type == 'int' else a.type}*)f_{a.name};"


HEAD = """\
/* Made by subsalt from the prototypes of mpi.h. */
#include "audit.h"
#include "core.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define PUBLIC __attribute__((visibility("default")))
"""


def source(functions: Sequence[Prototype]) -> str:
    """Return the C text of all wrappers and of the tables of their names.

    Parameters
    ----------
    functions : sequence of Prototype
        As `prototypes` gives them.
    """
    wrapped = [p for p in functions if p.name not in BY_HAND]
    names = [p.name for p in wrapped] + ["MPI_Finalize"]
    carries = [int(bytes_of(p) is not None) for p in wrapped] + [0]
    parts = [
        HEAD,
        "enum {\n" + "".join(f"    k{n},\n" for n in names) + "};",
        "const char *const core_names[] = {\n" + "".join(f'    "{n}",\n' for n in names) + "};",
        f"const int core_functions = {len(names)};",
        "const unsigned char core_carries[] = {" + ", ".join(map(str, carries)) + "};",
        *(wrapper(p) for p in wrapped),
        *filter(None, (fortran_wrapper(p, name) for p in wrapped for name in fortran_names(p))),
    ]
    return "\n\n".join(parts) + "\n"
