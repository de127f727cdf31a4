"""Counts the MPI calls of a program, by name and by phase of the thread that makes them.

A library of one wrapper per MPI function, made from the installed `mpi_proto.h`, stands between the program and MPI.
`MPI_Pcontrol(k)` begins phase k of the calling thread; every rank writes its counts when MPI ends.

Three traps: mpi4py calls the large-count functions (`MPI_Send_init_c`), so those are wrapped too and counted under the
plain name; the library must not be linked with libmpi, whose path it would carry along; and since mpi4py opens libmpi
for itself alone, both are preloaded, into the ranks only.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from launch import BIN

PROTOTYPE = re.compile(r"^int (MPI_\w+)\(([^)]*)\)", re.M)
#: not wrapped: callbacks, what has its own text below, and functions whose types mpi.h no longer knows
LEFT_OUT = re.compile(
    r"MPI_(DUP_FN|NULL_\w+|Pcontrol|Finalize|Errhandler_(create|get|set)|Type_(h|u)\w*_FN)$|.*_FN$"
)

HEAD = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#define PHASES 4
enum { NAMES };
static const char *const name[] = { TEXTS };
static long calls[PHASES][LAST];
static __thread int phase;
#define COUNT(f) __atomic_fetch_add(&calls[phase][f], 1, __ATOMIC_RELAXED)
int MPI_Pcontrol(const int level, ...) {
    if (level < 1000) phase = level >= 0 && level < PHASES ? level : 0; /* the others are those of subsalt.timing */
    return MPI_SUCCESS;
}
int MPI_Finalize(void) {
    const char *folder = getenv("MPI_COUNTS"), *rank = getenv("PMI_RANK");
    char path[4096];
    snprintf(path, sizeof path, "%s/counts.%s", folder ? folder : ".", rank ? rank : "0");
    FILE *out = fopen(path, "w");
    for (int p = 0; out && p < PHASES; p++)
        for (int f = 0; f < LAST; f++)
            if (calls[p][f]) fprintf(out, "%d %s %ld\n", p, name[f], calls[p][f]);
    if (out) fclose(out);
    return PMPI_Finalize();
}
"""


def source(prototypes: str) -> str:
    """Return the C text of the wrappers.

    Parameters
    ----------
    prototypes : str
        Of `mpi_proto.h`.
    """
    found = {
        n: a for n, a in PROTOTYPE.findall(re.sub(r"\s*\n\s+", " ", prototypes)) if not LEFT_OUT.match(n)
    }
    wrappers = []
    for name, arguments in found.items():
        given = ", ".join(
            m[1]
            for a in arguments.split(",")
            if (m := re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", a)) and a.strip() != "void"
        )
        wrappers.append(f"int {name}({arguments}) {{ COUNT(k{name}); return P{name}({given}); }}")
    head = HEAD.replace("NAMES", ", ".join(f"k{n}" for n in found) + ", LAST")
    return head.replace("TEXTS", ", ".join(f'"{n}"' for n in found)) + "\n".join(wrappers) + "\n"


def build(folder: Path) -> str:
    """Compile the wrappers and return what LD_PRELOAD must be; skips the test where that cannot be."""
    header, library = BIN.parent / "include" / "mpi_proto.h", BIN.parent / "lib" / "libmpi.so.12"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not header.exists() or not library.exists():
        pytest.skip("needs a C compiler and the headers of the mpich wheel")
    text, made = folder / "counts.c", folder / "counts.so"
    text.write_text(source(header.read_text()))
    include = ["-I", str(header.parent)]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", *include, str(text), "-o", str(made)],
        check=True,
        timeout=120,
    )
    return f"{made} {library}"


def counts(folder: Path, ranks: int) -> list[dict[int, Counter[str]]]:
    """Return the calls by rank, phase and name; large-count functions under the plain name."""
    out = []
    for rank in range(ranks):
        by_phase: dict[int, Counter[str]] = {p: Counter() for p in range(4)}
        for line in (folder / f"counts.{rank}").read_text().splitlines():
            phase, name, n = line.split()
            by_phase[int(phase)][name.removesuffix("_c")] += int(n)
        out.append(by_phase)
    return out


def table(found: list[dict[int, Counter[str]]], phase: int) -> str:
    """Return the calls of a phase as JSON, for the message of a failed assertion."""
    return json.dumps([dict(rank[phase]) for rank in found], indent=1)
