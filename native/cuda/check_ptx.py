"""Are all device operations rounded as written?

    python native/cuda/check_ptx.py NVCC

Compiles every device source to PTX and looks at its arithmetic: what has no rounding of its own (`.rn`) may be joined
into multiply-adds by the assembler, an `.approx` is another function on every generation, and without `.ftz` denormals
stay. Any of these would give other bits than the CPU's. Ends with 1 and the instructions when there is one.
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

#: approximations that a source corrects to the rounded value, as the compiler does; see kirchhoff_operator.cuh
CORRECTED = ("rsqrt.approx.ftz.f32", "rcp.approx.ftz.f32")
CORRECTING = ("kirchhoff_pairs.cu", "kirchhoff_sum.cu")


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


def main(nvcc: str) -> int:
    """Look at all sources; return the exit code."""
    sources = sorted(HERE.glob("*.cu"))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda s: arithmetic(nvcc, s), sources))
    bad = {
        s.name: {i: n for i, n in f.items() if wrong(i, s.name)} for s, f in zip(sources, found, strict=True)
    }
    for name, instructions in bad.items():
        for instruction, count in instructions.items():
            print(f"{name}: {count} x {instruction}", file=sys.stderr)
    print(
        f"{sum(f.total() for f in found)} operations in {len(sources)} sources, all rounded as written"
        if not any(bad.values())
        else "not rounded as written"
    )
    return int(any(bad.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
