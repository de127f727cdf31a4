"""Which MPI does a program use: its library, the launcher and the headers that go with it.

For a Python program it is what mpi4py of that interpreter loads, for another program what the dynamic linker finds. The
library says itself who made it; launcher and headers are looked for beside it, then on PATH, and taken only when they
are of the same family.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from subsalt.errors import DeviceError, SubsaltError
from subsalt.machine import programs
from subsalt.machine.launcher import Launcher
from subsalt_lab.launch_line import kind_of
from subsalt_lab.pmpi import program as whose

Family = Literal["mpich", "openmpi", "intel"]

#: asks a library who made it; mpi4py needs not be there
ASK_LIBRARY = """
import ctypes, sys
text, n = ctypes.create_string_buffer(65536), ctypes.c_int()
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL).MPI_Get_library_version(text, ctypes.byref(n))
print(text.value.decode(errors="replace"))
"""

#: asks mpi4py of an interpreter which library it loads
ASK_PYTHON = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    files = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
print(json.dumps({"files": sorted(files), "text": MPI.Get_library_version()}))
"""


@dataclass(frozen=True)
class MpiInUse:
    """The MPI of a program.

    Parameters
    ----------
    family : str
        ``"mpich"``, ``"openmpi"`` or ``"intel"``; what is derived from MPICH and has its binary interface is mpich.
    version : str
        Such as ``"5.0.2"``.
    library : path
        The libmpi that the ranks load.
    compiler : path or None
        A compiler of the same family, for C programs linked to this MPI.
    include : path or None
        The folder of the mpi.h that goes with it.
    launcher : Launcher
        Starts ranks of it.
    """

    family: Family
    version: str
    library: Path
    compiler: Path | None
    include: Path | None
    launcher: Launcher

    @property
    def name(self) -> str:
        """Name with version, such as ``"Open MPI 5.0.11"``."""
        return f"{NAMES[self.family]} {self.version}"

    @property
    def is_abi(self) -> bool:
        """Whether the library is the one of the standard's own binary interface, libmpi_abi."""
        return self.library.name.startswith("libmpi_abi")

    def start(
        self, ranks: int, program: Sequence[str], variables: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return the words that start `program` on `ranks` ranks.

        Parameters
        ----------
        ranks : int
            Number of ranks.
        program : sequence of str
            The program and its arguments.
        variables : mapping of str to str, optional
            For the ranks, not for the launcher.
        """
        # env sets them behind any launcher, whatever its options are called
        given = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
        return self.launcher.start(ranks, [*given, *program])

    @classmethod
    def find(
        cls,
        launcher: str | None = None,
        program: Path | None = None,
        python: Path | None = None,
        library: Path | None = None,
    ) -> MpiInUse:
        """Return the MPI of an executable, of a Python interpreter, or of this one.

        Parameters
        ----------
        launcher : str, optional
            The launcher with its options; found beside the library, or on PATH, when left out.
        program : path, optional
            An executable linked to MPI.
        python : path, optional
            An interpreter of Python with mpi4py; the one that runs this when both are left out.
        library : path, optional
            The libmpi itself, when it is known.

        Raises
        ------
        DeviceError
            When no MPI is found (E902), or no launcher of its family (E780).
        """
        if library is None and program is not None:
            linked = whose.libraries(program)
            if not linked:
                raise no_mpi(f"{program} is not linked to an MPI library")
            library = linked[0]
        if library is None:
            library, text = _of_python(str(python or sys.executable))
        else:
            text = _library_version(str(library))
        family, version = family_of(text)
        bare = cls(family, version, library, None, None, Launcher(()))
        found_launcher = Launcher.find(launcher) if launcher is not None else _launcher(bare)
        compiler = _compiler(bare)
        return replace(bare, launcher=found_launcher, compiler=compiler, include=_include(bare, compiler))


NAMES: dict[Family, str] = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}


def no_mpi(what: str) -> DeviceError:
    """Return the error of a program without MPI."""
    return DeviceError(
        what, "give an MPI program, or name its library with --mpi /path/to/libmpi.so", code="E902"
    )


def family_of(text: str) -> tuple[Family, str]:
    """Return family and version from what MPI_Get_library_version gives.

    Parameters
    ----------
    text : str
        Such as ``"MPICH Version:      5.0.2"`` and more lines.
    """
    for family, pattern in (
        ("intel", r"Intel\(R\) MPI Library ([\d.]+)"),
        ("openmpi", r"Open MPI v?([\d.]+\w*)"),
    ):
        if m := re.search(pattern, text):
            return family, m[1]  # type: ignore[return-value]
    m = re.search(r"(?:MPICH|MVAPICH\w*)\s*[Vv]ersion\s*:?\s*([\d.]+\w*)", text)
    return "mpich", m[1] if m else "of unknown version"


@cache
def _library_version(library: str) -> str:
    text = programs.answer([sys.executable, "-c", ASK_LIBRARY, library])
    if "MPI" not in text:
        raise no_mpi(f"{library} is not an MPI library that can be loaded")
    return text


@cache
def _of_python(python: str) -> tuple[Path, str]:
    try:
        ran = programs.run([python, "-c", ASK_PYTHON], what="it", timeout=60.0)
        answer = json.loads(ran.stdout.splitlines()[-1])
    except SubsaltError as error:
        # of a traceback the last line says it
        last = error.message.split(" | ")[-1]
        raise no_mpi(f"MPI for Python cannot be loaded by {python}: {last}") from None
    except (ValueError, IndexError):
        raise no_mpi(f"{python} does not answer like an interpreter of Python") from None
    for file in answer["files"]:
        if whose.LIBRARY.search(Path(file).name) or re.match(r"libmpi(ch|_abi)?\.so", Path(file).name):
            return Path(file), answer["text"]
    raise no_mpi(f"mpi4py of {python} has its MPI library inside it or hidden")


def _beside(mpi: MpiInUse, folder: str) -> Iterator[Path]:
    """Yield folders of an installation by its library: PREFIX/lib/libmpi.so -> PREFIX/FOLDER."""
    seen = set()
    for file in (mpi.library, mpi.library.resolve()):
        # lib, lib64, lib/release (Intel), lib/TRIPLET, lib/TRIPLET/openmpi/lib (Debian)
        for prefix in list(file.parents)[:3]:
            path = prefix / folder
            if prefix not in seen and path.is_dir() and prefix != Path("/"):
                seen.add(prefix)
                yield path


def _executables(mpi: MpiInUse, *names: str) -> Iterator[Path]:
    """Yield programs beside the library, beside this Python, then on PATH."""
    folders = [*_beside(mpi, "bin"), Path(sys.executable).parent, *map(Path, os.get_exec_path())]
    for folder in folders:
        for name in names:
            path = folder / name
            if path.is_file() and os.access(path, os.X_OK):
                yield path


def _launcher(mpi: MpiInUse) -> Launcher:
    wanted, suffix = ("openmpi", "openmpi") if mpi.family == "openmpi" else ("hydra", "mpich")
    for path in _executables(mpi, f"mpiexec.{suffix}", "mpiexec", "mpiexec.hydra", "mpirun"):
        if kind_of(str(path)) == wanted:
            return Launcher((str(path),))
    if shutil.which("srun"):
        return Launcher(("srun",))
    raise DeviceError(
        f"no mpiexec of {mpi.name} ({mpi.library}) was found",
        "name one with --launcher, or put its folder on PATH",
        code="E780",
    )


def header_family(include: Path) -> str | None:
    """Return the family of an mpi.h by what it defines, None when there is none in the folder."""
    try:
        text = (include / "mpi.h").read_text(errors="replace")
    except OSError:
        return None
    if re.search(r"#\s*define\s+(OPEN_MPI|OMPI_MAJOR_VERSION)\b", text):
        return "openmpi"
    return (
        "mpich"
        if re.search(r"#\s*define\s+(MPICH_VERSION|I_MPI_VERSION|MPICH_NAME|CRAY_MPICH)", text)
        else None
    )


def _abi_of(family: str) -> str:
    # Intel's library has MPICH's binary interface
    return "mpich" if family == "intel" else family


def includes_of(compiler: Path) -> list[Path]:
    """Return the folders of headers that an MPI compiler adds."""
    line = programs.answer([str(compiler), "-show"])
    return [Path(m) for m in re.findall(r"(?:^|\s)-I\s*(\S+)", line)]


def _compiler(mpi: MpiInUse) -> Path | None:
    suffix = "openmpi" if mpi.family == "openmpi" else "mpich"
    names = ("mpicc_abi",) if mpi.is_abi else (f"mpicc.{suffix}", "mpicc", "mpiicx", "mpiicc")
    for path in _executables(mpi, *names):
        if any(header_family(i) == _abi_of(mpi.family) for i in includes_of(path)):
            return path
    return None


def _include(mpi: MpiInUse, compiler: Path | None) -> Path | None:
    folders = [*(includes_of(compiler) if compiler else ()), *_beside(mpi, "include")]
    triplet = f"{os.uname().machine}-linux-gnu"
    folders += [
        Path(f"/usr/lib/{triplet}/openmpi/include"),
        Path(f"/usr/include/{triplet}/mpich"),
        Path(sys.prefix) / "include",
    ]
    return next((f for f in folders if header_family(f) == _abi_of(mpi.family)), None)
