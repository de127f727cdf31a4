"""Are all device operations rounded as written, and does the plug-in carry code for all GPUs?

    python native/cuda/check_ptx.py NVCC [PLUGIN] [--kept FOLDER] [--sm 80 90 100]

Compiles every device source to PTX, or takes the PTX that the build of the plug-in has kept, and looks at its
arithmetic: what has no rounding of its own (`.rn`) may be joined into multiply-adds by the assembler, an `.approx` is
another function on every generation, and without `.ftz` denormals stay. Any of these would give other bits than the
CPU's. Ends with 1 and the instructions when there is one.

Two approximations are excepted in two sources, which correct them: they are counted and named, since what the assembler
and the hardware make of them is not looked at here.

Of the plug-in it reads which machine code and which PTX it carries. A driver runs the machine code of its GPU's
generation; for other GPUs it translates PTX, if that is no newer than the driver: PTX 9.0 is that of CUDA 13.0.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=c++20", "-O3", "-fmad=false", "-ftz=true", "-prec-div=true", "-prec-sqrt=true"]
FLAGS += ["--expt-relaxed-constexpr", "-arch=sm_80", '-DSUBSALT_VERSION=""']
INCLUDES = [f"-I{HERE}", f"-I{HERE.parent / 'include'}", f"-I{HERE.parent}"]

NAMES = "add|sub|mul|div|fma|mad|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|tanh"
ARITHMETIC = re.compile(rf"^\s*(?:@!?%p\d+ )?((?:{NAMES})\.\S*f(?:32|64))", re.M)

#: approximations that a source corrects to the rounded value, as the compiler does; see kirchhoff_operator.cuh, and
#: tests/cuda/test_corrections.py for how many operands it may be wrong
CORRECTED = ("rsqrt.approx.ftz.f32", "rcp.approx.ftz.f32")
CORRECTING = ("arithmetic.cu", "kirchhoff_pairs.cu", "kirchhoff_sum.cu")

#: what the plug-in must carry: machine code of these generations, and PTX of the oldest, the one that is looked at here
GENERATIONS, OLDEST = {80, 90, 100}, 80
#: of a container of code in a library and of what lies in it: PTX is kind 1, machine code kind 2
CONTAINER, CODE, PTX, MACHINE = struct.Struct("<IHHQ"), struct.Struct("<HHIQII HHI"), 1, 2
MAGIC = struct.pack("<I", 0xBA55ED50)


def carried(library: bytes) -> tuple[set[int], dict[int, str]]:
    """Return the generations whose machine code a library holds, and the version of its PTX by generation."""
    machine: set[int] = set()
    ptx: dict[int, str] = {}
    at = library.find(MAGIC)
    while at >= 0:
        _, _, header, size = CONTAINER.unpack_from(library, at)
        place, at = at + header, at + header + size
        while place < at:
            kind, _, head, length, _, _, minor, major, generation = CODE.unpack_from(library, place)
            if kind == MACHINE:
                machine.add(generation)
            elif kind == PTX:
                ptx[generation] = f"{major}.{minor}"
            place += head + length
        at = library.find(MAGIC, at)
    return machine, ptx


def report_code(library: bytes, generations: Iterable[int] = GENERATIONS) -> tuple[str, bool]:
    """Return what to say of the code in a plug-in, and whether it is what it must be."""
    machine, ptx = carried(library)
    names = ", ".join(f"sm_{g}" for g in sorted(machine)) or "no GPU"
    of_ptx = ", ".join(f"PTX {version} of sm_{g}" for g, version in sorted(ptx.items())) or "no PTX"
    said = f"the plug-in ({len(library) / 1e6:.1f} MB) carries machine code for {names}, and {of_ptx}"
    return said, machine == set(generations) and set(ptx) == {OLDEST}


def wrong(instruction: str, source: str = "") -> bool:
    """Return whether an instruction has other bits than what the source says."""
    if instruction in CORRECTED and source in CORRECTING:
        return False
    parts = instruction.split(".")
    return "rn" not in parts or "approx" in parts or (parts[-1] == "f32" and "ftz" not in parts)


def compiled(nvcc: str, source: Path) -> str:
    """Return the PTX of a device source."""
    done = subprocess.run(
        [nvcc, "-ptx", *FLAGS, *INCLUDES, str(source), "-o", "-"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def kept(folder: Path, source: Path) -> str:
    """Return the PTX of a device source that nvcc kept; its name has the generation where there are several.

    Raises
    ------
    SystemExit
        When it is not there, or older than the source.
    """
    found = [folder / f"{source.stem}{of}.ptx" for of in (f".compute_{OLDEST}", "")]
    newest = max((p for p in found if p.is_file()), key=lambda p: p.stat().st_mtime, default=None)
    if newest is None or newest.stat().st_mtime < source.stat().st_mtime:
        raise SystemExit(
            f"{folder} has no PTX of {source.name} as it is now: compile the plug-in with SUBSALT_KEEP_PTX"
        )
    return newest.read_text()


def arithmetic(ptx: str) -> Counter[str]:
    """Return the arithmetic instructions of PTX, counted."""
    return Counter(ARITHMETIC.findall(ptx))


def report(found: dict[str, Counter[str]]) -> tuple[str, list[str]]:
    """Return what to say of the instructions by source, and those that are wrong."""
    bad = [
        f"{name}: {count} x {instruction}"
        for name, counted in found.items()
        for instruction, count in counted.items()
        if wrong(instruction, name)
    ]
    excepted = [
        f"{counted[instruction]} x {instruction} in {name}"
        for name, counted in found.items()
        for instruction in CORRECTED
        if name in CORRECTING and counted[instruction]
    ]
    total = sum(counted.total() for counted in found.values())
    count = sum(counted[i] for name, counted in found.items() if name in CORRECTING for i in CORRECTED)
    if bad:
        return f"{total} operations in {len(found)} sources, some not rounded as written", bad
    said = f"{total - count} of {total} operations in {len(found)} sources are rounded as written"
    if excepted:
        said += (
            f"; {count} are approximations that the source corrects: {', '.join(excepted)}"
            " (kirchhoff_operator.cuh, tests/cuda/test_corrections.py)"
        )
    return said, []


def main(nvcc: str, plugin: Path | None, kept_in: Path | None, generations: list[int]) -> int:
    """Look at all sources, and at the plug-in; return the exit code."""
    sources = sorted(HERE.glob("*.cu"))
    with ThreadPoolExecutor(2) as pool:
        ptx = pool.map(lambda s: compiled(nvcc, s) if kept_in is None else kept(kept_in, s), sources)
        counted = {s.name: arithmetic(text) for s, text in zip(sources, ptx, strict=True)}
    said, bad = report(counted)
    print("\n".join(bad), file=sys.stderr, end="\n" if bad else "")
    print(said)
    if plugin is None:
        return int(bool(bad))
    said, complete = report_code(plugin.read_bytes(), generations)
    print(said if complete else f"{said}; wanted: {sorted(generations)}, and PTX of {OLDEST}")
    return int(bool(bad) or not complete)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nvcc")
    parser.add_argument("plugin", type=Path, nargs="?")
    parser.add_argument(
        "--kept", type=Path, metavar="FOLDER", help="PTX that the build of the plug-in has kept"
    )
    parser.add_argument(
        "--sm", type=int, nargs="+", default=sorted(GENERATIONS), help="machine code it must carry"
    )
    given = parser.parse_args()
    sys.exit(main(given.nvcc, given.plugin, given.kept, given.sm))
