"""What does the machine code of a device kernel consist of?

Machine code read, no time measured: a GPU is not needed. `device_code.cu` names the kernels; this program compiles it,
has `cuobjdump` take the machine code out and `nvdisasm` write it down, and counts. Both tools come with the CUDA
toolkit, or from PyPI as `nvidia-cuda-cuobjdump` and `nvidia-cuda-nvdisasm` (`--tools` says where they are).

The turn of a march is the largest set of instructions each of which can be reached from each other by jumps, a strongly
connected component: the loop over planes with all its branches. A thread goes through part of them. Instructions of a
thread in one turn are fewer; those of all its branches are what a change of source is judged by.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent / "native"
PACKAGES = "the PyPI packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm"
#: what native/cuda/CMakeLists.txt compiles the plug-in with
FLAGS = (
    "-std=c++20",
    "-O3",
    "-fmad=false",
    "-ftz=true",
    "-prec-div=true",
    "-prec-sqrt=true",
    "--expt-relaxed-constexpr",
)

#: classes of instructions by the beginning of their name; the first that fits counts
CLASSES: tuple[tuple[str, str], ...] = (
    ("arithmetic", r"F(ADD|MUL|FMA)\b|MUFU"),
    ("moves", r"MOV|IMAD\.MOV|UMOV|CS2R|R2UR|HFMA2\.MMA R\d+, -RZ, RZ|PRMT"),
    ("shared loads", r"LDS\b"),
    ("shared stores", r"STS\b"),
    ("copies to shared memory", r"LDGSTS|LDGDEPBAR|DEPBAR"),
    ("loads", r"LDG\b|LD\b"),
    ("stores", r"STG\b|ST\b"),
    ("spills", r"LDL|STL"),
    ("constants", r"LDC|ULDC"),
    ("comparisons", r"U?ISETP|FSETP|U?SEL|FSEL|P2R|R2P|U?PLOP3|FMNMX|IMNMX|VIMNMX"),
    (
        "integers",
        r"U?(IADD|IMAD|LEA|SHF|LOP|IABS|VIADD|I2F|F2I|SHL|SHR|IMUL|BMSK|SGXT|IADD3)|S2U?R|VIADD|I2I|I2FP",
    ),
    ("jumps", r"BRA|BSSY|BSYNC|EXIT|WARPSYNC|CALL|RET|NOP|BREAK|YIELD|BRX|NANOSLEEP"),
    ("barriers", r"BAR|MEMBAR|ERRBAR"),
)

#: loops of fewer instructions are no turns of a march
SMALLEST = 90

#: of a multiprocessor: bytes of shared memory (of them each block takes RESERVED besides); all have as many of the rest
SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10}
REGISTERS, WARPS, BLOCKS, RESERVED = 65536, 64, 32, 1 << 10
#: warps belong to one of four schedulers, which has a quarter of the registers, given out in units of 256
SCHEDULERS, UNIT = 4, 256


@dataclass(frozen=True)
class Line:
    """One instruction: its name with modifiers and operands, where it may jump, and whether what follows is reached."""

    text: str
    targets: tuple[str, ...]
    goes_on: bool

    @property
    def kind(self) -> str:
        """Return the class of the instruction."""
        return next((name for name, pattern in CLASSES if re.match(pattern, self.text)), "others")


def lines_of(assembly: str) -> dict[str, list[tuple[str | None, Line | None]]]:
    """Return labels and instructions of every kernel in the text of `nvdisasm -c`, by the kernel's symbol."""
    kernels: dict[str, list[tuple[str | None, Line | None]]] = {}
    now: list[tuple[str | None, Line | None]] = []
    for row in assembly.splitlines():
        if (section := re.match(r"\s*\.section\s+\.text\.([\w$]+)", row)) is not None:
            now = kernels.setdefault(section[1], [])
        elif (label := re.match(r"(\.L_\w+):", row)) is not None:
            now.append((label[1], None))
        elif (
            instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][^;]*?)\s*;", row)
        ) is not None:
            guard, text = instruction[1], instruction[2]
            if guard == "@!PT":  # never executed
                continue
            jumps = re.match(r"BRA|CALL|BRX", text) is not None
            ends = (
                re.match(r"BRA|EXIT|RET|BRX", text) is not None
                and guard is None
                and not re.search(r"\bU?P\d", text)
            )
            targets = tuple(re.findall(r"\.L_\w+", text)) if jumps else ()
            now.append((None, Line(text, targets, not ends)))
    return kernels


def loops_of(rows: Iterable[tuple[str | None, Line | None]]) -> tuple[list[Line], list[list[Line]]]:
    """Return all instructions of a kernel but its padding, and those of its loops, largest first."""
    lines: list[Line] = []
    places: dict[str, int] = {}
    for label, line in rows:
        if label is not None:
            places[label] = len(lines)
        if line is not None:
            lines.append(line)
    after: list[list[int]] = []
    for i, line in enumerate(lines):
        targets = [i + 1] if line.goes_on and i + 1 < len(lines) else []
        targets += [places[to] for to in line.targets if places.get(to, len(lines)) < len(lines)]
        after.append(targets)
    part = components(after)
    size = Counter(part)
    loops = [
        [line for i, line in enumerate(lines) if part[i] == c] for c, n in size.most_common() if n >= SMALLEST
    ]
    return [line for line in lines if not line.text.startswith("NOP")], loops


def components(after: list[list[int]]) -> list[int]:
    """Return the number of the strongly connected component of every vertex (Tarjan 1972, without recursion)."""
    index, low, part = [-1] * len(after), [0] * len(after), [-1] * len(after)
    stack: list[int] = []
    count = parts = 0
    for root in range(len(after)):
        if index[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            v, done = work.pop()
            if index[v] < 0:
                index[v] = low[v] = count
                count += 1
                stack.append(v)
            for i in range(done, len(after[v])):
                w = after[v][i]
                if index[w] < 0:
                    work += [(v, i), (w, 0)]
                    break
                if part[w] < 0:
                    low[v] = min(low[v], low[w])
            else:
                if low[v] == index[v]:
                    while True:
                        w = stack.pop()
                        part[w] = parts
                        if w == v:
                            break
                    parts += 1
    return part


@dataclass(frozen=True)
class Kernel:
    """A kernel's machine code in numbers.

    Parameters
    ----------
    name, arch : str
        What it computes, and the generation it is compiled for.
    threads, shared, registers, local : int
        Of a block, threads and bytes of shared memory; of a thread, registers and bytes of the stack (spills).
    blocks, occupancy : int, float
        Blocks that a multiprocessor runs at once, and their warps over the most it can have.
    instructions : int
        Of the whole kernel.
    turns : list of dict
        Instructions of every loop by class, with their sum in `all`; the largest loop first.
    """

    name: str
    arch: str
    threads: int
    shared: int
    registers: int
    local: int
    blocks: int
    occupancy: float
    instructions: int
    turns: list[dict[str, int]]


def blocks_at_once(arch: str, threads: int, shared: int, registers: int) -> int:
    """Return how many blocks of a kernel a multiprocessor has room for."""
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // UNIT) * UNIT
    by_registers = REGISTERS // SCHEDULERS // per_warp * SCHEDULERS // warps
    return min(BLOCKS, WARPS // warps, by_registers, SHARED[arch] // (shared + RESERVED))


def run(*command: object) -> str:
    """Return what a program prints."""
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def tool(name: str, folder: Path | None) -> Path:
    """Return where a program of the CUDA toolkit is."""
    place = folder / name if folder is not None else shutil.which(name)
    if place is None or not Path(place).exists():
        raise SystemExit(
            f"{name} is not on PATH: install the CUDA toolkit or {PACKAGES}, and name its folder with --tools"
        )
    return Path(place)


def kernels_of(program: Path, arch: str, tools: Path | None) -> list[Kernel]:
    """Return the kernels that a compiled `device_code.cu` names, as compiled for one generation."""
    with tempfile.TemporaryDirectory() as folder:
        run("cp", program, Path(folder) / "program")
        subprocess.run(
            [tool("cuobjdump", tools), "-xelf", arch, "program"], cwd=folder, check=True, capture_output=True
        )
        cubin = max(Path(folder).glob("*.cubin"), key=lambda c: c.stat().st_size)  # others hold no kernel
        usage = run(tool("cuobjdump", tools), "-res-usage", cubin)
        assembly = lines_of(run(tool("nvdisasm", tools), "-c", cubin))
    used = {f: (int(r), int(s)) for f, r, s in re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", usage)}
    kernels = []
    for row in run(program).splitlines():
        symbol, name, threads, shared = row.split("\t")
        full = next(s for s in assembly if symbol in s)
        every, loops = loops_of(assembly[full])
        registers, local = used[full]
        blocks = blocks_at_once(arch, int(threads), int(shared), registers)
        turns = [{"all": len(loop), **Counter(line.kind for line in loop)} for loop in loops]
        share = blocks * -(-int(threads) // 32) / WARPS
        kernels.append(
            Kernel(name, arch, int(threads), int(shared), registers, local, blocks, share, len(every), turns)
        )
    return kernels


def main() -> None:
    """Compile, count, print a table, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nvcc", default="nvcc", help="the compiler")
    parser.add_argument("--tools", type=Path, help="folder of cuobjdump and nvdisasm, where PATH has none")
    parser.add_argument("--arch", nargs="+", default=["sm_90", "sm_80"], choices=sorted(SHARED))
    parser.add_argument(
        "--native", type=Path, default=NATIVE, help="native/ of another copy of the sources, to compare"
    )
    parser.add_argument("--json", type=Path, help="file for the counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "device_code"
        codes = [f"-gencode=arch=compute_{a[3:]},code={a}" for a in options.arch]
        include = [f"-I{options.native / d}" for d in ("cuda", "include", ".")]
        run(
            options.nvcc,
            *FLAGS,
            *codes,
            *include,
            '-DSUBSALT_VERSION=""',
            HERE / "device_code.cu",
            "-o",
            program,
        )
        kernels = [k for arch in options.arch for k in kernels_of(program, arch, options.tools)]
    print(f"{'kernel':30} {'arch':6} regs local shared blocks occ   all turns")
    for k in kernels:
        turns = " ".join(str(t["all"]) for t in k.turns)
        print(
            f"{k.name:30} {k.arch:6} {k.registers:4} {k.local:5} {k.shared:6} {k.blocks:6} {k.occupancy:3.0%} "
            f"{k.instructions:5} {turns}"
        )
    if options.json is not None:
        compiler = run(options.nvcc, "--version").strip().splitlines()[-1]
        counts = {
            "date": date.today().isoformat(),
            "compiler": compiler,
            "kernels": [asdict(k) for k in kernels],
        }
        options.json.write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
