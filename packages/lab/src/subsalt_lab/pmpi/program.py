"""The program in a launch line: an interpreter of Python, an executable and the MPI library it is linked to.

Wrappers such as ``env A=1``, ``nice`` or ``bash -c`` are looked through, as far as that goes without running them.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from subsalt.errors import MissingInputError, SubsaltError
from subsalt.machine import programs

#: libraries of MPI by the names that programs are linked to; libmpich.so.12 is Debian's name of libmpi.so.12
LIBRARY = re.compile(r"lib(?:mpi|mpich|mpi_abi|mpi_cray)\.so(?:\.\d+)*$")
#: wrappers and their options that take a value
WRAPPERS = {
    "env": {"-u", "-C", "--unset", "--chdir"},
    "nice": {"-n"},
    "ionice": {"-c", "-n", "-p"},
    "nohup": set(),
    "setsid": set(),
    "stdbuf": {"-i", "-o", "-e"},
    "numactl": {"-C", "-N", "-m", "-l", "-i", "-p"},
    "taskset": set(),
    "timeout": {"-k", "-s"},
    "time": {"-f", "-o"},
    "xvfb-run": {"-n", "-s"},
}
#: of these the first plain word is a mask or a time, not the program
ONE_WORD_MORE = ("taskset", "timeout")
#: executables that start other programs, or open libraries at run time: not linked to MPI and yet of use
OPENS_MPI = re.compile(
    r"((ba|da|z|k|c|tc)?sh|perl|ruby|julia|R|Rscript|octave.*|lua.*|java|node|tclsh.*)[\d.]*$"
)
SHELL = re.compile(r"(ba|da|z|k|)sh$")


@dataclass(frozen=True)
class Program:
    """The program that a launch line would run.

    Parameters
    ----------
    kind : str
        ``"python"``, ``"elf"``, or ``"unknown"``: a script of another language, a shell.
    path : path
        The interpreter of Python, the executable, or the script.
    """

    kind: Literal["python", "elf", "unknown"]
    path: Path


def find(words: Sequence[str]) -> Program:
    """Return what runs behind the wrappers of a command.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.

    Raises
    ------
    MissingInputError
        When it is not there (E900).
    """
    words = _unwrapped(list(words))
    executable = shutil.which(words[0]) if words else None
    if executable is None:
        name = words[0] if words else "the launch line"
        what = f"{name} is not there or cannot be executed" if words else "the launch line names no program"
        raise MissingInputError(
            what, "give it as -- mpiexec -n RANKS PROGRAM ..., with its path or on PATH", code="E900"
        )
    path = Path(executable)
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return Program("unknown", path)
    if head.startswith(b"\x7fELF"):
        if OPENS_MPI.match(path.name):
            return Program("unknown", path)
        is_python = re.fullmatch(r"(python|pypy)[\d.]*", path.name)
        return Program("python" if is_python else "elf", path)
    if head.startswith(b"#!"):
        return _of_script(path, head.split(b"\n", 1)[0][2:].decode(errors="replace"))
    return Program("unknown", path)


def _of_script(path: Path, line: str) -> Program:
    words = _unwrapped(line.split())
    interpreter = shutil.which(words[0]) if words else None
    if interpreter is not None and re.fullmatch(r"(python|pypy)[\d.]*", Path(interpreter).name):
        return Program("python", Path(interpreter))
    # pip writes this for interpreters whose path is too long for a first line: #!/bin/sh '''exec' /long/path/python
    if interpreter is not None and SHELL.match(Path(interpreter).name):
        with path.open(errors="replace") as file:
            for text in [next(file, "") for _ in range(3)]:
                if m := re.match(r"'''exec' \"?([^\"\s]*python[\d.]*)\"?", text):
                    return Program("python", Path(m[1]))
    return Program("unknown", path)


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command without the wrappers before its program."""
    while words:
        name = Path(words[0]).name
        if SHELL.match(name) and len(words) > 2 and re.fullmatch(r"-[a-z]*c", words[1]):
            inner = _simple(words[2])
            if not inner:
                return words
            words = inner
            continue
        if name not in WRAPPERS:
            return words
        rest, more = words[1:], name in ONE_WORD_MORE
        while rest:
            if name == "env" and "=" in rest[0] and not rest[0].startswith("-"):
                rest = rest[1:]
            elif rest[0].startswith("-"):
                rest = rest[2:] if rest[0] in WRAPPERS[name] else rest[1:]
            elif more:
                rest, more = rest[1:], False
            else:
                break
        words = rest
    return words


def _simple(text: str) -> list[str]:
    """Return the words of a shell text that is one plain command, else none."""
    if re.search(r"[;&|<>$`(){}\n]", text):
        return []
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    if words[:1] == ["exec"]:
        words = words[1:]
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    return words


def libraries(path: Path) -> list[Path]:
    """Return the MPI libraries that the dynamic linker would load for an executable.

    Raises
    ------
    SubsaltError
        When it is linked statically (E901).
    """
    said = programs.answer(["ldd", str(path)])
    if re.search(r"not a dynamic executable|statically linked", said) or not said:
        raise _static(path)
    paths = []
    for line in said.splitlines():
        m = re.match(r"\s*(\S+) => (/\S.*?) \(0x", line) or re.match(r"\s*((/\S+)) \(0x", line)
        if m and LIBRARY.search(Path(m[1]).name):
            paths.append(Path(m[2]))
        elif (m := re.match(r"\s*(\S+) => not found", line)) and LIBRARY.search(m[1]):
            raise MissingInputError(
                f"{path} needs {m[1]}, which the dynamic linker does not find",
                "load the module of its MPI, or set LD_LIBRARY_PATH",
                code="E900",
            )
    return paths


def _static(path: Path) -> SubsaltError:
    # programs of this kind are megabytes; the strings tell whether MPI is in it
    has_mpi = b"MPI_Init" in path.read_bytes()
    inside = "with MPI inside it: its calls cannot be seen" if has_mpi else "and has no MPI in it"
    error = SubsaltError(
        f"{path} is linked statically, {inside}",
        "link it against the shared MPI library" if has_mpi else "give an MPI program",
        code="E901",
    )
    error.exit_code = 65
    return error
