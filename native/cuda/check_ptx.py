"""Are all device operations rounded as written?

    python native/cuda/check_ptx.py NVCC

Compiles every device source to PTX and looks at its arithmetic: what has no rounding of its own (`.rn`) may be joined
into multiply-adds by the assembler, an `.approx` is another function on every generation, and without `.ftz` denormals
stay. Any of these would give other bits than the CPU's. Ends with 1 and the instructions when there is one.

Two approximations are excepted in two sources, which correct them: they are counted and named, since what the assembler
and the hardware make of them is not looked at here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
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


def wrong(instruction: str, source: str = "") -> bool:
    """Return whether an instruction has other bits than what the source says."""
    if instruction in CORRECTED and source in CORRECTING:
        return False
    parts = instruction.split(".")
    return "rn" not in parts or "approx" in parts or (parts[-1] == "f32" and "ftz" not in parts)


def arithmetic(nvcc: str, source: Path) -> Counter[str]:
    """Return the arithmetic instructions of a device source, counted."""
    done = subprocess.run(
        [nvcc, "-ptx", *FLAGS, *INCLUDES, str(source), "-o", "-"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Counter(ARITHMETIC.findall(done.stdout))


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


def main(nvcc: str) -> int:
    """Look at all sources; return the exit code."""
    sources = sorted(HERE.glob("*.cu"))
    with ThreadPoolExecutor(2) as pool:
        counted = list(pool.map(lambda s: arithmetic(nvcc, s), sources))
    said, bad = report({s.name: c for s, c in zip(sources, counted, strict=True)})
    print("\n".join(bad), file=sys.stderr, end="\n" if bad else "")
    print(said)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
