"""Control variables of the MPI library in this process: which there are, what their values are called, how to set them.

Through the tool interface of MPI-3 (MPI_T, chapter 15 of the MPI standard) and ctypes: mpi4py does not have it. Only a
worker process may use this: what is loaded here stays loaded.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: one line of a description as MPICH writes them: "ring   - Force ring algorithm"
_NAMED = re.compile(r"^\s*(\w+)\s+-\s+(?:Force|Internal|Fallback|Uses|Select)")
_LONG = 8192


@dataclass(frozen=True)
class Variable:
    """A control variable of an MPI library.

    Parameters
    ----------
    name : str
        As the library calls it.
    about : str
        Its description.
    values : mapping of str to int
        Names of its values and the numbers they stand for; empty when it is a plain number.
    value : int
        Value that it is set to.
    settable : bool
        A running program may set it; Open MPI 4 reads its variables at the start only.
    """

    name: str
    about: str
    values: dict[str, int] = field(default_factory=dict)
    value: int = 0
    settable: bool = True

    def number(self, text: str) -> int:
        """Return the number that a value stands for: a name of `values`, or digits."""
        return self.values[text] if text in self.values else int(text)


def named_values(about: str) -> dict[str, int]:
    """Return the values that a description lists, one a line, in the order of their numbers from 0."""
    names = [m[1] for m in map(_NAMED.match, about.splitlines()) if m]
    return {name: n for n, name in enumerate(names)}


def loaded_library(maps: Path = Path("/proc/self/maps")) -> Path | None:
    """Return the MPI library that this process has loaded."""
    for line in maps.read_text().splitlines():
        path = line.partition("/")[2]
        if re.match(r"lib(?:mpi|mpich|mpi_abi)\.so", path.rpartition("/")[2]):
            return Path("/" + path)
    return None


class Tool:
    """The tool interface of an MPI library.

    Parameters
    ----------
    library : path
        The libmpi.so of this process.

    Raises
    ------
    OSError
        When it cannot be loaded, or refuses to start the interface.
    """

    def __init__(self, library: Path) -> None:
        self._mpi = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._call("MPI_T_init_thread", 0, ctypes.byref(ctypes.c_int()))
        self._index: dict[str, int] = {}
        self._known: dict[str, Variable] = {}
        self._handles: dict[str, tuple[ctypes.c_void_p, int]] = {}

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._mpi, function)(*arguments)
        if code:
            raise OSError(f"{function} gave error {code}")

    def variables(self, wanted: Iterable[str]) -> list[Variable]:
        """Return the variables whose names match one of the patterns, in the order of the library.

        Parameters
        ----------
        wanted : iterable of str
            Regular expressions for whole names.
        """
        pattern = re.compile("|".join(f"(?:{w})" for w in wanted))
        matching = []
        count = ctypes.c_int()
        self._call("MPI_T_cvar_get_num", ctypes.byref(count))
        for index in range(count.value):
            described = self._described(index)
            if described is None or not pattern.fullmatch(described[0]):
                continue
            name, about, kinds = described
            self._index[name] = index
            values = self._enum(kinds) or named_values(about)
            self._known[name] = Variable(name, about, values, self.read(name), self._settable(name))
            matching.append(self._known[name])
        return matching

    def variable(self, name: str) -> Variable:
        """Return one variable, with the value that it had when it was first asked for.

        Raises
        ------
        KeyError
            When the library has none of that name.
        """
        if name not in self._known:
            self.variables([re.escape(name)])
        return self._known[name]

    def _described(self, index: int) -> tuple[str, str, ctypes.c_void_p] | None:
        name, about = ctypes.create_string_buffer(_LONG), ctypes.create_string_buffer(_LONG)
        name_long, about_long = ctypes.c_int(_LONG), ctypes.c_int(_LONG)
        verbosity, binding, scope = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        kind, kinds = ctypes.c_void_p(), ctypes.c_void_p()
        code = self._mpi.MPI_T_cvar_get_info(
            index,
            name,
            ctypes.byref(name_long),
            ctypes.byref(verbosity),
            ctypes.byref(kind),
            ctypes.byref(kinds),
            about,
            ctypes.byref(about_long),
            ctypes.byref(binding),
            ctypes.byref(scope),
        )
        # indices of variables whose component is not loaded are invalid
        if code:
            return None
        return name.value.decode(errors="replace"), about.value.decode(errors="replace"), kinds

    def _enum(self, kinds: ctypes.c_void_p) -> dict[str, int]:
        """Return the names and numbers of an enumeration; empty when the variable has none."""
        numbers: dict[str, int] = {}
        count, long = ctypes.c_int(), ctypes.c_int(_LONG)
        text = ctypes.create_string_buffer(_LONG)
        # no enumeration is a null handle, or one that the library does not know
        if not kinds.value or self._mpi.MPI_T_enum_get_info(
            kinds, ctypes.byref(count), text, ctypes.byref(long)
        ):
            return numbers
        for i in range(count.value):
            number, long = ctypes.c_int(), ctypes.c_int(_LONG)
            if not self._mpi.MPI_T_enum_get_item(kinds, i, ctypes.byref(number), text, ctypes.byref(long)):
                numbers[text.value.decode(errors="replace")] = number.value
        return numbers

    def _handle(self, name: str) -> tuple[ctypes.c_void_p, int]:
        if name not in self._handles:
            if name not in self._index:
                self.variable(name)
            handle, count = ctypes.c_void_p(), ctypes.c_int()
            self._call(
                "MPI_T_cvar_handle_alloc", self._index[name], None, ctypes.byref(handle), ctypes.byref(count)
            )
            self._handles[name] = handle, count.value
        return self._handles[name]

    def read(self, name: str) -> int:
        """Return the value of a variable; 0 for one that is no single number."""
        handle, count = self._handle(name)
        # room for a text: what kind of variable it is does not matter for those that are set here
        value = (ctypes.c_int * max(2, count))()
        if count != 1:
            return 0
        self._call("MPI_T_cvar_read", handle, value)
        return int(value[0])

    def _settable(self, name: str) -> bool:
        """Return whether a variable takes a value now: tried with the one that it has, for its scope tells nothing."""
        handle, count = self._handle(name)
        if count != 1:
            return False
        return not self._mpi.MPI_T_cvar_write(handle, (ctypes.c_int * 2)(self.read(name)))

    def write(self, name: str, value: int) -> None:
        """Set a variable in this process."""
        handle, _ = self._handle(name)
        self._call("MPI_T_cvar_write", handle, ctypes.byref(ctypes.c_int(value)))

    def text(self, name: str) -> str:
        """Return the value of a variable as the environment takes it: a number, or a text."""
        handle, count = self._handle(name)
        if count == 1:
            return str(self.read(name))
        value = ctypes.create_string_buffer(max(count, _LONG))
        self._call("MPI_T_cvar_read", handle, value)
        return value.value.decode(errors="replace")
